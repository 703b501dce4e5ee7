import type { Prices } from '../../contracts/catalogue.js'
import { isObject } from '../../protocol/json-values.js'

/** Whether every row of some prices has a price of cache writes. */
export function pricesCacheWrites(prices: Prices | undefined): boolean {
  if (prices === undefined) return false
  return [prices, ...(prices.tiers ?? [])].every(({ cacheWrite }) => cacheWrite !== undefined)
}

/** Removes the prompt cache marks of items, such as messages or tools, and of the parts of their content. */
export function withoutMarks(items: readonly unknown[]): unknown[] {
  return items.map((item) => {
    if (!isObject(item)) return item
    const { cache_control: _, ...unmarked } = item
    return Array.isArray(item.content) ? { ...unmarked, content: withoutMarks(item.content) } : unmarked
  })
}
