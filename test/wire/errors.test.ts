import { expect, test } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import {
  type Envelopes,
  type ErrorCode,
  errorCodes,
  generateEnvelopeKey,
  type IdempotencyStore,
  keyring,
  type RouterOptions,
} from '../../src/index.js'
import type { HostResponse } from '../helpers/hosts.js'
import { answerEvents, answerJson, type Script, textChunk } from '../helpers/scripted-upstream.js'
import { RawClient } from '../http/fixture.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  ask,
  MODEL,
  providerReply,
  type ServiceOptions,
  tokens,
  UPSTREAM_KEY,
  UPSTREAM_MODEL,
  WireService,
} from './service.js'

interface ErrorCase {
  readonly options?: ServiceOptions
  /** How the provider answers. Without it the provider must not be asked. */
  readonly provider?: Script
  readonly run: (service: WireService) => Promise<HostResponse | RawAnswer>
  readonly param?: string
  readonly source?: 'provider'
  /** What stands in the message. */
  readonly says?: RegExp
  /** Headers that this answer has and most do not. `retry-after` may be any number of seconds that clients heed. */
  readonly headers?: Readonly<Record<string, string>>
  /** Some other part of the error. */
  readonly more?: object
}

type RawAnswer = Pick<HostResponse, 'status' | 'headers' | 'text'>

const PROVIDER_KEY = 'sk-own-27b4e84f0aa3c6d1'
const envelopeKey = await generateEnvelopeKey('wire-test')
const seal = (provider: string, account: string, expiresAt?: number) =>
  sealProviderKey(
    { key: PROVIDER_KEY, provider, account, ...(expiresAt !== undefined && { expiresAt }) },
    keyring([envelopeKey]).publicKeys().keys[0]!,
  )
const sealedFor = (provider: string, account: string, expiresAt?: number) => async (service: WireService) =>
  service.post(ask({ provider, provider_key: await seal(provider, account, expiresAt) }))

const BOB = { authorization: `Bearer ${ACCESS_TOKEN}` }
const as = (token: string) => (service: WireService) =>
  service.post(ask(), { authorization: `Bearer ${token}` })
const posts =
  (more: Readonly<Record<string, unknown>> = {}, headers: Readonly<Record<string, string>> = {}) =>
  (service: WireService) =>
    service.post(ask(more), headers)
const refusedWith = (status: number, error: object = {}, headers = {}) =>
  answerJson({ error: { message: 'Nothing that a client may see.', ...error } }, status, headers)
const given = (router: NonNullable<ServiceOptions['router']>, more: ServiceOptions = {}): ServiceOptions => ({
  ...more,
  router,
})
const faulty = (router: NonNullable<ServiceOptions['router']>) => given(router, { expectsFaults: true })
const down = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:5432'))
const envelopes: Envelopes = keyring([envelopeKey])
const withKeyring = given(({ clock }) => ({ envelopes: keyring([envelopeKey], { clock: clock! }) }))

const UNAUTHENTICATED = 'Bearer realm="compat"'
const NEVER_AGAIN = { 'x-should-retry': 'false' }

