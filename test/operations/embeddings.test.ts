import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { embed, embedMany } from 'ai'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, openaiCompatible } from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import type { Script } from '../helpers/scripted-upstream.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { API_KEY, MODEL, type ServiceOptions, tokens, UPSTREAM_MODEL, WireService } from '../wire/service.js'

/** Numbers that 32-bit floats represent exactly. */
const VECTORS = [
  [0.5, -0.25, 1],
  [0.125, 2, -3.5],
] as const

/** Numbers of all sizes that embeddings have, from a seed. */
function randomFloats(count: number): number[] {
  let state = 7
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return (state / 2 ** 31 - 0.5) * 10 ** -(state % 5)
  })
}

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const PRICES = { input: '2', output: '0', request: '0.0001' }

let service: WireService
afterEach(() => service.close())

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start({ models: [{ id: MODEL, prices: PRICES }], ...options })
  service.upstream.script(embedder())
}

const base64Of = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')

/** A provider that embeds each input as the vector of its index. */
function embedder({
  form = (vector: readonly number[]): unknown => vector,
  usage = { prompt_tokens: 7, total_tokens: 7 } as unknown,
} = {}): Script {
  return async (reply, { body }) => {
    const { input } = body as { input: unknown }
    const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
    const data = Array.from({ length: count }, (_, index) => ({
      object: 'embedding',
      index,
      embedding: form(VECTORS[index % VECTORS.length]!),
    }))
    reply.head(200, { 'content-type': 'application/json' })
    await reply.write(JSON.stringify({ object: 'list', data, model: UPSTREAM_MODEL, usage }))
    reply.end()
  }
}

function post(body: object, headers: Readonly<Record<string, string>> = {}) {
  return service.host.request('/embeddings', {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, ...body }),
  })
}

async function replyTo(body: object, headers?: Readonly<Record<string, string>>) {
  const response = await post(body, headers)
  expect(response.status, 'the status').toBe(200)
  return (await response.json()) as {
    data: { index: number; embedding: unknown }[]
    usage: Record<string, unknown>
  }
}

const entries = async () =>
  (await service.ledger.entries({ account: 'alice' }, CONTEXT)).entries.filter(
    ({ kind }) => kind === 'charge',
  )

/** 7 tokens at 2 credits a million, and 0.0001 for the request. */
const COST = 0.000114

