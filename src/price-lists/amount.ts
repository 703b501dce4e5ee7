import type { Credits } from '../money.js'

/** Why an entry of a price list cannot be used. Its message is for the reader of the list's problems. */
export class Unreadable extends Error {}

/** A price above this is taken for a mistake of the list's. */
const LARGEST_PRICE = 1_000_000_000
const PLACES = 9
/** What a double carries of any decimal, so that more is arithmetic's noise. */
const EXACT_DIGITS = 15

/** The decimal that a published number stands for, as it was written. Throws {@link Unreadable} where it is not exact. */
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
    throw new Unreadable(`${what} has more digits than a number keeps exactly: ${shown(value)}`)
  }
  return BigInt(digits) * 10n ** BigInt(PLACES - places)
}

/** The price of one from the price of a thousand. */
export function perThousand(amount: Credits, what: string): Credits {
  if (amount % 1000n !== 0n)
    throw new Unreadable(`${what} has more than nine decimal places for a single one`)
  return amount / 1000n
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value
}
