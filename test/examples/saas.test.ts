import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import OpenAI from 'openai'
import Stripe from 'stripe'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createApp } from '../../examples/saas/app.js'
import { postgresUsers } from '../../examples/saas/user-table.js'
import { Users } from '../../examples/saas/users.js'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { openaiCompatible } from '../../src/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { type StandIn, startStandIn } from '../../src/testing/stand-in/stand-in.js'
import { authorizeUrl, call, createPkce, exchange, submit, UserAgent } from '../connect/user-agent.js'
import { nanos } from '../helpers/decimals.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { runFile, said, stopped } from './server-program.js'

const WEBHOOK_SECRET = 'whsec_of_the_example'
const SECRET_KEY = '3'.repeat(64)
const CONNECT_SECRET = '4'.repeat(64)
const messages = [{ role: 'user' as const, content: 'Hello' }]

/** The part of Stripe's API that the example calls. */
class ScriptedStripe {
  /** The fields of each checkout session that was created. */
  readonly sessions: URLSearchParams[] = []
  isDown = false
  readonly server = createServer(async (req, res) => {
    const body = new URLSearchParams(await text(req))
    const reply = (status: number, value: object) => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const [, intent] = /^\/v1\/payment_intents\/pi_(\d+)$/.exec(req.url!) ?? []
    if (this.isDown) reply(400, { error: { type: 'invalid_request_error', message: 'Not now.' } })
    else if (intent !== undefined) {
      const account = this.sessions[Number(intent)]!.get('payment_intent_data[metadata][account]')
      reply(200, { id: `pi_${intent}`, object: 'payment_intent', metadata: { account } })
    } else {
      const number = this.sessions.push(body) - 1
      reply(200, { id: `cs_${number}`, object: 'checkout.session', url: `https://stripe.example/${number}` })
    }
  })

  get client(): Stripe {
    const { port } = this.server.address() as AddressInfo
    return new Stripe('sk_test_scripted', { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: 0 })
  }
}

let database: TestDatabase
let upstream: StandIn
let admin: Admin
let base: string
let close: () => Promise<void>
const stripe = new ScriptedStripe()

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  upstream = await startStandIn({ models: ['gpt-4o-mini'], tokenDelayMs: 0 })
  database = await createTestDatabase()
  await listen(stripe.server)
  const server = createServer()
  base = await listen(server)
  const { app, connect, router, stores } = await createApp({
    stores: postgresStores(database.pool, {
      adapters: { openai: openaiCompatible },
      secretKeys: [{ id: '1', key: SECRET_KEY }],
    }),
    users: await postgresUsers(database.pool),
    stripe: stripe.client,
    webhookSecret: WEBHOOK_SECRET,
    connectSecret: CONNECT_SECRET,
    origin: base,
    apiKey: upstream.apiKey,
    baseUrl: upstream.baseUrl,
  })
  server.on('request', app)
  admin = createAdmin(stores)
  await admin.apps.put({
    id: 'notes',
    name: 'Notes <1>',
    redirectUris: ['https://notes.example/cb'],
    allowedModels: ['acme/fast'],
    markup: { basisPoints: 2_000 },
    account: 'notes-inc',
  })
  close = async () => {
    await connect.close()
    await router.close()
    await stores.close()
    server.close()
    server.closeAllConnections()
  }
})

afterAll(async () => {
  await close()
  stripe.server.close()
  stripe.server.closeAllConnections()
  await upstream.close()
  await database.drop()
})

const EVIL = 'https://evil.example'
const foreign: readonly Record<string, string>[] = [
  { origin: EVIL, 'sec-fetch-site': 'cross-site' },
  { origin: EVIL },
  { origin: 'null' },
  { 'sec-fetch-site': 'same-site' },
]

it.each(['/sign-up', '/sign-in', '/keys', '/top-up', '/keys/one/revoke', '/keys/apps/one/cap'])(
  'the saas example refuses a form from another site at %s, and accepts its own',
  async (path) => {
    const post = (headers: Record<string, string>) =>
      fetch(base + path, { method: 'POST', redirect: 'manual', headers, body: new URLSearchParams() })
    for (const headers of foreign) {
      const response = await post(headers)
      expect([response.status, response.headers.has('set-cookie')]).toEqual([403, false])
    }
    expect((await post({ origin: base, 'sec-fetch-site': 'same-origin' })).status).not.toBe(403)
  },
)

