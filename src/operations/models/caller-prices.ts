import { parseCredits } from '../../base/money.js'
import { type MarkupTerms, PRICE_NAMES, type Price, type Prices } from '../../base/prices.js'

const CREDIT_PLACES = 9
const BASIS_POINT_PLACES = 4
const MILLION_PLACES = 6
const WHOLE = 10n ** BigInt(BASIS_POINT_PLACES)

/** The names of the prices per million tokens. `request` is per call. */
const PER_MILLION = PRICE_NAMES.filter((name) => name !== 'request')

/** OpenRouter's word for a price that depends on the route. Its clients require both prices of each model. */
const UNKNOWN = '-1'

/** The prices of a model whose catalogue entry has none. Its routes may have some. */
export const NO_PRICES = Object.freeze({ prompt: UNKNOWN, completion: UNKNOWN })

/**
 * Returns prices as a caller pays them, including the markup of the caller's app. They are exact decimal strings in
 * credits per million tokens, and `request` is per call. `prompt`, `completion` and the two cached input prices are in
 * credits per token, as model pickers read them. A price that cannot be read is shown as in the catalogue, since each
 * call of the model reports it.
 */
export function callerPrices(prices: Prices, markup: MarkupTerms) {
  return {
    prompt: perToken(own(prices, 'input'), markup) ?? UNKNOWN,
    completion: perToken(own(prices, 'output'), markup) ?? UNKNOWN,
    input_cache_read: perToken(own(prices, 'cachedInput'), markup),
    input_cache_write: perToken(own(prices, 'cacheWrite'), markup),
    ...priceObject(prices, markup),
    tiers: own(prices, 'tiers')?.map((tier) => ({ above: own(tier, 'above'), ...priceObject(tier, markup) })),
  }
}

/** Copies each field by name, because a host's rows may contain fields that clients must not see. */
function priceObject(price: Price, markup: MarkupTerms) {
  const shown: Partial<Record<keyof Price, string>> = {}
  for (const name of PER_MILLION) {
    const text = own(price, name)
    if (text !== undefined) shown[name] = marked(text, markup)
  }
  const request = own(price, 'request')
  const { flat } = markup
  if (flat !== 0n) shown.request = marked(request ?? '0', markup, flat)
  else if (request !== undefined) shown.request = marked(request, markup)
  return shown
}

function marked(text: string, { basisPoints }: MarkupTerms, flat = 0n): string {
  if (basisPoints === 0n && flat === 0n) return text
  const price = read(text)
  if (price === undefined) return text
  return decimal(price * (WHOLE + basisPoints) + flat * WHOLE, CREDIT_PLACES + BASIS_POINT_PLACES)
}

function perToken(text: string | undefined, { basisPoints }: MarkupTerms): string | undefined {
  const price = text === undefined ? undefined : read(text)
  if (price === undefined) return undefined
  return decimal(price * (WHOLE + basisPoints), CREDIT_PLACES + BASIS_POINT_PLACES + MILLION_PLACES)
}

function read(text: string): bigint | undefined {
  try {
    return parseCredits(text)
  } catch {
    return undefined
  }
}

/** Writes `units` of 10^-places as the shortest decimal. */
function decimal(units: bigint, places: number): string {
  const digits = units.toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  const whole = digits.slice(0, -places)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** Reads own fields only, because a dependency may have added fields to `Object.prototype`. */
function own<T extends object, Name extends keyof T>(given: T, name: Name): T[Name] | undefined {
  return Object.hasOwn(given, name) ? given[name] : undefined
}
