import { type ErrorCode, isCompatError } from '../../base/errors.js'
import { type Credits, largest, MAX_CREDITS } from '../../base/money.js'
import type { Mutable } from '../../base/mutable.js'
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
import type { Limits } from '../../contracts/limits.js'
import { callCompleted, callInFlight } from '../failures/claims.js'
import type { HoldRefusal, LimitReached } from '../failures/credit.js'
import { reportUnavailable } from '../failures/store-failures.js'
import type { CallerLimits } from './caller-limits.js'
import type { HoldKeeper } from './hold-keeper.js'
import type { LedgerClient } from './ledger-client.js'

/** A call asks for a hold once, and once more for each route that needs more credit than those before it. */
const LOOKED_UP_HOLDS = 32

/** The errors of a call whose key another call has taken. */
const CLAIM_TAKEN: readonly ErrorCode[] = ['idempotency_in_flight', 'idempotency_completed']

/** Returns the id of the hold that a call asks for after so many others. */
function holdIdOf(callId: string, before: number): string {
  return before === 0 ? callId : `${callId}-${before + 1}`
}

/** Returns the ids of the holds that a call may have taken, so that it can be found by its own id. */
export function holdIdsOf(callId: string): readonly string[] {
  return Array.from({ length: LOOKED_UP_HOLDS }, (_, before) => holdIdOf(callId, before))
}

/** Returns how long a hold lasts. */
export function holdMs({ settleMs, totalMs }: Pick<Limits, 'settleMs' | 'totalMs'>): number {
  return totalMs + settleMs + SPARE_TTL_MS
}

/** Time beyond the limits of a call, for a process to notice its end and to reach the ledger. */
const SPARE_TTL_MS = 60_000

/** The credits and tokens that a call may use. */
export interface HoldNeed {
  readonly hold: Credits
  readonly inputTokens: number
  readonly outputTokens: number
}

interface Held {
  readonly holdId: string
  readonly amount: Credits
  readonly tokens: number
  /** Undefined if the caller has no limits. */
  readonly states: readonly LimitState[] | undefined
  readonly facts: CallFacts
  /** See {@link HoldKeeper.holder}, from before it was asked for. */
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
   * Set while a hold that is not kept is asked for again. Never rejects. Wait for it before {@link handOver} and
   * {@link release}.
   */
  renewing: Promise<HoldRefusal | undefined> | undefined

  constructor(
    private readonly parts: HoldParts,
    private readonly requestId: string,
    /** Unique. The ids of the holds begin with it. */
    private readonly callId: string,
    private readonly account: string,
    private readonly claim: string | undefined,
    private readonly limits: CallerLimits | undefined,
  ) {}

  /** The amount on hold, 0 without a hold. */
  get amount(): Credits {
    return this.held?.amount ?? 0n
  }

  /** Returns headers with the rest of the caller's own limits after the hold. Undefined if there are none to show. */
  limitHeaders(): Readonly<Record<string, string>> | undefined {
    const states = this.held?.states
    return states === undefined ? undefined : this.limits?.headers(states)
  }

  /**
   * Ensures that at least this much is on hold, of credits and of what else is limited. Replaces a smaller hold in one step.
   *
   * @returns the refusal if there is not enough; a smaller hold then stays. Throws if the ledger does not answer, or if
   * another call has the claim.
   */
  async secure(need: HoldNeed, facts: CallFacts): Promise<HoldRefusal | undefined> {
    if (this.renewing !== undefined) await this.renewing
    const { held, limits } = this
    const { holds } = this.parts
    const tokens = limits?.countsTokens === true ? need.inputTokens + need.outputTokens : 0
    const isEnough = held !== undefined && need.hold <= held.amount && tokens <= held.tokens
    if (isEnough && holds.isKept(held.holder)) return undefined
    if (need.hold > MAX_CREDITS) return { reason: 'insufficient', amount: need.hold, balance: undefined }
    const amount = largest(need.hold, this.amount)
    const mostTokens = Math.max(tokens, held?.tokens ?? 0)
    const { holder } = holds
    let refusal: HoldRefusal | undefined
    this.isAsking = true
    try {
      refusal = await this.ask(amount, mostTokens, facts, this.claim)
    } finally {
      this.isAsking = false
    }
    // This process may have stood still while the ledger was asked.
    return refusal === undefined && !holds.isKept(holder) ? this.renew() : refusal
  }

