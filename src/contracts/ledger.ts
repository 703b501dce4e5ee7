import type { PeriodWindow } from '../base/periods.js'
import type { Usage } from '../protocol/usage.js'
import type { Awaitable, CallContext, Credits } from './context.js'
import type { LimitUnit } from './usage-limits.js'

/**
 * Keeps the balances. Every operation is atomic, and durable once it has answered. A rejection means that the store
 * cannot say whether it happened: the router then retries or gives up, as docs/charging.md describes. A store in memory
 * may answer holds, settlements and releases without a promise; a throw counts as a rejection.
 *
 * The store also rejects impossible input, and then changes nothing: an amount, cost, base or markup below zero, postings
 * that do not add up to zero, a balance beyond 64 bits, limits outside of their periods. It copies its input and its output.
 *
 * The effect of each operation on a hold in each state:
 *
 * | | unknown | held | expired | released | settled |
 * |---|---|---|---|---|---|
 * | hold | reserves the amount | same input: same answer, other: `conflict` | `closed` | `closed` | `closed` |
 * | release | remembers the id: a late hold is `closed` | releases it | nothing | nothing | nothing |
 * | settle | posts | posts and ends it | posts | posts | nothing: returns the first charge |
 */
export interface LedgerStore {
  /**
   * Reserves an amount if the available balance is at least that amount. A hold of 0 is always granted. A hold does not
   * change the `posted` balance.
   */
  hold(request: HoldRequest, context: CallContext): Awaitable<HoldResult>
  /**
   * Posts a charge and ends its hold in one atomic step. Never refuses for lack of credit: the balance may go below zero.
   * Creates unknown accounts. A repeat with the same `holdId` posts nothing and returns the first charge.
   */
  settle(request: SettleRequest, context: CallContext): Awaitable<SettleResult>
  /** Releases a hold without a charge. Repeats and unknown holds are not errors. */
  release(
    request: ReleaseRequest,
    context: CallContext,
  ): Awaitable<{ readonly state: 'released' | 'settled' }>
  /** Returns an account's balance, or undefined if the account does not exist. */
  balance(account: string, context: CallContext): Promise<Balance | undefined>
  /**
   * Marks at most `limit` overdue holds as expired, releases their claims and returns them, each to one caller only. An
   * overdue hold no longer counts against the balance, even if this is never called.
   */
  expireHolds(limit: number, context: CallContext): Promise<readonly ExpiredHold[]>
  /**
   * Optional, for a store that several processes share. Reports that this process is alive. The router calls it at its
   * start and then repeatedly. If a process stops doing so for longer than `silentMs`, its open holds may expire at
   * once.
   */
  keepHolds?(context: CallContext): Promise<KeptHolds>
}

export interface KeptHolds {
  /**
   * The name under which this process takes holds from now on. If it differs from the last answer, the process was
   * silent for too long: its earlier holds have expired, and it takes them again.
   */
  readonly holder: string
  /** Time until the next call. */
  readonly everyMs: number
  /** A silence of this length is safe. */
  readonly silentMs: number
}

export interface HoldRequest {
  /** Unique: the router creates a new id for each hold. */
  readonly holdId: string
  /** The account that pays. */
  readonly account: string
  /** Zero or more. With `steps`, the least that the hold may reserve. */
  readonly amount: Credits
  /** How much more the hold reserves if there is enough. The store chooses the number of steps and returns it. */
  readonly steps?: HoldSteps
  /** Measured by the store's clock. After this time the hold has expired. */
  readonly ttlMs: number
  readonly facts: CallFacts
  /** At most one hold with the same claim is open or settled. */
  readonly claim?: string
  /**
   * Replaces that hold by this one in the same step: the old amount counts as available, and its claim is carried over.
   * If the new hold is refused, the old one stays. If the old hold is no longer open, this is an ordinary hold; if it is
   * settled, the answer is `closed`.
   */
  readonly replaces?: string
  /** Conditions of the hold, in the same atomic step, after the balance. No bucket occurs twice. */
  readonly limits?: readonly HoldLimit[]
  /** How many of `limits`, from the first one, are tested before the balance. None by default. */
  readonly beforeBalance?: number
}

