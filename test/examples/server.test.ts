import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { createApp, type ExampleApp, type ExampleOptions, MOUNT } from '../../examples/server/app.js'
import { type DemoUpstream, startDemoUpstream } from '../../examples/server/demo-upstream.js'
import { SettingsError } from '../../examples/server/settings.js'

const messages = [{ role: 'user' as const, content: 'Hello' }]
let closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.reverse()) await close()
  closers = []
})

async function start(options: ExampleOptions = {}) {
  const lines: string[] = []
  const example = await createApp({ tokenDelayMs: 0, log: (line) => lines.push(line), ...options })
  const server = createServer(example.app)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  closers.push(() => stop(server, example))
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}${MOUNT}`
  const client = (apiKey: string) => new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  return { example, client, lines }
}

async function stop(server: Server, example: ExampleApp): Promise<void> {
  const closed = new Promise((done) => server.close(done))
  await example.close()
  server.closeAllConnections()
  await closed
}

async function provider(models: string[]): Promise<DemoUpstream> {
  const upstream = await startDemoUpstream({ apiKey: 'sk-real', models, tokenDelayMs: 0 })
  closers.push(() => upstream.close())
  return upstream
}

describe('the example server', () => {
  it('completes and streams for both credentials, the app adding 20 %', async () => {
    const { example, client, lines } = await start()
    expect(example.apiKey).toMatch(/^sk-[\w-]{32}$/)
    expect(example.accessToken).toMatch(/^at-[\w-]{32}$/)
    expect(await example.balances()).toEqual({ apiKey: '5', accessToken: '5' })

    const costs: number[] = []
    for (const token of [example.apiKey, example.accessToken]) {
      const reply = await client(token).chat.completions.create({ model: 'demo/large', messages })
      costs.push((reply.usage as unknown as { cost: number }).cost)
      const stream = client(token).chat.completions.stream({ model: 'demo/large', messages })
      expect((await stream.finalChatCompletion()).choices[0]!.message.content).toContain('Hello')
    }
    expect(costs[1]).toBeCloseTo(costs[0]! * 1.2, 8)
    expect(Number((await example.balances()).apiKey)).toBeLessThan(5)
    expect(lines.filter((line) => line.startsWith('200 completed, alice paid'))).toHaveLength(2)
    expect(lines.filter((line) => line.startsWith('200 completed, bob paid'))).toHaveLength(2)
  })

  it('makes other keys at every start', async () => {
    const one = await start()
    const other = await start()
    expect(one.example.apiKey).not.toBe(other.example.apiKey)
    expect(one.example.accessToken).not.toBe(other.example.accessToken)
  })

  it('offers the models that a real provider lists', async () => {
    const upstream = await provider(['gpt-4o-mini', 'vendor/llama'])
    const { example, client } = await start({ upstream: { baseUrl: upstream.baseUrl, apiKey: 'sk-real' } })
    const list = await client(example.apiKey).models.list()
    expect(list.data.map((model) => model.id)).toEqual(['gpt-4o-mini', 'vendor/llama'])
    const reply = await client(example.apiKey).chat.completions.create({ model: 'vendor/llama', messages })
    expect(reply.model).toBe('vendor/llama')
  })

  it('offers only the models that it was told, under their own names', async () => {
    const upstream = await provider(['gpt-4o-mini', 'gpt-4o'])
    const { example, client } = await start({
      upstream: { baseUrl: upstream.baseUrl, apiKey: 'sk-real', models: { 'acme/fast': 'gpt-4o-mini' } },
    })
    const list = await client(example.apiKey).models.list()
    expect(list.data.map((model) => model.id)).toEqual(['acme/fast'])
    const reply = await client(example.apiKey).chat.completions.create({ model: 'acme/fast', messages })
    expect(reply.model).toBe('acme/fast')
  })

  it('says why a provider cannot be listed, and leaves nothing open', async () => {
    const upstream = await provider([])
    const failure = (settings: ExampleOptions['upstream']) =>
      createApp({ upstream: settings! }).then(
        () => 'started',
        (error: unknown) => (error instanceof SettingsError ? error.message : String(error)),
      )
    const { baseUrl } = upstream
    expect(await failure({ baseUrl, apiKey: 'sk-wrong' })).toContain('/models answered with status 401')
    expect(await failure({ baseUrl, apiKey: 'sk-real' })).toContain('/models names no model')
    expect(await failure({ baseUrl: 'http://127.0.0.1:9/v1' })).toContain('/models cannot be reached')
  })
})
