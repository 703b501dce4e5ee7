import type { Awaitable } from '../../contracts/context.js'
import type {
  Charge,
  HoldRequest,
  HoldResult,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../../contracts/ledger.js'
import type { CompatError } from '../../errors.js'
import { eventError } from '../events/event-error.js'
import type { EngineOptions } from '../options.js'
import { unavailable } from '../stores.js'
import { LazyContext, within } from '../within.js'
import { Errand, type ErrandRequest } from './errand.js'

const CHARGE_BROKEN =
  'must answer with a whole charge: cost, base and markup as bigint, basis, byok, and usage with all its counts'
const OVERDRAFT_BROKEN = 'must answer with the overdraft as bigint, 0n where there is none'

/** All that is asked of the ledger for calls: holds once, settlements and releases until they are through. */
export class Settlements {
  /** Holds that were taken here and have not yet ended in a settlement, in a release, or in giving either up. */
  openHolds = 0
  private underWay = 0
  private waiting: (() => void)[] = []

  constructor(private readonly options: EngineOptions) {}

  /**
   * Asks for a hold, once. Where there is no answer the hold is released, since it may have been taken, and the outcome is
   * a 503. A hold that is granted is to be told to {@link holdTaken}.
   */
  hold(request: HoldRequest, requestId: string): Awaitable<HoldResult> {
    const { clock, ledger, limits } = this.options
    const context = new LazyContext(requestId)
    const failed = (error: unknown): CompatError => {
      context.end()
      void this.free(request, requestId, 0)
      return unavailable('ledger', this.options, requestId, error)
    }
    let answer: Awaitable<HoldResult>
    try {
      answer = ledger.hold(request, context)
    } catch (error) {
      throw failed(error)
    }
    return within(clock, limits.storeMs, answer, failed)
  }

  /** A call has a hold, and had none before. */
  holdTaken(): void {
    this.openHolds++
  }

  /**
   * Posts a charge, again and again until it is through or `settleMs` is over; then `charge-failed` tells of it.
   *
   * @returns what the ledger answered, as far as it can be used, or undefined where it has not within `settleWaitMs`
   */
  settle(request: SettleRequest, requestId: string): Promise<SettleResult | undefined> {
    const { emit, ledger } = this.options
    return this.run(1, {
      requestId,
      ask: (context) => ledger.settle(request, context),
      read: (settled) => this.read(settled, request, requestId),
      gaveUp: (error) => emit({ type: 'charge-failed', requestId, request, error: eventError(error) }),
    })
  }

  /** Throws where the ledger does not say that it has posted a charge: a repeat posts nothing, and may bring it to that. */
  private read(
    settled: SettleResult,
    { charge: sent, holdId }: SettleRequest,
    requestId: string,
  ): SettleResult {
    const charge: Charge | undefined | null = settled?.charge
    if (typeof charge !== 'object' || charge === null) {
      throw this.contractBroken('must answer with the charge that is posted', requestId)
    }
    if (settled.claimLost === true) this.options.emit({ type: 'claim-lost', requestId, holdId })
    const isWhole = charge === sent || isCharge(charge)
    const hasOverdraft = typeof settled.overdraft === 'bigint'
    if (isWhole && hasOverdraft) return settled
    this.contractBroken(isWhole ? OVERDRAFT_BROKEN : CHARGE_BROKEN, requestId)
    return {
      ...settled,
      charge: isWhole ? charge : withAmountsOf(charge, sent),
      overdraft: hasOverdraft ? settled.overdraft : 0n,
    }
  }

  private contractBroken(what: string, requestId: string): TypeError {
    const error = new TypeError(`The ledger store broke its contract: settle() ${what}.`)
    this.options.emit({ type: 'store-fault', store: 'ledger', requestId, error: eventError(error) })
    return error
  }

  /** Frees a hold, again and again until it is through; one that cannot be freed in time ends by its expiry. */
  async release(request: ReleaseRequest, requestId: string): Promise<void> {
    await this.free(request, requestId, 1)
  }

  /** Settled when nothing is under way any more. */
  idle(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve))
  }

  /** Also for a hold that may not have been taken, which was not counted. */
  private free({ holdId, account }: ReleaseRequest, requestId: string, holds: 0 | 1): Promise<unknown> {
    const { emit, ledger } = this.options
    return this.run(holds, {
      requestId,
      ask: (context) => ledger.release({ holdId, account }, context),
      gaveUp: (error) => emit({ type: 'store-fault', store: 'ledger', requestId, error: eventError(error) }),
    })
  }

  private run<T>(holds: 0 | 1, request: ErrandRequest<T>): Promise<T | undefined> {
    this.underWay++
    const ended = (): void => {
      this.openHolds -= holds
      this.underWay--
      if (this.underWay === 0) for (const resume of this.waiting.splice(0)) resume()
    }
    return new Promise((tell) => {
      new Errand(this.options, request, tell, ended).start()
    })
  }
}

function isCharge(charge: Charge): boolean {
  const { basis, byok, usage } = charge
  return (
    hasAmounts(charge) &&
    (basis === 'reported' || basis === 'estimated') &&
    typeof byok === 'boolean' &&
    typeof usage === 'object' &&
    usage !== null &&
    Number.isFinite(usage.prompt) &&
    Number.isFinite(usage.cached) &&
    Number.isFinite(usage.cacheWrite) &&
    Number.isFinite(usage.completion) &&
    Number.isFinite(usage.reasoning)
  )
}

function hasAmounts({ cost, base, markup }: Charge): boolean {
  return isAmount(cost) && isAmount(base) && isAmount(markup)
}

function isAmount(value: unknown): boolean {
  return typeof value === 'bigint' && value >= 0n
}

/** The charge that was sent to be posted; where the ledger has other amounts, those are what the payer has paid. */
function withAmountsOf(answered: Charge, sent: Charge): Charge {
  if (!hasAmounts(answered)) return sent
  const { cost, base, markup } = answered
  return { ...sent, cost, base, markup }
}