/**
 * A hold with steps reserves `amount + steps x steps.amount`. The store chooses the number of steps in the same atomic
 * step: as many as each of these allows, and at most `most`.
 *
 * - The available balance, unless `hidesBalance` is set, and each limit with a `step`, unless it is `hidden`.
 * - Each of them allows the steps that a quarter of its free part covers, or `usual` steps if that is more. It leaves
 *   as much free for later holds as three times `amount`, or the largest multiple of `amount` that still fits beside
 *   this hold. So four equal concurrent holds fit whenever four times the minimum fits.
 *
 * The free part of a bucket is `limit - used - held`, without the part of a replaced hold. Overdue holds may count as
 * held. If the hold does not fit with these steps, it is refused. A repeated hold is answered with its first number of
 * steps.
 */
export interface HoldSteps {
  /** The credits of each step. `amount + most x steps.amount` is at most 2^63 - 1. */
  readonly amount: Credits
  /** Zero or more. */
  readonly usual: number
  /** Zero or more, at most 2^31 - 1. */
  readonly most: number
  /** The caller may not learn the balance, so the number of steps does not depend on it. */
  readonly hidesBalance?: boolean
}

/**
 * A limit on a hold: its bucket's `used + held + amount` may be at most `limit`. Credits and tokens are then held until
 * the settlement says how much was used. A request is used at once, and never returned.
 *
 * A bucket counts one period, which the store chooses from `windows` by its own clock. A hold in a later period starts
 * the bucket again from 0. The period never goes back, even if the clock does. If none of the windows contains the
 * store's time, the store rejects the hold, but still answers the repeat of a hold that it granted earlier. An `amount`
 * of 0 credits is always granted.
 *
 * A hold that replaces another one is tested without the part of the bucket that the other one accounts for, keeps its
 * period, and is not a second request. If the bucket's period has ended in the meantime, its credits and tokens are
 * held in the bucket's current period.
 */
export interface HoldLimit {
  /** The limit's id, its unit and its period. A bucket that the store does not know is empty. */
  readonly bucket: string
  readonly unit: LimitUnit
  readonly limit: bigint
  /** 1 for requests. With `step`, the minimum. */
  readonly amount: bigint
  /** What each of the hold's {@link HoldSteps} adds to `amount`. Nothing by default. */
  readonly step?: bigint
  /** The caller may not learn how much is left, so the number of steps does not depend on this limit. */
  readonly hidden?: boolean
  /** Periods in order, without gaps: the router's current one with the previous and the next. */
  readonly windows: readonly PeriodWindow[]
}

/** A bucket after a hold. */
export interface LimitState {
  readonly bucket: string
  /** The beginning of the period in which the hold counts, for {@link LimitUse}. */
  readonly from: number
  /** The part of the limit that is neither used nor held, at least 0. Overdue holds may count as held. */
  readonly left: bigint
  /** The time until the bucket's period ends. Relative, since clocks differ. At least 0. */
  readonly resetMs: number
}

/** The actual use of a bucket by a call. */
export interface LimitUse {
  readonly bucket: string
  readonly unit: LimitUnit
  /** From the {@link LimitState} of the call's last hold. If the bucket counts another period, it does not change. */
  readonly from: number
  /** 1 for requests, which the hold has already counted. */
  readonly used: bigint
}

export type HoldResult =
  /**
   * The states of the request's `limits` in the same order, and the number of steps if the request has some. A router
   * releases a hold whose limits or steps are not answered.
   */
  | { readonly ok: true; readonly limits?: readonly LimitState[]; readonly steps?: number }
  /** Both amounts are 0 for an unknown account. */
  | {
      readonly ok: false
      readonly reason: 'insufficient'
      readonly posted: Credits
      readonly available: Credits
      /** The number of steps for which the balance was too low. 0 by default. */
      readonly steps?: number
    }
  | { readonly ok: false; readonly reason: 'conflict' | 'closed' }
  /** Another hold has the claim. It is settled if there is a `charge`, and otherwise still open. */
  | { readonly ok: false; readonly reason: 'claimed'; readonly charge?: Charge }
  | HoldLimited

