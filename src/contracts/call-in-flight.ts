import type { CallFacts } from './ledger.js'

/** A chat completion that came in and has not ended. Its charge may go on being tried after its end. Frozen. */
export interface CallInFlight {
  /** May be its client's own, so that two calls may share one. */
  readonly requestId: string
  /** When it came in, in milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** Once its credential and its model are known. */
  readonly facts?: CallFacts
}
