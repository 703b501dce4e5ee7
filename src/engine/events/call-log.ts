import type { Credits } from '../../base/money.js'
import type { Listed } from '../../base/unordered-list.js'
import { withItem } from '../../base/with-item.js'
import type { CallInFlight } from '../../contracts/call-in-flight.js'
import type { KeptCall } from '../../contracts/calls.js'
import type { CredentialOwner, Principal } from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { LimitRefusal, RequestEnd, RouteAttempt } from '../../contracts/events.js'
import type { CallFacts, Charge } from '../../contracts/ledger.js'
import type { Asked } from '../../contracts/operation.js'
import type { RequestHeaders } from '../../protocol/request-headers.js'
import { cleanLabel } from '../../protocol/text.js'
import type { TraceContext } from '../../protocol/trace-context.js'
import type { CallRecorder } from './call-recorder.js'
import { scrub } from './event-error.js'
import type { RoutingDecision } from './explanations.js'

const MAX_EXTRA_BYTES = 1_024
const NO_ATTEMPTS: readonly RouteAttempt[] = Object.freeze([])
/** The status recorded for a request whose client left before a status was sent. */
const CLIENT_LEFT_STATUS = 499

/** The facts of a provider's reply that events contain. */
interface ProviderReply {
  readonly finishReason: string | undefined
  readonly nativeFinishReason: string | undefined
  readonly upstreamId: string | undefined
}

/** The facts of a request that are derived at its end. */
type ReadAtEnd = Pick<RequestEnd, 'at' | 'caller' | 'durationMs' | 'routing'>

/**
 * Collects the facts of one request: for `calls()` while it runs, and at its end for the event and the store of calls.
 */
export class CallLog implements Listed {
  slot = -1
  facts: CallFacts | undefined
  /** The owner of the credential that came with the request. */
  caller: Principal | CredentialOwner | undefined
  /** The model that the client asked for, as sent. It may not exist. */
  askedModel: string | undefined
  /** Frozen. */
  charge: Charge | undefined
  overdraft: Credits = 0n
  holdId: string | undefined
  holdAmount: Credits | undefined
  routing: RoutingDecision | undefined
  private attempts = NO_ATTEMPTS
  providerMs: number | undefined
  firstTokenMs: number | undefined
  /** The output limit that the router chose for the last attempt. */
  outputLimit: number | undefined
  /** The limit that refused the call. */
  limit: LimitRefusal | undefined
  /** Read when the request ends. */
  reply: ProviderReply | undefined
  private stream: boolean | undefined
  private action: unknown
  private connected: unknown
  private clientRetry = 0
  /** The field of the request that caused the refusal. */
  private field: string | undefined
  replayed = false
  /** Set if the charge was posted although another hold had the claim. */
  claimLost = false
  /** The default until something else is known. */
  outcome = 'completed'
  status = 200
  private readonly startedAt: number
  /** The start by the wall clock, for events. */
  private readonly toldAt: number

  constructor(
    readonly requestId: string,
    private readonly operation: string,
    private readonly options: Pick<EngineOptions, 'clock' | 'emit' | 'heard' | 'newId' | 'wallClock'>,
    private readonly recorder: CallRecorder,
    readonly trace: TraceContext | undefined,
  ) {
    const { clock, emit, heard, wallClock } = options
    this.startedAt = clock.now()
    this.toldAt = wallClock.now()
    if (heard !== 'all') return
    const start = { type: 'request-start', requestId, operation, at: this.toldAt } as const
    emit(trace === undefined ? start : { ...start, trace })
  }

  /** Notes the facts of a request that has passed its checks. */
  begin(facts: CallFacts, { own, stream }: Asked, headers: RequestHeaders): void {
    this.facts = facts
    this.stream = stream
    this.action = own.action
    this.connected = own.connected
    const retries = Number(headers.header('x-stainless-retry-count'))
    if (Number.isSafeInteger(retries) && retries > 0) this.clientRetry = retries
  }

  /** Returns the facts known so far. */
  soFar(): CallInFlight {
    const { facts, requestId, toldAt: startedAt } = this
    // The ledger may get the same object, so nobody may change it on the way.
    return Object.freeze(
      facts === undefined ? { requestId, startedAt } : { requestId, startedAt, facts: Object.freeze(facts) },
    )
  }

