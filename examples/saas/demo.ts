import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openaiCompatible } from 'compat-router'
import { sqliteStores } from 'compat-router/sqlite'
import { startStandIn } from 'compat-router/testing'
import Stripe from 'stripe'
import type { AppSettings } from './app.js'
import { page } from './page.js'
import type { UserRow, UserTable } from './user-table.js'

const newSecret = () => randomBytes(32).toString('hex')

/**
 * Starts stand-ins for the provider, Stripe and the database, all within this process. A signal to stop ends the process, and
 * removes all that was stored.
 */
export async function demoSettings(origin: string): Promise<AppSettings> {
  const folder = await mkdtemp(join(tmpdir(), 'saas-demo-'))
  const stores = sqliteStores({
    file: join(folder, 'demo.db'),
    adapters: { openai: openaiCompatible },
    secretKeys: [{ id: '1', key: newSecret() }],
  })
  const stop = async () => {
    await stores.close()
    await rm(folder, { recursive: true, force: true })
    process.exit()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
  const provider = await startStandIn({ models: ['gpt-4o-mini'] })
  const webhookSecret = `whsec_${newSecret()}`
  return {
    stores,
    users: memoryUsers(),
    stripe: await startStripe(`${origin}/stripe`, webhookSecret),
    webhookSecret,
    connectSecret: newSecret(),
    origin,
    apiKey: provider.apiKey,
    baseUrl: provider.baseUrl,
  }
}

function memoryUsers(): UserTable {
  const users = new Map<string, UserRow>()
  const sessions = new Map<string, UserRow>()
  return {
    async add(email, salt, password) {
      if (users.has(email)) return undefined
      const id = String(users.size + 1)
      users.set(email, { id, email, salt, password })
      return id
    },
    async find(email) {
      return users.get(email)
    },
    async startSession(digest, userId) {
      sessions.set(digest, [...users.values()].find(({ id }) => id === userId)!)
    },
    async findSession(digest) {
      return sessions.get(digest)
    },
  }
}

/** Plays the part of Stripe that sells: it makes checkout sessions, shows a page that pays, and reports the payment. */
async function startStripe(webhook: string, secret: string): Promise<Stripe> {
  const sessions: URLSearchParams[] = []
  const server = createServer((req, res) => {
    answer(req).then(
      ({ status = 200, headers, body }) => res.writeHead(status, headers).end(body),
      (error: unknown) => res.writeHead(500).end(String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  async function answer(req: IncomingMessage): Promise<Answer> {
    const { method, url } = req
    const [, paid] = /^\/pay\/(\d+)$/.exec(url!) ?? []
    if (paid !== undefined) {
      const number = Number(paid)
      const session = sessions[number]
      if (session === undefined) return { status: 404, body: 'There is no such checkout.' }
      if (method === 'GET') return html(payPage(centsOf(session) / 100))
      await report(number, session)
      return { status: 303, headers: { location: session.get('success_url')! } }
    }
    if (method !== 'POST' || url !== '/v1/checkout/sessions') {
      return { status: 404, body: `The stand-in for Stripe does not have ${method} ${url}.` }
    }
    const number = sessions.push(new URLSearchParams(await text(req))) - 1
    return json({
      id: `cs_demo_${number}`,
      object: 'checkout.session',
      url: `http://127.0.0.1:${port}/pay/${number}`,
    })
  }

  /** Delivers the event as Stripe does, with its signature. The same payment has the same id however often it is sent. */
  async function report(number: number, session: URLSearchParams): Promise<void> {
    const object = {
      id: `cs_demo_${number}`,
      object: 'checkout.session',
      mode: 'payment',
      payment_status: 'paid',
      amount_total: centsOf(session),
      currency: session.get('line_items[0][price_data][currency]'),
      metadata: { account: session.get('metadata[account]') },
    }
    const type = 'checkout.session.completed'
    const payload = JSON.stringify({ id: `evt_demo_${number}`, object: 'event', type, data: { object } })
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret })
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
    const { status } = await fetch(webhook, { method: 'POST', headers, body: payload })
    if (status !== 200) throw new Error(`The webhook answered ${status}`)
  }

  return new Stripe('sk_test_demo', { host: '127.0.0.1', port, protocol: 'http' })
}

interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

const html = (body: string): Answer => ({ headers: { 'content-type': 'text/html; charset=utf-8' }, body })
const json = (value: object): Answer => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})
const centsOf = (session: URLSearchParams) => Number(session.get('line_items[0][price_data][unit_amount]'))
const payPage = (dollars: number) =>
  page(
    'Pay',
    `<section><h1>Pay $${dollars}</h1>
    <p class="muted">This stands in for Stripe. No money moves.</p>
    <form method="post"><button class="yes">Pay</button></form></section>`,
  )