it('the saas example lets no page frame its own, and has no browser keep them', async () => {
  const visitor = new Visitor()
  await visitor.sign('/sign-up')
  for (const path of ['/sign-in', '/keys', '/keys/balance']) {
    const { headers } = await visitor.agent.visit(path)
    expect(headers.get('content-security-policy')).toBe("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
  }
})

it('the saas example makes its tables once for processes that start at once', async () => {
  const fresh = await createTestDatabase()
  const started = Array.from({ length: 8 }, () => postgresUsers(fresh.pool))
  expect((await Promise.allSettled(started)).filter(({ status }) => status === 'rejected')).toEqual([])
  await fresh.drop()
})

it('the saas example returns to its own origin after a checkout, whatever host a request names', async () => {
  const visitor = new Visitor()
  await visitor.sign('/sign-up')
  const before = stripe.sessions.length
  await visitor.agent.visit('/top-up', {
    method: 'POST',
    body: new URLSearchParams({ dollars: '10' }),
    headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
  })
  const { port } = new URL(base)
  const cookie = visitor.agent.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  await new Promise<void>((done, fail) => {
    const headers = {
      host: 'evil.example',
      cookie,
      'content-type': 'application/x-www-form-urlencoded',
    }
    request({ host: '127.0.0.1', port, method: 'POST', path: '/top-up', headers }, (res) => {
      res.resume().on('end', done)
    })
      .on('error', fail)
      .end('dollars=10')
  })
  expect(stripe.sessions.length).toBe(before + 2)
  for (const session of stripe.sessions.slice(before)) {
    expect([session.get('success_url'), session.get('cancel_url')]).toEqual([`${base}/keys`, `${base}/keys`])
  }
})

it('the saas example signs in with a secure cookie if its public origin is https, even behind a proxy', async () => {
  const cookies: unknown[] = []
  const res = {
    cookie: (name: string, _value: string, options: object) => cookies.push({ name, ...options }),
  }
  const table = await postgresUsers(database.pool)
  const id = await new Users(table, base).add('proxied@acme.example', 'long enough')
  for (const origin of ['https://acme.example', 'http://127.0.0.1:3000']) {
    await new Users(table, origin).signIn(res as never, id!)
  }
  expect(cookies).toMatchObject([
    { name: '__Host-session', secure: true, sameSite: 'lax' },
    { name: 'session', secure: false },
  ])
})

it.each([
  ['/keys', { label: ['a', 'b'], budget: '5' }, 400],
  ['/keys/%00/revoke', {}, 400],
  ['/keys/%/revoke', {}, 400],
  ['/keys/apps/%ff/cap', { cap: '5' }, 400],
  ['/keys/of-another/revoke', {}, 404],
  ['/keys/apps/of-another/cap', { cap: '5' }, 404],
  ['/keys/apps/of-another/disconnect', {}, 404],
  ['/sign-up', { email: 'a\0b@acme.example', password: 'long enough' }, 400],
  ['/sign-up', { email: '\u001b[31m@acme.example', password: 'long enough' }, 400],
  ['/sign-up', { email: 'a\u202eb@acme.example', password: 'long enough' }, 400],
  ['/SIGN-UP', { email: 'short@acme.example', password: 'short' }, 400],
  ['/sign-up/', { email: 'short@acme.example', password: 'short' }, 400],
] as const)(
  'the saas example refuses invalid and foreign input at %s with %o',
  async (path, fields, status) => {
    const visitor = new Visitor()
    await visitor.sign('/sign-up')
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries(fields))
      for (const one of [value].flat()) body.append(name, one)
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    expect((await visitor.agent.visit(path, { method: 'POST', body })).status).toBe(status)
    expect(logged).not.toHaveBeenCalled()
    logged.mockRestore()
  },
)

