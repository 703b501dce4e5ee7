import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateEnvelopeKey, keyring } from '../../src/index.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../helpers/scripted-upstream.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  ask,
  MODEL,
  PRICES,
  providerReply,
  UPSTREAM_MODEL,
  usageChunk,
  WireService,
} from './service.js'

const BOB = { authorization: `Bearer ${ACCESS_TOKEN}` }
const MARKER = 'Zq7MarkerZq7'

/** Fields that redirect a request or make the provider bill the host more than the price. */
const STEERING: Readonly<Record<string, readonly unknown[]>> = {
  models: [[MODEL], [MARKER], null, 'a', []],
  route: ['fallback', MARKER, null],
  fallbacks: [[{ model: MARKER }], null],
  preset: [MARKER, null],
  api_key: [MARKER, null],
  api_base: [`https://${MARKER}.test/v1`, null],
  base_url: [`https://${MARKER}.test/v1`, null],
  extra_body: [{ model: MARKER }, null],
  extra_headers: [{ authorization: MARKER }, null],
  mock_response: [MARKER, null],
}

/** Fields that a catalogue may list once they are priced, each with the parameter that the refusal names. */
const BILLED: readonly (readonly [field: string, value: unknown, param: string])[] = [
  ['plugins', [{ id: 'web' }], 'plugins'],
  ['web_search_options', {}, 'web_search_options'],
  ['background', true, 'background'],
  ['store', true, 'store'],
  ['service_tier', 'priority', 'service_tier'],
  ['service_tier', 'flex', 'service_tier'],
  ['modalities', ['text', 'audio'], 'modalities'],
  ['modalities', ['image'], 'modalities'],
  ['audio', { voice: 'alloy', format: 'wav' }, 'audio'],
  ['a_field_of_tomorrow', { deep: [null, '\u2028', 1e-7] }, 'a_field_of_tomorrow'],
  ['constructor', { prototype: 1 }, 'constructor'],
  ['tools', [{ type: 'web_search_preview' }], 'tools.web_search_preview'],
  ['tools', [{ type: 'function', function: { name: 'f' } }, { type: 'mcp' }], 'tools.mcp'],
]

