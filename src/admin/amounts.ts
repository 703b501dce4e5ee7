import { formatCredits, parseCredits } from '../money.js'
import type { Price, Prices } from '../prices.js'
import { MAX_AMOUNT } from '../sql/bounds.js'

const MOST = formatCredits(MAX_AMOUNT)

/** Throws a `RangeError` where no account could hold the amount, sign or none. */
export function checkHoldable(amount: bigint, what: string): void {
  if (amount > MAX_AMOUNT) throw new RangeError(`${what}: must be at most ${MOST} credits`)
  if (amount < -MAX_AMOUNT) throw new RangeError(`${what}: must be at least -${MOST} credits`)
}

const NAMES: readonly (keyof Price)[] = [
  'input',
  'output',
  'cachedInput',
  'cacheWrite',
  'reasoning',
  'request',
]

/** Throws a `RangeError` that names the price which no account could ever pay. */
export function checkPrices(prices: Prices, what: string): void {
  checkPrice(prices, what)
  for (const [position, tier] of (prices.tiers ?? []).entries()) checkPrice(tier, `${what}.tiers.${position}`)
}

function checkPrice(price: Price, what: string): void {
  for (const name of NAMES) {
    const text = price[name]
    if (text !== undefined) checkHoldable(parseCredits(text), `${what}.${name}`)
  }
}
