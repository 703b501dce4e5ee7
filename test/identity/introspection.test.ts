import type { ServerResponse } from 'node:http'
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSecret, introspectionCredentials, type Principal } from '../../src/index.js'
import type { IntrospectionCredentialsOptions, TokenClaims } from '../../src/stores.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { AUDIENCE, claims, ISSUER, json, NOW, NOW_SECONDS, newKey, startServer } from './issuer.js'

const UNKNOWN = { ok: false, reason: 'unknown' }
const AUTH = { clientId: 'compat-router', clientSecret: 'its secret' }
const MAX_AT_ONCE = 50

const principal = ({ sub, client_id }: TokenClaims): Principal => ({
  kind: 'api-key',
  account: String(sub),
  credentialId: `${ISSUER} ${sub} ${client_id}`,
})

async function open(options: Partial<IntrospectionCredentialsOptions> & { answer?: unknown } = {}) {
  const { answer = { active: true, ...claims() }, ...rest } = options
  const clock = createSteppedClock(NOW)
  const server = await startServer((_, res) => json(res, answer))
  onTestFinished(() => server.close())
  const { accept, audience = accept === undefined ? AUDIENCE : undefined, ...more } = rest
  const store = introspectionCredentials({
    endpoint: `${server.url}introspect`,
    auth: AUTH,
    principal,
    clock,
    ...(accept === undefined ? { audience } : { accept }),
    ...more,
  } as IntrospectionCredentialsOptions)
  onTestFinished(() => store.close())
  const resolve = async (token: string, signal = new AbortController().signal) =>
    store.resolve(token, { requestId: 'one', signal })
  return { clock, resolve, server, store }
}

/** Answers only when the test says so. */
function holdAnswers(server: Awaited<ReturnType<typeof open>>['server']) {
  const waiting: ServerResponse[] = []
  const listeners: (() => void)[] = []
  server.answer = (_, res) => {
    waiting.push(res)
    for (const listener of listeners.splice(0)) listener()
  }
  return {
    waiting,
    async arrived(count: number) {
      while (waiting.length < count) await new Promise<void>((resolve) => listeners.push(resolve))
    },
  }
}

describe('a token that is checked by introspection', () => {
  test('admits its holder until it expires', async () => {
    const { resolve, server } = await open()
    expect(await resolve('opaque-1')).toEqual({
      ok: true,
      principal: {
        kind: 'api-key',
        account: 'user-1',
        credentialId: 'https://id.example user-1 notes',
        expiresAt: NOW + 600_000,
      },
    })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      body: 'token=opaque-1',
      headers: { 'content-type': expect.stringContaining('application/x-www-form-urlencoded') },
    })
  })

  test.each([
    ['is not active', { active: false }],
    ['has no active', claims()],
    ['is active in another sense', { ...claims(), active: 'true' }],
    ['has no exp', { ...claims({ exp: undefined }), active: true }],
    ['has an exp that is no number', { ...claims(), exp: '2099', active: true }],
    ['is for another audience', { ...claims({ aud: 'https://other.example' }), active: true }],
    ['has no audience', { ...claims({ aud: undefined }), active: true }],
    ['is bound to a key', { ...claims({ cnf: { jkt: 'abc' } }), active: true }],
    ['has a client_id that is no text', { ...claims({ client_id: 5 }), active: true }],
  ])('that %s is unknown', async (_, answer) => {
    const { resolve } = await open({ answer })
    expect(await resolve('opaque-1')).toEqual(UNKNOWN)
  })

  test.each([undefined, null])(
    'is unknown if its owner is not known: its principal is %s',
    async (nobody) => {
      const { resolve } = await open({ principal: () => nobody })
      expect(await resolve('opaque-1')).toEqual(UNKNOWN)
    },
  )

  test.each(['ann\0', 'ann\n', 'ann\u202e'])(
    'is unknown if its sub could not be printed: %j',
    async (subject) => {
      const { resolve } = await open({ answer: { active: true, ...claims({ sub: subject }) } })
      expect(await resolve('opaque-1')).toEqual(UNKNOWN)
    },
  )

  test('may be for several audiences', async () => {
    const { resolve } = await open({
      answer: { active: true, ...claims({ aud: ['https://x.example', AUDIENCE] }) },
    })
    expect(await resolve('opaque-1')).toMatchObject({ ok: true })
  })

  test('without an audience is accepted only if the host says so', async () => {
    const answer = { active: true, ...claims({ aud: undefined }) }
    const yes = await open({ answer, accept: ({ client_id }) => client_id === 'notes' })
    expect(await yes.resolve('opaque-1')).toMatchObject({ ok: true })
    const no = await open({ answer, accept: () => false })
    expect(await no.resolve('opaque-1')).toEqual(UNKNOWN)
  })

  test('that has expired is refused as expired', async () => {
    const { resolve } = await open({ answer: { active: true, ...claims({ exp: NOW_SECONDS }) } })
    expect(await resolve('opaque-1')).toEqual({ ok: false, reason: 'expired' })
  })

  test.each(['sk-cr-secret', 'at-cr-secret', 'rt-cr-secret'])(
    'such as %s is never sent to the server',
    async (token) => {
      const { resolve, server } = await open()
      expect(await resolve(token)).toEqual(UNKNOWN)
      expect(server.requests).toEqual([])
    },
  )
})

