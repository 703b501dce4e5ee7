import type { JWTPayload } from 'jose'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  cachedCredentials,
  firstCredentials,
  introspectionCredentials,
  jwtCredentials,
  type Principal,
  parseCredits,
} from '../../src/index.js'
import type { JwtClaims, Limit, TokenClaims } from '../../src/stores.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../helpers/scripted-upstream.js'
import {
  API_KEY,
  ask,
  BASE_COST,
  COUNTS,
  MARKED_UP_COST,
  MARKUP,
  MARKUP_COST,
  MODEL,
  providerReply,
  usageChunk,
  WireService,
} from '../wire/service.js'
import { AUDIENCE, claims, ISSUER, json, newKey, sign, startKeySet, startServer } from './issuer.js'

/** The service's clock stands there. */
const NOW = 1_700_000_000_000
const NOW_SECONDS = NOW / 1_000
const TIMES = { iat: NOW_SECONDS, exp: NOW_SECONDS + 600 }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The host's own table of apps. */
const APPS = new Map([
  ['notes', { id: 'app-1', account: 'app-owner', markup: MARKUP, allowedModels: [MODEL] }],
])
const ACCOUNTS = new Map([['user-1', 'bob']])

function principalOf(limits: readonly Limit[] = []) {
  return ({ client_id, sub }: TokenClaims): Principal | undefined | null => {
    const app = APPS.get(client_id ?? '')
    const account = ACCOUNTS.get(sub ?? '')
    if (app === undefined) return undefined
    if (account === undefined) return null
    const credentialId = `${ISSUER} ${sub} ${client_id}`
    return { kind: 'access-token', credentialId, account, scopes: ['models.run'], app, limits }
  }
}

async function start(limits?: readonly Limit[]) {
  const key = await newKey('one')
  const set = await startKeySet(key)
  const opaque = await startServer((_, res) => json(res, { active: true, ...claims(TIMES) }))
  onTestFinished(async () => {
    await set.server.close()
    await opaque.close()
  })
  const service = await WireService.start({
    expectsFaults: true,
    router: ({ credentials, clock }) => ({
      credentials: firstCredentials([
        cachedCredentials(
          jwtCredentials({
            issuer: ISSUER,
            audience: AUDIENCE,
            jwks: set.url,
            principal: principalOf(limits),
            isRevoked: ({ jti }: JwtClaims) => jti === 'stolen',
            clock,
          }),
          { clock },
        ),
        { ...credentials, recognises: (token) => token.startsWith('sk-') },
        introspectionCredentials({
          endpoint: `${opaque.url}introspect`,
          auth: { clientId: 'router', clientSecret: 'secret' },
          audience: AUDIENCE,
          principal: principalOf(limits),
          clock,
        }),
      ]),
    }),
  })
  onTestFinished(() => service.close())
  const token = (more: JWTPayload = {}) => sign(key, claims({ ...TIMES, ...more }))
  const post = async (bearer: string, more: Record<string, unknown> = {}) =>
    service.post(ask(more), { authorization: `Bearer ${bearer}` })
  return { post, service, set, token }
}

const spent = (credits: string) => parseCredits('1') - parseCredits(credits)

test.each([
  ['a JWT', false],
  ['a JWT, in a stream', true],
])("a caller with %s is charged with the app's markup", async (_, stream) => {
  const { post, service, token } = await start()
  service.upstream.script(
    stream
      ? answerEvents([textChunk('Hello'), finishChunk(), usageChunk(COUNTS)])
      : answerJson(providerReply()),
  )
  const response = await post(await token(), { stream })
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello')])
  await service.event('request-end')
  expect(await service.posted('bob')).toBe(spent(MARKED_UP_COST))
  expect(await service.posted('app-owner')).toBe(parseCredits(MARKUP_COST))
  expect(await service.event('request-end')).toMatchObject({
    facts: { credentialId: 'https://id.example user-1 notes', appId: 'app-1' },
  })
})

test("opaque tokens and the host's keys go to their own stores", async () => {
  const { post, service } = await start()
  service.upstream.script(answerJson(providerReply()))
  expect((await post('opaque-1')).status).toBe(200)
  expect((await post(API_KEY)).status).toBe(200)
  await vi.waitFor(async () => {
    expect(await service.posted('bob')).toBe(spent(MARKED_UP_COST))
    expect(await service.posted('alice')).toBe(spent(BASE_COST))
  })
})

test('all tokens of one user and one app share a budget', async () => {
  const cap = parseCredits('0.005')
  const { post, service, token } = await start([{ id: 'cap', unit: 'credits', amount: cap, per: 'day' }])
  service.upstream.script(answerJson(providerReply()))
  const statuses: number[] = []
  while (statuses.at(-1) !== 402) {
    const response = await post(await token({ jti: `token-${statuses.length}` }))
    await response.text()
    statuses.push(response.status)
  }
  expect(statuses.length).toBeGreaterThan(3)
  const paid = parseCredits('1') - (await service.posted('bob'))
  expect(paid).toBe(BigInt(statuses.length - 1) * parseCredits(MARKED_UP_COST))
  expect(paid).toBeLessThanOrEqual(cap)
})

test.each([
  [401, 'expired_credential', { exp: NOW_SECONDS - 5, iat: NOW_SECONDS - 60 }],
  [401, 'invalid_api_key', { aud: 'https://other.example' }],
  [401, 'invalid_api_key', { client_id: 'unknown' }],
  [401, 'invalid_api_key', { sub: 'unknown' }],
  [401, 'revoked_credential', { jti: 'stolen' }],
])('a bad JWT is %i %s, and costs nothing', async (status, code, more) => {
  const { post, service, token } = await start()
  const response = await post(await token(more))
  expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }])
  expect(service.asked).toEqual([])
  expect(await service.posted('bob')).toBe(parseCredits('1'))
})

test('a token within the clock tolerance is also accepted by the engine', async () => {
  const { post, service, token } = await start()
  service.upstream.script(answerJson(providerReply()))
  const response = await post(await token({ exp: NOW_SECONDS - 4, iat: NOW_SECONDS - 60 }))
  expect(response.status).toBe(200)
})

test('a JWT key set that cannot be fetched leads to a 503 and an event', async () => {
  const { post, service, set, token } = await start()
  set.server.answer = (_, res) => res.destroy()
  const response = await post(await token())
  expect([response.status, await response.json()]).toMatchObject([
    503,
    { error: { code: 'credential_store_unavailable' } },
  ])
  expect(await service.event('store-fault')).toMatchObject({ store: 'credentials' })
})
