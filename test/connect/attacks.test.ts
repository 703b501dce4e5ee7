import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NOTES, openStage, type Stage, WEB_REDIRECT } from './stage.js'
import {
  authorizeUrl,
  connectApp,
  createPkce,
  exchange,
  getCode,
  openPage,
  type Page,
  submit,
  UserAgent,
} from './user-agent.js'
import { SECRET } from './users.js'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

let users = 0
const newUser = (): UserAgent => new UserAgent(stage.origin, `user${++users}`)
const account = (): string => `user${users}`
const pkce = createPkce()
const grantOf = (name: string) => stage.stores.connect.findConnectedApp(name, 'notes')

const form = ({ seal }: Page, more: Record<string, string> = {}): URLSearchParams =>
  new URLSearchParams({ seal, answer: 'allow', cap: '5', days: '90', ...more })

describe('forged consent answers (CSRF)', () => {
  it.each<readonly [string, Record<string, string>]>([
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['another site, of a browser without Sec-Fetch-Site', { origin: 'https://evil.example' }],
    ['another site of the same owner', { 'sec-fetch-site': 'same-site' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }],
    ['nowhere', {}],
  ])('from %s are refused, even with all cookies and a correct form', async (_, headers) => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const response = await agent.visit(page.address, { method: 'POST', headers, body: form(page) })
    expect(response.status).toBe(403)
    expect(await grantOf(account())).toBeUndefined()
  })

  it("without the request's cookie are refused", async () => {
    const page = await openPage(newUser(), authorizeUrl(stage, pkce))
    const other = new UserAgent(stage.origin, account())
    const response = await submit(other, stage, page)
    expect(response.status).toBe(400)
    expect(await grantOf(account())).toBeUndefined()
  })

  it('with a tampered cookie are refused', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const other = await openPage(new UserAgent(stage.origin, account()), authorizeUrl(stage, pkce))
    const own = page.address.split('/').at(-1)!
    const index = agent.cookies.findIndex(({ name, value }) => name === 'connect_request' && value === own)
    agent.cookies[index] = { ...agent.cookies[index]!, value: other.address.split('/').at(-1)! }
    expect((await submit(agent, stage, page)).status).toBe(400)
    expect(await grantOf(account())).toBeUndefined()
  })

  it.each([
    ['none', () => ''],
    ['a wrong one', (seal: string) => seal.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))],
    ['a short one', (seal: string) => seal.slice(1)],
  ])('with a MAC that is %s show the consent page again', async (_, change) => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const response = await submit(agent, stage, { ...page, seal: change(page.seal) })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('Read them again before you agree')
    expect(await grantOf(account())).toBeUndefined()
  })

  it('with the MAC of another request by the same user show the consent page again', async () => {
    const agent = newUser()
    const first = await openPage(agent, authorizeUrl(stage, pkce))
    const second = await openPage(agent, authorizeUrl(stage, pkce, { scope: 'models.run credits.read' }))
    expect((await submit(agent, stage, { ...second, seal: first.seal })).status).toBe(400)
    expect(await grantOf(account())).toBeUndefined()
  })
})

describe('an app that changes its terms while the consent page is open', () => {
  it('gets no more than was shown: the page is shown again with the new terms', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    await stage.changeApp({ markup: { basisPoints: 9_000 } })
    try {
      const response = await submit(agent, stage, page)
      const text = await response.text()
      expect(response.status).toBe(400)
      expect(text).toContain('The terms of this app have just changed.')
      expect(text).toContain('Notes adds 90 %')
      expect(await grantOf(account())).toBeUndefined()
      const seal = /name="seal" value="([^"]+)"/.exec(text)![1]!
      const agreed = await submit(agent, stage, { ...page, seal })
      expect(agreed.headers.get('location')).toContain('code=')
      expect((await grantOf(account()))?.markup).toEqual({ basisPoints: 9_000 })
    } finally {
      await stage.changeApp({ markup: { basisPoints: 2_000, flat: '0.001' } })
    }
  })

  it.each([
    ['site', { site: 'https://other.example/' }],
    ['owner', { owner: 'acme' }],
  ])('must have its new %s shown first', async (_, change) => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    await stage.changeApp(change)
    try {
      expect((await submit(agent, stage, page)).status).toBe(400)
      expect(await grantOf(account())).toBeUndefined()
    } finally {
      await stage.resetApp()
    }
  })

  it('cannot be connected if it was suspended meanwhile', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    await stage.admin.apps.suspend('notes')
    try {
      expect((await submit(agent, stage, page)).status).toBe(403)
      expect((await agent.follow(authorizeUrl(stage, pkce))).status).toBe(400)
      expect(await grantOf(account())).toBeUndefined()
    } finally {
      await stage.admin.apps.resume('notes')
    }
  })
})

