import { outOfRange } from '../base/invalid-input.js'
/** Throws a `RangeError` if a limit is given but is not a positive whole number. */
export function checkLimit(limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return
  throw outOfRange(`limit must be a whole number of rows, 1 or more; got ${String(limit)}`)
}

/** Throws a `RangeError` if an offset is not a whole number, 0 or more. */
export function checkOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return
  throw outOfRange(`offset must be a whole number of rows, 0 or more; got ${String(offset)}`)
}