/** Every code of the table in the README, and how a client comes to it. */
const cases: Record<ErrorCode, ErrorCase> = {
  invalid_json: { run: (service) => service.post('{"model":') },
  invalid_request: { run: posts({ messages: [{ role: 'user', content: 5 }] }), param: 'messages.0.content' },
  unsupported_parameter: { run: posts({ models: [MODEL] }), param: 'models', says: /routing/ },
  invalid_session_id: { run: posts({ session_id: 'é'.repeat(513) }), param: 'session_id' },
  provider_key_not_encrypted: {
    options: withKeyring,
    run: posts({ provider: 'p0', provider_key: PROVIDER_KEY }),
    param: 'provider_key',
  },
  provider_key_invalid: {
    options: withKeyring,
    run: posts({ provider: 'p0', provider_key: 'v1.eyJhbGciOiJub25lIn0.a.b.c.d' }),
    param: 'provider_key',
  },
  provider_key_expired: {
    options: withKeyring,
    run: sealedFor('p0', 'alice', 1_600_000_000_000),
    param: 'provider_key',
  },
  provider_key_mismatch: { options: withKeyring, run: sealedFor('p0', 'bob'), param: 'provider_key' },
  provider_key_rejected: {
    options: withKeyring,
    provider: refusedWith(401),
    run: sealedFor('p0', 'alice'),
    param: 'provider_key',
    source: 'provider',
  },
  provider_not_enabled: {
    options: withKeyring,
    run: sealedFor('p9', 'alice'),
    param: 'provider',
    says: /acme\/fast/,
  },
  no_route_matches: { run: posts({ routing: { max_price: { input: 1 } } }), param: 'routing' },
  context_length_exceeded: {
    provider: refusedWith(400, {
      message: `The maximum context of ${UPSTREAM_MODEL} is 8000 tokens.`,
      code: 'context_length_exceeded',
      param: 'messages',
    }),
    run: posts(),
    param: 'messages',
    source: 'provider',
    says: /^The maximum context of acme\/fast is 8000 tokens\.$/,
  },
  provider_rejected_request: {
    provider: refusedWith(422, {
      message: `Bad top_k; key ${UPSTREAM_KEY} at https://host.internal/v1`,
      param: 'top_k',
    }),
    run: posts({ top_k: -1 }),
    param: 'top_k',
    source: 'provider',
    says: /^Bad top_k; key (?!.*(?:5f1c9d27|internal)).*$/,
  },
  missing_credential: {
    run: (service) =>
      service.host.request('/chat/completions', {
        method: 'POST',
        body: '{',
        headers: { 'x-api-key': API_KEY },
      }),
    headers: { 'www-authenticate': UNAUTHENTICATED },
  },
  invalid_api_key: {
    run: as('sk-nobody-has-this'),
    headers: { 'www-authenticate': `${UNAUTHENTICATED}, error="invalid_token"` },
  },
  expired_credential: {
    run: as(tokens.expired),
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) },
  },
  revoked_credential: {
    run: as(tokens.revoked),
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) },
  },
  insufficient_credits: { run: as(tokens.poor), headers: NEVER_AGAIN },
  credits_on_hold: {
    provider: (reply) => reply.closed,
    async run(service) {
      // 50 tokens of output at 8 credits a million, 2,000 times: nearly all that Alice has is on hold.
      const asked = service.upstream.nextRequest()
      void service.post(ask({ max_tokens: 120_000 })).catch(() => undefined)
      await asked
      return service.post(ask({ max_tokens: 120_000 }))
    },
    headers: { 'retry-after': '5', 'x-should-retry': 'true' },
  },
  insufficient_scope: {
    run: as(tokens.unscoped),
    headers: {
      'www-authenticate': expect.stringMatching(/^Bearer .*error="insufficient_scope", scope="models.run"$/),
    },
  },
  model_not_allowed: {
    run: posts({ model: 'acme/nowhere' }, BOB),
    param: 'model',
    says: /app-1.*acme\/nowhere/,
  },
  app_mismatch: { run: posts({ app_id: 'app-2' }, BOB), param: 'app_id' },
  account_suspended: { run: as(tokens.suspended) },
  model_not_found: { run: posts({ model: 'acme/unheard-of' }), param: 'model', says: /acme\/unheard-of/ },
  not_found: { run: (service) => service.host.request('/completions', { method: 'POST' }) },
  method_not_allowed: {
    run: (service) => service.host.request('/models', { method: 'DELETE' }),
    headers: { allow: 'GET, HEAD, OPTIONS' },
  },
  request_timeout: {
    async run(service) {
      const client = await RawClient.connect(service.host.port)
      client.write(
        `POST /compat/v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${API_KEY}\r\n` +
          'content-length: 100\r\n\r\n{"model"',
      )
      await untilPending(service)
      await service.clock.elapse(15_000)
      await client.untilClosed()
      return rawAnswer(client.received)
    },
    headers: { ...NEVER_AGAIN, connection: 'close' },
  },
  idempotency_in_flight: {
    options: given(() => ({
      idempotency: { store: store({ claim: async () => ({ state: 'in-flight' }) }) },
    })),
    run: posts({}, { 'idempotency-key': 'one' }),
    headers: { 'retry-after': expect.any(String) },
  },
  idempotency_completed: {
    options: given(() => ({ idempotency: { keepBodies: false } })),
    provider: answerJson(providerReply()),
    async run(service) {
      await (await service.post(ask(), { 'idempotency-key': 'one' })).text()
      return service.post(ask(), { 'idempotency-key': 'one' })
    },
    headers: NEVER_AGAIN,
    more: { metadata: { usage: expect.objectContaining({ cost: 0.000174, prompt_tokens: 11 }) } },
  },
  idempotency_mismatch: {
    provider: answerJson(providerReply()),
    async run(service) {
      await (await service.post(ask(), { 'idempotency-key': 'one' })).text()
      return service.post(ask({ max_tokens: 51 }), { 'idempotency-key': 'one' })
    },
  },
  request_too_large: {
    options: { limits: { bodyBytes: 100 } },
    run: posts({ padding: 'x'.repeat(100) }),
  },
  unsupported_media_type: { run: posts({}, { 'content-type': 'text/plain' }) },
  rate_limited: {
    provider: refusedWith(429, {}, { 'retry-after': '3600' }),
    run: posts(),
    source: 'provider',
    headers: { 'retry-after': '59' },
  },
  internal_error: {
    options: faulty(() => ({ credentials: { resolve: () => ({ ok: true }) as never } })),
    run: posts(),
    says: /^An internal error occurred\./,
  },
  price_missing: { run: posts({ model: 'acme/priceless' }) },
  provider_error: { provider: refusedWith(500), run: posts(), source: 'provider' },
  provider_invalid_response: {
    provider: answerJson('<html>It works!</html>'),
    run: posts(),
    source: 'provider',
    headers: NEVER_AGAIN,
  },
  provider_auth_failed: { provider: refusedWith(403), run: posts(), source: 'provider' },
  no_route_available: { run: posts({ model: 'acme/nowhere' }) },
  provider_overloaded: { provider: refusedWith(529), run: posts(), source: 'provider' },
  overloaded: { options: given(() => ({ admit: down })), run: posts() },
  ledger_unavailable: {
    options: faulty(({ ledger }) => ({ ledger: { ...ledger, hold: down } })),
    run: posts(),
  },
  credential_store_unavailable: { options: faulty(() => ({ credentials: { resolve: down } })), run: posts() },
  catalogue_unavailable: {
    options: faulty(({ catalogue }) => ({ catalogue: { ...catalogue, get: down } })),
    run: posts(),
  },
  provider_registry_unavailable: { options: faulty(() => ({ providers: { routes: down } })), run: posts() },
  envelope_opener_unavailable: {
    options: faulty(() => ({ envelopes: { ...envelopes, open: down } })),
    run: sealedFor('p0', 'alice'),
  },
  idempotency_store_unavailable: {
    options: faulty(() => ({ idempotency: { store: store({ claim: down }) } })),
    run: posts({}, { 'idempotency-key': 'one' }),
  },
  shutting_down: {
    async run(service) {
      await service.router.close()
      return service.post(ask())
    },
  },
  provider_timeout: {
    provider: (reply) => reply.closed,
    async run(service) {
      const asked = service.upstream.nextRequest()
      const answered = service.post(ask())
      await asked
      await service.clock.elapse(120_000)
      return answered
    },
    source: 'provider',
    headers: NEVER_AGAIN,
  },
}

