import type { Credits, TraceContext } from './context.js'
import type { CredentialOwner } from './credentials.js'
import type { CallFacts, Charge, ExpiredHold, SettleRequest } from './ledger.js'
import type { RouteFlaw } from './route-health.js'
import type { LimitUnit } from './usage-limits.js'

/**
 * The events that the router reports to its host. Frozen plain data. They contain no token, envelope, message or body,
 * and of the headers only the trace context, if the host asked for it. Strings from clients have no control characters
 * and at most 256 characters.
 */
export type RouterEvent =
  | RequestStart
  | RequestEnd
  | ChargeFailed
  | HoldExpired
  | ClaimLost
  | UsageImplausible
  | ReplyMended
  | RequestTrimmed
  | CallAbandoned
  | StoreFault
  | CallsDropped
  | BodyConsumed
  | RouteDisabled
  | RouteMisconfigured
  | RouteRestored
  | WatchLost
  | WatchRestored
  | ProcessCleared
  | TotalsBehind
  | Fault

/** A request arrived. */
export interface RequestStart {
  readonly type: 'request-start'
  readonly requestId: string
  /** The requested operation, such as `chat`, `messages`, `embeddings` or `list-models`. */
  readonly operation: string
  readonly at: number
  /** The caller's trace context, if the option `traceContext` is set and the headers are well-formed. */
  readonly trace?: TraceContext
}

/** A request was answered, or its client left. One for each `request-start`. */
export interface RequestEnd {
  readonly type: 'request-end'
  readonly requestId: string
  readonly operation: string
  /** The `at` of its `request-start` plus `durationMs`, even if the machine's clock was set in between. */
  readonly at: number
  readonly durationMs: number
  /** `completed`, `client-left`, or the code of the error that was sent to the client. */
  readonly outcome: string
  /** 499 if the client left before a status was sent. */
  readonly status: number
  readonly facts?: CallFacts
  /**
   * The owner of the credential, if there are no `facts`: the request asked for models, or was refused before its model
   * was found. Also set for an expired, revoked or suspended credential if its store names the owner.
   */
  readonly caller?: CredentialOwner
  /** Whether the client asked for a stream. */
  readonly stream?: boolean
  readonly charge?: Charge
  /** The hold that the charge settled, with its amount. Both are absent if nothing was charged. */
  readonly holdId?: string
  readonly holdAmount?: Credits
  /** Explains the choice of route. */
  readonly routing?: RoutingExplanation
  /** The time from the start of the last attempt to the end of its reply. */
  readonly providerMs?: number
  /** The time from the start of the last attempt to its first token. */
  readonly firstTokenMs?: number
  readonly finishReason?: string
  readonly nativeFinishReason?: string
  /** The provider's own id of the reply. */
  readonly upstreamId?: string
  /**
   * The output limit of each choice that the last provider was sent, if the router chose it: the client set none, or a
   * smaller one than the API takes.
   */
  readonly outputLimit?: number
  /** `action` and `connected` as the client sent them, up to 1 KiB as JSON. */
  readonly action?: unknown
  readonly connected?: unknown
  /** The number of retries that the client library reports (`x-stainless-retry-count`). */
  readonly clientRetry?: number
  /** The answer came from an earlier call with the same `Idempotency-Key`. */
  readonly replayed?: boolean
  /** How far the payer's balance is below zero after this charge. */
  readonly overdraft?: Credits
  /** The limit that refused the call, if `outcome` is `budget_exceeded`, `budget_on_hold` or `rate_limited` for that reason. */
  readonly limit?: LimitRefusal
}

/** See `Limit`. */
export interface LimitRefusal {
  readonly id: string
  readonly bucket: string
  readonly unit: LimitUnit
}

export interface RoutingExplanation {
  /** The routes in the order in which they would be tried. */
  readonly considered: readonly string[]
  /** The excluded routes, with the reasons. */
  readonly excluded: readonly { readonly routeId: string; readonly why: string }[]
  /** The routes that were moved behind the others because they are failing, with the reasons. */
  readonly behind?: readonly { readonly routeId: string; readonly why: string }[]
  readonly chosenBy: 'pin' | 'order' | 'affinity' | 'sort' | 'weight' | 'price' | 'only-route'
  /** The attempts in their order. */
  readonly attempts: readonly RouteAttempt[]
}

export interface RouteAttempt {
  readonly routeId: string
  /** An error code, or how the call ended. `no_route_available` if the route was not tried because it is failing. */
  readonly outcome: string
  /**
   * The state of the breaker if the route was not tried, the limit that refused it, the unreadable piece of the reply,
   * or the reason why the provider failed: its status and its own words, or the connection error with the address that
   * was called. For the host only. Contains no keys, and no user, password or query of an address, and nothing that may
   * quote a prompt or a reply: for 400, 403, 413, 422 and 451 the provider's error code replaces its words, and parser
   * errors are omitted.
   */
  readonly why?: string
}

/** A charge could not be posted in time. Pass `request` to `ledger.settle()` to reconcile: repeats charge once. */
export interface ChargeFailed {
  readonly type: 'charge-failed'
  readonly requestId: string
  readonly request: SettleRequest
  readonly error: EventError
}

