import { expect } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { type ErrorCode, generateEnvelopeKey, keyring } from '../../src/index.js'
import type { Envelopes, HoldLimited, IdempotencyStore, Limit, LimitUnit } from '../../src/stores.js'
import { defaultHost } from '../helpers/any-host.js'
import type { HostResponse } from '../helpers/listen-http.js'
import { answerJson, type Script } from '../helpers/scripted-upstream.js'
import { RawClient } from '../http/fixture.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  ask,
  MODEL,
  providerReply,
  type ServiceOptions,
  tokens,
  UPSTREAM_MODEL,
  type WireService,
} from './service.js'

export interface ErrorCase {
  readonly options?: ServiceOptions
  /** The provider's answer. If absent, the provider must not be called. */
  readonly provider?: Script
  readonly run: (service: WireService) => Promise<HostResponse | RawAnswer>
  readonly param?: string
  readonly source?: 'provider'
  /** A part of the message. */
  readonly says?: RegExp
  /**
   * Headers that most other answers do not have. `retry-after` may be any number of seconds that clients
   * respect.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** Another field of the error. */
  readonly more?: object
}

export type RawAnswer = Pick<HostResponse, 'status' | 'headers' | 'text'>

export const PROVIDER_KEY = 'sk-own-27b4e84f0aa3c6d1'
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
export const refusedWith = (status: number, error: object = {}, headers = {}) =>
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
/** Whether the router itself ends the connection of a client whose body it has not read. */
const endsConnections = !('takes' in defaultHost)
const NEVER_AGAIN = { 'x-should-retry': 'false' }

/** Every error code of the table in docs/errors.md, and how a client gets it. */
export const cases: Record<ErrorCode, ErrorCase> = {
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
      message: 'Bad top_k; key sk-live-0123456789 at https://host.internal/v1',
      param: 'top_k',
    }),
    run: posts({ top_k: -1 }),
    param: 'top_k',
    source: 'provider',
    says: /^Bad top_k; key (?!.*(?:0123456789|internal)).*$/,
  },
  missing_credential: {
    run: (service) =>
      service.host.request('/chat/completions', {
        method: 'POST',
        body: '{',
        headers: { 'x-api-key': API_KEY },
      }),
    headers: { ...NEVER_AGAIN, 'www-authenticate': UNAUTHENTICATED },
  },
  invalid_api_key: {
    run: as('sk-nobody-has-this'),
    headers: { ...NEVER_AGAIN, 'www-authenticate': `${UNAUTHENTICATED}, error="invalid_token"` },
  },
  expired_credential: {
    run: as(tokens.expired),
    headers: { ...NEVER_AGAIN, 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) },
  },
  revoked_credential: {
    run: as(tokens.revoked),
    headers: { ...NEVER_AGAIN, 'www-authenticate': expect.stringMatching(/^Bearer .*error="invalid_token"/) },
  },
  insufficient_credits: { run: as(tokens.poor), headers: NEVER_AGAIN },
  credits_on_hold: {
    provider: (reply) => reply.closed,
    async run(service) {
      // 50 output tokens at 8 credits a million, 2,000 times: nearly all of Alice's credits are on hold.
      const asked = service.upstream.nextRequest()
      void service.post(ask({ max_tokens: 120_000 })).catch(() => undefined)
      await asked
      return service.post(ask({ max_tokens: 120_000 }))
    },
    headers: { 'retry-after': '5', 'x-should-retry': 'true' },
  },
  budget_exceeded: {
    options: limited({ unit: 'credits', left: 900_000n, onlyHeld: false }),
    run: posts(),
    says: /^This request needs [\d.]+ credits on hold; the daily budget of this key is 0.0009 credits\. It would fit with max_tokens: 43\.$/,
    headers: NEVER_AGAIN,
  },
  budget_on_hold: {
    options: limited({ unit: 'credits', left: 0n, onlyHeld: true }),
    run: posts(),
    says: /has 0 of 0.0009 credits left while other calls are running\. Try again shortly\.$/,
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
  origin_not_allowed: {
    run: (service) => {
      service.credentials.put('at-wire-page', {
        kind: 'api-key',
        account: 'alice',
        origins: ['https://notes.example'],
      })
      return service.post(ask(), { authorization: 'Bearer at-wire-page', origin: 'https://evil.example' })
    },
    headers: {
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('x-request-id'),
    },
  },
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
      if (endsConnections) await client.untilClosed()
      else await client.untilReceived('}')
      client.socket.destroy()
      return rawAnswer(client.received)
    },
    headers: { ...NEVER_AGAIN, ...(endsConnections && { connection: 'close' }) },
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
    options: { sizes: { bodyBytes: 100 } },
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
  memory_full: {
    options: { sizes: { memoryBytes: 32_768 } },
    provider: (reply) => reply.closed,
    async run(service) {
      const asked = service.upstream.nextRequest()
      void service.post(ask({ user: 'x'.repeat(20_000) })).catch(() => undefined)
      await asked
      return service.post(ask())
    },
    headers: { 'retry-after': '1' },
  },
  overloaded: { options: faulty(() => ({ admit: down })), run: posts() },
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
      await service.clock.elapse(900_000)
      return answered
    },
    headers: NEVER_AGAIN,
  },
}

/** Alice has a limit, and the ledger says that it is reached. */
function limited({
  unit,
  ...reached
}: { unit: LimitUnit } & Pick<HoldLimited, 'left' | 'onlyHeld'>): ServiceOptions {
  const limit: Limit = { id: 'alice-daily', unit, amount: 900_000n, per: 'day' }
  return given(({ ledger }) => ({
    credentials: {
      resolve: () => ({
        ok: true,
        principal: { kind: 'api-key', account: 'alice', credentialId: 'key-1', limits: [limit] },
      }),
    },
    ledger: {
      ...ledger,
      hold: ({ limits }) => ({
        ok: false,
        reason: 'limited',
        bucket: limits![0]!.bucket,
        resetMs: 3_600_000,
        ...reached,
      }),
    },
  }))
}

function store(parts: Partial<IdempotencyStore>): IdempotencyStore {
  return {
    claim: async () => ({ state: 'mine' }),
    complete: async () => {},
    abandon: async () => {},
    ...parts,
  }
}

/** Waits until the router is waiting for the rest of a body. */
async function untilPending(service: WireService): Promise<void> {
  const before = service.clock.pending
  while (service.clock.pending <= before) await new Promise((resolve) => setImmediate(resolve))
}

export function rawAnswer(received: string): RawAnswer {
  const [head = '', ...body] = received.split('\r\n\r\n')
  const [line = '', ...headers] = head.split('\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(headers.map((header) => header.split(': ', 2) as [string, string])),
    text: async () => body.join('\r\n\r\n'),
  }
}