describe('the router authenticates to an introspection server', () => {
  test('with HTTP Basic, encoded as OAuth requires', async () => {
    const auth = { clientId: 'a:b', clientSecret: createSecret('p%ä s') }
    const { resolve, server } = await open({ auth })
    await resolve('opaque-1')
    const [scheme, pair] = String(server.requests[0]!.headers.authorization).split(' ')
    expect([scheme, Buffer.from(pair!, 'base64').toString()]).toEqual(['Basic', 'a%3Ab:p%25%C3%A4+s'])
  })

  test('with a signed assertion', async () => {
    const key = await newKey('router-key', 'EdDSA')
    const privateKey = { ...(await exportJWK(key.privateKey)), alg: 'EdDSA', kid: 'router-key' }
    const { resolve, server } = await open({ auth: { clientId: 'compat-router', privateKey } })
    expect(await resolve('opaque-1')).toMatchObject({ ok: true })
    const { body, headers } = server.requests[0]!
    const sent = new URLSearchParams(body)
    expect(headers.authorization).toBeUndefined()
    expect([sent.get('client_id'), sent.get('client_assertion_type')]).toEqual([
      'compat-router',
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    ])
    const { payload } = await jwtVerify(
      sent.get('client_assertion')!,
      createLocalJWKSet({ keys: [key.jwk] }),
      {
        issuer: 'compat-router',
        subject: 'compat-router',
        audience: `${server.url}introspect`,
        requiredClaims: ['jti'],
        currentDate: new Date(NOW),
      },
    )
    expect(payload.exp).toBe(NOW_SECONDS + 60)
  })
})

