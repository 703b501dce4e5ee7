import type { Awaitable } from '../../contracts/context.js'
import type { CallFacts, Charge, SettleResult } from '../../contracts/ledger.js'
import type { Route } from '../../contracts/providers.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import { CompatError, isCompatError } from '../../errors.js'
import { asCompatError, errorFrame } from '../../protocol/error-body.js'
import { JSON_TYPE } from '../../protocol/media-types.js'
import { NO_USAGE } from '../../protocol/usage.js'
import { type WireCharge, wireUsage } from '../../protocol/wire-usage.js'
import type { LiveCall } from '../admission/in-flight.js'
import { andThen, isPromise } from '../asking/awaitable.js'
import { freeCharge, makeCharge, settlement } from '../charging/charge.js'
import { HeldCredit } from '../charging/held-credit.js'
import { type Outcome, outcome } from '../charging/outcome.js'
import { type OutputBounds, outputBounds } from '../charging/output-bounds.js'
import { FREE } from '../charging/price.js'
import { estimatePrompt, type PromptEstimate, predictedTokens } from '../charging/prompt-estimate.js'
import { type Quote, quote } from '../charging/quote.js'
import { eventError } from '../events/event-error.js'
import { shuttingDown } from '../failures/broken-off.js'
import { brokenAndCharged } from '../failures/claims.js'
import type { AdmittedCall } from './admitted-call.js'
import { ClientReply } from './client-reply.js'
import { DialledRoute } from './dialled-route.js'
import { routeFacts } from './facts.js'
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

/** One call from its hold to its charge: the routes tried, the outcome decided, settled and told. */
export class CompletionCall implements LiveCall {
  place = -1
  private readonly client: ClientReply
  private readonly credit: HeldCredit
  private readonly completionId: string
  private readonly created: number
  private readonly prompt: PromptEstimate
  private readonly bounds: OutputBounds
  /** Output tokens that the hold covers, of all choices. */
  private readonly outputTokens: number
  private dialled: DialledRoute | undefined
  private shuttingDown = false
  private deadlineAt = Infinity

  constructor(
    private readonly parts: EngineParts,
    private readonly call: AdmittedCall,
    private readonly writer: ReplyWriter,
  ) {
    const { options } = parts
    const { forward } = call.request
    this.client = new ClientReply(writer, options.clock)
    this.credit = new HeldCredit(parts, call.requestId, call.facts.account, call.claim)
    this.completionId = `chatcmpl-${options.newId()}`
    this.created = Math.floor(options.wallClock.now() / 1_000)
    const { limits, neverOverdraw } = options
    this.prompt = estimatePrompt(forward, call.model, options)
    this.bounds = outputBounds(forward, call.model, limits, neverOverdraw)
    this.outputTokens =
      (this.bounds.tokens + this.bounds.thinking + predictedTokens(forward, options)) * call.request.n
  }

  /** Runs the call to its end. Rejects with what the client is to be told as an HTTP error. */
  async run(): Promise<void> {
    this.writer.onLeave(() => this.dialled?.leave())
    this.parts.inFlight.add(this)
    try {
      await this.tryRoutes()
    } catch (caught) {
      await this.fail(caught)
    } finally {
      this.parts.inFlight.remove(this)
    }
  }

  /** Tells the client in its stream, where one is open; else throws what was caught. */
  private async fail(caught: unknown): Promise<void> {
    try {
      // Whatever happened, a hold ends in exactly one of settlement and release.
      await this.credit.release()
      if (!this.client.open) throw caught
      if (!isCompatError(caught)) {
        const { requestId } = this.call
        this.parts.options.emit({ type: 'fault', where: 'engine', requestId, error: eventError(caught) })
      }
      this.endWithError(asCompatError(caught), this.call.log.charge ?? NOTHING_CHARGED)
    } catch (error) {
      // Nothing else ends a stream any more, and one that ended properly would be taken for a success.
      if (this.client.open) this.writer.drop()
      throw error
    }
  }

  shutDown(): void {
    this.shuttingDown = true
    this.dialled?.shutDown()
  }

  /** Tries one route after the other until one has said something, or may not be passed over, and concludes with that. */
  private async tryRoutes(): Promise<void> {
    const { claim, log, model, routes } = this.call
    const { clock, limits } = this.parts.options
    let queue = routes
    let dials = 0
    let last: DialledRoute | undefined
    let refusal: CompatError | undefined
    for (let position = 0; position < queue.length; position++) {
      const route = queue[position]!
      if (dials >= limits.attempts || clock.now() >= this.deadlineAt) break
      const quoted = this.quote(route)
      const facts = routeFacts(this.call.facts, route, this.completionId)
      const securing = this.credit.secure(quoted.hold, facts)
      const refused = isPromise(securing) ? await securing : securing
      if (refused !== undefined) {
        refusal = refused
        log.attempts.push({ routeId: route.id, outcome: refused.code })
        continue
      }
      if (this.shuttingDown) throw shuttingDown()
      const nobodyWaits = this.client.gone && claim === undefined
      if (nobodyWaits) break
      // Nothing may come between this and the call's beginning, or a half-open route would get more than one probe.
      const isSecondTime = position >= routes.length
      if (!isSecondTime && this.isOvertaken(route, queue, position)) {
        queue = [...queue, route]
        continue
      }
      dials++
      last = this.dial(route, quoted, facts)
      this.dialled = last
      try {
        await last.run()
        if (!last.movesOn || this.shuttingDown) return this.conclude(last)
      } finally {
        // After the reply where the ledger answers at once, and without waiting for the settlement where it does not.
        this.dialled = undefined
        last.report()
      }
    }
    if (last !== undefined) return this.conclude(last)
    throw (
      refusal ?? new CompatError('no_route_available', `No provider serves the model '${model.id}' just now.`)
    )
  }

