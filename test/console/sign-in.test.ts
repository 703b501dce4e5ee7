import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { createConsole, type OneTimeSignInOptions, oneTimeSignIn } from '../../src/console/index.js'
import { adminWith } from '../helpers/admin-with.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { ask } from './console-bench.js'

let closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers) await close()
  closers = []
})

const HOUR_MS = 3_600_000

async function start(options: OneTimeSignInOptions = {}, mount = '/console') {
  const clock = createSteppedClock()
  const signIn = oneTimeSignIn({ clock, ...options })
  const admin = adminWith({
    entries: { list: async () => ({ entries: [] }) },
    models: { list: async () => [] },
  })
  const pages = createConsole({ admin, authorise: signIn.authorise })
  const app = express().use(mount, signIn, pages)
  const server = createServer(app)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  closers.push(() => new Promise((done) => server.close(done).closeAllConnections()))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const baseUrl = origin + mount.replace(/\/$/, '')
  const headers = { origin, 'content-type': 'application/json' }
  return {
    clock,
    signIn,
    baseUrl,
    origin,
    port,
    post: (path: string, body: object, cookie = '', more: Record<string, string> = {}) =>
      ask(`${baseUrl}/${path}`, {
        method: 'POST',
        headers: { ...headers, cookie, ...more },
        body: JSON.stringify(body),
      }),
    me: (cookie: string) => ask(`${baseUrl}/api/me`, { headers: { cookie } }),
    secret: () => new URL(signIn.link(baseUrl)).hash.slice(1),
  }
}

function cookieIn(headers: Headers): string {
  return headers.get('set-cookie')!.split(';')[0]!
}

describe('a one-time link to the console', () => {
  it('has a new secret each time, in a part of the URL that no server, log or referrer receives', async () => {
    const { signIn, baseUrl } = await start()
    const link = new URL(signIn.link(`${baseUrl}/`))
    expect(link.origin + link.pathname).toBe(`${baseUrl}/sign-in`)
    expect(link.search).toBe('')
    expect(link.hash).toMatch(/^#[\w-]{43}$/)
    expect(new URL(signIn.link(baseUrl)).hash).not.toBe(link.hash)
  })

  it('needs the address of the console', () => {
    expect(() => oneTimeSignIn().link(undefined as never)).toThrow(
      "link: consoleUrl must be the console's address",
    )
  })

  it('opens a page that sends the secret and removes it from the browser history', async () => {
    const { baseUrl } = await start()
    const page = await ask(`${baseUrl}/sign-in`, {})
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.text).not.toMatch(/<script>|style=|onload=/)
    for (const file of page.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
      expect((await ask(`${baseUrl}/${file[1]}`, {})).status).toBe(200)
    }
    const script = (await ask(`${baseUrl}/sign-in.js`, {})).text
    expect(script.indexOf('history.replaceState')).toBeLessThan(script.indexOf('fetch('))
  })

  it('is exchanged once for a session, in a cookie that scripts and other sites cannot use', async () => {
    const { secret, post, me, port } = await start()
    const good = secret()
    const first = await post('sign-in', { secret: good })
    expect([first.status, first.json]).toEqual([200, { done: true }])
    expect(first.headers.get('set-cookie')).toMatch(
      new RegExp(`^compat-console-${port}=[\\w-]{43}; Max-Age=43200; HttpOnly; SameSite=Strict$`),
    )
    expect((await me(cookieIn(first.headers))).json).toMatchObject({
      viewer: { kind: 'operator' },
      signOutPath: 'sign-out',
    })
    const second = await post('sign-in', { secret: good })
    expect(second.status).toBe(403)
    expect(second.json).toEqual({
      error: { message: expect.stringContaining('has been used, has expired, or is incomplete') },
    })
    expect(second.headers.get('set-cookie')).toBeNull()
  })

  it('that was used still admits a person who is signed in', async () => {
    const { secret, post } = await start()
    const good = secret()
    const cookie = cookieIn((await post('sign-in', { secret: good })).headers)
    expect((await post('sign-in', { secret: good }, cookie)).status).toBe(200)
  })

  it.each([[''], ['guess'], [undefined], [42], [{ toString: 'x' }]])(
    'does not accept the secret %j',
    async (secret) => {
      const { post } = await start({ hint: 'Run it again.' })
      const { status, json } = await post('sign-in', { secret })
      expect([status, json]).toEqual([403, { error: { message: expect.stringMatching(/Run it again\.$/) } }])
    },
  )

  it('tells a person whose session has ended that it works once and where to get another', async () => {
    const { signIn } = await start({ hint: 'Run it again.' })
    expect(signIn.hint).toBe('A link opens the console once. Run it again.')
    const { signIn: plain } = await start()
    expect(plain.hint).toBe(
      'A link opens the console once. Get a new link from the same source as the last one.',
    )
  })

  it('is valid for an hour, and its session for twelve hours', async () => {
    const { secret, post, me, clock } = await start()
    const [late, good] = [secret(), secret()]
    await clock.elapse(HOUR_MS - 1)
    const cookie = cookieIn((await post('sign-in', { secret: good })).headers)
    await clock.elapse(1)
    expect((await post('sign-in', { secret: late })).status).toBe(403)
    await clock.elapse(12 * HOUR_MS - 2)
    expect((await me(cookie)).status).toBe(200)
    await clock.elapse(1)
    expect((await me(cookie)).status).toBe(401)
  })

  it('is dropped for newer ones, so that links and sessions need little memory', async () => {
    const { secret, post } = await start()
    const first = secret()
    for (let turn = 0; turn < 100; turn++) secret()
    expect((await post('sign-in', { secret: first })).status).toBe(403)
  })

  it('signs in the viewer that the host names', async () => {
    const { secret, post, me } = await start({ viewer: { kind: 'user', account: 'alice', name: 'Alice' } })
    const cookie = cookieIn((await post('sign-in', { secret: secret() })).headers)
    expect((await me(cookie)).json).toMatchObject({
      viewer: { kind: 'user', account: 'alice', name: 'Alice' },
    })
  })
})

