import type { ServerResponse } from 'node:http'
import { base64url, type JWTPayload, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { jwtCredentials, type Principal } from '../../src/index.js'
import type { JwtClaims, JwtCredentialsOptions } from '../../src/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import {
  AUDIENCE,
  claims,
  ISSUER,
  type IssuerKey,
  json,
  NOW,
  NOW_SECONDS,
  newKey,
  sign,
  startKeySet,
} from './issuer.js'

const CONTEXT = { requestId: 'one', signal: new AbortController().signal }
const HOUR_SECONDS = 3_600
const UNKNOWN = { ok: false, reason: 'unknown' }
const EXPIRED = { ok: false, reason: 'expired' }

const principal = ({ iss, sub, client_id }: JwtClaims): Principal => ({
  kind: 'api-key',
  account: sub,
  credentialId: `${iss} ${sub} ${client_id}`,
})

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW })
})
afterEach(() => {
  vi.useRealTimers()
})

async function open({
  keys,
  ...options
}: Partial<JwtCredentialsOptions> & { keys?: readonly IssuerKey[] } = {}) {
  const key = keys?.[0] ?? (await newKey('one'))
  const set = await startKeySet(...(keys ?? [key]))
  onTestFinished(() => set.server.close())
  const store = jwtCredentials({ issuer: ISSUER, audience: AUDIENCE, jwks: set.url, principal, ...options })
  const resolve = async (token: string) => store.resolve(token, CONTEXT)
  return { key, set, store, resolve }
}

const later = (ms: number) => vi.setSystemTime(Date.now() + ms)

describe('a JWT', () => {
  test('admits its holder until it expires, with the tolerance', async () => {
    const { key, resolve } = await open()
    expect(await resolve(await sign(key))).toEqual({
      ok: true,
      principal: {
        kind: 'api-key',
        account: 'user-1',
        credentialId: 'https://id.example user-1 notes',
        expiresAt: NOW + 605_000,
      },
    })
  })

  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'])('may be signed with %s', async (alg) => {
    const { key, resolve } = await open({ keys: [await newKey('one', alg)] })
    expect(await resolve(await sign(key))).toMatchObject({ ok: true })
  })

  test.each(['RS512', 'ES384'])('may be signed with %s only if the host allows it', async (alg) => {
    const key = await newKey('one', alg)
    const { resolve } = await open({ keys: [key] })
    expect(await resolve(await sign(key))).toEqual(UNKNOWN)
    const named = await open({ keys: [key], algorithms: [alg] })
    expect(await named.resolve(await sign(key))).toMatchObject({ ok: true })
  })

  test('ends earlier if the host says so, and never later', async () => {
    const ending = (expiresAt: number) => (given: JwtClaims) => ({ ...principal(given), expiresAt })
    const early = await open({ principal: ending(NOW + 1_000) })
    expect(await early.resolve(await sign(early.key))).toMatchObject({
      principal: { expiresAt: NOW + 1_000 },
    })
    const late = await open({ principal: ending(NOW + 9e6) })
    expect(await late.resolve(await sign(late.key))).toMatchObject({
      principal: { expiresAt: NOW + 605_000 },
    })
  })

  test('keeps every field of the principal', async () => {
    const whole = {
      ...principal(claims() as unknown as JwtClaims),
      origins: ['https://notes.example'],
      limits: [],
      label: 'Notes',
    }
    const { key, resolve } = await open({ principal: () => whole })
    expect(await resolve(await sign(key))).toMatchObject({
      principal: { ...whole, expiresAt: NOW + 605_000 },
    })
  })

  test.each([undefined, null])('is unknown if the host finds nobody for it, and says %s', async (nobody) => {
    const { key, resolve } = await open({ principal: () => nobody })
    expect(await resolve(await sign(key))).toEqual(UNKNOWN)
  })

  test('is revoked if the host says so, with its owner for the events', async () => {
    const asked: unknown[] = []
    const { key, resolve } = await open({
      principal: (given) => ({
        ...principal(given),
        kind: 'access-token',
        scopes: ['models.run'],
        app: { id: 'notes', markup: { basisPoints: 0 }, allowedModels: [] },
      }),
      isRevoked: async ({ jti }) => {
        asked.push(jti)
        return true
      },
    })
    expect(await resolve(await sign(key, claims({ jti: 'token-1' })))).toEqual({
      ok: false,
      reason: 'revoked',
      credential: { credentialId: 'https://id.example user-1 notes', account: 'user-1', appId: 'notes' },
    })
    expect(asked).toEqual(['token-1'])
  })

  test('is refused as a fault of the host if the credential id is the token itself', async () => {
    const { key, resolve } = await open({
      principal: (given) => ({ ...principal(given), credentialId: String(given.jti) }),
    })
    await expect(resolve(await sign(key, claims({ jti: 'token-1' })))).rejects.toThrow(/full budget/)
  })

  test('cannot pose as an answer of the store', async () => {
    const { key, resolve } = await open({ principal: () => undefined })
    const forged = { ok: true, refusal: { ok: true, principal: principal(claims() as unknown as JwtClaims) } }
    expect(await resolve(await sign(key, claims(forged)))).toEqual(UNKNOWN)
  })
})

