import type { Credits, TraceContext } from './context.js'
import type { CredentialOwner } from './credentials.js'
import type { CallFacts, Charge, ExpiredHold, SettleRequest } from './ledger.js'

/**
 * What the router tells its host. Frozen plain data: no token, envelope, message or body, and of the headers only the
 * trace context, where the host asked for it; strings of a client's are free of control characters and cut to 256.
 */
export type RouterEvent =
  | RequestStart
  | RequestEnd
  | ChargeFailed
  | HoldExpired
  | ClaimLost
  | UsageImplausible
  | RequestTrimmed
  | CallAbandoned
  | StoreFault
  | BodyConsumed
  | RouteDisabled
  | Fault

/** A request came in. */
export interface RequestStart {
  readonly type: 'request-start'
  readonly requestId: string
  /** Which operation was asked for: `chat`, `list-models`, `get-model`. */
  readonly operation: string
  readonly at: number
  /** The caller's, where the option `traceContext` is set and its headers are well-formed. */
  readonly trace?: TraceContext
}

/** A request was answered, or its client left. Comes once for each `request-start`. */
export interface RequestEnd {
  readonly type: 'request-end'
  readonly requestId: string
  readonly operation: string
  /** `durationMs` after the `at` of its `request-start`, wherever the machine's clock was set in between. */
  readonly at: number
  readonly durationMs: number
  /** `completed`, `client-left`, or the code of the error that the client was sent. */
  readonly outcome: string
  /** 499 where the client left before any status was sent. */
  readonly status: number
  readonly facts?: CallFacts
  /**
   * Whose credential came with the request, where there are no `facts`: it asked for models, or was refused before its
   * model was found, also for a credential that is expired, revoked or suspended, where its store says whose it is.
   */
  readonly caller?: CredentialOwner
  /** Whether the client asked for a stream. */
  readonly stream?: boolean
  readonly charge?: Charge
  /** The hold that the charge was settled under, and its amount: neither is there where nothing was charged. */
  readonly holdId?: string
  readonly holdAmount?: Credits
  /** Why this route. */
  readonly routing?: RoutingExplanation
  /** From when the last route that was tried was dialled to the end of its reply. */
  readonly providerMs?: number
  /** From when it was dialled to its first token. */
  readonly firstTokenMs?: number
  readonly finishReason?: string
  readonly nativeFinishReason?: string
  /** The provider's own id of the reply. */
  readonly upstreamId?: string
  /** `action` and `connected` as the client sent them, up to 1 KiB as JSON. */
  readonly action?: unknown
  readonly connected?: unknown
  /** The client library repeats a call that it believes lost (`x-stainless-retry-count`). */
  readonly clientRetry?: number
  /** The answer came from an earlier call with the same `Idempotency-Key`. */
  readonly replayed?: boolean
  /** How far below zero the payer is after this charge. */
  readonly overdraft?: Credits
}

export interface RoutingExplanation {
  /** Routes in the order in which they would be tried. */
  readonly considered: readonly string[]
  /** Routes that were left out, and why. */
  readonly excluded: readonly { readonly routeId: string; readonly why: string }[]
  /** Routes that were moved behind the others because they are in trouble, and in which. */
  readonly behind?: readonly { readonly routeId: string; readonly why: string }[]
  readonly chosenBy: 'pin' | 'order' | 'affinity' | 'sort' | 'weight' | 'price' | 'only-route'
  /** Routes in the order in which they were tried. */
  readonly attempts: readonly RouteAttempt[]
}

export interface RouteAttempt {
  readonly routeId: string
  /** An error code, or how the call ended. */
  readonly outcome: string
  /**
   * If a piece of the reply could not be read, which. If the provider failed, why: its status and its own words, or what was wrong with the connection. Clean of keys,
   * hosts and addresses, and without what may quote a prompt or a reply: the words of a provider that refused the request
   * or may have (400, 403, 413, 422, 451), in whose place its code stands,
   * and what a parser says of a reply.
   */
  readonly why?: string
}

/** A charge could not be posted in time. Hand `request` to `ledger.settle()` to reconcile: a repeat charges once. */
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

/** A charge was posted although another hold had taken its claim meanwhile. */
export interface ClaimLost {
  readonly type: 'claim-lost'
  readonly requestId: string
  readonly holdId: string
}

/**
 * A provider reported a count that cannot be right, which was taken as missing; or one above what the catalogue lists,
 * which was charged; or, once for each model, cached tokens under a name that is not known, which were charged as others.
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
 * Members of messages, parts or tools that the router does not know were left out of a request. Each member is reported
 * once for each model.
 */
export interface RequestTrimmed {
  readonly type: 'request-trimmed'
  readonly requestId: string
  readonly model: string
  /** Their places without positions, as in `messages.content.extra`; at most 20. */
  readonly members: readonly string[]
}

/** The client left before the first token, and the provider was hung up on: nothing was charged. */
export interface CallAbandoned {
  readonly type: 'call-abandoned'
  readonly requestId: string
  readonly facts: CallFacts
}

/** A store answered something that it may not, or not at all. */
export interface StoreFault {
  readonly type: 'store-fault'
  readonly store: 'credentials' | 'catalogue' | 'ledger' | 'providers' | 'envelopes' | 'idempotency'
  readonly requestId?: string
  readonly error: EventError
}

/** Another middleware has read the request body and left nothing. Mount the router before it. */
export interface BodyConsumed {
  readonly type: 'body-consumed'
  readonly requestId: string
  readonly hint: string
}

/** A registry's row cannot be used. */
export interface RouteDisabled {
  readonly type: 'route-disabled'
  readonly routeId: string
  readonly why: string
}

/** Something that should not happen. */
export interface Fault {
  readonly type: 'fault'
  readonly where: string
  readonly requestId?: string
  readonly error: EventError
}

/** An error as data: at most three causes deep, secrets scrubbed. */
export interface EventError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: EventError
}
