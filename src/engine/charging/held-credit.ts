import { type ErrorCode, isCompatError } from '../../base/errors.js'
import { type Credits, largest, MAX_CREDITS } from '../../base/money.js'
import type { Mutable } from '../../base/mutable.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type {
  CallFacts,
  Charge,
  HoldLimited,
  HoldRequest,
  HoldResult,
  LimitState,
  LimitUse,
} from '../../contracts/ledger.js'
import type { Timeouts } from '../../contracts/limits.js'
import { isOwnLimit } from '../../rules/own-limit.js'
import { andThen, isPromise } from '../asking/within.js'
import { callCompleted, callInFlight } from '../failures/claims.js'
import type { HoldRefusal, LimitReached } from '../failures/credit.js'
import { reportUnavailable } from '../failures/store-failures.js'
import type { CallerLimits } from './caller-limits.js'
import type { HoldKeeper } from './hold-keeper.js'
import type { LedgerClient } from './ledger-client.js'

/** A call asks for one hold, and for another for each route that needs more credit than those before. */
const LOOKED_UP_HOLDS = 32

/** The errors of a call whose key is claimed by another call. */
const CLAIM_TAKEN: readonly ErrorCode[] = ['idempotency_in_flight', 'idempotency_completed']

/** Returns the id of the hold that a call asks for after this many others. */
function holdIdOf(callId: string, before: number): string {
  return before === 0 ? callId : `${callId}-${before + 1}`
}

/** Returns the ids of all holds that a call may have taken, so that the call can be found by its own id. */
export function holdIdsOf(callId: string): readonly string[] {
  return Array.from({ length: LOOKED_UP_HOLDS }, (_, before) => holdIdOf(callId, before))
}

/** Returns how long a hold lasts. */
export function holdMs({ settleMs, totalMs }: Pick<Timeouts, 'settleMs' | 'totalMs'>): number {
  return totalMs + settleMs + SPARE_TTL_MS
}

/** Time beyond a call's own deadlines in which a process notices the end and reaches the ledger. */
const SPARE_TTL_MS = 60_000

/** The credits and tokens that a call may use. */
export interface HoldNeed {
  readonly hold: Credits
  readonly inputTokens: number
  readonly outputTokens: number
  /** Set if the ledger chooses the length of the output. All other figures are then minimums. */
  readonly steps?: OutputSteps | undefined
}

/** Output beyond the minimum. */
export interface OutputSteps {
  readonly credits: Credits
  readonly tokens: number
  /** See `HoldSteps`. */
  readonly usual: number
  readonly most: number
}

/** The part of an answer that a hold refers to. */
interface Amounts {
  readonly amount: Credits
  readonly tokens: number
  readonly outputTokens: number
}

interface Held extends Amounts {
  readonly holdId: string
  /** Undefined if the caller has no limits. */
  readonly states: readonly LimitState[] | undefined
  readonly facts: CallFacts
  /** The value of {@link HoldKeeper.holder} before the hold was requested. */
  readonly holder: string | undefined
}

/** The parts that all holds share. */
interface HoldParts {
  readonly ledger: LedgerClient
  readonly holds: Pick<HoldKeeper, 'holder' | 'isKept'>
  readonly options: EngineOptions
}

/** The current hold of a call. A call has at most one. */
export class HeldCredit {
  private held: Held | undefined
  /** How many holds this call has asked for. */
  private asked = 0
  private isAsking = false
  /**
   * Set while a lost hold is being taken again. Never rejects. Wait for it before {@link handOver} and {@link release}.
   */
  renewing: Promise<HoldRefusal | undefined> | undefined

  constructor(
    private readonly parts: HoldParts,
    private readonly requestId: string,
    /** Unique. The ids of the holds start with it. */
    private readonly callId: string,
    private readonly account: string,
    private readonly claim: string | undefined,
    private readonly limits: CallerLimits | undefined,
    /** Whether the caller may not learn the balance. */
    private readonly hidesBalance: boolean,
  ) {}

  /** The amount on hold. 0 without a hold. */
  get amount(): Credits {
    return this.held?.amount ?? 0n
  }

  /** The output tokens that the hold covers. 0 without a hold. */
  get outputTokens(): number {
    return this.held?.outputTokens ?? 0
  }

  /** Returns headers with what the hold leaves of the caller's own limits. Undefined if there are none to show. */
  limitHeaders(): Readonly<Record<string, string>> | undefined {
    const states = this.held?.states
    return states === undefined ? undefined : this.limits?.headers(states)
  }

  /**
   * Ensures that at least this much credit, and this much of every other limit, is on hold. Replaces a smaller hold in
   * one step. If the ledger chooses the output, the next route gets as much as the previous one, or as much as a new
   * hold covers.
   *
   * @returns the refusal if there is not enough; a smaller hold then stays. Throws if the ledger does not answer, or if
   * another call has the claim.
   */
  secure(need: HoldNeed, facts: CallFacts): Awaitable<HoldRefusal | undefined> {
    const { renewing } = this
    return renewing === undefined
      ? this.secureNow(need, facts)
      : renewing.then(() => this.secureNow(need, facts))
  }

