import { outOfRange } from './invalid-input.js'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** Returns the largest number of items of a page. Throws a `RangeError` if the limit is impossible. */
export function readLimit(limit = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw outOfRange(`limit must be an integer from 1 to ${MAX_LIMIT}; got ${String(limit)}`)
}
