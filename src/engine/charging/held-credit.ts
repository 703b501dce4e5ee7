import type { CompatError } from '../../base/errors.js'
import { type Credits, MAX_CREDITS } from '../../base/money.js'
import type { Mutable } from '../../base/mutable.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { CallFacts, HoldRequest, HoldResult } from '../../contracts/ledger.js'
import { callCompleted, callInFlight } from '../failures/claims.js'
import { beyondEveryAccount, shortOfCredit } from '../failures/credit.js'
import { reportUnavailable } from '../failures/store-failures.js'
import type { LedgerClient } from './ledger-client.js'

/** Time beyond the limits of a call, for a process to notice its end and to reach the ledger. */
const SPARE_TTL_MS = 60_000

/** The current hold of a call. A call has at most one. */
export class HeldCredit {
  private held: { readonly holdId: string; readonly amount: Credits } | undefined

  constructor(
    private readonly parts: { readonly ledger: LedgerClient; readonly options: EngineOptions },
    private readonly requestId: string,
    private readonly account: string,
    private readonly claim: string | undefined,
  ) {}

  /** The amount on hold, 0 without a hold. */
  get amount(): Credits {
    return this.held?.amount ?? 0n
  }

  /**
   * Ensures that at least this amount is on hold. Replaces a smaller hold in one step.
   *
   * @returns the refusal if there is not enough credit; a smaller hold then stays. Throws if the ledger does not answer, or
   * if another call has the claim.
   */
  async secure(amount: Credits, facts: CallFacts): Promise<CompatError | undefined> {
    if (this.held !== undefined && amount <= this.held.amount) return undefined
    if (amount > MAX_CREDITS) return beyondEveryAccount(amount)
    const { ledger, options } = this.parts
    const { limits } = options
    const holdId = options.newId()
    const request: Mutable<HoldRequest> = {
      holdId,
      account: this.account,
      amount,
      ttlMs: limits.totalMs + limits.settleMs + SPARE_TTL_MS,
      facts,
    }
    if (this.claim !== undefined) request.claim = this.claim
    if (this.held !== undefined) request.replaces = this.held.holdId
    const result = await ledger.hold(request, this.requestId)
    if (result?.ok !== true) return this.refusal(result, request)
    if (this.held === undefined) ledger.holdTaken()
    this.held = { holdId, amount }
    return undefined
  }

  /** Hands the hold over to the settlement. Returns its id. */
  handOver(): string {
    const held = this.held
    if (held === undefined) throw new Error('There is no hold to settle.')
    this.held = undefined
    return held.holdId
  }

  /** Releases the hold, if there is one. */
  async release(): Promise<void> {
    const held = this.held
    this.held = undefined
    if (held !== undefined) {
      await this.parts.ledger.release({ holdId: held.holdId, account: this.account }, this.requestId)
    }
  }

  private refusal(result: Exclude<HoldResult, { ok: true }>, request: HoldRequest): CompatError {
    if (result?.ok === false) {
      switch (result.reason) {
        case 'insufficient':
          if (typeof result.posted !== 'bigint' || typeof result.available !== 'bigint') break
          return shortOfCredit(request.amount, result.posted, result.available)
        case 'claimed':
          throw result.charge ? callCompleted(result.charge) : callInFlight()
        case 'conflict':
        case 'closed':
          throw this.faulty(`hold() answered '${result.reason}' to a fresh hold`)
      }
    }
    // It may have been taken all the same.
    this.parts.ledger.holdTaken()
    void this.parts.ledger.release(request, this.requestId)
    throw this.faulty(
      "hold() returned neither { ok: true } nor { ok: false } with reason 'insufficient' and posted and available as bigints, 'claimed', 'conflict' or 'closed'",
    )
  }

  private faulty(why: string): CompatError {
    return reportUnavailable('ledger', this.parts.options, this.requestId, new TypeError(why))
  }
}