describe('a bad JWT is unknown', () => {
  test.each([
    ['another issuer', { iss: 'https://evil.example' }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'https://other.example' }],
    ['no audience', { aud: undefined }],
    ['no exp', { exp: undefined }],
    ['no iat', { iat: undefined }],
    ['no sub', { sub: undefined }],
    ['an empty sub', { sub: '' }],
    ['a sub that is no text', { sub: 7 }],
    ['a sub with U+0000', { sub: 'ann\0' }],
    ['a sub with a line feed, which would be a line of a log', { sub: 'ann\npaid by bob' }],
    ['a sub with a lone surrogate', { sub: 'ann\ud800' }],
    ['a client_id that is no text', { client_id: ['notes'] }],
    ['an exp that is no number', { exp: '2099-01-01' }],
    ['an iat that is no number', { iat: '2026-01-01' }],
    ['a key that it is bound to', { cnf: { jkt: 'abc' } }],
    ['a lifetime of more than an hour', { exp: NOW_SECONDS + HOUR_SECONDS + 1 }],
    ['an end that never comes', { exp: 1e300 }],
    ['a beginning in the future', { iat: NOW_SECONDS + 6, exp: NOW_SECONDS + 60 }],
    ['an nbf in the future', { nbf: NOW_SECONDS + 6 }],
  ])('with %s', async (_, more) => {
    const { key, resolve } = await open()
    expect(await resolve(await sign(key, claims(more as JWTPayload)))).toEqual(UNKNOWN)
  })

  test.each([
    ['an id token', { typ: 'JWT' }],
    ['no typ', { typ: undefined }],
    ['a critical extension', { crit: ['urn:example:rule'], 'urn:example:rule': 1 }],
  ])('with the header of %s', async (_, header) => {
    const { key, resolve } = await open()
    expect(await resolve(await sign(key, claims(), header))).toEqual(UNKNOWN)
  })

  test.each(['application/at+jwt', 'AT+JWT'])('but not with the typ %s, which is equivalent', async (typ) => {
    const { key, resolve } = await open()
    expect(await resolve(await sign(key, claims(), { typ }))).toMatchObject({ ok: true })
  })

  test('with a typ other than the one that the host names', async () => {
    const { key, resolve } = await open({ typ: 'JWT' })
    expect(await resolve(await sign(key, claims(), { typ: 'JWT' }))).toMatchObject({ ok: true })
    expect(await resolve(await sign(key))).toEqual(UNKNOWN)
  })

  test('without a signature, or with a signature made from the public key', async () => {
    const { key, resolve, set } = await open()
    const head = (alg: string) => base64url.encode(JSON.stringify({ alg, kid: 'one', typ: 'at+jwt' }))
    const body = base64url.encode(JSON.stringify(claims()))
    expect(await resolve(`${head('none')}.${body}.`)).toEqual(UNKNOWN)
    const hmac = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'one', typ: 'at+jwt' })
      .sign(new TextEncoder().encode(JSON.stringify(key.jwk)))
    expect(await resolve(hmac)).toEqual(UNKNOWN)
    // Neither is worth a request.
    expect(set.server.requests).toEqual([])
  })

  test('with a changed claim, or signed by another key with the same id', async () => {
    const { key, resolve } = await open()
    const [head, , signature] = (await sign(key)).split('.')
    const body = base64url.encode(JSON.stringify(claims({ sub: 'user-2' })))
    expect(await resolve(`${head}.${body}.${signature}`)).toEqual(UNKNOWN)
    expect(await resolve(await sign(await newKey('one')))).toEqual(UNKNOWN)
  })

  test.each(['', 'sk-cr-abc', 'a.b', 'a.b.c', 'a.b.c.d', '...', 'ya29.a0Af'])('such as %o', async (token) => {
    const { resolve, set } = await open()
    expect(await resolve(token)).toEqual(UNKNOWN)
    expect(set.server.requests).toEqual([])
  })
})