describe('signing in to the console and out', () => {
  it('is refused from another site, after which the link still works', async () => {
    const { secret, post } = await start()
    const good = secret()
    expect((await post('sign-in', { secret: good }, '', { origin: 'https://evil.example' })).status).toBe(403)
    expect((await post('sign-in', { secret: good }, '', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('sign-in', { secret: good })).status).toBe(200)
  })

  it('ends the session on the server and removes its cookie', async () => {
    const { secret, post, me } = await start()
    const cookie = cookieIn((await post('sign-in', { secret: secret() })).headers)
    const out = await post('sign-out', {}, `other=1; ${cookie}`)
    expect(out.status).toBe(200)
    expect(out.headers.get('set-cookie')).toMatch(/^compat-console-\d+=; Max-Age=0; HttpOnly/)
    expect((await me(cookie)).status).toBe(401)
  })

  it('works with another cookie of the same name', async () => {
    const { secret, post, me } = await start()
    const cookie = cookieIn((await post('sign-in', { secret: secret() })).headers)
    const both = `${cookie.replace(/=.*/, '=of-somebody-else')}; ${cookie}`
    expect((await me(both)).status).toBe(200)
    await post('sign-out', {}, both)
    expect((await me(cookie)).status).toBe(401)
  })

  it("leaves the cookie's path to the browser, which knows the path behind a proxy", async () => {
    for (const mount of ['/', '/console']) {
      const { post, secret } = await start({}, mount)
      const cookie = (await post('sign-in', { secret: secret() })).headers.get('set-cookie')
      expect(cookie).not.toMatch(/path=/i)
    }
  })

  it('restricts the cookie to https if browsers use https, even if a proxy terminates it', async () => {
    const origin = 'https://console.example.com'
    const rewritten = await start({ origin })
    const answer = await rewritten.post('sign-in', { secret: rewritten.secret() }, '', { origin })
    expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/)
    const plain = 'http://console.example.com'
    const open = await start({ origin: plain })
    const unprotected = await open.post('sign-in', { secret: open.secret() }, '', { origin: plain })
    expect(unprotected.headers.get('set-cookie')).toMatch(/; SameSite=Strict$/)
    const kept = await start()
    const headers = { origin: kept.origin.replace('http:', 'https:') }
    const signedIn = await kept.post('sign-in', { secret: kept.secret() }, '', headers)
    expect(signedIn.headers.get('set-cookie')).toMatch(/; Secure$/)
    const signedOut = await kept.post('sign-out', {}, cookieIn(signedIn.headers), headers)
    expect(signedOut.headers.get('set-cookie')).toMatch(/; Secure$/)
  })

  it('names the two options to set if a proxy rewrites Host', async () => {
    const { post, secret } = await start()
    const { status, json } = await post('sign-in', { secret: secret() }, '', {
      origin: 'https://console.example.com',
    })
    expect(status).toBe(403)
    expect(json).toEqual({
      error: { message: expect.stringContaining('the origin option of createConsole and oneTimeSignIn') },
    })
  })

  it.each(['', 'compat-console-1=x', 'compat-console-PORT=', 'compat-console-PORT=guess'])(
    'fails with the cookie %j',
    async (cookie) => {
      const { me, port } = await start()
      expect((await me(cookie.replace('PORT', String(port)))).status).toBe(401)
    },
  )
})

