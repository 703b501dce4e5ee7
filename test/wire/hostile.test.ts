import fc from 'fast-check'
import { Client } from 'undici'
import { expect, test } from 'vitest'
import { MOUNT } from '../helpers/listen-http.js'
import { finishChunk, sse, textChunk } from '../helpers/scripted-upstream.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  MODEL,
  providerReply,
  UPSTREAM_MODEL,
  usageChunk,
  WireService,
} from './service.js'

const MARKER = 'Zq7SecretZq7'
const CODE = /^[a-z_]+$/

/** Values that have broken parsers, stores and headers elsewhere. */
const nasty = fc.constantFrom<unknown>(
  ...[null, true, -1, 0, 1e308, 1e-320, -0, 2 ** 53, 0.1],
  ...[
    '',
    MARKER,
    '\u0000',
    '\ud800',
    '\udfff\ud800',
    '\u2028\u2029',
    '\r\nx-injected: 1',
    '../../etc/passwd',
  ],
  ...['__proto__', 'constructor', '%2F', '%00', 'a'.repeat(300), 'é'.repeat(600), '\u202e\u0007'],
  ...[[], {}, [[]], [{}], [null], { type: 'text' }, { length: -1 }, { toString: 1 }],
)
const value = fc.oneof(
  { weight: 3, arbitrary: nasty },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
)
/** Mostly valid, so that later checks are reached. */
const mostly = (good: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: good }, { weight: 1, arbitrary: value })

