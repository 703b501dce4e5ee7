import type { Secret } from '../../contracts/context.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Route } from '../../contracts/providers.js'
import { type CompatError, ProviderError } from '../../errors.js'
import type { Credits } from '../../money.js'
import { forgetMessages } from '../../protocol/sent-messages.js'
import { cleanLabel } from '../../protocol/text.js'
import type { Usage } from '../../protocol/usage.js'
import type { CallEnd, Outcome } from '../charging/outcome.js'
import type { OutputBounds } from '../charging/output-bounds.js'
import { price } from '../charging/price.js'
import type { Quote } from '../charging/quote.js'
import { type ResolvedUsage, type TokenEstimates, UsageMeter } from '../charging/usage-meter.js'
import { brokenOff } from '../failures/broken-off.js'
import { type ProviderFailure, providerFailure } from '../failures/provider-failure.js'
import { Relay } from '../relay/relay.js'
import type { CallResult, RouteHealthBook } from '../routing/route-health.js'
import type { AdmittedCall } from './admitted-call.js'
import { Attempt } from './attempt.js'
import type { AttemptEnd } from './attempt-end.js'
import type { ClientReply } from './client-reply.js'
import type { EngineParts } from './parts.js'
import { routeParameters } from './route-parameters.js'
import { upstreamRequest } from './upstream-request.js'

export interface DialOptions {
  readonly parts: EngineParts
  readonly call: AdmittedCall
  readonly client: ClientReply
  readonly route: Route
  readonly quote: Quote
  readonly facts: CallFacts
  readonly holdAmount: Credits
  /** The reply's `id` and `created`. */
  readonly completionId: string
  readonly created: number
  /** When the whole call must be over. */
  readonly deadlineAt: number
  /** Where the provider does not say. */
  readonly promptTokens: number
  readonly bounds: OutputBounds
}

const MAX_NAME_CHARS = 64

/** One route dialled for a call: what it was asked, what came of it, and what that means for the charge. */
export class DialledRoute {
  readonly route: Route
  readonly quote: Quote
  readonly facts: CallFacts
  readonly relay: Relay
  private readonly meter: UsageMeter
  private readonly attempt: Attempt
  private reportHealth: ReturnType<RouteHealthBook['begin']> | undefined
  private health: CallResult | undefined
  private result: { readonly end: AttemptEnd; readonly failure: ProviderFailure | undefined } | undefined

  constructor(private readonly options: DialOptions) {
    const { call, client, deadlineAt, parts, quote, route } = options
    const { neverOverdraw } = parts.options
    this.route = route
    this.quote = quote
    this.facts = options.facts
    this.meter = this.createMeter()
    this.relay = this.createRelay()
    this.attempt = new Attempt({
      engine: parts.options,
      requestId: call.requestId,
      route,
      relay: this.relay,
      client,
      stream: call.request.stream,
      watchdog: parts.watchdog,
      keyed: call.claim !== undefined,
      deadlineAt,
      holdIsSpent: neverOverdraw && call.request.stream ? () => this.holdIsSpent() : undefined,
    })
  }

  /** The client went away. */
  leave(): void {
    this.attempt.leave()
  }

  shutDown(): void {
    this.attempt.shutDown()
  }

  /** Runs to the end of the provider's reply, or to where it is broken off. */
  run(): Promise<void> {
    const { bounds, call, parts, route } = this.options
    const { providerKey, request } = call
    const { limits, traceContext } = parts.options
    if (providerKey === undefined) this.reportHealth = parts.health.begin(route)
    const running = this.attempt.run(
      {
        request: upstreamRequest(
          routeParameters(request, call.model, route, providerKey !== undefined),
          call.model,
          route,
          bounds,
        ),
        stream: request.stream,
        auth: providerKey === undefined ? hostAuth(route) : { kind: 'byok', secret: providerKey },
        limits,
        requestId: call.requestId,
        trace: traceContext === 'forward' ? call.log.trace : undefined,
      },
      this.ended,
    )
    forgetMessages(request.forward.messages)
    return running
  }

  private readonly ended = (end: AttemptEnd): void => {
    this.result = { end, failure: this.readFailure(end) }
    // Now, since it asks a tokenizer of the host's, and none of its faults may come after the settlement.
    this.health = this.readHealth()
  }

  /** To be called once, when {@link run} is over: notes what came of it, for the choice of routes and for the event. */
  report(): void {
    this.reportHealth?.(this.health)
    if (this.result === undefined) return
    const { end, failure } = this.result
    const { call, route } = this.options
    const { unreadable } = this.relay
    call.log.attempts.push(
      failure === undefined
        ? {
            routeId: route.id,
            outcome: end.stoppedBy ?? end.ended,
            ...(unreadable !== undefined && { why: unreadable.message }),
          }
        : { routeId: route.id, outcome: failure.error.code, why: failure.why },
    )
  }

  get end(): AttemptEnd {
    return this.done.end
  }

  /** Whether another route may be tried: nothing of this one has reached the client, and it is not the caller's fault. */
  get movesOn(): boolean {
    const { end, failure } = this.done
    if (failure?.movesOn !== true) return false
    return !this.relay.begun || (this.isEmpty(end) && !this.options.client.open)
  }

  /** The facts that the truth table asks for. */
  callEnd(): CallEnd {
    const { end } = this.done
    return {
      ended: end.ended,
      streaming: this.options.client.open,
      token: this.relay.tokenEvents > 0,
      finishReason: this.relay.gaveReason,
      reported: this.meter.reported(end.terminated),
      complete: this.meter.complete,
      unreadable: this.relay.unreadable !== undefined,
    }
  }

