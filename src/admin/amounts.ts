import { type InputPlace, outOfRange } from '../base/invalid-input.js'
import { formatCredits, MAX_CREDITS, parseCredits } from '../base/money.js'
import { PRICE_NAMES, type Price, type Prices } from '../base/prices.js'

/** Throws a `RangeError` if the amount, positive or negative, is more than an account can hold. */
export function checkHoldable(amount: bigint, place: InputPlace, max = MAX_CREDITS): void {
  if (amount > max) throw outOfRange(place, `must be at most ${formatCredits(max)} credits`)
  if (amount < -max) throw outOfRange(place, `must be at least -${formatCredits(max)} credits`)
}

/** Prices are per million tokens. An account must be able to pay for a single token. */
const MAX_PRICE = MAX_CREDITS * 1_000_000n

/** Throws a `RangeError` that names a price if no account could pay for one token or request at it. */
export function checkPrices(prices: Prices, of: string): void {
  checkPrice(prices, { of, field: 'prices' })
  for (const [position, tier] of (prices.tiers ?? []).entries())
    checkPrice(tier, { of, field: `prices.tiers.${position}` })
}

function checkPrice(price: Price, { of, field }: InputPlace): void {
  for (const name of PRICE_NAMES) {
    const text = price[name]
    if (text === undefined) continue
    const place = { of, field: `${field}.${name}` }
    checkHoldable(parseCredits(text), place, name === 'request' ? MAX_CREDITS : MAX_PRICE)
  }
}