test.each(errorCodes)('$status $code comes whole, costs nothing, and tells no secret', async (expected) => {
  const { headers = {}, more = {}, options, param = null, provider, run, says, source } = cases[expected.code]
  const service = await WireService.start(options)
  try {
    if (provider !== undefined) service.upstream.script(provider)
    const response = await run(service)
    const text = await response.text()
    expect(response.status).toBe(expected.status)
    const { error, ...rest } = JSON.parse(text)
    expect(rest).toEqual({})
    expect(error).toEqual({
      message: expect.stringMatching(says ?? /./),
      type: expected.type,
      param,
      code: expected.code,
      source: source ?? 'gateway',
      ...('details' in error && { details: expect.any(Array) }),
      ...('metadata' in error && { metadata: expect.any(Object) }),
      ...more,
    })
    const waits = expected.status === 429 || expected.status === 503
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[\w.:/+=@-]{1,128}$/),
      ...(waits && { 'retry-after': expect.stringMatching(/^(?:[1-9]|[1-5]\d)$/) }),
      ...headers,
    })
    for (const name of ['www-authenticate', 'x-should-retry', 'allow', 'etag']) {
      if (!Object.hasOwn(headers, name)) expect(response.headers).not.toHaveProperty(name)
    }
    if (!waits && !Object.hasOwn(headers, 'retry-after')) {
      expect(response.headers).not.toHaveProperty('retry-after')
    }
    for (const secret of [UPSTREAM_KEY, PROVIDER_KEY, API_KEY, ACCESS_TOKEN, '10.0.0.7', UPSTREAM_MODEL]) {
      expect(text + JSON.stringify(response.headers)).not.toContain(secret)
    }
    if (provider === undefined) expect(service.asked).toEqual([])
    const answered = service.asked.length > 0 && expected.status >= 409 && expected.status < 423
    const credit = 1_000_000_000n
    if (!answered) expect(await service.posted('alice')).toBe(credit)
    expect(await service.posted('bob')).toBe(credit)
  } finally {
    await service.close()
  }
})

