const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** Returns how many items a page may have. Throws a `RangeError` if that is impossible. */
export function readLimit(limit = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new RangeError(`limit must be an integer from 1 to ${MAX_LIMIT}; got ${limit}`)
}
