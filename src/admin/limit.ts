/** Throws a `RangeError` where a limit is given and is no number of rows. */
export function checkLimit(limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return
  throw new RangeError(`limit must be a whole number of rows, 1 or more; got ${String(limit)}`)
}