test('an error of the provider before the first token is the same for a client that asked for a stream', async () => {
  const service = await WireService.start()
  const scripts: readonly (readonly [Script, number, ErrorCode])[] = [
    [refusedWith(429), 429, 'rate_limited'],
    [refusedWith(503), 503, 'provider_overloaded'],
    [refusedWith(408), 504, 'provider_timeout'],
    [refusedWith(402), 502, 'provider_error'],
    [refusedWith(404), 502, 'provider_error'],
    [refusedWith(413), 400, 'provider_rejected_request'],
    [[{ head: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'end'], 502, 'provider_invalid_response'],
    [['reset'], 502, 'provider_error'],
    [
      [{ head: 200, headers: { 'content-type': 'text/event-stream' } }, 'end'],
      502,
      'provider_invalid_response',
    ],
    [answerEvents([{ error: { message: 'Slow down.', code: 429 } }]), 429, 'rate_limited'],
    [answerEvents([{ ...textChunk('x'), choices: 'none' }]), 502, 'provider_invalid_response'],
  ]
  for (const [script, status, code] of scripts) {
    service.upstream.scriptOnce(script)
    const response = await service.post(ask({ stream: true }))
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }])
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  }
  expect(await service.posted('alice')).toBe(1_000_000_000n)
  await service.close()
})

test('a second authorization line is refused, whatever stands in the first', async () => {
  const service = await WireService.start()
  const client = await RawClient.connect(service.host.port)
  const line = `authorization: Bearer ${API_KEY}\r\n`
  client.write(`GET /compat/v1/models HTTP/1.1\r\nhost: a\r\n${line}${line}connection: close\r\n\r\n`)
  await client.untilClosed()
  const { status, text } = rawAnswer(client.received)
  expect([status, JSON.parse(await text())]).toMatchObject([401, { error: { code: 'invalid_api_key' } }])
  await service.close()
})

test.each([
  { what: 'of another scheme', authorization: 'Basic c2std2lyZS1hbGljZQ==', code: 'missing_credential' },
  { what: 'without a token', authorization: 'Bearer', code: 'invalid_api_key' },
  {
    what: 'with a token that is too long',
    authorization: `Bearer ${'x'.repeat(8_193)}`,
    code: 'invalid_api_key',
  },
  { what: 'with two tokens', authorization: `Bearer ${API_KEY} ${API_KEY}`, code: 'invalid_api_key' },
  { what: 'in any case and after any spaces', authorization: `bEaReR    ${API_KEY}`, code: undefined },
])('an authorization $what is answered with $code', async ({ authorization, code }) => {
  const service = await WireService.start()
  const response = await service.host.request('/models', { headers: { authorization } })
  expect(response.status).toBe(code === undefined ? 200 : 401)
  const body = (await response.json()) as { error?: { code: string } }
  expect(body.error?.code).toBe(code)
  await service.close()
})

function store(
  parts: Partial<IdempotencyStore>,
): NonNullable<RouterOptions['idempotency']>['store'] & object {
  return {
    claim: async () => ({ state: 'mine' }),
    complete: async () => {},
    abandon: async () => {},
    ...parts,
  }
}

/** Waits until the router waits for the rest of a body. */
async function untilPending(service: WireService): Promise<void> {
  const before = service.clock.pending
  while (service.clock.pending <= before) await new Promise((resolve) => setImmediate(resolve))
}

function rawAnswer(received: string): RawAnswer {
  const [head = '', ...body] = received.split('\r\n\r\n')
  const [line = '', ...headers] = head.split('\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(headers.map((header) => header.split(': ', 2) as [string, string])),
    text: async () => body.join('\r\n\r\n'),
  }
}
