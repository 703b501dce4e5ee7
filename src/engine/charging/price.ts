import type { Credits } from '../../base/money.js'
import { ceilDiv, roundUpTo, roundUpToWire, wireStep } from '../../base/money.js'
import { type ByokFee, type MarkupTerms, NO_MARKUP, type PriceTable, priceRow } from '../../base/prices.js'
import type { Usage } from '../../protocol/usage.js'

/** All that a price depends on, frozen when the call is dispatched. */
export interface Terms {
  readonly prices: PriceTable
  readonly markup: MarkupTerms
  /** Set if the caller's own key is used: the fee replaces the price. */
  readonly byokFee?: ByokFee
}

export interface PricedUsage {
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
}

export const FREE: PricedUsage = Object.freeze({ cost: 0n, base: 0n, markup: 0n })

/** Prices are per this many tokens. */
const TOKENS_PER_PRICE = 1_000_000n
const BASIS = 10_000n
/** The unit in which `base` is exact: a share in basis points of a price per million tokens. */
const UNIT = TOKENS_PER_PRICE * BASIS
/** The same of `base` with a markup, a share of it in basis points. */
const MARKED_UNIT = UNIT * BASIS

/**
 * Returns the cost of a usage: `base` exact, then `cost = base + base x basisPoints / 10,000 + flat`. Each of
 * cost and base is rounded up once, and the markup is their difference, so that base + markup = cost always holds.
 */
export function price(usage: Usage, terms: Terms): PricedUsage {
  return fromExactBase(exactBase(usage, terms), terms.markup)
}

function exactBase(usage: Usage, terms: Terms): bigint {
  const row = priceRow(terms.prices, usage.prompt)
  const list =
    row.request * TOKENS_PER_PRICE +
    BigInt(usage.prompt - usage.cached - usage.cacheWrite) * row.input +
    BigInt(usage.cached) * row.cachedInput +
    BigInt(usage.cacheWrite) * row.cacheWrite +
    BigInt(usage.completion - usage.reasoning) * row.output +
    BigInt(usage.reasoning) * row.reasoning
  const fee = terms.byokFee
  return fee === undefined ? list * BASIS : fee.flat * UNIT + list * fee.basisPoints
}

function fromExactBase(exact: bigint, markup: MarkupTerms): PricedUsage {
  if (markup === NO_MARKUP) {
    const cost = roundUpToWire(ceilDiv(exact, UNIT))
    return { cost, base: cost, markup: 0n }
  }
  const marked = exact * (BASIS + markup.basisPoints) + markup.flat * MARKED_UNIT
  const cost = roundUpToWire(ceilDiv(marked, MARKED_UNIT))
  // A base of more places than the cost would leave a markup that no JSON number carries.
  const base = roundUpTo(wireStep(cost), ceilDiv(exact, UNIT))
  return { cost, base, markup: cost - base }
}

/**
 * The most that a call with at most these tokens can cost: every prompt token at its dearest, every output token at its
 * dearest, in the dearest tier that up to twice the prompt estimate can reach.
 */
export function dearestCost(promptTokens: number, outputTokens: number, terms: Terms): Credits {
  let dearest = 0n
  for (const { above, row } of terms.prices) {
    if (above >= promptTokens * 2) continue
    const list =
      row.request * TOKENS_PER_PRICE +
      BigInt(promptTokens) * max(row.input, max(row.cachedInput, row.cacheWrite)) +
      BigInt(outputTokens) * max(row.output, row.reasoning)
    if (list > dearest) dearest = list
  }
  const fee = terms.byokFee
  const exact = fee === undefined ? dearest * BASIS : fee.flat * UNIT + dearest * fee.basisPoints
  return fromExactBase(exact, terms.markup).cost
}

function max(one: Credits, other: Credits): Credits {
  return one > other ? one : other
}
