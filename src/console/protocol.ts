/**
 * What the console's pages and its server say to each other. Types only: both sides import this file.
 *
 * Paths are relative to the console's mount. Amounts are exact decimal strings of credits (`'-0.0012'`), times are
 * milliseconds since the Unix epoch, days are of UTC. What is absent is left out; nothing is `null`.
 *
 * | method and path | who | query or body | reply |
 * |---|---|---|---|
 * | GET `api/me` | both | | {@link MeReply} |
 * | GET `api/live` | both | | {@link LiveReply} |
 * | GET `api/spend` | both | {@link SpendQuery} | {@link SpendReply} |
 * | GET `api/spend.csv` | both | {@link SpendQuery} | a file |
 * | GET `api/statement` | both | {@link AccountQuery} | {@link StatementReply} |
 * | GET `api/calls` | both | {@link CallsQuery} | {@link CallsReply} |
 * | GET `api/calls.csv` | both | {@link CallsQuery} without `after`, `limit` | a file |
 * | GET `api/events` | both | {@link EventsQuery} | {@link EventsReply} |
 * | GET `api/accounts` | both | {@link PageQuery} | {@link AccountsReply} |
 * | POST `api/accounts/open` | operator | {@link AccountBody} | {@link AccountReply} |
 * | POST `api/accounts/grant` | operator | {@link GrantBody} | {@link PostedReply} |
 * | POST `api/accounts/correct` | operator | {@link GrantBody} | {@link PostedReply} |
 * | POST `api/accounts/suspend` | operator | {@link AccountBody} | {@link AccountReply} |
 * | POST `api/accounts/resume` | operator | {@link AccountBody} | {@link AccountReply} |
 * | GET `api/credentials` | both | {@link CredentialsQuery} | {@link CredentialsReply} |
 * | POST `api/credentials/playground` | both | {@link PlaygroundBody} | {@link IssuedReply} |
 * | POST `api/credentials/issue-key` | both | {@link IssueKeyBody} | {@link IssuedReply} |
 * | POST `api/credentials/issue-token` | both | {@link IssueTokenBody} | {@link IssuedReply} |
 * | POST `api/credentials/reissue` | both | {@link ReissueBody} | {@link IssuedReply} |
 * | POST `api/credentials/revoke` | both | {@link CredentialBody} | {@link DoneReply} |
 * | GET `api/apps` | both | | {@link AppsReply} |
 * | POST `api/apps/put` | operator | {@link AppBody} | {@link DoneReply} |
 * | POST `api/apps/suspend` | operator | {@link IdBody} | {@link DoneReply} |
 * | POST `api/apps/resume` | operator | {@link IdBody} | {@link DoneReply} |
 * | GET `api/models` | both | | {@link ModelsReply} |
 * | POST `api/models/put` | operator | {@link ModelBody} | {@link DoneReply} |
 * | POST `api/models/remove` | operator | {@link IdBody} | {@link DoneReply} |
 * | GET `api/routes` | operator | | {@link RoutesReply} |
 * | POST `api/routes/put` | operator | {@link RouteBody} | {@link DoneReply} |
 * | POST `api/routes/remove` | operator | {@link IdBody} | {@link DoneReply} |
 * | POST `api/routes/rotate-secrets` | operator | `{}` | {@link RotatedReply} |
 * | POST `api/books/verify` | operator | `{}` | {@link VerifyReply} |
 *
 * Failures are {@link ErrorReply}: 400 for what cannot be read, 401 where nobody is signed in, 403 for what only an
 * operator may or a request from another site, 404 for what is not there or not the viewer's, 405, 409 for a reference
 * or a secret that is taken, 413, 415, 500. POST takes `content-type: application/json`.
 */

/** `field` is a path into the query or the body, such as `prices.input`. */
export interface ErrorReply {
  readonly error: { readonly message: string; readonly field?: string }
}