/** A browser of one user. */
class Visitor {
  private static count = 0
  readonly number = Visitor.count++
  readonly email = `user${this.number}@acme.example`
  readonly agent = new UserAgent(base)

  post(path: string, fields: Record<string, string> = {}): Promise<Response> {
    // As the proxy of the application says it.
    const headers = { 'x-forwarded-for': `10.0.0.${this.number}` }
    return this.agent.visit(path, { method: 'POST', body: new URLSearchParams(fields), headers })
  }

  async get(path: string): Promise<string> {
    return (await this.agent.visit(path)).text()
  }

  sign(path: string, password = 'long enough'): Promise<Response> {
    return this.post(path, { email: this.email, password })
  }

  async balance(): Promise<bigint> {
    return nanos((JSON.parse(await this.get('/keys/balance')) as { posted: string }).posted)
  }

  /** Makes a key and returns a client with it. */
  async client(budget = '5'): Promise<OpenAI> {
    const response = await this.post('/keys', { label: 'laptop <1>', budget })
    const [apiKey] = /sk-[\w-]+/.exec(await response.text())!
    return new OpenAI({ baseURL: `${base}/compat/v1`, apiKey, maxRetries: 0 })
  }

  /** Starts a checkout and returns its number. */
  async checkout(dollars: number): Promise<number> {
    const response = await this.post('/top-up', { dollars: String(dollars) })
    expect(response.status).toBe(303)
    return Number(/^https:\/\/stripe\.example\/(\d+)$/.exec(response.headers.get('location')!)![1])
  }
}

async function deliver(
  type: string,
  object: object,
  { secret = WEBHOOK_SECRET, timestamp = Math.floor(Date.now() / 1_000) } = {},
): Promise<number> {
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } })
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
  const response = await fetch(`${base}/stripe`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'stripe-signature': signature },
    body: payload,
  })
  return response.status
}

function session(number: number, more: object = {}): object {
  const sent = stripe.sessions[number]!
  return {
    id: `cs_${number}`,
    object: 'checkout.session',
    mode: 'payment',
    payment_status: 'paid',
    amount_total: Number(sent.get('line_items[0][price_data][unit_amount]')),
    currency: sent.get('line_items[0][price_data][currency]'),
    metadata: { account: sent.get('metadata[account]') },
    ...more,
  }
}

let visitor: Visitor

/** Tops a visitor up and returns the number of the payment. */
async function topUp(dollars: number): Promise<number> {
  const number = await visitor.checkout(dollars)
  expect(await deliver('checkout.session.completed', session(number))).toBe(200)
  return number
}

beforeEach(async () => {
  visitor = new Visitor()
  expect((await visitor.sign('/sign-up')).status).toBe(303)
})

