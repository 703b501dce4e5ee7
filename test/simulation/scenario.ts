import type { Prices } from '../../src/base/prices.js'
import type { Model } from '../../src/contracts/catalogue.js'
import type { Principal } from '../../src/contracts/credentials.js'
import type { RouterSettings } from '../../src/contracts/limits.js'
import type { Route } from '../../src/contracts/providers.js'
import type { Limit } from '../../src/contracts/usage-limits.js'
import { type CallPlan, planCalls } from './call-plan.js'
import { createRandom, type Random } from './random.js'

export type RoutePlan = Omit<Route, 'adapter'> & { readonly onDisconnect: 'abort' | 'drain' }

/** How often each part of the world fails, from 0 to 1. */
export interface FaultRates {
  readonly ledger: number
  readonly stores: number
  readonly idempotency: number
  readonly upstream: number
  readonly clients: number
  /** Somebody else settles a hold, with another amount, before the router does. */
  readonly rivals: number
}

/** All decisions made before a run starts. The rest is drawn during the run from the same seed. */
export interface Scenario extends RouterSettings {
  readonly seed: string
  readonly neverOverdraw: boolean
  readonly keepBodies: boolean
  readonly splice: boolean
  readonly byokFee: { readonly flat: string; readonly basisPoints: number }
  readonly idempotencyBytes: number
  readonly accounts: Readonly<Record<string, string>>
  readonly platformAccount: string
  readonly callers: readonly { readonly token: string; readonly principal: Principal }[]
  readonly model: Model
  readonly routes: readonly RoutePlan[]
  readonly calls: readonly CallPlan[]
  readonly processes: number
  readonly faults: FaultRates
  /** Process 0 is killed after so many steps in it. */
  readonly killAtStep: number | undefined
  readonly closes: readonly { readonly process: number; readonly atMs: number; readonly graceMs: number }[]
  /** The reply store forgets each claim at once, so that only the ledger's claims are left. */
  readonly forgetsReplies: boolean
  /** For a while the ledger is unreachable. */
  readonly outage: { readonly fromMs: number; readonly toMs: number } | undefined
  /** The ledger's clock jumps ahead, past the expiry of every hold. */
  readonly leap: { readonly atMs: number; readonly byMs: number } | undefined
}

export const MODEL = 'acme/fast'
/** When a router first looks for expired holds. */
const SWEEP_MS = 30_000
export const PROVIDERS = ['north', 'south', 'west'] as const

export function planScenario(seed: string, random: Random = createRandom(seed)): Scenario {
  const settings = planSettings(random)
  const model = planModel(random)
  const callers = withLimits(planCallers(random), createRandom(`limits of ${seed}`))
  const routes = planRoutes(random)
  // Repeats of one call in two processes, whose holds expire meanwhile.
  const isContested = random.chance(0.04)
  const processes = isContested || random.chance(0.35) ? 2 : 1
  const rate = (share: number): number => (random.chance(0.35) ? share : 0)
  const faults = {
    ledger: rate(random.pick([0.05, 0.3, 0.6])),
    stores: rate(0.06),
    idempotency: rate(0.2),
    upstream: random.chance(0.8) ? random.pick([0.2, 0.5]) : 0,
    clients: random.chance(0.7) ? random.pick([0.3, 0.8]) : 0,
    rivals: random.chance(0.08) ? 0.5 : 0,
  }
  return {
    seed,
    ...settings,
    neverOverdraw: random.chance(0.25),
    keepBodies: random.chance(0.8),
    splice: random.chance(0.5),
    byokFee: { flat: random.pick(['0', '0.000001']), basisPoints: random.pick([0, 500, 10_000]) },
    idempotencyBytes: random.chance(0.2) ? 10_240 : 1_048_576,
    accounts: Object.fromEntries(
      ['alice', 'bob', 'platform'].map((account) => [
        account,
        random.weighted([
          [6, '1000'],
          [1, '5000000000'],
          [2, '0.004'],
          [2, '0.0009'],
          [1, '0'],
        ]),
      ]),
    ),
    platformAccount: 'platform',
    callers,
    model,
    routes,
    calls: planCalls(random, {
      callers: callers.length,
      processes,
      clientFaults: faults.clients,
      isContested,
    }),
    processes,
    faults,
    killAtStep: processes === 2 && random.chance(0.3) ? random.int(1, 90) : undefined,
    closes: random.chance(0.2)
      ? [
          {
            process: random.int(0, processes - 1),
            atMs: random.chance(0.85) ? random.int(0, 500) : SWEEP_MS + random.int(0, 60),
            graceMs: random.pick([0, 20, 200, 2_000]),
          },
        ]
      : [],
    forgetsReplies: isContested || random.chance(0.05),
    outage: random.chance(0.08) ? planOutage(random) : undefined,
    leap: random.chance(isContested ? 0.7 : 0.06)
      ? { atMs: random.int(0, isContested ? 60 : 400), byMs: 10_000_000 }
      : undefined,
  }
}

function planOutage(random: Random): Scenario['outage'] {
  const fromMs = random.int(1, 120)
  return { fromMs, toMs: fromMs + random.pick([50, 700, 10_000]) }
}

