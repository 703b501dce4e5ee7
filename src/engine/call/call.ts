import { type CompatError, isCompatError } from '../../base/errors.js'
import type { Awaitable } from '../../contracts/context.js'
import type { CallFacts, Charge } from '../../contracts/ledger.js'
import type { InputEstimate, OutputRange } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import { asCompatError } from '../../protocol/error-body.js'
import { JSON_TYPE } from '../../protocol/media-types.js'
import { NO_USAGE } from '../../protocol/usage.js'
import type { WireCharge } from '../../protocol/wire-usage.js'
import type { LiveCall } from '../admission/in-flight.js'
import { andThen, isPromise } from '../asking/within.js'
import { freeCharge, frozenCopy, makeCharge, settlement } from '../charging/charge.js'
import { HeldCredit } from '../charging/held-credit.js'
import { type Outcome, outcome } from '../charging/outcome.js'
import { FREE } from '../charging/price.js'
import { outputTokensWithin, type Quote, quote } from '../charging/quote.js'
import { eventError } from '../events/event-error.js'
import { shuttingDown } from '../failures/broken-off.js'
import { brokenAndCharged } from '../failures/claims.js'
import { creditsLeft, type HoldRefusal, refusalCode, refusedHold } from '../failures/credit.js'
import { noRoute } from '../failures/no-route.js'
import { withHeaders } from '../failures/with-headers.js'
import type { RouteVisit } from '../routing/route-health.js'
import { type AdmittedCall, routeFacts } from './admitted-call.js'
import { Attempt } from './attempt.js'
import { ClientReply } from './client-reply.js'
import type { EngineParts } from './parts.js'

const NOTHING_CHARGED: WireCharge = Object.freeze({
  ...FREE,
  basis: 'reported',
  byok: false,
  usage: NO_USAGE,
})
const JSON_HEADERS = Object.freeze({
  'content-type': JSON_TYPE,
  'x-should-retry': 'false',
})

/** A route whose hold was refused. */
interface RefusedRoute {
  readonly route: Route
  readonly refusal: HoldRefusal
  readonly quoted: Quote
}

/** One call from its hold to its charge: tries routes, decides what is due, settles it, and answers the client. */
export class Call implements LiveCall {
  slot = -1
  private readonly client: ClientReply
  private readonly credit: HeldCredit
  private readonly replyId: string
  private readonly created: number
  private attempt: Attempt | undefined
  /** What is left of the caller's own limits. Undefined if there is nothing to show in headers. */
  private limitHeaders: Readonly<Record<string, string>> | undefined
  /** The last route that was tried. */
  private last: Attempt | undefined
  private isShuttingDown = false
  private deadlineAt = Infinity
  /** The time until the next probe of a route that refused the call. */
  private nextProbeInMs = Infinity

  constructor(
    private readonly parts: EngineParts,
    private readonly call: AdmittedCall,
    private readonly writer: ReplyWriter,
  ) {
    const { options } = parts
    this.client = new ClientReply(writer, options.clock, call.operation.keepAlive)
    const callId = options.newId()
    const { caller, claim, facts, requestId } = call
    const { hidesBalance, limits } = caller
    this.credit = new HeldCredit(parts, requestId, callId, facts.account, claim, limits, hidesBalance)
    this.replyId = `${call.operation.idPrefix}${callId}`
    this.created = Math.floor(options.wallClock.now() / 1_000)
  }

  /** Runs the call to its end. Rejects with the error for the client if nothing was sent yet. */
  async run(): Promise<void> {
    this.writer.onLeave(() => this.attempt?.leave())
    this.parts.inFlight.add(this)
    try {
      await this.tryRoutes()
    } catch (caught) {
      await this.fail(caught)
    } finally {
      this.parts.inFlight.remove(this)
    }
  }

  shutDown(): void {
    this.isShuttingDown = true
    this.attempt?.shutDown()
  }