describe('the time in a JWT', () => {
  test('has a tolerance of 5 seconds at expiry', async () => {
    const { key, resolve } = await open()
    const token = await sign(key)
    later(604_999)
    expect(await resolve(token)).toMatchObject({ ok: true })
    later(1)
    expect(await resolve(token)).toEqual(EXPIRED)
  })

  test("has the same tolerance if the issuer's clock is ahead", async () => {
    const { key, resolve } = await open()
    expect(await resolve(await sign(key, claims({ iat: NOW_SECONDS + 5 })))).toMatchObject({ ok: true })
  })

  test('gives a lifetime of at most what the host allows', async () => {
    const { key, resolve } = await open({ maxLifetimeMs: 60_000 })
    expect(await resolve(await sign(key, claims({ exp: NOW_SECONDS + 60 })))).toMatchObject({ ok: true })
    expect(await resolve(await sign(key, claims({ exp: NOW_SECONDS + 61 })))).toEqual(UNKNOWN)
    const longer = await open({ maxLifetimeMs: 86_400_000 })
    const token = await sign(longer.key, claims({ exp: NOW_SECONDS + 86_400 }))
    expect(await longer.resolve(token)).toMatchObject({ ok: true })
  })

  test('is compared with the clock in the options', async () => {
    const clock = { now: () => NOW + 700_000, after: () => () => {} }
    const { key, resolve } = await open({ clock })
    expect(await resolve(await sign(key))).toEqual(EXPIRED)
  })
})

