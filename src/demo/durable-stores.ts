import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdmin } from '../admin/index.js'
import { createConsole, oneTimeSignIn } from '../console/index.js'
import { openaiCompatible } from '../index.js'
import { sqliteStores } from '../sqlite/index.js'
import type { StandIn } from '../testing/index.js'
import { DEMO_ACCOUNT, demoModels } from './models.js'
import type { DemoStores } from './stores.js'

/** Keeps everything in a temporary SQLite file, with the console. `close` removes the file. */
export async function openDurableStores({ apiKey, baseUrl }: StandIn, mount: string): Promise<DemoStores> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-demo-'))
  const stores = sqliteStores({
    file: join(folder, 'demo.db'),
    adapters: { openai: openaiCompatible },
    secretKeys: [{ id: 'demo', key: randomBytes(32).toString('hex') }],
  })
  const close = async (): Promise<void> => {
    try {
      await stores.close()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  try {
    const admin = createAdmin(stores)
    for (const [upstreamModel, { id, prices }] of demoModels) {
      await admin.models.put({ id, prices })
      const route = { id: `stand-in:${id}`, model: id, provider: 'stand-in', adapter: 'openai' }
      await admin.routes.put({ ...route, upstreamModel, settings: { baseUrl }, secret: apiKey })
    }
    await admin.accounts.credit({ account: DEMO_ACCOUNT.id, amount: DEMO_ACCOUNT.credits, reference: 'demo' })
    const { token } = await admin.keys.issue({ account: DEMO_ACCOUNT.id, label: 'Demo' })
    const signIn = oneTimeSignIn({ hint: 'Stop the demo and start it again. It prints a new link.' })
    const pages = createConsole({
      admin,
      authorise: signIn.authorise,
      routerPath: mount,
      signInHint: signIn.hint,
    })
    return {
      stores,
      apiKey: token,
      pages: {
        onEvent: pages.onEvent,
        observe: (router) => pages.observe(router),
        signInLink: (origin) => signIn.link(origin),
        serve: (req, res, next) => signIn(req, res, () => pages(req, res, next)),
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