  /**
   * Takes the hold again if it was lost. Nothing more is sent if a limit refuses it, or if the balance refuses it and
   * the call may cost at most its hold. Other calls go on as an overdraft.
   */
  async renewHold(): Promise<void> {
    const refusal = await this.credit.renew()
    if (refusal === undefined) return
    if (refusal.reason === 'limited' || this.call.neverOverdraw) this.attempt?.refuse(refusal)
  }

  /** Ends an open stream with the error. Without an open stream, throws the error. */
  private async fail(caught: unknown): Promise<void> {
    try {
      // Whatever happened, every hold ends in exactly one settlement or release.
      if (this.credit.renewing !== undefined) await this.credit.renewing
      await this.credit.release()
      if (!this.client.open) throw withHeaders(caught, this.limitHeaders)
      if (!isCompatError(caught)) {
        const { requestId } = this.call
        this.parts.options.emit({ type: 'fault', where: 'engine', requestId, error: eventError(caught) })
      }
      this.endWithError(asCompatError(caught), this.call.log.charge ?? NOTHING_CHARGED)
    } catch (error) {
      // Nothing else would end the stream, and a proper end would look like success.
      if (this.client.open) this.writer.drop()
      throw error
    }
  }

  /**
   * Tries one route after the other until one has produced output, or no other may be tried, and concludes with that
   * one. A call refused by failing routes takes no hold.
   */
  private async tryRoutes(): Promise<void> {
    const { claim, facts: callFacts, model, plan, providerKey, routes } = this.call
    const { health, options } = this.parts
    const { clock, routing } = options
    let queue = routes
    let attempts = 0
    let refused: RefusedRoute | undefined
    for (let position = 0; position < queue.length; position++) {
      const route = queue[position]!
      if (attempts >= routing.attempts || clock.now() >= this.deadlineAt) break
      if (this.isRefusedBy(route)) continue
      // Before the hold, or many calls would hold credit for one probe.
      const visit = providerKey === undefined ? health.begin(route, callFacts.account) : undefined
      let attempt: Attempt | undefined
      try {
        const facts = routeFacts(callFacts, route, this.replyId)
        const least =
          plan.leastInput === undefined ? undefined : this.quote(route, leastEstimate(plan.leastInput))
        let quoted = least ?? this.quote(route, plan.input)
        const secured = this.secure(quoted, facts)
        let refusal = isPromise(secured) ? await secured : secured
        if (least !== undefined && refusal === undefined) {
          quoted = this.quote(route, plan.input)
          refusal = await this.secure(quoted, facts)
        }
        if (refusal !== undefined) {
          this.reportRefusal(route, refusal)
          // The cheapest route is the one that the caller could have used most easily.
          if (refused === undefined || quoted.hold < refused.quoted.hold) refused = { route, refusal, quoted }
          // A call counts as one request on every route.
          if (refusal.reason === 'limited' && refusal.limit.unit === 'requests') break
          continue
        }
        if (this.isShuttingDown) throw shuttingDown()
        const nobodyWaits = this.client.left && claim === undefined
        if (nobodyWaits) break
        // The route may have started failing while the hold was taken.
        if (visit?.isProbe === false) {
          if (this.isRefusedBy(route)) continue
          const isSecondTime = position >= routes.length
          if (!visit.probesStreak && !isSecondTime && this.isOvertaken(route, queue, position)) {
            queue = [...queue, route]
            continue
          }
        }
        attempts++
        const isLast = attempts === routing.attempts || position === queue.length - 1
        attempt = this.begin(route, visit, quoted, facts, isLast)
        this.last = attempt
        this.attempt = attempt
        await attempt.run()
        if (!attempt.movesOn || this.isShuttingDown) return this.conclude(attempt)
      } finally {
        // Does not wait for the settlement.
        this.attempt = undefined
        if (visit !== undefined && attempt === undefined) health.giveBack(visit)
        else if (visit !== undefined) health.end(visit, attempt?.health, attempt?.blame)
        attempt?.report()
      }
    }
    if (this.last !== undefined) return this.conclude(this.last)
    throw refused === undefined ? noRoute(model.id, this.nextProbeInMs) : this.refuse(refused)
  }

