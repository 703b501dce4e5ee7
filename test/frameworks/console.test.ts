import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { FAST, NOTES } from '../connect/stage.js'
import { call, exchange, getCode, UserAgent } from '../connect/user-agent.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { Application } from './application.js'
import { NEXT_CONSOLE } from './apps.js'

/** A call costs 2 credits, and the markup of the app one more for each. */
const PRICES = { input: '0', output: '0', request: '2' }
const MARKUP = { basisPoints: 0, flat: '1' }
const COMPLETION = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

describe('the console and Connect in Next.js', () => {
  let application: Application
  let origin: string
  let operator: UserAgent

  const ownPage = () => ({ origin, 'sec-fetch-site': 'same-origin' })
  const post = (path: string, body: object, headers: Record<string, string> = ownPage()) =>
    operator.visit(`/console/${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const read = async (path: string) => (await operator.visit(`/console/api/${path}`)).json()

  beforeAll(async () => {
    application = await Application.start(NEXT_CONSOLE, inject('env'))
    origin = new URL(application.baseUrl).origin
    operator = new UserAgent(origin)
    expect((await operator.visit('/console/api/me')).status).toBe(401)
    const link = () => /http:\/\/\S+\/console\/sign-in#\S+/.exec(application.printed)?.[0]
    const { pathname, hash } = new URL(await vi.waitUntil(link))
    expect((await operator.visit(pathname)).headers.get('content-type')).toContain('text/html')
    const signedIn = await post('sign-in', { secret: hash.slice(1) })
    expect([signedIn.status, await signedIn.json()]).toEqual([200, { done: true }])
  })
  afterAll(() => application?.close())

  it('serve the page of the console, and the scripts that it names', async () => {
    const moved = await operator.visit('/console')
    expect([moved.status, moved.headers.get('location')]).toEqual([308, './console/'])
    const page = await operator.visit('/console/')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    const script = /src="([^"]+\.js)"/.exec(await page.text())![1]!
    const loaded = await operator.visit(new URL(script, `${origin}/console/`).href)
    expect([loaded.status, loaded.headers.get('content-type')]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ])
    expect(await read('me')).toMatchObject({ viewer: { kind: 'operator' } })
  })

  it.each([
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page that says nothing', {}],
  ])('change nothing for %s', async (_, headers) => {
    const refused = await post('api/accounts/credit', { account: 'mallory', amount: '1' }, headers)
    expect(refused.status).toBe(403)
    expect(await read('accounts?account=mallory')).toMatchObject({ accounts: [] })
  })

  it('connect an app to an account, charge its call, and show it', async () => {
    const route = { id: 'acme:fast', provider: 'acme', adapter: 'openai', model: FAST, upstreamModel: 'm' }
    const settings = { baseUrl: application.upstream.baseUrl }
    const furniture = [
      ['models/put', { id: FAST, prices: PRICES }],
      ['routes/put', { ...route, settings }],
      ['accounts/credit', { account: 'alice', amount: '100' }],
      ['apps/put', { ...NOTES, allowedModels: [FAST], markup: MARKUP }],
    ] as const
    for (const [path, body] of furniture) {
      const reply = await post(`api/${path}`, body)
      expect([path, reply.status, await reply.text()]).toEqual([path, 200, expect.anything()])
    }
    const place = { origin, issuer: `${origin}/connect`, routerUrl: application.baseUrl }

    const unknown = await fetch(`${place.routerUrl}/models`, { headers: { authorization: 'Bearer sk-no' } })
    const [, metadata] = /resource_metadata="([^"]+)"/.exec(unknown.headers.get('www-authenticate')!)!
    const resource = (await (await fetch(metadata!)).json()) as { authorization_servers: string[] }
    expect(resource.authorization_servers).toEqual([place.issuer])
    const server = await fetch(`${origin}/.well-known/oauth-authorization-server/connect`)
    expect(await server.json()).toMatchObject({ token_endpoint: `${place.issuer}/token` })

    const { code, pkce } = await getCode(place, new UserAgent(origin, 'alice'))
    const exchanged = await exchange(place, { code, pkce })
    expect(exchanged.status).toBe(200)
    const { access_token: token } = (await exchanged.json()) as { access_token: string }

    application.upstream.scriptOnce(answerJson(COMPLETION))
    const reply = await call(place, token)
    expect([reply.status, await reply.json()]).toMatchObject([200, { usage: { cost: 3 } }])
    await expect
      .poll(() => read('accounts?account=alice'))
      .toMatchObject({ accounts: [{ posted: '97', held: '0' }] })
    expect(await read('live')).toMatchObject({ routes: [{ routeId: 'acme:fast' }] })

    // Whoever presents a code again has copied it.
    expect((await exchange(place, { code, pkce })).status).toBe(400)
    expect((await call(place, token)).status).toBe(401)
  })
})
