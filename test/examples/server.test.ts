import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseCredits } from 'compat-router'
import { createAdmin } from 'compat-router/admin'
import { sqliteStores } from 'compat-router/sqlite'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createApp, type ExampleApp, type ExampleOptions, MOUNT } from '../../examples/server/app.js'
import { SettingsError } from '../../examples/server/settings.js'
import { type StandIn, startStandIn } from '../../src/testing/stand-in/stand-in.js'
import { createTestFile } from '../helpers/sqlite.js'

const messages = [{ role: 'user' as const, content: 'Hello' }]
let closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.reverse()) await close()
  closers = []
})

async function freshDatabase() {
  const { file, remove } = await createTestFile()
  closers.push(async () => remove())
  return { kind: 'sqlite' as const, file }
}

type Options = Partial<Omit<ExampleOptions, 'database'>> & { database?: { kind: 'sqlite'; file: string } }

async function start(options: Options = {}) {
  const lines: string[] = []
  const { database = await freshDatabase() } = options
  const example = await createApp({ tokenDelayMs: 0, log: (line) => lines.push(line), ...options, database })
  const server = createServer(example.app)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= stop(server, example)
    return closing
  }
  closers.push(close)
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}${MOUNT}`
  const client = (apiKey: string) => new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  return { example, client, lines, database, close }
}

async function tokensOf(example: ExampleApp, renew = false) {
  const { apiKey, accessToken } = await example.credentials({ renew })
  return { apiKey: apiKey.token!, accessToken: accessToken.token! }
}

async function stop(server: Server, example: ExampleApp): Promise<void> {
  const closed = new Promise((done) => server.close(done))
  await example.close()
  server.closeAllConnections()
  await closed
}

async function provider(models: string[]): Promise<StandIn> {
  const upstream = await startStandIn({ apiKey: 'sk-real', models, tokenDelayMs: 0 })
  closers.push(() => upstream.close())
  return upstream
}

describe('the example server', () => {
  it("completes and streams for both credentials, with the app's markup of 20 %", async () => {
    const { example, client, lines } = await start()
    const { apiKey, accessToken } = await tokensOf(example)
    expect(apiKey).toMatch(/^sk-[\w-]{32,}$/)
    expect(accessToken).toMatch(/^at-[\w-]{32,}$/)
    const five = { posted: parseCredits('5'), held: 0n, available: parseCredits('5') }
    expect(await example.balances()).toEqual({ apiKey: five, accessToken: five })

    const costs: number[] = []
    for (const token of [apiKey, accessToken]) {
      const reply = await client(token).chat.completions.create({ model: 'demo/large', messages })
      costs.push((reply.usage as unknown as { cost: number }).cost)
      const stream = client(token).chat.completions.stream({ model: 'demo/large', messages })
      expect((await stream.finalChatCompletion()).choices[0]!.message.content).toContain('Hello')
    }
    expect(costs[1]).toBeCloseTo(costs[0]! * 1.2, 8)
    expect((await example.balances()).apiKey.posted).toBeLessThan(five.posted)
    expect(lines.filter((line) => line.startsWith('200 completed, alice paid'))).toHaveLength(2)
    expect(lines.filter((line) => line.startsWith('200 completed, bob paid'))).toHaveLength(2)
  })

  it('issues different keys in every database', async () => {
    const [one, other] = [await start(), await start()]
    const [first, second] = [await tokensOf(one.example), await tokensOf(other.example)]
    expect(first.apiKey).not.toBe(second.apiKey)
    expect(first.accessToken).not.toBe(second.accessToken)
  })

  it('shows its keys once, keeps them after a restart, and then shows only their beginnings and ends', async () => {
    const first = await start()
    const tokens = await tokensOf(first.example)
    await first.close()
    const second = await start({ database: first.database })
    const { apiKey, accessToken } = await second.example.credentials()
    for (const [{ token, hint, isRevoked }, before] of [
      [apiKey, tokens.apiKey],
      [accessToken, tokens.accessToken],
    ] as const) {
      expect({ token, isRevoked }).toEqual({ token: undefined, isRevoked: false })
      const [start, end] = hint.split('…')
      expect(before.startsWith(start!) && before.endsWith(end!) && hint.length < 20).toBe(true)
      expect((await second.client(before).models.list()).data).toHaveLength(2)
    }
  })

  it('replaces lost keys, which stop working, and adds no credits twice', async () => {
    const { example, client } = await start()
    const lost = await tokensOf(example)
    await client(lost.apiKey).chat.completions.create({ model: 'demo/small', messages })
    const before = await example.balances()
    const renewed = await tokensOf(example, true)
    for (const kind of ['apiKey', 'accessToken'] as const) {
      expect((await client(renewed[kind]).models.list()).data).toHaveLength(2)
      await vi.waitFor(
        () =>
          expect(client(lost[kind]).models.list()).rejects.toMatchObject({
            status: 401,
            code: 'revoked_credential',
          }),
        { timeout: 60_000 },
      )
    }
    expect(await example.balances()).toEqual(before)
  })

  it('leaves a revoked key revoked until new keys are requested', async () => {
    const { example, client, database } = await start()
    await tokensOf(example)
    const stores = sqliteStores({ file: database.file })
    closers.push(() => stores.close())
    const admin = createAdmin(stores)
    const [key] = await admin.keys.list({ account: 'alice' })
    await admin.keys.revoke(key!.credentialId)
    const { apiKey: revoked } = await example.credentials()
    expect(revoked.isRevoked).toBe(true)
    expect(revoked.token).toBeUndefined()
    const { apiKey } = await tokensOf(example, true)
    expect((await client(apiKey).models.list()).data).toHaveLength(2)
    expect((await example.credentials()).apiKey.isRevoked).toBe(false)
  })

  it('replays a reply under an Idempotency-Key after a restart', async () => {
    const first = await start()
    const { apiKey } = await tokensOf(first.example)
    const once = { headers: { 'idempotency-key': 'order-1' } }
    const reply = await first.client(apiKey).chat.completions.create({ model: 'demo/small', messages }, once)
    await first.close()
    const second = await start({ database: first.database })
    const balance = await second.example.balances()
    const { data, response } = await second
      .client(apiKey)
      .chat.completions.create({ model: 'demo/small', messages }, once)
      .withResponse()
    expect(response.headers.get('idempotent-replayed')).toBe('true')
    expect(data).toEqual(reply)
    expect(await second.example.balances()).toEqual(balance)
  })

  it('reports a route that cannot be used in its log, its console and its metrics', async () => {
    const { example, client, lines, database, close } = await start()
    const { apiKey } = await tokensOf(example)
    const elsewhere = sqliteStores({ file: database.file })
    closers.push(() => elsewhere.close())
    const route = { id: 'mine', model: 'demo/small', provider: 'mine', upstreamModel: 'x' }
    await createAdmin(elsewhere).routes.put({ ...route, adapter: 'nonsense' })
    await expect
      .poll(async () => {
        await client(apiKey).chat.completions.create({ model: 'demo/small', messages })
        return lines
      })
      .toContainEqual(expect.stringMatching(/^route-disabled mine: .*"nonsense"/))
    const origin = new URL(client(apiKey).baseURL).origin
    const link = new URL(example.signInLink(origin))
    const signedIn = await fetch(`${origin}/sign-in`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ secret: link.hash.slice(1) }),
    })
    const headers = { cookie: signedIn.headers.getSetCookie()[0]!.split(';')[0]! }
    const read = async (path: string) => (await fetch(`${origin}${path}`, { headers })).text()
    expect(JSON.parse(await read('/api/events')).events).toContainEqual(
      expect.objectContaining({ type: 'route-disabled', message: expect.stringContaining('mine') }),
    )
    expect(JSON.parse(await read('/api/routes')).routes).toContainEqual(
      expect.objectContaining({ id: 'mine', cannotBeUsed: expect.stringContaining('"openai"') }),
    )
    const metrics = createServer(example.metrics).listen(0, '127.0.0.1')
    closers.push(async () => metrics.close())
    await once(metrics, 'listening')
    const { port } = metrics.address() as AddressInfo
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toMatch(/route-disabled/)
    metrics.closeAllConnections()
    await close()
  })

  it('offers the models that a real provider lists', async () => {
    const upstream = await provider(['gpt-4o-mini', 'vendor/llama'])
    const { example, client } = await start({ upstream: { baseUrl: upstream.baseUrl, apiKey: 'sk-real' } })
    const { apiKey } = await tokensOf(example)
    const list = await client(apiKey).models.list()
    expect(list.data.map((model) => model.id)).toEqual(['gpt-4o-mini', 'vendor/llama'])
    const reply = await client(apiKey).chat.completions.create({ model: 'vendor/llama', messages })
    expect(reply.model).toBe('vendor/llama')
  })

  it('offers only the models in the settings, under the names given there', async () => {
    const upstream = await provider(['gpt-4o-mini', 'gpt-4o'])
    const { example, client } = await start({
      upstream: { baseUrl: upstream.baseUrl, apiKey: 'sk-real', models: { 'acme/fast': 'gpt-4o-mini' } },
    })
    const { apiKey } = await tokensOf(example)
    const list = await client(apiKey).models.list()
    expect(list.data.map((model) => model.id)).toEqual(['acme/fast'])
    const reply = await client(apiKey).chat.completions.create({ model: 'acme/fast', messages })
    expect(reply.model).toBe('acme/fast')
  })

  it("explains why a provider's models cannot be listed, and leaves nothing open", async () => {
    const upstream = await provider([])
    const database = await freshDatabase()
    const failure = (settings: ExampleOptions['upstream']) =>
      createApp({ database, upstream: settings! }).then(
        () => 'started',
        (error: unknown) => (error instanceof SettingsError ? error.message : String(error)),
      )
    const { baseUrl } = upstream
    expect(await failure({ baseUrl, apiKey: 'sk-wrong' })).toContain('/models answered with status 401')
    expect(await failure({ baseUrl, apiKey: 'sk-real' })).toContain('/models lists no model')
    expect(await failure({ baseUrl: 'http://127.0.0.1:9/v1' })).toContain('/models cannot be reached')
  })
})