export interface HoldExpired {
  readonly type: 'hold-expired'
  readonly hold: ExpiredHold
}

/** A charge was posted although another hold had taken its claim in the meantime. */
export interface ClaimLost {
  readonly type: 'claim-lost'
  readonly requestId: string
  readonly holdId: string
}

/**
 * A provider reported an impossible count, which was ignored; or a count above the catalogue's limit, which was charged;
 * or a part larger than its whole, which was reduced to it; or, once per model, cached tokens under an unknown name, which
 * were charged as uncached.
 */
export interface UsageImplausible {
  readonly type: 'usage-implausible'
  readonly requestId: string
  readonly routeId: string
  readonly field: string
  /** As JSON, cut to 256 characters. */
  readonly value: string
}

/**
 * A reply had odd elements but was good: they were skipped or converted. Each kind of repair, and each name of an
 * omitted element, is reported once for each route.
 */
export interface ReplyMended {
  readonly type: 'reply-mended'
  readonly requestId: string
  readonly model: string
  readonly routeId: string
  readonly provider: string
  /** The kinds of repairs that are reported for the first time, such as `frame-skipped`. */
  readonly kinds: readonly string[]
  /** How many times this reply was repaired in these ways. */
  readonly times: number
  /** The names of omitted members, types or words, at most 20 for each kind. */
  readonly dropped: readonly string[]
}

/**
 * Unknown members of messages, parts or tools were omitted from a request. Each member is reported once for each model.
 */
export interface RequestTrimmed {
  readonly type: 'request-trimmed'
  readonly requestId: string
  readonly model: string
  /** Their paths without positions, as in `messages.content.extra`, at most 20. */
  readonly members: readonly string[]
}

/** The client left before the first token, and the provider's connection was closed: nothing was charged. */
export interface CallAbandoned {
  readonly type: 'call-abandoned'
  readonly requestId: string
  readonly facts: CallFacts
}

/** A store did not answer, or broke its contract. */
export interface StoreFault {
  readonly type: 'store-fault'
  readonly store: 'credentials' | 'catalogue' | 'ledger' | 'providers' | 'envelopes' | 'idempotency' | 'calls'
  readonly requestId?: string
  readonly error: EventError
}

/** The store of calls could not keep up or has failed, so some calls were not kept. Nothing else depends on them. */
export interface CallsDropped {
  readonly type: 'calls-dropped'
  /** The number of calls since the last event of this type. */
  readonly count: number
  /** Absent if the store only could not keep up. */
  readonly error?: EventError
}

/** Another middleware has consumed the request body. Mount the router before it. */
export interface BodyConsumed {
  readonly type: 'body-consumed'
  readonly requestId: string
  readonly hint: string
}

/** A route in a registry cannot be used. */
export interface RouteDisabled {
  readonly type: 'route-disabled'
  readonly routeId: string
  readonly why: string
}

/**
 * The provider of a route refuses the host's key, its account or the model. The route is tried last, except for an
 * occasional call that tries it first. Reported once until a {@link RouteRestored}.
 */
export interface RouteMisconfigured {
  readonly type: 'route-misconfigured'
  /** The call that revealed it. */
  readonly requestId: string
  readonly routeId: string
  readonly provider: string
  readonly model: string
  readonly flaw: RouteFlaw
  /** What to fix, and the provider's answer as in {@link RouteAttempt}. */
  readonly why: string
}

/** A misconfigured route is used again, because a call succeeded, or because the host changed, disabled or removed it. */
export interface RouteRestored {
  readonly type: 'route-restored'
  readonly routeId: string
  readonly provider: string
  readonly model: string
  readonly why: 'a call succeeded' | 'the route was changed'
  /** How long it was misconfigured. */
  readonly afterMs: number
}

/**
 * A durable store no longer learns about changes that other processes make. Until it does, caches keep nothing and each
 * call reads its rows. Reported once until a {@link WatchRestored}.
 */
export interface WatchLost {
  readonly type: 'watch-lost'
  readonly why: string
}

/** A durable store learns about changes of other processes again. What its caches kept before counts as changed. */
export interface WatchRestored {
  readonly type: 'watch-restored'
  /** The time since the {@link WatchLost}. */
  readonly afterMs: number
}

/**
 * Another process on the durable stores has not responded for 45 seconds, so its open holds and the keys of its running
 * calls are released. Reported by one of the remaining processes. Each of the holds is also reported as `hold-expired`.
 */
export interface ProcessCleared {
  readonly type: 'process-cleared'
  readonly process: string
  readonly holds: number
  /** The number of calls with an `Idempotency-Key` that had no reply yet. */
  readonly keys: number
}

/**
 * Charges of this process have not been added to the kept totals for longer than a minute. Reports are right meanwhile, but
 * they take longer. Reported again each minute, and with 0 once all are added.
 */
export interface TotalsBehind {
  readonly type: 'totals-behind'
  readonly behindMs: number
}

/** An unexpected error. */
export interface Fault {
  readonly type: 'fault'
  readonly where: string
  readonly requestId?: string
  readonly error: EventError
}

/** An error as data, at most three causes deep, without secrets. */
export interface EventError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: EventError
}