describe('an app that removes a redirect URI while the consent page is open', () => {
  it('gets no code there, neither before nor after the answer', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const other = newUser()
    const second = await openPage(other, authorizeUrl(stage, pkce))
    const answered = await other.visit(second.address, {
      method: 'POST',
      headers: { origin: stage.origin },
      body: form(second),
    })
    const { redirectUris } = NOTES
    await stage.changeApp({ redirectUris: ['https://new.example/cb'] })
    try {
      for (const response of [
        await agent.visit(page.address),
        await other.visit(answered.headers.get('location')!),
      ]) {
        expect([response.status, response.headers.get('location')]).toEqual([400, null])
        expect(await response.text()).toContain('invalid_redirect_uri')
      }
    } finally {
      await stage.changeApp({ redirectUris: redirectUris! })
    }
    // The requests are gone.
    expect((await agent.visit(page.address)).status).toBe(400)
    expect((await submit(agent, stage, page)).status).toBe(400)
    expect(await stage.stores.connect.findConnectedApp(`user${users - 1}`, 'notes')).toBeUndefined()
  })
})

describe('another account in the same browser (session fixation)', () => {
  it('cannot answer a consent page made for the first account: the request starts again', async () => {
    const agent = newUser()
    const first = account()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const second = `user${++users}`
    agent.signIn(second)
    const again = await submit(agent, stage, page)
    const text = await again.text()
    expect(again.status).toBe(200)
    expect(text).toContain(`Signed in as User${users}`)
    expect(await grantOf(first)).toBeUndefined()
    expect(await grantOf(second)).toBeUndefined()
    // The first request is gone.
    agent.signIn(first)
    expect((await agent.visit(page.address)).status).toBe(400)
  })

  it('does not get a code from an answer of the first account', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const answered = await agent.visit(page.address, {
      method: 'POST',
      headers: { origin: stage.origin },
      body: form(page),
    })
    const resume = answered.headers.get('location')!
    agent.signIn(`user${++users}`)
    const restarted = await agent.visit(resume)
    expect(restarted.headers.get('location')).toContain('/connect/authorize?')
    expect(restarted.headers.get('location')).not.toContain('code=')
    expect(restarted.headers.get('location')).not.toContain('connect_account')
  })

  it('cannot be chosen by the request', async () => {
    const agent = newUser()
    const { code, pkce: own } = await getCode(stage, agent, { parameters: { connect_account: 'alice' } })
    expect((await exchange(stage, { code, pkce: own })).status).toBe(200)
    expect(await grantOf('alice')).toBeUndefined()
    expect(await grantOf(account())).toBeDefined()
    const silent = await new UserAgent(stage.origin).visit(
      authorizeUrl(stage, pkce, { prompt: 'none', connect_account: account() }),
    )
    expect(silent.headers.get('location')).toContain('error=login_required')
  })

  it('is never assumed for a signed-out browser, which is sent to the login at each step', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    agent.signOut()
    const shown = await agent.visit(page.address)
    expect(new URL(shown.headers.get('location')!).pathname).toBe('/login')
    const posted = { method: 'POST', headers: { origin: stage.origin }, body: form(page) }
    const answered = await agent.visit(page.address, posted)
    expect(answered.status).toBe(401)
    // A link, because a form may not lead to a login on another origin.
    expect(await answered.text()).toContain(
      `<a href="${new URL(page.address, stage.origin).pathname}">Sign in again</a>`,
    )
  })

  it("does not take over a stranger's request when sent its address", async () => {
    const stranger = newUser()
    const page = await openPage(stranger, authorizeUrl(stage, pkce))
    const victim = newUser()
    expect((await victim.visit(page.address)).status).toBe(400)
    const resume = page.address.replace('/ask/', '/authorize/')
    expect((await victim.visit(resume)).status).toBe(400)
    expect((await stranger.visit(page.address)).status).toBe(200)
  })
})

