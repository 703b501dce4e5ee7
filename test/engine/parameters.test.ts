import { describe, expect, it } from 'vitest'
import { type CompatError, isCompatError } from '../../src/base/errors.js'
import type { Model, Route } from '../../src/contracts/index.js'
import {
  checkParameters,
  servesParameters,
  supportsAll,
  unlistedParameters,
} from '../../src/engine/admission/parameters.js'
import { chat } from '../../src/operations/chat/index.js'
import { parseChatRequest } from '../../src/operations/chat/read-request.js'
import { routeParameters } from '../../src/operations/chat/route-request.js'

const MESSAGES = [{ role: 'user', content: 'x' }]

function request(fields: Record<string, unknown>) {
  return parseChatRequest({ model: 'acme/fast', messages: MESSAGES, ...fields })
}

function model(more: Partial<Model> = {}): Model {
  return { id: 'acme/fast', created: 0, ownedBy: 'acme', ...more }
}

function route(more: Partial<Route> = {}, parameters?: readonly string[]): Route {
  const adapter = { chat: () => Promise.reject(new Error('not called')), ...(parameters && { parameters }) }
  return { id: 'r', provider: 'p', adapter, upstreamModel: 'upstream', ...more }
}

function refusal(
  supportedParameters: readonly string[],
  fields: Record<string, unknown>,
): CompatError | undefined {
  try {
    checkParameters(chat, request(fields), model({ supportedParameters }))
    return undefined
  } catch (error) {
    if (isCompatError(error)) return error
    throw error
  }
}

describe('a model with a list of parameters', () => {
  it('accepts those and no others', () => {
    expect(refusal(['temperature'], { temperature: 0 })).toBeUndefined()
    const error = refusal(['temperature'], { temperature: 0, top_p: 0.5, stop: 'x' })
    expect(error).toMatchObject({ code: 'unsupported_parameter', status: 400, param: 'top_p' })
    expect(error?.message).toBe("The model 'acme/fast' does not support the parameter top_p.")
    expect(error?.details).toMatchObject([{ param: 'top_p' }, { param: 'stop' }])
  })

  it("always accepts null, the router's own fields, and values without effect", () => {
    const fields = {
      temperature: null,
      n: 1,
      stream: true,
      stream_options: { include_usage: true },
      user: 'u',
      session_id: 's',
      app_id: 'a',
      action: 'x',
      connected: 1,
      routing: {},
      store: false,
      usage: { include: true },
      frequency_penalty: 0,
      presence_penalty: 0,
      top_p: 1,
      parallel_tool_calls: true,
      tool_choice: 'auto',
      response_format: { type: 'text' },
      service_tier: 'auto',
      modalities: ['text'],
      logprobs: false,
      include_reasoning: true,
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      safety_identifier: 's',
    }
    expect(refusal([], fields)).toBeUndefined()
    for (const field of ['n', 'frequency_penalty', 'top_p'])
      expect(refusal([], { [field]: field === 'n' ? 2 : 0.5 })).toMatchObject({ param: field })
    expect(refusal(['n'], { n: 2 })).toBeUndefined()
  })

  it.each([
    ['max_tokens', { max_completion_tokens: 5 }],
    ['max_completion_tokens', { max_tokens: 5 }],
    ['reasoning', { reasoning_effort: 'low' }],
    ['reasoning_effort', { reasoning: { effort: 'low' } }],
  ])('accepts the equivalent of %s: %j', (name, fields) => {
    expect(refusal([name], fields)).toBeUndefined()
    expect(refusal(['temperature'], fields)).toMatchObject({ param: Object.keys(fields)[0] })
  })

  it('matches names as complete strings', () => {
    expect(refusal(['top', 'top_p_x', 'TOP_P'], { top_p: 0.5 })).toMatchObject({ param: 'top_p' })
  })
})

describe('a parameter that must be listed', () => {
  const asked = request({ enable_search: true, tools: [{ type: 'web_search' }, { type: 'mcp' }] })
  const names = ['enable_search', 'tools.web_search', 'tools.mcp']

  it('goes to a route if the model, the route or its adapter each list part of it', () => {
    expect(servesParameters(asked, model(), route())).toBe(false)
    expect(servesParameters(asked, model({ supportedParameters: names }), route())).toBe(true)
    expect(servesParameters(asked, model(), route({ supportedParameters: names }))).toBe(true)
    expect(servesParameters(asked, model(), route({}, names))).toBe(true)
    expect(
      servesParameters(asked, model({ supportedParameters: [names[0]!] }), route({}, names.slice(1))),
    ).toBe(true)
    expect(servesParameters(asked, model({ supportedParameters: names.slice(1) }), route())).toBe(false)
    expect(servesParameters(asked, model({ supportedParameters: ['tools'] }), route())).toBe(false)
    expect(servesParameters(request({ temperature: 1 }), model(), route())).toBe(true)
  })

  it('is refused by its name, with advice for the host', () => {
    const error = unlistedParameters(asked, model())
    expect(error).toMatchObject({ code: 'unsupported_parameter', status: 400, param: 'enable_search' })
    expect(error.message).toContain("'acme/fast'")
    expect(error.message).toContain('supportedParameters')
    expect((error.details as { param: string }[]).map(({ param }) => param)).toEqual(names)
  })

  it('is refused with its path if it is in a message', () => {
    const messages = [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }]
    const error = unlistedParameters(request({ messages }), model())
    expect(error.param).toBe('messages.0.content.0.file.file_id')
    expect(error.message).toContain('The parameter file_id (messages.0.content.0.file.file_id)')
  })

  it('is named without control characters, and at most 20 are', () => {
    expect(unlistedParameters(request({ [`\u0000${'x'.repeat(100)}`]: 1 }), model()).param).toBe(
      'x'.repeat(64),
    )
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`field_${index}`, 1]))
    expect(unlistedParameters(request(many), model()).details).toHaveLength(20)
  })
})