  /** Takes the hold that a route needs. Asks again if this process was suspended meanwhile. */
  private secure(quoted: Quote, facts: CallFacts): Awaitable<HoldRefusal | undefined> {
    const { holds, options } = this.parts
    return andThen(this.credit.secure(quoted, facts), (refusal) => {
      if (refusal !== undefined || !holds.mayBeLost(options.clock.now())) return refusal
      return holds.confirm().then(() => this.credit.secure(quoted, facts))
    })
  }

  private reportRefusal(route: Route, refusal: HoldRefusal): void {
    const { log } = this.call
    const outcome = refusalCode(refusal)
    log.attempted(
      refusal.reason === 'limited'
        ? { routeId: route.id, outcome, why: `limit ${refusal.limit.id}` }
        : { routeId: route.id, outcome },
    )
  }

  /** Returns the error for a call that could not hold what its routes need. Notes the limit that it reached. */
  private refuse({ quoted, refusal, route }: RefusedRoute): CompatError {
    const { log, plan } = this.call
    if (refusal.reason === 'limited') {
      const { bucket, limit } = refusal
      log.limit = { id: limit.id, bucket, unit: limit.unit }
    }
    const left = creditsLeft(refusal)
    // Assuming the smallest possible input would suggest more output tokens than fit.
    const isExact = plan.leastInput === undefined
    const output = left === undefined || !isExact ? undefined : outputTokensWithin(left, quoted)
    return refusedHold(refusal, {
      fitting: output === undefined ? undefined : plan.shortened?.(route, output),
      creditHelp: this.parts.options.creditHelp,
    })
  }

  /** Whether a failing route refuses the call. A caller's own key does not depend on its health. */
  private isRefusedBy(route: Route): boolean {
    const { facts, log, providerKey } = this.call
    if (providerKey !== undefined) return false
    const refusal = this.parts.health.refusal(route, facts.account)
    if (refusal === undefined) return false
    this.nextProbeInMs = Math.min(this.nextProbeInMs, refusal.waitMs)
    log.attempted({ routeId: route.id, outcome: 'no_route_available', why: refusal.why })
    return true
  }

  /** Whether a route has started failing since the routes were chosen while a later one in the queue has not. */
  private isOvertaken(route: Route, queue: readonly Route[], position: number): boolean {
    const { health } = this.parts
    if (health.troubleOf(route) === undefined) return false
    return queue.slice(position + 1).some((other) => health.troubleOf(other) === undefined)
  }

  private begin(
    route: Route,
    visit: RouteVisit | undefined,
    quoted: Quote,
    facts: CallFacts,
    isLast: boolean,
  ): Attempt {
    const { clock, timeouts } = this.parts.options
    this.limitHeaders = this.credit.limitHeaders()
    if (this.limitHeaders !== undefined) this.client.addHeaders(this.limitHeaders)
    if (this.deadlineAt === Infinity) this.deadlineAt = clock.now() + timeouts.totalMs
    return new Attempt({
      parts: this.parts,
      call: this.call,
      client: this.client,
      route,
      routed: this.call.calls.get(route)!,
      visit,
      quote: quoted,
      facts,
      holdAmount: this.credit.amount,
      outputTokens: this.credit.outputTokens,
      replyId: this.replyId,
      created: this.created,
      deadlineAt: this.deadlineAt,
      isLast,
    })
  }

  /** Nothing may reveal the balance to a caller, so one without a budget to divide gets the usual output. */
  private outputOn(route: Route, input: InputEstimate): OutputRange {
    const { caller, plan } = this.call
    const output = plan.outputOn(route, input)
    const hasOwnBudget = caller.limits !== undefined && caller.limits.ownBudgets > 0
    if (!caller.hidesBalance || hasOwnBudget || output.usual === output.most) return output
    return { ...output, most: output.usual }
  }

  private quote(route: Route, input: InputEstimate): Quote {
    const { caller, model, providerKey } = this.call
    try {
      return quote(
        {
          model,
          route,
          markup: caller.markup,
          byokFee: providerKey === undefined ? undefined : this.parts.options.byokFee,
          input,
          output: this.outputOn(route, input),
        },
        this.parts.readPrices,
      )
    } catch (refusal) {
      this.reportUnreadable(route, isCompatError(refusal) ? refusal.cause : undefined)
      throw refusal
    }
  }

