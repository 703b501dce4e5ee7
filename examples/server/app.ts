import { randomBytes } from 'node:crypto'
import { type CompatRouter, createCompatRouter, formatCredits, type RouterEvent } from 'compat-router'
import express, { type Express } from 'express'
import { type DemoUpstream, startDemoUpstream } from './demo-upstream.js'
import { type OfferedModel, offeredDemoModels, offeredModels } from './models.js'
import type { UpstreamSettings } from './settings.js'
import { demoAccounts, openStores } from './stores.js'

export const MOUNT = '/compat/v1'

export interface ExampleOptions {
  /** A real provider. Without one a stand-in is started on a loopback port. */
  readonly upstream?: UpstreamSettings
  /** Pace of the stand-in. */
  readonly tokenDelayMs?: number
  /** Takes one line for each call, and one for whatever the operator should see. */
  readonly log?: (line: string) => void
}

export interface ExampleApp {
  readonly app: Express
  readonly router: CompatRouter
  readonly models: readonly OfferedModel[]
  readonly apiKey: string
  readonly accessToken: string
  /** Credits, as decimal strings. */
  balances(): Promise<{ apiKey: string; accessToken: string }>
  /** Lets calls end, then closes what was opened here. */
  close(): Promise<void>
}

/** Everything but the listening. */
export async function createApp(options: ExampleOptions = {}): Promise<ExampleApp> {
  const demo = options.upstream === undefined ? await startDemo(options.tokenDelayMs) : undefined
  try {
    return await assemble(options, demo)
  } catch (error) {
    await demo?.server.close()
    throw error
  }
}

interface Demo {
  readonly server: DemoUpstream
  readonly upstream: UpstreamSettings
}

async function startDemo(tokenDelayMs: number | undefined): Promise<Demo> {
  const apiKey = `sk-upstream-${randomBytes(18).toString('base64url')}`
  const server = await startDemoUpstream({ apiKey, ...(tokenDelayMs === undefined ? {} : { tokenDelayMs }) })
  return { server, upstream: { baseUrl: server.baseUrl, apiKey } }
}

async function assemble(options: ExampleOptions, demo: Demo | undefined): Promise<ExampleApp> {
  const upstream = demo?.upstream ?? options.upstream!
  const models = demo === undefined ? await offeredModels(upstream) : offeredDemoModels()
  const apiKey = `sk-${randomBytes(24).toString('base64url')}`
  const accessToken = `at-${randomBytes(24).toString('base64url')}`
  const { close: closeStores, ...stores } = openStores({ upstream, models, apiKey, accessToken })
  const router = createCompatRouter({
    ...stores,
    limits: { inFlightPerAccount: 64, inFlightPerCredential: 16 },
    onEvent: (event) => {
      const line = lineOf(event)
      if (line !== undefined) options.log?.(line)
    },
  })
  const app = express()
  app.disable('x-powered-by')
  app.use(MOUNT, router)

  const balanceOf = async (account: string) => {
    const context = { requestId: 'startup', signal: new AbortController().signal }
    return formatCredits((await stores.ledger.balance(account, context))?.available ?? 0n)
  }
  return {
    app,
    router,
    models,
    apiKey,
    accessToken,
    balances: async () => ({
      apiKey: await balanceOf(demoAccounts.owner),
      accessToken: await balanceOf(demoAccounts.appUser),
    }),
    close: async () => {
      await router.close()
      await closeStores()
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
    case 'charge-failed':
      return `charge-failed ${event.request.holdId}: ${event.error.message}`
    default:
      return `${event.type} ${JSON.stringify(event, (_key, value) => (typeof value === 'bigint' ? String(value) : value))}`
  }
}
