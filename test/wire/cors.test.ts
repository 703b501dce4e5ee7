import compression from 'compression'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseCredits } from '../../src/index.js'
import { type Host, hosts } from '../helpers/hosts.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../helpers/scripted-upstream.js'
import { ask, bareHttp, COUNTS, providerReply, usageChunk, WireService } from './service.js'

const PAGE = 'https://notes.example'
const OTHER_PAGE = 'http://localhost:5173'
const EVIL = 'https://evil.example'
const TOKEN = 'at-wire-page'
const BY_PAGE = { authorization: `Bearer ${TOKEN}`, origin: PAGE }
const EXPOSED =
  'x-request-id, retry-after, x-should-retry, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, www-authenticate'
const PREFLIGHT = {
  origin: EVIL,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,x-stainless-os',
}

const corsOf = (headers: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === 'vary' || name.startsWith('access-control-')),
  )

/** A service with a credential that two pages may use. */
async function start(host: Host): Promise<WireService> {
  const service = await WireService.start({ host })
  service.credentials.put(TOKEN, { kind: 'api-key', account: 'alice', origins: [PAGE, OTHER_PAGE] })
  service.upstream.script(answerJson(providerReply()))
  return service
}

describe.each(hosts)('CORS on $name', (host) => {
  let service: WireService
  beforeAll(async () => {
    service = await start(host)
  })
  afterAll(() => service.close())

  test.each([
    ['/chat/completions', 'POST, OPTIONS'],
    ['/responses', 'POST, OPTIONS'],
    ['/messages', 'POST, OPTIONS'],
    ['/models', 'GET, HEAD, OPTIONS'],
    ['/models/acme/fast', 'GET, HEAD, OPTIONS'],
    ['/openapi.json', 'GET, HEAD, OPTIONS'],
  ])('a preflight for %s is answered for everybody', async (path, methods) => {
    const response = await service.host.request(path, { method: 'OPTIONS', headers: PREFLIGHT })
    expect([response.status, corsOf(response.headers), await response.text()]).toEqual([
      204,
      {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': methods,
        'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
        'access-control-max-age': '600',
      },
      '',
    ])
    expect(response.headers.allow).toBe(methods)
  })

  test('a reply is readable only by its own page', async () => {
    for (const origin of [PAGE, OTHER_PAGE]) {
      const response = await service.post(ask(), { ...BY_PAGE, origin })
      expect([response.status, corsOf(response.headers)]).toMatchObject([
        200,
        { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED },
      ])
      expect(response.headers.vary).toContain('Origin')
      await response.text()
    }
  })

  test('a page of another origin is refused, and can read why', async () => {
    for (const origin of [EVIL, 'null', 'http://notes.example', `${PAGE}:444`, `${PAGE}.evil.example`]) {
      const response = await service.post(ask(), { ...BY_PAGE, origin })
      expect([response.status, await response.json()]).toMatchObject([
        403,
        { error: { code: 'origin_not_allowed', type: 'permission_error' } },
      ])
      expect(response.headers['access-control-allow-origin']).toBe('*')
      expect(response.headers['access-control-allow-credentials']).toBeUndefined()
    }
  })

  test('a reply to an API key has no CORS header, but an error has', async () => {
    const good = await service.post(ask(), { origin: EVIL })
    expect([good.status, good.headers['access-control-allow-origin']]).toEqual([200, undefined])
    await good.text()
    const bad = await service.post(ask({ model: 'acme/unheard-of' }), { origin: EVIL })
    expect([bad.status, bad.headers['access-control-allow-origin']]).toEqual([404, '*'])
    await bad.text()
  })

  test('nothing is added for a client that is not a browser', async () => {
    for (const [body, status] of [
      [ask(), 200],
      ['{', 400],
    ] as const) {
      const response = await service.post(body, { authorization: BY_PAGE.authorization })
      await response.text()
      expect(response.status).toBe(status)
      const names = Object.keys(response.headers)
      expect(names.filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })
})

describe('with CORS and a credential for some origins', () => {
  async function open(host: Host = bareHttp) {
    const service = await start(host)
    onTestFinished(() => service.close())
    return service
  }

  test('a stream is readable by its page too, and is charged', async () => {
    const service = await open()
    service.upstream.script(answerEvents([textChunk('Hello'), finishChunk(), usageChunk(COUNTS)]))
    const response = await service.post(ask({ stream: true }), BY_PAGE)
    expect(corsOf(response.headers)).toEqual({
      'access-control-allow-origin': PAGE,
      'access-control-expose-headers': EXPOSED,
      vary: 'Origin',
    })
    expect(await response.text()).toContain('Hello')
    await service.event('request-end')
    expect(await service.posted('alice')).toBeLessThan(parseCredits('1'))
  })

  test('a refused page costs nothing, holds nothing, and is in the events with its caller', async () => {
    const service = await open()
    const response = await service.post(ask(), { ...BY_PAGE, origin: EVIL })
    await response.text()
    expect(service.asked).toEqual([])
    expect([await service.held('alice'), await service.posted('alice')]).toEqual([0n, parseCredits('1')])
    expect(await service.event('request-end')).toMatchObject({
      outcome: 'origin_not_allowed',
      caller: { account: 'alice' },
    })
  })

  test.each(['/models', '/models/acme/fast', '/key', '/credits'])(
    'GET %s is readable by its page too',
    async (path) => {
      const service = await open()
      const good = await service.host.request(path, { headers: BY_PAGE })
      expect([good.status, good.headers['access-control-allow-origin']]).toEqual([200, PAGE])
      await good.text()
      const bad = await service.host.request(path, { headers: { ...BY_PAGE, origin: EVIL } })
      expect([bad.status, bad.headers['access-control-allow-origin']]).toEqual([403, '*'])
      await bad.text()
    },
  )

  test('a repeat of a call is readable by its page, but not by another', async () => {
    const service = await open()
    const headers = { ...BY_PAGE, 'idempotency-key': 'one' }
    const texts: string[] = []
    for (let time = 0; time < 2; time++) {
      const response = await service.post(ask(), headers)
      expect(response.headers['access-control-allow-origin']).toBe(PAGE)
      texts.push(await response.text())
    }
    expect(texts[1]).toBe(texts[0])
    expect((await service.post(ask(), { ...headers, origin: EVIL })).status).toBe(403)
    expect(service.asked).toHaveLength(1)
  })

  test('that lists no origin, no page is admitted', async () => {
    const service = await open()
    service.credentials.put('at-wire-none', { kind: 'api-key', account: 'alice', origins: [] })
    const response = await service.post(ask(), { ...BY_PAGE, authorization: 'Bearer at-wire-none' })
    expect(response.status).toBe(403)
    await response.text()
  })

  test("an error in another API's format is readable too", async () => {
    const service = await open()
    const response = await service.host.request('/messages', {
      method: 'POST',
      headers: { 'x-api-key': TOKEN, origin: EVIL, 'content-type': 'application/json' },
      body: '{}',
    })
    expect([response.status, response.headers['access-control-allow-origin']]).toEqual([403, '*'])
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'permission_error' } })
  })

  test.each(['/nothing', '/v1/chat/completions'])(
    'an unknown path such as %s is readable as 404',
    async (path) => {
      const service = await open()
      const response = await service.host.request(path, { headers: { origin: EVIL } })
      expect([response.status, response.headers['access-control-allow-origin']]).toEqual([404, '*'])
      await response.text()
    },
  )

  test('no header is made from a value that cannot be a list of names', async () => {
    const service = await open()
    const asked = 'x-a: b'
    const response = await service.host.request('/models', {
      method: 'OPTIONS',
      headers: { ...PREFLIGHT, 'access-control-request-headers': asked },
    })
    expect(response.status).toBe(204)
    expect(response.headers['access-control-allow-headers']).toBeUndefined()
  })

  test('OPTIONS from a client that is not a browser is answered as without CORS', async () => {
    const service = await open()
    const response = await service.host.request('/models', { method: 'OPTIONS' })
    expect([response.status, corsOf(response.headers)]).toEqual([204, {}])
  })
})

