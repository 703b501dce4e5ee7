import type { PricesView } from './administration.js'
import type { LimitView } from './limits.js'

export interface UsageView {
  /** All input, including cached and cache-written tokens. */
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  /** All output, including reasoning. */
  readonly completion: number
  readonly reasoning: number
  /** Absent if there are none, as the three below. */
  readonly audioInput?: number
  readonly audioOutput?: number
  readonly imageInput?: number
  readonly imageOutput?: number
}

export type SpendBy = 'day' | 'model' | 'app' | 'key' | 'provider'

export interface SpendQuery {
  readonly by: SpendBy
  /** The account that paid. For a user only its own, which is the default. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  /** Inclusive. */
  readonly from?: number
  /** Exclusive. */
  readonly to?: number
  readonly after?: string
}

export interface SpendSums {
  readonly calls: number
  readonly cost: string
  readonly base: string
  readonly markup: string
  readonly usage: UsageView
}

export interface SpendRow extends SpendSums {
  /** A day such as `2026-01-31`, a model, an app, a credential's id or a provider; absent for calls without one. */
  readonly key?: string
  /** The display name of the key: an app's name or a credential's label. */
  readonly name?: string
}

/** All days are on one page. Other rows come fifty per page, the most expensive first. The sums cover all pages. */
export interface SpendReply {
  readonly rows: readonly SpendRow[]
  /** The number of rows on all pages. */
  readonly rowCount: number
  /** Pass it as `after` to get the next page. */
  readonly next?: string
  readonly total: SpendSums
  readonly books: SpendBooks
}

/** The same calls, summed only from the ledger's postings. */
export interface SpendBooks {
  /** The sum that postings debited from payers. */
  readonly debited: string
  /** The sum that payers owed to themselves because they earn the base or the markup too. Their postings contain only the difference. */
  readonly kept: string
  /** `debited + kept`, which must be the total of `cost`. */
  readonly paid: string
  /** Whether `paid` equals the total of `cost` to the last digit, and no posting is missing. */
  readonly isEqual: boolean
}

export interface AccountQuery {
  /** For a user only its own account, which is the default; an operator must name one. */
  readonly account?: string
}

/** If `isEqual`, `granted + corrected + refunded + earned - spent = posted` to the last digit. */
export interface StatementReply {
  readonly account: string
  readonly granted: string
  readonly corrected: string
  /** Negative if it gave back more of its earnings than it got back. */
  readonly refunded: string
  readonly earned: string
  readonly spent: string
  /** The sum of these five. */
  readonly sum: string
  /** The balance in the ledger. */
  readonly posted: string
  readonly held: string
  readonly available: string
  readonly isEqual: boolean
}

export interface CallsQuery {
  /** The account that paid or earned. For a user only its own, which is the default. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  /** A credential's id. */
  readonly key?: string
  /** A client may have used the same one for several calls. */
  readonly requestId?: string
  readonly sessionId?: string
  readonly from?: number
  readonly to?: number
  /** `next` of the previous page. */
  readonly after?: string
  /** From 1 to 200; 50 by default. */
  readonly limit?: number
}

/** Newest first. */
export interface CallsReply {
  readonly entries: readonly EntryView[]
  readonly next?: string
}

/** One entry of the ledger. */
export interface EntryView {
  readonly id: string
  readonly at: number
  readonly kind: 'grant' | 'charge' | 'correction' | 'refund'
  /** The change to the queried account's balance; absent if no account was queried. */
  readonly amount?: string
  /** A user sees only its own account's posting. */
  readonly postings: readonly { readonly account: string; readonly amount: string }[]
  readonly memo?: string
  /** Replaces `charge` and `facts` if a user earned from another account's call. */
  readonly earnedFrom?: { readonly model: string; readonly appId?: string }
  readonly charge?: ChargeView
  readonly refund?: RefundView
  /** The call that was charged or refunded. */
  readonly facts?: FactsView
  readonly holdId?: string
  /** How the call went; absent if this process no longer remembers it. */
  readonly explanation?: ExplanationView
}

export interface RefundView {
  /** The id of the charge's entry. */
  readonly of: string
  readonly amount: string
}

export interface ChargeView {
  readonly cost: string
  readonly base: string
  readonly markup: string
  readonly basis: 'reported' | 'estimated'
  readonly byok: boolean
  readonly usage: UsageView
  readonly priceVersion?: string
  readonly currentPrices?: CurrentPricesView
  /** The cost above the hold that was not charged, because the host never overdraws. */
  readonly shortfall?: string
}

/**
 * The current unit prices: those of the route if it has its own, otherwise those of the model. They may have changed
 * since the charge, even under the same `priceVersion` if an operator did not change it.
 */
export interface CurrentPricesView {
  readonly of: 'model' | 'route'
  readonly prices: PricesView
  readonly priceVersion?: string
}

