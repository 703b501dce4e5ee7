/** Throws a `RangeError` if a limit is given and is no number of rows. */
export function checkLimit(limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return
  throw new RangeError(`limit must be a whole number of rows, 1 or more; got ${String(limit)}`)
}

/** Throws a `RangeError` if an offset is no number of rows to pass over. */
export function checkOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return
  throw new RangeError(`offset must be a whole number of rows, 0 or more; got ${String(offset)}`)
}