  /**
   * Takes the hold again if it is not kept any more, with another id. A key that another call has taken meanwhile stays
   * with that call.
   *
   * @returns the refusal, after which the call has nothing on hold, but can still be settled. Never rejects
   */
  renew(): Promise<HoldRefusal | undefined> {
    const { asked, held, isAsking } = this
    if (this.renewing !== undefined) return this.renewing
    const isLost = held !== undefined && !this.parts.holds.isKept(held.holder)
    // The last ones are left to dearer routes: a call is not found by further ones.
    if (!isLost || isAsking || asked > LOOKED_UP_HOLDS / 2) return Promise.resolve(undefined)
    this.renewing = this.askAgain(held).finally(() => {
      this.renewing = undefined
    })
    return this.renewing
  }

  private async askAgain({ amount, facts, tokens }: Held): Promise<HoldRefusal | undefined> {
    try {
      return await this.ask(amount, tokens, facts, this.claim)
    } catch (error) {
      if (!isCompatError(error) || !CLAIM_TAKEN.includes(error.code)) return undefined
    }
    return this.ask(amount, tokens, facts, undefined).catch(() => undefined)
  }

  private async ask(
    amount: Credits,
    tokens: number,
    facts: CallFacts,
    claim: string | undefined,
  ): Promise<HoldRefusal | undefined> {
    const { held, limits } = this
    const { holds, ledger, options } = this.parts
    const { holder } = holds
    const request: Mutable<HoldRequest> = {
      holdId: holdIdOf(this.callId, this.asked++),
      account: this.account,
      amount,
      ttlMs: holdMs(options.limits),
      facts,
    }
    if (claim !== undefined) request.claim = claim
    if (held !== undefined) request.replaces = held.holdId
    if (limits !== undefined) request.limits = limits.forHold(amount, tokens)
    const result = await ledger.hold(request, this.requestId)
    if (result?.ok !== true) return this.refusal(result, request)
    let states: readonly LimitState[] | undefined
    if (limits !== undefined) {
      if (!limits.areAll(result.limits)) throw this.granted(request)
      states = result.limits
    }
    if (held === undefined) ledger.holdTaken()
    this.held = { holdId: request.holdId, amount, tokens, states, facts, holder }
    return undefined
  }

  /** Hands the hold over to the settlement of a charge. Returns its id, and what the charge uses of the caller's limits. */
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
          return { reason: 'insufficient', amount: request.amount, balance: { available, posted } }
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
      "hold() returned neither { ok: true } nor { ok: false } with reason 'insufficient' and posted and available as bigints, 'limited' with a bucket of the request, left, resetMs and onlyHeld, 'claimed', 'conflict' or 'closed'",
    )
  }

  private limitReached(result: HoldLimited, request: HoldRequest): LimitReached | undefined {
    const { bucket, left, onlyHeld, resetMs } = result
    const limit = this.limits?.find(bucket)
    const asked = request.limits?.find((one) => one.bucket === bucket)
    const isWhole = typeof left === 'bigint' && Number.isFinite(resetMs) && typeof onlyHeld === 'boolean'
    if (limit === undefined || asked === undefined || !isWhole) return undefined
    return {
      reason: 'limited',
      amount: asked.amount,
      limit,
      bucket: asked.bucket,
      isGrant: request.facts.appId !== undefined,
      left,
      resetMs: limit.per === 'total' ? Infinity : resetMs,
      onlyHeld,
    }
  }

  /** A hold that was taken without a test of the caller's limits. */
  private granted(request: HoldRequest): Error {
    return this.perhapsTaken(
      request,
      'hold() did not answer the limits of the request: bucket, from, left and resetMs of each, in order. A ledger that does not know limits cannot be used with credentials that have some',
    )
  }

  /** Releases a hold that may have been taken all the same. */
  private perhapsTaken(request: HoldRequest, why: string): Error {
    this.parts.ledger.holdTaken()
    void this.parts.ledger.release(request, this.requestId)
    return this.faulty(why)
  }

  private faulty(why: string): Error {
    return reportUnavailable('ledger', this.parts.options, this.requestId, new TypeError(why))
  }
}