  usage(due: Outcome['due']): ResolvedUsage {
    switch (due) {
      case 'nothing':
        return this.meter.asFree()
      case 'reported':
        return this.meter.asReported(this.estimates())
      case 'estimated':
      case 'partial':
        return this.meter.asEstimated(this.estimates())
    }
  }

  /** What a client is told where the reply is an error. */
  error(): CompatError {
    const { end, failure } = this.done
    if (failure !== undefined) return failure.error
    return brokenOff(end)
  }

  private get done(): { readonly end: AttemptEnd; readonly failure: ProviderFailure | undefined } {
    if (this.result === undefined) throw new Error('The route has not been run to its end.')
    return this.result
  }

  private estimates(): TokenEstimates {
    const { call, promptTokens } = this.options
    return {
      prompt: promptTokens,
      completion: this.relay.completionAtLeast(call.model.maxOutputTokens ?? Infinity),
    }
  }

  /**
   * Whether the output that has come took the cost above the hold. Where the prompt alone did, since the estimate was too
   * low, to cut the reply would have the client pay all of its hold for nothing: it goes on to where the provider was
   * told to stop, as a reply in one body does.
   */
  private holdIsSpent(): boolean {
    const { usage } = this.usage('partial')
    const costs = (counted: Usage): boolean => price(counted, this.quote.terms).cost > this.options.holdAmount
    return costs(usage) && !costs({ ...usage, completion: 0, reasoning: 0 })
  }

  private readFailure(end: AttemptEnd): ProviderFailure | undefined {
    const { call, route } = this.options
    const { unreadable } = this.relay
    const empty = () => new ProviderError('invalid-response', 'The reply was empty.')
    // In one body the rest of the reply goes out.
    const unsent = call.request.stream && (end.ended === 'finished' || end.ended === 'cut')
    const failure =
      end.failure ?? (this.isEmpty(end) ? empty() : undefined) ?? (unsent ? unreadable : undefined)
    if (failure === undefined) return undefined
    const secrets = [route.secret, call.providerKey].flatMap((secret) => secret?.reveal() ?? [])
    const read = providerFailure(failure, call.providerKey !== undefined, {
      secrets,
      upstreamModel: route.upstreamModel,
      modelKey: call.model.id,
    })
    // What was asked for is as long, and what the model was made to say is as unreadable, from any provider.
    const isTooLong = end.ended === 'stopped'
    if (!isTooLong && unreadable === undefined) return read
    const hasSaid = !call.request.stream || end.firstTokenMs !== undefined
    return { ...read, movesOn: read.movesOn && !hasSaid, routeAtFault: false }
  }

  /** Whether the provider said that it was done, and had given neither a token nor a finish nor a usage. */
  private isEmpty({ ended, terminated }: AttemptEnd): boolean {
    const { gaveReason, tokenEvents } = this.relay
    if (ended !== 'finished' || tokenEvents > 0 || gaveReason) return false
    return !this.meter.reported(terminated)
  }

  /** What the call says of the route; nothing where the caller or the router broke it off. */
  private readHealth(): CallResult | undefined {
    const { end, failure } = this.done
    const { durationMs, firstTokenMs } = end
    if (failure !== undefined) {
      const { retryAfterSeconds, routeAtFault } = failure
      if (!routeAtFault) return undefined
      return { ok: false, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
    }
    if (end.ended !== 'finished') return undefined
    if (firstTokenMs === undefined) return { ok: true }
    // Over the whole of the call, since a reply may come in one piece.
    const tokens = this.relay.completionAtLeast(Infinity)
    // A machine's clock may be set back meanwhile.
    return durationMs > 0
      ? { ok: true, firstTokenMs, tokensPerSecond: (tokens * 1_000) / durationMs }
      : { ok: true, firstTokenMs }
  }

  private createMeter(): UsageMeter {
    const { contextLength, maxOutputTokens } = this.options.call.model
    return new UsageMeter(
      { contextLength, maxOutputTokens, n: this.options.call.request.n },
      (field, value) => this.reportImplausible(field, value),
      (name, count) => this.reportUnread(name, count),
    )
  }

  private reportUnread(name: string, count: number): void {
    const { call, parts } = this.options
    const field = cleanLabel(name, MAX_NAME_CHARS)
    if (parts.firstTimes.isFirst(`usage-implausible ${call.model.id} ${field}`)) {
      this.reportImplausible(field, count)
    }
  }

  private reportImplausible(field: string, value: unknown): void {
    const { call, parts, route } = this.options
    parts.options.emit({
      type: 'usage-implausible',
      requestId: call.requestId,
      routeId: route.id,
      field,
      value: cleanLabel(typeof value === 'bigint' ? `${value}n` : String(JSON.stringify(value))),
    })
  }

  private createRelay(): Relay {
    const { call, completionId, created, parts } = this.options
    const { newId, replyCounter, splice } = parts.options
    return new Relay({
      stream: call.request.stream,
      id: completionId,
      created,
      model: call.model.id,
      n: call.request.n,
      counter: replyCounter,
      meter: this.meter,
      newId,
      splice,
    })
  }
}

/** A registry over a table may hand out null where a route has no secret. */
function hostAuth({ secret }: Route): { kind: 'host'; secret: Secret | undefined } {
  // A member of its own even without a secret, or an adapter would find one that is on `Object.prototype`.
  return { kind: 'host', secret: secret || undefined }
}
