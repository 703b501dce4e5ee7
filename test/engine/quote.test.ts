import { describe, expect, it } from 'vitest'
import type { Model } from '../../src/contracts/catalogue.js'
import type { Route } from '../../src/contracts/providers.js'
import { upstreamRequest } from '../../src/engine/call/upstream-request.js'
import { NO_MARKUP } from '../../src/engine/charging/price.js'
import { estimatePrompt } from '../../src/engine/charging/prompt-estimate.js'
import { createPriceReader, outputBound, quote } from '../../src/engine/charging/quote.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counter.js'
import type { ChatRequest } from '../../src/protocol/chat-request.js'

const model: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme', prices: { input: '10', output: '20' } }
const DEFAULT_BOUND = 4_096

function request(more: object = {}): ChatRequest {
  return { model: model.id, messages: [{ role: 'user', content: 'hello' }], ...more }
}

function upstreamRoute(more: Partial<Route> = {}, adapter: Partial<Route['adapter']> = {}): Route {
  const chat = () => Promise.reject(new Error('not to be called'))
  return { id: 'r', provider: 'p', adapter: { chat, ...adapter }, upstreamModel: 'upstream', ...more }
}

describe('the output that a hold covers', () => {
  it.each([
    [{}, DEFAULT_BOUND],
    [{ max_tokens: 10 }, 10],
    [{ max_completion_tokens: 10 }, 10],
    [{ max_tokens: 10, max_completion_tokens: 20 }, 20],
    [{ max_tokens: 30, max_completion_tokens: 20 }, 30],
    [{ max_tokens: -1 }, DEFAULT_BOUND],
    [{ max_tokens: 0 }, DEFAULT_BOUND],
    [{ max_tokens: 1.5 }, DEFAULT_BOUND],
    [{ max_tokens: '9' }, DEFAULT_BOUND],
    [{ max_tokens: null }, DEFAULT_BOUND],
    [{ max_tokens: 1e30 }, DEFAULT_BOUND],
    [{ max_tokens: -1, max_completion_tokens: 20 }, 20],
  ])('is, for %j, %i tokens', (bounds, expected) => {
    expect(outputBound(request(bounds), model, DEFAULT_BOUND)).toBe(expected)
  })

  it('is never more than the maximum of the model', () => {
    const small = { ...model, maxOutputTokens: 100 }
    expect(outputBound(request(), small, DEFAULT_BOUND)).toBe(100)
    expect(outputBound(request({ max_tokens: 5_000 }), small, DEFAULT_BOUND)).toBe(100)
    expect(outputBound(request({ max_tokens: 50 }), small, DEFAULT_BOUND)).toBe(50)
  })
})

describe('what goes upstream', () => {
  it('is the request in the provider’s name of the model, and otherwise as it came', () => {
    const asked = request({ max_tokens: -1, seed: 7 })
    expect(upstreamRequest(asked, model, upstreamRoute(), undefined)).toEqual({ ...asked, model: 'upstream' })
  })

  it.each([
    [{}, { max_tokens: 100 }],
    [{ max_tokens: 10 }, { max_tokens: 10 }],
    [{ max_tokens: 1_000 }, { max_tokens: 100 }],
    [{ max_tokens: -1 }, { max_tokens: 100 }],
    [{ max_tokens: '9' }, { max_tokens: 100 }],
    [{ max_completion_tokens: 1_000 }, { max_completion_tokens: 100 }],
    [
      { max_tokens: 10, max_completion_tokens: 1e30 },
      { max_tokens: 10, max_completion_tokens: 100 },
    ],
  ])('is clamped, for %j, to %j where the hold must not be exceeded', (bounds, expected) => {
    const { messages } = request()
    expect(upstreamRequest(request(bounds), model, upstreamRoute(), 100)).toEqual({
      model: 'upstream',
      messages,
      ...expected,
    })
  })

  const OLDER = 'max_tokens'
  const NEWER = 'max_completion_tokens'
  it.each<[field: string, route: Partial<Route>, adapter: Partial<Route['adapter']>, model: Partial<Model>]>([
    [OLDER, {}, {}, {}],
    [OLDER, {}, {}, { supportedParameters: [OLDER] }],
    [NEWER, {}, {}, { supportedParameters: ['tools', NEWER] }],
    [NEWER, {}, {}, { supportedParameters: [OLDER, NEWER] }],
    [NEWER, {}, { outputBound: NEWER }, {}],
    [NEWER, {}, { outputBound: NEWER }, { supportedParameters: ['tools'] }],
    [OLDER, {}, { outputBound: NEWER }, { supportedParameters: [OLDER] }],
    [NEWER, { supportedParameters: [NEWER] }, {}, { supportedParameters: [OLDER] }],
    [OLDER, { supportedParameters: [OLDER] }, { outputBound: NEWER }, { supportedParameters: [NEWER] }],
  ])('has the bound that a client left out as %s, for %j by %j of %j', (field, route, adapter, listed) => {
    const sent = upstreamRequest(request(), { ...model, ...listed }, upstreamRoute(route, adapter), 100)
    expect(sent).toEqual({ ...request(), model: 'upstream', [field]: 100 })
  })
})

