import { invalidInput, outOfRange } from '../base/invalid-input.js'
import { type Credits, MAX_CREDITS } from '../base/money.js'

/** Returns the amount. Throws a `RangeError` if it is beyond 64 bits: SQLite would silently make it a double. */
export function checkAmount(amount: Credits, name: string): Credits {
  if (typeof amount !== 'bigint') throw invalidInput(`${name} must be a bigint; got ${typeof amount}`)
  if (amount > MAX_CREDITS || amount < -MAX_CREDITS) {
    throw outOfRange(`${name} is beyond 64 bits: ${amount}`)
  }
  return amount
}

export function checkNotNegative(amount: Credits, name: string): void {
  checkAmount(amount, name)
  if (amount < 0n) throw outOfRange(`${name} must be zero or more; got ${amount}`)
}
