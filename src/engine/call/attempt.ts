import { CallAbort } from '../../base/call-abort.js'
import { type CompatError, isProviderError, isReplyTooLong, ProviderError } from '../../base/errors.js'
import type { Credits } from '../../base/money.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Reply, RoutedCall, UnsentCall } from '../../contracts/operation.js'
import type { ProviderEvent, Route } from '../../contracts/providers.js'
import { cleanLabel } from '../../protocol/text.js'
import { clampUsage, type Usage } from '../../protocol/usage.js'
import type { WireBytes } from '../../protocol/wire-bytes.js'
import type { CallEnd, Outcome } from '../charging/outcome.js'
import { price } from '../charging/price.js'
import type { Quote } from '../charging/quote.js'
import { type ResolvedUsage, type TokenEstimates, UsageMeter } from '../charging/usage-meter.js'
import { eventError } from '../events/event-error.js'
import { newMends } from '../events/new-mends.js'
import { brokenOff } from '../failures/broken-off.js'
import { type HoldRefusal, refusalCode } from '../failures/credit.js'
import { type ProviderFailure, providerFailure } from '../failures/provider-failure.js'
import { routeFlaw } from '../failures/route-flaw.js'
import type { CallFailure, CallResult, RouteVisit } from '../routing/route-health.js'
import type { AdmittedCall } from './admitted-call.js'
import type { ClientReply } from './client-reply.js'
import type { EngineParts } from './parts.js'
import { ReplyFeed } from './reply-feed.js'
import type { Watched } from './watchdog.js'

export interface AttemptOptions {
  readonly parts: EngineParts
  readonly call: AdmittedCall
  readonly client: ClientReply
  readonly route: Route
  /** How the route takes the request. */
  readonly routed: RoutedCall
  /** Undefined under a caller's own key, which says nothing about the route. */
  readonly visit: RouteVisit | undefined
  readonly quote: Quote
  readonly facts: CallFacts
  readonly holdAmount: Credits
  /** The output tokens that the hold covers. */
  readonly outputTokens: number
  readonly replyId: string
  /** The creation time of the reply, in Unix seconds. */
  readonly created: number
  /** The deadline of the whole call. */
  readonly deadlineAt: number
  /** Whether no other route will be tried after this one. */
  readonly isLast: boolean
}

/** Why the router itself ended an attempt. */
export type Interruption =
  | { readonly why: 'left' | 'deadline' | 'shutdown' | 'cut' }
  | { readonly why: 'broken'; readonly error: ProviderError }
  | { readonly why: 'refused'; readonly refusal: HoldRefusal }

interface HowItEnded {
  readonly ended: CallEnd['ended']
  /** Set if `ended` is `broken`, or `stopped` because of the reply's length. */
  readonly failure?: ProviderError | undefined
  /** Set if `ended` is `stopped` for another reason. */
  readonly stoppedBy?: 'deadline' | 'shutdown' | HoldRefusal | undefined
}

interface AttemptEnd extends HowItEnded {
  /** Whether the provider stated the end of its reply, before any interruption. */
  readonly terminated: boolean
  readonly firstTokenMs: number | undefined
  readonly durationMs: number
}

const MAX_NAME_CHARS = 64
/** The fraction of the memory of all calls that one reply may use to repeat log probabilities. */
const REPEATED_SHARE = 32

/**
 * One route tried for one call. Sends the request, relays the reply to the client, and reports how it ended and what
 * that means for the charge.
 */