function planSettings(random: Random): RouterSettings {
  const perAccount = random.chance(0.05) ? { inFlightPerAccount: 1 } : {}
  return {
    timeouts: {
      bodyIdleMs: 1_000,
      bodyMs: 1_000,
      storeMs: 60,
      connectMs: 30,
      idleMs: random.pick([90, 150]),
      tokenMs: random.pick([110, 220]),
      totalMs: random.pick([250, 600, 5_000]),
      clientStallMs: random.pick([60, 130]),
      settleWaitMs: random.pick([30, 90]),
      settleMs: random.pick([500, 3_000]),
      openStreamAfterMs: random.pick([25, 70, 1_000]),
    },
    sizes: {
      bodyBytes: 1_000_000,
      bodyBytesInFlight: 1_000_000,
      memoryBytes: 16_000_000,
      eventBytes: 100_000,
      replyBytes: 1_000_000,
    },
    charging: { holdOutputTokens: random.pick([10, 40]) },
    routing: { attempts: random.pick([1, 3, 3]) },
    concurrency: { lookUps: 1_000, inFlight: random.chance(0.05) ? 2 : 100, ...perAccount },
  }
}

function planModel(random: Random): Model {
  const contextLength = random.chance(0.3) ? random.pick([40, 500]) : undefined
  return {
    id: MODEL,
    created: 0,
    ownedBy: 'acme',
    ...(!random.chance(0.02) && { prices: planPrices(random) }),
    ...(random.chance(0.4) && { maxOutputTokens: random.pick([8, 50, 700]) }),
    // One of the two limits the images of a prompt.
    ...(contextLength === undefined ? { mediaTokens: random.pick([70, 1_600]) } : { contextLength }),
    ...(random.chance(0.5) && { priceVersion: 'spring' }),
  }
}

export function planPrices(random: Random): Prices {
  const scale = random.weighted<readonly [string, string]>([
    [6, ['3', '15']],
    [3, ['0.15', '0.6']],
    [1, ['0', '0']],
    [1, ['0.000000001', '0.000000007']],
    [0.4, ['31234567890.123456789', '40000000000']],
  ])
  const [input, output] = scale
  return {
    input,
    output,
    ...(random.chance(0.3) && { cachedInput: '0.1' }),
    ...(random.chance(0.2) && { cacheWrite: '3.75' }),
    ...(random.chance(0.2) && { reasoning: '21.5' }),
    ...(random.chance(0.3) && { request: random.pick(['0.0001', '0.000000001']) }),
    ...(random.chance(0.2) && { tiers: [{ above: random.pick([5, 30]), input: '6', output: '22.5' }] }),
  }
}

/** Payer, app and platform may be the same account. */
function planCallers(random: Random): Scenario['callers'] {
  return Array.from({ length: random.int(1, 2) }, (_, index) => {
    const account = random.weighted([
      [4, 'alice'],
      [2, 'bob'],
      [1, 'platform'],
    ])
    const bearer = { credentialId: `credential-${index}`, account }
    const token = `token-${index}`
    if (random.chance(0.4)) return { token, principal: { kind: 'api-key', ...bearer } }
    const appAccount = random.pick([undefined, 'app', 'app', account, 'platform'])
    const flat = random.pick([undefined, '0.00002', '0'])
    const app = {
      id: `app-${index}`,
      markup: {
        basisPoints: random.pick([0, 1, 2_000, 3_333, 1_000_000]),
        ...(flat !== undefined && { flat }),
      },
      allowedModels: [MODEL],
      ...(appAccount !== undefined && { account: appAccount }),
    }
    const runs = random.chance(0.5) ? ['models.run'] : ['models.run', 'credits.read']
    const scopes = random.chance(0.03) ? ['models.list'] : runs
    return { token, principal: { kind: 'access-token', ...bearer, app, scopes } }
  })
}

/** Some callers have limits. An account's or an app's has the same id for each of its callers. */
function withLimits(callers: Scenario['callers'], random: Random): Scenario['callers'] {
  const shared = planLimit(random, 'shared')
  return callers.map(({ principal, token }, index) => {
    const limits: Limit[] = []
    if (random.chance(0.25)) limits.push(planLimit(random, `own-${index}`))
    if (random.chance(0.15)) limits.push(planLimit(random, `further-${index}`))
    if (random.chance(0.15)) limits.push(shared)
    return { token, principal: limits.length === 0 ? principal : { ...principal, limits } }
  })
}

function planLimit(random: Random, id: string): Limit {
  const unit = random.pick(['credits', 'requests', 'tokens'] as const)
  const amounts = {
    credits: [0n, 1_500_000n, 4_000_000n, 20_000_000n],
    requests: [1n, 2n, 3n, 5n],
    tokens: [100n, 300n, 600n, 2_000n],
  }
  return {
    id,
    unit,
    amount: random.pick(amounts[unit]),
    per: random.pick(['minute', 'hour', 'total'] as const),
    ...(id === 'shared' && { of: 'account' as const }),
  }
}

function planRoutes(random: Random): RoutePlan[] {
  return Array.from({ length: random.int(1, 3) }, (_, index) => ({
    id: `route-${index}`,
    provider: PROVIDERS[index]!,
    upstreamModel: `upstream-${index}`,
    onDisconnect: random.chance(0.5) ? ('abort' as const) : ('drain' as const),
    byok: random.chance(0.2) ? random.pick(['no', 'only'] as const) : ('yes' as const),
    ...(random.chance(0.3) && { prices: planPrices(random) }),
    ...(random.chance(0.3) && { weight: random.int(0, 3) }),
    ...(random.chance(0.05) && { enabled: false }),
  }))
}