export type Viewer =
  | { readonly kind: 'operator'; readonly name?: string }
  | { readonly kind: 'user'; readonly account: string; readonly name?: string }

export interface MeReply {
  readonly viewer: Viewer
  /** Where the router is on this origin, such as `/compat/v1`: the base URL of the playground's calls. */
  readonly routerPath: string
  /** To be posted to with `{}`, relative to the mount; then reload. Absent where the host has its own way. */
  readonly signOutPath?: string
  /** Of the package. */
  readonly version: string
}

/** What is going on. Meant to be asked for once a second. */
export interface LiveReply {
  readonly at: number
  /** Newest first, at most 500. A user sees those of its account. */
  readonly inFlight: readonly InFlightCall[]
  /** More are in flight than are shown. */
  readonly isCut: boolean
  /** Sorted by id. Empty for a user, and where the console was not given `routes`. */
  readonly routes: readonly RouteHealthView[]
}

export interface InFlightCall {
  readonly requestId: string
  /** Absent for calls of other processes, and where the process started after the call. */
  readonly startedAt?: number
  /** Absent before credit is held: then only a start is known. */
  readonly account?: string
  readonly model?: string
  readonly appId?: string
  readonly provider?: string
  readonly routeId?: string
  readonly sessionId?: string
  /** What is set aside. */
  readonly holdAmount?: string
}

export interface RouteHealthView {
  readonly routeId: string
  readonly provider: string
  /** `open`: it failed and is tried last; `half-open`: the next call tells. */
  readonly state: 'closed' | 'half-open' | 'open'
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  /** From 0 to 1. */
  readonly failureRate: number
}

