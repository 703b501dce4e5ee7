import { describe, expect, it } from 'vitest'
import type { Model, Route } from '../../src/contracts/index.js'
import { RequestedOutput, wantedByChat } from '../../src/operations/chat/output-bounds.js'
import { upstreamRequest } from '../../src/operations/chat/route-request.js'
import type { ChatRequest } from '../../src/protocol/chat-request.js'

const BY_DEFAULT = 4_096
const OLDER = 'max_tokens'
const NEWER = 'max_completion_tokens'
const MESSAGES = [{ role: 'user', content: 'x' }]
const MODEL: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme' }
const LISTED = { ...MODEL, maxOutputTokens: 100 }

const request = (more: object = {}): ChatRequest => ({ model: 'acme/fast', messages: MESSAGES, ...more })

function route(more: Partial<Route> = {}, adapter: Partial<Route['adapter']> = {}): Route {
  const chat = () => Promise.reject(new Error('not called'))
  return { id: 'r', provider: 'p', adapter: { chat, ...adapter }, upstreamModel: 'upstream', ...more }
}

function output(more: object, model = MODEL, neverOverdraw = false): RequestedOutput {
  const settings = {
    charging: { holdOutputTokens: BY_DEFAULT },
    sizes: { replyBytes: 64 * 1_024 * 1_024 },
  }
  return new RequestedOutput(wantedByChat(request(more)), model, { ...settings, neverOverdraw })
}

/** The limits with the usual output, which is the only one unless the ledger chooses. */
function bounds(more: object, model = MODEL, neverOverdraw = false, to = route()) {
  const requested = output(more, model, neverOverdraw)
  return requested.bounds(requested.rangeOn(to, () => Infinity).usual, to)
}

/** The fields that a provider gets in addition to its model name and the messages. */
function sent(more: object, model = MODEL, neverOverdraw = false, to = route()) {
  const upstream = upstreamRequest(request(more), model, to, bounds(more, model, neverOverdraw, to))
  const { model: name, messages, ...others } = upstream
  expect([name, messages]).toEqual(['upstream', MESSAGES])
  return others
}

describe('the output that a hold covers', () => {
  it.each([
    [{}, BY_DEFAULT],
    [{ max_tokens: 10 }, 10],
    [{ max_completion_tokens: 10 }, 10],
    [{ max_tokens: 10, max_completion_tokens: 20 }, 20],
    [{ max_tokens: 30, max_completion_tokens: 20 }, 30],
    [{ max_tokens: 20_000 }, 20_000],
  ])('for %j is %i tokens', (asked, expected) => {
    expect(bounds(asked)).toMatchObject({ tokens: expected, thinking: 0 })
  })

  it("is at least what an adapter may raise a limit to, but the limit sent is the client's own", () => {
    const raising = route({}, { leastHeldOutput: 16 })
    expect(output({ max_tokens: 1 }).rangeOn(raising, () => Infinity)).toEqual({
      least: 16,
      usual: 16,
      most: 16,
    })
    expect(sent({ max_tokens: 1 }, MODEL, false, raising)).toEqual({ max_tokens: 1 })
    const demanding = route({}, { leastOutputBound: 16 })
    expect(sent({ max_tokens: 1 }, MODEL, false, demanding)).toEqual({ max_tokens: 16 })
  })

  it("never exceeds the model's maximum", () => {
    expect(bounds({}, LISTED).tokens).toBe(100)
    expect(bounds({ max_tokens: 5_000 }, LISTED).tokens).toBe(100)
    expect(bounds({ max_tokens: 50 }, LISTED).tokens).toBe(50)
  })

  it.each([
    { reasoning: { max_tokens: 2_000 } },
    { thinking: { type: 'enabled', budget_tokens: 2_000 } },
    { thinking_budget: 2_000 },
    { chat_template_kwargs: { thinking_budget: 2_000 } },
    { thinking_budget: 2_000, reasoning: { max_tokens: 50 } },
  ])('includes a thinking budget, which some servers do not count in the limit: %j', (asked) => {
    expect(bounds(asked)).toEqual({ tokens: BY_DEFAULT, isSent: false, thinking: 2_000 })
    expect(bounds({ ...asked, max_tokens: 3_000 })).toEqual({ tokens: 3_000, isSent: true, thinking: 2_000 })
    expect(bounds({ ...asked, max_tokens: 1_000 })).toEqual({ tokens: 1_000, isSent: true, thinking: 999 })
    expect(bounds(asked, LISTED)).toEqual({ tokens: 100, isSent: false, thinking: 99 })
    expect(bounds(asked, MODEL, true)).toEqual({ tokens: BY_DEFAULT + 2_000, isSent: true, thinking: 2_000 })
    expect(bounds(asked, LISTED, true)).toEqual({ tokens: 100, isSent: true, thinking: 99 })
  })
})

