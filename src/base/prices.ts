import { type Credits, parseCredits } from './money.js'
import { MEDIA_UNITS, type MediaName, type MediaUnit } from './units.js'

/** The prices of audio and images. Without a price of their own, such tokens cost as much as text. */
export type MediaPrices = { readonly [Name in MediaName]?: string }

/** Decimal strings of at most nine places, in credits per million tokens; `request` in credits per call. */
export interface Price extends MediaPrices {
  readonly input: string
  readonly output: string
  /** Input read from the provider's cache. `input` by default. */
  readonly cachedInput?: string
  /** Input written to the provider's cache. `input` by default. */
  readonly cacheWrite?: string
  /** `output` by default. */
  readonly reasoning?: string
  /** `'0'` by default. */
  readonly request?: string
}

/** The prices that may be absent. */
export const OPTIONAL_PRICES = [
  'cachedInput',
  'cacheWrite',
  'reasoning',
  ...MEDIA_UNITS.map(({ name }) => name),
  'request',
] as const satisfies readonly (keyof Price)[]

export const PRICE_NAMES = ['input', 'output', ...OPTIONAL_PRICES] as const

export interface Prices extends Price {
  /** If the prompt has more than `above` tokens, the tier's prices apply to the whole call. The highest such tier applies. */
  readonly tiers?: readonly (Price & { readonly above: number })[]
}

/** The prices of one tier in {@link Credits} per million tokens, every default filled in. */
export interface PriceRow {
  readonly input: Credits
  readonly cachedInput: Credits
  readonly cacheWrite: Credits
  readonly output: Credits
  readonly reasoning: Credits
  /** Only those that have a price of their own. */
  readonly inputMedia: readonly MediaPrice[]
  readonly outputMedia: readonly MediaPrice[]
  /** Credits per call. */
  readonly request: Credits
}

export interface MediaPrice {
  readonly name: MediaName
  readonly each: Credits
}

/** Parsed prices: the rows with the prompt tokens above which they apply, lowest first. The first one applies above -1. */
export type PriceTable = readonly { readonly above: number; readonly row: PriceRow }[]

/** Parses prices, so that no later step can fail. Throws a `TypeError` that names the price at fault. */
export function parsePrices(prices: Prices, what = 'prices'): PriceTable {
  if (typeof prices !== 'object' || prices === null)
    throw new TypeError(`${what} must be an object with input and output`)
  const table = [{ above: -1, row: parsePrice(prices, what) }]
  for (const [position, tier] of (own(prices, 'tiers') ?? []).entries()) {
    const where = `${what}.tiers.${position}`
    const above = own(tier, 'above')
    if (!Number.isSafeInteger(above) || above! < 0) {
      throw new TypeError(`${where}.above must be a whole number of prompt tokens; got ${String(above)}`)
    }
    table.push({ above: above!, row: parsePrice(tier, where) })
  }
  return table.sort((one, other) => one.above - other.above)
}

function parsePrice(price: Price, what: string): PriceRow {
  const read = (name: keyof Price, fallback?: Credits): Credits => {
    const text = own(price, name)
    if (text === undefined && fallback !== undefined) return fallback
    return parseCredits(text as string, `${what}.${name}`)
  }
  const media = (of: MediaUnit['side']): readonly MediaPrice[] =>
    MEDIA_UNITS.filter(({ name, side }) => side === of && own(price, name) !== undefined).map(({ name }) => ({
      name,
      each: read(name),
    }))
  const input = read('input')
  const output = read('output')
  return {
    input,
    cachedInput: read('cachedInput', input),
    cacheWrite: read('cacheWrite', input),
    output,
    reasoning: read('reasoning', output),
    inputMedia: media('input'),
    outputMedia: media('output'),
    request: read('request', 0n),
  }
}

/** Returns the row for a prompt of this many tokens. */
export function priceRow(table: PriceTable, promptTokens: number): PriceRow {
  let row = table[0]!.row
  for (const tier of table) if (promptTokens > tier.above) row = tier.row
  return row
}

/** Reads own fields only, because a dependency may have added fields to `Object.prototype`. */
function own<T extends object, Name extends keyof T>(given: T, name: Name): T[Name] | undefined {
  return Object.hasOwn(given, name) ? given[name] : undefined
}

/** The largest markup: 10,000 basis points are 100 %. */
export const MAX_MARKUP_BASIS_POINTS = 1_000_000

/** A markup whose values have been checked. */
export interface MarkupTerms {
  readonly basisPoints: bigint
  readonly flat: Credits
}

/** The basis points of one whole. */
export const BASIS = 10_000n

export const NO_MARKUP: MarkupTerms = Object.freeze({ basisPoints: 0n, flat: 0n })

/** Checks an app's markup. Throws a `TypeError` that names the wrong value. */
export function parseMarkup({
  basisPoints,
  flat,
}: {
  readonly basisPoints: number
  readonly flat?: string
}): MarkupTerms {
  if (!Number.isInteger(basisPoints) || basisPoints < 0 || basisPoints > MAX_MARKUP_BASIS_POINTS) {
    throw new TypeError(`markup.basisPoints must be an integer from 0 to ${MAX_MARKUP_BASIS_POINTS}`)
  }
  return {
    basisPoints: BigInt(basisPoints),
    flat: flat === undefined ? 0n : parseCredits(flat, 'markup.flat'),
  }
}

/** The fee for a call on the caller's own provider key. */
export interface ByokFee {
  /** Credits per call. */
  readonly flat: Credits
  /** A share of the list price of the same usage; 10,000 is the whole price. */
  readonly basisPoints: bigint
}