describe('POST /embeddings', () => {
  it('answers with the embeddings and their exact cost, which is in the ledger', async () => {
    await start()
    const response = await post({ input: 'Hello' })
    expect(await response.json()).toEqual({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: VECTORS[0] }],
      model: MODEL,
      usage: {
        prompt_tokens: 7,
        completion_tokens: 0,
        total_tokens: 7,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
        cost: COST,
        is_byok: false,
        charge: { basis: 'reported', base_cost: COST, markup_cost: 0 },
      },
    })
    const end = await service.event('request-end')
    expect(end).toMatchObject({ operation: 'embeddings', outcome: 'completed', stream: false })
    expect(end.charge).toMatchObject({ cost: 114_000n, basis: 'reported' })
    expect(end.holdAmount).toBeGreaterThanOrEqual(114_000n)
    const [entry] = await entries()
    expect(entry?.postings[0]).toEqual({ account: 'alice', amount: -114_000n })
  })

  it('sends a provider only its own fields, without encoding_format', async () => {
    await start()
    await replyTo({
      input: ['a', 'b'],
      encoding_format: 'base64',
      dimensions: 3,
      user: 'u',
      session_id: 's',
      app_id: 'a',
    })
    const [asked] = service.asked
    expect(asked).toMatchObject({ method: 'POST', path: '/v1/embeddings' })
    expect(asked?.body).toEqual({ model: UPSTREAM_MODEL, input: ['a', 'b'], dimensions: 3, user: 'u' })
  })

  it.each([
    ['a text', 'a', 1],
    ['several texts', ['a', 'b', 'c'], 3],
    ['tokens', [1, 2, 3], 1],
    ['tokens of several texts', [[1], [2, 3]], 2],
  ])('accepts %s', async (_, input, count) => {
    await start()
    expect((await replyTo({ input })).data).toHaveLength(count)
    expect(service.asked[0]?.body).toMatchObject({ input })
  })

  describe.each([
    ['numbers', (vector: readonly number[]) => vector],
    ['base64', base64Of],
  ])('from a provider that sends %s', (_, form) => {
    it.each([
      ['numbers by default', undefined, (vector: readonly number[]) => vector],
      ['numbers', 'float', (vector: readonly number[]) => vector],
      ['base64', 'base64', base64Of],
    ])('answers with %s', async (_name, format, wanted) => {
      await start()
      service.upstream.script(embedder({ form }))
      const { data } = await replyTo({ input: ['a', 'b'], ...(format && { encoding_format: format }) })
      expect(data.map(({ embedding }) => embedding)).toEqual(VECTORS.map((vector): unknown => wanted(vector)))
    })
  })

  it('writes each 32-bit float of base64 with the fewest digits that identify it', async () => {
    await start()
    const given = [
      0.1,
      -0.023064256,
      1 / 3,
      1e-7,
      -1.4e-45,
      3.4028235e38,
      16777216,
      0,
      -0.0028842522,
      123.456,
    ]
    const floats = Float32Array.from([...given, ...randomFloats(2_000)])
    const base64 = Buffer.from(floats.buffer).toString('base64')
    service.upstream.script(answerJson({ data: [{ embedding: base64 }], usage: { prompt_tokens: 1 } }))
    const { data } = await replyTo({ input: 'a' })
    const numbers = (data as { embedding: number[] }[])[0]!.embedding
    expect(numbers.slice(0, 10).map(String)).toEqual(
      ['0.1', '-0.023064256', '0.33333334', '1e-7', '-1e-45', '3.4028235e+38', '16777216', '0'].concat(
        '-0.0028842522',
        '123.456',
      ),
    )
    expect([...Float32Array.from(numbers)]).toEqual([...floats])
    for (const [at, number] of numbers.entries()) {
      const digits = String(Math.abs(number))
        .replace(/e.*|^0\.0*|\./g, '')
        .replace(/0+$/, '').length
      const shorter = Math.fround(Number(floats[at]!.toPrecision(Math.max(1, digits - 1))))
      if (digits > 1) expect(shorter).not.toBe(floats[at])
    }
  })

  it.each([
    ['base64', 'base64'],
    ['numbers', undefined],
    [undefined, undefined],
  ] as const)('requests the format that the adapter states: %s', async (embeddingsFormat, sent) => {
    await start({ adapter: (baseUrl) => openaiCompatible({ baseUrl, embeddingsFormat }) })
    await replyTo({ input: 'a' })
    expect((service.asked[0]!.body as Record<string, unknown>).encoding_format).toBe(sent)
  })

  describe('2,048 texts of 3,072 numbers each', () => {
    const input = Array.from({ length: 2_048 }, () => 'a')
    const floats = Float32Array.from(randomFloats(3_072))
    /** With all digits of a 64-bit float, as most providers write them. */
    const numbers = JSON.stringify([...floats])
    const base64 = JSON.stringify(base64Of([...floats]))

    /** Answers with the same embedding for each input. */
    const answer =
      (embedding: string): Script =>
      async (reply) => {
        const data = input.map((_, index) => `{"index":${index},"embedding":${embedding}}`).join(',')
        reply.head(200, { 'content-type': 'application/json' })
        await reply.write(`{"data":[${data}],"usage":{"prompt_tokens":2048,"total_tokens":2048}}`)
        reply.end()
      }

    it.each([
      ['numbers', 'float', numbers],
      ['base64', 'base64', base64],
    ] as const)(
      'are served with the default options as %s',
      { timeout: 120_000 },
      async (_, format, embedding) => {
        await start()
        service.upstream.script(answer(embedding))
        const response = await post({ input, encoding_format: format })
        const text = await response.text()
        expect(response.status, text.slice(0, 300)).toBe(200)
        // Not `toBe`, which would print 60 kB.
        expect(text.includes(`"index":2047,"embedding":${embedding}}],"model"`)).toBe(true)
        expect(text.slice(text.lastIndexOf('"usage"'))).toContain('"prompt_tokens":2048')
      },
    )
  })

  describe('with a batch whose embeddings would not fit into memory', () => {
    const sizes = { memoryBytes: 1_000_000, replyBytes: 10_000 }
    const input = Array.from({ length: 20 }, () => 'a')

    it.each([
      ['the dimensions of the request', { dimensions: 3_000 }, { dimensions: 100 }, 10],
      ['those of the model', {}, { dimensions: 3_000 }, 10],
      ['the most that models have', {}, {}, 7],
    ])(
      'is refused before the hold with the number of inputs that fit, by %s',
      async (_, fields, model, most) => {
        await start({ models: [{ id: MODEL, prices: PRICES, ...model }], sizes })
        const response = await post({ input, ...fields })
        expect(response.status).toBe(400)
        const { error } = (await response.json()) as { error: { param: string; message: string } }
        expect(error).toMatchObject({ code: 'invalid_request', param: 'input' })
        expect(error.message).toContain(`has 20 inputs, but the embeddings of at most ${most} fit`)
        expect(service.asked).toEqual([])
        expect((await service.event('request-end')).holdAmount).toBeUndefined()
        expect((await replyTo({ input: input.slice(0, most), ...fields })).data).toHaveLength(most)
      },
    )

    it('is served if its adapter asks for base64, which takes less', async () => {
      await start({
        adapter: (baseUrl) => openaiCompatible({ baseUrl, embeddingsFormat: 'base64' }),
        sizes,
      })
      expect((await replyTo({ input, dimensions: 3_000 })).data).toHaveLength(20)
    })

    it('is served by the one of two routes that can serve it', async () => {
      const forms = ['numbers', 'base64'] as const
      let made = 0
      await start({
        providers: 2,
        adapter: (baseUrl) => openaiCompatible({ baseUrl, embeddingsFormat: forms[made++]! }),
        sizes,
      })
      for (const upstream of service.upstreams) upstream.script(embedder())
      await replyTo({ input, dimensions: 3_000 })
      expect(service.upstreams.map(({ requests }) => requests.length)).toEqual([0, 1])
    })

    it('fails with 502 if the provider sends more than the dimensions need', async () => {
      await start({ models: [{ id: MODEL, prices: PRICES, dimensions: 2 }], sizes })
      const long = Array.from({ length: 5_000 }, () => 0.5)
      service.upstream.script(embedder({ form: () => long }))
      const response = await post({ input: ['a'] })
      expect([response.status, await response.json()]).toMatchObject([
        502,
        { error: { code: 'provider_invalid_response' } },
      ])
    })
  })

  it('counts the bytes of embeddings towards the memory of calls', async () => {
    await start({ sizes: { memoryBytes: 1_000_000, replyBytes: 10_000 } })
    let goOn = (): void => {}
    const wait = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const items = Array.from(
      { length: 7 },
      () => `{"embedding":[${'-0.012345678901234567,'.repeat(4_000)}1]}`,
    )
    service.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': 'application/json' })
      await reply.write(`{"data":[${items.join(',')}],`)
      await wait
      await reply.write('"usage":{"prompt_tokens":7,"total_tokens":7}}')
      reply.end()
    })
    const input = Array.from({ length: 7 }, () => 'a')
    const large = [post({ input }), post({ input })]
    await expect.poll(() => service.asked.length).toBe(2)
    // No provider serves it, so that it ends at once.
    const small = async (): Promise<number> => {
      const response = await post({ input: 'a', dimensions: 1, model: 'acme/none' })
      await response.text()
      return response.status
    }
    await expect.poll(small).toBe(503)
    goOn()
    for (const response of await Promise.all(large)) {
      expect(response.status).toBe(200)
      await response.text()
    }
    expect(await small()).toBe(404)
  })

  it('returns embeddings in the order of their inputs', async () => {
    await start()
    service.upstream.script(
      answerJson({
        data: [
          { index: 1, embedding: [2] },
          { index: 0, embedding: [1] },
        ],
        usage: { prompt_tokens: 1 },
      }),
    )
    const { data } = await replyTo({ input: ['a', 'b'] })
    expect(data).toEqual([
      { object: 'embedding', index: 0, embedding: [1] },
      { object: 'embedding', index: 1, embedding: [2] },
    ])
  })

  it.each([
    ['no usage', null, 'estimated', 1],
    ['a total alone', { total_tokens: 9 }, 'reported', 9],
    ['output tokens, too', { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 }, 'reported', 4],
    ['a prompt of zero and a total', { prompt_tokens: 0, total_tokens: 9 }, 'reported', 9],
    ['a prompt below the total', { prompt_tokens: 4, completion_tokens: 0, total_tokens: 9 }, 'reported', 9],
    ['a total below the prompt', { prompt_tokens: 9, total_tokens: 4 }, 'reported', 9],
    ['a usage of zero tokens', { prompt_tokens: 0, total_tokens: 0 }, 'reported', 0],
  ])('charges a reply with %s', async (_, usage, basis, prompt) => {
    await start()
    service.upstream.script(embedder({ usage }))
    const reply = await replyTo({ input: 'four' })
    expect(reply.usage).toMatchObject({ prompt_tokens: prompt, charge: { basis } })
    expect(await service.posted('alice')).toBe(
      1_000_000_000n - BigInt(Math.round((reply.usage.cost as number) * 1e9)),
    )
  })

  it('counts each token of an input given as tokens', async () => {
    await start()
    service.upstream.script(embedder({ usage: null }))
    const { usage } = await replyTo({ input: [[1, 2, 3], [4]] })
    expect(usage).toMatchObject({ prompt_tokens: 4, charge: { basis: 'estimated' } })
  })

  it('holds under neverOverdraw no less than the provider bills, even for text in which each byte is a token', async () => {
    await start({ router: () => ({ neverOverdraw: true }) })
    service.upstream.script(async (reply, { body }) => {
      const { input } = body as { input: readonly string[] }
      const prompt = input.reduce((sum, text) => sum + Buffer.byteLength(text) + 3, 0)
      reply.head(200, { 'content-type': 'application/json' })
      const data = input.map(() => ({ embedding: [1] }))
      await reply.write(JSON.stringify({ data, usage: { prompt_tokens: prompt } }))
      reply.end()
    })
    await replyTo({ input: ['ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ', 'x'.repeat(500)] })
    const { charge, holdAmount } = await service.event('request-end')
    expect(charge).not.toHaveProperty('shortfall')
    expect(holdAmount).toBeGreaterThanOrEqual(charge!.cost)
  })

  it('holds under neverOverdraw what a field that the host allows adds to each input', async () => {
    const models = [{ id: MODEL, prices: PRICES, supportedParameters: ['instruction'] }]
    await start({ models, router: () => ({ neverOverdraw: true }) })
    service.upstream.script(async (reply, { body }) => {
      const { input, instruction } = body as { input: readonly string[]; instruction: string }
      const prompt = input.reduce((sum, text) => sum + Buffer.byteLength(instruction + text), 0)
      reply.head(200, { 'content-type': 'application/json' })
      const data = input.map(() => ({ embedding: [1] }))
      await reply.write(JSON.stringify({ data, usage: { prompt_tokens: prompt } }))
      reply.end()
    })
    await replyTo({ input: ['a', 'b', 'c'], instruction: 'Ꮳ'.repeat(1_000) })
    const { charge, holdAmount } = await service.event('request-end')
    expect(charge).not.toHaveProperty('shortfall')
    expect(holdAmount).toBeGreaterThanOrEqual(charge!.cost)
  })

  it.each([
    ['a list', Array(65_537).fill(0)],
    ['base64', Buffer.alloc(65_537 * 4).toString('base64')],
  ])('refuses %s of more numbers than any model has', async (_what, embedding) => {
    await start()
    service.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': 'application/json' })
      await reply.write(JSON.stringify({ data: [{ embedding }], usage: { prompt_tokens: 1 } }))
      reply.end()
    })
    expect(await (await post({ input: 'a' })).json()).toMatchObject({
      error: { code: 'provider_invalid_response' },
    })
  })

  it('charges once for one Idempotency-Key, which chats do not share', async () => {
    await start()
    const key = { 'idempotency-key': 'one' }
    const first = await replyTo({ input: 'a' }, key)
    const again = await replyTo({ input: 'a' }, key)
    expect(again).toEqual(first)
    expect(service.asked).toHaveLength(1)
    expect((await post({ input: 'b' }, key)).status).toBe(422)
    expect((await post({ input: 'a', encoding_format: 'base64' }, key)).status).toBe(422)
    const chat = await service.post({ model: MODEL, messages: [{ role: 'user', content: 'a' }] }, key)
    expect(chat.status).toBe(422)
    expect(await entries()).toHaveLength(1)
  })
})

