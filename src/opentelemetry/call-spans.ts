import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { formatCredits } from '../base/money.js'
import type { TraceContext } from '../contracts/context.js'
import type { RequestEnd, RequestStart, RouterEvent } from '../contracts/events.js'
import { callsModel, ERROR_TYPE, OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL } from './names.js'

/** Turns the two events of each call of a model into one span. */
export class CallSpans {
  /** Spans not yet ended. Clients choose request ids, so calls at the same time may share one. */
  private readonly open = new Map<string, Span[]>()

  constructor(private readonly tracer: Tracer) {}

  record(event: RouterEvent): void {
    if (event.type === 'request-start') this.start(event)
    else if (event.type === 'request-end') this.end(event)
  }

  private start({ at, operation, requestId, trace }: RequestStart): void {
    if (!callsModel(operation)) return
    const parent = parentOf(trace)
    const options = { kind: kindUnder(parent), startTime: at, attributes: { [OPERATION_NAME]: operation } }
    const span = this.tracer.startSpan(operation, options, parent)
    if (!span.isRecording()) return
    const key = keyOf(requestId, at)
    const same = this.open.get(key)
    if (same === undefined) this.open.set(key, [span])
    else same.push(span)
  }

  private end(event: RequestEnd): void {
    const key = keyOf(event.requestId, event.at - event.durationMs)
    const same = this.open.get(key)
    const span = same?.shift()
    if (same?.length === 0) this.open.delete(key)
    if (span === undefined) return
    const { facts, operation, outcome, status } = event
    if (facts !== undefined) span.updateName(`${operation} ${facts.model}`)
    span.setAttributes(attributesOf(event))
    const failed = outcome !== 'completed' && outcome !== 'client-left'
    // A mistake of the caller is not a failure of this service. A stream may fail even after its status 200.
    if (failed && (status >= 500 || status === 200)) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
    }
    span.end(event.at)
  }
}

const keyOf = (requestId: string, startedAt: number): string => `${startedAt} ${requestId}`

/** The host's active span if it belongs to the caller's trace, otherwise the caller's span. */
function parentOf(received: TraceContext | undefined): Context {
  const active = context.active()
  if (received === undefined) return active
  const remote = spanContextOf(received)
  if (trace.getSpanContext(active)?.traceId === remote.traceId) return active
  return trace.setSpanContext(active, remote)
}

function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  const [, traceId, spanId, flags] = traceparent.split('-')
  return {
    traceId: traceId!,
    spanId: spanId!,
    traceFlags: Number.parseInt(flags!, 16) & 1,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  }
}

/** Inside a span of the host, a call is not the entry to the service. */
function kindUnder(parent: Context): SpanKind {
  const span = trace.getSpanContext(parent)
  return span === undefined || span.isRemote === true ? SpanKind.SERVER : SpanKind.INTERNAL
}

function attributesOf(event: RequestEnd): Attributes {
  const { charge, facts, finishReason, firstTokenMs, outcome, providerMs, routing } = event
  const caller = facts ?? event.caller
  const answered = charge !== undefined || firstTokenMs !== undefined
  // The SDK omits undefined attributes.
  return {
    'http.response.status_code': event.status,
    [ERROR_TYPE]: outcome === 'completed' ? undefined : outcome,
    [PROVIDER_NAME]: facts?.provider,
    [REQUEST_MODEL]: facts?.model,
    'gen_ai.request.stream': event.stream,
    'gen_ai.conversation.id': facts?.sessionId,
    'gen_ai.response.id': answered ? facts?.completionId : undefined,
    'gen_ai.response.model': answered ? facts?.model : undefined,
    'gen_ai.response.finish_reasons': finishReason === undefined ? undefined : [finishReason],
    'gen_ai.usage.input_tokens': charge?.usage.prompt,
    'gen_ai.usage.output_tokens': charge?.usage.completion,
    'gen_ai.usage.cache_read.input_tokens': charge?.usage.cached,
    'gen_ai.usage.cache_creation.input_tokens': charge?.usage.cacheWrite,
    'gen_ai.usage.reasoning.output_tokens': charge?.usage.reasoning,
    'compat_router.request.id': event.requestId,
    'compat_router.account': caller?.account,
    'compat_router.app.id': caller?.appId,
    'compat_router.route.id': facts?.routeId,
    'compat_router.route.chosen_by': routing?.chosenBy,
    'compat_router.route.attempts': routing?.attempts.length,
    'compat_router.provider.duration': inSeconds(providerMs),
    'compat_router.provider.time_to_first_token': inSeconds(firstTokenMs),
    'compat_router.upstream.id': event.upstreamId,
    'compat_router.hold.id': event.holdId,
    'compat_router.replayed': event.replayed,
    'compat_router.charge.cost': inCredits(charge?.cost),
    'compat_router.charge.markup': inCredits(charge?.markup),
    'compat_router.charge.basis': charge?.basis,
    'compat_router.charge.overdraft': inCredits(event.overdraft),
    'compat_router.byok': charge?.byok,
  }
}

/** An exact decimal string, as in the ledger. */
const inCredits = (amount: bigint | undefined): string | undefined =>
  amount === undefined ? undefined : formatCredits(amount)

const inSeconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000)