  private secureNow(need: HoldNeed, facts: CallFacts): Awaitable<HoldRefusal | undefined> {
    const { held } = this
    const { holds } = this.parts
    const steps = this.stepsOf(need)
    const wanted = this.amountsOf(need, steps?.most ?? 0)
    const isEnough = held !== undefined && wanted.amount <= held.amount && wanted.tokens <= held.tokens
    if (isEnough && holds.isKept(held.holder)) {
      this.held = { ...held, outputTokens: wanted.outputTokens }
      return undefined
    }
    if (need.hold > MAX_CREDITS) {
      const { hidesBalance: isHidden } = this
      return { reason: 'insufficient', amount: need.hold, balance: undefined, isHidden }
    }
    const least = steps === undefined ? this.atLeastHeld(wanted) : this.amountsOf(need, 0)
    const { holder } = holds
    const answer = this.ask(least, steps, facts, this.claim)
    // This process may have been suspended while the ledger was asked.
    const keep = (refusal: HoldRefusal | undefined): Awaitable<HoldRefusal | undefined> =>
      refusal === undefined && !holds.isKept(holder) ? this.renew() : refusal
    if (!isPromise(answer)) return keep(answer)
    this.isAsking = true
    const answered = answer.finally(() => {
      this.isAsking = false
    })
    return answered.then(keep)
  }

  /**
   * Takes the hold again, with another id, if it was lost. If another call has taken the idempotency key meanwhile,
   * that call keeps it.
   *
   * @returns the refusal, after which the call has nothing on hold but can still be settled. Never rejects
   */
  renew(): Promise<HoldRefusal | undefined> {
    const { asked, held, isAsking } = this
    if (this.renewing !== undefined) return this.renewing
    const isLost = held !== undefined && !this.parts.holds.isKept(held.holder)
    // The last ids are left for more expensive routes: a call cannot be found by any later id.
    if (!isLost || isAsking || asked > LOOKED_UP_HOLDS / 2) return Promise.resolve(undefined)
    this.renewing = this.askAgain(held).finally(() => {
      this.renewing = undefined
    })
    return this.renewing
  }

  /** Returns the steps to ask for. A later route gets no more than the previous one. */
  private stepsOf({ outputTokens, steps }: HoldNeed): OutputSteps | undefined {
    const { held } = this
    if (held === undefined || steps === undefined) return steps
    const before = Math.max(0, Math.floor((held.outputTokens - outputTokens) / steps.tokens))
    return before < steps.most ? { ...steps, most: before } : steps
  }

  private amountsOf({ hold, inputTokens, outputTokens, steps }: HoldNeed, count: number): Amounts {
    const output = outputTokens + count * (steps?.tokens ?? 0)
    return {
      amount: count === 0 ? hold : hold + (steps?.credits ?? 0n) * BigInt(count),
      tokens: this.limits?.countsTokens === true ? inputTokens + output : 0,
      outputTokens: output,
    }
  }

  private atLeastHeld({ amount, outputTokens, tokens }: Amounts): Amounts {
    return {
      amount: largest(amount, this.amount),
      tokens: Math.max(tokens, this.held?.tokens ?? 0),
      outputTokens,
    }
  }

  private async askAgain({ facts, ...held }: Held): Promise<HoldRefusal | undefined> {
    try {
      return await this.ask(held, undefined, facts, this.claim)
    } catch (error) {
      if (!isCompatError(error) || !CLAIM_TAKEN.includes(error.code)) return undefined
    }
    try {
      return await this.ask(held, undefined, facts, undefined)
    } catch {
      return undefined
    }
  }

  private ask(
    { amount, outputTokens, tokens }: Amounts,
    steps: OutputSteps | undefined,
    facts: CallFacts,
    claim: string | undefined,
  ): Awaitable<HoldRefusal | undefined> {
    const { held, hidesBalance, limits } = this
    const { holds, ledger, options } = this.parts
    const { holder } = holds
    const request: Mutable<HoldRequest> = {
      holdId: holdIdOf(this.callId, this.asked++),
      account: this.account,
      amount,
      ttlMs: holdMs(options.timeouts),
      facts,
    }
    if (claim !== undefined) request.claim = claim
    if (held !== undefined) request.replaces = held.holdId
    if (steps !== undefined) {
      request.steps = { amount: steps.credits, usual: steps.usual, most: steps.most, hidesBalance }
    }
    if (limits !== undefined) {
      request.limits = limits.forHold(amount, tokens, steps, hidesBalance)
      if (hidesBalance && limits.ownBudgets > 0) request.beforeBalance = limits.ownBudgets
    }
    return andThen(ledger.hold(request, this.requestId), (result) => {
      if (result?.ok !== true) return this.refusal(result, request)
      let states: readonly LimitState[] | undefined
      if (limits !== undefined) {
        if (!limits.areAll(result.limits)) throw this.granted(request)
        states = result.limits
      }
      const count = steps === undefined ? 0 : result.steps
      if (!isCount(count, request)) throw this.granted(request)
      if (held === undefined) ledger.holdTaken()
      const output = count * (steps?.tokens ?? 0)
      this.held = {
        holdId: request.holdId,
        amount: count === 0 ? amount : amount + (steps?.credits ?? 0n) * BigInt(count),
        tokens: limits?.countsTokens === true ? tokens + output : 0,
        outputTokens: outputTokens + output,
        states,
        facts,
        holder,
      }
      return undefined
    })
  }