describe('an invalid embeddings request', () => {
  it.each<[string, object, string, string]>([
    ['without input', {}, 'invalid_request', 'input'],
    ['with an empty text', { input: '' }, 'invalid_request', 'input'],
    ['with no input', { input: [] }, 'invalid_request', 'input'],
    ['with a number', { input: 5 }, 'invalid_request', 'input'],
    ['with an object', { input: {} }, 'invalid_request', 'input'],
    ['with an empty text among others', { input: ['a', ''] }, 'invalid_request', 'input.1'],
    ['with a number among texts', { input: ['a', 5] }, 'invalid_request', 'input.1'],
    ['with a text among tokens', { input: [1, 'a'] }, 'invalid_request', 'input.1'],
    ['with a text among lists of tokens', { input: [[1], 'a'] }, 'invalid_request', 'input.1'],
    ['with no tokens', { input: [[1], []] }, 'invalid_request', 'input.1'],
    ['with half a token', { input: [[1, 0.5]] }, 'invalid_request', 'input.0.1'],
    ['with a token below 0', { input: [-1] }, 'invalid_request', 'input.0'],
    ['with null among texts', { input: ['a', null] }, 'invalid_request', 'input.1'],
    ['with more than 2,048 inputs', { input: Array(2_049).fill('a') }, 'invalid_request', 'input'],
    ['with another format', { input: 'a', encoding_format: 'int8' }, 'invalid_request', 'encoding_format'],
    ['with no dimensions', { input: 'a', dimensions: 0 }, 'invalid_request', 'dimensions'],
    ['with dimensions as text', { input: 'a', dimensions: '3' }, 'invalid_request', 'dimensions'],
    ['with a user that is not a string', { input: 'a', user: 5 }, 'invalid_request', 'user'],
    ['for a stream', { input: 'a', stream: true }, 'invalid_request', 'stream'],
    ['with an unknown field', { input: 'a', input_type: 'query' }, 'unsupported_parameter', 'input_type'],
    [
      'with another spelling of a field',
      { input: 'a', Dimensions: 3 },
      'unsupported_parameter',
      'dimensions',
    ],
    ['that names several models', { input: 'a', models: ['x'] }, 'unsupported_parameter', 'models'],
    [
      'with a plaintext key',
      { input: 'a', provider: 'p0', provider_key: 'sk-1' },
      'provider_key_not_encrypted',
      'provider_key',
    ],
    ['with invalid routing', { input: 'a', routing: { sort: 'best' } }, 'invalid_request', 'routing.sort'],
    ['with an empty session', { input: 'a', session_id: '' }, 'invalid_session_id', 'session_id'],
  ])('is refused by name before anything is held or sent: %s', async (_, body, code, param) => {
    await start()
    const response = await post(body)
    expect(await response.json()).toMatchObject({ error: { code, param } })
    expect(response.status).toBe(400)
    expect(service.asked).toEqual([])
    expect(await entries()).toEqual([])
  })

  it('has at most 20 faults reported, without values', async () => {
    await start()
    const response = await post({
      input: Array(100)
        .fill(5)
        .map((_, at) => (at === 0 ? 'secret-value' : at)),
    })
    const text = await response.text()
    expect(JSON.parse(text).error.details).toHaveLength(20)
    expect(text).not.toContain('secret-value')
  })

  it.each([
    ['tools', [{ type: 'web_search' }]],
    ['max_tokens', 5],
    ['messages', []],
  ])('cannot have a chat field, even if the model lists it: %s', async (name, value) => {
    await start({ models: [{ id: MODEL, prices: PRICES, supportedParameters: [name] }] })
    const refused = await post({ input: 'a', [name]: value })
    expect(await refused.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: name } })
    expect(service.asked).toEqual([])
  })

  it('becomes valid if the host lists its unknown field', async () => {
    await start({
      models: [{ id: MODEL, prices: PRICES, supportedParameters: ['input_type'] }],
    })
    await replyTo({ input: 'a', input_type: 'query' })
    expect(service.asked[0]?.body).toMatchObject({ input_type: 'query' })
    const refused = await post({ input: 'a', dimensions: 3 })
    expect(await refused.json()).toMatchObject({
      error: { code: 'unsupported_parameter', param: 'dimensions' },
    })
  })
})

