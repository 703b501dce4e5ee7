import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  anthropic,
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  openaiCompatible,
  type RouterEvent,
} from '../../../src/index.js'
import type { Entry, ProviderRegistry } from '../../../src/stores.js'
import { createSteppedClock } from '../../helpers/stepped-clock.js'
import { type PathsTaken, watchPaths } from './paths-taken.js'
import { ID, MODELS, OPENING, TOKENS, UPSTREAM_MODELS } from './settings.js'

/** The end state of a router. */
export interface Accounts {
  readonly posted: Readonly<Record<string, bigint>>
  readonly held: bigint
  readonly openHolds: number
  readonly entries: readonly Entry[]
  readonly faults: readonly RouterEvent[]
  /** Since the process began. */
  readonly taken: PathsTaken
}

/** A command for this process: start a router in front of a provider, end it, or nothing. */
export type Order = { readonly upstreamPort: number } | 'finish' | 'take a turn'
export type Answer = { readonly port: number } | { readonly accounts: Accounts } | 'turn taken'

const PRICES = { input: '2.5', cachedInput: '0.3', output: '11.7', reasoning: '13', request: '0.0001' }
const MARKUP = { basisPoints: 3_333, flat: '0.0005' }
const APP = { id: 'app', account: 'app-owner', markup: MARKUP, allowedModels: Object.values(MODELS) }
const ACCOUNTS = [...Object.keys(OPENING), APP.account, 'platform']
const ALL_ENTRIES = 1_000

const countPaths = await watchPaths()

/** Each call gets its own routes, so that no call learns from another's failures. */
function createRegistry(baseUrl: string): { registry: ProviderRegistry; close(): Promise<void> } {
  const compatible = openaiCompatible({ baseUrl, apiKey: 'sk-upstream' })
  const claude = anthropic({ baseUrl, apiKey: 'sk-upstream' })
  const { first, second } = UPSTREAM_MODELS
  const upstreamModels: Readonly<Record<string, readonly string[]>> = {
    [MODELS.one]: [first],
    [MODELS.two]: [first, second],
    [MODELS.claude]: [UPSTREAM_MODELS.claude],
  }
  return {
    registry: {
      routes: ({ id }, { requestId }) =>
        upstreamModels[id]!.map((upstreamModel) => ({
          id: `${upstreamModel} for ${requestId}`,
          provider: upstreamModel,
          adapter: id === MODELS.claude ? claude : compatible,
          upstreamModel,
        })),
    },
    async close() {
      await Promise.all([compatible.close?.(), claude.close?.()])
    },
  }
}

/** A router on a stopped clock, until `finish` is called. */
async function start(upstreamPort: number): Promise<{ port: number; finish(): Promise<Accounts> }> {
  const clock = createSteppedClock()
  const ledger = memoryLedger(OPENING, { clock })
  const providers = createRegistry(`http://127.0.0.1:${upstreamPort}`)
  const faults: RouterEvent[] = []
  let ids = 0
  const router = createCompatRouter({
    basePath: '/v1',
    credentials: memoryCredentials({
      [TOKENS.alice]: { kind: 'api-key', account: 'alice' },
      [TOKENS.bob]: { kind: 'access-token', account: 'bob', scopes: ['models.run'], app: APP },
      [TOKENS.pauper]: { kind: 'api-key', account: 'pauper' },
    }),
    catalogue: memoryCatalogue(Object.values(MODELS).map((id) => ({ id, prices: PRICES }))),
    ledger,
    providers: providers.registry,
    clock,
    newId: () => ID.make(++ids),
    ...(process.argv[2] === 'off' && { fastPaths: false }),
    onEvent: (event) => {
      if (event.type.endsWith('fault')) faults.push(event)
    },
  })
  const server = createServer(router).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async finish() {
      await router.close()
      const context = { requestId: 'finish', signal: new AbortController().signal }
      const { entries } = await ledger.entries({ limit: ALL_ENTRIES }, context)
      const posted: Record<string, bigint> = {}
      let held = 0n
      for (const account of ACCOUNTS) {
        const balance = await ledger.balance(account, context)
        posted[account] = balance?.posted ?? 0n
        held += balance?.held ?? 0n
      }
      await providers.close()
      server.closeAllConnections()
      server.close()
      return { posted, held, openHolds: router.openHolds, entries, faults, taken: await countPaths() }
    },
  }
}

let running: Awaited<ReturnType<typeof start>> | undefined

async function answer(order: Order): Promise<Answer> {
  if (order === 'take a turn') return 'turn taken'
  if (order === 'finish') return { accounts: await running!.finish() }
  running = await start(order.upstreamPort)
  return { port: running.port }
}

process.on('message', async (order: Order) => process.send?.(await answer(order)))
// A test that is interrupted leaves no process behind.
process.on('disconnect', () => process.exit())
