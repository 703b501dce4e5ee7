import { CompatError } from '../../base/errors.js'
import { type Credits, ceilDiv, MAX_CREDITS } from '../../base/money.js'
import type { ByokFee, MarkupTerms } from '../../base/prices.js'
import { type Prices, type PriceTable, parsePrices } from '../../base/prices.js'
import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, OutputRange } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { MOST_STEPS } from '../../rules/limit-checks.js'
import type { HoldNeed, OutputSteps } from './held-credit.js'
import { dearestCost, type Terms } from './price.js'

/** The terms of a call on one route, and the hold that it needs. */
export interface Quote extends HoldNeed {
  readonly terms: Terms
  readonly priceVersion: string | undefined
  /** Whether the input may contain audio or images. */
  readonly hasMedia: boolean
}

/** Parses prices. Frozen prices are parsed only once, however often a catalogue returns them. */
export type PriceReader = (prices: Prices, what: string) => PriceTable

export function createPriceReader(): PriceReader {
  const parsed = new WeakMap<Prices, PriceTable>()
  return (prices, what) => {
    let table = parsed.get(prices)
    if (table === undefined) {
      table = parsePrices(prices, what)
      if (isFixed(prices)) parsed.set(prices, table)
    }
    return table
  }
}

function isFixed(prices: Prices): boolean {
  const { tiers } = prices
  return (
    Object.isFrozen(prices) &&
    (tiers === undefined || (Object.isFrozen(tiers) && tiers.every(Object.isFrozen)))
  )
}

export interface QuoteRequest {
  readonly model: Model
  readonly route: Route
  readonly markup: MarkupTerms
  /** Set if the call uses the caller's own key. */
  readonly byokFee: ByokFee | undefined
  readonly input: InputEstimate
  readonly output: OutputRange
}

/** Quotes one route. Refuses a model without a price, or with prices that cannot be read, with `price_missing`. */
export function quote(request: QuoteRequest, readPrices: PriceReader): Quote {
  const { model, route, markup, byokFee } = request
  const prices = route.prices ?? model.prices
  if (prices === undefined) {
    throw new CompatError('price_missing', `The model '${model.id}' has no price, so it cannot be used.`)
  }
  let table: PriceTable
  try {
    table = readPrices(
      prices,
      route.prices === undefined ? `prices of model '${model.id}'` : `prices of route '${route.id}'`,
    )
  } catch (cause) {
    throw new CompatError(
      'price_missing',
      `The price of the model '${model.id}' cannot be read, so it cannot be used.`,
      {
        cause,
      },
    )
  }
  const terms: Terms = byokFee === undefined ? { prices: table, markup } : { prices: table, markup, byokFee }
  const { input, output } = request
  const inputTokens = input.atMost(route.adapter.tokenFactor, route.promptEscapes)
  const cost = (outputTokens: number): Credits =>
    dearestCost(inputTokens, outputTokens, input.hasMedia, terms)
  const hold = cost(output.least)
  return {
    terms,
    priceVersion: model.priceVersion,
    hold,
    inputTokens,
    hasMedia: input.hasMedia,
    outputTokens: output.least,
    steps: output.most > output.least ? outputSteps(output, hold, cost(output.most)) : undefined,
  }
}

/**
 * Divides the output beyond the minimum into steps. Any number of steps is held at no less than its cost. The most
 * expensive tier decides the cost, so a later token is never cheaper than an earlier one, and their average covers
 * both.
 */
function outputSteps({ least, most, step, usual }: OutputRange, hold: Credits, whole: Credits): OutputSteps {
  const count = Math.floor((most - least) / step)
  const credits = ceilDiv(whole - hold, BigInt(count))
  const payable = credits === 0n ? count : Number((MAX_CREDITS - hold) / credits)
  return {
    credits,
    tokens: step,
    usual: Math.floor((usual - least) / step),
    most: Math.max(0, Math.min(count, payable, MOST_STEPS)),
  }
}

/** Returns the most output tokens for which the hold is at most `credits`. Undefined if not even one fits. */
export function outputTokensWithin(
  credits: Credits,
  { hasMedia, inputTokens, outputTokens, terms }: Quote,
): number | undefined {
  const fits = (output: number): boolean => dearestCost(inputTokens, output, hasMedia, terms) <= credits
  if (outputTokens < 1 || !fits(1)) return undefined
  let most = 1
  let tooMany = outputTokens + 1
  while (tooMany - most > 1) {
    const middle = most + Math.floor((tooMany - most) / 2)
    if (fits(middle)) most = middle
    else tooMany = middle
  }
  return most
}