  /** Reports a price from a store that cannot be read. A missing price has no cause and is not reported. */
  private reportUnreadable(route: Route, cause: unknown): void {
    if (cause === undefined) return
    this.parts.options.emit({
      type: 'store-fault',
      store: route.prices === undefined ? 'catalogue' : 'providers',
      requestId: this.call.requestId,
      error: eventError(cause),
    })
  }

  /** Decides what is due, settles or releases the hold, and then answers the client. */
  private conclude(last: Attempt): Awaitable<void> {
    const { renewing } = this.credit
    return renewing === undefined ? this.charge(last) : renewing.then(() => this.charge(last))
  }

  private charge(last: Attempt): Awaitable<void> {
    const { log, requestId } = this.call
    const { end, facts, quote, reply } = last
    const decided = outcome(last.callEnd())
    log.facts = facts
    log.providerMs = end.durationMs
    log.firstTokenMs = end.firstTokenMs
    log.reply = reply
    if (end.ended === 'left' && decided.due === 'nothing') {
      this.parts.options.emit({ type: 'call-abandoned', requestId, facts })
    }
    const { usage, basis } = last.usage(decided.due)
    const { priceVersion, terms } = quote
    if (decided.due === 'nothing') {
      return this.credit.release().then(() => {
        this.answer(decided.reply, freeCharge({ usage, basis, terms, priceVersion }), last)
      })
    }
    const { neverOverdraw } = this.call
    const holdAmount = this.credit.amount
    const charge = makeCharge({ usage, basis, terms, priceVersion, holdAmount, neverOverdraw })
    return andThen(this.settle(charge, facts), (posted) => this.answer(decided.reply, posted, last))
  }

  /** Settles the hold. Returns the charge as the ledger posted it, or as sent if the ledger has not answered in time. */
  private settle(charge: Charge, facts: CallFacts): Awaitable<Charge> {
    const { ledger, options } = this.parts
    const { caller, claim, log, requestId } = this.call
    log.holdAmount = this.credit.amount
    // Nothing may throw between here and the settlement, or the hold would be neither settled nor released.
    const { holdId, limits } = this.credit.handOver(charge)
    log.holdId = holdId
    const request = settlement(
      holdId,
      charge,
      caller.appAccount,
      options.platformAccount,
      facts,
      claim,
      limits,
    )
    return andThen(ledger.settle(request, requestId), (settled) => {
      if (settled?.claimLost === true) log.claimLost = true
      log.charge = settled === undefined || settled.charge === charge ? charge : frozenCopy(settled.charge)
      log.overdraft = settled?.overdraft ?? 0n
      return log.charge
    })
  }

  private answer(kind: Outcome['reply'], charge: Charge, last: Attempt): void {
    if (kind === 'error') {
      const { error } = last
      if (!this.client.open) throw error
      this.endWithError(error, charge)
    } else if (this.call.stream) {
      this.call.memory.sendUntil(this.client.end(last.reply.closing(charge)))
    } else {
      const headers =
        this.limitHeaders === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...this.limitHeaders }
      this.call.memory.sendUntil(this.writer.send(200, headers, last.reply.body(charge)))
    }
  }

  /** Ends a stream that is already open, so that it never looks successful. */
  private endWithError(error: CompatError, charge: WireCharge): void {
    const { claim, log } = this.call
    log.failed(error.code, 200, error.param)
    const keepsKey = claim !== undefined && log.charge !== undefined && !log.claimLost
    // No stream opens before a route is tried.
    const bytes = this.last!.reply.failing(keepsKey ? brokenAndCharged(error) : error, charge)
    this.call.memory.sendUntil(this.client.end(bytes))
  }
}

/** Returns an estimate for a request with at least this many tokens. */
function leastEstimate(tokens: number): InputEstimate {
  return { atMost: () => tokens, atLeast: tokens, hasMedia: false }
}
