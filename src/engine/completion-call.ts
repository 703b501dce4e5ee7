import type { Model } from '../contracts/catalogue.js'
import type { Secret } from '../contracts/context.js'
import type { CallFacts, Charge } from '../contracts/ledger.js'
import type { Route } from '../contracts/providers.js'
import type { ReplyWriter } from '../contracts/reply.js'
import { CompatError } from '../errors.js'
import type { ParsedChatRequest } from '../protocol/chat-request.js'
import { asCompatError, errorFrame } from '../protocol/error-body.js'
import { NO_USAGE } from '../protocol/usage.js'
import { type WireCharge, wireUsage } from '../protocol/wire-usage.js'
import { Attempt, type AttemptEnd } from './attempt.js'
import type { Caller } from './authenticate.js'
import type { CallLog } from './call-log.js'
import { freeCharge, makeCharge, settlement } from './charge.js'
import { ClientReply } from './client-reply.js'
import { callFacts } from './facts.js'
import { HeldCredit } from './held-credit.js'
import type { LiveCall } from './in-flight.js'
import { type Outcome, outcome } from './outcome.js'
import type { EngineParts } from './parts.js'
import { FREE, price } from './price.js'
import { estimatePrompt, type PromptEstimate } from './prompt-estimate.js'
import { type ProviderFailure, providerFailure } from './provider-failure.js'
import { outputBound, type Quote, quote } from './quote.js'
import { Relay } from './relay/relay.js'
import { upstreamRequest } from './upstream-request.js'
import { type ResolvedUsage, type TokenEstimates, UsageMeter } from './usage-meter.js'

/** A call that has been let in. */
export interface AdmittedCall {
  readonly requestId: string
  readonly caller: Caller
  readonly model: Model
  readonly request: ParsedChatRequest
  /** In the order in which they are to be tried. */
  readonly routes: readonly Route[]
  /** The caller's own provider key. */
  readonly providerKey: Secret | undefined
  readonly log: CallLog
  /** The digest of the call's `Idempotency-Key`. */
  readonly claim: string | undefined
}

/** One route tried for the call. */
interface Tried {
  readonly route: Route
  readonly quote: Quote
  readonly relay: Relay
  readonly meter: UsageMeter
  readonly end: AttemptEnd
  readonly failure: ProviderFailure | undefined
}

const MAX_PLAUSIBLE_PROMPT = 10_000_000
const MAX_PLAUSIBLE_COMPLETION = 1_000_000_000
const NOTHING_CHARGED: WireCharge = Object.freeze({
  ...FREE,
  basis: 'reported',
  byok: false,
  usage: NO_USAGE,
})
const JSON_HEADERS = Object.freeze({
  'content-type': 'application/json; charset=utf-8',
  'x-should-retry': 'false',
})

/** One call from its hold to its charge: the routes tried, the reply relayed, the outcome decided, settled and told. */
export class CompletionCall implements LiveCall {
  private readonly client: ClientReply
  private readonly credit: HeldCredit
  private readonly completionId: string
  private readonly created: number
  private readonly prompt: PromptEstimate
  /** Output tokens of one choice. */
  private readonly outputBound: number
  private attempt: Attempt | undefined
  private shuttingDown = false
  private deadlineAt = Infinity

  constructor(
    private readonly parts: EngineParts,
    private readonly call: AdmittedCall,
    private readonly writer: ReplyWriter,
  ) {
    const { options } = parts
    this.client = new ClientReply(writer, options.clock)
    this.credit = new HeldCredit(parts, call.requestId, call.caller.principal.account, call.claim)
    this.completionId = `chatcmpl-${options.newId()}`
    this.created = Math.floor(options.clock.now() / 1_000)
    this.prompt = estimatePrompt(call.request.forward, options.counter)
    this.outputBound = outputBound(call.request.forward, call.model, options.limits.holdOutputTokens)
  }

  /** Runs the call to its end. Rejects with what the client is to be told as an HTTP error. */
  async run(): Promise<void> {
    this.writer.onLeave(() => this.attempt?.leave())
    this.parts.inFlight.add(this)
    try {
      await this.runAndRelease()
    } catch (caught) {
      if (!this.client.open) throw caught
      this.endWithError(asCompatError(caught), this.call.log.charge ?? NOTHING_CHARGED)
    } finally {
      this.parts.inFlight.remove(this)
    }
  }

  private async runAndRelease(): Promise<void> {
    try {
      const last = await this.tryRoutes()
      await this.conclude(last)
    } finally {
      await this.credit.release()
    }
  }

  shutDown(): void {
    this.shuttingDown = true
    this.attempt?.shutDown()
  }

