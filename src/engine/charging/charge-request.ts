import { MEDIA_UNITS } from '../../base/units.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { Charge, SettleRequest, SettleResult } from '../../contracts/ledger.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { eventError } from '../events/event-error.js'
import type { LedgerRequest } from './ledger-retry.js'

const CHARGE_BROKEN =
  'must return a complete charge: cost, base and markup as bigint, basis, byok, and usage with all its counts'
const OVERDRAFT_BROKEN = 'must return the overdraft as bigint, 0n if there is none'

/** Asks the ledger to post a charge, and checks its answer. */
export class ChargeRequest implements LedgerRequest<SettleResult> {
  readonly settles: string

  constructor(
    readonly requestId: string,
    private readonly request: SettleRequest,
    private readonly options: Pick<EngineOptions, 'emit' | 'ledger'>,
  ) {
    this.settles = request.holdId
  }

  ask(context: LazyContext): Awaitable<SettleResult> {
    return this.options.ledger.settle(this.request, context)
  }

  /** Throws if the answer does not confirm a posted charge. A retry posts nothing twice and may get a better answer. */
  read(settled: SettleResult): SettleResult {
    const { charge: sent, holdId } = this.request
    const charge: Charge | undefined | null = settled?.charge
    if (typeof charge !== 'object' || charge === null) {
      throw this.contractBroken('must return the posted charge')
    }
    const { requestId } = this
    if (settled.claimLost === true) this.options.emit({ type: 'claim-lost', requestId, holdId })
    const isWhole = charge === sent || isCharge(charge)
    const hasOverdraft = typeof settled.overdraft === 'bigint'
    if (isWhole && hasOverdraft) return settled
    this.contractBroken(isWhole ? OVERDRAFT_BROKEN : CHARGE_BROKEN)
    return {
      ...settled,
      charge: isWhole ? charge : withAmountsOf(charge, sent),
      overdraft: hasOverdraft ? settled.overdraft : 0n,
    }
  }

  gaveUp(error: unknown): void {
    const { request, requestId } = this
    this.options.emit({ type: 'charge-failed', requestId, request, error: eventError(error) })
  }

  private contractBroken(what: string): TypeError {
    const error = new TypeError(`The ledger store broke its contract: settle() ${what}.`)
    const { requestId } = this
    this.options.emit({ type: 'store-fault', store: 'ledger', requestId, error: eventError(error) })
    return error
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
    Number.isFinite(usage.reasoning) &&
    MEDIA_UNITS.every(({ name }) => usage[name] === undefined || Number.isFinite(usage[name]))
  )
}

function hasAmounts({ cost, base, markup }: Charge): boolean {
  return isAmount(cost) && isAmount(base) && isAmount(markup)
}

function isAmount(value: unknown): boolean {
  return typeof value === 'bigint' && value >= 0n
}

/** Returns the charge that was sent, with the ledger's amounts if they differ: those are what the payer has paid. */
function withAmountsOf(answered: Charge, sent: Charge): Charge {
  if (!hasAmounts(answered)) return sent
  const { cost, base, markup } = answered
  return { ...sent, cost, base, markup }
}
