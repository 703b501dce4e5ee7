import type { ServerResponse } from 'node:http'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type BrowserSessionOptions, browserSession } from '../../src/browser/index.js'
import { CompatError } from '../../src/index.js'
import { errorReply } from '../../src/protocol/error-body.js'
import { createDeferred } from '../helpers/deferred.js'
import { json, startServer } from '../identity/issuer.js'

const NOW = Date.UTC(2026, 2, 31)
const TTL_SECONDS = 900
const later = (ms: number) => vi.setSystemTime(Date.now() + ms)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW })
})
afterEach(() => {
  vi.useRealTimers()
})

function refuse(res: ServerResponse, code: 'expired_credential' | 'revoked_credential'): void {
  const { body, headers, status } = errorReply(new CompatError(code, 'No.'))
  res.writeHead(status, headers).end(body)
}

/** A host that gives the tokens `t1`, `t2`, …, and a router that answers with the token of the call. */
async function open(options: Partial<BrowserSessionOptions> & { ttlSeconds?: number } = {}) {
  const { ttlSeconds = TTL_SECONDS, ...more } = options
  const host = await startServer((_, res) =>
    json(res, { token: `t${host.requests.length}`, expires_in: ttlSeconds }),
  )
  const router = await startServer((req, res, body) => json(res, { token: req.headers.authorization, body }))
  onTestFinished(async () => {
    await host.close()
    await router.close()
  })
  const session = browserSession({ refresh: host.url, ...more })
  const call = async (init?: RequestInit) => {
    const response = await session.fetch(router.url, init)
    return ((await response.json()) as { token: string }).token
  }
  return { call, host, router, session }
}

describe('a call from a page', () => {
  test('carries a token that the host returns for a POST of JSON', async () => {
    const { call, host, router } = await open()
    expect(await call({ headers: { authorization: 'Bearer unused', 'x-own': '1' } })).toBe('Bearer t1')
    expect(host.requests).toMatchObject([{ body: '{}', headers: { 'content-type': 'application/json' } }])
    expect(router.requests[0]!.headers).toMatchObject({ 'x-own': '1' })
  })

  test('may be a Request, with its headers and body', async () => {
    const { router, session } = await open()
    const request = new Request(router.url, { method: 'POST', body: 'hello', headers: { 'x-own': '1' } })
    expect(await (await session.fetch(request)).json()).toEqual({ token: 'Bearer t1', body: 'hello' })
    expect(router.requests[0]!.headers).toMatchObject({ 'x-own': '1' })
  })

  test('carries the cached token until 60 seconds before its expiry', async () => {
    const { call, host } = await open()
    await call()
    later((TTL_SECONDS - 60) * 1_000 - 1)
    expect(await call()).toBe('Bearer t1')
    later(1)
    expect(await call()).toBe('Bearer t2')
    expect(host.requests).toHaveLength(2)
  })

  test('carries a short-lived token until half of its lifetime', async () => {
    const { call } = await open({ ttlSeconds: 10 })
    await call()
    later(4_999)
    expect(await call()).toBe('Bearer t1')
    later(1)
    expect(await call()).toBe('Bearer t2')
  })

  test('shares a running token request with other calls', async () => {
    const { call, host } = await open()
    const tokens = await Promise.all(Array.from({ length: 20 }, () => call()))
    expect(new Set(tokens)).toEqual(new Set(['Bearer t1']))
    later(TTL_SECONDS * 1_000)
    const next = await Promise.all(Array.from({ length: 20 }, () => call()))
    expect(new Set(next)).toEqual(new Set(['Bearer t2']))
    expect(host.requests).toHaveLength(2)
  })

  test('gets its token from a function, which may fail', async () => {
    const tokens = ['a', undefined, 'b']
    const refresh = async () => {
      const token = tokens.shift()
      if (token === undefined) throw new Error('no connection')
      return { token, expires_in: 60 }
    }
    const { call, session } = await open({ refresh })
    expect(await call()).toBe('Bearer a')
    session.forget()
    await expect(call()).rejects.toThrow('no connection')
    expect(await call()).toBe('Bearer b')
  })

  test.each([{}, { token: 5, expires_in: 60 }, { token: 'a' }, { token: 'a', expires_in: -1 }])(
    'fails if the host answers %o to its token request',
    async (answer) => {
      const { call, host, router } = await open()
      host.answer = (_, res) => json(res, answer)
      await expect(call()).rejects.toThrow('has no token')
      expect(router.requests).toEqual([])
    },
  )
})

