import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LOOPBACK_REDIRECT, openStage, type Stage, WEB_REDIRECT } from './stage.js'
import { authorizeUrl, connectApp, createPkce, openPage, submit, UserAgent } from './user-agent.js'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

const pkce = createPkce()
let users = 0
/** A new user each time, so that no rate limit of an account is reached. */
const newUser = (): UserAgent => new UserAgent(stage.origin, `user${++users}`)

async function locationOf(more: Readonly<Record<string, string | undefined>>, agent = newUser()) {
  const response = await agent.follow(authorizeUrl(stage, pkce, more))
  const location = response.headers.get('location')
  return location === null ? undefined : new URL(location)
}

describe('an authorization error is sent to the app for', () => {
  it.each([
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['an id token', { response_type: 'id_token', nonce: 'n' }, 'unsupported_response_type'],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['PKCE in the clear', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['PKCE of a method by default', { code_challenge_method: undefined }, 'invalid_request'],
    ['an unknown scope', { scope: 'models.run admin' }, 'invalid_scope'],
    ['another resource', { resource: 'https://other.example/' }, 'invalid_target'],
    ['a fragment as the response mode', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['a form as the response mode', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['a login', { prompt: 'login' }, 'invalid_request'],
    ['no prompt and one', { prompt: 'none consent' }, 'invalid_request'],
    ['a request object', { request: 'x.y.z' }, 'request_not_supported'],
    ['a pushed request', { request_uri: 'urn:x' }, 'request_uri_not_supported'],
    ['no prompt without an earlier consent', { prompt: 'none' }, 'consent_required'],
  ])('%s', async (_, more, error) => {
    const location = await locationOf(more)
    expect(location?.href.startsWith(`${WEB_REDIRECT}?`)).toBe(true)
    const query = Object.fromEntries(location!.searchParams)
    expect(query).toMatchObject({ error, state: 'state-1', iss: stage.issuer })
    expect(query).not.toHaveProperty('code')
    expect(stage.events.at(-1)).toEqual({
      type: 'connect-refused',
      where: 'authorize',
      error,
      appId: 'notes',
    })
  })

  it('prompt=none without a signed-in user', async () => {
    const location = await locationOf({ prompt: 'none' }, new UserAgent(stage.origin))
    expect(location?.searchParams.get('error')).toBe('login_required')
  })

  it('an app in test mode, unless a tester uses it', async () => {
    await stage.changeApp({ state: 'test', testers: ['tester1'] })
    try {
      const stranger = new UserAgent(stage.origin)
      for (const more of [{}, { resource: 'https://other.example/' }, { code_challenge: undefined }]) {
        const response = await stranger.follow(authorizeUrl(stage, pkce, { prompt: 'none', ...more }))
        expect([response.status, response.headers.get('location')]).toEqual([403, null])
      }
      const tester = await locationOf({ prompt: 'none' }, new UserAgent(stage.origin, 'tester1'))
      expect(tester?.searchParams.get('error')).toBe('consent_required')
    } finally {
      await stage.resetApp()
    }
  })

  it('a repeated parameter', async () => {
    const response = await newUser().follow(
      `${authorizeUrl(stage, pkce)}&scope=models.run&scope=credits.read`,
    )
    const location = new URL(response.headers.get('location')!)
    expect(location.searchParams.get('error')).toBe('invalid_request')
  })
})

describe('an authorization error is shown to the user, since redirecting would be unsafe, for', () => {
  it.each([
    ['no client', { client_id: undefined }, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
    ['a client that is the name of a method', { client_id: '__proto__' }, 'invalid_client'],
    ['a client that no database can store', { client_id: 'a\u0000b' }, 'invalid_client'],
    ['no redirect URI', { redirect_uri: undefined }, 'invalid_redirect_uri'],
    ['an unregistered redirect URI', { redirect_uri: 'https://evil.example/cb' }, 'invalid_redirect_uri'],
  ])('%s', async (_, more, error) => {
    for (const agent of [newUser(), new UserAgent(stage.origin)]) {
      const response = await agent.follow(authorizeUrl(stage, pkce, more))
      expect(response.status).toBe(400)
      expect(response.headers.get('location')).toBeNull()
      expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(await response.text()).toContain(`Error: ${error}`)
    }
  })

  it('two clients or two redirect URIs', async () => {
    for (const more of ['client_id=notes', `redirect_uri=${encodeURIComponent(WEB_REDIRECT)}`]) {
      const response = await newUser().follow(`${authorizeUrl(stage, pkce)}&${more}`)
      expect(response.status).toBe(400)
      expect(response.headers.get('location')).toBeNull()
    }
  })

  it('a POST, which is not an authorization request', async () => {
    const response = await fetch(`${stage.issuer}/authorize`, { method: 'POST', body: new URLSearchParams() })
    expect(response.status).toBe(404)
  })
})

/** The rows of the table of redirect URIs, registered and asked for. Its rule is a pure function with tests of its own. */
const ACCEPTED = [
  ['https://notes.example/cb', 'https://notes.example/cb'],
  ['https://notes.example/cb?t=a', 'https://notes.example/cb?t=a'],
  ['https://notes.example', 'https://notes.example/'],
  ['https://notes.example/', 'https://notes.example'],
  ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb'],
  ['http://127.0.0.1/cb', 'http://127.0.0.1/cb'],
  ['http://127.0.0.1:3000/cb', 'http://127.0.0.1:49152/cb'],
  ['http://localhost/cb', 'http://localhost:49152/cb'],
  ['http://[::1]/cb', 'http://[::1]:49152/cb'],
] as const
const REFUSED = [
  ['https://notes.example/cb', 'https://notes.example/cb/'],
  ['https://notes.example/cb', 'https://notes.example/cb?x=1'],
  ['https://notes.example/cb', 'https://notes.example/cb#'],
  ['https://notes.example/cb', 'http://notes.example/cb'],
  ['https://notes.example/cb', 'https://notes.example:443/cb'],
  ['https://notes.example/cb', 'https://NOTES.example/cb'],
  ['https://notes.example/cb', 'https://notes.example@evil.example/cb'],
  ['https://notes.example/cb', 'https://notes.example\\@evil.example/cb'],
  ['https://notes.example/cb', 'https:/notes.example/cb'],
  ['https://notes.example/cb', 'https://notes.example/x/../cb'],
  ['https://notes.example/cb', 'https://notes.example/c\tb'],
  ['https://notes.example/cb', ' https://notes.example/cb'],
  ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/other'],
  ['http://127.0.0.1/cb', 'http://localhost:49152/cb'],
  ['http://localhost/cb', 'http://localhost:1@evil.example/cb'],
  ['http://localhost/cb', 'http://localhost.evil.example:80/cb'],
  ['http://127.0.0.1/cb', 'http://127.1:49152/cb'],
  ['http://127.0.0.1/cb', 'http://0.0.0.0:49152/cb'],
  ['https://notes.example/cb', 'javascript:alert(1)//https://notes.example/cb'],
] as const

describe('with redirect URIs, an authorization request', () => {
  afterAll(() => stage.changeApp({ redirectUris: [WEB_REDIRECT, LOOPBACK_REDIRECT] }))

  it.each(ACCEPTED)('is accepted if %s is registered and %s is requested', async (registered, asked) => {
    await stage.changeApp({ redirectUris: [registered] })
    const agent = newUser()
    const tokens = await connectApp(stage, agent, { parameters: { redirect_uri: asked } })
    expect(tokens.access_token).toMatch(/^at-cr-/)
  })

  it.each(REFUSED)('is refused if %s is registered and %s is requested', async (registered, asked) => {
    await stage.changeApp({ redirectUris: [registered] })
    const response = await newUser().follow(authorizeUrl(stage, pkce, { redirect_uri: asked }))
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
    expect(await response.text()).toContain('Error: invalid_redirect_uri')
  })
})

describe('an authorization request', () => {
  it('without a scope asks for models.run, and omits OpenID Connect scopes', async () => {
    const plain = await connectApp(stage, newUser())
    expect(plain.scope).toBe('models.run')
    const scope = 'openid profile email offline_access models.run credits.read'
    const openid = await connectApp(stage, newUser(), {
      parameters: { scope, prompt: 'consent', nonce: 'n' },
    })
    expect(openid.scope).toBe('models.run credits.read')
    expect(openid).not.toHaveProperty('id_token')
  })

  it('goes to the login first and then returns', async () => {
    const agent = new UserAgent(stage.origin)
    const address = authorizeUrl(stage, pkce)
    const response = await agent.visit(address)
    expect(response.status).toBe(303)
    const login = new URL(response.headers.get('location')!)
    expect(login.pathname).toBe('/login')
    expect(stage.origin + login.searchParams.get('to')).toBe(address)
    const page = await openPage(agent, address)
    expect(page.text).toContain('Signed in as Alice')
    const answered = await submit(agent, stage, page)
    expect(new URL(answered.headers.get('location')!).searchParams.get('code')).toMatch(/^[\w-]{43}$/)
  })

  it('ignores the host that a client or a proxy names', async () => {
    const { origin } = stage
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil',
    }
    const agent = newUser()
    const asked = await agent.visit(authorizeUrl(stage, pkce), { headers })
    const page = await openPage(agent, asked.headers.get('location')!)
    const answered = await agent.visit(page.address, {
      method: 'POST',
      headers: { ...headers, origin },
      body: new URLSearchParams({ seal: page.seal, answer: 'allow', cap: '5', days: '90' }),
    })
    expect(new URL(answered.headers.get('location')!, origin).origin).toBe(origin)
    const metadata = await fetch(`${origin}/.well-known/oauth-authorization-server/connect`, { headers })
    expect(await metadata.text()).not.toContain('evil')
  })

  it('is one of at most 10 open for each user', async () => {
    const agent = newUser()
    const pages: string[] = []
    for (let visits = 0; visits < 12; visits++) {
      const response = await agent.visit(authorizeUrl(stage, pkce))
      pages.push(response.headers.get('location')!)
    }
    await expect.poll(async () => (await agent.visit(pages[1]!)).status).toBe(400)
    expect((await agent.visit(pages[0]!)).status).toBe(400)
    expect((await agent.visit(pages[2]!)).status).toBe(200)
    expect((await agent.visit(pages[11]!)).status).toBe(200)
  })

  it('is refused after 30 in a minute, for its user only', async () => {
    const agent = newUser()
    const statuses: number[] = []
    for (let visits = 0; visits < 31; visits++) {
      const response = await agent.visit(authorizeUrl(stage, pkce, { response_type: 'none' }))
      statuses.push(response.status)
      if (visits === 30) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(statuses.slice(0, 30)).toEqual(new Array(30).fill(303))
    expect(statuses[30]).toBe(429)
    expect(stage.events.at(-1)).toEqual({ type: 'connect-rate-limited', where: 'authorize' })
    expect((await newUser().visit(authorizeUrl(stage, pkce))).status).toBe(303)
  })
})

it('authorization requests without a signed-in user are refused after 60 in a minute, for their address only', async () => {
  const limited = await openStage({
    connect: { clientAddress: ({ headers }) => String(headers['x-test-address']) },
  })
  try {
    const visit = async (agent: UserAgent, address: string, client = 'notes') => {
      const headers = { 'x-test-address': address }
      const response = await agent.visit(authorizeUrl(limited, pkce, { client_id: client }), { headers })
      await response.arrayBuffer()
      return response.status
    }
    const stranger = new UserAgent(limited.origin)
    for (let visits = 0; visits < 60; visits++) {
      expect(await visit(stranger, '10.0.0.1', visits < 30 ? 'notes' : 'nobody')).toBe(
        visits < 30 ? 303 : 400,
      )
    }
    expect(await visit(stranger, '10.0.0.1')).toBe(429)
    expect(limited.events.at(-1)).toEqual({ type: 'connect-rate-limited', where: 'authorize' })
    expect(await visit(stranger, '10.0.0.2')).toBe(303)
    expect(await visit(new UserAgent(limited.origin, 'alice'), '10.0.0.1')).toBe(303)
  } finally {
    await limited.close()
  }
})
