import type { Credits } from '../base/money.js'

/** The reason why an entry of a price list cannot be used, in its message. */
export class Unreadable extends Error {}

/** A higher price is considered a mistake in the list. */
const LARGEST_PRICE = 1_000_000_000
const PLACES = 9
/** A double keeps this many digits of any decimal. Further ones are rounding errors. */
const EXACT_DIGITS = 15

/** Returns the decimal that this number was written as. Throws {@link Unreadable} if it is not exact. */
export function readAmount(value: unknown, what: string): Credits {
  if (typeof value !== 'number' || !(value >= 0 && value <= LARGEST_PRICE)) {
    throw new Unreadable(`${what} is not a price: ${shown(value)}`)
  }
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  const places = fraction.length - Number(exponent)
  if (places > PLACES) throw new Unreadable(`${what} has more than nine decimal places: ${shown(value)}`)
  if (digits.replace(/^0+|0+$/g, '').length > EXACT_DIGITS) {
    throw new Unreadable(`${what} has more digits than a number can hold exactly: ${shown(value)}`)
  }
  return BigInt(digits) * 10n ** BigInt(PLACES - places)
}

/** Converts the price of a thousand to the price of one. */
export function perThousand(amount: Credits, what: string): Credits {
  if (amount % 1000n !== 0n) {
    throw new Unreadable(`${what} has more than nine decimal places for a single request`)
  }
  return amount / 1000n
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value
}
