import type { CallFacts } from './ledger.js'

/** A charged request that has not ended. Its charge may be retried after its end. Frozen. */
export interface CallInFlight {
  /** Clients can choose it, so two calls may have the same one. */
  readonly requestId: string
  /** The time of arrival, in milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** Absent until the credential and the model are known. */
  readonly facts?: CallFacts
}
