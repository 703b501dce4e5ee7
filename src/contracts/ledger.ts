import type { Usage } from '../protocol/usage.js'
import type { Awaitable, CallContext, Credits } from './context.js'

/**
 * Who has how many credits. Every operation is atomic and durable when it has answered; a rejection means that the store
 * cannot say what happened, and the router then tries again or gives up, as docs/charging.md tells. A store in memory may
 * answer holds, settlements and releases without a promise, as calls then need not wait; a throw counts as a rejection.
 *
 * What cannot be right is a rejection too, and changes nothing: an amount, cost, base or markup below zero, postings
 * that do not add up to zero, a balance beyond 64 bits. What comes in and goes out is copied.
 *
 * What an operation does to a hold in each state:
 *
 * | | unknown | held | expired | released | settled |
 * |---|---|---|---|---|---|
 * | hold | takes it | same input: same answer, other: `conflict` | `closed` | `closed` | `closed` |
 * | release | leaves a mark: a late hold is `closed` | frees it | nothing | nothing | nothing |
 * | settle | posts | posts and frees it | posts | posts | nothing: the first charge comes back |
 */
export interface LedgerStore {
  /**
   * Sets an amount aside: granted when the available balance is at least the amount; an amount of 0 always.
   * Takes no credits, so a hold alone changes no `posted` balance.
   */
  hold(request: HoldRequest, context: CallContext): Awaitable<HoldResult>
  /**
   * Posts a charge and frees its hold, in one step. Never refused for lack of credit: what is missing is the overdraft.
   * Accounts that are not known are made. The same `holdId` again posts nothing and returns the first charge.
   */
  settle(request: SettleRequest, context: CallContext): Awaitable<SettleResult>
  /** Frees a hold without a charge. A repeat, or an unknown hold, is no error. */
  release(
    request: ReleaseRequest,
    context: CallContext,
  ): Awaitable<{ readonly state: 'released' | 'settled' }>
  /** An account's balance, or undefined where no account of that name exists. */
  balance(account: string, context: CallContext): Promise<Balance | undefined>
  /**
   * Marks at most `limit` holds whose time is over as expired, frees their claims and returns them, each to one caller
   * only. An overdue hold no longer counts against a balance whether or not this is called.
   */
  expireHolds(limit: number, context: CallContext): Promise<readonly ExpiredHold[]>
}

export interface HoldRequest {
  /** Made fresh by the router for each hold. */
  readonly holdId: string
  /** Who is to pay. */
  readonly account: string
  /** Zero or more. */
  readonly amount: Credits
  /** Runs on the store's clock. Afterwards the hold no longer counts. */
  readonly ttlMs: number
  readonly facts: CallFacts
  /** At most one hold of a claim is open or settled. */
  readonly claim?: string
  /**
   * Swaps that hold for this one in the same step, its amount counted as free on its own account and its claim carried
   * over. Refused, the old hold stands. Where the old hold is no longer held this is an ordinary hold; where it is
   * settled, `closed`.
   */
  readonly replaces?: string
}

export type HoldResult =
  | { readonly ok: true }
  /** An unknown account has 0 and 0. */
  | {
      readonly ok: false
      readonly reason: 'insufficient'
      readonly posted: Credits
      readonly available: Credits
    }
  | { readonly ok: false; readonly reason: 'conflict' | 'closed' }
  /** Another hold has the claim: settled where there is a charge, else still open. */
  | { readonly ok: false; readonly reason: 'claimed'; readonly charge?: Charge }

/** Complete in itself: it posts whether or not its hold is still known. */
export interface SettleRequest {
  readonly holdId: string
  readonly charge: Charge
  /** Add up to zero. Several of them may name one account; they are summed per account. */
  readonly postings: readonly Posting[]
  readonly facts: CallFacts
  /** That of its hold where it is left out. Taken where it is free, and kept for good: see `claimed` of {@link HoldResult}. */
  readonly claim?: string
}

export interface SettleResult {
  /** Whether this hold had been settled before. `charge` is then the first one. */
  readonly repeated: boolean
  readonly charge: Charge
  /** How far below zero the payer's balance is now; 0 where it is not. */
  readonly overdraft: Credits
  /** Another hold had taken the claim meanwhile; the charge was posted without it. */
  readonly claimLost?: boolean
}

export interface ReleaseRequest {
  readonly holdId: string
  readonly account: string
}

export interface Posting {
  readonly account: string
  /** Negative for who pays. */
  readonly amount: Credits
}

/** What a call costs. The same object goes to the ledger, to the client and to the events. */
export interface Charge {
  /** What the payer is debited: `base + markup`. */
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  /** Whether the counts are the provider's or ours. */
  readonly basis: 'reported' | 'estimated'
  /** Whether the call ran on a key of the caller's own. */
  readonly byok: boolean
  readonly usage: Usage
  readonly priceVersion?: string
  /** Under `neverOverdraw`, what the call would have cost above its hold. */
  readonly shortfall?: Credits
}

/** What an entry tells its reader. Never a token, never a prompt. Strings are free of control characters. */
export interface CallFacts {
  readonly requestId: string
  readonly account: string
  readonly credentialId: string
  readonly model: string
  readonly appId?: string
  /** `app_id` as sent with an API key: a label that nobody has checked. */
  readonly claimedAppId?: string
  readonly sessionId?: string
  readonly user?: string
  readonly provider?: string
  readonly routeId?: string
  /** The `id` of the reply. */
  readonly completionId?: string
}

export interface Balance {
  /** The sum of all postings; below 0 after an overdraft. */
  readonly posted: Credits
  /** The sum of the open holds. */
  readonly held: Credits
  /** `posted - held`. */
  readonly available: Credits
}

export interface ExpiredHold {
  readonly holdId: string
  readonly account: string
  readonly amount: Credits
  readonly facts: CallFacts
}

/** Reading what was posted. Apart from {@link LedgerStore}, so that a host's own ledger stays small. */
export interface LedgerReader {
  /** Newest first; `next` goes into `after` for the following page. */
  entries(query: EntryQuery, context: CallContext): Promise<EntryPage>
}

export interface EntryPage {
  readonly entries: readonly Entry[]
  readonly next?: string
}

export interface EntryQuery {
  /** Entries that have a posting to this account. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  readonly sessionId?: string
  /** Milliseconds since the Unix epoch, inclusive. */
  readonly from?: number
  /** Milliseconds since the Unix epoch, exclusive. */
  readonly to?: number
  readonly after?: string
  /** From 1 to 1,000; 100 by default. */
  readonly limit?: number
}

export interface Entry {
  readonly id: string
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  readonly kind: 'grant' | 'charge' | 'correction'
  readonly postings: readonly Posting[]
  readonly holdId?: string
  readonly charge?: Charge
  readonly facts?: CallFacts
  readonly memo?: string
}