describe('supportsAll', () => {
  it('checks the list of the route, or of the model if the route has none, for every parameter', () => {
    const asked = request({ temperature: 0, top_p: 0.5 })
    expect(supportsAll(chat, asked, model(), route())).toBe(true)
    expect(supportsAll(chat, asked, model(), route({ supportedParameters: ['temperature'] }))).toBe(false)
    expect(supportsAll(chat, asked, model({ supportedParameters: ['temperature'] }), route())).toBe(false)
    expect(
      supportsAll(
        chat,
        asked,
        model({ supportedParameters: [] }),
        route({ supportedParameters: ['temperature', 'top_p'] }),
      ),
    ).toBe(true)
  })
})

describe('the parameters that a route gets', () => {
  const sent = (fields: Record<string, unknown>, supportedParameters?: readonly string[]) => {
    const {
      model: _,
      messages: __,
      ...parameters
    } = routeParameters(
      request(fields),
      model({ prices: { input: '1', output: '1' } }),
      route(supportedParameters && { supportedParameters }),
      false,
    )
    return parameters
  }

  it('are those of the request if there is no list', () => {
    const asked = request({ top_p: 1, reasoning: { effort: 'low' }, user: 'u' })
    expect(routeParameters(asked, model(), route(), false)).toBe(asked.forward)
  })

  it('omit values without effect that the list does not name', () => {
    const fields = { top_p: 1, presence_penalty: 0, temperature: 0.5, user: 'u', metadata: { a: 'b' } }
    expect(sent(fields, ['temperature'])).toEqual({ temperature: 0.5, user: 'u' })
    expect(sent(fields, ['temperature', 'top_p', 'metadata'])).toEqual({
      top_p: 1,
      temperature: 0.5,
      user: 'u',
      metadata: { a: 'b' },
    })
  })

  it.each<[Record<string, unknown>, string, Record<string, unknown>]>([
    [{ reasoning_effort: 'low' }, 'reasoning', { reasoning: { effort: 'low' } }],
    [
      { reasoning_effort: 'low', reasoning: { exclude: true } },
      'reasoning',
      { reasoning: { effort: 'low', exclude: true } },
    ],
    [{ reasoning: { effort: 'low', exclude: true } }, 'reasoning_effort', { reasoning_effort: 'low' }],
    [
      { reasoning: { effort: 'low', max_tokens: 9 } },
      'reasoning_effort',
      { reasoning: { effort: 'low', max_tokens: 9 } },
    ],
    [{ reasoning: { enabled: false } }, 'reasoning_effort', { reasoning_effort: 'none' }],
    [{ reasoning: { max_tokens: 9 } }, 'reasoning_effort', { reasoning: { max_tokens: 9 } }],
    [{ reasoning_effort: 'low' }, 'reasoning_effort', { reasoning_effort: 'low' }],
  ])('express reasoning %j by the name %s', (fields, name, expected) => {
    expect(sent(fields, [name])).toEqual(expected)
  })

  it("have no prompt cache marks unless every tier prices cache writes or the caller's own key pays", () => {
    const mark = { cache_control: { type: 'ephemeral' } }
    const marked = {
      ...mark,
      messages: [
        { role: 'system', content: 'x', ...mark },
        { role: 'user', content: [{ type: 'text', text: 'y', ...mark }] },
      ],
      tools: [{ type: 'function', function: { name: 'f' }, ...mark }],
    }
    const asked = request(marked)
    const prices = { input: '1', output: '1', cacheWrite: '2' }
    const unmarked = {
      model: 'acme/fast',
      messages: [
        { role: 'system', content: 'x' },
        { role: 'user', content: [{ type: 'text', text: 'y' }] },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
    }
    expect(routeParameters(asked, model(), route(), false)).toEqual(unmarked)
    expect(routeParameters(asked, model({ prices: { input: '1', output: '1' } }), route(), false)).toEqual(
      unmarked,
    )
    expect(routeParameters(asked, model({ prices }), route(), false)).toBe(asked.forward)
    expect(routeParameters(asked, model(), route({ prices }), false)).toBe(asked.forward)
    const tiers = [{ above: 1_000, input: '2', output: '2' }]
    expect(routeParameters(asked, model({ prices: { ...prices, tiers } }), route(), false)).toEqual(unmarked)
    expect(routeParameters(asked, model(), route(), true)).toBe(asked.forward)
  })
})