export interface FactsView {
  readonly requestId: string
  readonly account: string
  readonly credentialId: string
  /** The credential's current label. */
  readonly credentialLabel?: string
  readonly model: string
  readonly appId?: string
  /** An unverified label that a client sent with an API key. */
  readonly claimedAppId?: string
  readonly sessionId?: string
  readonly user?: string
  readonly provider?: string
  readonly routeId?: string
  readonly completionId?: string
}

export interface CallerView {
  readonly account: string
  readonly credentialId: string
  /** The credential's current label. */
  readonly credentialLabel?: string
  readonly appId?: string
}

/** The content of a call's `request-end` event. */
export interface ExplanationView {
  readonly startedAt: number
  readonly durationMs: number
  readonly firstTokenMs?: number
  /** `completed`, `client-left`, or the code of the error that was sent to the client. */
  readonly outcome: string
  readonly status: number
  readonly holdAmount?: string
  readonly routing?: RoutingView
  readonly finishReason?: string
  readonly nativeFinishReason?: string
  readonly upstreamId?: string
  /** The output limit that the router chose. */
  readonly outputLimit?: number
  /** `action` and `connected` as the client sent them. */
  readonly action?: unknown
  readonly connected?: unknown
  readonly clientRetry?: number
  readonly replayed?: boolean
  readonly overdraft?: string
}

export interface RoutingView {
  readonly considered: readonly string[]
  readonly excluded: readonly { readonly routeId: string; readonly why: string }[]
  readonly behind: readonly { readonly routeId: string; readonly why: string }[]
  readonly chosenBy: 'pin' | 'order' | 'affinity' | 'sort' | 'weight' | 'price' | 'only-route'
  /** Only an operator sees `why` an attempt failed. */
  readonly attempts: readonly { readonly routeId: string; readonly outcome: string; readonly why?: string }[]
}

export interface EventsQuery {
  /** For a user only its own account, which is the default. If set, events that concern no account are omitted. */
  readonly account?: string
  /** Only calls that ended without a charge, and everything that went wrong: errors, refusals, clients that left. */
  readonly problems?: boolean
  readonly model?: string
  readonly requestId?: string
  /** From 1 to 1,000; 100 by default. */
  readonly limit?: number
}

/** The events that this process remembers, newest first. */
export interface EventsReply {
  readonly events: readonly EventView[]
  /** The maximum number of events that are kept, not counting requests that did not authenticate. */
  readonly capacity: number
  /** The maximum number of completed and charged calls that are kept for one second. */
  readonly completedASecond: number
  /** The maximum number of requests that are kept of those that did not authenticate. */
  readonly unauthenticated: number
}

export interface EventView {
  /** Counts up from 1. */
  readonly number: number
  readonly at: number
  /** `request-end`, `charge-failed`, `hold-expired`, `store-fault`, … as in the router's events; no `request-start`. */
  readonly type: string
  readonly requestId?: string
  readonly account?: string
  /** A description; absent for `request-end`. */
  readonly message?: string
  readonly facts?: FactsView
  /** The owner of the credential, if the request was refused before its model was found. */
  readonly caller?: CallerView
  readonly charge?: ChargeView
  readonly explanation?: ExplanationView
}

export interface PageQuery {
  readonly after?: string
  /** From 1 to 200; 50 by default. */
  readonly limit?: number
}

export interface AccountsQuery extends PageQuery {
  /** Only the account with exactly this id. */
  readonly account?: string
}

/** Sorted by id. A user sees only its own account. */
export interface AccountsReply {
  readonly accounts: readonly AccountView[]
  /** The limits of these accounts. */
  readonly limits: readonly LimitView[]
  /** Pass it as `after` to get the next page. */
  readonly next?: string
}

export interface AccountView {
  readonly id: string
  readonly posted: string
  readonly held: string
  readonly available: string
  readonly createdAt: number
  readonly suspendedAt?: number
}

export interface AccountBody {
  readonly account: string
}

export interface AccountReply {
  readonly account: AccountView
}

export interface GrantBody {
  readonly account: string
  /** A decimal string with at most nine places. A correction may be negative. */
  readonly amount: string
  /** A repeat with the same reference posts nothing. */
  readonly reference?: string
  readonly memo?: string
}

export interface RefundBody {
  /** The entry of a charge. */
  readonly entryId: string
  /** A decimal string; all that is left of the charge by default. */
  readonly amount?: string
  /** A repeat with the same reference posts nothing. */
  readonly reference?: string
  readonly memo?: string
}

/** The account is the one that the grant or the correction names, or the payer of the refunded charge. */
export interface PostedReply {
  readonly entry: EntryView
  readonly account: AccountView
  /** The reference had been posted before: `entry` is that earlier entry, and nothing was posted now. */
  readonly isRepeat?: true
}