  /** Tries one route after the other until one has said something, or may not be passed over. */
  private async tryRoutes(): Promise<Tried> {
    const { limits } = this.parts.options
    let last: Tried | undefined
    let refusal: CompatError | undefined
    for (const route of this.call.routes) {
      const quoted = this.quote(route)
      const refused = await this.credit.secure(quoted.hold, this.facts(route))
      if (refused !== undefined) {
        refusal = refused
        continue
      }
      if (this.shuttingDown) throw shuttingDown()
      if (this.client.gone && this.call.claim === undefined) break
      last = await this.dial(route, quoted)
      if (this.call.log.attempts.length >= limits.attempts || !this.mayMoveOn(last)) return last
    }
    if (last !== undefined) return last
    throw (
      refusal ??
      new CompatError('no_route_available', `No provider serves the model '${this.call.model.id}' just now.`)
    )
  }

  private mayMoveOn({ end, failure, relay }: Tried): boolean {
    if (end.ended !== 'broken' || relay.begun || failure?.movesOn !== true || this.shuttingDown) return false
    return !this.client.gone || this.call.claim !== undefined
  }

  private quote(route: Route): Quote {
    const { byokFee } = this.parts.options
    const { caller, model, providerKey, request } = this.call
    return quote(
      {
        model,
        route,
        markup: caller.markup,
        ...(providerKey !== undefined && { byokFee }),
        prompt: this.prompt,
        outputTokens: this.outputBound * request.n,
      },
      this.parts.readPrices,
    )
  }

  private async dial(route: Route, quoted: Quote): Promise<Tried> {
    const { options, health } = this.parts
    const { claim, log, providerKey, request, requestId } = this.call
    const { clock, limits } = options
    if (this.deadlineAt === Infinity) this.deadlineAt = clock.now() + limits.totalMs
    const meter = this.createMeter(route)
    const relay = this.createRelay(meter)
    const attempt = new Attempt({
      engine: options,
      route,
      relay,
      client: this.client,
      stream: request.stream,
      drains: this.parts.drains,
      keyed: claim !== undefined,
      deadlineAt: this.deadlineAt,
      holdIsSpent:
        options.neverOverdraw && request.stream ? () => this.holdIsSpent(quoted, relay, meter) : undefined,
    })
    this.attempt = attempt
    const reportHealth = providerKey === undefined ? health.begin(route) : undefined
    const end = await attempt.run({
      request: upstreamRequest(
        request.forward,
        route.upstreamModel,
        options.neverOverdraw ? this.outputBound : undefined,
      ),
      stream: request.stream,
      auth: providerKey === undefined ? hostAuth(route) : { kind: 'byok', secret: providerKey },
      limits,
      requestId,
    })
    this.attempt = undefined
    const failure =
      end.failure &&
      providerFailure(end.failure, providerKey !== undefined, {
        secrets: [route.secret, providerKey].flatMap((secret) =>
          secret === undefined ? [] : [secret.reveal()],
        ),
        upstreamModel: route.upstreamModel,
        modelKey: this.call.model.id,
      })
    log.attempts.push({ routeId: route.id, outcome: failure?.error.code ?? end.stoppedBy ?? end.ended })
    reportHealth?.(healthResult(end, failure, relay))
    return { route, quote: quoted, relay, meter, end, failure }
  }

  /** Decides what is due, settles or releases it, and then tells the client. */
  private async conclude(last: Tried): Promise<void> {
    const { end, meter, relay } = last
    const { log } = this.call
    const decided = outcome({
      ended: end.ended,
      streaming: this.client.open,
      token: relay.tokenEvents > 0,
      finishReason: relay.finishReason !== undefined,
      reported: meter.reported(end.terminated),
    })
    log.firstTokenMs = end.firstTokenMs
    log.finishReason = relay.finishReason
    log.nativeFinishReason = relay.nativeFinishReason
    if (end.ended === 'left' && decided.due === 'nothing') {
      this.parts.options.emit({
        type: 'call-abandoned',
        requestId: this.call.requestId,
        facts: this.facts(last.route),
      })
    }
    const charge =
      decided.due === 'nothing'
        ? await this.releaseFree(last)
        : await this.settle(last, this.usageDue(decided.due, last))
    this.tell(decided.reply, charge, last)
  }

  private usageDue(due: Exclude<Outcome['due'], 'nothing'>, { meter, relay }: Tried): ResolvedUsage {
    const estimates = this.estimates(relay)
    switch (due) {
      case 'reported':
        return meter.asReported(estimates)
      case 'estimated':
        return meter.asEstimated(estimates)
      case 'partial':
        return meter.asPartial(estimates)
    }
  }

  private async releaseFree({ meter, quote: { terms, priceVersion } }: Tried): Promise<Charge> {
    await this.credit.release()
    return freeCharge({ ...meter.asFree(), terms, priceVersion })
  }