describe('oneTimeSignIn', () => {
  it.each<[object | null, RegExp]>([
    [
      { linkMs: '3600000' },
      /^oneTimeSignIn: linkMs must be a whole number; got "3600000": remove the quotes$/,
    ],
    [{ linkMs: -1 }, /^oneTimeSignIn: linkMs must be above 0; got/],
    [{ linkMs: 0 }, /^oneTimeSignIn: linkMs must be above 0; got/],
    [{ linkMs: Number.NaN }, /^oneTimeSignIn: linkMs must be a whole number; got NaN/],
    [{ sessionMs: '1h' }, /^oneTimeSignIn: sessionMs must be a whole number; got "1h"$/],
    [
      { sessionMs: Number.POSITIVE_INFINITY },
      /^oneTimeSignIn: sessionMs must be a whole number; got Infinity/,
    ],
    [{ viewer: { kind: 'admin' } }, /^oneTimeSignIn: viewer\.kind must be "operator" or "user"/],
    [{ viewer: { kind: 'user' } }, /^oneTimeSignIn: viewer\.account is missing/],
    [{ origin: 'example.com' }, /^oneTimeSignIn: origin must be only a scheme and a host, such as https:/],
    [{ hint: 5 }, /^oneTimeSignIn: hint must be a string; got 5: put/],
    [{ basePath: 'console' }, /^oneTimeSignIn: basePath must begin with a slash/],
    [{ linkms: 5 }, /^linkms is not an option of oneTimeSignIn; did you mean linkMs\?$/],
    [null, /^oneTimeSignIn takes an object of options; got null$/],
  ])('refuses %j', (options, message) => {
    const make = () => oneTimeSignIn(options as OneTimeSignInOptions)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  })

  it('lasts whole seconds in its cookie, at least as many as the session lasts', async () => {
    const { post, secret } = await start({ sessionMs: 1_500 })
    const { headers } = await post('sign-in', { secret: secret() })
    expect(headers.get('set-cookie')).toContain('; Max-Age=2;')
  })

  it("works over plain http with the console's base path", async () => {
    const basePath = '/console'
    const signIn = oneTimeSignIn({ basePath })
    const admin = adminWith({
      entries: { list: async () => ({ entries: [] }) },
      models: { list: async () => [] },
    })
    const pages = createConsole({ admin, authorise: signIn.authorise, basePath })
    const server = createServer((req, res) => signIn(req, res, () => pages(req, res)))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    closers.push(() => new Promise((done) => server.close(done).closeAllConnections()))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const link = new URL(signIn.link(`${origin}/console`))
    expect((await ask(`${origin}${link.pathname}`, {})).status).toBe(200)
    const { headers } = await ask(`${origin}${link.pathname}`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ secret: link.hash.slice(1) }),
    })
    expect((await ask(`${origin}/console/api/me`, { headers: { cookie: cookieIn(headers) } })).status).toBe(
      200,
    )
  })
})
