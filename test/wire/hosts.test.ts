import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Entry } from '../../src/stores.js'
import { allHosts } from '../helpers/any-host.js'
import { entryOf, wireCharge } from '../helpers/charge-assertions.js'
import { nanos } from '../helpers/decimals.js'
import { type HostResponse, MOUNT } from '../helpers/listen-http.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type ScriptedReply,
  type ScriptedRequest,
  sse,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { pipelinedHost } from './pipelined-host.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  ask,
  BASE_COST,
  framesOf,
  MARKED_UP_COST,
  MARKUP_COST,
  MODEL,
  providerReply,
  UPSTREAM_KEY,
  UPSTREAM_MODEL,
  usageChunk,
  WireService,
} from './service.js'

const CREATED = 1_700_000_000
const AS_ALICE = { authorization: `Bearer ${API_KEY}` }
const AS_BOB = { authorization: `Bearer ${ACCESS_TOKEN}` }
const STREAM = answerEvents([
  textChunk('Hello'),
  textChunk(', wörld \u{1f600}!'),
  finishChunk('eos'),
  usageChunk(),
])
const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 0 },
  cost: Number(BASE_COST),
  is_byok: false,
  charge: { basis: 'reported', base_cost: Number(BASE_COST), markup_cost: 0 },
}
const FREE_USAGE = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
  cost: 0,
  is_byok: false,
  charge: { basis: 'reported', base_cost: 0, markup_cost: 0 },
}

