import type { DrainSlots } from './drain-slots.js'
import type { InFlight } from './in-flight.js'
import type { EngineOptions } from './options.js'
import type { PriceReader } from './quote.js'
import type { RouteHealthBook } from './route-health.js'
import type { Settlements } from './settlements.js'

/** What all calls of one router share. */
export interface EngineParts {
  readonly options: EngineOptions
  readonly settlements: Settlements
  readonly inFlight: InFlight
  readonly drains: DrainSlots
  readonly health: RouteHealthBook
  readonly readPrices: PriceReader
}