describe("a page's token that the router reports as expired", () => {
  const expiring = (router: Awaited<ReturnType<typeof open>>['router'], expired: readonly string[]) => {
    router.answer = (req, res, body) => {
      const token = String(req.headers.authorization)
      if (expired.includes(token)) refuse(res, 'expired_credential')
      else json(res, { token, body })
    }
  }

  test('is replaced once for all calls, which are repeated', async () => {
    const { call, host, router, session } = await open()
    expiring(router, ['Bearer t1'])
    const init = { method: 'POST', body: 'hello' }
    expect(await (await session.fetch(router.url, init)).json()).toEqual({
      token: 'Bearer t2',
      body: 'hello',
    })
    later(TTL_SECONDS * 1_000)
    expiring(router, ['Bearer t3'])
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => call())))).toEqual(
      new Set(['Bearer t4']),
    )
    expect(host.requests).toHaveLength(4)
  })

  test('is not replaced a second time', async () => {
    const { host, router, session } = await open()
    expiring(router, ['Bearer t1', 'Bearer t2'])
    const response = await session.fetch(router.url)
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { code: 'expired_credential' } },
    ])
    expect([host.requests.length, router.requests.length]).toEqual([2, 2])
  })

  test('fails a call whose body cannot be sent again', async () => {
    const { router, session } = await open()
    expiring(router, ['Bearer t1'])
    const body = new Blob(['hello']).stream()
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    expect((await session.fetch(router.url, init)).status).toBe(401)
    expect((await session.fetch(new Request(router.url))).status).toBe(200)
  })
})

describe('a call from a page is not repeated', () => {
  test.each([
    ['if the token was revoked', (res: ServerResponse) => refuse(res, 'revoked_credential')],
    ['if the router is busy', (res: ServerResponse) => json(res, {}, 503)],
  ])('%s', async (_, answer) => {
    const { router, session } = await open()
    router.answer = (_req, res) => answer(res)
    expect((await session.fetch(router.url)).ok).toBe(false)
    expect(router.requests).toHaveLength(1)
  })

  test('if its reply had begun', async () => {
    const { router, session } = await open()
    router.answer = (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n', () => res.destroy())
    }
    const response = await session.fetch(router.url)
    await expect(response.text()).rejects.toThrow()
    expect(router.requests).toHaveLength(1)
  })

  test('if its connection breaks', async () => {
    const { call, router } = await open()
    router.answer = (_, res) => res.destroy()
    await expect(call()).rejects.toThrow()
    expect(router.requests).toHaveLength(1)
  })
})

describe('a host that returns no token to a page', () => {
  const signedOut = { error: { code: 'missing_credential', message: 'Nobody is signed in here.' } }

  test('answers the call itself, with an error that client libraries can read', async () => {
    const { host, router, session } = await open()
    host.answer = (_, res) => json(res, signedOut, 401)
    const responses = await Promise.all([session.fetch(router.url), session.fetch(router.url)])
    for (const response of responses)
      expect([response.status, await response.json()]).toEqual([401, signedOut])
    expect([host.requests.length, router.requests.length]).toEqual([1, 0])
    const client = new OpenAI({ baseURL: router.url, apiKey: 'session', fetch: session.fetch })
    await expect(client.models.list()).rejects.toMatchObject({ status: 401, code: 'missing_credential' })
  })

  test('because it is busy or broken does no harm while the token is valid', async () => {
    const { call, host, router, session } = await open()
    await call()
    later((TTL_SECONDS - 30) * 1_000)
    for (const answer of [
      (res: ServerResponse) => json(res, {}, 429),
      (res: ServerResponse) => json(res, {}, 503),
      (res: ServerResponse) => res.destroy(),
    ]) {
      host.answer = (_, res) => answer(res)
      expect(await call()).toBe('Bearer t1')
    }
    host.answer = (_, res) => json(res, signedOut, 401)
    expect((await session.fetch(router.url)).status).toBe(401)
    later(30_000)
    host.answer = (_, res) => json(res, {}, 503)
    expect((await session.fetch(router.url)).status).toBe(503)
  })

  test('because the user has signed out is asked again after `forget`', async () => {
    const { call, session } = await open()
    expect(await call()).toBe('Bearer t1')
    session.forget()
    expect(await call()).toBe('Bearer t2')
  })

  test('until after `forget` gives no token to later calls', async () => {
    const { call, host, session } = await open()
    const asked = createDeferred<ServerResponse>()
    host.answer = (_, res) => asked.resolve(res)
    const early = call()
    const before = await asked.promise
    session.forget()
    host.answer = (_, res) => json(res, { token: 'of-after', expires_in: 900 })
    expect(await call()).toBe('Bearer of-after')
    json(before, { token: 'of-before', expires_in: 900 })
    await early
    expect(await call()).toBe('Bearer of-after')
  })
})

test('a call from a page can be aborted by the page', async () => {
  const { router, session } = await open()
  await expect(session.fetch(router.url, { signal: AbortSignal.abort() })).rejects.toThrow()
  expect(router.requests).toEqual([])
})