describe('the estimate of a prompt', () => {
  function estimate(more: object) {
    return estimatePrompt(request(more), byteRatioCounter)
  }

  it('errs high for a hold and low for a charge', () => {
    expect(estimate({ messages: [{ role: 'user', content: '10 bytes !' }] })).toEqual({
      atMost: 4 + 8,
      atLeast: 2,
    })
  })

  it('counts bytes of UTF-8, not characters', () => {
    expect(estimate({ messages: [{ role: 'user', content: '€€€€' }] })).toEqual({ atMost: 4 + 8, atLeast: 3 })
  })

  it('counts 8 for each message', () => {
    const message = { role: 'user', content: '' }
    expect(estimate({ messages: [message, message, message] })).toEqual({ atMost: 24, atLeast: 0 })
  })

  it('holds 1,600 for an image and 8,000 for another part, whatever its bytes, and charges neither', () => {
    const image = { type: 'image_url', image_url: { url: 'x'.repeat(9_000) } }
    const file = { type: 'file', file: { file_data: 'x'.repeat(9_000) } }
    const text = { type: 'text', text: 'twelve bytes' }
    const messages = [{ role: 'user', content: [text, image, file] }]
    expect(estimate({ messages })).toEqual({ atMost: 4 + 8 + 1_600 + 8_000, atLeast: 3 })
  })

  it.each(['tools', 'functions', 'response_format'])('counts %s as serialised', (field) => {
    const value = [{ type: 'x'.repeat(100) }]
    const bytes = JSON.stringify(value).length
    const messages = [{ role: 'user', content: '' }]
    expect(estimate({ messages, [field]: value })).toEqual({
      atMost: Math.ceil(bytes / 3) + 8,
      atLeast: Math.floor(bytes / 4),
    })
  })
})

describe('a quote', () => {
  const route = { id: 'r', provider: 'p', adapter: {} as Route['adapter'], upstreamModel: 'u' }
  const prompt = { atMost: 100, atLeast: 50 }
  const readPrices = createPriceReader()

  function hold(prices: Model['prices'], outputTokens = 1_000): bigint {
    const priced = prices === undefined ? model : { ...model, prices }
    return quote(
      { model: priced, route, markup: NO_MARKUP, prompt, outputTokens, byokFee: undefined },
      readPrices,
    ).hold
  }

  it('holds prompt and output at what they cost', () => {
    expect(hold(undefined)).toBe(100n * 10_000n + 1_000n * 20_000n)
  })

  it('holds at the dearest of what may apply', () => {
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

  it('holds at the dearest tier within twice the estimate of the prompt, and no further', () => {
    const tiers = [
      { above: 150, input: '100', output: '20' },
      { above: 200, input: '1000', output: '20' },
    ]
    expect(hold({ input: '10', output: '20', tiers })).toBe(100n * 100_000n + 1_000n * 20_000n)
  })

  it('refuses a model without a price, and one whose price cannot be read', () => {
    const { prices: _, ...unpriced } = model
    const ask = (priced: Model) =>
      quote(
        { model: priced, route, markup: NO_MARKUP, prompt, outputTokens: 1, byokFee: undefined },
        readPrices,
      )
    expect(() => ask(unpriced)).toThrow(expect.objectContaining({ code: 'price_missing' }))
    expect(() => ask({ ...model, prices: { input: 'free', output: '0' } })).toThrow(
      expect.objectContaining({ code: 'price_missing' }),
    )
  })
})
