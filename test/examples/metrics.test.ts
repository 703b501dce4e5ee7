import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp, type ExampleApp, MOUNT } from '../../examples/server/app.js'
import { createTestFile } from '../helpers/sqlite.js'

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const dashboard = JSON.parse(
  readFileSync(new URL('../../examples/grafana/compat-router.json', import.meta.url), 'utf8'),
) as {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] }
}
const targets = dashboard.panels.flatMap(({ targets = [] }) => targets)
const variables = dashboard.templating.list.flatMap(({ query }) =>
  typeof query === 'string' ? [] : [query.query],
)
const queries = [...targets.map(({ expr }) => expr), ...variables]

let example: ExampleApp
let base: string
let tokens: readonly string[]
let metrics: string
let stop: () => Promise<void>

beforeAll(async () => {
  const { file, remove } = await createTestFile()
  example = await createApp({ database: { kind: 'sqlite', file }, tokenDelayMs: 30 })
  const servers = [createServer(example.app), createServer(example.metrics)]
  const [application, scraped] = await Promise.all(servers.map(urlOf))
  base = application!
  metrics = `${scraped!}/metrics`
  stop = async () => {
    const closed = servers.map((server) => new Promise((done) => server.close(done)))
    await example.close()
    for (const server of servers) server.closeAllConnections()
    await Promise.all(closed)
    await remove()
  }
  tokens = await callAllKinds()
})
afterAll(() => stop())

async function urlOf(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const scrape = async () => (await fetch(metrics)).text()

function post(token: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${base}${MOUNT}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...body }),
    ...(signal && { signal }),
  })
}

/** Makes a call of each kind: in one body, as a stream, refused, and left in the middle. */
async function callAllKinds(): Promise<readonly string[]> {
  const { accessToken, apiKey } = await example.credentials()
  const tokens = [apiKey.token!, accessToken.token!]
  const statusOf = async (token: string, model: string) => (await post(token, { model })).status
  const streamOf = async (token: string) => (await post(token, { model: 'demo/large', stream: true })).text()
  const leave = async (token: string) => {
    const controller = new AbortController()
    const left = await post(token, { model: 'demo/large', stream: true }, controller.signal)
    await left.body!.getReader().read()
    controller.abort()
  }
  // All at once: the replies take as long as a model would.
  const [, ...answers] = await Promise.all([
    leave(tokens[0]!),
    statusOf(tokens[0]!, 'no/such'),
    ...tokens.flatMap((token) => [statusOf(token, 'demo/large'), streamOf(token)]),
  ])
  const stream = expect.stringContaining('[DONE]')
  expect(answers).toEqual([404, 200, stream, 200, stream])
  while (!/^compat_router_requests_active\{[^}]*\} 0$/m.test(await scrape())) await new Promise(setImmediate)
  return tokens
}

const LABELS = /\{([^}]*)\}|\b(?:by|without) \(([^)]*)\)/g

/** Returns the names of metrics in a query. Labels are removed first. */
const metricsIn = (query: string) =>
  query.replaceAll(LABELS, '').match(/\b(?:gen_ai|compat_router)_\w+/g) ?? []

const labelsIn = (query: string) =>
  [...query.matchAll(LABELS)]
    .flatMap(([, matchers, names]) => (names ?? matchers!).replaceAll(/"[^"]*"/g, '').match(/\w+/g) ?? [])
    .filter((name) => name !== 'le')

describe('the metrics of the example server', () => {
  it('include every name and label that the dashboard uses', async () => {
    const text = await scrape()
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const printed = new Set(samples.map((line) => /^\w+/.exec(line)![0]))
    const labels = new Set(samples.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, name]) => name!)))

    const metrics = new Set(
      queries.flatMap((query) => metricsIn(query.replace(/^label_values\((\w+), \w+\)$/, '$1'))),
    )
    expect(metrics.size).toBeGreaterThan(15)
    expect([...metrics].filter((name) => !printed.has(name))).toEqual([])
    const asked = new Set([
      ...targets.flatMap(({ expr }) => labelsIn(expr)),
      ...targets.flatMap(({ legendFormat }) =>
        [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name!),
      ),
      ...variables.map((query) => /, (\w+)\)$/.exec(query)![1]!),
    ])
    expect(asked.size).toBeGreaterThan(8)
    expect([...asked].filter((name) => !labels.has(name))).toEqual([])
  })

  it('count a route once on the dashboard, however many processes report it', () => {
    const ofRoutes = queries.filter((query) =>
      metricsIn(query).some((name) => /_route_(?!attempts)/.test(name)),
    )
    expect(ofRoutes.length).toBeGreaterThan(3)
    for (const query of ofRoutes) {
      expect(query).toMatch(/\b(?:max|avg) by \(compat_router_route_id\b[^)]*\) \(compat_router_route_/)
    }
  })

  it('are all on the dashboard', async () => {
    const names = [...(await scrape()).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!)
    const shown = new Set(
      queries.flatMap(metricsIn).map((name) => name.replace(/_(?:bucket|count|sum)$/, '')),
    )
    expect(names.filter((name) => !shown.has(name))).toEqual([])
  })

  it('count the calls, and contain no key, account or message', async () => {
    const text = await scrape()
    expect(text).toMatch(/^compat_router_requests_total\{[^}]*outcome="completed"[^}]*\} 4$/m)
    expect(text).toMatch(/^compat_router_requests_total\{[^}]*outcome="model_not_found"[^}]*\} 1$/m)
    expect(text).toMatch(/^compat_router_requests_total\{[^}]*outcome="client-left"[^}]*\} 1$/m)
    expect(text).toMatch(/^gen_ai_server_time_to_first_token_count\{[^}]*\} 2$/m)
    for (const secret of [...tokens, 'alice', 'bob', 'Hello']) expect(text).not.toContain(secret)
  })

  it('are not on the port of the application, which a proxy may make public', async () => {
    expect((await fetch(metrics)).status).toBe(200)
    const reply = await fetch(`${base}/metrics`)
    expect([reply.status, await reply.text()]).toEqual([404, expect.not.stringContaining('compat_router_')])
  })

  it('are not served under a foreign host name that points to this machine', async () => {
    const { port } = new URL(metrics)
    const statusFor = async (host: string) => {
      const asked = request(metrics, { headers: { host } }).end()
      const [reply] = (await once(asked, 'response')) as [IncomingMessage]
      reply.resume()
      return reply.statusCode
    }
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]']) {
      expect([host, await statusFor(`${host}:${port}`)]).toEqual([host, 200])
    }
    for (const host of [
      `evil.example:${port}`,
      `localhost.evil.example:${port}`,
      'localhost',
      'localhost:1',
    ]) {
      expect([host, await statusFor(host)]).toEqual([host, 403])
    }
  })
})
