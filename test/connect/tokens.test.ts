import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStage, type Stage, WEB_REDIRECT } from './stage.js'
import {
  authorizeUrl,
  call,
  connectApp,
  createPkce,
  exchange,
  getCode,
  openPage,
  post,
  refresh,
  type Tokens,
  UserAgent,
} from './user-agent.js'
import { SECRET } from './users.js'

const RESOURCE_SERVER = { id: 'billing', secret: 'billing-secret-0123456789abcdef-01' }

const OTHER = {
  id: 'other',
  name: 'Other',
  markup: { basisPoints: 0 },
  allowedModels: [],
  redirectUris: ['https://other.example/cb'],
}

let stage: Stage
/** Each test has an address of its own, because failures of an address are counted. */
let tests = 0
beforeEach(() => {
  tests += 1
})
beforeAll(async () => {
  stage = await openStage({
    connect: {
      introspect: [RESOURCE_SERVER],
      clientAddress: ({ headers }) => String(headers['x-test-address'] ?? `10.9.0.${tests}`),
    },
  })
})
afterAll(() => stage.close())

let users = 0
const newUser = (): UserAgent => new UserAgent(stage.origin, `user${++users}`)
const errorOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: string }).error
const isActive = async (token: string): Promise<boolean> => {
  const response = await post(stage, 'introspect', { token, client_id: 'notes' })
  return ((await response.json()) as { active: boolean }).active
}

describe('an authorization code', () => {
  it('gives tokens once, and a second use revokes them', async () => {
    const { code, pkce } = await getCode(stage, newUser())
    const tokens = (await (await exchange(stage, { code, pkce })).json()) as Tokens
    expect(await isActive(tokens.access_token)).toBe(true)
    const again = await exchange(stage, { code, pkce })
    expect([again.status, await errorOf(again)]).toEqual([400, 'invalid_grant'])
    expect(stage.events.some((event) => event.type === 'token-reused' && event.token === 'code')).toBe(true)
    expect(await isActive(tokens.access_token)).toBe(false)
    expect((await refresh(stage, tokens.refresh_token)).status).toBe(400)
  })

  it('used ten times concurrently gives tokens at most once, and then they are revoked', async () => {
    const { code, pkce } = await getCode(stage, newUser())
    const replies = await Promise.all(Array.from({ length: 10 }, () => exchange(stage, { code, pkce })))
    const answered = replies.filter(({ status }) => status === 200)
    expect(answered.length).toBeLessThanOrEqual(1)
    for (const reply of answered) {
      expect(await isActive(((await reply.json()) as Tokens).access_token)).toBe(false)
    }
  })

  it.each([
    ['another verifier', { pkce: createPkce() }],
    ['another redirect URI', { redirectUri: 'https://notes.example/cb?x' }],
    ['the same redirect URI, written otherwise', { redirectUri: 'https://notes.example:443/cb' }],
  ])('is refused with %s', async (_, more) => {
    const { code, pkce } = await getCode(stage, newUser())
    const refused = await exchange(stage, { code, pkce, ...more })
    expect([refused.status, await errorOf(refused)]).toEqual([400, 'invalid_grant'])
  })

  it('is refused without its verifier, and from another app', async () => {
    const { code, pkce } = await getCode(stage, newUser())
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: 'https://notes.example/cb',
      client_id: 'notes',
    }
    expect(await errorOf(await post(stage, 'token', form))).toBe('invalid_grant')
    await stage.admin.apps.put(OTHER)
    expect(await errorOf(await exchange(stage, { code, pkce, client: 'other' }))).toBe('invalid_grant')
    const loopback = await getCode(stage, newUser(), {
      parameters: { redirect_uri: 'http://127.0.0.1:5001/cb' },
    })
    const port = await exchange(stage, { ...loopback, redirectUri: 'http://127.0.0.1:5002/cb' })
    expect(await errorOf(port)).toBe('invalid_grant')
  })
})