describe('introspection answers', () => {
  test('are kept for 5 seconds, so a revoked token is accepted for that long at most', async () => {
    const { clock, resolve, server } = await open()
    await resolve('opaque-1')
    server.answer = (_, res) => json(res, { active: false })
    await clock.elapse(4_999)
    expect(await resolve('opaque-1')).toMatchObject({ ok: true })
    expect(server.requests).toHaveLength(1)
    await clock.elapse(2)
    expect(await resolve('opaque-1')).toEqual(UNKNOWN)
  })

  test('are kept as long as the host says, at most until exp', async () => {
    const { clock, resolve, server } = await open({ ttlMs: 3_600_000 })
    await resolve('opaque-1')
    await clock.elapse(599_999)
    await resolve('opaque-1')
    expect(server.requests).toHaveLength(1)
    await clock.elapse(1)
    expect(await resolve('opaque-1')).toEqual({ ok: false, reason: 'expired' })
    expect(server.requests).toHaveLength(2)
  })

  test('that refuse are kept for a second', async () => {
    const { clock, resolve, server } = await open({ answer: { active: false } })
    await resolve('opaque-1')
    await clock.elapse(999)
    expect(await resolve('opaque-1')).toEqual(UNKNOWN)
    expect(server.requests).toHaveLength(1)
    server.answer = (_, res) => json(res, { active: true, ...claims() })
    await clock.elapse(2)
    expect(await resolve('opaque-1')).toMatchObject({ ok: true })
  })

  test('are shared by concurrent calls', async () => {
    const { resolve, server } = await open()
    const found = await Promise.all(Array.from({ length: 20 }, () => resolve('opaque-1')))
    expect(found.every(({ ok }) => ok)).toBe(true)
    expect(server.requests).toHaveLength(1)
  })

  test('are requested for at most 50 tokens at once', async () => {
    const { resolve, server } = await open()
    const held = holdAnswers(server)
    const found = Array.from({ length: MAX_AT_ONCE }, (_, index) => resolve(`opaque-${index}`))
    await held.arrived(MAX_AT_ONCE)
    await expect(resolve('one-too-many')).rejects.toThrow('50 introspections are in progress')
    for (const res of held.waiting) json(res, { active: true, ...claims() })
    expect((await Promise.all(found)).every(({ ok }) => ok)).toBe(true)
    server.answer = (_, res) => json(res, { active: true, ...claims() })
    expect(await resolve('one-too-many')).toMatchObject({ ok: true })
  })

  test('that do not come within 3 seconds are a fault, and free their slot', async () => {
    const { clock, resolve, server } = await open()
    const held = holdAnswers(server)
    const found = resolve('opaque-1')
    const failed = expect(found).rejects.toThrow('3000 ms')
    await held.arrived(1)
    await clock.elapse(3_000)
    await failed
    server.answer = (_, res) => json(res, { active: true, ...claims() })
    expect(await resolve('opaque-1')).toMatchObject({ ok: true })
  })

  test.each([
    ['an error', (res: ServerResponse) => json(res, {}, 500)],
    [
      'a refusal of our own credentials',
      (res: ServerResponse) => json(res, { error: 'invalid_client' }, 401),
    ],
    ['a redirect', (res: ServerResponse) => res.writeHead(307, { location: 'https://evil.example' }).end()],
    ['a page', (res: ServerResponse) => res.writeHead(200, { 'content-type': 'text/html' }).end('{}')],
    [
      'bad JSON',
      (res: ServerResponse) => res.writeHead(200, { 'content-type': 'application/json' }).end('{'),
    ],
    ['no object', (res: ServerResponse) => json(res, null)],
    ['too long', (res: ServerResponse) => json(res, { active: true, padding: 'x'.repeat(65_536) })],
    ['a closed connection', (res: ServerResponse) => res.destroy()],
  ])('that are %s are a fault, not a refusal, and are not kept', async (_, answer) => {
    const { resolve, server } = await open()
    server.answer = (_req, res) => answer(res)
    await expect(resolve('opaque-1')).rejects.toThrow()
    server.answer = (_req, res) => json(res, { active: true, ...claims() })
    expect(await resolve('opaque-1')).toMatchObject({ ok: true })
  })
})

test('a fault of introspection does not contain the answer', async () => {
  const { resolve, server } = await open()
  server.answer = (_, res) =>
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"email":"ann@acme.example"')
  const error = await resolve('opaque-1').catch((caught) => caught)
  expect(String(error)).not.toContain('ann@')
  expect(String(error)).toContain('did not answer in JSON')
})

describe('an invalid introspection option', () => {
  const good = { endpoint: 'https://id.example/introspect', auth: AUTH, audience: AUDIENCE, principal }

  test.each([
    [{ endpoint: 'http://id.example/introspect' }, 'must begin with https://'],
    [{ endpoint: 'https://id.example/#part' }, 'fragment'],
    [{ auth: undefined }, 'auth'],
    [{ auth: { clientId: 'a' } }, 'auth'],
    [{ auth: { clientId: 'a', clientSecret: '' } }, 'auth'],
    [{ auth: { clientId: 'a', privateKey: { kty: 'OKP' } } }, 'auth'],
    [{ audience: undefined }, 'either audience or accept'],
    [{ accept: () => true }, 'either audience or accept'],
    [{ audience: undefined, accept: 'all' }, 'accept must be a function'],
    [{ principal: undefined }, 'principal is missing'],
    [{ ttlMs: 0 }, 'ttlMs'],
    [{ clock: {} }, 'clock'],
    [{ cache: true }, 'cache'],
  ])('%o throws', (wrong, says) => {
    expect(() => introspectionCredentials({ ...good, ...wrong } as never)).toThrow(says)
  })

  test('never shows the secret in its error', () => {
    const auth = { clientId: 'a', clientSecret: 'its secret', more: 1 }
    expect(() => introspectionCredentials({ ...good, auth } as never)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('its secret') }),
    )
  })
})
