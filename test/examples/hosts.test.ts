import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import * as bareHttp from '../../examples/bare-http.js'
import * as connectExample from '../../examples/connect.js'
import * as existingApp from '../../examples/existing-app.js'
import * as expressExample from '../../examples/express.js'
import { type StandIn, startStandIn } from '../../src/testing/stand-in/stand-in.js'
import { paste, runFile, said, stopped } from './server-program.js'

const apiKey = 'sk-upstream-of-examples'
const messages = [{ role: 'user' as const, content: 'Hello' }]

let upstream: StandIn
let opened: { server: Server; close(): Promise<unknown> }[] = []

beforeAll(async () => {
  upstream = await startStandIn({ apiKey, models: ['gpt-4o-mini'], tokenDelayMs: 0 })
})

afterAll(() => upstream.close())

afterEach(async () => {
  for (const { server, close } of opened) {
    const closed = new Promise((done) => server.close(done))
    await close()
    server.closeAllConnections()
    await closed
  }
  opened = []
})

async function serve(server: Server, router: { close(): Promise<unknown> }): Promise<string> {
  opened.push({ server, close: () => router.close() })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function upstreamOptions() {
  return { baseUrl: upstream.baseUrl, apiKey }
}

const hosts: Record<string, () => Promise<string>> = {
  'express.ts': () => serveApp(expressExample.createApp(upstreamOptions())),
  'existing-app.ts': () => serveApp(existingApp.createApp(upstreamOptions())),
  'connect.ts': () => {
    const { server, router } = connectExample.createApp(upstreamOptions())
    return serve(server, router)
  },
  'bare-http.ts': () => {
    const { server, router } = bareHttp.createApp(upstreamOptions())
    return serve(server, router)
  },
}

function serveApp({ app, router }: { app: RequestListener; router: { close(): Promise<unknown> } }) {
  return serve(createServer(app), router)
}

function clientOf(base: string, key: string) {
  return new OpenAI({ baseURL: `${base}/compat/v1`, apiKey: key, maxRetries: 0 })
}

describe.each(Object.keys(hosts))('examples/%s', (name) => {
  const key = name === 'existing-app.ts' ? 'sk-alice' : 'sk-demo'

  it('completes, streams and lists models, with the cost in both modes', async () => {
    const client = clientOf(await hosts[name]!(), key)
    const completion = await client.chat.completions.create({ model: 'acme/fast', messages })
    expect(completion.choices[0]!.message.content).toContain('Hello')
    const { cost } = completion.usage as { cost?: number }
    expect(cost).toBeGreaterThan(0)

    const chunks: OpenAI.ChatCompletionChunk[] = []
    const stream = await client.chat.completions.create({ model: 'acme/fast', messages, stream: true })
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(
      completion.choices[0]!.message.content,
    )
    expect((chunks.at(-1)!.usage as { cost?: number }).cost).toBe(cost)

    expect((await client.models.list()).data.map((model) => model.id)).toEqual(['acme/fast'])
    expect(await client.models.retrieve('acme/fast')).toMatchObject({ id: 'acme/fast', owned_by: 'acme' })
  })

  it('refuses an unknown key', async () => {
    const client = clientOf(await hosts[name]!(), 'sk-unknown')
    await expect(client.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' })
  })

  it('survives a target that is no address', async () => {
    const base = await hosts[name]!()
    const { hostname, port } = new URL(base)
    const socket = connect(Number(port), hostname)
    socket.end('GET http://[::/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 [45]\d\d /)
    expect((await fetch(`${base}/compat/v1/models`)).status).toBeLessThan(500)
  })

  it('lets no page of a browser use a key that everybody knows', async () => {
    const response = await fetch(`${await hosts[name]!()}/compat/v1/models`, {
      headers: { authorization: `Bearer ${key}`, origin: 'https://evil.example' },
    })
    expect(response.status).toBe(403)
  })

  it('prints a curl command that works', async () => {
    const program = await runFile(`examples/${name}`, { PORT: '0', OPENAI_API_KEY: apiKey })
    const text = await said(program, /\n$/)
    expect(JSON.parse(await paste(text))).toMatchObject({ data: [{ id: 'acme/fast' }] })
    await stopped(program, 'SIGTERM')
  })
})

describe('examples/bare-http.ts', () => {
  it('leaves every other path to the application', async () => {
    const base = await hosts['bare-http.ts']!()
    expect(await (await fetch(base)).text()).toBe('The rest of the application')
    expect((await fetch(`${base}/elsewhere`)).status).toBe(404)
  })
})

describe('examples/existing-app.ts', () => {
  it('keeps its own routes and their JSON parser', async () => {
    const base = await hosts['existing-app.ts']!()
    const echo = await fetch(`${base}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    expect(await echo.json()).toEqual({ a: 1 })
    expect((await fetch(`${base}/nothing`)).status).toBe(404)
  })

  it.each([
    ['{', {}],
    [`"${'a'.repeat(200_000)}"`, {}],
    ['{}', { 'content-type': 'application/json; charset=none' }],
    ['{}', { 'content-encoding': 'gzip' }],
  ])('answers a body that cannot be read without a stack trace: %.5s %j', async (body, more) => {
    const base = await hosts['existing-app.ts']!()
    const headers = { 'content-type': 'application/json', ...more } as Record<string, string>
    const reply = await fetch(`${base}/echo`, { method: 'POST', headers, body })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toEqual({ error: expect.not.stringMatching(/node_modules|:\d+:\d+/) })
  })

  it.each([undefined, 'Bearer ', 'Bearer sk-nobody', 'Bearer sk-mallory', 'sk-alice'])(
    'shows no balance without the key of a user: authorization %s',
    async (authorization) => {
      const base = await hosts['existing-app.ts']!()
      const headers = new Headers(authorization === undefined ? [] : [['authorization', authorization]])
      expect((await fetch(`${base}/balance`, { headers })).status).toBe(401)
      expect((await fetch(`${base}/users/alice/balance`, { headers })).status).toBe(404)
    },
  )

  it('debits its own user by the cost in the reply', async () => {
    const base = await hosts['existing-app.ts']!()
    const { usage } = await clientOf(base, 'sk-alice').chat.completions.create({
      model: 'acme/fast',
      messages,
    })
    const asked = await fetch(`${base}/balance`, { headers: { authorization: 'Bearer sk-alice' } })
    const balance = (await asked.json()) as { available: string }
    const nano = (decimal: string) => BigInt(decimal.padEnd(11, '0').replace('.', ''))
    const { cost } = usage as unknown as { cost: number }
    expect(nano('5.000000000') - nano(balance.available)).toBe(BigInt(Math.round(cost * 1e9)))
  })

  it('refuses a suspended user', async () => {
    const client = clientOf(await hosts['existing-app.ts']!(), 'sk-mallory')
    await expect(client.chat.completions.create({ model: 'acme/fast', messages })).rejects.toMatchObject({
      status: 403,
      code: 'account_suspended',
    })
  })
})