describe('a refresh token', () => {
  it('gives another pair of tokens if used again within 10 seconds', async () => {
    const tokens = await connectApp(stage, newUser())
    const before = stage.events.length
    const pairs = await Promise.all([1, 2, 3].map(() => refresh(stage, tokens.refresh_token)))
    expect(pairs.map(({ status }) => status)).toEqual([200, 200, 200])
    const [grant] = await stage.admin.connectedApps.list({ account: `user${users}` })
    expect(stage.events.slice(before)).toEqual(
      new Array(2).fill({
        type: 'token-reused-in-grace',
        connectionId: grant?.devices[0]?.connectionId,
        msAgo: expect.any(Number),
      }),
    )
    for (const pair of pairs) expect(await isActive(((await pair.json()) as Tokens).access_token)).toBe(true)
  })

  it('ends its own connection if used again later, but no other device of the user', async () => {
    const agent = newUser()
    const tokens = await connectApp(stage, agent)
    const other = await connectApp(stage, agent)
    const rotated = (await (await refresh(stage, tokens.refresh_token)).json()) as Tokens
    await stage.stores.database.batch([
      {
        text: "update {oauth} set consumed_at = consumed_at - 11000 where model = 'RefreshToken' and consumed_at is not null",
        parameters: [],
      },
    ])
    const reused = await refresh(stage, tokens.refresh_token)
    expect([reused.status, await errorOf(reused)]).toEqual([400, 'invalid_grant'])
    expect(
      stage.events.some((event) => event.type === 'token-reused' && event.token === 'refresh-token'),
    ).toBe(true)
    expect(await isActive(rotated.access_token)).toBe(false)
    expect((await refresh(stage, rotated.refresh_token)).status).toBe(400)
    expect(await isActive(other.access_token)).toBe(true)
    expect((await refresh(stage, other.refresh_token)).status).toBe(200)
  })

  it('can narrow its scopes but not widen them', async () => {
    const tokens = await connectApp(stage, newUser(), { parameters: { scope: 'models.run credits.read' } })
    const narrow = (await (
      await refresh(stage, tokens.refresh_token, { scope: 'credits.read' })
    ).json()) as Tokens
    expect(narrow.scope).toBe('credits.read')
    expect((await call(stage, narrow.access_token)).status).toBe(403)
    const small = await connectApp(stage, newUser())
    expect(await errorOf(await refresh(stage, small.refresh_token, { scope: 'credits.read' }))).toBe(
      'invalid_scope',
    )
    expect(
      await errorOf(await refresh(stage, small.refresh_token, { resource: 'https://other.example/' })),
    ).toBe('invalid_target')
  })

  it('is refused once the user or the operator has revoked the connection', async () => {
    const tokens = await connectApp(stage, newUser())
    expect(
      await stage.stores.connect.disconnectApp(`user${users}`, 'notes', { kind: 'account', name: 'user' }),
    ).toBe(true)
    expect(await errorOf(await refresh(stage, tokens.refresh_token))).toBe('invalid_grant')
    expect(await isActive(tokens.access_token)).toBe(false)
  })
})

it('a suspended app gets no tokens from Connect until it is resumed', async () => {
  const tokens = await connectApp(stage, newUser())
  await stage.admin.apps.suspend('notes')
  const refused = await refresh(stage, tokens.refresh_token)
  expect([refused.status, await errorOf(refused)]).toEqual([400, 'invalid_grant'])
  expect(await isActive(tokens.access_token)).toBe(false)
  await stage.admin.apps.resume('notes')
  expect((await refresh(stage, tokens.refresh_token)).status).toBe(200)
})

describe('the end of a connected app', () => {
  it('ends its tokens', async () => {
    const agent = newUser()
    const tokens = await connectApp(stage, agent)
    await stage.stores.database.batch([
      {
        text: `update {credentials} set ends_at = ?1 where account = ?2 and source = 'connect'`,
        parameters: [BigInt(Date.now() + 60_000), `user${users}`],
      },
    ])
    const short = (await (await refresh(stage, tokens.refresh_token)).json()) as Tokens
    expect(short.expires_in).toBeLessThanOrEqual(60)
    expect(short.expires_in).toBeGreaterThan(50)
  })
})