describe('an unreadable embeddings reply', () => {
  it.each<[string, object]>([
    ['has no data', {}],
    ['has too few embeddings', { data: [{ embedding: [1] }] }],
    ['has too many embeddings', { data: [1, 2, 3].map((value) => ({ embedding: [value] })) }],
    [
      'has two with the same index',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 0, embedding: [2] },
        ],
      },
    ],
    [
      'has an index out of range',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 2, embedding: [2] },
        ],
      },
    ],
    [
      'has an index that is text',
      {
        data: [
          { index: '0', embedding: [1] },
          { index: 1, embedding: [2] },
        ],
      },
    ],
    ['has an item that is not an object', { data: [{ embedding: [1] }, null] }],
    ['has an empty embedding', { data: [{ embedding: [1] }, { embedding: [] }] }],
    ['has null among the numbers', { data: [{ embedding: [1] }, { embedding: [null] }] }],
    ['has text among the numbers', { data: [{ embedding: [1] }, { embedding: ['1'] }] }],
    ['has base64 of a partial float', { data: [{ embedding: [1] }, { embedding: 'AAA=' }] }],
    [
      'has base64 of floats that are not finite',
      { data: [{ embedding: [1] }, { embedding: base64Of([Number.NaN]) }] },
    ],
    ['has text that is not base64', { data: [{ embedding: [1] }, { embedding: '*'.repeat(8) }] }],
  ])('that %s leads to an error that costs nothing', async (_, reply) => {
    await start()
    service.upstream.script(answerJson({ ...reply, usage: { prompt_tokens: 7, total_tokens: 7 } }))
    const response = await post({ input: ['a', 'b'] })
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: 'provider_invalid_response' } })
    expect(await entries()).toEqual([])
  })

  it('that is an error with status 200 falls back to the next provider', async () => {
    await start({ providers: 2 })
    service.upstreams[0]!.script(answerJson({ error: { message: 'It broke', code: 500 } }))
    service.upstreams[1]!.script(embedder())
    expect((await replyTo({ input: 'a' })).data).toHaveLength(1)
    expect(service.asked).toHaveLength(2)
  })
})