describe('JWT verification keys', () => {
  test('are not read to the end of an endless set', async () => {
    const { key, resolve, set } = await open()
    const token = await sign(key)
    let sent = 0
    const left = createDeferred()
    set.server.answer = (_, res) => {
      const part = Buffer.alloc(65_536, ' ')
      const write = () => {
        do sent += part.length
        while (res.write(part))
      }
      res.writeHead(200, { 'content-type': 'application/json' }).on('drain', write)
      res.once('close', () => left.resolve())
      write()
    }
    await expect(resolve(token)).rejects.toThrow('The reply is longer than 262144 bytes')
    await left.promise
    expect(sent).toBeLessThan(16_777_216)
  })

  test('are fetched once for concurrent calls, and kept for 10 minutes', async () => {
    const { key, resolve, set } = await open()
    const token = await sign(key)
    const found = await Promise.all(Array.from({ length: 20 }, () => resolve(token)))
    expect(found.every(({ ok }) => ok)).toBe(true)
    later(599_999)
    await resolve(await sign(key, claims({ iat: NOW_SECONDS + 599, exp: NOW_SECONDS + 900 })))
    expect(set.server.requests).toHaveLength(1)
    later(1)
    await resolve(await sign(key, claims({ iat: NOW_SECONDS + 599, exp: NOW_SECONDS + 900 })))
    expect(set.server.requests).toHaveLength(2)
  })

  test('that are new are accepted 30 seconds after the last fetch', async () => {
    const { key, resolve, set } = await open()
    await resolve(await sign(key))
    const next = await newKey('two')
    set.published.push(next)
    const token = await sign(next)
    expect(await resolve(token)).toEqual(UNKNOWN)
    later(29_999)
    expect(await resolve(token)).toEqual(UNKNOWN)
    expect(set.server.requests).toHaveLength(1)
    later(1)
    expect(await resolve(token)).toMatchObject({ ok: true })
    expect(await resolve(await sign(key))).toMatchObject({ ok: true })
    expect(set.server.requests).toHaveLength(2)
  })

  test('that are withdrawn are still accepted for up to 10 minutes', async () => {
    const { key, resolve, set } = await open()
    await resolve(await sign(key))
    set.published.splice(0, 1, await newKey('two'))
    const token = await sign(key, claims({ exp: NOW_SECONDS + 900 }))
    later(599_999)
    expect(await resolve(token)).toMatchObject({ ok: true })
    later(1)
    expect(await resolve(token)).toEqual(UNKNOWN)
  })

  test('with invented ids cause one fetch in 30 seconds, even if it fails', async () => {
    const { key, resolve, set } = await open()
    await resolve(await sign(key))
    later(30_000)
    set.server.answer = (_, res) => json(res, {}, 500)
    const invented = await sign(await newKey('invented'))
    await expect(resolve(invented)).rejects.toThrow('status 500')
    for (let time = 0; time < 20; time++) await expect(resolve(invented)).rejects.toThrow('status 500')
    expect(set.server.requests).toHaveLength(2)
    // Known keys go on.
    expect(await resolve(await sign(key))).toMatchObject({ ok: true })
    later(30_000)
    await expect(resolve(invented)).rejects.toThrow('status 500')
    expect(set.server.requests).toHaveLength(3)
  })

  test.each([
    ['an error', (res: ServerResponse) => json(res, {}, 503)],
    ['a redirect', (res: ServerResponse) => res.writeHead(302, { location: '/' }).end()],
    ['no JSON', (res: ServerResponse) => res.end('<html>')],
    ['no key set', (res: ServerResponse) => json(res, { keys: 'none' })],
    ['a closed connection', (res: ServerResponse) => res.destroy()],
  ])('that cannot be fetched, because of %s, are a fault, not a refusal', async (_, answer) => {
    const { key, resolve, set } = await open()
    set.server.answer = (_req, res) => answer(res)
    const token = await sign(key)
    await expect(resolve(token)).rejects.toThrow()
    set.server.answer = (_req, res) => json(res, { keys: [key.jwk] })
    later(1_000)
    expect(await resolve(token)).toMatchObject({ ok: true })
  })

  test('that do not come within 5 seconds are a fault', async () => {
    const { key, resolve, set } = await open()
    const asked = new Promise<void>((resolve) => {
      set.server.answer = () => resolve()
    })
    const deadline = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(deadline.signal)
    const found = resolve(await sign(key))
    await asked
    deadline.abort(new DOMException('too late', 'TimeoutError'))
    await expect(found).rejects.toThrow()
    expect(timeout.mock.calls).toEqual([[5_000]])
    timeout.mockRestore()
  })
})

describe('an invalid JWT option', () => {
  const good = { issuer: ISSUER, audience: AUDIENCE, jwks: 'https://id.example/keys', principal }

  test.each([
    [{ issuer: undefined }, 'jwtCredentials: issuer'],
    [{ audience: undefined }, 'jwtCredentials: audience'],
    [{ audience: [] }, 'jwtCredentials: audience'],
    [{ jwks: undefined }, 'jwks must be a URL'],
    [{ jwks: 'keys.json' }, 'jwks must be a URL'],
    [{ jwks: 'http://id.example/keys' }, 'jwks must begin with https://'],
    [{ jwks: 'http://127.0.0.1.evil.example/' }, 'jwks must begin with https://'],
    [{ jwks: 'https://user:pass@id.example/keys' }, 'no user, password or fragment'],
    [{ principal: undefined }, 'principal is missing'],
    [{ isRevoked: true }, 'isRevoked must be a function'],
    [{ algorithms: [] }, 'algorithms'],
    [{ algorithms: ['RS256', 'HS256'] }, 'asymmetric'],
    [{ algorithms: ['none'] }, 'asymmetric'],
    [{ typ: '' }, 'typ'],
    [{ maxLifetimeMs: 0 }, 'maxLifetimeMs'],
    [{ clock: {} }, 'clock'],
    [{ issuers: [] }, 'issuers'],
  ])('%o throws', (wrong, says) => {
    expect(() => jwtCredentials({ ...good, ...wrong } as never)).toThrow(says)
    expect(() => jwtCredentials(good)).not.toThrow()
  })
})