describe('the output limit that the router chooses', () => {
  const large = { ...MODEL, maxOutputTokens: 16_384 }
  const range = (more: object, model: Model = large, to = route(), room = Infinity, neverOverdraw = true) =>
    output(more, model, neverOverdraw).rangeOn(to, () => room)

  it("is at least 256 and at most the model's maximum", () => {
    expect(range({})).toEqual({ least: 256, usual: BY_DEFAULT, most: 16_384 })
    expect(range({}, LISTED)).toEqual({ least: 100, usual: 100, most: 100 })
    expect(range({}, { ...MODEL, maxOutputTokens: 1_000 })).toEqual({ least: 256, usual: 1_000, most: 1_000 })
  })

  it("is at most the usual number if the model's maximum is unknown", () => {
    expect(range({}, MODEL)).toEqual({ least: 256, usual: BY_DEFAULT, most: BY_DEFAULT })
  })

  it('leaves the prompt its part of the context, but is never reduced below 256 for that', () => {
    expect(range({}, large, route(), 3_000)).toEqual({ least: 256, usual: 3_000, most: 3_000 })
    expect(range({}, large, route(), 9_000)).toEqual({ least: 256, usual: BY_DEFAULT, most: 9_000 })
    for (const room of [255, 0, -70_000]) {
      expect(range({}, large, route(), room)).toEqual({ least: 256, usual: 256, most: 256 })
    }
  })

  it('is the number of the model or the route if they state one', () => {
    const stated = { ...large, defaultOutputTokens: 700 }
    const to = route({ defaultOutputTokens: 900 })
    expect(range({}, stated)).toEqual({ least: 256, usual: 700, most: 700 })
    expect(range({}, stated, to)).toEqual({ least: 256, usual: 900, most: 900 })
    expect(range({}, { ...stated, defaultOutputTokens: 90_000 }).most).toBe(16_384)
    expect(range({}, stated, to, Infinity, false)).toEqual({ least: 900, usual: 900, most: 900 })
  })

  it('leaves room for a thinking budget', () => {
    expect(range({ thinking_budget: 2_000 })).toEqual({ least: 2_256, usual: 6_096, most: 16_384 })
  })

  it('does not apply to a call that sets one itself', () => {
    expect(range({ max_tokens: 9_000 })).toEqual({ least: 9_000, usual: 9_000, most: 9_000 })
    const requested = output({ max_tokens: 9_000 }, large, true)
    expect(requested.chosenFor(route(), 9_000)).toBeUndefined()
  })

  it('is known for routes whose provider was sent one', () => {
    expect(output({}, large, true).chosenFor(route(), 5_000)).toBe(5_000)
    expect(output({}, large, false).chosenFor(route(), 5_000)).toBeUndefined()
    expect(output({}, large, false).chosenFor(route({}, { needsBound: true }), 5_000)).toBe(5_000)
  })
})

describe('a reply that could be too long to read', () => {
  const long = { ...MODEL, maxOutputTokens: 128_000 }
  const detailed = { logprobs: true, top_logprobs: 20, stream: true }

  it('is requested only as far as it can be read, however many choices and details a caller wants', () => {
    const { tokens } = bounds({ ...detailed, n: 4, max_tokens: 100_000 }, long)
    expect(tokens).toBeLessThan(6_000)
    expect(sent({ ...detailed, n: 4, max_tokens: 100_000 }, long)).toMatchObject({ max_tokens: tokens })
    expect(bounds({ n: 128, stream: true, max_tokens: 16_000 }, long).tokens).toBeLessThan(2_000)
    expect(bounds({ logprobs: 20, max_tokens: 100_000 }, long).tokens).toBeLessThan(25_000)
  })

  it('gets a limit even if the client set none, and the limit is on hold', () => {
    const { isSent, tokens } = bounds(detailed, long)
    expect(isSent).toBe(true)
    expect(sent(detailed, long)).toMatchObject({ max_tokens: tokens })
  })

  it.each([{}, { stream: true }, { n: 4 }, { logprobs: false }, { logprobs: true, top_logprobs: 5 }])(
    'does not include the usual case: %j',
    (asked) => {
      expect(bounds({ ...asked, max_tokens: 16_000 }, long).tokens).toBe(16_000)
      expect(bounds(asked, { ...MODEL, maxOutputTokens: 16_000 }).isSent).toBe(false)
    },
  )
})