describe("Connect's introspection and revocation", () => {
  it('tell an app only about its own tokens, and a resource server about all', async () => {
    const agent = newUser()
    const tokens = await connectApp(stage, agent)
    const basic = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`${RESOURCE_SERVER.id}:${secret}`).toString('base64')}`,
    })
    const asked = await post(
      stage,
      'introspect',
      { token: tokens.access_token },
      basic(RESOURCE_SERVER.secret),
    )
    const own = await post(stage, 'introspect', { token: tokens.access_token, client_id: 'notes' })
    const [byServer, byApp] = [await asked.json(), await own.json()] as { sub: string }[]
    expect(byServer).toMatchObject({ active: true, client_id: 'notes', aud: stage.routerUrl })
    expect(byServer!.sub).toBe(byApp!.sub)
    expect(JSON.stringify([byServer, byApp])).not.toContain(`user${users}`)
    const wrong = await post(stage, 'introspect', { token: tokens.access_token }, basic('x'.repeat(32)))
    expect([wrong.status, await errorOf(wrong)]).toEqual([401, 'invalid_client'])

    await stage.admin.apps.put(OTHER)
    const foreign = await post(stage, 'introspect', { token: tokens.access_token, client_id: 'other' })
    expect(await foreign.json()).toEqual({ active: false })
    expect((await post(stage, 'revoke', { token: tokens.access_token, client_id: 'other' })).status).toBe(200)
    expect(await isActive(tokens.access_token)).toBe(true)
    expect((await refresh(stage, tokens.refresh_token, { client_id: 'other' })).status).toBe(400)
    expect(await isActive(tokens.access_token)).toBe(true)
  })

  it('end a connection by either of its tokens, and reveal nothing about tokens that do not exist', async () => {
    const agent = newUser()
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const tokens = await connectApp(stage, agent)
      const form = { token: tokens[kind], token_type_hint: kind, client_id: 'notes' }
      expect((await post(stage, 'revoke', form)).status).toBe(200)
      expect(await isActive(tokens.access_token)).toBe(false)
      expect((await refresh(stage, tokens.refresh_token)).status).toBe(400)
      expect(stage.events.some(({ type }) => type === 'connection-ended')).toBe(true)
    }
    expect((await post(stage, 'revoke', { token: 'at-cr-unknown', client_id: 'notes' })).status).toBe(200)
    expect(await isActive('at-cr-unknown')).toBe(false)
    expect(await isActive('constructor')).toBe(false)
  })
})

describe('the token endpoint', () => {
  it.each([
    ['no grant type', { client_id: 'notes' }, 400, 'invalid_request'],
    [
      'another grant type',
      { client_id: 'notes', grant_type: 'client_credentials' },
      400,
      'unsupported_grant_type',
    ],
    ['a password', { client_id: 'notes', grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['no client', { grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_request'],
    [
      'an unknown client',
      { client_id: 'nobody', grant_type: 'refresh_token', refresh_token: 'x' },
      401,
      'invalid_client',
    ],
    [
      'an unknown code',
      {
        client_id: 'notes',
        grant_type: 'authorization_code',
        code: 'x',
        redirect_uri: 'x',
        code_verifier: 'x',
      },
      400,
      'invalid_grant',
    ],
    [
      'an unknown refresh token',
      { client_id: 'notes', grant_type: 'refresh_token', refresh_token: 'rt-cr-x' },
      400,
      'invalid_grant',
    ],
  ])('refuses %s', async (_, form, status, error) => {
    const response = await post(stage, 'token', form as Record<string, string>, {
      'x-test-address': '10.1.0.1',
    })
    expect([response.status, await errorOf(response)]).toEqual([status, error])
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('refuses a body that is not a form or is too long', async () => {
    const json = await fetch(`${stage.issuer}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token' }),
    })
    expect([json.status, await errorOf(json)]).toEqual([400, 'invalid_request'])
    const long = await post(stage, 'token', {
      grant_type: 'refresh_token',
      refresh_token: 'x'.repeat(40_000),
    })
    expect(long.status).toBe(400)
  })

  it('slows down after 20 unknown tokens from an address, but answers all others from there', async () => {
    const from = (address: string) => ({ 'x-test-address': address })
    const { access_token: token, refresh_token } = await connectApp(stage, newUser())
    const { code, pkce } = await getCode(stage, newUser())
    const bad = { client_id: 'notes', grant_type: 'refresh_token', refresh_token: 'rt-cr-x' }
    for (let tries = 0; tries < 20; tries++) {
      expect((await post(stage, 'token', bad, from('10.0.0.1'))).status).toBe(400)
    }
    const refused = await post(stage, 'token', bad, from('10.0.0.1'))
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const wrongCode = { client_id: 'notes', grant_type: 'authorization_code', code: 'x' }
    expect((await post(stage, 'token', wrongCode, from('10.0.0.1'))).status).toBe(429)
    expect((await post(stage, 'revoke', { client_id: 'notes', token: 'x' }, from('10.0.0.1'))).status).toBe(
      429,
    )
    expect((await post(stage, 'token', bad, from('10.0.0.2'))).status).toBe(400)

    const own = { client_id: 'notes', grant_type: 'refresh_token', refresh_token }
    expect((await post(stage, 'token', own, from('10.0.0.1'))).status).toBe(200)
    const asked = await post(stage, 'introspect', { token, client_id: 'notes' }, from('10.0.0.1'))
    expect(await asked.json()).toMatchObject({ active: true })
    const exchanged = await post(
      stage,
      'token',
      { ...wrongCode, code, redirect_uri: WEB_REDIRECT, code_verifier: pkce.verifier },
      from('10.0.0.1'),
    )
    expect(exchanged.status).toBe(200)
  })

  it('slows down after 60 requests of an app for one user, from any address, but answers those for others', async () => {
    const [busy, other] = [await connectApp(stage, newUser()), await connectApp(stage, newUser())]
    const ask = async (token: string, address: string) => {
      const form = { token, client_id: 'notes' }
      const { status } = await post(stage, 'introspect', form, { 'x-test-address': address })
      return status
    }
    const statuses: number[] = []
    for (let tries = 0; tries < 59; tries++)
      statuses.push(await ask(busy.access_token, `10.2.0.${tries % 3}`))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await ask(busy.access_token, '10.2.0.9')).toBe(429)
    expect((await refresh(stage, busy.refresh_token)).status).toBe(429)
    expect(await ask(other.access_token, '10.2.0.0')).toBe(200)
    expect((await refresh(stage, other.refresh_token)).status).toBe(200)
  })

  it("answers an app's server that refreshes the tokens of many users within a minute", async () => {
    const tokens = await Promise.all(Array.from({ length: 8 }, () => connectApp(stage, newUser())))
    const refreshed = tokens.map(({ refresh_token }) => refresh_token)
    for (let round = 0; round < 10; round++) {
      for (const [index, token] of refreshed.entries()) {
        const response = await refresh(stage, token, {})
        expect(response.status).toBe(200)
        refreshed[index] = ((await response.json()) as Tokens).refresh_token
      }
    }
  })

  it("applies the host's own rate limits", async () => {
    const slow = await openStage({ connect: { rates: { tokens: 2, unknownTokens: 1, authorizations: 1 } } })
    try {
      const agent = new UserAgent(slow.origin, 'alice')
      const tokens = await connectApp(slow, agent)
      expect((await agent.follow(authorizeUrl(slow, createPkce()))).status).toBe(429)
      expect((await refresh(slow, tokens.refresh_token)).status).toBe(200)
      expect((await refresh(slow, tokens.refresh_token)).status).toBe(429)
      expect((await refresh(slow, 'rt-cr-x')).status).toBe(400)
      expect((await refresh(slow, 'rt-cr-x')).status).toBe(429)
    } finally {
      await slow.close()
    }
  })

  it('answers pages of the app, and no other pages', async () => {
    const { access_token: token } = await connectApp(stage, newUser())
    const ask = (origin: string) =>
      post(stage, 'introspect', { token, client_id: 'notes' }, { origin, 'x-test-address': '10.0.0.4' })
    const own = await ask('https://notes.example')
    expect(own.status).toBe(200)
    expect(own.headers.get('access-control-allow-origin')).toBe('https://notes.example')
    for (const origin of ['https://evil.example', 'null', 'https://notes.example.evil.example']) {
      const foreign = await ask(origin)
      expect(foreign.status).toBe(400)
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    }
    const preflight = await fetch(`${stage.issuer}/token`, {
      method: 'OPTIONS',
      headers: { origin: 'https://notes.example', 'access-control-request-method': 'POST' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
  })
})

it('Connect stores no secret in plain text, and puts none into an event', async () => {
  const { code, pkce, callback } = await getCode(stage, newUser())
  const tokens = (await (await exchange(stage, { code, pkce })).json()) as Tokens
  expect(callback.href).not.toContain(tokens.access_token)
  const heard = JSON.stringify(stage.events)
  const agent = newUser()
  const { address } = await openPage(agent, authorizeUrl(stage, createPkce()))
  const request = address.split('/').at(-1)!
  await stage.stores.database.batch([{ text: 'pragma wal_checkpoint(truncate)', parameters: [] }])
  const bytes = (await readFile(stage.file)).toString('latin1')
  for (const secret of [request, code, tokens.access_token, tokens.refresh_token, SECRET, pkce.verifier]) {
    expect(bytes.includes(secret)).toBe(false)
    expect(heard).not.toContain(secret)
  }
})
