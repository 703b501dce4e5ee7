import type { PeriodWindow } from '../base/periods.js'
import type { CallContext, Credits } from './context.js'
import type { Balance, CallFacts, Entry } from './ledger.js'

/**
 * Answers callers' queries about their own calls and credit: `GET /key`, `/credits` and `/generation`. Optional for a
 * ledger: a router has these endpoints if its ledger has all three methods. None of them changes anything.
 */
export interface LedgerLookUps {
  /** Returns an account's balance and what it has spent, at one moment. Everything is 0 for an unknown account. */
  spent(query: SpentQuery, context: CallContext): Promise<Spent>
  /** Returns the count of each limit in its current period, in the order of the request. */
  limitCounts(limits: readonly CountedLimit[], context: CallContext): Promise<readonly LimitCount[]>
  /**
   * Returns the call of an account that took one of these holds, or undefined. If it took several, replaced ones are
   * omitted. A store may forget a call after some time, but not while its hold is open.
   */
  findCall(query: LedgerCallQuery, context: CallContext): Promise<LedgerCall | undefined>
}

export interface SpentQuery {
  /** The account that paid. */
  readonly account: string
  /** Only calls with this credential. */
  readonly credentialId?: string
}

export interface Spent extends SpentSums {
  /** The account's balance, even if only the calls of one credential are summed. */
  readonly balance: Balance
}

/** The cost of charges less their refunds, each at its own time. Periods are in UTC, and weeks begin on Monday. */
export interface SpentSums {
  readonly total: Credits
  readonly today: Credits
  readonly week: Credits
  readonly month: Credits
}

/** A limit to count. See `HoldLimit`. */
export interface CountedLimit {
  readonly bucket: string
  readonly limit: bigint
  readonly windows: readonly PeriodWindow[]
}

export interface LimitCount {
  readonly bucket: string
  readonly used: bigint
  /** Credits or tokens of open holds. Overdue holds may count. */
  readonly held: bigint
  /** At least 0. */
  readonly left: bigint
  /** Time until the period ends. Relative, since clocks differ. At least 0. */
  readonly resetMs: number
}

export interface LedgerCallQuery {
  readonly account: string
  /** At most 100. */
  readonly holdIds: readonly string[]
}

export type LedgerCall = HeldCall | SettledCall | EndedCall

/** A hold that is neither settled nor released yet. */
export interface HeldCall {
  readonly state: 'held'
  readonly facts: CallFacts
  readonly holdAmount: Credits
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number
}

export interface SettledCall {
  readonly state: 'settled'
  /** The charge. */
  readonly entry: Entry
  /** The sum of its refunds. */
  readonly refunded: Credits
}

/** A call without a charge: its hold was released, or expired without a settlement. */
export interface EndedCall {
  readonly state: 'ended'
  readonly facts: CallFacts
  /** Milliseconds since the Unix epoch. */
  readonly at: number
}
