import { describe, expect, it } from 'vitest'
import type { CompatError } from '../../src/base/errors.js'
import { parseChatRequest } from '../../src/operations/chat/read-request.js'
import { body, ENVELOPE, MESSAGES, refusal } from './chat-request-refusal.js'

function refusalOf(...messages: unknown[]): CompatError {
  return refusal(body({ messages }))
}

describe('an accepted chat request', () => {
  it.each([undefined, true, false])(
    'is read the same with only a model and stream as with more fields to check, with stream %s',
    (stream) => {
      const plain = { ...body(stream === undefined ? {} : { stream }), temperature: 0.5 }
      const { forward: short, ...read } = parseChatRequest(plain)
      const { forward: checked, ...more } = parseChatRequest({ ...plain, n: null })
      expect(read).toEqual(more)
      expect(short).toStrictEqual(checked)
    },
  )

  it.each([
    [{ model: '' }, 'model'],
    [{ model: 7 }, 'model'],
    [{ stream: 'yes' }, 'stream'],
    [{ stream: 1 }, 'stream'],
  ])('needs a model and a stream of the right type, and nothing more: %j', (wrong, param) => {
    expect(refusal(body(wrong))).toMatchObject({ code: 'invalid_request', param })
  })

  it('is split into the fields for the provider and those of the router', () => {
    const parsed = parseChatRequest(
      body({
        stream: true,
        n: 2,
        temperature: 0.5,
        user: 'end\u0007user',
        session_id: 's-1',
        provider: 'openai',
        provider_key: ENVELOPE,
        app_id: 'app-1',
        action: { any: ['value'] },
        connected: null,
        routing: { sort: 'price' },
        stream_options: { include_usage: false },
        some_new_field: [1],
        stop: [],
        top_k: null,
      }),
    )
    expect(parsed.stream).toBe(true)
    expect(parsed.n).toBe(2)
    expect(parsed.forward).toStrictEqual({
      model: 'acme/fast',
      messages: MESSAGES,
      stream: true,
      n: 2,
      temperature: 0.5,
      user: 'end\u0007user',
      some_new_field: [1],
    })
    expect(parsed.own).toStrictEqual({
      sessionId: 's-1',
      provider: 'openai',
      providerKey: ENVELOPE,
      appId: 'app-1',
      action: { any: ['value'] },
      connected: null,
      routing: {
        order: undefined,
        only: undefined,
        ignore: undefined,
        allowFallbacks: true,
        sort: 'price',
        maxPrice: undefined,
        requireParameters: false,
      },
    })
  })

  it('has its messages forwarded unchanged, without a copy', () => {
    const messages = [
      { role: 'system', content: 'x', name: 'n' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: { url: 'data:' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] },
      { role: 'assistant', tool_calls: [{ id: 'c' }] },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'assistant', content: null, refusal: 'no' },
      { role: 'tool', content: '', tool_call_id: 'c' },
    ]
    expect(parseChatRequest(body({ messages })).forward.messages).toBe(messages)
  })

  it('is not modified', () => {
    const given = body({ session_id: 's', stream_options: {}, n: null })
    const before = structuredClone(given)
    parseChatRequest(given)
    expect(given).toStrictEqual(before)
  })

  it.each([
    [undefined, false],
    [null, false],
    [false, false],
    [true, true],
  ])('with stream %s streams: %s', (stream, expected) => {
    expect(parseChatRequest(body({ stream })).stream).toBe(expected)
  })

  it('may have null for an optional field, except for a field that controls the call', () => {
    const fields = {
      n: null,
      user: null,
      app_id: null,
      routing: null,
      response_format: null,
      stream_options: null,
    }
    const parsed = parseChatRequest(body(fields))
    expect(parsed.n).toBe(1)
    expect(parsed.own).toMatchObject({ appId: undefined, routing: undefined })
    expect(Object.keys(parsed.forward)).toEqual(['model', 'messages'])
  })

  it('loses an own __proto__', () => {
    const parsed = parseChatRequest(
      JSON.parse(
        '{"model":"m","messages":[{"role":"user","content":"x"}],"__proto__":{"stream":true,"models":[]}}',
      ),
    )
    expect(parsed.stream).toBe(false)
    expect(Object.keys(parsed.forward)).toEqual(['model', 'messages'])
    expect(Object.getPrototypeOf(parsed.forward)).toBe(Object.prototype)
  })
})

