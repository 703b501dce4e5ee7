import { formatCredits, MAX_CREDITS, parseCredits } from '../base/money.js'
import type { Price, Prices } from '../base/prices.js'

/** Throws a `RangeError` if no account could hold the amount, sign or none. */
export function checkHoldable(amount: bigint, what: string, most = MAX_CREDITS): void {
  if (amount > most) throw new RangeError(`${what}: must be at most ${formatCredits(most)} credits`)
  if (amount < -most) throw new RangeError(`${what}: must be at least -${formatCredits(most)} credits`)
}

const NAMES: readonly (keyof Price)[] = [
  'input',
  'output',
  'cachedInput',
  'cacheWrite',
  'reasoning',
  'request',
]

/** Prices are of a million tokens; an account could pay a single one. */
const MAX_PRICE = MAX_CREDITS * 1_000_000n

/** Throws a `RangeError` that names the price of which no account could pay a single token, or request. */
export function checkPrices(prices: Prices, what: string): void {
  checkPrice(prices, what)
  for (const [position, tier] of (prices.tiers ?? []).entries()) checkPrice(tier, `${what}.tiers.${position}`)
}

function checkPrice(price: Price, what: string): void {
  for (const name of NAMES) {
    const text = price[name]
    if (text === undefined) continue
    checkHoldable(parseCredits(text), `${what}.${name}`, name === 'request' ? MAX_CREDITS : MAX_PRICE)
  }
}