  private async settle(tried: Tried, usage: ResolvedUsage): Promise<Charge> {
    const { options, settlements } = this.parts
    const { caller, claim, log, requestId } = this.call
    const { terms, priceVersion } = tried.quote
    const { holdId, amount } = this.credit.handOver()
    const { neverOverdraw } = options
    const charge = makeCharge({ ...usage, terms, priceVersion, holdAmount: amount, neverOverdraw })
    const facts = this.facts(tried.route)
    log.facts = facts
    log.holdId = holdId
    log.holdAmount = amount
    const settled = await settlements.settle(
      settlement(holdId, charge, caller.principal, options.platformAccount, facts, claim),
      requestId,
    )
    if (settled?.claimLost === true) options.emit({ type: 'claim-lost', requestId, holdId })
    log.charge = settled?.charge ?? charge
    log.overdraft = settled?.overdraft ?? 0n
    return log.charge
  }

  private tell(reply: Outcome['reply'], charge: Charge, last: Tried): void {
    const { relay } = last
    if (reply === 'error') {
      const error = this.errorOf(last)
      if (!this.client.open) throw error
      this.endWithError(error, charge)
      return
    }
    if (!this.call.request.stream) {
      this.writer.send(200, JSON_HEADERS, relay.body(charge))
      return
    }
    void this.client.write(relay.closing(charge))
    this.writer.end()
  }

  /** Ends a stream that is already open. There is no `[DONE]`: what ends without it is no success. */
  private endWithError(error: CompatError, charge: WireCharge): void {
    this.call.log.failed(error.code, 200)
    void this.client.write(errorFrame(error, wireUsage(charge)))
    this.writer.end()
  }

  private errorOf({ end, failure }: Tried): CompatError {
    if (failure !== undefined) return failure.error
    const billed = { headers: { 'x-should-retry': 'false' } }
    switch (end.stoppedBy) {
      case 'deadline':
        return new CompatError('provider_timeout', 'The call took longer than a call may take.', billed)
      case 'shutdown':
        return shuttingDown(billed.headers)
    }
    if (end.ended === 'left') {
      return new CompatError(
        'provider_timeout',
        'The call was not read to its end after its client had left.',
        billed,
      )
    }
    return new CompatError('provider_invalid_response', 'The provider of this model sent an empty reply.', {
      source: 'provider',
    })
  }

  private holdIsSpent(quoted: Quote, relay: Relay, meter: UsageMeter): boolean {
    const { usage } = meter.asPartial(this.estimates(relay))
    return price(usage, quoted.terms).cost >= (this.credit.current?.amount ?? 0n)
  }

  private estimates(relay: Relay): TokenEstimates {
    return {
      prompt: this.prompt.atLeast,
      completion: relay.completionAtLeast(this.call.model.maxOutputTokens ?? Infinity),
    }
  }

  private createMeter(route: Route): UsageMeter {
    const { model, request, requestId } = this.call
    const { contextLength, maxOutputTokens } = model
    return new UsageMeter(
      {
        prompt: contextLength === undefined ? MAX_PLAUSIBLE_PROMPT : contextLength * 2,
        completion: maxOutputTokens === undefined ? MAX_PLAUSIBLE_COMPLETION : maxOutputTokens * request.n,
      },
      (field, value) =>
        this.parts.options.emit({
          type: 'usage-implausible',
          requestId,
          routeId: route.id,
          field,
          value: String(JSON.stringify(value)).slice(0, 256),
        }),
    )
  }

  private createRelay(meter: UsageMeter): Relay {
    const { counter, newId, splice } = this.parts.options
    const { model, request } = this.call
    return new Relay({
      stream: request.stream,
      id: this.completionId,
      created: this.created,
      model: model.id,
      n: request.n,
      counter,
      meter,
      newId,
      splice,
    })
  }

  private facts(route: Route): CallFacts {
    return callFacts(this.call, route, this.completionId)
  }
}

function hostAuth(route: Route): { kind: 'host'; secret?: Secret } {
  return route.secret === undefined ? { kind: 'host' } : { kind: 'host', secret: route.secret }
}

function shuttingDown(headers: Readonly<Record<string, string>> = {}): CompatError {
  return new CompatError('shutting_down', 'This service is shutting down. Try again shortly.', { headers })
}

function healthResult(end: AttemptEnd, failure: ProviderFailure | undefined, relay: Relay) {
  if (end.ended === 'finished') {
    const { durationMs, firstTokenMs } = end
    const streamedMs = firstTokenMs === undefined ? 0 : durationMs - firstTokenMs
    const tokens = relay.completionAtLeast(Infinity)
    return {
      ok: true,
      ...(firstTokenMs !== undefined && { firstTokenMs }),
      ...(streamedMs > 0 && { tokensPerSecond: (tokens * 1_000) / streamedMs }),
    }
  }
  const routeAtFault = failure?.routeAtFault === true || end.stoppedBy === 'deadline'
  if (!routeAtFault) return undefined
  return {
    ok: false,
    ...(failure?.retryAfterSeconds !== undefined && { retryAfterSeconds: failure.retryAfterSeconds }),
  }
}
