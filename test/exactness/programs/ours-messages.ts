import type { Prices } from '../usage.js'

export interface OursSetup {
  /** Ends in `/v1`. */
  readonly upstream: string
  readonly model: string
  readonly prices: Prices
  /** A SQLite file. Everything is in memory if absent. */
  readonly file?: string
}

/** Amounts are decimal strings. The answers are keys, or decimal strings of billionths. */
export type OursQuestion =
  /** `last-hold` is the amount that the last call put on hold. */
  | { readonly what: 'charges' | 'last-hold' | 'close' }
  | { readonly what: 'open-credit' | 'open-cap'; readonly amount: string }
  | { readonly what: 'revoke'; readonly key: string }