export class Attempt implements Watched {
  slot = -1
  deadline = Infinity
  readonly route: Route
  readonly quote: Quote
  readonly facts: CallFacts
  readonly reply: Reply
  /** Set once {@link run} is over, like the next two. */
  private result: AttemptEnd | undefined
  private failure: ProviderFailure | undefined
  /** What the attempt says about the route. Undefined if it says nothing. */
  health: CallResult | undefined
  /** Why it failed. Undefined if the provider refused the request itself. */
  blame: CallFailure | undefined
  private readonly meter: UsageMeter
  private readonly feed: ReplyFeed
  private readonly abort = new CallAbort()
  private readonly startedAt: number
  /** Infinity until the first byte of a JSON reply, which may take as long as the call. */
  private lastByteAt: number
  private lastTokenAt: number
  private firstTokenAt: number | undefined
  private isOver = false
  /**
   * Undefined before the call, and once the request was released. Nothing else refers to the request that was made for
   * the route.
   */
  private providerCall: UnsentCall | undefined
  /** Whether the first bytes of the stream were sent. */
  private hasOpened = false
  /** When the reply began to wait for room in memory. */
  private fullSince = 0
  private interruption: Interruption | undefined
  private running: { resolve(): void; reject(error: unknown): void } | undefined

  constructor(private readonly options: AttemptOptions) {
    const { call, facts, parts, quote, route, routed } = options
    this.route = route
    this.quote = quote
    this.facts = facts
    const { contextLength, maxOutputTokens } = call.model
    this.meter = new UsageMeter(
      { contextLength, maxOutputTokens, n: call.plan.choices },
      (field, value) => this.reportImplausible(field, value),
      (name, count) => this.reportUnread(name, count),
    )
    this.reply = routed.reply({
      id: options.replyId,
      created: options.created,
      counter: parts.options.replyCounter,
      newId: parts.options.newId,
      route,
      splice: parts.options.fastPaths.splice,
      repeatedBytes: Math.floor(parts.options.sizes.memoryBytes / REPEATED_SHARE),
    })
    this.feed = new ReplyFeed(this.reply, this.meter, call.plan)
    this.startedAt = parts.options.clock.now()
    this.lastByteAt = call.stream ? this.startedAt : Infinity
    this.lastTokenAt = this.lastByteAt
  }

  /** Calls the provider. Settles when the reply has ended or was interrupted, and {@link result} is known. */
  run(): Promise<void> {
    const { call, client, outputTokens, parts, route, routed } = this.options
    const { log, plan, providerKey, requestId } = call
    const { fastPaths, sizes, timeouts, traceContext } = parts.options
    log.outputLimit = plan.chosenLimit?.(route, outputTokens)
    return new Promise((resolve, reject) => {
      this.running = { resolve, reject }
      if (client.left) this.leave()
      parts.watchdog.add(this)
      if (this.interruption !== undefined) {
        this.finish(false, undefined)
        return
      }
      const failed = (error: unknown): void => {
        this.finish(false, this.interruption === undefined ? this.readError(error) : undefined)
      }
      try {
        const providerCall: UnsentCall = this.abort.attachTo({
          sentText: call.request.asked.sentText,
          stream: call.stream,
          auth:
            providerKey === undefined
              ? // Always an own member: an adapter could otherwise find one on `Object.prototype`. A table may have null.
                { kind: 'host', secret: route.secret || undefined }
              : { kind: 'byok', secret: providerKey },
          timeouts,
          sizes: plan.replyBytes === undefined ? sizes : { ...sizes, replyBytes: plan.replyBytes },
          fastPaths,
          requestId,
          trace: traceContext === 'forward' ? log.trace : undefined,
        })
        this.providerCall = providerCall
        routed
          .run(providerCall, outputTokens, this.take)
          .then((answer) => this.finish(answer?.terminated === true, undefined), failed)
      } catch (error) {
        failed(error)
      }
    })
  }

  /** Called when the client has left. Hangs up if the route says so. Otherwise reads on as if the client had stayed. */
  leave(): void {
    const { call, route } = this.options
    // A client with the same key may still come for the reply.
    if (call.claim !== undefined) return
    this.reply.discard()
    // Once a reply has finished, only its usage is still to come.
    if (route.onDisconnect === 'abort' && !this.reply.finished) this.interrupt({ why: 'left' })
  }

  shutDown(): void {
    this.interrupt({ why: 'shutdown' })
  }

  /** The hold was lost and could not be taken again. */
  refuse(refusal: HoldRefusal): void {
    this.interrupt({ why: 'refused', refusal })
  }