describe('the model of an embeddings call', () => {
  it('is refused if none of its routes supports embeddings, and no provider is called', async () => {
    await start({ adapter: (baseUrl) => anthropic({ baseUrl, apiKey: 'sk-ant-1234567890' }) })
    const response = await post({ input: 'a' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: {
        code: 'invalid_request',
        param: 'model',
        message: `The model '${MODEL}' cannot be used with POST /embeddings.`,
      },
    })
    expect(service.asked).toEqual([])
  })

  it('is served by those of its routes that support embeddings', async () => {
    const chatOnly: ProviderAdapter = { chat: () => Promise.reject(new Error('not called')) }
    let made = 0
    await start({
      providers: 2,
      adapter: (baseUrl) => (made++ === 0 ? chatOnly : embedding(baseUrl)),
    })
    service.upstreams[1]!.script(embedder())
    await replyTo({ input: 'a' })
    const { routing } = await service.event('request-end')
    expect(routing?.excluded).toEqual([
      { routeId: expect.stringContaining('p0'), why: 'does not serve embeddings' },
    ])
  })

  it('is refused if it lists only other operations', async () => {
    await start({ models: [{ id: MODEL, prices: PRICES, operations: ['chat'] }] })
    const response = await post({ input: 'a' })
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request', param: 'model' } })
    expect(service.asked).toEqual([])
  })

  it('is refused for chat if it lists only embeddings', async () => {
    await start({ models: [{ id: MODEL, prices: PRICES, operations: ['embeddings'] }] })
    await replyTo({ input: 'a' })
    const response = await service.post({ model: MODEL, messages: [{ role: 'user', content: 'a' }] })
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request', param: 'model' } })
  })

  it('is refused for an access token without the scope', async () => {
    await start()
    const response = await post({ input: 'a' }, { authorization: `Bearer ${tokens.unscoped}` })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({
      error: { code: 'insufficient_scope', message: expect.stringContaining('POST /embeddings') },
    })
  })
})

