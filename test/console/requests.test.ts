import { once } from 'node:events'
import http from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Admin } from '../../src/admin/index.js'
import { endpoints } from '../../src/console/endpoints/index.js'
import { createConsole } from '../../src/console/index.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { alice, type Bench, furnish, operator, startBench, visitor } from './console-bench.js'

let bench: Bench

beforeAll(async () => {
  bench = await startBench()
  await furnish(bench)
})

afterAll(() => bench.close())

const post = (headers: Record<string, string>, body: unknown = { account: 'new' }) =>
  bench.as(operator).post('api/accounts/open', body, headers)
const host = () => new URL(bench.origin).host

describe('a writing request to the console', () => {
  it('is accepted from a page of the same origin', async () => {
    expect((await post({ origin: bench.origin })).status).toBe(200)
    expect((await post({ origin: bench.origin, 'sec-fetch-site': 'same-origin' })).status).toBe(200)
    // Behind a proxy that terminates TLS and keeps Host.
    expect((await post({ origin: `https://${host()}` })).status).toBe(200)
  })

  it.each<[string, () => Record<string, string>]>([
    ['another site', () => ({ origin: 'https://evil.example' })],
    ['another port', () => ({ origin: 'http://127.0.0.1:1' })],
    ['a page without an origin', () => ({ origin: 'null' })],
    ['a host with the same beginning', () => ({ origin: `http://${host()}.evil.example` })],
    [
      'a site that the browser reports as another',
      () => ({ origin: bench.origin, 'sec-fetch-site': 'cross-site' }),
    ],
    ['a sibling site', () => ({ origin: bench.origin, 'sec-fetch-site': 'same-site' })],
    ['the address bar', () => ({ origin: bench.origin, 'sec-fetch-site': 'none' })],
  ])('is refused from %s', async (_, headers) => {
    const { status, json } = await post(headers())
    expect(status).toBe(403)
    expect(json).toEqual({ error: { message: expect.stringContaining("Only the console's own pages") } })
  })

  it('is refused if nothing says which page sent it', async () => {
    const status = await new Promise((done) => {
      const request = http.request(`${bench.baseUrl}/api/accounts/open`, {
        method: 'POST',
        headers: { 'x-viewer': '{"kind":"operator"}', 'content-type': 'application/json' },
      })
      request.on('response', (response) => done(response.resume().statusCode))
      request.end('{"account":"sneaked"}')
    })
    expect(status).toBe(403)
    expect(await bench.admin.accounts.find('sneaked')).toBeUndefined()
  })

  it('is compared only with `origin` if the host sets it', async () => {
    const proxied = await startBench({ console: { origin: 'https://console.example.com' } })
    try {
      const send = (origin: string) =>
        proxied.as(operator).post('api/accounts/open', { account: 'a' }, { origin })
      expect((await send('https://console.example.com')).status).toBe(200)
      expect((await send('http://console.example.com')).status).toBe(403)
      expect((await send(proxied.origin)).status).toBe(403)
    } finally {
      await proxied.close()
    }
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp'])(
    'is refused with the content type %s, which a form or another site can send',
    async (type) => {
      expect((await post({ 'content-type': type })).status).toBe(415)
    },
  )

  it('is never a GET', async () => {
    for (const { method, path } of endpoints) {
      const wrong = method === 'GET' ? 'POST' : 'GET'
      const visit = bench.as(operator)
      const answer = wrong === 'GET' ? await visit.get(`api/${path}`) : await visit.post(`api/${path}`)
      expect([path, answer.status, answer.headers.get('allow')]).toEqual([path, 405, method])
    }
  })

  it.each<[string, unknown, string]>([
    ['no JSON', '{', 'The body is not JSON'],
    ['an array', '[]', 'The body must be a JSON object'],
    ['null', 'null', 'The body must be a JSON object'],
  ])('is refused if its body is %s', async (_, body, message) => {
    const { status, json } = await post({}, body)
    expect([status, json]).toEqual([400, { error: { message } }])
  })

  it('is refused above a mebibyte, whether or not its size is declared', async () => {
    const big = JSON.stringify({ account: 'x'.repeat(1_100_000) })
    const declared = await post({}, big).catch(() => undefined)
    // The connection is closed, so a client that is still sending may notice that first.
    if (declared !== undefined) expect(declared.status).toBe(413)
    const status = await new Promise((done) => {
      const request = http.request(`${bench.baseUrl}/api/accounts/open`, {
        method: 'POST',
        headers: {
          'x-viewer': '{"kind":"operator"}',
          'content-type': 'application/json',
          origin: bench.origin,
          'transfer-encoding': 'chunked',
        },
      })
      request.on('response', (response) => done(response.resume().statusCode))
      request.on('error', () => undefined)
      request.write(big)
    })
    expect(status).toBe(413)
    expect(await bench.as(operator).get('api/me')).toMatchObject({ status: 200 })
  })
})

describe('invalid input to the console', () => {
  it.each<[string, string, object, number, string | undefined, RegExp]>([
    ['a credit of no amount', 'accounts/credit', { account: 'alice' }, 400, 'amount', /^amount is missing/],
    [
      'a credit of a word as the amount',
      'accounts/credit',
      { account: 'alice', amount: 'five' },
      400,
      'amount',
      /decimal string/,
    ],
    [
      'a negative credit',
      'accounts/credit',
      { account: 'alice', amount: '-1' },
      400,
      'amount',
      /^amount must be above 0\. To take credits away, make a correction/,
    ],
    [
      'a credit of nothing',
      'accounts/credit',
      { account: 'alice', amount: '0.000' },
      400,
      'amount',
      /^amount must be above 0: a credit adds to the balance/,
    ],
    [
      'a credit that no account can hold',
      'accounts/credit',
      { account: 'alice', amount: '9223372036.854775808' },
      400,
      'amount',
      /^amount must be at most 9223372036\.854775807 credits$/,
    ],
    [
      'a credit that alice cannot hold in addition to her balance',
      'accounts/credit',
      { account: 'alice', amount: '9223372036.854775807' },
      400,
      'amount',
      /^amount must keep the balance between -9223372036\.854775807 and 9223372036\.854775807 credits/,
    ],
    [
      'a correction that no account can hold',
      'accounts/correct',
      { account: 'alice', amount: '-9223372036.854775808' },
      400,
      'amount',
      /^amount must be at least -9223372036\.854775807 credits$/,
    ],
    [
      'a price that no account could pay',
      'models/put',
      { id: 'm', prices: { input: '99999999999999999999999999999', output: '1' } },
      400,
      'prices.input',
      /^prices\.input must be at most 9223372036854775\.807 credits$/,
    ],
    [
      'a price of audio that no account could pay',
      'models/put',
      { id: 'm', prices: { input: '1', output: '1', audioInput: '99999999999999999999999999999' } },
      400,
      'prices.audioInput',
      /^prices\.audioInput must be at most 9223372036854775\.807 credits$/,
    ],
    [
      'a tier price that no account could pay',
      'models/put',
      {
        id: 'm',
        prices: { input: '1', output: '1', tiers: [{ above: 1, input: '1', output: '99999999999999999' }] },
      },
      400,
      'prices.tiers.0.output',
      /^prices\.tiers\.0\.output must be at most/,
    ],
    [
      'a fee that no account could pay',
      'apps/put',
      { id: 'a', markup: { basisPoints: 0, flat: '9999999999999' }, allowedModels: [] },
      400,
      'markup.flat',
      /^markup\.flat must be at most/,
    ],
    ...['https://', 'notaurl', 5].map((baseUrl): [string, string, object, number, string, RegExp] => [
      `a route to ${baseUrl}`,
      'routes/put',
      { id: 'r', model: 'm', provider: 'p', adapter: 'fake', upstreamModel: 'u', settings: { baseUrl } },
      400,
      'settings.baseUrl',
      /^settings\.baseUrl must be an absolute URL\. Give it as 'https:\/\/api\.example\.com\/v1'/,
    ]),
    [
      'a route with an adapter that the stores do not have',
      'routes/put',
      { id: 'r', model: 'm', provider: 'p', adapter: 'nonsense', upstreamModel: 'u' },
      400,
      'adapter',
      /^adapter must be one of the adapters given to the stores: "fake"/,
    ],
    [
      'an account with a name that is too long',
      'accounts/open',
      { account: 'a'.repeat(257) },
      400,
      'account',
      /^account must be 1 to 256 bytes/,
    ],
    [
      'a credit to a name that is too long',
      'accounts/credit',
      { account: 'a'.repeat(257), amount: '1' },
      400,
      'account',
      /^account must be 1 to 256 bytes/,
    ],
    [
      'a tenth decimal place',
      'accounts/correct',
      { account: 'alice', amount: '-1.0000000001' },
      400,
      'amount',
      /9 places/,
    ],
    [
      'an amount as a number',
      'accounts/credit',
      { account: 'alice', amount: 5 },
      400,
      'amount',
      /^amount must be a decimal string/,
    ],
    ['an unknown field', 'accounts/credit', { account: 'a', amount: '1', to: 'b' }, 400, undefined, /"to"/],
    [
      'another posting with that reference',
      'accounts/credit',
      { account: 'bob', amount: '1', reference: 'opening:bob' },
      409,
      undefined,
      /names another posting/,
    ],
    ['no account', 'accounts/open', {}, 400, 'account', /^account is missing/],
    ['an account of control characters', 'accounts/open', { account: 'a\u0000b' }, 400, 'account', /control/],
    ...[0x202a, 0x202e, 0x2066, 0x2069].map((code): [string, string, object, number, string, RegExp] => [
      `a label that turns the direction of writing by U+${code.toString(16)}`,
      'keys/issue',
      { account: 'alice', label: `laptop${String.fromCodePoint(code)}yek` },
      400,
      'label',
      /^label must be text without control characters or direction overrides$/,
    ]),
    [
      'a memo that overrides the text direction',
      'accounts/credit',
      { account: 'alice', amount: '1', memo: 'a\u202eb' },
      400,
      'memo',
      /^memo must be text without control characters or direction overrides$/,
    ],
    [
      'an account that overrides the text direction',
      'accounts/open',
      { account: 'a\u202eb' },
      400,
      'account',
      /direction overrides$/,
    ],
    [
      'an account as an object',
      'accounts/suspend',
      { account: {} },
      400,
      'account',
      /^account must be a string; got an object/,
    ],
    [
      'an account that does not exist',
      'accounts/suspend',
      { account: 'none' },
      404,
      'account',
      /There is no account "none"/,
    ],
    [
      'an account that does not exist',
      'accounts/resume',
      { account: 'none' },
      404,
      'account',
      /There is no account/,
    ],
    [
      'a key for an account that does not exist',
      'keys/issue',
      { account: 'none' },
      404,
      'account',
      /no account/,
    ],
    [
      'a key that expired before the epoch',
      'keys/issue',
      { account: 'alice', expiresAt: -1 },
      400,
      'expiresAt',
      /expiresAt/,
    ],
    [
      'a token without an app',
      'keys/issue-token',
      { account: 'alice', appId: 'none' },
      404,
      'appId',
      /no app "none"/,
    ],
    [
      'a credential that does not exist',
      'keys/reissue',
      { credentialId: 'none' },
      404,
      'credentialId',
      /no credential/,
    ],
    [
      'a credential that does not exist',
      'keys/revoke',
      { credentialId: 'none' },
      404,
      'credentialId',
      /no credential/,
    ],
    [
      'a model with invalid prices',
      'models/put',
      { id: 'm', prices: { input: '1' } },
      400,
      'prices.output',
      /prices\.output/,
    ],
    ...[0, -1, 1.5, '500'].map((mediaTokens): [string, string, object, number, string, RegExp] => [
      `media of ${JSON.stringify(mediaTokens)} tokens`,
      'models/put',
      { id: 'm', mediaTokens },
      400,
      'mediaTokens',
      /^mediaTokens must be/,
    ]),
    ...[-1, 1.5, '40'].map((promptOverhead): [string, string, object, number, string, RegExp] => [
      `a prompt’s overhead of ${JSON.stringify(promptOverhead)} tokens`,
      'models/put',
      { id: 'm', promptOverhead },
      400,
      'promptOverhead',
      /^promptOverhead must be/,
    ]),
    ...[0, 1.5, '768'].map((dimensions): [string, string, object, number, string, RegExp] => [
      `embeddings of ${JSON.stringify(dimensions)} numbers`,
      'models/put',
      { id: 'm', dimensions },
      400,
      'dimensions',
      /^dimensions must be/,
    ]),
    [
      'a price with a sign',
      'models/put',
      { id: 'm', prices: { input: '-1', output: '1' } },
      400,
      'prices.input',
      /^prices\.input must be/,
    ],
    ['a model that is not there', 'models/remove', { id: 'none' }, 404, 'id', /no model "none"/],
    [
      'a markup of half a basis point',
      'apps/put',
      { id: 'a', markup: { basisPoints: 0.5 }, allowedModels: [] },
      400,
      'markup.basisPoints',
      /basisPoints/,
    ],
    ['an app that is not there', 'apps/suspend', { id: 'none' }, 404, 'id', /no app/],
    [
      'a key among the settings of a route',
      'routes/put',
      {
        id: 'r',
        model: 'm',
        provider: 'p',
        adapter: 'fake',
        upstreamModel: 'u',
        settings: { apiKey: 'sk-x' },
      },
      400,
      'settings.apiKey',
      /goes into secret/,
    ],
    ['a route that is not there', 'routes/remove', { id: 'none' }, 404, 'id', /no route/],
  ])(
    'is answered with the problem and its field: %s at %s',
    async (_, path, body, status, field, message) => {
      const answer = await bench
        .as(operator)
        .post<{ error: { message: string; field?: string } }>(`api/${path}`, body)
      expect([answer.status, answer.json.error.field]).toEqual([status, field])
      expect(answer.json.error.message).toMatch(message)
      expect(answer.text).not.toContain('sk-x')
    },
  )

  it.each<[string, string, string]>([
    ['reports/spend', 'by', 'by is missing; it must be "day"'],
    ['reports/spend?by=hour', 'by', 'by must be "day", "model"'],
    ['reports/spend?by=day&from=yesterday', 'from', 'milliseconds'],
    ['reports/spend?by=day&by=model', 'by', 'twice'],
    ['reports/spend?by=day&account=', 'account', 'account must be'],
    ['reports/spend?by=day&from=5&to=5', 'from', 'from must be before to'],
    ['reports/statement', 'account', 'account is missing: name one'],
    ['entries?limit=0', 'limit', 'from 1 to 200'],
    ['entries?limit=201', 'limit', 'from 1 to 200'],
    ['entries?after=x', 'after', '`next` of an earlier page'],
    ['entries?to=-5', 'to', 'milliseconds'],
    ['entries?sessionId=a%00b', 'sessionId', 'sessionId must be text without control characters'],
    ['entries.csv?sessionId=%00', 'sessionId', 'sessionId must be text without control characters'],
    ['calls?limit=201', 'limit', 'from 1 to 200'],
    ['calls?after=x', 'after', '`next` of an earlier page'],
    ['calls?status=teapot', 'status', 'status must be an HTTP status, such as 502'],
    ['calls?problems=maybe', 'problems', 'problems must be "true" or "false"'],
    ['events?problems=maybe', 'problems', 'problems must be "true" or "false"'],
  ])('is answered with the problem and its field: GET %s', async (path, field, part) => {
    const { status, json } = await bench.as(operator).get(`api/${path}`)
    expect(status).toBe(400)
    expect(json).toEqual({ error: { message: expect.stringContaining(part), field } })
  })

  it('is refused if a query parameter is unknown', async () => {
    const { status, json } = await bench.as(operator).get('api/models?debug=1')
    expect(status).toBe(400)
    expect(json).toEqual({ error: { message: expect.stringMatching(/^The request has no field "debug"/) } })
  })

  it('is answered with the option that the host must set if provider keys cannot be sealed or opened', async () => {
    const [bare, rekeyed] = [await startBench({ secretKeys: [] }), await startBench()]
    const route = { id: 'r', model: 'm', provider: 'p', adapter: 'fake', upstreamModel: 'x', secret: 'sk-x' }
    try {
      const put = await bare.as(operator).post('api/routes/put', route)
      expect(put.status).toBe(400)
      expect(put.json).toEqual({ error: { message: expect.stringContaining('secretKeys'), field: 'secret' } })

      await rekeyed.as(operator).post('api/routes/put', route)
      await rekeyed.stores.database.all({ text: "update {routes} set secret_key_id = 'k0'" })
      const rotated = await rekeyed.as(operator).post('api/maintenance/rotate-secrets')
      expect(rotated.status).toBe(409)
      expect(rotated.json).toEqual({ error: { message: 'No secret key "k0" was given in secretKeys' } })
    } finally {
      await bare.close()
      await rekeyed.close()
    }
  })

  it('is distinguished from a fault, whose reply reveals nothing internal', async () => {
    const broken = await startBench()
    await furnish(broken)
    const stop = broken.stores.database.all({ text: 'drop table {apps}' })
    try {
      await stop
      const { status, json } = await broken.as(operator).get('api/apps')
      expect(status).toBe(500)
      expect(json).toEqual({ error: { message: expect.not.stringContaining('apps') } })
      const events = await broken.as(operator).get('api/events')
      expect(events.json).toMatchObject({
        events: [{ type: 'fault', message: expect.stringContaining('console: ') }],
      })
    } finally {
      await broken.close()
    }
  })

  it('is distinguished from a TypeError of the host', async () => {
    const broken = await startBench()
    broken.pages.observe({ calls: () => [], routes: () => [null, null] as never })
    try {
      const { status, json } = await broken.as(operator).get('api/live')
      expect(status).toBe(500)
      expect(json).toEqual({ error: { message: expect.not.stringContaining('routeId') } })
    } finally {
      await broken.close()
    }
  })
})

describe('a paged list of the console', () => {
  it('of accounts has no gaps or repeats', async () => {
    for (let turn = 0; turn < 23; turn++) await bench.admin.accounts.open(`page-${turn}`)
    const seen: string[] = []
    let next: string | undefined
    do {
      const query = new URLSearchParams({ limit: '5', ...(next === undefined ? {} : { after: next }) })
      const { json } = await bench.as(operator).get<ReplyOf<'accounts'>>(`api/accounts?${query}`)
      expect(json.accounts.length).toBeLessThanOrEqual(5)
      seen.push(...json.accounts.map(({ id }) => id))
      next = json.next
    } while (next !== undefined)
    const all = await bench.admin.accounts.list({ limit: 1_000 })
    expect(seen).toEqual(all.map(({ id }) => id))
  })

  it('of calls has no gaps or repeats, with every filter', async () => {
    const { token } = await bench.admin.keys.issue({ account: 'alice' })
    for (let turn = 0; turn < 11; turn++) {
      await bench.call(token, {
        session_id: `s${turn % 2}`,
        model: turn % 3 === 0 ? 'acme/fast' : 'acme/smart',
      })
    }
    for (const filter of [{}, { account: 'alice' }, { sessionId: 's1' }, { model: 'acme/smart' }]) {
      const seen: string[] = []
      let next: string | undefined
      do {
        const query = new URLSearchParams({
          ...filter,
          limit: '3',
          ...(next === undefined ? {} : { after: next }),
        } as never)
        const { json } = await bench.as(operator).get<ReplyOf<'entries'>>(`api/entries?${query}`)
        seen.push(...json.entries.map(({ id }) => id))
        next = json.next
      } while (next !== undefined)
      const { entries } = await bench.admin.entries.list({ ...filter, limit: 1_000 })
      expect(seen).toEqual(entries.map(({ id }) => id))
      expect(seen.length).toBeGreaterThan(4)
    }
  })
})

describe('a change from the console', () => {
  it.each([
    [{ kind: 'operator', name: 'Anna' } as const, 'Anna', 'operator'],
    [operator, 'operator', 'operator'],
    [alice, 'alice', 'account'],
  ])('is recorded as that of its viewer (%o)', async (viewer, by, byKind) => {
    const bench = await startBench()
    await bench.admin.accounts.open('alice')
    const { status } = await bench.as(viewer).post('api/keys/issue', { account: 'alice' })
    expect(status).toBe(200)
    const [change] = await bench.admin.audit.list({ noun: 'credential' })
    expect(change).toMatchObject({ by, byKind, kind: 'issued', account: 'alice' })
    await bench.close()
  })

  it.each([
    ['a copy of it', (admin: Admin, keys: Admin['keys']) => ({ ...admin, keys })],
    [
      'an object that inherits from it',
      (admin: Admin, keys: Admin['keys']) =>
        Object.defineProperty(Object.create(admin), 'keys', { value: keys }),
    ],
  ])(
    'goes through the functions with which a host has replaced those of administration, in %s',
    async (_what, wrap) => {
      const issued: unknown[] = []
      const bench = await startBench()
      const { admin } = bench
      const keys: Admin['keys'] = {
        ...admin.keys,
        async issue(request) {
          issued.push(request)
          return { credentialId: 'own', token: 'sk-own' }
        },
      }
      const other = await startBench({ console: { admin: wrap(admin, keys) as Admin } })
      await admin.accounts.open('alice')
      const { json } = await other
        .as(operator)
        .post<{ token: string }>('api/keys/issue', { account: 'alice' })
      expect([json.token, issued]).toEqual(['sk-own', [{ account: 'alice' }]])
      await other.close()
      await bench.close()
    },
  )
})

describe('createConsole', () => {
  const authorise = () => operator

  it('requires authorise, which has no default', () => {
    const make = (options: object) => () => createConsole(options as never)
    expect(make({ admin: bench.admin })).toThrow(TypeError)
    expect(make({ admin: bench.admin })).toThrow(
      /authorise must be a function of the request .*There is no default/,
    )
    expect(make({ admin: bench.admin, authorise: true })).toThrow(/authorise must be a function/)
    expect(() => createConsole(undefined as never)).toThrow(/createConsole takes an object of options/)
    expect(make({ authorise })).toThrow(/admin must be createAdmin\(stores\)/)
  })

  it('refuses invalid options', () => {
    const make = (options: object) => () => createConsole({ admin: bench.admin, authorise, ...options })
    expect(make({ origin: 'console.example.com' })).toThrow(/origin must be only a scheme and a host/)
    expect(make({ origin: 'https://console.example.com/' })).toThrow(
      /origin must be only a scheme and a host/,
    )
    expect(make({ routerPath: 'https://other.example/v1' })).toThrow(/routerPath must be a path/)
    expect(make({ routerPath: '//other.example/v1' })).toThrow(/routerPath must be a path/)
    for (const topUpUrl of [
      'billing',
      'http://a.example',
      '//a.example',
      '/\\a.example',
      'javascript:alert(1)',
    ])
      expect(make({ topUpUrl }), topUpUrl).toThrow(/topUpUrl must be an https URL or a path/)
    for (const topUpUrl of ['https://a.example/billing?of=me', '/billing'])
      expect(make({ topUpUrl })).not.toThrow()
    expect(make({ basePath: 'console' })).toThrow(/basePath must begin with a slash/)
    expect(make({ signInHnt: '' })).toThrow(/signInHnt/)
  })
})

describe("any value that the console's authorise throws", () => {
  const secret = 'session store at 10.0.0.1'
  const unreadable = new Proxy(new Error(secret), {
    get() {
      throw new Error(secret)
    },
  })

  it.each<[string, unknown, string]>([
    ['an error', new Error(secret), secret],
    ['what reads as bad input', new TypeError(`limit must ${secret}`), `limit must ${secret}`],
    ['what reads as a refusal', Object.assign(new Error(secret), { name: 'Refusal' }), secret],
    [
      'an error like that of a client that left',
      Object.assign(new Error(secret), { code: 'ERR_STREAM_PREMATURE_CLOSE' }),
      secret,
    ],
    ['a text', secret, secret],
    ['nothing', undefined, 'undefined'],
    ['an object that has no text', Object.create(null), 'The thrown value cannot be shown'],
    ['a symbol', Symbol(secret), `Symbol(${secret})`],
    ['an error that throws when it is read', unreadable, 'The thrown value cannot be shown'],
  ])('leads to a 500 without its text, and a warning: %s', async (_, thrown, words) => {
    for (const authorise of [
      () => {
        throw thrown
      },
      () => Promise.reject(thrown),
    ]) {
      const refusing = await startBench({ console: { authorise } })
      const warned = once(process, 'warning')
      try {
        const { status, json, text } = await visitor(refusing.baseUrl, refusing.origin, operator).get(
          'api/me',
        )
        expect(status).toBe(500)
        expect(json).toEqual({
          error: { message: expect.stringContaining('See the warnings of its process') },
        })
        expect(text).not.toContain(secret)
        expect(await warned).toMatchObject([{ message: words }])
      } finally {
        await refusing.close()
      }
    }
  })
})

it.each<[unknown, string]>([
  [true, 'createConsole: authorise(): must be an object; got a boolean'],
  [{ kind: 'admin' }, 'createConsole: authorise().kind: must be "operator" or "user"'],
])(
  "an invalid viewer from the console's authorise is a fault, and a warning names it: %o",
  async (viewer, words) => {
    const bench = await startBench({ console: { authorise: () => viewer as never } })
    const warned = once(process, 'warning')
    expect((await visitor(bench.baseUrl, bench.origin, operator).get('api/me')).status).toBe(500)
    expect(await warned).toMatchObject([{ message: words }])
    await bench.close()
  },
)
