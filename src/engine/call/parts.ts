import type { MemoryBudget } from '../../base/memory-budget.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { PlanOptions } from '../../contracts/operation.js'
import type { InFlight } from '../admission/in-flight.js'
import type { LookUps } from '../admission/look-ups.js'
import type { LimitReader } from '../charging/caller-limits.js'
import type { HoldKeeper } from '../charging/hold-keeper.js'
import type { LedgerClient } from '../charging/ledger-client.js'
import type { PriceReader } from '../charging/quote.js'
import type { FirstTimes } from '../events/first-times.js'
import type { Idempotency } from '../idempotency/idempotency.js'
import type { RouteHealthBook } from '../routing/route-health.js'
import type { Watch } from './watchdog.js'

/** The parts that all calls of a router share. */
export interface EngineParts {
  readonly options: EngineOptions
  /** For the plans of calls that cost at most their hold. */
  readonly boundedPlan: PlanOptions
  readonly ledger: LedgerClient
  readonly holds: HoldKeeper
  readonly lookUps: LookUps
  readonly inFlight: InFlight
  readonly memory: MemoryBudget
  readonly idempotency: Idempotency
  readonly watchdog: Watch
  readonly health: RouteHealthBook
  readonly readPrices: PriceReader
  readonly readLimits: LimitReader
  /** For events that are emitted once for each model and name. */
  readonly firstTimes: FirstTimes
}