describe('examples/saas', () => {
  it('takes a user from sign-up to an exactly charged call', async () => {
    const client = await visitor.client()
    const ask = () => client.chat.completions.create({ model: 'acme/fast', messages })
    await expect(ask()).rejects.toMatchObject({
      status: 402,
      code: 'insufficient_credits',
      message: expect.stringContaining('Top up on your keys page.'),
    })
    await topUp(10)
    const { usage } = await ask()
    const { cost } = usage as unknown as { cost: number }
    expect(cost).toBeGreaterThan(0)
    expect(await visitor.balance()).toBe(nanos('10') - nanos(String(cost)))
    const page = await visitor.get('/keys')
    expect(page).toContain(`$${cost} of $5 this month`)
    expect(page).toContain('laptop &#60;1&#62;')
  })

  it('recognises its own users again, and nobody else', async () => {
    expect((await new Visitor().post('/keys')).status).toBe(401)
    expect((await visitor.sign('/sign-up')).status).toBe(409)
    expect((await visitor.sign('/sign-in', 'a guess')).status).toBe(401)
    expect((await new Visitor().sign('/sign-in')).status).toBe(401)
    expect((await new Visitor().sign('/sign-up', 'short')).status).toBe(400)
    await topUp(5)
    expect((await visitor.sign('/sign-in')).status).toBe(303)
    expect(await visitor.balance()).toBe(nanos('5'))
  })

  it('ends a session after its lifetime in days', async () => {
    expect((await visitor.agent.visit('/keys')).status).toBe(200)
    await database.pool.query('update sessions set expires_at = now()')
    expect((await visitor.agent.visit('/keys')).status).toBe(401)
    await visitor.sign('/sign-in')
    expect((await visitor.agent.visit('/keys')).status).toBe(200)
    const { rows } = await database.pool.query('select expires_at > now() as is_live from sessions')
    expect(rows).toEqual([{ is_live: true }])
  })

  it('limits sign-ups and password guesses per address', async () => {
    const statuses: number[] = []
    for (let tries = 0; tries < 31; tries++) statuses.push((await visitor.sign('/sign-in', 'x')).status)
    // The sign-up of this visitor was the first.
    expect(statuses).toEqual([...Array(29).fill(401), 429, 429])
    expect((await new Visitor().sign('/sign-up')).status).toBe(303)
  })

  it("stops a key at its budget, and revokes only the user's own keys", async () => {
    await topUp(500)
    const client = await visitor.client('1')
    const ask = (content: string) =>
      client.chat.completions.create({
        model: 'acme/fast',
        messages: [{ role: 'user', content }],
        max_tokens: 10,
      })
    await ask('Hello')
    await expect(ask('much '.repeat(2_000_000))).rejects.toMatchObject({
      status: 402,
      code: 'budget_exceeded',
    })
    const [, credentialId] = /\/keys\/([^/]+)\/revoke/.exec(await visitor.get('/keys'))!
    const other = new Visitor()
    await other.sign('/sign-up')
    expect((await other.post(`/keys/${credentialId}/revoke`)).status).toBe(404)
    await ask('Hello')
    expect((await visitor.post(`/keys/${credentialId}/revoke`)).status).toBe(303)
    await expect.poll(() => ask('Hello').catch((error: { status: number }) => error.status)).toBe(401)
    expect((await visitor.post('/keys', { label: 'x', budget: '0' })).status).toBe(400)
  })

  it('lets a new user connect an app, pay for its calls, change its cap and disconnect it', async () => {
    const host = { issuer: `${base}/connect`, origin: base, routerUrl: `${base}/compat/v1` }
    visitor = new Visitor()
    const pkce = createPkce()
    const signIn = await visitor.agent.follow(authorizeUrl(host, pkce))
    const [, signUp] = /formaction="(\/sign-up[^"]+)"/.exec(await signIn.text())!
    const { headers } = await visitor.sign(signUp!)
    const consent = await visitor.agent.follow(headers.get('location')!)
    const text = await consent.text()
    expect(text).toContain(visitor.email)
    const [, seal = ''] = /name="seal" value="([^"]+)"/.exec(text)!
    const page = { response: consent, address: consent.url, text, seal }
    const callback = new URL((await submit(visitor.agent, host, page, { cap: '3' })).headers.get('location')!)
    const exchanged = await exchange(host, { code: callback.searchParams.get('code')!, pkce })
    const { access_token: token } = (await exchanged.json()) as { access_token: string }

    expect((await call(host, token)).status).toBe(402)
    await topUp(10)
    const response = await call(host, token)
    const { cost } = ((await response.json()) as { usage: { cost: number } }).usage
    expect(cost).toBeGreaterThan(0)
    expect(await visitor.balance()).toBe(nanos('10') - nanos(String(cost)))
    const shown = await visitor.get('/keys')
    expect(shown).toContain('Notes &#60;1&#62;')
    expect(shown).toContain(`$${cost} of $3 this month`)

    const [, path] = /"(\/keys\/apps\/[^/]+)\/cap"/.exec(shown)!
    const other = new Visitor()
    await other.sign('/sign-up')
    expect((await other.post(`${path}/cap`, { cap: '9' })).status).toBe(404)
    expect((await other.post(`${path}/disconnect`)).status).toBe(404)
    expect((await visitor.post(`${path}/cap`, { cap: '0' })).status).toBe(400)
    expect((await visitor.post(`${path}/cap`, { cap: '2' })).status).toBe(303)
    expect(await visitor.get('/keys')).toContain(`$${cost} of $2 this month`)
    expect((await call(host, token)).status).toBe(200)
    await admin.connectedApps.setCap(path!.split('/').at(-1)!, null)
    expect(await visitor.get('/keys')).toContain('No cap')

    expect((await visitor.post(`${path}/disconnect`)).status).toBe(303)
    await expect.poll(async () => (await call(host, token)).status).toBe(401)
    expect(await visitor.get('/keys')).not.toContain('Notes')
  })

  it('redirects a user who signs in only to Connect', async () => {
    for (const [to, location] of [
      ['https://evil.example/', '/keys'],
      ['//evil.example/connect/', '/keys'],
      ['/connect/../keys/balance', '/keys'],
      ['/connect/\\evil.example', '/keys'],
      ['/connect/authorize?client_id=notes', '/connect/authorize?client_id=notes'],
    ] as const) {
      const response = await visitor.sign(`/sign-in?to=${encodeURIComponent(to)}`)
      expect(response.headers.get('location')).toBe(location)
    }
  })

  describe("with Stripe's webhook", () => {
    it('posts a payment once, however often and concurrently it is reported', async () => {
      const number = await visitor.checkout(20)
      const paid = session(number)
      const statuses = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          deliver(
            index % 2 === 0 ? 'checkout.session.completed' : 'checkout.session.async_payment_succeeded',
            paid,
          ),
        ),
      )
      expect(new Set(statuses)).toEqual(new Set([200]))
      expect(await visitor.balance()).toBe(nanos('20'))
    })

    it('refuses wrong and old signatures, and posts nothing for other events', async () => {
      const paid = session(await visitor.checkout(20))
      const type = 'checkout.session.completed'
      expect(await deliver(type, paid, { secret: 'whsec_of_another' })).toBe(400)
      expect(await deliver(type, paid, { timestamp: 1_700_000_000 })).toBe(400)
      expect((await fetch(`${base}/stripe`, { method: 'POST', body: '{}' })).status).toBe(400)
      expect(await deliver(type, { ...paid, payment_status: 'unpaid' })).toBe(200)
      expect(await deliver(type, { ...paid, mode: 'subscription' })).toBe(200)
      expect(await deliver(type, { ...paid, amount_total: 0 })).toBe(200)
      expect(await deliver(type, { ...paid, metadata: {} })).toBe(200)
      expect(await deliver('checkout.session.expired', paid)).toBe(200)
      expect(await visitor.balance()).toBe(0n)
    })

    it('takes each refund back once, and restores a failed refund, in any order', async () => {
      const number = await topUp(20)
      const refund = (id: string, cents: number, status: string) => ({
        id,
        object: 'refund',
        amount: cents,
        currency: 'usd',
        payment_intent: `pi_${number}`,
        status,
      })
      const name = `re_${number}`
      const partial = refund(`${name}_a`, 550, 'succeeded')
      for (const type of ['refund.created', 'refund.updated', 'refund.created'])
        expect(await deliver(type, partial)).toBe(200)
      expect(await visitor.balance()).toBe(nanos('14.5'))
      await deliver('refund.created', refund(`${name}_b`, 100, 'pending'))
      expect(await visitor.balance()).toBe(nanos('13.5'))
      await deliver('refund.failed', refund(`${name}_b`, 100, 'failed'))
      await deliver('refund.failed', refund(`${name}_b`, 100, 'failed'))
      expect(await visitor.balance()).toBe(nanos('14.5'))
      await deliver('refund.failed', refund(`${name}_c`, 300, 'canceled'))
      await deliver('refund.created', refund(`${name}_c`, 300, 'pending'))
      expect(await visitor.balance()).toBe(nanos('14.5'))
    })

    it('takes credits back while a payment is disputed, even before the payment is reported', async () => {
      const number = await visitor.checkout(20)
      const dispute = {
        id: `dp_${number}`,
        object: 'dispute',
        amount: 2000,
        currency: 'usd',
        payment_intent: `pi_${number}`,
      }
      expect(await deliver('charge.dispute.funds_withdrawn', dispute)).toBe(200)
      expect(await visitor.balance()).toBe(nanos('-20'))
      await deliver('checkout.session.completed', session(number))
      expect(await visitor.balance()).toBe(0n)
      for (let time = 0; time < 2; time++) await deliver('charge.dispute.funds_reinstated', dispute)
      expect(await visitor.balance()).toBe(nanos('20'))
    })

    it('posts nothing in another currency, and has Stripe resend the event', async () => {
      const number = await topUp(20)
      const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
      const move = { object: 'refund', amount: 1000, payment_intent: `pi_${number}`, status: 'succeeded' }
      for (const currency of ['krw', 'USD', '', null, undefined]) {
        const more = { id: `other_${number}`, currency }
        for (const [type, object] of [
          ['checkout.session.completed', session(number, more)],
          ['refund.created', { ...move, ...more }],
          ['refund.failed', { ...move, ...more, status: 'failed' }],
          ['charge.dispute.funds_withdrawn', { ...move, ...more }],
          ['charge.dispute.funds_reinstated', { ...move, ...more }],
        ] as const) {
          expect([type, currency, await deliver(type, object)]).toEqual([type, currency, 500])
        }
      }
      expect(printed).toHaveBeenCalledTimes(25)
      printed.mockRestore()
      expect(await visitor.balance()).toBe(nanos('20'))
    })

    it('lets Stripe resend an event that could not be posted', async () => {
      const number = await topUp(20)
      const refund = {
        id: `re_${number}`,
        object: 'refund',
        amount: 500,
        currency: 'usd',
        payment_intent: `pi_${number}`,
        status: 'succeeded',
      }
      const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
      stripe.isDown = true
      expect(await deliver('refund.created', refund)).toBe(500)
      expect(printed).toHaveBeenCalledOnce()
      printed.mockRestore()
      stripe.isDown = false
      expect(await visitor.balance()).toBe(nanos('20'))
      expect(await deliver('refund.created', refund)).toBe(200)
      expect(await visitor.balance()).toBe(nanos('15'))
    })
  })

  it('lets a user make 200 keys within an hour', async () => {
    const make = async () => (await visitor.post('/keys', { label: 'loop', budget: '5' })).status
    const made = await Promise.all(Array.from({ length: 200 }, make))
    expect(new Set(made)).toEqual(new Set([201, 409]))
    expect(await make()).toBe(429)
  })

  it('refuses amounts that it does not sell', async () => {
    for (const dollars of ['4', '501', '5.5', '-5', 'x', ''])
      expect((await visitor.post('/top-up', { dollars })).status).toBe(400)
  })

  it('does not start from its file without its settings, and names each one that is missing', async () => {
    const program = await runFile('examples/saas/app.ts', { SECRET_KEY, STRIPE_WEBHOOK_SECRET: '' })
    await once(program.child, 'close')
    expect(program.child.exitCode).toBe(1)
    expect(program.said.stderr.match(/^ {2}\w+(?=: )/gm)?.map((name) => name.trim())).toEqual([
      'DATABASE_URL',
      'CONNECT_SECRET',
      'OPENAI_API_KEY',
      'STRIPE_SECRET_KEY',
      'STRIPE_WEBHOOK_SECRET',
    ])
  })

  it('runs from its file and keeps edits in the database', async () => {
    const program = await runFile('examples/saas/app.ts', {
      PORT: '0',
      DATABASE_URL: database.url,
      SECRET_KEY,
      CONNECT_SECRET,
      OPENAI_API_KEY: upstream.apiKey,
      STRIPE_SECRET_KEY: 'sk_test_1',
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    })
    const [, url] = /(http:\S+)\/sign-in/.exec(await said(program, /\n$/))!
    const body = new URLSearchParams({ email: 'new@acme.example', password: 'long enough' })
    expect((await fetch(`${url}/sign-up`, { method: 'POST', body, redirect: 'manual' })).status).toBe(303)
    await stopped(program, 'SIGTERM')
    // The route still leads to the provider of the tests.
    await topUp(5)
    const client = await visitor.client()
    expect((await client.chat.completions.create({ model: 'acme/fast', messages })).usage).toBeDefined()
  })
})