describe.each([...allHosts, pipelinedHost])('on $name', (host) => {
  let service: WireService
  let requests = 0

  beforeAll(async () => {
    service = await WireService.start({ host, onDisconnect: 'abort' })
  })
  afterAll(() => service.close())

  const label = () => ({ 'x-request-id': `wire-${++requests}` })
  const requestIdOf = (response: HostResponse) => String(response.headers['x-request-id'])

  /** The only entry of a call, after it has ended. */
  async function entryAfter(requestId: string): Promise<Entry | undefined> {
    await service.event('request-end', requestId)
    return entryOf(service.ledger, requestId)
  }

  describe('a completion as JSON', () => {
    test('has exactly the documented shape, and costs the amount in the ledger', async () => {
      service.upstream.scriptOnce(answerJson(providerReply()))
      const before = await service.posted('alice')
      const response = await service.post(ask(), label())
      expect(response.status).toBe(200)
      expect(response.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      expect(response.headers).not.toHaveProperty('etag')
      const text = await response.text()
      const reply = JSON.parse(text)
      expect(reply).toEqual({
        id: expect.stringMatching(/^chatcmpl-[A-Za-z0-9_-]{16,}$/),
        object: 'chat.completion',
        created: CREATED,
        model: MODEL,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hello, wörld \u{1f600}!' },
            finish_reason: 'stop',
            native_finish_reason: 'stop',
          },
        ],
        usage: USAGE,
        system_fingerprint: null,
      })
      expect(text).toContain(`"cost":${BASE_COST},`)
      const entry = await entryAfter(requestIdOf(response))
      expect(entry?.charge).toMatchObject({ cost: nanos(BASE_COST), markup: 0n })
      expect(entry?.facts).toMatchObject({ account: 'alice', completionId: reply.id, model: MODEL })
      expect(before - (await service.posted('alice'))).toBe(nanos(BASE_COST))
    })

    test("is sent to the provider with its own model name and the host's key, without any header of the client", async () => {
      service.upstream.scriptOnce(answerJson(providerReply()))
      const response = await service.post(ask(), {
        ...label(),
        cookie: 'session=1',
        'x-forwarded-for': '10.0.0.1',
        'user-agent': 'client/1',
      })
      await response.text()
      const { body, headers } = service.upstream.requests.at(-1)!
      expect(body).toEqual({ ...ask(), model: UPSTREAM_MODEL })
      expect(headers).toMatchObject({
        authorization: `Bearer ${UPSTREAM_KEY}`,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'user-agent': expect.stringMatching(/^compat-router/),
      })
      for (const name of ['cookie', 'x-forwarded-for', 'x-request-id']) {
        expect(headers).not.toHaveProperty(name)
      }
    })
  })

  describe('a stream', () => {
    test('has exactly the documented frames, and costs the amount in the ledger', async () => {
      service.upstream.scriptOnce(STREAM)
      const response = await service.post(ask({ stream: true }), label())
      expect(response.status).toBe(200)
      expect(response.headers).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
        'x-content-type-options': 'nosniff',
      })
      expect(response.headers).not.toHaveProperty('content-length')
      const text = await response.text()
      const frames = text.split('\n\n')
      expect(frames.pop()).toBe('')
      expect(frames.pop()).toBe('data: [DONE]')
      for (const frame of frames) expect(frame).toMatch(/^data: \{.*\}$/)
      const chunks = framesOf(text)
      const { id } = chunks[0] as { id: string }
      const head = { id, object: 'chat.completion.chunk', created: CREATED, model: MODEL }
      const choice = (delta: object, more: object = {}) => [
        { index: 0, delta, logprobs: null, finish_reason: null, ...more },
      ]
      expect(chunks).toEqual([
        { ...head, choices: choice({ role: 'assistant', content: 'Hello' }) },
        { ...head, choices: choice({ content: ', wörld \u{1f600}!' }) },
        { ...head, choices: choice({}, { finish_reason: 'stop', native_finish_reason: 'eos' }) },
        { ...head, choices: [], usage: USAGE },
      ])
      expect(text.match(/"usage"/g)).toHaveLength(1)
      const entry = await entryAfter(requestIdOf(response))
      expect(entry?.facts?.completionId).toBe(id)
      expect(entry?.charge?.cost).toBe(nanos(BASE_COST))
      expect(wireCharge(text)?.cost).toBe(nanos(BASE_COST))
    })

    test('is requested with its usage, whatever the client asked for', async () => {
      service.upstream.scriptOnce(STREAM)
      const response = await service.post(
        ask({ stream: true, stream_options: { include_usage: false } }),
        label(),
      )
      expect(framesOf(await response.text()).at(-1)).toHaveProperty('usage')
      expect(service.upstream.requests.at(-1)!.body).toMatchObject({
        stream: true,
        stream_options: { include_usage: true },
      })
    })

    test('arrives while the provider is still writing, even at a client that accepts gzip', async () => {
      const { reply, response } = await openStream(service, { ...label(), 'accept-encoding': 'gzip' })
      expect(response.headers).not.toHaveProperty('content-encoding')
      let received = ''
      const saw = new Promise<void>((resolve) => {
        response.body.on('data', (bytes) => {
          received += bytes
          if (received.includes('still writing')) resolve()
        })
      })
      await saw
      expect(received).not.toContain('[DONE]')
      const ended = new Promise((resolve) => response.body.on('end', resolve))
      await reply.write(sse([finishChunk(), '[DONE]']))
      reply.end()
      await ended
      expect(received).toMatch(/data: \[DONE\]\n\n$/)
    })

    test('that the provider breaks off ends with the error and its charge, without [DONE]', async () => {
      const { reply, response } = await openStream(service, label())
      reply.reset()
      const text = await response.text()
      expect(text).not.toContain('[DONE]')
      expect(text).not.toContain('"stop"')
      const chunks = framesOf(text)
      expect(chunks.at(-1)).toEqual({
        error: {
          message: expect.any(String),
          type: 'server_error',
          param: null,
          code: 'provider_error',
          source: 'provider',
          metadata: { usage: FREE_USAGE },
        },
      })
      expect(await entryAfter(requestIdOf(response))).toBeUndefined()
    })

    test('that breaks off after its usage ends with the error and the charge', async () => {
      service.upstream.scriptOnce(
        answerEvents([
          textChunk('Hi'),
          finishChunk(),
          usageChunk(),
          { error: { message: 'The model fell over.' } },
        ]),
      )
      const response = await service.post(ask({ stream: true }), label())
      const text = await response.text()
      expect(text).not.toContain('[DONE]')
      expect(framesOf(text).at(-1)).toEqual({
        error: expect.objectContaining({ metadata: { usage: USAGE } }),
      })
      expect((await entryAfter(requestIdOf(response)))?.charge?.cost).toBe(nanos(BASE_COST))
    })

    test('whose client leaves is aborted at the provider, and the output so far is charged', async () => {
      const { reply, request, response } = await openStream(service, label())
      response.body.destroy()
      await request.closed
      expect(reply.open).toBe(false)
      const end = await service.event('request-end', requestIdOf(response))
      expect(end).toMatchObject({ outcome: 'client-left', charge: { basis: 'estimated' } })
      const entry = await entryAfter(requestIdOf(response))
      expect(entry?.charge?.cost).toBe(end.charge?.cost)
      expect(entry?.charge?.cost).toBeGreaterThan(0n)
    })

    test('that fails before its first token is an ordinary error', async () => {
      service.upstream.scriptOnce(answerEvents([{ error: { message: 'No.', code: 500 } }]))
      const response = await service.post(ask({ stream: true }), label())
      expect(response.status).toBe(502)
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(await response.json()).toMatchObject({ error: { code: 'provider_error' } })
    })
  })

  describe('an access token', () => {
    test.each([
      [false, answerJson(providerReply())],
      [true, STREAM],
    ])('pays base and markup, which go to platform and app (stream: %s)', async (stream, script) => {
      service.upstream.scriptOnce(script)
      const accounts = ['alice', 'bob', 'platform', 'app-owner']
      const before = await Promise.all(accounts.map((account) => service.posted(account)))
      const response = await service.post(ask({ stream }), { ...AS_BOB, ...label() })
      const text = await response.text()
      expect(text).toContain(`"cost":${MARKED_UP_COST},`)
      expect(text).toContain(`"base_cost":${BASE_COST},`)
      expect(text).toContain(`"markup_cost":${MARKUP_COST}}`)
      const told = wireCharge(text)!
      expect(told.base + told.markup).toBe(told.cost)
      const entry = await entryAfter(requestIdOf(response))
      expect(entry?.charge).toMatchObject({ cost: told.cost, base: told.base, markup: told.markup })
      expect(entry?.facts).toMatchObject({ account: 'bob', appId: 'app-1' })
      const after = await Promise.all(accounts.map((account) => service.posted(account)))
      expect(after.map((amount, index) => amount - before[index]!)).toEqual([
        0n,
        -nanos(MARKED_UP_COST),
        nanos(BASE_COST),
        nanos(MARKUP_COST),
      ])
    })

    test('lists every model, but cannot use a model that its app may not use', async () => {
      const list = await service.get('/models', ACCESS_TOKEN)
      expect(((await list.json()) as { data: unknown[] }).data).toHaveLength(4)
      const asked = service.asked.length
      const response = await service.post(ask({ model: 'acme/very/slow:free' }), { ...AS_BOB, ...label() })
      expect(response.status).toBe(403)
      expect(await response.json()).toMatchObject({
        error: { code: 'model_not_allowed', message: expect.stringMatching(/app-1.*acme\/very\/slow:free/) },
      })
      expect(service.asked).toHaveLength(asked)
    })
  })

  describe('the models API', () => {
    const fast = {
      id: MODEL,
      object: 'model',
      created: CREATED,
      owned_by: 'acme',
      root: MODEL,
      parent: null,
      name: 'Fast',
      description: '',
      context_length: 8_000,
      canonical_slug: MODEL,
      architecture: { modality: 'text->text', input_modalities: ['text'], output_modalities: ['text'] },
      top_provider: { context_length: 8_000, max_completion_tokens: null, is_moderated: false },
      supported_parameters: expect.arrayContaining(['tools', 'temperature']),
      pricing: {
        prompt: '0.000002',
        completion: '0.000008',
        input_cache_read: '0.000001',
        input: '2',
        cachedInput: '1',
        output: '8',
        request: '0.0001',
      },
      per_request_limits: null,
      default_parameters: null,
      supported_voices: null,
      links: { details: `/models/${MODEL}` },
    }

    test.each(['/models', '/models/', '/models?limit=1'])('GET %s is the list', async (path) => {
      const response = await service.get(path)
      expect(response.status).toBe(200)
      const list = (await response.json()) as { object: string; data: object[] }
      expect(list.object).toBe('list')
      expect(list.data[0]).toEqual(fast)
      expect(list.data).toHaveLength(4)
      for (const model of list.data) {
        expect(model).toMatchObject({ object: 'model', created: expect.any(Number), parent: null })
      }
    })

    test.each([
      ['/models/acme/fast', MODEL],
      ['/models/acme%2Ffast', MODEL],
      ['/models/acme%2ffast?x=1', MODEL],
      ['/models/%61cme/fast', MODEL],
      ['/models/acme/very/slow:free', 'acme/very/slow:free'],
      ['/models/acme%2Fvery%2Fslow%3Afree', 'acme/very/slow:free'],
      ['//models///acme/fast', 'acme/fast'],
      ['/models//acme%2Ffast', 'acme/fast'],
    ])('GET %s is the model %s', async (path, id) => {
      const response = await service.get(path)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ id, object: 'model' })
    })

    test.each([
      ['/models/acme%252Ffast', 'acme%2Ffast'],
      ['/models/Acme/fast', 'Acme/fast'],
      ['/models/acme//fast', 'acme//fast'],
      ['/models/acme/fast/', 'acme/fast/'],
      ['/models/constructor', 'constructor'],
      ['/models/%E0%A4%A', '%E0%A4%A'],
    ])('GET %s is 404, naming %s', async (path, named) => {
      const response = await service.get(path)
      if ('decodesPaths' in host && path === '/models/%E0%A4%A') {
        expect(response.status).toBe(400)
        return
      }
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({
        error: {
          code: 'model_not_found',
          type: 'invalid_request_error',
          message: expect.stringContaining(named),
        },
      })
    })

    test('require a credential', async () => {
      for (const path of ['/models', '/models/acme/fast']) {
        const response = await service.host.request(path)
        expect(response.status).toBe(401)
        expect(response.headers['www-authenticate']).toMatch(/^Bearer /)
        expect(await response.json()).toMatchObject({ error: { code: 'missing_credential' } })
      }
    })
  })

  describe('the other endpoints', () => {
    test('openapi.json describes these endpoints and is public', async () => {
      const response = await service.host.request('/openapi.json')
      expect(response.status).toBe(200)
      expect(response.headers['cache-control']).toBe('public, max-age=300')
      const document = (await response.json()) as { openapi: string; paths: object; servers: unknown }
      expect(document.openapi).toMatch(/^3\.1\./)
      expect(Object.keys(document.paths)).toEqual(
        expect.arrayContaining(['/chat/completions', '/models', '/models/{model_key}', '/openapi.json']),
      )
      expect(JSON.stringify(document.servers)).not.toMatch(/127\.0\.0\.1|localhost/)
    })

    test('envelope-keys does not exist without a keyring', async () => {
      const response = await service.host.request('/envelope-keys')
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { code: 'not_found' } })
    })

    test('a path that does not exist is 404, before any credential is checked', async () => {
      const response = await service.host.request('/completions', { method: 'POST' })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({
        error: { code: 'not_found', type: 'invalid_request_error', param: null },
      })
    })

    test('POST /responses is a charged call', async () => {
      for (const path of ['/responses', '//responses/']) {
        service.upstream.scriptOnce(answerJson(providerReply()))
        const response = await service.host.request(path, {
          method: 'POST',
          headers: { ...AS_ALICE, ...label(), 'content-type': 'application/json' },
          body: JSON.stringify({ model: MODEL, input: 'Say hello.' }),
        })
        expect(response.status).toBe(200)
        expect(await response.json()).toMatchObject({ object: 'response' })
        const entry = await entryAfter(requestIdOf(response))
        expect(entry?.charge).toMatchObject({ cost: nanos(BASE_COST) })
      }
    })

    test.each(['//chat/completions', '/chat///completions', '///chat//completions/'])(
      'POST %s is a charged completion',
      async (path) => {
        service.upstream.scriptOnce(answerJson(providerReply()))
        const response = await service.host.request(path, {
          method: 'POST',
          headers: { ...AS_ALICE, ...label(), 'content-type': 'application/json' },
          body: JSON.stringify(ask()),
        })
        expect(response.status).toBe(200)
        expect(await response.json()).toMatchObject({ object: 'chat.completion' })
        const entry = await entryAfter(requestIdOf(response))
        expect(entry?.charge).toMatchObject({ cost: nanos(BASE_COST) })
      },
    )

    test.each([
      ['POST', '/v1/chat/completions'],
      ['POST', '//v1//chat/completions'],
      ['POST', '/v1/embeddings'],
      ['POST', '/v1/responses'],
      ['GET', '/v1/models'],
      ['GET', '/v1/models/acme/fast'],
      ['GET', '/v1/openapi.json'],
    ])('%s %s is 404, naming the base URL to use', async (method, path) => {
      const response = await service.host.request(path, { method })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({
        error: {
          code: 'not_found',
          message: expect.stringContaining(`ends with ${MOUNT}, without another /v1`),
        },
      })
    })

    test.each([
      ['GET', '/chat/completions', 'POST, OPTIONS'],
      ['POST', '/models', 'GET, HEAD, OPTIONS'],
      ['DELETE', '/models/acme/fast', 'GET, HEAD, OPTIONS'],
      ['GET', '/responses', 'POST, OPTIONS'],
    ])('%s %s is 405, before any credential is checked', async (method, path, allow) => {
      const response = await service.host.request(path, { method })
      expect(response.status).toBe(405)
      expect(response.headers.allow).toBe(allow)
      expect(await response.json()).toMatchObject({ error: { code: 'method_not_allowed' } })
    })

    test('OPTIONS is 204 with the allowed methods', async () => {
      const response = await service.host.request('/chat/completions', { method: 'OPTIONS' })
      expect([response.status, response.headers.allow]).toEqual([204, 'POST, OPTIONS'])
      expect(await response.text()).toBe('')
    })

    test('HEAD has the status and headers of GET', async () => {
      for (const path of ['/models', '/models/acme/fast', '/models/no/such', '/openapi.json']) {
        const get = await service.get(path)
        await get.text()
        const head = await service.host.request(path, {
          method: 'HEAD',
          headers: { authorization: 'Bearer sk-wire-alice' },
        })
        expect(head.status).toBe(get.status)
        expect(head.headers['content-type']).toBe(get.headers['content-type'])
        expect(await head.text()).toBe('')
      }
    })
  })

  describe('the request id', () => {
    test('of the client is kept if it is valid, on every kind of answer', async () => {
      service.upstream.scriptOnce(answerJson(providerReply()), STREAM)
      const id = { 'x-request-id': 'Client:1/a+b=@c._-' }
      for (const request of [
        () => service.post(ask(), id),
        () => service.post(ask({ stream: true }), id),
        () => service.post('{}', id),
        () => service.host.request('/models', { headers: id }),
        () => service.host.request('/nothing', { headers: id }),
      ]) {
        const response = await request()
        expect(requestIdOf(response)).toBe('Client:1/a+b=@c._-')
        await response.text()
      }
    })

    test.each(['', 'white space', 'ü', 'x'.repeat(129), '<script>'])('%j is replaced', async (sent) => {
      const response = await service.host.request('/models', { headers: { 'x-request-id': sent } })
      expect(requestIdOf(response)).toMatch(/^[A-Za-z0-9._:/+=@-]{16,128}$/)
      expect(requestIdOf(response)).not.toBe(sent)
      await response.text()
    })
  })
})

/** A stream that has begun at both ends and continues when the test says so. */
async function openStream(
  service: WireService,
  headers: Readonly<Record<string, string>>,
): Promise<{ reply: ScriptedReply; request: ScriptedRequest; response: HostResponse }> {
  const asked = new Promise<{ reply: ScriptedReply; request: ScriptedRequest }>((resolve) => {
    service.upstream.scriptOnce(async (reply, request) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('The provider is still writing')]))
      resolve({ reply, request })
    })
  })
  const response = await service.post(ask({ stream: true }), headers)
  expect(response.status).toBe(200)
  return { ...(await asked), response }
}
