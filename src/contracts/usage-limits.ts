import type { Period } from '../base/periods.js'

/**
 * A budget or rate limit: how much one credential, account or app may use in each period. The ledger tests it in the
 * same atomic step as a call's hold, so it holds across any number of processes.
 */
export interface Limit extends Period {
  /** Unique among all limits of a ledger. Limits with the same id share their count, unless they have an `ownerId`. */
  readonly id: string
  /** `credits` counts the cost, `tokens` the tokens of prompt and completion, `requests` admitted calls. */
  readonly unit: LimitUnit
  /** Zero or more, at most 2^63 - 1: credits in 10^-9 credit, otherwise a number of requests or tokens. */
  readonly amount: bigint
  /** Whose limit it is. `'credential'` by default: an API key or, for an access token, the connected app. */
  readonly of?: LimitOwner
  /** The id of that owner. With it, the count is this owner's alone, even if the id was another owner's before. */
  readonly ownerId?: string
}

export type LimitUnit = 'credits' | 'requests' | 'tokens'
export type LimitOwner = 'credential' | 'account' | 'app'
