import type { PricesView } from './administration.js'

export interface UsageView {
  /** All input, cached and cache-written included. */
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  /** All output, reasoning included. */
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
  /** Who paid. A user's own by default, and no other. */
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
  /** A day as `2026-01-31`, a model, an app, a credential's id or a provider; absent for what has none. */
  readonly key?: string
  /** What people call the key: the name of an app, the label of a credential. */
  readonly name?: string
}

/** Days are on one page; of all else the dearest come first, fifty a page. The sums are those of all pages. */
export interface SpendReply {
  readonly rows: readonly SpendRow[]
  /** How many there are on all pages. */
  readonly rowCount: number
  /** Goes into `after` for the following page. */
  readonly next?: string
  readonly total: SpendSums
  readonly books: SpendBooks
}

/** The same calls, summed from the ledger's postings alone. */
export interface SpendBooks {
  /** What the postings took from those who paid. */
  readonly debited: string
  /** What a payer owed to itself, since it earns the base or the markup too: netted out of its posting. */
  readonly kept: string
  /** `debited + kept`: what the total of `cost` has to be. */
  readonly paid: string
  /** Whether `paid` is the total of `cost` to the last digit, and every posting is there. */
  readonly isEqual: boolean
}

export interface AccountQuery {
  /** A user's own by default, and no other; an operator has to name one. */
  readonly account?: string
}

/** `granted + corrected + earned - spent = posted`, to the last digit where `isEqual`. */
export interface StatementReply {
  readonly account: string
  readonly granted: string
  readonly corrected: string
  readonly earned: string
  readonly spent: string
  /** What the four come to. */
  readonly sum: string
  /** The balance as it stands in the ledger. */
  readonly posted: string
  readonly held: string
  readonly available: string
  readonly isEqual: boolean
}

export interface CallsQuery {
  /** Who paid or earned. A user's own by default, and no other. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  /** A credential's id. */
  readonly key?: string
  /** A client may have given several calls one. */
  readonly requestId?: string
  readonly sessionId?: string
  readonly from?: number
  readonly to?: number
  /** `next` of the page before. */
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
  readonly kind: 'grant' | 'charge' | 'correction'
  /** What it did to the account that was asked for; absent if none was. */
  readonly amount?: string
  /** To whom what went. A user sees its own account's posting only. */
  readonly postings: readonly { readonly account: string; readonly amount: string }[]
  readonly memo?: string
  /** Where a user earned from another's call: all that is its business, in place of charge and facts. */
  readonly earnedFrom?: { readonly model: string; readonly appId?: string }
  readonly charge?: ChargeView
  readonly facts?: FactsView
  readonly holdId?: string
  /** How the call went, while this process remembers it. */
  readonly explanation?: ExplanationView
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
  /** What the call would have cost above its hold, where the host never overdraws. */
  readonly shortfall?: string
}

/**
 * Unit prices as they are now, of the route where it has its own, else of the model. They may have changed since the
 * charge, where an operator left `priceVersion` as it was also under the same one.
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
  /** What people call the credential now. */
  readonly credentialLabel?: string
  readonly model: string
  readonly appId?: string
  /** A label that came with an API key and that nobody has checked. */
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
  /** What people call the credential now. */
  readonly credentialLabel?: string
  readonly appId?: string
}

/** What the `request-end` of a call told. */
export interface ExplanationView {
  readonly startedAt: number
  readonly durationMs: number
  readonly firstTokenMs?: number
  /** `completed`, `client-left`, or the code of the error that the client was sent. */
  readonly outcome: string
  readonly status: number
  readonly holdAmount?: string
  readonly routing?: RoutingView
  readonly finishReason?: string
  readonly nativeFinishReason?: string
  readonly upstreamId?: string
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
  /** `why` it failed, to an operator alone. */
  readonly attempts: readonly { readonly routeId: string; readonly outcome: string; readonly why?: string }[]
}

export interface EventsQuery {
  /** A user's own by default, and no other. With one, events that concern no account are left out. */
  readonly account?: string
  /** Only what ended without a charge, and what went wrong: errors, refusals, clients that left. */
  readonly problems?: boolean
  readonly model?: string
  readonly requestId?: string
  /** From 1 to 1,000; 100 by default. */
  readonly limit?: number
}

/** Newest first: what this process remembers. */
export interface EventsReply {
  readonly events: readonly EventView[]
  /** How many events are kept at most, beside requests that did not authenticate. */
  readonly capacity: number
  /** Of calls that were completed and charged, how many are kept at most that ended in one second. */
  readonly completedASecond: number
  /** How many requests that did not authenticate are kept at most. */
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
  /** In words, for all but `request-end`. */
  readonly message?: string
  readonly facts?: FactsView
  /** Whose credential came with a request that was refused before its model was found. */
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
  /** Only the account of this very id; none where there is no such account. */
  readonly account?: string
}

/** By id. A user's own is the only one that it sees. */
export interface AccountsReply {
  readonly accounts: readonly AccountView[]
  /** Goes into `after`. */
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
  /** A decimal string of at most nine places; of a correction with or without a minus sign. */
  readonly amount: string
  /** The same one again posts nothing. */
  readonly reference?: string
  readonly memo?: string
}

export interface PostedReply {
  readonly entry: EntryView
  readonly account: AccountView
  /** The reference had been posted before: this is the entry of then, and nothing was posted now. */
  readonly isRepeat?: true
}
