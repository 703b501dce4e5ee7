import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import express from 'express'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Admin, createAdmin, type SessionHandlerOptions, sessionHandler } from '../../src/admin/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { useEngine } from '../helpers/engines.js'
import { type HostResponse, listenHttp } from '../helpers/listen-http.js'

const PAGE = 'https://app.example'
const GOOD = {
  'content-type': 'application/json',
  'sec-fetch-site': 'same-origin',
  cookie: 'user=alice; login=login-1',
}

const cookie = (req: IncomingMessage, name: string) =>
  new RegExp(`(?:^|; )${name}=([^;]+)`).exec(req.headers.cookie ?? '')?.[1]

function authenticate(req: IncomingMessage) {
  const account = cookie(req, 'user')
  const label = cookie(req, 'login')
  if (account === undefined) return undefined
  return { account, ...(label !== undefined && { label }) }
}

describe('the session handler', () => {
  const engine = useEngine('SQLite')
  let admin: Admin
  let stores: DurableStores
  beforeAll(() => {
    stores = engine.open('handler')
    admin = createAdmin(stores)
  })

  const options = (more: Partial<SessionHandlerOptions> = {}): SessionHandlerOptions => ({
    admin,
    authenticate,
    origins: [PAGE],
    ...more,
  })

  async function serve(handler: ReturnType<typeof sessionHandler>) {
    const host = await listenHttp(
      createServer((req, res) => handler(req, res)),
      '',
    )
    onTestFinished(() => host.close())
    return (headers: object = GOOD, method = 'POST'): Promise<HostResponse> =>
      host.request('/', {
        method,
        headers: headers as Record<string, string>,
        body: method === 'POST' ? '{}' : '',
      })
  }

  async function answerOf(response: HostResponse) {
    return [response.status, await response.json()]
  }

  it("gives the signed-in user a token for the host's pages", async () => {
    const post = await serve(sessionHandler(options({ models: ['acme/fast'], ttlMs: 60_000 })))
    const response = await post()
    const body = (await response.json()) as { token: string; expires_in: number }
    expect([response.status, body]).toEqual([
      200,
      { token: expect.stringMatching(/^at-cr-/), expires_in: 60 },
    ])
    expect(response.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(response.headers).not.toHaveProperty('access-control-allow-origin')
    const found = await stores.credentials.resolve(body.token, {
      requestId: 'one',
      signal: new AbortController().signal,
    })
    expect(found).toMatchObject({
      ok: true,
      principal: { account: 'alice', label: 'login-1', origins: [PAGE], allowedModels: ['acme/fast'] },
    })
  })

  it('continues the session of the same login until the host ends it', async () => {
    const post = await serve(sessionHandler(options()))
    const idOf = async (headers: object = GOOD) => {
      const { token } = (await (await post(headers)).json()) as { token: string }
      const found = await stores.credentials.resolve(token, {
        requestId: 'one',
        signal: new AbortController().signal,
      })
      return found.ok ? found.principal.credentialId : found.reason
    }
    const first = await idOf()
    expect(await idOf()).toBe(first)
    expect(await idOf({ ...GOOD, cookie: 'user=alice; login=login-2' })).not.toBe(first)
    await admin.sessions.revoke({ account: 'alice', label: 'login-1' })
    expect(await idOf()).not.toBe(first)
  })

  it.each([
    [405, 'method_not_allowed', GOOD, 'GET'],
    [405, 'method_not_allowed', GOOD, 'OPTIONS'],
    [403, 'origin_not_allowed', { ...GOOD, 'sec-fetch-site': 'same-site' }, 'POST'],
    [403, 'origin_not_allowed', { ...GOOD, 'sec-fetch-site': 'cross-site' }, 'POST'],
    [403, 'origin_not_allowed', { ...GOOD, 'sec-fetch-site': 'none' }, 'POST'],
    [403, 'origin_not_allowed', { 'content-type': GOOD['content-type'], cookie: GOOD.cookie }, 'POST'],
    [415, 'unsupported_media_type', { ...GOOD, 'content-type': 'text/plain' }, 'POST'],
    [415, 'unsupported_media_type', { ...GOOD, 'content-type': 'application/jsonp' }, 'POST'],
    [401, 'missing_credential', { ...GOOD, cookie: 'theme=dark' }, 'POST'],
  ])('answers %i %s', async (status, code, headers, method) => {
    const post = await serve(sessionHandler(options()))
    const response = await post(headers, method)
    expect(await answerOf(response)).toMatchObject([status, { error: { code } }])
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.headers).not.toHaveProperty('access-control-allow-origin')
  })

  it.each([undefined, null])('answers 401 and reports no fault if the host finds %s', async (nobody) => {
    const faults: unknown[] = []
    const handler = sessionHandler(options({ authenticate: async () => nobody }))
    const host = await listenHttp(
      createServer((req, res) => handler(req, res, (error) => faults.push(error))),
      '',
    )
    onTestFinished(() => host.close())
    const response = await host.request('/', { method: 'POST', headers: GOOD })
    expect(await answerOf(response)).toMatchObject([401, { error: { code: 'missing_credential' } }])
    expect(faults).toEqual([])
  })

  it.each([
    ['GET', GOOD, ''],
    ['PUT', GOOD, '{}'],
    ['POST', { ...GOOD, 'content-type': '' }, '{}'],
    ['POST', { ...GOOD, 'content-type': 'application/json;;=' }, '{}'],
    ['POST', { ...GOOD, 'content-type': 'application/json/' }, '{}'],
    ['POST', { ...GOOD, 'sec-fetch-site': 'same-origin, cross-site' }, '{}'],
    ['POST', { ...GOOD, 'sec-fetch-site': '\u00ff' }, '{}'],
    ['POST', { ...GOOD, cookie: 'user; login' }, '{}'],
    ['POST', GOOD, '{"account":"bob"}'],
    ['POST', GOOD, 'not JSON \0'],
  ])(
    'treats no %s with the headers %j and the body %j as a fault of the host',
    async (method, headers, body) => {
      const faults: unknown[] = []
      const handler = sessionHandler(options())
      const host = await listenHttp(
        createServer((req, res) => handler(req, res, (error) => faults.push(error))),
        '',
      )
      onTestFinished(() => host.close())
      const response = await host.request('/', { method, headers, body })
      expect(response.status).toBeLessThan(500)
      expect(faults).toEqual([])
    },
  )

  it('answers 403 if the user has not connected the app', async () => {
    const post = await serve(sessionHandler(options({ app: 'notes' })))
    expect(await answerOf(await post())).toMatchObject([403, { error: { code: 'insufficient_scope' } }])
  })

  it('answers 429 if a page asks too often', async () => {
    const post = await serve(sessionHandler(options()))
    const headers = { ...GOOD, cookie: 'user=carol' }
    for (let time = 0; time < 60; time++) expect((await post(headers)).status).toBe(200)
    const response = await post(headers)
    expect(await answerOf(response)).toMatchObject([429, { error: { code: 'rate_limited' } }])
    expect(response.headers['retry-after']).toBe('1')
  })

  it('answers 500 without the cause, or passes the error on, if the host fails', async () => {
    const handler = sessionHandler(
      options({
        authenticate: () => {
          throw new Error('the secret of the host')
        },
      }),
    )
    const post = await serve(handler)
    const response = await post()
    const text = await response.text()
    expect([response.status, JSON.parse(text)]).toMatchObject([500, { error: { code: 'internal_error' } }])
    expect(text).not.toContain('secret')
    const app = express().post('/', handler)
    const passed: unknown[] = []
    app.use(((error, _req, res, _next) => {
      passed.push(error.message)
      res.status(500).end()
    }) as express.ErrorRequestHandler)
    const host = await listenHttp(createServer(app), '')
    onTestFinished(() => host.close())
    await (await host.request('/', { method: 'POST', headers: GOOD, body: '{}' })).text()
    expect(passed).toEqual(['the secret of the host'])
  })

  it("works behind the host's body parser", async () => {
    const app = express().use(express.json()).post('/session', sessionHandler(options()))
    const host = await listenHttp(createServer(app), '')
    onTestFinished(() => host.close())
    const response = await host.request('/session', { method: 'POST', headers: GOOD, body: '{}' })
    expect(await answerOf(response)).toMatchObject([200, { expires_in: 900 }])
  })

  it.each([
    [{ admin: undefined }, 'sessionHandler: admin must be createAdmin(stores)'],
    [{ authenticate: undefined }, 'sessionHandler: authenticate is missing'],
    [{ origins: ['*'] }, 'sessionHandler: origins.0'],
    [{ budget: { amount: '-1' } }, 'budget.amount'],
    [{ account: 'alice' }, 'account is not an option'],
  ])('cannot be created with %o', (wrong, says) => {
    expect(() => sessionHandler({ ...options(), ...wrong } as never)).toThrow(says)
  })
})