  /** Notes how an attempt at a route ended. */
  attempted(attempt: RouteAttempt): void {
    this.attempts = withItem(this.attempts, attempt)
  }

  failed(code: string, status: number, field?: string | null): void {
    this.outcome = code
    this.status = status
    this.field = field ?? undefined
  }

  left(): void {
    this.failed('client-left', CLIENT_LEFT_STATUS)
  }

  /** Whether this service or a provider failed. A stream may fail after its status 200. */
  private get hasFailed(): boolean {
    if (this.outcome === 'completed' || this.outcome === 'client-left') return false
    return this.status >= 500 || this.status === 200
  }

  end(): void {
    const { charge, facts, operation, options, recorder, status } = this
    const { emit, heard } = options
    const durationMs = options.clock.now() - this.startedAt
    const at = this.toldAt + durationMs
    const caller = facts || this.caller === undefined ? undefined : ownerOf(this.caller)
    const routing = this.routing && recorder.explanations.of(this.routing, this.attempts)
    const read: ReadAtEnd = { at, durationMs, caller, routing }
    if (heard === 'all' || (heard === 'failed' && this.hasFailed)) emit(this.toEvent(read))
    if (recorder.wants({ at, caller, charge, facts, operation, status })) recorder.record(this.toKept(read))
  }

  private toEvent({ at, caller, durationMs, routing }: ReadAtEnd): RequestEnd {
    return {
      type: 'request-end',
      requestId: this.requestId,
      operation: this.operation,
      at,
      durationMs,
      outcome: this.outcome,
      status: this.status,
      facts: this.facts,
      caller,
      stream: this.stream,
      charge: this.charge,
      holdId: this.holdId,
      holdAmount: this.holdAmount,
      routing,
      providerMs: this.providerMs,
      firstTokenMs: this.firstTokenMs,
      finishReason: this.reply?.finishReason,
      nativeFinishReason: this.reply?.nativeFinishReason,
      upstreamId: this.reply?.upstreamId,
      outputLimit: this.outputLimit,
      action: extra(this.action),
      connected: extra(this.connected),
      clientRetry: this.clientRetry || undefined,
      replayed: this.replayed || undefined,
      overdraft: this.overdraft || undefined,
      limit: this.limit,
    }
  }

  private toKept({ at, caller, durationMs, routing }: ReadAtEnd): KeptCall {
    const { charge, facts, limit, reply } = this
    if (caller !== undefined) Object.freeze(caller)
    if (facts !== undefined) Object.freeze(facts)
    if (limit !== undefined) Object.freeze(limit)
    return Object.freeze({
      id: facts?.completionId ?? this.options.newId(),
      requestId: this.requestId,
      operation: this.operation,
      at,
      durationMs,
      outcome: this.outcome,
      status: this.status,
      facts,
      caller,
      askedModel: facts === undefined ? labelOf(this.askedModel) : undefined,
      field: labelOf(this.field),
      stream: this.stream,
      charge,
      holdId: this.holdId,
      holdAmount: this.holdAmount,
      routing,
      providerMs: this.providerMs,
      firstTokenMs: this.firstTokenMs,
      finishReason: reply?.finishReason,
      nativeFinishReason: reply?.nativeFinishReason,
      upstreamId: reply?.upstreamId,
      outputLimit: this.outputLimit,
      clientRetry: this.clientRetry || undefined,
      replayed: this.replayed || undefined,
      overdraft: this.overdraft || undefined,
      limit,
    })
  }
}

/** A client may send its key in this header by mistake. */
function labelOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : scrub(cleanLabel(text))
}

function ownerOf(caller: Principal | CredentialOwner): CredentialOwner {
  const { account, credentialId } = caller
  const appId = 'kind' in caller ? (caller.kind === 'access-token' ? caller.app.id : undefined) : caller.appId
  return { credentialId, account, appId }
}

/**
 * Returns a value that the client sent for the record, or only its size if it is large. Leaves out values that are not
 * JSON, which a host's own parser may produce.
 */
function extra(value: unknown): unknown {
  if (value === undefined) return undefined
  const json = jsonOf(value)
  if (json === undefined) return undefined
  const bytes = Buffer.byteLength(json)
  return bytes <= MAX_EXTRA_BYTES ? JSON.parse(json) : { omittedBytes: bytes }
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