/** A limit does not allow the hold. If several do not, the one whose period ends last. */
export interface HoldLimited {
  readonly ok: false
  readonly reason: 'limited'
  readonly bucket: string
  /** As in {@link LimitState}, but without overdue holds. Never enough for the amount. */
  readonly left: bigint
  /** See {@link LimitState}. */
  readonly resetMs: number
  /**
   * Whether the amount would fit if all open holds ended without a charge, so that `used + amount` is at most the
   * limit.
   */
  readonly onlyHeld: boolean
  /** The number of steps for which the limit was too low. 0 by default. */
  readonly steps?: number
}

/** Contains everything to post, whether or not the store still knows the hold. */
export interface SettleRequest {
  readonly holdId: string
  readonly charge: Charge
  /** They add up to zero. Several may name the same account, and are then summed. */
  readonly postings: readonly Posting[]
  readonly facts: CallFacts
  /**
   * The use to count, whether or not the store still knows the hold. It names every bucket of the hold, none of them twice.
   * Unknown buckets are not created.
   */
  readonly limits?: readonly LimitUse[]
  /** Defaults to the claim of the hold. If no other hold has it, this one keeps it: see `claimed` of {@link HoldResult}. */
  readonly claim?: string
}

export interface SettleResult {
  /** Whether this hold had been settled before. `charge` is then the first one. */
  readonly repeated: boolean
  readonly charge: Charge
  /** How far the payer's balance is below zero now, otherwise 0. */
  readonly overdraft: Credits
  /** Set if another hold had taken the claim in the meantime, so the charge was posted without it. */
  readonly claimLost?: boolean
}

export interface ReleaseRequest {
  readonly holdId: string
  readonly account: string
}

export interface Posting {
  readonly account: string
  /** Negative for the payer. */
  readonly amount: Credits
}

/** The cost of a call. The ledger, the client and the events get the same figures. */
export interface Charge {
  /** The amount debited from the payer: `base + markup`. */
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  /** Whether the provider reported the token counts or the router estimated them. */
  readonly basis: 'reported' | 'estimated'
  /** Whether the call ran on the caller's own provider key. */
  readonly byok: boolean
  readonly usage: Usage
  readonly priceVersion?: string
  /** Under `neverOverdraw`, the part of the cost above the hold, which is not charged. */
  readonly shortfall?: Credits
}

/** Describes a call in entries and events. Never contains a token or a prompt. Strings have no control characters. */
export interface CallFacts {
  readonly requestId: string
  readonly account: string
  readonly credentialId: string
  readonly model: string
  readonly appId?: string
  /** `app_id` as sent with an API key: an unchecked label. */
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

/** Reads posted entries. Separate from {@link LedgerStore}, so that a host's own ledger can stay small. */
export interface LedgerReader {
  /** Returns the newest entries first. Pass `next` as `after` to get the following page. */
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

/** The part of a charge that a refund returns. */
export interface Refund {
  /** The id of the charge's entry. */
  readonly of: string
  /** The part of its cost. Each of its postings is reversed in this proportion. */
  readonly amount: Credits
}

export interface Entry {
  readonly id: string
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  readonly kind: 'credit' | 'charge' | 'correction' | 'refund'
  readonly postings: readonly Posting[]
  readonly holdId?: string
  readonly charge?: Charge
  /** Only for a refund. */
  readonly refund?: Refund
  /** The call that was charged or refunded. */
  readonly facts?: CallFacts
  readonly memo?: string
  /** Identifies a credit, a correction or a refund, such as an invoice number. Made up if the host gave none. */
  readonly reference?: string
  /** The use of each bucket. */
  readonly limits?: readonly LimitUse[]
}