describe('a request with an access token', () => {
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start({
      models: [
        { id: MODEL, prices: PRICES },
        { id: 'acme/listed', prices: PRICES, supportedParameters: ['max_tokens', 'temperature', 'tools'] },
        {
          id: 'acme/priced',
          prices: PRICES,
          supportedParameters: [
            ...['max_tokens', 'plugins', 'web_search_options', 'background', 'store', 'service_tier'],
            ...['modalities', 'audio', 'tools', 'tools.web_search_preview', 'tools.mcp'],
            ...['a_field_of_tomorrow', 'constructor'],
          ],
        },
      ],
      router: ({ credentials }) => ({
        credentials: {
          async resolve(token, context) {
            const found = await credentials.resolve(token, context)
            if (!found.ok || found.principal.kind !== 'access-token') return found
            const app = {
              ...found.principal.app,
              allowedModels: [MODEL, 'acme/listed', 'acme/priced'],
            }
            return { ok: true, principal: { ...found.principal, app } }
          },
        },
      }),
    })
    service.upstream.script(answerJson(providerReply()))
  })
  afterAll(() => service.close())

  /** Sends the fields and returns the error, after checking that no provider was called and nobody paid. */
  async function refusal(more: Readonly<Record<string, unknown>>) {
    const asked = service.asked.length
    const before = await service.posted('bob')
    const response = await service.post(ask(more), BOB)
    const text = await response.text()
    expect(service.asked).toHaveLength(asked)
    expect(await service.posted('bob')).toBe(before)
    return { status: response.status, text, error: JSON.parse(text).error }
  }

  test.each(Object.keys(STEERING))('is refused with any value of %s, for every model', async (field) => {
    for (const model of [MODEL, 'acme/listed', 'acme/priced']) {
      for (const value of STEERING[field]!) {
        for (const stream of [false, true]) {
          const { error, status, text } = await refusal({ model, stream, [field]: value })
          expect([status, error]).toMatchObject([400, { code: 'unsupported_parameter', param: field }])
          expect(text).not.toContain(MARKER)
        }
      }
    }
  })

  test.each(BILLED)('%s: %j is refused as %s unless the catalogue lists it', async (field, value, param) => {
    for (const model of [MODEL, 'acme/listed']) {
      const { error, status } = await refusal({ model, [field]: value })
      expect([status, error]).toMatchObject([400, { code: 'unsupported_parameter', param }])
      expect(error.message).toContain(`'${model}'`)
      expect(error.message).toContain(param)
    }
  })

  test.each(BILLED)(
    '%s: %j goes to the provider unchanged if the catalogue lists it',
    async (field, value) => {
      const response = await service.post(ask({ model: 'acme/priced', [field]: value }), BOB)
      expect(response.status).toBe(200)
      await response.text()
      expect(service.asked.at(-1)!.body).toEqual({ ...ask(), model: UPSTREAM_MODEL, [field]: value })
    },
  )

  test("is refused with a parameter outside the model's list, but not with one in it", async () => {
    const { error, status } = await refusal({ model: 'acme/listed', top_k: 3, temperature: 1 })
    expect([status, error]).toMatchObject([400, { code: 'unsupported_parameter', param: 'top_k' }])
    const response = await service.post(
      ask({ model: 'acme/listed', temperature: 1, n: 1, stream: false, user: 'u', top_k: null }),
      BOB,
    )
    expect(response.status).toBe(200)
    await response.text()
  })

  test.each([
    ['store', false],
    ['service_tier', 'auto'],
    ['service_tier', null],
    ['modalities', ['text']],
    ['usage', { include: true }],
    ['a_field_of_tomorrow', null],
  ])('%s: %j is accepted and not passed on', async (field, value) => {
    const response = await service.post(ask({ [field]: value }), BOB)
    expect(response.status).toBe(200)
    await response.text()
    expect(service.asked.at(-1)!.body).toEqual({ ...ask(), model: UPSTREAM_MODEL })
  })

  const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const STREAMED = { stream: true, stream_options: { include_usage: true } }

  /** Fields that agents send by default. */
  test.each([
    ['pi', { ...STREAMED, store: false, max_completion_tokens: 8_192, tools: TOOLS }],
    [
      'Copilot CLI',
      {
        ...STREAMED,
        ...{ temperature: 0.1, top_p: 1, frequency_penalty: 0, presence_penalty: 0, n: 1 },
        ...{ tools: TOOLS, tool_choice: 'auto', parallel_tool_calls: true },
      },
    ],
    [
      'opencode',
      { ...STREAMED, max_tokens: 32_000, usage: { include: true }, tools: TOOLS, tool_choice: 'auto' },
    ],
    ['OpenClaw', { ...STREAMED, max_completion_tokens: 4_096, store: false, tools: TOOLS, user: 'u' }],
  ])('works with a model with a short list if it comes from %s', async (_program, fields) => {
    service.upstream.scriptOnce(answerEvents([textChunk('Hi'), finishChunk(), usageChunk()]))
    const response = await service.post(ask({ model: 'acme/listed', ...fields }), BOB)
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('[DONE]')])
    const sent = service.asked.at(-1)!.body as Record<string, unknown>
    const known =
      'model messages stream stream_options max_tokens max_completion_tokens temperature tools user'
    expect(known.split(' ')).toEqual(expect.arrayContaining(Object.keys(sent)))
  })

  test('has unknown members of messages omitted, and reported once for the model', async () => {
    const messages = [{ role: 'user', content: 'x', providerOptions: { gateway: { models: [MARKER] } } }]
    for (const requestId of ['first', 'second']) {
      const response = await service.post(ask({ messages }), { ...BOB, 'x-request-id': requestId })
      expect(response.status).toBe(200)
      await response.text()
      expect(service.asked.at(-1)!.text).not.toContain(MARKER)
      await service.event('request-end', requestId)
    }
    expect(service.events.filter(({ type }) => type === 'request-trimmed')).toEqual([
      { type: 'request-trimmed', requestId: 'first', model: MODEL, members: ['messages.providerOptions'] },
    ])
  })

  test.each([
    [
      'tools',
      [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'g' } },
      ],
    ],
    ['temperature', 0.1],
    ['top_p', 1],
    ['stop', ['a', 'b']],
    ['response_format', { type: 'json_schema', json_schema: { name: 's', schema: { $schema: 'x' } } }],
    ['response_format', { type: 'json_object', schema: { type: 'object' } }],
    ['functions', [{ name: 'f' }]],
    ['reasoning', { effort: 'low' }],
    ['reasoning_effort', 'minimal'],
    ['max_completion_tokens', 5],
    ['logit_bias', { 50256: -100 }],
    ['seed', 1.5e3],
    ['user', 'somebody\u0000'],
  ])('%s: %j goes to the provider unchanged', async (field, value) => {
    const response = await service.post(ask({ [field]: value }), BOB)
    expect(response.status).toBe(200)
    await response.text()
    expect(service.asked.at(-1)!.body).toEqual({ ...ask(), model: UPSTREAM_MODEL, [field]: value })
  })

  test('tool_choice goes to the provider unchanged beside tools', async () => {
    const given = {
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
    }
    const response = await service.post(ask(given), BOB)
    await response.text()
    expect(service.asked.at(-1)!.body).toEqual({ ...ask(), model: UPSTREAM_MODEL, ...given })
  })

  test('forwards a number that the provider may read more exactly than JavaScript as written, if JSON can', async () => {
    const response = await service.post(
      '{"model":"acme/fast","messages":[{"role":"user","content":"x"}],"top_p":0.30000000000000004,"seed":9007199254740991}',
      BOB,
    )
    await response.text()
    expect(service.asked.at(-1)!.text).toContain('"top_p":0.30000000000000004')
    expect(service.asked.at(-1)!.text).toContain('"seed":9007199254740991')
  })
})