  /** Whether a route has come into trouble since the routes were chosen, and another behind it in the queue has not. */
  private isOvertaken(route: Route, queue: readonly Route[], position: number): boolean {
    const { health } = this.parts
    if (health.troubleOf(route) === undefined) return false
    return queue.slice(position + 1).some((other) => health.troubleOf(other) === undefined)
  }

  private dial(route: Route, quoted: Quote, facts: CallFacts): DialledRoute {
    const { clock, limits } = this.parts.options
    if (this.deadlineAt === Infinity) this.deadlineAt = clock.now() + limits.totalMs
    return new DialledRoute({
      parts: this.parts,
      call: this.call,
      client: this.client,
      route,
      quote: quoted,
      facts,
      holdAmount: this.credit.amount,
      completionId: this.completionId,
      created: this.created,
      deadlineAt: this.deadlineAt,
      promptTokens: this.prompt.atLeast,
      bounds: this.bounds,
    })
  }

  private quote(route: Route): Quote {
    const { caller, model, providerKey } = this.call
    try {
      return quote(
        {
          model,
          route,
          markup: caller.markup,
          byokFee: providerKey === undefined ? undefined : this.parts.options.byokFee,
          prompt: this.prompt,
          outputTokens: this.outputTokens,
        },
        this.parts.readPrices,
      )
    } catch (refusal) {
      this.tellUnreadable(route, isCompatError(refusal) ? refusal.cause : undefined)
      throw refusal
    }
  }

  /** Tells which price of a store's cannot be read; one that is missing is no fault. */
  private tellUnreadable(route: Route, cause: unknown): void {
    if (cause === undefined) return
    this.parts.options.emit({
      type: 'store-fault',
      store: route.prices === undefined ? 'catalogue' : 'providers',
      requestId: this.call.requestId,
      error: eventError(cause),
    })
  }

  /** Decides what is due, settles or releases it, and then tells the client. */
  private conclude(last: DialledRoute): Awaitable<void> {
    const { log, requestId } = this.call
    const { end, relay } = last
    const { due, reply } = outcome(last.callEnd())
    log.facts = last.facts
    log.providerMs = end.durationMs
    log.firstTokenMs = end.firstTokenMs
    log.reply = relay
    if (end.ended === 'left' && due === 'nothing') {
      this.parts.options.emit({ type: 'call-abandoned', requestId, facts: last.facts })
    }
    const { usage, basis } = last.usage(due)
    const { priceVersion, terms } = last.quote
    if (due === 'nothing') {
      return andThen(this.credit.release(), () =>
        this.tell(reply, freeCharge({ usage, basis, terms, priceVersion }), last),
      )
    }
    const { neverOverdraw } = this.parts.options
    const holdAmount = this.credit.amount
    const charge = makeCharge({ usage, basis, terms, priceVersion, holdAmount, neverOverdraw })
    return andThen(this.settle(charge, last.facts), (settled) => {
      if (settled?.claimLost === true) log.claimLost = true
      log.charge = settled?.charge ?? charge
      log.overdraft = settled?.overdraft ?? 0n
      this.tell(reply, log.charge, last)
    })
  }

  private settle(charge: Charge, facts: CallFacts): Awaitable<SettleResult | undefined> {
    const { ledger, options } = this.parts
    const { caller, claim, log, requestId } = this.call
    log.holdAmount = this.credit.amount
    // From here on nothing may throw before the settlement: neither would it be settled, nor released.
    const holdId = this.credit.handOver()
    log.holdId = holdId
    return ledger.settle(
      settlement(holdId, charge, caller.appAccount, options.platformAccount, facts, claim),
      requestId,
    )
  }

  private tell(reply: Outcome['reply'], charge: Charge, last: DialledRoute): void {
    if (reply === 'error') {
      const error = last.error()
      if (!this.client.open) throw error
      this.endWithError(error, charge)
    } else if (this.call.request.stream) {
      this.client.end(last.relay.closing(charge))
    } else {
      this.writer.send(200, JSON_HEADERS, last.relay.body(charge))
    }
  }

  /** Ends a stream that is already open. There is no `[DONE]`: what ends without it is no success. */
  private endWithError(error: CompatError, charge: WireCharge): void {
    const { claim, log } = this.call
    log.failed(error.code, 200)
    const keepsKey = claim !== undefined && log.charge !== undefined && !log.claimLost
    this.client.end(errorFrame(keepsKey ? brokenAndCharged(error) : error, wireUsage(charge)))
  }
}
