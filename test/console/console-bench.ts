import express from 'express'
import type { ProviderAdapter } from '../../src/adapters.js'
import { createAdmin } from '../../src/admin/index.js'
import { type ConsoleOptions, type ConsoleViewer, createConsole } from '../../src/console/index.js'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { createCompatRouter, generateEnvelopeKey, keyring, type RouterOptions } from '../../src/index.js'
import type { AdapterFactories } from '../../src/sql/registry.js'
import type { SecretKey } from '../../src/sqlite/index.js'
import { createSqliteStores } from '../../src/sqlite/stores.js'
import { RouterHarness } from '../helpers/router-harness.js'
import { createTestFile } from '../helpers/sqlite.js'

export const operator: ConsoleViewer = { kind: 'operator' }
export const alice: ConsoleViewer = { kind: 'user', account: 'alice' }
export const bob: ConsoleViewer = { kind: 'user', account: 'bob' }

export interface Answer<Reply = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined if the reply is not JSON. */
  readonly json: Reply
}

/** Requests of one viewer, from a page of the console's own origin. */
export interface Visitor {
  get<Reply = unknown>(path: string, headers?: Record<string, string>): Promise<Answer<Reply>>
  post<Reply = unknown>(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<Reply>>
}

/** The next results of a provider, in the order of the calls. A name is thrown as a failure. */
export type Script = () => { readonly prompt: number; readonly completion: number; readonly more?: object }

export interface BenchOptions {
  readonly console?: Partial<ConsoleOptions>
  readonly router?: Partial<RouterOptions>
  readonly usage?: Script
  /** In addition to the scripted one, `fake`. */
  readonly adapters?: AdapterFactories
  readonly keysPerAccount?: number
  /** The keys that seal providers' keys; one by default. */
  readonly secretKeys?: readonly SecretKey[]
}

/** A console and a router over one SQLite file, in Express: `/console` and `/compat/v1`. */
export async function startBench(options: BenchOptions = {}) {
  const testFile = await createTestFile()
  let waiting: Promise<void> | undefined
  const usage = options.usage ?? (() => ({ prompt: 100, completion: 10 }))
  // Tests change entries, so nothing is added to the totals.
  const stores = createSqliteStores(
    {
      file: testFile.file,
      adapters: { ...options.adapters, fake: () => fakeAdapter(usage, () => waiting) },
      secretKeys: options.secretKeys ?? [{ id: 'k1', key: '1'.repeat(64) }],
    },
    undefined,
    null,
  )
  await stores.ready()
  const { keysPerAccount } = options
  const admin = createAdmin(stores, keysPerAccount === undefined ? {} : { keysPerAccount })
  const envelopeKey = await generateEnvelopeKey('k')
  const pages = createConsole({
    admin,
    authorise: (req) => JSON.parse((req.headers['x-viewer'] as string | undefined) ?? 'null'),
    ...options.console,
  })
  const harness = new RouterHarness()
  const { calls, credentials, catalogue, ledger, providers } = stores
  const router = createCompatRouter({
    credentials,
    catalogue,
    ledger,
    providers,
    calls,
    envelopes: keyring([envelopeKey]),
    onEvent: (event) => {
      harness.take(event)
      pages.onEvent(event)
    },
    ...options.router,
  })
  pages.observe(router)
  const app = express()
  app.disable('x-powered-by')
  app.use('/compat/v1', router)
  app.use('/console', pages)
  const { baseUrl: origin } = await harness.listen(app)
  const baseUrl = `${origin}/console`

  async function call(token: string, body: object = {}, headers: Record<string, string> = {}) {
    const response = await fetch(`${origin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hi' }], ...body }),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }

  return {
    admin,
    stores,
    router,
    pages,
    origin,
    baseUrl,
    events: harness.events,
    call,
    as: (viewer: ConsoleViewer | undefined) => visitor(baseUrl, origin, viewer),
    sealFor: (account: string) =>
      keyring([envelopeKey])
        .publicKeys()
        .keys.map((key) => sealProviderKey({ key: 'sk-own', provider: 'fake', account }, key))[0]!,
    /** Stops providers from answering. Returns a function that releases them. */
    holdUp(): () => void {
      let release: () => void = () => undefined
      waiting = new Promise((resolve) => {
        release = resolve
      })
      return release
    },
    async close() {
      await router.close({ graceMs: 0 })
      await harness.close()
      await stores.close()
      testFile.remove()
    },
  }
}

export type Bench = Awaited<ReturnType<typeof startBench>>

export function visitor(baseUrl: string, origin: string, viewer: ConsoleViewer | undefined): Visitor {
  const who: Record<string, string> = viewer === undefined ? {} : { 'x-viewer': JSON.stringify(viewer) }
  return {
    get: (path, headers = {}) => ask(`${baseUrl}/${path}`, { headers: { ...who, ...headers } }),
    post: (path, body = {}, headers = {}) =>
      ask(`${baseUrl}/${path}`, {
        method: 'POST',
        headers: { ...who, origin, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  }
}

export async function ask<Reply = unknown>(url: string, init: RequestInit): Promise<Answer<Reply>> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: (isJson && text !== '' ? JSON.parse(text) : undefined) as Reply,
  }
}

function fakeAdapter(usage: Script, waiting: () => Promise<void> | undefined): ProviderAdapter {
  return {
    takesKeys: true,
    hasKey: true,
    async chat(_call, take) {
      await waiting()
      const { prompt, completion, more } = usage()
      await take([
        {
          type: 'completion',
          completion: {
            choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
          },
        },
        { type: 'usage', usage: { prompt, completion, ...more } },
      ])
      return { terminated: true }
    },
  }
}

/** Stores two models, an app that earns, one that does not, and credits for alice, bob and the platform. */
export async function furnish({ admin }: Bench) {
  for (const [account, amount] of Object.entries({ alice: '100', bob: '100', platform: '100', dev: '100' })) {
    await admin.accounts.credit({ account, amount, reference: `opening:${account}` })
  }
  await admin.models.put({
    id: 'acme/fast',
    prices: { input: '3.333333333', output: '7.77' },
    priceVersion: 'v1',
  })
  await admin.models.put({ id: 'acme/smart', prices: { input: '11.1', output: '22.2', cachedInput: '0.7' } })
  for (const model of ['acme/fast', 'acme/smart']) {
    await admin.routes.put({
      id: `r:${model}`,
      model,
      provider: 'fake',
      adapter: 'fake',
      upstreamModel: 'x',
      byok: 'yes',
    })
  }
  const allowedModels = ['acme/fast', 'acme/smart']
  await admin.apps.put({
    id: 'notes',
    name: 'Notes',
    markup: { basisPoints: 1_234 },
    allowedModels,
    account: 'dev',
  })
  await admin.apps.put({ id: 'house', markup: { basisPoints: 500, flat: '0.000000001' }, allowedModels })
  const key = async (account: string) => (await admin.keys.issue({ account })).token
  const grant = async (account: string, appId: string) =>
    (await admin.keys.issueToken({ account, appId, scopes: ['models.run'] })).token
  return {
    alice: await key('alice'),
    bob: await key('bob'),
    platform: await key('platform'),
    dev: await key('dev'),
    aliceNotes: await grant('alice', 'notes'),
    bobNotes: await grant('bob', 'notes'),
    bobHouse: await grant('bob', 'house'),
    devNotes: await grant('dev', 'notes'),
    platformNotes: await grant('platform', 'notes'),
    platformHouse: await grant('platform', 'house'),
  }
}
