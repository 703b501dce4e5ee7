import { invalidInput, outOfRange } from '../base/invalid-input.js'
import { type Credits, MAX_CREDITS } from '../base/money.js'

/** Returns the amount. Throws a `RangeError` if it is beyond 64 bits: SQLite would silently make it a double. */
export function checkAmount(amount: Credits, field: string): Credits {
  if (typeof amount !== 'bigint') throw invalidInput({ field }, `must be a bigint; got ${typeof amount}`)
  if (isBeyond64Bits(amount)) throw outOfRange({ field }, `is beyond 64 bits: ${amount}`)
  return amount
}

/** Like {@link checkAmount}, of a sum that nobody gave: `what` names it in a sentence. */
export function checkSum(sum: Credits, what: string): Credits {
  if (isBeyond64Bits(sum)) throw outOfRange({}, `${what} is beyond 64 bits: ${sum}`)
  return sum
}

export function checkNotNegative(amount: Credits, field: string): void {
  checkAmount(amount, field)
  if (amount < 0n) throw outOfRange({ field }, `must be zero or more; got ${amount}`)
}

const isBeyond64Bits = (amount: Credits) => amount > MAX_CREDITS || amount < -MAX_CREDITS