describe('the router’s own fields', () => {
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start()
    service.upstream.script(answerJson(providerReply()))
  })
  afterAll(() => service.close())

  const OWN = {
    session_id: `${MARKER}-session`,
    routing: { order: ['p0'], sort: 'price', allow_fallbacks: true },
    app_id: 'app-1',
    action: { name: `${MARKER}-action` },
    connected: [`${MARKER}-connected`],
  }

  test.each([API_KEY, ACCESS_TOKEN])('never reach the provider', async (token) => {
    const response = await service.post(ask(OWN), {
      authorization: `Bearer ${token}`,
      'x-session-id': `${MARKER}-header`,
      'idempotency-key': `${MARKER}-key`,
      'x-request-id': `own-fields-${token}`,
    })
    expect(response.status).toBe(200)
    await response.text()
    const { body, headers, path } = service.asked.at(-1)!
    expect(body).toEqual({ ...ask(), model: UPSTREAM_MODEL })
    expect(JSON.stringify([path, headers, body])).not.toContain(MARKER)
    const end = await service.event('request-end', `own-fields-${token}`)
    expect(end).toMatchObject({ action: OWN.action, connected: OWN.connected })
    expect(end.facts).toMatchObject({ sessionId: OWN.session_id })
  })

  test('include app_id, which is only a label with an API key', async () => {
    const response = await service.post(ask({ app_id: 'app-1' }), { 'x-request-id': 'claimed' })
    expect(await response.json()).toMatchObject({ usage: { charge: { markup_cost: 0 } } })
    const { facts } = await service.event('request-end', 'claimed')
    expect(facts).toMatchObject({ claimedAppId: 'app-1' })
    expect(facts).not.toHaveProperty('appId')
  })

  test('lose an own __proto__', async () => {
    const response = await service.post(
      '{"model":"acme/fast","messages":[{"role":"user","content":"x"}],"__proto__":{"model":"other"}}',
    )
    expect(response.status).toBe(200)
    await response.text()
    expect(service.asked.at(-1)!.text).not.toContain('__proto__')
  })

  test('that are repeated count by their last value, for the router and the provider alike', async () => {
    const response = await service.post(
      '{"model":"acme/nowhere","messages":[{"role":"user","content":"x"}],"model":"acme/fast"}',
    )
    expect(await response.json()).toMatchObject({ model: MODEL })
    expect(service.asked.at(-1)!.text.match(/"model"/g)).toHaveLength(1)
  })

  test.each([
    undefined,
    null,
    {},
    { include_usage: false },
    { include_usage: true, include_obfuscation: false },
  ])(
    'with stream_options %j change nothing for the client, and the provider is always asked for usage',
    async (options) => {
      service.upstream.scriptOnce(answerEvents([textChunk('Hi'), finishChunk(), usageChunk()]))
      const response = await service.post(ask({ stream: true, stream_options: options }))
      expect(await response.text()).toMatch(/"choices":\[\],"usage":\{.*\}\n\ndata: \[DONE\]\n\n$/)
      expect(service.asked.at(-1)!.body).toMatchObject({
        stream: true,
        stream_options: { include_usage: true },
      })
    },
  )

  test('include stream_options, which are not passed on without a stream', async () => {
    const response = await service.post(ask({ stream_options: { include_usage: true } }))
    await response.text()
    expect(service.asked.at(-1)!.body).not.toHaveProperty('stream_options')
    expect(service.asked.at(-1)!.body).not.toHaveProperty('stream')
  })

  test.each([1, 'true', [1]])('are refused with stream_options %j', async (options) => {
    const response = await service.post(ask({ stream: true, stream_options: options }))
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { param: 'stream_options' } },
    ])
  })
})