  /**
   * Hands the hold over to the settlement of a charge. Returns its id, and what the charge uses of the caller's limits.
   */
  handOver({ cost, usage }: Charge): {
    readonly holdId: string
    readonly limits: readonly LimitUse[] | undefined
  } {
    const { held, limits } = this
    if (held === undefined) throw new Error('There is no hold to settle.')
    this.held = undefined
    const { holdId, states } = held
    return { holdId, limits: states === undefined ? undefined : limits?.used(states, cost, usage) }
  }

  /** Releases the hold, if there is one. */
  async release(): Promise<void> {
    const held = this.held
    this.held = undefined
    if (held !== undefined) {
      await this.parts.ledger.release({ holdId: held.holdId, account: this.account }, this.requestId)
    }
  }

  private refusal(result: Exclude<HoldResult, { ok: true }>, request: HoldRequest): HoldRefusal {
    if (result?.ok === false) {
      switch (result.reason) {
        case 'insufficient': {
          const { available, posted } = result
          if (typeof posted !== 'bigint' || typeof available !== 'bigint') break
          const steps = refusedSteps(result, request)
          if (steps === undefined) break
          const amount = request.amount + (request.steps?.amount ?? 0n) * steps
          return {
            reason: 'insufficient',
            amount,
            balance: { available, posted },
            isHidden: this.hidesBalance,
          }
        }
        case 'limited': {
          const reached = this.limitReached(result, request)
          if (reached === undefined) break
          return reached
        }
        case 'claimed':
          throw result.charge ? callCompleted(result.charge) : callInFlight()
        case 'conflict':
        case 'closed':
          throw this.faulty(`hold() answered '${result.reason}' to a fresh hold`)
      }
    }
    throw this.perhapsTaken(
      request,
      "hold() returned neither { ok: true } nor { ok: false } with reason 'insufficient' and posted and available as bigints, 'limited' with a bucket of the request, left, resetMs and onlyHeld, both with no more steps than the request has, 'claimed', 'conflict' or 'closed'",
    )
  }

  private limitReached(result: HoldLimited, request: HoldRequest): LimitReached | undefined {
    const { bucket, left, onlyHeld, resetMs } = result
    const limit = this.limits?.find(bucket)
    const asked = request.limits?.find((one) => one.bucket === bucket)
    const isWhole = typeof left === 'bigint' && Number.isFinite(resetMs) && typeof onlyHeld === 'boolean'
    const steps = refusedSteps(result, request)
    if (limit === undefined || asked === undefined || !isWhole || steps === undefined) return undefined
    return {
      reason: 'limited',
      amount: asked.amount + (asked.step ?? 0n) * steps,
      limit,
      bucket: asked.bucket,
      isGrant: request.facts.appId !== undefined,
      isHidden: this.hidesBalance && !isOwnLimit(limit),
      left,
      resetMs: limit.per === 'total' ? Infinity : resetMs,
      onlyHeld,
    }
  }

  /**
   * Releases a hold that the ledger granted without testing the caller's limits or without its steps. Returns the
   * error.
   */
  private granted(request: HoldRequest): Error {
    return this.perhapsTaken(
      request,
      'hold() did not return the limits of the request: bucket, from, left and resetMs of each, in order; or the number of its steps. A ledger that does not know limits and steps cannot be used with credentials that have budgets, or with neverOverdraw',
    )
  }

  /** Releases a hold that may have been taken despite the answer. Returns the error. */
  private perhapsTaken(request: HoldRequest, why: string): Error {
    this.parts.ledger.holdTaken()
    void this.parts.ledger.release(request, this.requestId)
    return this.faulty(why)
  }

  private faulty(why: string): Error {
    return reportUnavailable('ledger', this.parts.options, this.requestId, new TypeError(why))
  }
}

/** Whether the number of steps in an answer is one that the request allows. */
function isCount(count: unknown, { steps }: HoldRequest): count is number {
  return Number.isInteger(count) && (count as number) >= 0 && (count as number) <= (steps?.most ?? 0)
}

/** Returns the number of steps for which a hold was refused. Undefined if the request does not allow that number. */
function refusedSteps({ steps = 0 }: { readonly steps?: number }, request: HoldRequest): bigint | undefined {
  return isCount(steps, request) ? BigInt(steps) : undefined
}