function embedding(baseUrl: string, maxEmbeddingsPerCall = 1): ProviderAdapter {
  const adapter: ProviderAdapter = aiSdk({
    embeddingModel: (name) => {
      const provider = createOpenAICompatible({ name: 'acme', baseURL: baseUrl })
      return Object.assign(provider.textEmbeddingModel(name), {
        config: {
          provider: 'acme.embedding',
          url: ({ path }: { path: string }) => baseUrl + path,
          headers: () => ({}),
          maxEmbeddingsPerCall,
        },
      })
    },
  })
  return adapter as ProviderAdapter
}

describe('POST /embeddings through the AI SDK', () => {
  it('embeds in as many calls as the model requires, and charges their sum', async () => {
    await start({ adapter: (baseUrl) => embedding(baseUrl) })
    const { data, usage } = await replyTo({ input: ['a', 'b'] })
    expect(data).toHaveLength(2)
    expect(service.asked).toHaveLength(2)
    expect(usage).toMatchObject({ prompt_tokens: 14, charge: { basis: 'reported' } })
  })

  it('refuses tokens and dimensions by name, since it cannot express them', async () => {
    await start({ adapter: (baseUrl) => embedding(baseUrl) })
    for (const [more, param] of [
      [{ input: [1, 2] }, 'input'],
      [{ input: 'a', dimensions: 3 }, 'dimensions'],
    ] as const) {
      const response = await post(more)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { param } })
    }
    expect(service.asked).toEqual([])
  })
})

