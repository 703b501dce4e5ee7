import { CompatError } from '../../base/errors.js'
import type { Credits } from '../../base/money.js'
import type { ByokFee, MarkupTerms } from '../../base/prices.js'
import { type Prices, type PriceTable, parsePrices } from '../../base/prices.js'
import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { dearestCost, type Terms } from './price.js'

/** The terms of a call on one route, and the hold that it needs. */
export interface Quote {
  readonly terms: Terms
  readonly priceVersion: string | undefined
  readonly hold: Credits
  /** The most tokens that the call is expected to have. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Whether the input may have audio or images. */
  readonly hasMedia: boolean
}

/** Parses prices; frozen ones only once, however often a catalogue hands them out. */
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
  /** Output tokens of all choices together. */
  readonly outputTokens: number
}

/** Quotes one route. Refuses a model that has no price, or prices that cannot be read, with `price_missing`. */
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
  const { input, outputTokens } = request
  const inputTokens = input.atMost(route.adapter.tokenFactor, route.promptEscapes)
  return {
    terms,
    priceVersion: model.priceVersion,
    hold: dearestCost(inputTokens, outputTokens, input.hasMedia, terms),
    inputTokens,
    outputTokens,
    hasMedia: input.hasMedia,
  }
}

/** Returns the most output tokens for which the hold is at most `credits`. Undefined if not even one is. */
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
