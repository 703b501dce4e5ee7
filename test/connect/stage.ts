import type { RequestListener } from 'node:http'
import { type CompatRouter, createCompatRouter, openaiCompatible, type RouterEvent } from 'compat-router'
import { type Admin, type AppRequest, createAdmin } from 'compat-router/admin'
import { type Connect, type ConnectEvent, type ConnectOptions, createConnect } from 'compat-router/connect'
import { type DurableStores, sqliteStores } from 'compat-router/sqlite'
import express from 'express'
import { RouterHarness } from '../helpers/router-harness.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { createTestFile } from '../helpers/sqlite.js'
import { SECRET, USER_COOKIE, userOf } from './users.js'

export const FAST = 'acme/fast'
export const SMART = 'acme/smart'
export const WEB_REDIRECT = 'https://notes.example/cb'
export const LOOPBACK_REDIRECT = 'http://127.0.0.1/cb'
/** The markup of the app at the start. */
export const MARKUP = { basisPoints: 2_000, flat: '0.001' }
export const NOTES: AppRequest = {
  id: 'notes',
  account: 'notes-earnings',
  name: 'Notes',
  redirectUris: [WEB_REDIRECT, LOOPBACK_REDIRECT],
  allowedModels: [FAST, SMART],
  markup: MARKUP,
  site: 'https://notes.example/',
}
/** The usage of each scripted reply. Of the fast model it costs 0.00105, with the app's markup 0.00226. */
export const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 }

export type HostKind = 'Express' | 'bare http' | 'Express, only under paths'

const ANSWER = answerJson({
  id: 'cmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'up-fast',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: USAGE,
})

export interface StageOptions {
  readonly host?: HostKind
  readonly connect?: Partial<ConnectOptions>
  /** A file that another process or stage uses too. */
  readonly file?: string
}

export type AppFields = Partial<Omit<AppRequest, 'id'>>

/** A host with a login, a router, Connect and an SQLite file, on a real socket. */
export interface Stage {
  readonly origin: string
  readonly issuer: string
  readonly routerUrl: string
  readonly file: string
  readonly admin: Admin
  readonly stores: DurableStores
  readonly router: CompatRouter
  readonly connect: Connect
  readonly upstream: ScriptedUpstream
  readonly events: ConnectEvent[]
  readonly routerEvents: RouterEvent[]
  /** Changes the app `notes`. */
  changeApp(fields: AppFields): Promise<void>
  /** Changes it back to what it was at the start. */
  resetApp(): Promise<void>
  close(): Promise<void>
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const testFile = options.file === undefined ? await createTestFile() : undefined
  const file = options.file ?? testFile!.file
  const stores = sqliteStores({
    file,
    secretKeys: [{ id: 'one', key: '07'.repeat(32) }],
    adapters: { openai: openaiCompatible },
  })
  await stores.ready()
  const admin = createAdmin(stores)
  const upstream = await startScriptedUpstream()
  upstream.script(ANSWER)
  const listeners: RequestListener[] = []
  const harness = new RouterHarness()
  const { baseUrl: origin } = await harness.listen((req, res) => listeners[0]!(req, res))
  const issuer = `${origin}/connect`
  const routerUrl = `${origin}/compat/v1`
  const events: ConnectEvent[] = []
  const connect = createConnect({
    url: issuer,
    router: routerUrl,
    stores,
    authenticate: userOf,
    signIn: (returnTo) => `${origin}/login?to=${encodeURIComponent(returnTo)}`,
    secrets: [SECRET],
    host: { name: 'Acme', home: 'https://acme.example/', support: 'https://acme.example/help' },
    cap: { suggested: '5' },
    onEvent: (event) => events.push(event),
    ...options.connect,
  })
  await connect.ready
  const router = createCompatRouter({
    stores,
    resourceMetadata: connect.resourceMetadata,
    onEvent: harness.take,
    ...(options.host === 'bare http' ? { basePath: '/compat/v1' } : {}),
  })
  listeners.push(HOSTS[options.host ?? 'Express'](connect, router))
  if (options.file === undefined) await furnish(admin, upstream.baseUrl)
  let app: AppRequest = NOTES
  const changeApp = async (fields: AppFields): Promise<void> => {
    app = { ...app, ...fields }
    await admin.apps.put(app)
  }
  const resetApp = (): Promise<void> => {
    app = NOTES
    return changeApp({})
  }
  if (options.file === undefined) await resetApp()
  return {
    origin,
    issuer,
    routerUrl,
    file,
    admin,
    stores,
    router,
    connect,
    upstream,
    events,
    routerEvents: harness.events,
    changeApp,
    resetApp,
    async close() {
      await router.close({ graceMs: 0 })
      await connect.close()
      await harness.close()
      await stores.close()
      await upstream.close()
      testFile?.remove()
    },
  }
}

/** Signs everybody in as alice, and goes back. */
const LOGIN: RequestListener = (req, res) => {
  const to = new URL(req.url!, 'http://host').searchParams.get('to') ?? '/'
  if (!to.startsWith('/connect/')) throw new Error(`An open redirect: ${to}`)
  res.writeHead(303, { location: to, 'set-cookie': `${USER_COOKIE}=alice; path=/; httponly` }).end()
}

const HOSTS: Readonly<Record<HostKind, (connect: Connect, router: CompatRouter) => RequestListener>> = {
  Express: expressHost,
  'bare http': bareHost,
  'Express, only under paths': pathsHost,
}

/** A host that can only mount under paths, behind a parser of forms. */
function pathsHost(connect: Connect, router: CompatRouter): RequestListener {
  const app = express()
  app.use(express.urlencoded({ extended: false }))
  app.use('/connect', connect)
  app.use('/compat/v1', connect, router)
  app.get('/login', LOGIN)
  return app
}

function expressHost(connect: Connect, router: CompatRouter): RequestListener {
  const app = express()
  app.use(connect)
  app.use('/compat/v1', router)
  app.get('/login', LOGIN)
  return app
}

function bareHost(connect: Connect, router: CompatRouter): RequestListener {
  return (req, res) =>
    router(req, res, () =>
      connect(req, res, () => {
        if (req.url?.startsWith('/login')) LOGIN(req, res)
        else res.writeHead(404).end()
      }),
    )
}

/** Adds models, routes to the provider, and credits. */
export async function furnish(admin: Admin, baseUrl: string): Promise<void> {
  await admin.models.put({ id: FAST, name: 'Fast', prices: { input: '0.45', output: '1.20' } })
  await admin.models.put({
    id: SMART,
    name: 'Smart',
    prices: { input: '2.50', output: '10', request: '0.001' },
  })
  for (const model of [FAST, SMART]) {
    await admin.routes.put({
      id: `acme:${model}`,
      model,
      provider: 'acme',
      adapter: 'openai',
      upstreamModel: `up-${model.split('/')[1]}`,
      settings: { baseUrl },
    })
  }
  for (const account of ['alice', 'bob'])
    await admin.accounts.credit({ account, amount: '10', memo: 'Welcome' })
}
