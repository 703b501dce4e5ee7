import { type Credits, ceilDiv, largest, roundUpToWire } from '../../base/money.js'
import {
  BASIS,
  type ByokFee,
  type MarkupTerms,
  type MediaPrice,
  type PriceRow,
  type PriceTable,
  priceRow,
} from '../../base/prices.js'
import { mediaCount, type Usage } from '../../protocol/usage.js'

/** Everything that a price depends on, frozen when the call is dispatched. */
export interface Terms {
  readonly prices: PriceTable
  readonly markup: MarkupTerms
  /** Set if the caller's own key is used. The fee then replaces the price. */
  readonly byokFee?: ByokFee
}

export interface PricedUsage {
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
}

export const FREE: PricedUsage = Object.freeze({ cost: 0n, base: 0n, markup: 0n })

/** Prices are given for this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n
/** The unit in which `base` is exact: one basis point of a price per million tokens. */
const UNIT = TOKENS_PER_PRICE * BASIS
/** The unit in which a markup on `base` is exact: one basis point of `UNIT`. */
const MARKED_UNIT = UNIT * BASIS

/**
 * Returns the cost of a usage. `base` is exact, and `cost = base + base x basisPoints / 10,000 + flat`. Base and cost
 * are each rounded up once. The markup is their difference, so base + markup = cost always holds.
 */
export function price(usage: Usage, terms: Terms): PricedUsage {
  const row = priceRow(terms.prices, usage.prompt)
  const list = row.request * TOKENS_PER_PRICE + inputPrice(usage, row) + outputPrice(usage, row)
  return fromListPrice(list, terms)
}

function inputPrice(usage: Usage, row: PriceRow): bigint {
  const { cached, cacheWrite, prompt } = usage
  const media = mediaTokens(usage, row.inputMedia)
  if (media.length === 0) {
    return (
      BigInt(prompt - cached - cacheWrite) * row.input +
      BigInt(cached) * row.cachedInput +
      BigInt(cacheWrite) * row.cacheWrite
    )
  }
  // Assumes as much uncached text as possible: no report says how many cached tokens are audio or images.
  const text = prompt - Math.min(Math.max(cached + cacheWrite, sumOf(media)), prompt)
  return dearestTokens(prompt, [
    ...media,
    { tokens: cached, each: row.cachedInput },
    { tokens: cacheWrite, each: row.cacheWrite },
    { tokens: text, each: row.input },
  ])
}

function outputPrice(usage: Usage, row: PriceRow): bigint {
  const { completion, reasoning } = usage
  const media = mediaTokens(usage, row.outputMedia)
  if (media.length === 0) {
    return BigInt(completion - reasoning) * row.output + BigInt(reasoning) * row.reasoning
  }
  return dearestTokens(completion, [
    ...media,
    { tokens: reasoning, each: row.reasoning },
    { tokens: Math.max(0, completion - sumOf(media) - reasoning), each: row.output },
  ])
}

interface PricedTokens {
  readonly tokens: number
  readonly each: Credits
}

const NO_TOKENS: readonly PricedTokens[] = []

/** The audio and images that have prices of their own. Few models have such prices. */
function mediaTokens(usage: Usage, prices: readonly MediaPrice[]): readonly PricedTokens[] {
  if (prices.length === 0) return NO_TOKENS
  return prices
    .map(({ name, each }) => ({ tokens: mediaCount(usage, name) ?? 0, each }))
    .filter(({ tokens }) => tokens > 0)
}

function sumOf(priced: readonly PricedTokens[]): number {
  return priced.reduce((sum, { tokens }) => sum + tokens, 0)
}

/** The price of `total` tokens if each takes the most expensive price still available. */
function dearestTokens(total: number, priced: PricedTokens[]): bigint {
  priced.sort((one, other) => (one.each > other.each ? -1 : Number(one.each < other.each)))
  let left = total
  let sum = 0n
  for (const { tokens, each } of priced) {
    const taken = Math.min(tokens, left)
    sum += BigInt(taken) * each
    left -= taken
  }
  return sum
}

function fromListPrice(list: bigint, { byokFee: fee, markup }: Terms): PricedUsage {
  const exact = fee === undefined ? list * BASIS : fee.flat * UNIT + list * fee.basisPoints
  const marked = exact * (BASIS + markup.basisPoints) + markup.flat * MARKED_UNIT
  const cost = roundUpToWire(ceilDiv(marked, MARKED_UNIT))
  // If the base had more decimal places than the cost, no JSON number could represent the markup.
  const base = roundUpToWire(ceilDiv(exact, UNIT), cost)
  return { cost, base, markup: cost - base }
}

/**
 * Returns the most that a call with at most these tokens can cost. Every prompt and output token is taken at its
 * highest price, in the most expensive tier that up to twice the prompt estimate can reach.
 *
 * @param hasMedia whether the prompt may contain audio or images. A model may answer any prompt with either.
 */
export function dearestCost(
  promptTokens: number,
  outputTokens: number,
  hasMedia: boolean,
  terms: Terms,
): Credits {
  let dearest = 0n
  for (const { above, row } of terms.prices) {
    if (above >= promptTokens * 2) continue
    const list =
      row.request * TOKENS_PER_PRICE +
      BigInt(promptTokens) * dearestInput(row, hasMedia) +
      BigInt(outputTokens) * dearestOf(largest(row.output, row.reasoning), row.outputMedia)
    if (list > dearest) dearest = list
  }
  return fromListPrice(dearest, terms).cost
}

function dearestInput(row: PriceRow, hasMedia: boolean): Credits {
  const text = largest(row.input, row.cachedInput, row.cacheWrite)
  return hasMedia ? dearestOf(text, row.inputMedia) : text
}

function dearestOf(text: Credits, media: readonly MediaPrice[]): Credits {
  let dearest = text
  for (const { each } of media) if (each > dearest) dearest = each
  return dearest
}
