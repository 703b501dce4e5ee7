import { type PriceRow, type PriceTable, priceRow } from '../../base/prices.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import type { PriceReader } from '../charging/quote.js'

/** The prices of a model's routes for one call, as far as they are known in advance. */
export interface RoutePrices {
  /** Whether a route has readable prices. */
  known(route: Route): boolean
  /** Returns the prices for the longest possible length of this prompt. Undefined if there are none. */
  row(route: Route): PriceRow | undefined
  /** Returns every row that may apply, since a prompt shorter than estimated falls into a lower tier. */
  rows(route: Route): readonly PriceRow[]
}

export function createRoutePrices(
  model: Model,
  readPrices: PriceReader,
  promptTokens: () => number,
): RoutePrices {
  let estimate: number | undefined
  const atMost = (): number => {
    estimate ??= promptTokens()
    return estimate
  }
  const tableOf = (route: Route): PriceTable => {
    const prices = route.prices ?? model.prices
    try {
      return prices === undefined ? [] : readPrices(prices, 'prices')
    } catch {
      // The quote of the route reads the same prices and reports the fault.
      return []
    }
  }
  return {
    known: (route) => tableOf(route).length > 0,
    row(route) {
      const table = tableOf(route)
      return table.length < 2 ? table[0]?.row : priceRow(table, atMost())
    },
    rows(route) {
      const table = tableOf(route)
      return table.filter(({ above }) => above < 0 || above < atMost()).map(({ row }) => row)
    },
  }
}