describe('CORS headers that the host has set', () => {
  /** Puts a middleware in front of the router. */
  const behind = (middleware: (...parts: Parameters<Parameters<Host['mount']>[0]>) => void): Host => ({
    ...bareHttp,
    mount: (router) => bareHttp.mount((req, res) => middleware(req, res, () => router(req, res))),
  })

  test('are left unchanged', async () => {
    const service = await start(
      behind((_, res, next) => {
        res.setHeader('access-control-allow-origin', 'https://app.example')
        res.setHeader('vary', 'Origin')
        next?.()
      }),
    )
    onTestFinished(() => service.close())
    const hosts = { 'access-control-allow-origin': 'https://app.example', vary: 'Origin' }
    const good = await service.post(ask(), BY_PAGE)
    const bad = await service.post('{', BY_PAGE)
    const asked = await service.host.request('/models', { method: 'OPTIONS', headers: PREFLIGHT })
    expect([good, bad, asked].map(({ headers }) => corsOf(headers))).toEqual([hosts, hosts, hosts])
    expect([good.status, bad.status, asked.status]).toEqual([200, 400, 204])
    await Promise.all([good.text(), bad.text()])
  })

  test('in Vary stay beside Origin', async () => {
    const compress = compression({ threshold: 0 })
    const service = await start(behind((req, res, next) => compress(req as never, res as never, next!)))
    onTestFinished(() => service.close())
    const response = await service.post(ask(), { ...BY_PAGE, 'accept-encoding': 'gzip' })
    expect(response.headers.vary?.split(', ').sort()).toEqual(['Accept-Encoding', 'Origin'])
    expect(response.headers['content-encoding']).toBe('gzip')
    response.body.resume()
  })
})

test('a CORS preflight needs no credential', async () => {
  const service = await start(bareHttp)
  onTestFinished(() => service.close())
  await service.host.request('/chat/completions', { method: 'OPTIONS', headers: PREFLIGHT })
  expect(service.events).toEqual([])
})