describe('the messages of a chat request', () => {
  it.each([
    [[{ role: 'user', content: 5 }], 'messages.0.content'],
    [[{ role: 'user', content: {} }], 'messages.0.content'],
    [[{ role: 'user', content: null }], 'messages.0.content'],
    [[{ role: 'user' }], 'messages.0.content'],
    [[{ role: 'user', content: null, tool_calls: [{}] }], 'messages.0.content'],
    [[{ role: 'assistant', content: null, tool_calls: [] }], 'messages.0.content'],
    [[{ role: 'assistant', content: null, tool_calls: null }], 'messages.0.content'],
    [[{ role: 'assistant', content: null, refusal: null, function_call: null }], 'messages.0.content'],
    [[MESSAGES[0], MESSAGES[0], { role: 'user', content: true }], 'messages.2.content'],
    [[{ role: 'user', content: [{ type: 'text', text: 'x' }, 'text'] }], 'messages.0.content.1'],
    [[{ role: 'user', content: [{ type: 'text', text: 'x' }, null] }], 'messages.0.content.1'],
    [[{ role: 'user', content: [{ text: 'x' }] }], 'messages.0.content.0.type'],
    [[{ role: 'user', content: [{ type: 7 }] }], 'messages.0.content.0.type'],
    [[{ content: 'x' }], 'messages.0.role'],
    [[{ role: null, content: 'x' }], 'messages.0.role'],
    [['Hello'], 'messages.0'],
    [[null], 'messages.0'],
    [[[]], 'messages.0'],
    [[], 'messages'],
    [undefined, 'messages'],
    [null, 'messages'],
    ['Hello', 'messages'],
    [{ 0: MESSAGES[0], length: 1 }, 'messages'],
  ])('are refused as %j, naming %s', (messages, param) => {
    const error = refusal(body({ messages }))
    expect(error).toMatchObject({ code: 'invalid_request', status: 400, param })
    expect(error.message).toMatch(new RegExp(`^${param.replaceAll('.', '\\.')} (must|is required)`))
    expect(error.details).toEqual([expect.objectContaining({ param, message: error.message })])
  })

  it('may be accompanied by at most 1,000 fields', () => {
    const others = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_${index}`, 0]))
    const own = Object.keys(body({})).length
    expect(() => parseChatRequest(body(others(1_000 - own)))).not.toThrow()
    expect(refusal(body(others(1_001 - own)))).toMatchObject({ code: 'invalid_request', status: 400 })
  })

  it('may number at most 10,000, with 1,000 parts each', () => {
    const many = (length: number) => Array.from({ length }, () => MESSAGES[0])
    expect(parseChatRequest(body({ messages: many(10_000) })).forward.messages).toHaveLength(10_000)
    expect(refusalOf(...many(10_001))).toMatchObject({ code: 'invalid_request', param: 'messages' })
    const parts = (length: number) => Array.from({ length }, () => ({ type: 'text', text: '' }))
    expect(() =>
      parseChatRequest(body({ messages: [{ role: 'user', content: parts(1_000) }] })),
    ).not.toThrow()
    const error = refusalOf({ role: 'user', content: parts(1_001) })
    expect(error).toMatchObject({ code: 'invalid_request', param: 'messages.0.content' })
    expect(error.message).toContain('1,000 parts')
  })

  it('have at most 20 problems reported, the first one in the message', () => {
    const error = refusal({ stream: 'yes', messages: Array.from({ length: 500 }, () => ({})) })
    expect(error.message).toBe('model is required.')
    expect(error.details).toHaveLength(20)
    expect(error.details).toContainEqual({
      param: 'messages.0.role',
      message: 'messages.0.role is required.',
    })
  })

  it('with a million bad parts are refused after the first thousand', () => {
    let looks = 0
    const part = {
      get type() {
        looks++
        return undefined
      },
    }
    const content = Array.from({ length: 1_000 }, () => part)
    const messages = Array.from({ length: 1_000 }, () => ({ role: 'user', content }))
    expect(refusal(body({ messages })).details).toHaveLength(20)
    expect(looks).toBeGreaterThan(0)
    expect(looks).toBeLessThan(10_000)
  })
})

describe('the other fields of a chat request', () => {
  it.each([
    [{ model: undefined }, 'model', 'invalid_request'],
    [{ model: 7 }, 'model', 'invalid_request'],
    [{ model: null }, 'model', 'invalid_request'],
    [{ model: '' }, 'model', 'invalid_request'],
    [{ model: 'm'.repeat(257) }, 'model', 'model_not_found'],
    [{ model: 'é'.repeat(129) }, 'model', 'model_not_found'],
    [{ model: 'a\u0000b' }, 'model', 'model_not_found'],
    [{ model: 'a\ud800b' }, 'model', 'model_not_found'],
    [{ stream: 'true' }, 'stream', 'invalid_request'],
    [{ stream: 1 }, 'stream', 'invalid_request'],
    [{ n: 0 }, 'n', 'invalid_request'],
    [{ n: 129 }, 'n', 'invalid_request'],
    [{ n: 1.5 }, 'n', 'invalid_request'],
    [{ n: '1' }, 'n', 'invalid_request'],
    [{ stream_options: true }, 'stream_options', 'invalid_request'],
    [{ stream_options: [1] }, 'stream_options', 'invalid_request'],
    [{ response_format: 'json' }, 'response_format', 'invalid_request'],
    [{ response_format: {} }, 'response_format.type', 'invalid_request'],
    [{ response_format: { type: 1 } }, 'response_format.type', 'invalid_request'],
    [{ user: 5 }, 'user', 'invalid_request'],
    [{ app_id: 5 }, 'app_id', 'invalid_request'],
    [{ app_id: '' }, 'app_id', 'invalid_request'],
    [{ app_id: 'é'.repeat(129) }, 'app_id', 'invalid_request'],
    [{ app_id: 'a\u0000' }, 'app_id', 'invalid_request'],
    [{ app_id: '\udc00' }, 'app_id', 'invalid_request'],
    [{ session_id: '' }, 'session_id', 'invalid_session_id'],
    [{ session_id: null }, 'session_id', 'invalid_session_id'],
    [{ session_id: 12 }, 'session_id', 'invalid_session_id'],
    [{ session_id: 's'.repeat(1_025) }, 'session_id', 'invalid_session_id'],
    [{ session_id: 'é'.repeat(513) }, 'session_id', 'invalid_session_id'],
    [{ session_id: 'a\ud800' }, 'session_id', 'invalid_session_id'],
    [{ provider: 'openai' }, 'provider_key', 'invalid_request'],
    [{ provider_key: ENVELOPE }, 'provider', 'invalid_request'],
    [{ provider: 'x'.repeat(257), provider_key: ENVELOPE }, 'provider', 'invalid_request'],
    [{ provider: 'a\u007f', provider_key: ENVELOPE }, 'provider', 'invalid_request'],
  ])('are refused as %j, naming %s, as %s', (fields, param, code) => {
    const error = refusal(body(fields))
    expect(error).toMatchObject({ param, code })
    expect(error.message.startsWith(`${param} `) || code === 'model_not_found').toBe(true)
  })

  it('may name an unknown model, which is reported cleaned and truncated', () => {
    expect(refusal(body({ model: `a\u0000\u202e${'b'.repeat(300)}` })).message).toContain(
      `'a${'b'.repeat(127)}'`,
    )
  })

  it.each(['s', 's'.repeat(1_024), 'é'.repeat(512), '\u0000\u001f', ' '])(
    'accept any session id of 1 to 1,024 bytes unchanged (%#)',
    (sessionId) => {
      expect(parseChatRequest(body({ session_id: sessionId })).own.sessionId).toBe(sessionId)
    },
  )

  it('refer to routing if provider is an object', () => {
    for (const provider of [{ order: ['a'] }, ['a']]) {
      const error = refusal(body({ provider }))
      expect(error).toMatchObject({ code: 'invalid_request', param: 'provider' })
      expect(error.message).toContain('routing')
    }
  })

  it.each([
    'models',
    'route',
    'fallbacks',
    'preset',
    'api_key',
    'api_base',
    'base_url',
    'extra_body',
    'extra_headers',
    'mock_response',
  ])('with %s are refused before anything else', (field) => {
    for (const value of [null, 'x', []]) {
      expect(refusal({ [field]: value, provider_key: 'sk-plain', stream: 'x' })).toMatchObject({
        code: 'unsupported_parameter',
        status: 400,
        param: field,
      })
    }
  })
})
