import { type Credits, MAX_CREDITS } from '../base/money.js'

/** The amount, or a `RangeError` if it does not fit. SQLite would turn it into a double in silence. */
export function checkAmount(amount: Credits, what: string): Credits {
  if (typeof amount !== 'bigint') throw new TypeError(`${what} must be a bigint; got ${typeof amount}`)
  if (amount > MAX_CREDITS || amount < -MAX_CREDITS) {
    throw new RangeError(`${what} is beyond 64 bits: ${amount}`)
  }
  return amount
}

export function checkNotNegative(amount: Credits, what: string): void {
  checkAmount(amount, what)
  if (amount < 0n) throw new RangeError(`${what} must be zero or more; got ${amount}`)
}
