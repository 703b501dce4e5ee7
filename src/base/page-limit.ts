import { outOfRange } from './invalid-input.js'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** Returns the maximum number of items on a page. Throws a `RangeError` for an invalid limit. */
export function readLimit(limit = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw outOfRange({ field: 'limit' }, `must be an integer from 1 to ${MAX_LIMIT}; got ${String(limit)}`)
}
