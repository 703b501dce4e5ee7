import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CompatRouter, createCompatRouter, openaiCompatible } from 'compat-router'
import { type Admin, createAdmin } from 'compat-router/admin'
import { type ConsoleViewer, createConsole } from 'compat-router/console'
import { type DurableStores, sqliteStores } from 'compat-router/sqlite'
import express from 'express'
import { listenHttp } from '../../helpers/listen-http.js'

export const FAST = 'acme/fast'
export const SMART = 'acme/smart'

export interface StageOptions {
  /** The provider behind both models. */
  readonly baseUrl: string
  readonly apiKey?: string
  /** The provider's names of the models. */
  readonly upstreamModels?: readonly [fast: string, smart: string]
}

/** A router, its console at `/console/` and a database, on a real socket. */
export interface Stage {
  readonly origin: string
  readonly consoleUrl: string
  readonly admin: Admin
  readonly stores: DurableStores
  readonly router: CompatRouter
  close(): Promise<void>
}

/** This cookie names the viewer: `operator`, or an account. */
export const VIEWER_COOKIE = 'viewer'

/** Starts with two models, an app that adds 20 %, and accounts `alice` and `bob` with 5 credits each. */
export async function openStage({ baseUrl, apiKey, upstreamModels }: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'compat-router-console-'))
  const stores = sqliteStores({
    file: join(folder, 'test.db'),
    secretKeys: [{ id: 'one', key: '07'.repeat(32) }],
    adapters: { openai: openaiCompatible },
  })
  await stores.ready()
  const admin = createAdmin(stores)
  await furnish(
    admin,
    { baseUrl, ...(apiKey === undefined ? {} : { apiKey }) },
    upstreamModels ?? [FAST, SMART],
  )
  const pages = createConsole({
    admin,
    authorise: viewerOf,
    publish: (account) => account === 'dev',
    topUpUrl: '/top-up',
  })
  const { credentials, catalogue, ledger, providers, idempotency, calls } = stores
  const router = createCompatRouter({
    credentials,
    catalogue,
    ledger,
    providers,
    idempotency: { store: idempotency },
    calls,
    onEvent: pages.onEvent,
  })
  pages.observe(router)
  const app = express()
  app.use('/compat/v1', router)
  app.use('/console', pages)
  const host = await listenHttp(createServer(app), '')
  const { baseUrl: origin } = host
  return {
    origin,
    consoleUrl: `${origin}/console/`,
    admin,
    stores,
    router,
    async close() {
      await router.close({ graceMs: 0 })
      await host.close()
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function viewerOf({ headers }: IncomingMessage): ConsoleViewer | undefined {
  const viewer = new RegExp(`(?:^|; )${VIEWER_COOKIE}=([^;]+)`).exec(headers.cookie ?? '')?.[1]
  if (viewer === undefined) return undefined
  return viewer === 'operator' ? { kind: 'operator' } : { kind: 'user', account: viewer }
}

async function furnish(
  admin: Admin,
  upstream: { readonly baseUrl: string; readonly apiKey?: string },
  [fast, smart]: readonly [string, string],
): Promise<void> {
  await admin.models.put({
    id: FAST,
    name: 'Fast',
    prices: { input: '0.15', cachedInput: '0.075', output: '0.60' },
    priceVersion: '2026-01',
    contextLength: 128_000,
  })
  await admin.models.put({
    id: SMART,
    name: 'Smart',
    prices: { input: '2.50', output: '10', request: '0.001' },
  })
  for (const [model, upstreamModel] of [
    [FAST, fast],
    [SMART, smart],
  ] as const) {
    await admin.routes.put({
      id: `acme:${model}`,
      model,
      provider: 'acme',
      adapter: 'openai',
      upstreamModel,
      settings: { baseUrl: upstream.baseUrl },
      ...(upstream.apiKey === undefined ? {} : { secret: upstream.apiKey }),
    })
  }
  await admin.apps.put({
    id: 'notes',
    name: 'Notes',
    markup: { basisPoints: 2_000 },
    allowedModels: [FAST, SMART],
    account: 'notes-earnings',
  })
  for (const account of ['alice', 'bob'])
    await admin.accounts.credit({ account, amount: '5', memo: 'Welcome' })
}
