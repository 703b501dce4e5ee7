import type { Attributes, Meter } from '@opentelemetry/api'
import { type Credits, creditsToNumber } from '../base/money.js'
import type { Charge } from '../contracts/ledger.js'

/** The sums of all charges with the same attributes. */
interface ChargeSums {
  readonly attributes: Attributes
  charged: Credits
  markup: Credits
  shortfall: Credits
}

/** With `OVERFLOW`, the SDK's limit. Beyond it, the SDK reports wrong sums of observable counters. */
const MAX_SUMS = 1_998
/** The SDK's own attributes for everything beyond its limit. */
const OVERFLOW: Attributes = { 'otel.metric.overflow': true }

/**
 * Adds up credits as integers. Observable counters report the sums, each rounded once to a double; an ordinary counter
 * would add doubles and round at every call.
 */
export class CreditTotals {
  private readonly sums = new Map<string, ChargeSums>()
  private unsettled = 0n

  constructor(meter: Meter) {
    const counter = (name: string, description: string) =>
      meter.createObservableCounter(`compat_router.credits.${name}`, { unit: '{credit}', description })
    const charged = counter('charged', 'Credits charged for calls, markup included.')
    const markup = counter('markup', 'The part of the charged credits that apps earned.')
    const shortfall = counter('shortfall', 'Credits above holds that were not charged.')
    const unsettled = counter('unsettled', 'Credits whose charge could not be posted.')
    meter.addBatchObservableCallback(
      (result) => {
        result.observe(unsettled, creditsToNumber(this.unsettled))
        for (const sums of this.sums.values()) {
          result.observe(charged, creditsToNumber(sums.charged), sums.attributes)
          result.observe(markup, creditsToNumber(sums.markup), sums.attributes)
          result.observe(shortfall, creditsToNumber(sums.shortfall), sums.attributes)
        }
      },
      [charged, markup, shortfall, unsettled],
    )
  }

  /** Equal attributes must be in the same order. */
  addCharge({ cost, markup, shortfall = 0n }: Charge, attributes: Attributes): void {
    const sums = this.sumsOf(attributes)
    sums.charged += cost
    sums.markup += markup
    sums.shortfall += shortfall
  }

  addUnsettled(cost: Credits): void {
    this.unsettled += cost
  }

  private sumsOf(attributes: Attributes): ChargeSums {
    const key = JSON.stringify(attributes)
    const known = this.sums.get(key)
    if (known !== undefined) return known
    if (this.sums.size >= MAX_SUMS && attributes !== OVERFLOW) return this.sumsOf(OVERFLOW)
    const sums = { attributes, charged: 0n, markup: 0n, shortfall: 0n }
    this.sums.set(key, sums)
    return sums
  }
}