export interface UsageView {
  /** All input, cached and cache-written included. */
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  /** All output, reasoning included. */
  readonly completion: number
  readonly reasoning: number
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

export interface SpendReply {
  readonly rows: readonly SpendRow[]
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
  /** What it did to the account that was asked for; absent where none was. */
  readonly amount?: string
  /** To whom what went. A user sees its own account's posting only. */
  readonly postings: readonly { readonly account: string; readonly amount: string }[]
  readonly memo?: string
  /** Absent where a user earned from another's call: who paid, and for what, is not its business. */
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
  /** What the call would have cost above its hold, where the host never overdraws. */
  readonly shortfall?: string
}

export interface FactsView {
  readonly requestId: string
  readonly account: string
  readonly credentialId: string
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
  readonly attempts: readonly { readonly routeId: string; readonly outcome: string }[]
}

export interface EventsQuery {
  /** A user's own by default, and no other. With one, events that concern no account are left out. */
  readonly account?: string
  /** Only what ended without a charge, and what went wrong: errors, refusals, clients that left. */
  readonly problems?: boolean
  readonly model?: string
  /** From 1 to 1,000; 100 by default. */
  readonly limit?: number
}

/** Newest first: what this process remembers. */
export interface EventsReply {
  readonly events: readonly EventView[]
  /** How many events are kept at most. */
  readonly capacity: number
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
  readonly charge?: ChargeView
  readonly explanation?: ExplanationView
}

export interface PageQuery {
  readonly after?: string
  /** From 1 to 200; 50 by default. */
  readonly limit?: number
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
}

export interface CredentialsQuery {
  /** A user's own by default, and no other. */
  readonly account?: string
  readonly appId?: string
}

export interface CredentialsReply {
  readonly credentials: readonly CredentialView[]
}

export interface CredentialView {
  readonly credentialId: string
  readonly kind: 'api-key' | 'access-token'
  readonly account: string
  readonly appId?: string
  readonly label?: string
  readonly scopes?: readonly string[]
  /** How the newest token starts and ends. */
  readonly prefix: string
  readonly lastFour: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

export interface CredentialBody {
  readonly credentialId: string
}

/** An API key of the account, or with `appId` an access token of that app. Ends after an hour. */
export interface PlaygroundBody {
  readonly account: string
  readonly appId?: string
}

export interface IssueKeyBody {
  readonly account: string
  readonly label?: string
  readonly expiresAt?: number
  /** For the host's own limits. An operator's alone to give. */
  readonly metadata?: Readonly<Record<string, string>>
}

export interface IssueTokenBody extends IssueKeyBody {
  readonly appId: string
  /** `['models.run']` by default. */
  readonly scopes?: readonly string[]
}

export interface ReissueBody extends CredentialBody {
  readonly expiresAt?: number
  readonly scopes?: readonly string[]
}

/** `token` is shown here and nowhere again. */
export interface IssuedReply {
  readonly credentialId: string
  readonly token: string
  readonly expiresAt?: number
}

export interface AppsReply {
  readonly apps: readonly AppView[]
}

/** A user sees apps that are not suspended, without the account that earns. */
export interface AppView extends AppBody {
  readonly suspendedAt?: number
}

export interface AppBody {
  readonly id: string
  readonly name?: string
  readonly markup: {
    /** An integer from 0 to 1,000,000; 2,000 is 20 %. */
    readonly basisPoints: number
    /** Credits a call. */
    readonly flat?: string
  }
  readonly allowedModels: readonly string[]
  /** Who earns the markup; the platform by default. */
  readonly account?: string
}

export interface IdBody {
  readonly id: string
}

/** Decimal strings: credits per million tokens, `request` per call. */
export interface PriceView {
  readonly input: string
  readonly output: string
  readonly cachedInput?: string
  readonly cacheWrite?: string
  readonly reasoning?: string
  readonly request?: string
}

export interface PricesView extends PriceView {
  readonly tiers?: readonly (PriceView & { readonly above: number })[]
}

export interface ModelsReply {
  readonly models: readonly ModelView[]
}

export interface ModelBody {
  readonly id: string
  /** Unix seconds, not milliseconds. */
  readonly created?: number
  readonly ownedBy?: string
  readonly root?: string
  readonly parent?: string | null
  readonly name?: string
  readonly description?: string
  readonly contextLength?: number
  readonly maxOutputTokens?: number
  readonly supportedParameters?: readonly string[]
  readonly modalities?: readonly string[]
  /** A model without prices is listed but refused. */
  readonly prices?: PricesView
  readonly priceVersion?: string
}

export interface ModelView extends ModelBody {
  readonly created: number
  readonly ownedBy: string
}

export interface RoutesReply {
  readonly routes: readonly RouteView[]
}

interface RouteFields {
  readonly id: string
  readonly model: string
  readonly provider: string
  /** One of the kinds of adapters that the host gave its stores. */
  readonly adapter: string
  readonly upstreamModel: string
  readonly enabled?: boolean
  readonly byok?: 'yes' | 'no' | 'only'
  readonly prices?: PricesView
  readonly supportedParameters?: readonly string[]
  readonly onDisconnect?: 'abort' | 'drain'
  readonly weight?: number
}

export interface RouteBody extends RouteFields {
  /** What the adapter is built from, such as `{ baseUrl }`. Never a secret. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** The provider's key. Left out, the one that is there stays; `null` removes it. */
  readonly secret?: string | null
}

export interface RouteView extends RouteFields {
  readonly settings: Readonly<Record<string, unknown>>
  /** The id of the key that its secret is sealed under; absent where it has no secret. The secret is never shown. */
  readonly secretKeyId?: string
  /** Absent where it was not called yet, or the console was not given `routes`. */
  readonly health?: RouteHealthView
}

export interface RotatedReply {
  readonly count: number
}

/** `isSound` where there is no difference. */
export interface VerifyReply {
  readonly isSound: boolean
  readonly discrepancies: readonly {
    readonly what: 'balance' | 'held' | 'entry'
    readonly id: string
    readonly found: string
    readonly expected: string
  }[]
}

/** `false` where it was so already, or there was nothing of that id. */
export interface DoneReply {
  readonly done: boolean
}
