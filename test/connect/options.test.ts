import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sqliteStores } from 'compat-router/sqlite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type ConnectEvent, type ConnectOptions, createConnect } from '../../src/connect/index.js'
import { createCompatRouter } from '../../src/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { SECRET, userOf } from './users.js'

let file: TestFile
let stores: DurableStores
beforeAll(async () => {
  file = await createTestFile()
  stores = sqliteStores({ file: file.file })
  await stores.ready()
})
afterAll(async () => {
  await stores.close()
  file.remove()
})

const options = (): ConnectOptions => ({
  url: 'https://host.example/connect',
  router: 'https://host.example/compat/v1',
  stores,
  authenticate: userOf,
  signIn: () => '/login',
  secrets: [SECRET],
  host: { name: 'Acme' },
  cap: { suggested: '5' },
})

describe('createConnect refuses', () => {
  it.each<readonly [string, Record<string, unknown>, RegExp]>([
    ['an unknown option', { publish: true }, /publish is not an option of createConnect/],
    ['no url', { url: undefined }, /url is missing; it must be an https address/],
    ['http away from loopback', { url: 'http://host.example/connect' }, /url must be an https address/],
    ['a url with a query', { url: 'https://host.example/connect?x' }, /url must be an https address/],
    ['a url without a path', { url: 'https://host.example' }, /url must have a path of its own/],
    ['a url that ends with a slash', { url: 'https://host.example/connect/' }, /must not end with a slash/],
    [
      'a url that is not in its normal form',
      { url: 'https://Host.example/connect' },
      /must be in its normal form/,
    ],
    ['a router without an address', { router: '/compat/v1' }, /router must be an https address/],
    ['stores in memory', { stores: {} }, /stores must be postgresStores/],
    [
      'no authenticate',
      { authenticate: undefined },
      /authenticate is missing; it must be a function of the request/,
    ],
    ['no signIn', { signIn: '/login' }, /signIn must be a function/],
    ['no secrets', { secrets: [] }, /secrets must have at least 1 item$/],
    ['a short secret', { secrets: [SECRET, 'short'] }, /secrets.1 must have 32 bytes or more$/],
    ['a secret alone', { secrets: SECRET }, /secrets must be a list; got a string/],
    ['a host without a name', { host: { name: ' ' } }, /host.name must be the host's name/],
    ['a script as a link', { host: { name: 'A', home: 'javascript:alert(1)' } }, /host.home must be a link/],
    ['an SVG logo', { host: { name: 'A', logo: Buffer.from('<svg/>') } }, /host.logo must be the bytes of/],
    ['no cap', { cap: undefined }, /cap is missing; it must be an object/],
    ['a cap that is a number', { cap: { suggested: 5 } }, /cap.suggested must be a decimal string/],
    [
      'a suggestion above the maximum',
      { cap: { suggested: '5', max: '4' } },
      /cap.suggested must be at most cap.max; got 5$/,
    ],
    ['a rate of 0', { rates: { tokens: 0 } }, /rates.tokens must be at least 1; got 0$/],
    [
      'a rate of nothing',
      { rates: { calls: 5 } },
      /rates.calls is not an option of createConnect; the options of rates are/,
    ],
    [
      'hours',
      { cap: { suggested: '5', period: 'hour' } },
      /cap.period must be "day", "week" or "month"; got "hour"$/,
    ],
    [
      'a zone that does not exist',
      { cap: { suggested: '5', zone: 'Mars/North' } },
      /cap.zone must be the name of a time zone/,
    ],
    ['no days', { end: { maxDays: 0 } }, /end.maxDays must be at least 1; got 0$/],
    [
      'more days than allowed',
      { end: { maxDays: 5, suggestedDays: 6 } },
      /end.suggestedDays must be at most/,
    ],
    [
      'a markup that is not one',
      { markup: { max: { basisPoints: -1 } } },
      /markup.max.basisPoints must be at least 0; got -1$/,
    ],
    [
      'a short secret of a resource server',
      { introspect: [{ id: 'a', secret: 'b' }] },
      /introspect.0.secret must have 32 bytes or more$/,
    ],
    ['a listener that is no function', { onEvent: true }, /onEvent must be a function/],
  ])('%s', (_, more, message) => {
    expect(() => createConnect({ ...options(), ...more } as ConnectOptions)).toThrow(message)
  })
})

it('createCompatRouter refuses an invalid metadata address of Connect', () => {
  for (const resourceMetadata of ['/path', 'https://host.example/"x', 5]) {
    expect(() => createCompatRouter({ stores, resourceMetadata: resourceMetadata as string })).toThrow(
      /resourceMetadata must be a whole address/,
    )
  }
})

it('Connect answers if the host fails: nothing is thrown, and the error becomes an event', async () => {
  const events: ConnectEvent[] = []
  const failing = new Proxy(stores, {
    get: (target, name) =>
      name === 'connect'
        ? new Proxy(target.connect, {
            get: (store, method) =>
              method === 'findApp' ? () => Promise.reject(new Error('down')) : Reflect.get(store, method),
          })
        : Reflect.get(target, name),
  })
  const connect = createConnect({
    ...options(),
    stores: failing,
    onEvent(event) {
      events.push(event)
      throw new Error('of the listener')
    },
  })
  const server = createServer((req, res) => connect(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const shown = await fetch(`${origin}/connect/authorize?client_id=notes`)
    expect(shown.status).toBe(503)
    expect(await shown.text()).not.toContain('down')
    const token = await fetch(`${origin}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'notes', grant_type: 'refresh_token', refresh_token: 'x' }),
    })
    expect(token.status).toBe(500)
    expect(await token.json()).toMatchObject({ error: 'server_error' })
    expect(events).toEqual([
      { type: 'connect-fault', where: 'http', error: { name: 'Error', message: 'down' } },
      { type: 'connect-fault', where: 'token', error: { name: 'Error', message: 'down' } },
    ])
    expect((await fetch(`${origin}/elsewhere`)).status).toBe(404)
  } finally {
    server.close()
    server.closeAllConnections()
    await connect.close()
  }
})

it('Connect deletes expired rows every minute, in batches, until none is left', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const left = [500, 500, 20, 0, 0]
  const swept: number[] = []
  const sweeping = new Proxy(stores, {
    get: (target, name) =>
      name === 'connect'
        ? { findApp: () => undefined, sweep: async (limit: number) => swept.push(limit) && left.shift() }
        : Reflect.get(target, name),
  })
  const connect = createConnect({ ...options(), stores: sweeping })
  try {
    vi.advanceTimersByTime(59_999)
    expect(swept).toEqual([])
    vi.advanceTimersByTime(1)
    await expect.poll(() => swept).toEqual([500, 500, 500, 500])
    vi.advanceTimersByTime(60_000)
    await expect.poll(() => swept.length).toBe(5)
    await connect.close()
    vi.advanceTimersByTime(600_000)
    expect(swept).toHaveLength(5)
  } finally {
    vi.useRealTimers()
    await connect.close()
  }
})

it("behind https, Connect's cookies are secure and bound to the mount path", async () => {
  const connect = createConnect({ ...options() })
  const server = createServer((req, res) => connect(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { createAdmin } = await import('../../src/admin/index.js')
  await createAdmin(stores).apps.put({
    id: 'notes',
    name: 'Notes',
    redirectUris: ['https://notes.example/cb'],
    allowedModels: [],
    markup: { basisPoints: 0 },
  })
  try {
    const query = new URLSearchParams({
      client_id: 'notes',
      response_type: 'code',
      redirect_uri: 'https://notes.example/cb',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    })
    const response = await fetch(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/connect/authorize?${query}`,
      { redirect: 'manual', headers: { cookie: 'user=alice' } },
    )
    const cookies = response.headers.getSetCookie()
    expect(cookies).toHaveLength(4)
    for (const cookie of cookies) {
      expect(cookie).toMatch(
        /; path=\/connect\/(ask|authorize)\/[\w-]{43}; .*samesite=lax; secure; httponly$/,
      )
    }
  } finally {
    server.close()
    server.closeAllConnections()
    await connect.close()
  }
})
