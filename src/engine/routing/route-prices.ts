import { type PriceRow, type PriceTable, priceRow } from '../../base/prices.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Plan } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { PriceReader } from '../charging/quote.js'

/** The prices of a model's routes for one call, as far as they are known in advance. */
export class RoutePrices {
  private estimate: number | undefined

  constructor(
    private readonly model: Model,
    private readonly readPrices: PriceReader,
    private readonly plan: Pick<Plan, 'input' | 'leastInput'>,
  ) {}

  /** Whether a route has readable prices. */
  known(route: Route): boolean {
    return this.tableOf(route).length > 0
  }

  /** Returns the prices for the longest possible length of this prompt. Undefined if there are none. */
  row(route: Route): PriceRow | undefined {
    const table = this.tableOf(route)
    return table.length < 2 ? table[0]?.row : priceRow(table, this.atMost())
  }

  /** Returns every row that may apply, since a prompt shorter than estimated falls into a lower tier. */
  rows(route: Route): readonly PriceRow[] {
    return this.tableOf(route)
      .filter(({ above }) => above < 0 || above < this.atMost())
      .map(({ row }) => row)
  }

  private tableOf(route: Route): PriceTable {
    const prices = route.prices ?? this.model.prices
    try {
      return prices === undefined ? [] : this.readPrices(prices, 'prices')
    } catch {
      // The quote of the route reads the same prices and reports the fault.
      return []
    }
  }

  private atMost(): number {
    this.estimate ??= this.plan.leastInput ?? this.plan.input.atMost()
    return this.estimate
  }
}