describe('real clients of embeddings:', () => {
  it('the openai client embeds one text and many, in the format that it requests by default', async () => {
    await start()
    const client = new OpenAI({ baseURL: service.host.baseUrl, apiKey: API_KEY, maxRetries: 0 })
    const one = await client.embeddings.create({ model: MODEL, input: 'a' })
    expect(one.data[0]?.embedding).toEqual([...VECTORS[0]])
    expect((one.usage as unknown as { cost: number }).cost).toBe(COST)
    const many = await client.embeddings.create({ model: MODEL, input: ['a', 'b'], encoding_format: 'float' })
    expect(many.data.map(({ embedding }) => embedding)).toEqual(VECTORS.map((vector) => [...vector]))
    expect(await service.posted('alice')).toBe(1_000_000_000n - 2n * 114_000n)
  })

  it('the AI SDK embeds one text and many', async () => {
    await start()
    const provider = createOpenAICompatible({ name: 'host', baseURL: service.host.baseUrl, apiKey: API_KEY })
    const model = provider.textEmbeddingModel(MODEL)
    const one = await embed({ model, value: 'a' })
    expect(one.embedding).toEqual([...VECTORS[0]])
    expect(one.usage).toMatchObject({ tokens: 7 })
    const many = await embedMany({ model, values: ['a', 'b'] })
    expect(many.embeddings).toEqual(VECTORS.map((vector) => [...vector]))
    expect(await service.posted('alice')).toBe(1_000_000_000n - 2n * 114_000n)
  })
})
