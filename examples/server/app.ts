import { type CompatRouter, createCompatRouter, formatCredits, type RouterEvent } from 'compat-router'
import { createAdmin } from 'compat-router/admin'
import { createConsole, oneTimeSignIn } from 'compat-router/console'
import type { Balance } from 'compat-router/stores'
import { type StandIn, startStandIn } from 'compat-router/testing'
import express, { type Express } from 'express'
import { exampleConnect } from './connect.js'
import { type OpenDatabase, openDatabase } from './database.js'
import { type DemoCredentials, demoAccounts, demoCredentials, openDemoAccounts } from './demo-accounts.js'
import { prometheusMetrics } from './metrics.js'
import { type OfferedModel, offeredDemoModels, offeredModels } from './models.js'
import { createNotesApp, registerNotes } from './notes-app.js'
import { offer } from './offer.js'
import type { DatabaseSettings, UpstreamSettings } from './settings.js'

export const MOUNT = '/compat/v1'
const SIGN_IN_HINT = 'Stop the server and start it again with npm start. It prints a new link.'

export interface ExampleOptions {
  /** The database that keeps credentials, balances, models, routes and replies under an `Idempotency-Key`. */
  readonly database: DatabaseSettings
  /** A real provider. If absent, a stand-in is started on a loopback port. */
  readonly upstream?: UpstreamSettings
  /** The server's own address on loopback. If it is set, users can connect apps, and there is an app to try it with. */
  readonly origin?: string
  /** Time between two tokens of the stand-in. */
  readonly tokenDelayMs?: number
  /** Called with one line for each call, and one for each event that the operator should see. */
  readonly log?: (line: string) => void
}

export interface ExampleApp {
  readonly app: Express
  /** `GET /metrics` for programs on this machine, for a port of its own on loopback. */
  readonly metrics: Express
  /** An app of somebody else, for a port of its own. Only with an `origin`. */
  readonly notes?: Express
  readonly router: CompatRouter
  readonly models: readonly OfferedModel[]
  /** Describes the database. */
  readonly where: string
  /** The demo keys. Their tokens are set only if just issued: at the first start, and with `renew`. */
  credentials(options?: { renew?: boolean }): Promise<DemoCredentials>
  /** A link that signs an operator in to the console, once. */
  signInLink(origin: string): string
  /** Balances of the accounts that pay for the API key and the access token. */
  balances(): Promise<{ apiKey: Balance; accessToken: Balance }>
  /** Lets calls finish, then closes everything that `createApp` opened. */
  close(): Promise<void>
}

/** Opens everything but a listening socket. If a step fails, the resources opened before it are closed. */
export async function createApp(options: ExampleOptions): Promise<ExampleApp> {
  const log = options.log ?? (() => undefined)
  // The stores can report events before the console and the metrics exist, so these are added as listeners later.
  const listeners: Listener[] = []
  const report: Listener = (event) => {
    for (const listener of listeners) listener(event)
  }
  const database = await openDatabase(options.database, log, report)
  try {
    const demo = options.upstream === undefined ? await startDemo(options.tokenDelayMs) : undefined
    try {
      return await assemble(options, database, demo, listeners)
    } catch (error) {
      await demo?.server.close()
      throw error
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

type Listener = (event: RouterEvent) => void

interface Demo {
  readonly server: StandIn
  readonly upstream: UpstreamSettings
}

async function startDemo(tokenDelayMs: number | undefined): Promise<Demo> {
  const server = await startStandIn({
    remark: 'Set UPSTREAM_BASE_URL to talk to a real model.',
    ...(tokenDelayMs === undefined ? {} : { tokenDelayMs }),
  })
  return { server, upstream: { baseUrl: server.baseUrl, apiKey: server.apiKey } }
}

async function assemble(
  options: ExampleOptions,
  database: OpenDatabase,
  demo: Demo | undefined,
  listeners: Listener[],
): Promise<ExampleApp> {
  const upstream = demo?.upstream ?? options.upstream!
  const models = demo === undefined ? await offeredModels(upstream) : offeredDemoModels()
  const admin = createAdmin(database.stores)
  await offer(admin, models, upstream)
  await openDemoAccounts(admin, models)
  const signIn = oneTimeSignIn({ hint: SIGN_IN_HINT })
  const pages = createConsole({
    admin,
    authorise: signIn.authorise,
    routerPath: MOUNT,
    signInHint: signIn.hint,
  })
  const metrics = prometheusMetrics()
  const onEvent: Listener = (event) => {
    metrics.onEvent(event)
    pages.onEvent(event)
    const line = lineOf(event)
    if (line !== undefined) options.log?.(line)
  }
  listeners.push(onEvent)
  const { origin } = options
  const connecting =
    origin === undefined
      ? undefined
      : exampleConnect(origin, MOUNT, database.stores, (line) => options.log?.(line))
  const router = createCompatRouter({
    stores: database.stores,
    ...(connecting && { resourceMetadata: connecting.connect.resourceMetadata }),
    concurrency: { inFlightPerAccount: 64, inFlightPerCredential: 16 },
    onEvent,
  })
  pages.observe(router)
  const app = express()
  app.disable('x-powered-by')
  if (connecting !== undefined) {
    await registerNotes(
      admin,
      models.map(({ id }) => id),
    )
    app.use(connecting.connect, connecting.login)
  }
  app.use(MOUNT, router)
  app.use(signIn, pages)
  const metricsApp = express()
  metricsApp.disable('x-powered-by')
  metricsApp.get('/metrics', metrics.serve(router))

  const balanceOf = async (account: string) =>
    (await admin.accounts.balance(account)) ?? { posted: 0n, held: 0n, available: 0n }
  return {
    app,
    metrics: metricsApp,
    ...(origin === undefined ? {} : { notes: createNotesApp(origin, models[0]!.id) }),
    router,
    models,
    where: database.where,
    credentials: ({ renew = false } = {}) => demoCredentials(admin, renew),
    signInLink: (origin) => signIn.link(origin),
    balances: async () => ({
      apiKey: await balanceOf(demoAccounts.owner),
      accessToken: await balanceOf(demoAccounts.appUser),
    }),
    close: async () => {
      await router.close()
      await connecting?.connect.close()
      await database.close()
      await demo?.server.close()
    },
  }
}

function lineOf(event: RouterEvent): string | undefined {
  switch (event.type) {
    case 'request-start':
      return undefined
    case 'request-end': {
      const paid =
        event.charge === undefined
          ? ''
          : `, ${event.facts?.account} paid ${formatCredits(event.charge.cost)} credits for ${event.facts?.model}`
      return `${event.status} ${event.outcome}${paid} (${Math.round(event.durationMs)} ms)`
    }
    case 'route-disabled':
      return `route-disabled ${event.routeId}: ${event.why}`
    case 'charge-failed':
      return `charge-failed ${event.request.holdId}: ${event.error.message}`
    default:
      return `${event.type} ${JSON.stringify(event, (_key, value) => (typeof value === 'bigint' ? String(value) : value))}`
  }
}