describe('the output limit sent to a provider', () => {
  it.each([
    [{ max_tokens: 10 }, { max_tokens: 10 }],
    [{ max_tokens: 1_000 }, { max_tokens: 100 }],
    [{ max_completion_tokens: 1_000 }, { max_completion_tokens: 100 }],
    [
      { max_tokens: 10, max_completion_tokens: 1e9 },
      { max_tokens: 10, max_completion_tokens: 100 },
    ],
    [{ seed: 7 }, { seed: 7 }],
  ])("for %j is %j: at most the model's maximum, and absent if the client's is absent", (asked, expected) => {
    expect(sent(asked, LISTED)).toEqual(expected)
  })

  it('is always present if nothing may be overdrawn', () => {
    expect(sent({}, MODEL, true)).toEqual({ max_tokens: BY_DEFAULT })
    expect(sent({}, LISTED, true)).toEqual({ max_tokens: 100 })
  })

  it('is the amount on hold for an API that requires one', () => {
    const to = route({}, { needsBound: true })
    expect(sent({}, MODEL, false, to)).toEqual({ max_tokens: BY_DEFAULT })
    expect(sent({}, LISTED, false, to)).toEqual({ max_tokens: 100 })
    expect(sent({ max_tokens: 50 }, LISTED, false, to)).toEqual({ max_tokens: 50 })
    expect(sent({ thinking_budget: 1_000 }, MODEL, false, to)).toEqual({
      max_tokens: BY_DEFAULT + 1_000,
      thinking_budget: 1_000,
    })
    expect(sent({ thinking_budget: 1_000 }, LISTED, false, to)).toEqual({
      max_tokens: 100,
      thinking_budget: 99,
    })
  })

  it.each<[field: string, route: Partial<Route>, adapter: Partial<Route['adapter']>, model: Partial<Model>]>([
    [OLDER, {}, {}, { supportedParameters: [OLDER] }],
    [NEWER, {}, {}, { supportedParameters: ['tools', NEWER] }],
    [NEWER, {}, { outputBound: NEWER }, {}],
    [NEWER, {}, { outputBound: NEWER }, { supportedParameters: ['tools'] }],
    [OLDER, {}, { outputBound: NEWER }, { supportedParameters: [OLDER] }],
    [NEWER, { supportedParameters: [NEWER] }, {}, { supportedParameters: [OLDER] }],
    [OLDER, { supportedParameters: [OLDER] }, { outputBound: NEWER }, { supportedParameters: [NEWER] }],
  ])('is named %s for %j by %j of %j, whichever name the client used', (field, more, adapter, listed) => {
    const model = { ...LISTED, ...listed }
    const to = route(more, adapter)
    expect(sent({}, model, true, to)).toEqual({ [field]: 100 })
    expect(sent({ max_tokens: 50 }, model, false, to)).toEqual({ [field]: 50 })
    expect(sent({ max_completion_tokens: 50, max_tokens: 60 }, model, false, to)).toEqual({ [field]: 60 })
  })

  it("keeps the client's name if the route supports both or lists none", () => {
    for (const supportedParameters of [[OLDER, NEWER], undefined]) {
      const model = { ...LISTED, supportedParameters }
      expect(sent({ max_tokens: 50 }, model)).toEqual({ max_tokens: 50 })
      expect(sent({ max_completion_tokens: 50 }, model)).toEqual({ max_completion_tokens: 50 })
    }
    expect(sent({}, { ...LISTED, supportedParameters: [OLDER, NEWER] }, true)).toEqual({ [NEWER]: 100 })
  })

  it('is larger than thinking budgets, and leaves the request itself unchanged', () => {
    const asked = {
      max_tokens: 1_000,
      thinking_budget: 1_000,
      reasoning: { max_tokens: 5_000, exclude: true },
      thinking: { type: 'enabled', budget_tokens: 999 },
      chat_template_kwargs: { thinking_budget: 1_001 },
    }
    const before = structuredClone(asked)
    expect(sent(asked)).toEqual({
      max_tokens: 1_000,
      thinking_budget: 999,
      reasoning: { max_tokens: 999, exclude: true },
      thinking: { type: 'enabled', budget_tokens: 999 },
      chat_template_kwargs: { thinking_budget: 999 },
    })
    expect(asked).toEqual(before)
  })
})
