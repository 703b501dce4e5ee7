import type { EngineOptions } from '../../contracts/engine-options.js'
import type { InFlight } from './in-flight.js'
import type { LookUps } from './look-ups.js'

/** Everything that decides whether a request is let in. */
export interface Admission {
  readonly options: EngineOptions
  readonly lookUps: LookUps
  readonly inFlight: InFlight
}