  /** Checks every deadline of the attempt. Returns when the next one may pass. */
  check(now: number): number {
    if (this.isOver) return Infinity
    const { call, client, deadlineAt, parts } = this.options
    const { timeouts } = parts.options
    if (now >= deadlineAt) {
      this.interrupt({ why: 'deadline' })
      return Infinity
    }
    // A deadline that can start to run at any moment is checked at least once in its own length.
    let due = Math.min(deadlineAt, now + timeouts.clientStallMs)
    if (client.blockedSince !== undefined) {
      const stalledAt = client.blockedSince + timeouts.clientStallMs
      if (now >= stalledAt) {
        client.drop()
        if (client.left) this.leave()
        return now + 1
      }
      return Math.min(due, stalledAt)
    }
    if (call.memory.isWaiting) {
      // A reply is not broken off because others take its memory.
      const goesOnAt = this.fullSince + timeouts.clientStallMs
      if (now >= goesOnAt) call.memory.goOn()
      return Math.min(due, Math.max(goesOnAt, now + 1))
    }
    const idleAt = Math.min(this.lastByteAt, now) + timeouts.idleMs
    const tokenAt = Math.min(this.lastTokenAt, now) + timeouts.tokenMs
    if (now >= idleAt || now >= tokenAt) {
      const what = now >= idleAt ? 'sent no byte' : 'sent no token'
      const error = new ProviderError('answer-timeout', `The provider ${what} in time.`)
      this.interrupt({ why: 'broken', error })
      return Infinity
    }
    due = Math.min(due, idleAt, tokenAt)
    if (call.stream && !client.left) {
      if (now >= client.lastWriteAt + timeouts.openStreamAfterMs) client.keepAlive()
      due = Math.min(due, client.lastWriteAt + timeouts.openStreamAfterMs)
    }
    return due
  }

  /** Reports the result to the log. Call this once, when {@link run} is over. */
  report(): void {
    if (this.reply.mends !== undefined) this.reportMends(this.reply.mends)
    if (this.result === undefined) return
    const { ended, stoppedBy } = this.result
    const { failure } = this
    const { unreadable } = this.reply
    const routeId = this.route.id
    if (failure !== undefined) {
      this.options.call.log.attempted({ routeId, outcome: failure.error.code, why: failure.why })
      return
    }
    const outcome = typeof stoppedBy === 'object' ? refusalCode(stoppedBy) : (stoppedBy ?? ended)
    this.options.call.log.attempted(
      unreadable === undefined ? { routeId, outcome } : { routeId, outcome, why: unreadable.message },
    )
  }

  /**
   * Whether another route may be tried: nothing of this one has reached the client, and the failure is not the caller's
   * fault.
   */
  get movesOn(): boolean {
    if (this.failure?.movesOn !== true) return false
    return !this.reply.begun || (this.isEmpty(this.end) && !this.options.client.open)
  }

