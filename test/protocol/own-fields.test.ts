import { describe, expect, it } from 'vitest'
import { parseChatRequest } from '../../src/operations/chat/read-request.js'
import { body, ENVELOPE, refusal } from './chat-request-refusal.js'

describe('the field provider_key', () => {
  it.each([
    'sk-proj-plaintext-key-0123456789',
    '',
    'v1.',
    'v1.a.b.c.d',
    'v1.a.b.c.d.e.f',
    'v2.a.b.c.d.e',
    'v1..b.c.d.e',
    'v1.a.b.c.d.',
    'v1.a.b.c.d.e\n',
    'v1.a.b.c.d+.e',
    ' v1.a.b.c.d.e',
    `v1.${'a'.repeat(8_192)}..c.d.e`,
    5,
    null,
    {},
    [ENVELOPE],
  ])('is refused without being shown if it is not an envelope (%#)', (key) => {
    for (const fields of [{ provider: 'openai' }, {}, { messages: 7, session_id: '' }]) {
      const error = refusal(body({ provider_key: key, ...fields }))
      expect(error).toMatchObject({ code: 'provider_key_not_encrypted', status: 400, param: 'provider_key' })
      const shown = JSON.stringify([error.message, error.details, error.stack])
      if (typeof key === 'string' && key.length > 5) expect(shown).not.toContain(key)
    }
  })

  it('may have an encrypted key of its own, and up to 8 KiB', () => {
    const rest = '.b.c.d.e'
    for (const key of ['v1.a.b.c.d.e', `v1.${'a'.repeat(8_192 - 3 - rest.length)}${rest}`]) {
      expect(parseChatRequest(body({ provider: 'p', provider_key: key })).own.providerKey).toBe(key)
    }
  })
})

describe('the field routing', () => {
  it('is read completely, its prices as decimal strings', () => {
    const routing = {
      order: ['a'],
      only: ['a', 'b'],
      ignore: ['c'],
      allow_fallbacks: false,
      sort: 'latency',
      max_price: { input: 0.15, output: '10.000000001', request: 1e-7 },
      require_parameters: true,
    }
    expect(parseChatRequest(body({ routing })).own.routing).toStrictEqual({
      order: ['a'],
      only: ['a', 'b'],
      ignore: ['c'],
      allowFallbacks: false,
      sort: 'latency',
      maxPrice: { input: '0.15', output: '10.000000001', request: '0.0000001' },
      requireParameters: true,
    })
  })

  it.each([
    ['openai', 'routing'],
    [[], 'routing'],
    [{ prefer: 'a' }, 'routing.prefer'],
    [{ order: 'a' }, 'routing.order'],
    [{ only: [5] }, 'routing.only.0'],
    [{ only: [''] }, 'routing.only.0'],
    [{ ignore: ['a\u0000'] }, 'routing.ignore.0'],
    [{ ignore: Array.from({ length: 33 }, () => 'a') }, 'routing.ignore'],
    [{ sort: 'cheapest' }, 'routing.sort'],
    [{ allow_fallbacks: 'no' }, 'routing.allow_fallbacks'],
    [{ require_parameters: 1 }, 'routing.require_parameters'],
    [{ max_price: 5 }, 'routing.max_price'],
    [{ max_price: { completion: 1 } }, 'routing.max_price.completion'],
    [{ max_price: { input: -1 } }, 'routing.max_price.input'],
    [{ max_price: { input: '1e3' } }, 'routing.max_price.input'],
    [{ max_price: { input: '0.0000000001' } }, 'routing.max_price.input'],
    [{ max_price: { input: 1e-10 } }, 'routing.max_price.input'],
    [{ max_price: { input: 1e30 } }, 'routing.max_price.input'],
    [{ max_price: { input: Number.POSITIVE_INFINITY } }, 'routing.max_price.input'],
    [{ max_price: { input: null } }, 'routing.max_price.input'],
  ])('of %j is refused, naming %s', (routing, param) => {
    expect(refusal(body({ routing }))).toMatchObject({ code: 'invalid_request', param })
  })

  it('with a million names is refused without a look at any', () => {
    const looks: PropertyKey[] = []
    const order = new Proxy(Array(1_000_000).fill(5), {
      get(names, property) {
        looks.push(property)
        return names[property as keyof typeof names]
      },
    })
    const error = refusal(body({ routing: { order } }))
    expect(error).toMatchObject({ param: 'routing.order', message: expect.stringContaining('32') })
    expect(looks).toContain('length')
    expect(looks).not.toContain('0')
  })

  it('has an unknown member named without control characters, and truncated', () => {
    const error = refusal(body({ routing: { [`\u0000${'x'.repeat(5_000)}`]: 1 } }))
    expect(error.param).toBe(`routing.${'x'.repeat(64)}`)
  })
})

describe("a field that resembles one of the router's", () => {
  it.each([
    'Model',
    'MAX_TOKENS',
    'Stream',
    'N',
    'me\u017f\u017fages',
    'provider_\u212aey',
    'Service_Tier',
    'Models',
  ])('is refused if some providers would obey it: %s', (field) => {
    const body = { model: 'acme/fast', messages: [{ role: 'user', content: 'hi' }], [field]: 'x' }
    expect(() => parseChatRequest(body)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', status: 400 }),
    )
  })

  it('passes if the resemblance is too small', () => {
    const body = { model: 'acme/fast', messages: [{ role: 'user', content: 'hi' }], 'X-Custom': 1 }
    expect(parseChatRequest(body).forward['X-Custom']).toBe(1)
  })
})