const part = mostly(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('text'), text: mostly(fc.string()) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('image_url'),
        image_url: mostly(fc.record({ url: mostly(fc.constant('https://a.example/b')) })),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.string(), file: value }) },
  ),
)
const message = mostly(
  fc.record(
    {
      role: mostly(fc.constantFrom('user', 'assistant', 'system', 'tool')),
      content: mostly(fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), fc.constant(null))),
      tool_calls: mostly(fc.constant([])),
      name: mostly(fc.string()),
      parsed: value,
    },
    { requiredKeys: ['role', 'content'] },
  ),
)
const fields: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  stream: fc.boolean(),
  stream_options: fc.constant({ include_usage: true }),
  n: fc.integer({ min: 1, max: 3 }),
  max_tokens: fc.constantFrom<unknown>(1, 100, -1, 2 ** 53, 1e300, '5', 0.5),
  max_completion_tokens: fc.constantFrom<unknown>(1, 100, null),
  session_id: fc.string({ minLength: 1 }),
  routing: fc.record(
    {
      order: mostly(fc.array(fc.constantFrom('p0', 'p1'))),
      sort: fc.constant('price'),
      max_price: mostly(
        fc.record({ output: mostly(fc.constantFrom<unknown>(8, '8', 1e-9, '0.1234567891')) }),
      ),
      allow_fallbacks: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
  app_id: fc.constantFrom('app-1', 'app-2'),
  user: fc.string({ unit: 'binary' }),
  provider: fc.constant('p0'),
  provider_key: fc.constantFrom(MARKER, 'v1.a.b.c.d.e', 'v1.e30..e30.e30.e30'),
  tools: fc.constant([{ type: 'function', function: { name: 'f' } }]),
  tool_choice: fc.constant('auto'),
  response_format: fc.constant({ type: 'json_object' }),
  modalities: fc.constant(['text']),
  service_tier: fc.constant('auto'),
  store: fc.constant(false),
  metadata: mostly(fc.constant({ a: 'b' })),
  action: value,
  connected: value,
  functions: mostly(fc.constant([{ name: 'f' }])),
  temperature: mostly(fc.double({ noNaN: true, noDefaultInfinity: true })),
  stop: mostly(fc.string()),
  __proto__: value,
  constructor: value,
  toString: value,
  models: value,
  '': value,
}
const members = fc.array(
  fc
    .constantFrom(...Object.keys(fields), '__proto__')
    .chain((name) => fc.tuple(fc.constant(name), mostly(fields[name] ?? value))),
  { maxLength: 5 },
)
const request = fc
  .tuple(mostly(fc.constant(MODEL)), mostly(fc.array(message, { minLength: 1, maxLength: 3 })), members)
  .map(([model, messages, more]) =>
    [['model', model], ['messages', messages], ...more]
      .map(([name, held]) => `${JSON.stringify(name)}:${JSON.stringify(held) ?? 'null'}`)
      .join(','),
  )
  .map((text) => `{${text}}`)
const body = fc.oneof(
  { weight: 8, arbitrary: request.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
  // Truncated or with one byte changed: invalid JSON or invalid UTF-8.
  {
    weight: 1,
    arbitrary: fc
      .tuple(request, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([text, at]) => Buffer.from(text.slice(0, at * text.length))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(request, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255))
      .map(([text, at, byte]) => {
        const bytes = Buffer.from(text)
        bytes[Math.floor(at * (bytes.length - 1))] = byte
        return bytes
      }),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
)

const BODY = JSON.stringify(providerReply())
const STREAM = sse([textChunk('Hi'), finishChunk(), usageChunk(), '[DONE]'])
const BODIES = 5_000
const AT_ONCE = 8

test(`${BODIES} random and hostile bodies are answered, each with a completion or a 4xx that repeats none of its content`, async () => {
  const service = await WireService.start()
  service.upstream.script((reply, { body: asked }) => {
    const { stream } = asked as { stream?: boolean }
    reply.head(200, { 'content-type': stream === true ? 'text/event-stream' : 'application/json' })
    void reply.write(stream === true ? STREAM : BODY)
    reply.end()
  })
  const origin = `http://127.0.0.1:${service.host.port}`
  const clients = Array.from({ length: AT_ONCE }, () => new Client(origin))
  const statuses = new Map<string, number>()
  let sent = 0

  const send = async (bytes: Buffer, connection: Client): Promise<void> => {
    const token = sent++ % 3 === 0 ? ACCESS_TOKEN : API_KEY
    const response = await connection.request({
      path: `${MOUNT}/chat/completions`,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: bytes,
    })
    const text = await response.body.text()
    const { statusCode, headers } = response
    const code = statusCode === 200 ? 'ok' : String(JSON.parse(text).error.code)
    statuses.set(code, (statuses.get(code) ?? 0) + 1)
    if (statusCode === 200) {
      expect(text).toMatch(/"cost":0\.000/)
      return
    }
    expect(statusCode, `${text} for ${bytes}`).toBeGreaterThanOrEqual(400)
    expect(statusCode, `${text} for ${bytes}`).toBeLessThan(500)
    expect(code).toMatch(CODE)
    const { error } = JSON.parse(text)
    expect(error.details?.length ?? 0).toBeLessThanOrEqual(20)
    if (code !== 'model_not_found' && !String(error.param).startsWith('tools.')) {
      expect(text).not.toContain(MARKER)
    }
    expect(headers).not.toHaveProperty('x-injected')
  }

  for (const [index, bytes] of fc
    .sample(fc.array(body, { minLength: AT_ONCE, maxLength: AT_ONCE }), {
      seed: 20_261_121,
      numRuns: BODIES / AT_ONCE,
    })
    .entries()) {
    await Promise.all(bytes.map((each, lane) => send(each, clients[lane]!)))
    if (index % 50 === 0) expect(service.router.inFlight).toBe(0)
  }
  expect(sent).toBe(BODIES)
  // The provider saw none of the router's own fields, and only one model.
  for (const { body: asked } of service.asked) {
    expect(asked).toMatchObject({ model: UPSTREAM_MODEL })
    for (const own of [
      'session_id',
      'routing',
      'provider',
      'provider_key',
      'app_id',
      'action',
      'connected',
      'models',
    ]) {
      expect(Object.hasOwn(asked as object, own)).toBe(false)
    }
  }
  // Enough bodies passed, and enough failed, for different reasons.
  expect(statuses.get('ok')).toBeGreaterThan(BODIES / 20)
  for (const code of [
    'invalid_json',
    'invalid_request',
    'unsupported_parameter',
    'model_not_found',
    'provider_key_not_encrypted',
    'invalid_session_id',
    'app_mismatch',
  ]) {
    expect(statuses.get(code), code).toBeGreaterThan(0)
  }
  await Promise.all(clients.map((each) => each.close()))
  await service.close()
}, 120_000)