  /** The facts that the truth table needs. */
  callEnd(): CallEnd {
    const { ended, terminated } = this.end
    const { gaveReason, tokenEvents, unreadable } = this.reply
    return {
      ended,
      streaming: this.options.client.open,
      token: tokenEvents > 0,
      finishReason: gaveReason,
      reported: this.meter.reported(terminated),
      complete: this.meter.complete,
      unreadable: unreadable !== undefined,
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

  /** The error for the client, if the reply is an error. */
  get error(): CompatError {
    return this.failure === undefined ? brokenOff(this.end) : this.failure.error
  }

  get end(): AttemptEnd {
    if (this.result === undefined) throw new Error('The attempt has not ended.')
    return this.result
  }

  /** Accepts the events of one network read. If it returns a promise, the adapter reads no more until that settles. */
  private readonly take = (events: readonly ProviderEvent[], heldBytes = 0): void | Promise<void> => {
    if (this.isOver || this.interruption !== undefined) return
    // Memory that was counted wrongly would be missing until the process ends.
    if (!Number.isFinite(heldBytes) || heldBytes < 0)
      throw new TypeError(`heldBytes must be a number of bytes; got ${String(heldBytes)}`)
    const { reply } = this
    const { isLast, parts, visit } = this.options
    const { clock } = parts.options
    const now = clock.now()
    if (parts.holds.mayBeLost(now)) return this.takeOnceConfirmed(events, heldBytes)
    if (isLast) this.forgetRequest()
    if (this.lastTokenAt === Infinity) this.lastTokenAt = now
    this.lastByteAt = now
    if (events.length === 0) return this.untilRoom(now, heldBytes)
    const tokens = reply.tokenEvents
    const wasFinished = reply.finished
    const bytes = this.feed.take(events)
    const broughtToken = reply.tokenEvents !== tokens
    if (broughtToken) {
      if (this.firstTokenAt === undefined && reply.failure === undefined && visit !== undefined) {
        parts.health.answered(visit)
      }
      this.lastTokenAt = now
      this.firstTokenAt ??= now
      this.forgetRequest()
    }
    const waiting = bytes === '' ? undefined : this.send(bytes)
    this.openUnreadable()
    // A provider that broke did so whatever else this read brought, and nobody pays an estimate for it.
    if (reply.failure !== undefined) this.interrupt({ why: 'broken', error: reply.failure })
    // A usage alone must not cut the reply off: it may belong to an error, or to a reply that is complete.
    if (broughtToken && !reply.finished && this.isHoldSpent()) this.interrupt({ why: 'cut' })
    const full = this.untilRoom(now, waiting === undefined ? heldBytes : heldBytes + bytes.length)
    // Little follows the end of the choices, so it is read without waiting for the client.
    if (reply.finished && !wasFinished) return
    if (waiting === undefined) return full
    return waiting.then(() => {
      this.lastByteAt = clock.now()
      this.lastTokenAt = this.lastByteAt
      return full
    })
  }

  /** In a function of its own: the promises of {@link take} would otherwise keep the events in memory. */
  private takeOnceConfirmed(events: readonly ProviderEvent[], heldBytes: number): Promise<void> {
    return this.options.parts.holds.confirm().then(() => this.take(events, heldBytes))
  }

  private send(bytes: WireBytes): void | Promise<void> {
    const { client } = this.options
    if (!this.hasOpened) {
      this.hasOpened = true
      const opening = this.reply.opening?.()
      if (opening !== undefined) void client.write(opening)
    }
    return client.write(bytes)
  }

  /** Counts the memory of the reply. Returns a promise if the reply must not grow until there is room. */
  private untilRoom(now: number, heldBytes: number): Promise<void> | undefined {
    const { call, parts } = this.options
    const full = call.memory.keep(this.reply.keptBytes + heldBytes)
    if (full === undefined) return undefined
    this.fullSince = now
    return full.then(() => {
      this.lastByteAt = parts.options.clock.now()
      this.lastTokenAt = this.lastByteAt
    })
  }

  /** Releases the request, since this route has it and no other will get it. */
  private forgetRequest(): void {
    const { providerCall } = this
    if (providerCall === undefined) return
    this.providerCall = undefined
    providerCall.request = { model: this.route.upstreamModel }
    providerCall.sentText = undefined
    const { memory, plan, request } = this.options.call
    plan.forget()
    request.forget()
    memory.freeRequest()
  }

  /**
   * Opens the stream for unreadable content, so that the error is an event with its charge. An error status would be
   * free.
   */
  private openUnreadable(): void {
    const { call, client } = this.options
    if (call.stream && this.reply.unreadable !== undefined) client.openStream()
  }

  private interrupt(interruption: Interruption): void {
    if (this.isOver || this.interruption !== undefined) return
    this.interruption = interruption
    // Deferred, since this may happen in the middle of `take`.
    queueMicrotask(() => this.finish(false, undefined))
    this.abort.abort()
  }

  /** Ends the attempt. After an interruption the provider's own end no longer counts. */
  private finish(terminated: boolean, failed: ProviderError | undefined): void {
    const { running } = this
    if (this.isOver || running === undefined) return
    this.isOver = true
    this.options.parts.watchdog.remove(this)
    const isHeard = this.interruption === undefined
    const isTerminated = isHeard && terminated
    try {
      const { ended, failure, stoppedBy } = this.conclude(isTerminated, isHeard ? failed : undefined)
      const end: AttemptEnd = {
        ended,
        terminated: isTerminated,
        failure,
        stoppedBy,
        firstTokenMs: this.firstTokenAt === undefined ? undefined : this.firstTokenAt - this.startedAt,
        durationMs: this.options.parts.options.clock.now() - this.startedAt,
      }
      this.failure = this.readFailure(end)
      this.result = end
      // Read now: it calls the host's tokenizer, which must not throw after the settlement.
      this.health = this.readHealth()
      running.resolve()
    } catch (error) {
      running.reject(error)
    }
  }

  /** Returns how the attempt ended. Ends the choices of a reply that counts. */
  private conclude(terminated: boolean, failed: ProviderError | undefined): HowItEnded {
    const how = this.howItEnded(terminated, failed)
    if (how.ended !== 'finished' && how.ended !== 'cut') return how
    try {
      this.reply.endChoices(how.ended === 'cut' ? 'length' : 'stop', this.feed.hasCountedOutput)
      this.openUnreadable()
      return how
    } catch (error) {
      return { ended: 'broken', failure: this.readError(error) }
    }
  }

  /**
   * Decides how the attempt ended if several things apply: first an error in the stream, then a proper end, then the
   * rest.
   */
  private howItEnded(terminated: boolean, failed: ProviderError | undefined): HowItEnded {
    const { interruption } = this
    const failure = interruption?.why === 'broken' ? interruption.error : failed
    if (failure?.reason === 'error-frame') return { ended: 'broken', failure }
    if (terminated || this.reply.finished) return { ended: 'finished' }
    // A client can ask for a reply as long as this. Without a charge, everything that it has received would be free.
    if (failure !== undefined && isReplyTooLong(failure)) return { ended: 'stopped', failure }
    if (failure !== undefined) return { ended: 'broken', failure }
    switch (interruption?.why) {
      case 'left':
      case 'cut':
        return { ended: interruption.why }
      case 'deadline':
      case 'shutdown':
        return { ended: 'stopped', stoppedBy: interruption.why }
      case 'refused':
        return { ended: 'stopped', stoppedBy: interruption.refusal }
    }
    return {
      ended: 'broken',
      failure: new ProviderError('cut-short', 'The provider closed its reply before the end.'),
    }
  }

  private readFailure(end: AttemptEnd): ProviderFailure | undefined {
    const { call } = this.options
    const { reply, route } = this
    const { unreadable } = reply
    const empty = () => new ProviderError('invalid-response', 'The reply was empty.')
    // A JSON reply is sent with the rest of its content.
    const unsent = call.stream && (end.ended === 'finished' || end.ended === 'cut')
    const failure =
      end.failure ?? (this.isEmpty(end) ? empty() : undefined) ?? (unsent ? unreadable : undefined)
    if (failure === undefined) return undefined
    const secrets = [route.secret, call.providerKey].flatMap((secret) => secret?.reveal() ?? [])
    const context = { secrets, upstreamModel: route.upstreamModel, modelKey: call.model.id }
    const endedWith = failure === reply.failure ? reply.nativeFinishReason : undefined
    const read = providerFailure(failure, call.providerKey !== undefined, context, endedWith)
    if (read.error.type !== 'invalid_request_error') this.blame = this.readBlame(failure, read, end)
    // Another provider's reply would be as long, or as unreadable.
    const isTooLong = end.ended === 'stopped'
    if (!isTooLong && unreadable === undefined) return read
    const hasSaid = !call.stream || end.firstTokenMs !== undefined
    return { ...read, movesOn: read.movesOn && !hasSaid, routeAtFault: false }
  }

  private readBlame(
    failure: ProviderError,
    { error, why }: ProviderFailure,
    { firstTokenMs }: AttemptEnd,
  ): CallFailure {
    const { model, plan, requestId, unlisted } = this.options.call
    // A provider that sent a first token has accepted key and model.
    const flaw =
      firstTokenMs === undefined
        ? routeFlaw(failure, {
            upstreamModel: this.route.upstreamModel,
            parameters: unlisted,
            tokens: () => plan.input.atLeast + this.options.outputTokens,
          })
        : undefined
    return { outcome: error.code, why, flaw, requestId, model: model.id }
  }

  /** Whether the provider ended its reply without a token, a finish or a usage. */
  private isEmpty({ ended, terminated }: AttemptEnd): boolean {
    const { gaveReason, tokenEvents } = this.reply
    if (ended !== 'finished' || tokenEvents > 0 || gaveReason) return false
    return !this.meter.reported(terminated)
  }

  /** What the attempt says about the route. Nothing if the caller or the router interrupted it. */
  private readHealth(): CallResult | undefined {
    const { failure } = this
    const { durationMs, ended, firstTokenMs } = this.end
    if (failure !== undefined) {
      const { isOutage, retryAfterSeconds, routeAtFault } = failure
      if (!routeAtFault) return undefined
      return { ok: false, isOutage, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
    }
    if (ended !== 'finished') return undefined
    if (firstTokenMs === undefined) return { ok: true }
    // Measured over the whole call, since a reply may come in one piece.
    const tokens = this.reply.completionAtLeast(Infinity)
    // The machine's clock may have been set back.
    return durationMs > 0
      ? { ok: true, firstTokenMs, tokensPerSecond: (tokens * 1_000) / durationMs }
      : { ok: true, firstTokenMs }
  }

  private estimates(): TokenEstimates {
    const { model, plan } = this.options.call
    return {
      prompt: plan.input.atLeast,
      completion: this.reply.completionAtLeast(model.maxOutputTokens ?? Infinity),
    }
  }

  /**
   * Whether the output of a stream took the cost above the hold, under `neverOverdraw`. If the input alone did, because
   * its estimate was too low, cutting the reply off would make the client pay the whole hold for nothing. The reply
   * then continues to the provider's own limit, as a JSON reply does.
   */
  private isHoldSpent(): boolean {
    const { call, holdAmount, quote } = this.options
    if (!call.neverOverdraw || !call.stream) return false
    const { usage } = this.usage('partial')
    const isAbove = (counted: Usage): boolean => price(counted, quote.terms).cost > holdAmount
    return isAbove(usage) && !isAbove(clampUsage({ ...usage, completion: 0 }))
  }

  private reportUnread(name: string, count: number): void {
    const { call, parts } = this.options
    const field = cleanLabel(name, MAX_NAME_CHARS)
    if (parts.firstTimes.isFirst(`usage-implausible ${call.model.id} ${field}`)) {
      this.reportImplausible(field, count)
    }
  }

  private reportImplausible(field: string, value: unknown): void {
    this.options.parts.options.emit({
      type: 'usage-implausible',
      requestId: this.options.call.requestId,
      routeId: this.route.id,
      field,
      value: cleanLabel(typeof value === 'bigint' ? `${value}n` : String(JSON.stringify(value))),
    })
  }

  private reportMends(mends: NonNullable<Reply['mends']>): void {
    const { options, route } = this
    const { call, parts } = options
    const news = newMends(mends, route.id, parts.firstTimes)
    if (news === undefined) return
    const { dropped, kinds, times } = news
    parts.options.emit({
      type: 'reply-mended',
      requestId: call.requestId,
      model: call.model.id,
      routeId: route.id,
      provider: route.provider,
      kinds,
      times,
      dropped,
    })
  }

  /** Returns an adapter's `ProviderError`. Anything else is a fault of the adapter, which is reported to the host. */
  private readError(error: unknown): ProviderError {
    if (isProviderError(error)) return error
    const { call, parts } = this.options
    parts.options.emit({
      type: 'fault',
      where: 'adapter',
      requestId: call.requestId,
      error: eventError(error),
    })
    return new ProviderError('cut-short', 'The adapter failed.', { cause: error })
  }
}