describe('a provider key in a request', () => {
  const PLAIN = 'sk-proj-Zq7MarkerZq7-T3BlbkFJ'
  const bad: Readonly<Record<string, unknown>> = {
    'in plain text': PLAIN,
    'in plain text after the prefix': `v1.${PLAIN}`,
    'with white space': ` v1.a.b.c.d.e${PLAIN}`,
    'of another version': `v2.a.b.c.d.${PLAIN}`,
    'that is too long': `v1.a.b.c.d.${PLAIN}${'x'.repeat(8_192)}`,
    'that is an object': { key: PLAIN },
    'that is a list': [PLAIN],
    'that is a number': 5,
    'that is null': null,
    'that is empty': '',
  }
  let service: WireService
  beforeAll(async () => {
    const key = await generateEnvelopeKey('own-fields')
    service = await WireService.start({ router: () => ({ envelopes: keyring([key]) }) })
    service.upstream.script(answerJson(providerReply()))
  })
  afterAll(() => service.close())

  test.each(Object.keys(bad))('is refused and never repeated: %s', async (kind) => {
    for (const provider of [{ provider: 'p0' }, {}]) {
      const response = await service.post(ask({ ...provider, provider_key: bad[kind] }))
      const text = await response.text()
      expect([response.status, JSON.parse(text)]).toMatchObject([
        400,
        { error: { code: 'provider_key_not_encrypted', param: 'provider_key' } },
      ])
      expect(text + JSON.stringify(response.headers)).not.toContain(MARKER)
    }
    expect(service.asked).toEqual([])
    expect(
      JSON.stringify(service.events, (_key, value) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain(MARKER)
  })

  test.each([
    [{ provider: 'p0' }, 'provider_key'],
    [{ provider_key: 'v1.a.b.c.d.e' }, 'provider'],
    [{ provider: { order: ['p0'] } }, 'provider'],
  ])('%j is only half of a pin and refused with 400, naming %s', async (more, param) => {
    const response = await service.post(ask(more))
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request', param } },
    ])
    expect(service.asked).toEqual([])
  })

  test('is sealed with published keys, which have no private part', async () => {
    const response = await service.host.request('/envelope-keys')
    expect(response.status).toBe(200)
    expect(response.headers['cache-control']).toBe('public, max-age=300')
    const { keys } = (await response.json()) as { keys: object[] }
    expect(keys.map((key) => Object.keys(key).sort())).toEqual([
      ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
    ])
  })
})

describe("a host's own opener of provider keys", () => {
  const start = (publicKeys: () => unknown) =>
    WireService.start({
      expectsFaults: true,
      router: () => ({
        envelopes: { open: () => ({ ok: false, reason: 'invalid' }), publicKeys: publicKeys as () => never },
      }),
    })

  test('publishes keys of any kind', async () => {
    const keys = [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'hsm' }]
    const service = await start(async () => ({ keys }))
    const response = await service.host.request('/envelope-keys')
    expect([response.status, await response.json()]).toEqual([200, { keys }])
    await service.close()
  })

  test('whose keys are not JSON publishes nothing, and the host gets a report', async () => {
    const service = await start(() => ({ keys: [{ kty: 'RSA', n: 1n }] }))
    const response = await service.host.request('/envelope-keys')
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: 'internal_error' } },
    ])
    expect(await service.event('fault')).toMatchObject({
      error: { message: 'Do not know how to serialize a BigInt' },
    })
    await service.close()
  })

  const secret = { kty: 'EC', crv: 'P-256', kid: 'one', x: 'x', y: 'y', d: 'c2VjcmV0' }
  const faults: readonly (readonly [string, () => unknown, number, string])[] = [
    ['throws', () => Promise.reject(new Error('no')), 503, 'envelope_opener_unavailable'],
    ['has nothing', () => null, 500, 'internal_error'],
    ['has no list', () => ({ keys: 'none' }), 500, 'internal_error'],
    ['has no keys in its list', () => ({ keys: [null] }), 500, 'internal_error'],
    ['returns a private key', () => ({ keys: [secret] }), 500, 'internal_error'],
  ]

  test.each(faults)(
    'that %s publishes nothing, and the host gets a report',
    async (_what, publicKeys, status, code) => {
      const service = await start(publicKeys)
      const response = await service.host.request('/envelope-keys')
      const text = await response.text()
      expect([response.status, JSON.parse(text)]).toMatchObject([status, { error: { code } }])
      expect(response.headers['cache-control']).toBe('no-store')
      expect(text).not.toContain(secret.d)
      expect(await service.event('store-fault')).toMatchObject({ store: 'envelopes' })
      await service.close()
    },
  )
})
