import { describe, expect, it } from 'vitest'
import { NO_MARKUP } from '../../src/base/prices.js'
import type { Model } from '../../src/contracts/catalogue.js'
import type { Route } from '../../src/contracts/providers.js'
import { createPriceReader, quote } from '../../src/engine/charging/quote.js'

const model: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme', prices: { input: '10', output: '20' } }

const exactly = (tokens: number) => ({ least: tokens, usual: tokens, most: tokens, step: 1 })

describe('a quote for a route', () => {
  const route = { id: 'r', provider: 'p', adapter: {} as Route['adapter'], upstreamModel: 'u' }
  const input = { atMost: (factor = 1) => 100 * factor, atLeast: 50, hasMedia: false }
  const readPrices = createPriceReader()

  function hold(prices: Model['prices'], outputTokens = 1_000, estimate = input): bigint {
    const priced = prices === undefined ? model : { ...model, prices }
    return quote(
      {
        model: priced,
        route,
        markup: NO_MARKUP,
        input: estimate,
        output: exactly(outputTokens),
        byokFee: undefined,
      },
      readPrices,
    ).hold
  }

  it('holds the cost of prompt and output', () => {
    expect(hold(undefined)).toBe(100n * 10_000n + 1_000n * 20_000n)
  })

  it("multiplies the hold for a prompt by the adapter's factor", () => {
    const dearer = { ...route, adapter: { tokenFactor: 1.5 } as Route['adapter'] }
    const { hold } = quote(
      { model, route: dearer, markup: NO_MARKUP, input, output: exactly(0), byokFee: undefined },
      readPrices,
    )
    expect(hold).toBe(150n * 10_000n)
  })

  it('holds at the highest price that may apply', () => {
    const prices = {
      input: '10',
      output: '20',
      cacheWrite: '15',
      cachedInput: '1',
      reasoning: '30',
      request: '1',
    }
    expect(hold(prices)).toBe(1_000_000_000n + 100n * 15_000n + 1_000n * 30_000n)
  })

  it('holds for audio and images if the input may have them, and always if the output may', () => {
    const prices = {
      input: '10',
      output: '20',
      audioInput: '40',
      imageInput: '12',
      audioOutput: '25',
      imageOutput: '80',
    }
    expect(hold(prices)).toBe(100n * 10_000n + 1_000n * 80_000n)
    expect(hold(prices, 1_000, { ...input, hasMedia: true })).toBe(100n * 40_000n + 1_000n * 80_000n)
    expect(hold({ ...prices, audioInput: '1' }, 0, { ...input, hasMedia: true })).toBe(100n * 12_000n)
    expect(hold({ ...prices, audioInput: '1', imageInput: '2' }, 0, { ...input, hasMedia: true })).toBe(
      100n * 10_000n,
    )
  })

  it('holds at the highest tier within twice the estimate of the input, and no higher', () => {
    const tiers = [
      { above: 150, input: '100', output: '20' },
      { above: 200, input: '1000', output: '20' },
    ]
    expect(hold({ input: '10', output: '20', tiers })).toBe(100n * 100_000n + 1_000n * 20_000n)
  })

  it('refuses a model without a price or with an unreadable price', () => {
    const { prices: _, ...unpriced } = model
    const ask = (priced: Model) =>
      quote(
        { model: priced, route, markup: NO_MARKUP, input, output: exactly(1), byokFee: undefined },
        readPrices,
      )
    expect(() => ask(unpriced)).toThrow(expect.objectContaining({ code: 'price_missing' }))
    expect(() => ask({ ...model, prices: { input: 'free', output: '0' } })).toThrow(
      expect.objectContaining({ code: 'price_missing' }),
    )
  })
})
