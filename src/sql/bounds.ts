import type { Credits } from '../contracts/index.js'

/** The largest amount that an account, a hold or a posting can hold: both engines keep 64-bit integers. */
export const MAX_AMOUNT: Credits = 2n ** 63n - 1n

/** The amount, or a `RangeError` where it does not fit. SQLite would turn it into a double in silence. */
export function checkAmount(amount: Credits, what: string): Credits {
  if (typeof amount !== 'bigint') throw new TypeError(`${what} must be a bigint; got ${typeof amount}`)
  if (amount > MAX_AMOUNT || amount < -MAX_AMOUNT) {
    throw new RangeError(`${what} is beyond 64 bits: ${amount}`)
  }
  return amount
}

export function checkNotNegative(amount: Credits, what: string): void {
  checkAmount(amount, what)
  if (amount < 0n) throw new RangeError(`${what} must be zero or more; got ${amount}`)
}