describe('Connect against mix-up, injection and replay', () => {
  it('makes a client that is told of another issuer refuse the answer', async () => {
    const configuration = await openid.discovery(new URL(stage.issuer), 'notes', undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
      algorithm: 'oauth2',
    })
    const { callback, pkce: own } = await getCode(stage, newUser())
    expect(callback.searchParams.get('iss')).toBe(stage.issuer)
    const checks = { pkceCodeVerifier: own.verifier, expectedState: 'state-1' }
    for (const iss of ['https://other.example', undefined]) {
      const forged = new URL(callback)
      if (iss === undefined) forged.searchParams.delete('iss')
      else forged.searchParams.set('iss', iss)
      await expect(openid.authorizationCodeGrant(configuration, forged, checks)).rejects.toThrow()
    }
    const tokens = await openid.authorizationCodeGrant(configuration, callback, checks)
    expect(tokens.access_token).toMatch(/^at-cr-/)
  })

  it('makes a stolen code useless in the session of another user of the app', async () => {
    const victim = await getCode(stage, newUser())
    const refused = await exchange(stage, { code: victim.code, pkce: createPkce() })
    expect(refused.status).toBe(400)
  })

  it('refuses to resume a request twice, or before it is answered', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const resume = page.address.replace('/ask/', '/authorize/')
    const early = await agent.follow(resume)
    // It goes back to the page, and gives no code.
    expect(early.headers.get('location')).toBeNull()
    const again = await openPage(agent, authorizeUrl(stage, pkce))
    await submit(agent, stage, again)
    const late = await agent.follow(again.address.replace('/ask/', '/authorize/'))
    expect(late.status).toBe(400)
    expect(late.headers.get('location')).toBeNull()
  })

  it('never redirects an answer to an unregistered address', async () => {
    const agent = newUser()
    const evil = 'https://evil.example/cb'
    const attempts = [
      authorizeUrl(stage, pkce, { redirect_uri: evil }),
      authorizeUrl(stage, pkce, { redirect_uri: `${WEB_REDIRECT}@evil.example` }),
      authorizeUrl(stage, pkce, { client_id: undefined, redirect_uri: evil }),
      `${authorizeUrl(stage, pkce)}&redirect_uri=${encodeURIComponent(evil)}`,
      authorizeUrl(stage, pkce, { redirect_uri: evil, prompt: 'none' }),
      authorizeUrl(stage, pkce, { redirect_uri: evil, response_type: 'token' }),
      authorizeUrl(stage, pkce, { redirect_uri: evil, scope: 'nonsense' }),
      `${stage.issuer}//evil.example/authorize`,
      `${stage.issuer}/authorize/..%2f..%2fevil.example`,
      `${stage.issuer}/ask/%2f%2fevil.example`,
      `${stage.issuer}/logo/..%2f/x`,
      `${stage.issuer}/logo/%/x`,
    ]
    for (const attempt of attempts) {
      const response = await agent.follow(attempt)
      expect([attempt, response.headers.get('location')]).toEqual([attempt, null])
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(response.status).toBeLessThan(500)
    }
  })

  it("tells the host's login only a path of its own, whatever the path of the request", async () => {
    const agent = new UserAgent(stage.origin)
    const response = await agent.visit(authorizeUrl(stage, pkce, { state: '//evil.example\r\nx: y' }))
    const to = new URL(response.headers.get('location')!).searchParams.get('to')!
    expect(to.startsWith('/connect/authorize?')).toBe(true)
    expect(to).not.toMatch(/[\r\n]/)
    // `fetch` would resolve the dots.
    for (const id of ['..', '%2e%2e', '\\..\\..\\admin', '.']) {
      const path = `/connect/authorize/${id}`
      const reply = await once(request(stage.origin, { path }).end(), 'response')
      const [{ headers, statusCode }] = reply as [IncomingMessage]
      reply[0].resume()
      expect([id, statusCode, headers.location]).toEqual([id, 404, undefined])
    }
  })
})

describe('Connect against clickjacking', () => {
  it('forbids framing of every page: consent, an error, an expired request, too many requests', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const responses = [
      page.response,
      await agent.visit(authorizeUrl(stage, pkce, { client_id: 'nobody' })),
      await agent.visit(`${stage.issuer}/ask/unknown`),
      await agent.visit(`${stage.issuer}/nothing`),
    ]
    for (const { headers } of responses) {
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    }
  })
})

describe('the secrets of Connect', () => {
  it('can be replaced while requests are open', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const next = await openStage({
      file: stage.file,
      connect: { secrets: ['n'.repeat(40), SECRET], router: stage.routerUrl },
    })
    try {
      const here = new UserAgent(next.origin)
      here.cookies.push(...agent.cookies)
      const address = new URL(new URL(page.address, stage.origin).pathname, next.origin).href
      const answered = await submit(here, next, { ...page, address })
      expect(answered.headers.get('location')).toContain('code=')
    } finally {
      await next.close()
    }
  })

  it('of another host open nothing', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const next = await openStage({ file: stage.file, connect: { secrets: ['n'.repeat(40)] } })
    try {
      const here = new UserAgent(next.origin)
      here.cookies.push(...agent.cookies)
      const address = new URL(new URL(page.address, stage.origin).pathname, next.origin).href
      expect((await submit(here, next, { ...page, address })).status).toBe(400)
    } finally {
      await next.close()
    }
  })
})

it('an app that is disconnected while its code is in transit gives no tokens', async () => {
  const agent = newUser()
  await connectApp(stage, agent)
  const { code, pkce: own } = await getCode(stage, agent)
  await stage.stores.connect.disconnectApp(account(), 'notes', { kind: 'account', name: account() })
  expect((await exchange(stage, { code, pkce: own })).status).toBe(400)
})
