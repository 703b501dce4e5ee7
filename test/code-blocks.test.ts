import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type OpenAI from 'openai'
import Stripe from 'stripe'
import ts from 'typescript'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import type { ProviderAdapter } from '../src/adapters.js'
import { type Admin, createAdmin, type ModelRequest, type RouteRequest } from '../src/admin/index.js'
import { runCli } from '../src/cli/run-cli.js'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryLedger,
  memoryProviders,
  parseCredits,
  type TokenCounter,
} from '../src/index.js'
import type { DurableStores } from '../src/sqlite/index.js'
import type { MemoryCatalogue, ProviderRegistry } from '../src/stores.js'
import { ledgerCases } from '../src/testing/index.js'
import { type StandIn, startStandIn } from '../src/testing/stand-in/stand-in.js'
import { openPage, submit, UserAgent } from './connect/user-agent.js'
import { askDatabases } from './helpers/ask-databases.js'
import { type ConnectProxy, startConnectProxy } from './helpers/connect-proxy.js'
import { freePort } from './helpers/free-port.js'
import { context, createHold } from './helpers/ledger-requests.js'
import { type CodeBlock, codeBlocks, codeSpans, tableUnder } from './helpers/markdown.js'
import { createTestDatabase } from './helpers/postgres.js'
import { claims, json, newKey, sign, startKeySet, startServer } from './identity/issuer.js'
import { runCall } from './providers/openai-compatible/run-call.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
const documents = ['README.md', ...pages.map((name) => `docs/${name}`)]
const blocks = documents.flatMap((document) =>
  codeBlocks(read(document)).map((found): DocumentBlock => ({ ...found, document })),
)
/** Pages with blocks that show a part of a program or a configuration. */
const withParts = new Set(
  ['calls', 'charging', 'limits', 'lookups', 'observability', 'responses', 'stores'].map(
    (name) => `docs/${name}.md`,
  ),
)
/** Blocks that mount a router and listen. */
const mounts = [
  'start',
  'express',
  'connect',
  'http',
  'fastify',
  'koa',
  'hapi',
  'hono',
  'fast-lane',
  'custom-store',
  'cache',
  'token-counter',
  'health',
  'failed-authentications',
]
const clients = ['client-openai', 'client-ai-sdk', 'client-openrouter', 'client-langchain']
/** Blocks with a test of their own. */
const others = [
  ...['options', 'stores', 'require'],
  ...['mount', 'curl', 'call', 'stream', 'error', 'events', 'closing', 'next'],
  ...[
    'credentials',
    'limits',
    'catalogue',
    'price-list',
    'providers',
    'adapters',
    'bounded-fetch',
    'egress',
    'keyring',
    'seal',
    'cases',
  ],
  ...['more-providers', 'features', 'plans'],
  ...['sessions', 'page', 'identity', 'introspection'],
  ...['users', 'short-key', 'top-ups', 'keys-page', 'alerts', 'idempotency', 'openrouter-route'],
  ...['connect-app', 'connect-client', 'connect-host', 'connected-apps'],
  ...[
    'durable',
    'postgres',
    'admin',
    'audit',
    'amounts',
    'cli',
    'console',
    'hono-pages',
    'lambda',
    'logs',
    'telemetry',
  ],
  'stand-in',
]
/** Blocks that others import, as the files `options.mjs` and `stores.mjs`. */
const shared = ['options', 'stores']
const upstreamKey = 'sk-upstream-for-the-blocks'

interface DocumentBlock extends CodeBlock {
  readonly document: string
}

/** As Lambda calls it with a stream for the reply. */
type LambdaHandler = (event: object, replied: PassThrough, context: object) => Promise<void>

/** Exports of a block that must be closed. */
interface Closable {
  stores?: { close(): Promise<void> }
  pool?: { end(): Promise<void> }
}

let upstream: StandIn
let proxy: ConnectProxy
let folder: string
let mounted: string
/** The identity server of the blocks. */
let identityUrl = 'https://id.example/'
let started: Server[] = []
let imports = 0
const open: Server[] = []
const toClose: Closable[] = []
const listen = Server.prototype.listen

/** Listens on a free port of the loopback address, whichever port the block names. */
function listenAnywhere(this: Server, ...given: unknown[]): Server {
  started.push(this)
  open.push(this)
  const last = given.at(-1)
  if (typeof last === 'function') this.once('listening', () => last())
  return listen.call(this, { port: 0, host: '127.0.0.1' })
}

beforeAll(async () => {
  upstream = await startStandIn({
    apiKey: upstreamKey,
    models: ['gpt-4o-mini', 'gpt-4o', 'anthropic/claude-sonnet-4.5'],
    tokenDelayMs: 0,
    remark: 'Set UPSTREAM_BASE_URL to talk to a real model.',
  })
  proxy = await startConnectProxy()
  vi.stubEnv('OPENAI_API_KEY', upstreamKey)
  vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-for-the-blocks')
  vi.stubEnv('SECRET_KEY', '5'.repeat(64))
  await mkdir(join(root, 'test', '.blocks'), { recursive: true })
  folder = await mkdtemp(join(root, 'test', '.blocks', 'blocks-'))
  for (const name of shared) {
    await writeFile(join(folder, `${name}.mts`), withTestAddresses(block('run', name).text))
  }
  mounted = await serve('mount')
})

afterEach(() => {
  vi.restoreAllMocks()
})

afterAll(async () => {
  vi.unstubAllEnvs()
  for (const server of open) {
    const closed = new Promise((done) => server.close(done))
    ;(server as Server & { closeAllConnections?(): void }).closeAllConnections?.()
    await closed
  }
  for (const { stores, pool } of toClose) {
    await stores?.close()
    await pool?.end()
  }
  await proxy?.close()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

function block(directive: 'run' | 'shows', name: string): CodeBlock {
  const found = blocks.filter((candidate) => candidate.directives[directive] === name)
  if (found.length !== 1)
    throw new Error(`The documents have ${found.length} blocks with ${directive}=${name}`)
  return found[0]!
}

function checked(name: string): CodeBlock {
  const [found] = blocks.filter(({ directives }) => directives.check === name)
  if (found === undefined) throw new Error(`The documents have no block with check=${name}`)
  return found
}

function withTestAddresses(text: string, base = mounted): string {
  return text
    .replaceAll('https://api.openai.com/v1', upstream.baseUrl)
    .replaceAll('https://openrouter.ai/api/v1', upstream.baseUrl)
    .replaceAll('http://proxy.internal:3128', proxy.url)
    .replaceAll('http://localhost:3000', base ?? 'http://localhost:3000')
    .replaceAll('https://id.example/keys', identityUrl)
    .replaceAll('https://id.example/introspect', identityUrl)
    .replaceAll('.data/credits.db', join(folder, 'credits.db'))
    .replaceAll('pino()', 'pino({}, { write: (line) => console.log(line) })')
}

function withPrelude({ directives, text }: CodeBlock): string {
  const name = directives.with
  const prelude = name === undefined ? '' : `import { ${name} } from './${name}.mjs'\n`
  return `${prelude}${text}\nexport {}\n`
}

async function importBlock(name: string, base?: string, suffix = ''): Promise<Record<string, unknown>> {
  const found = block('run', name)
  const file = join(folder, `${name}-${imports++}.ts`)
  await writeFile(file, withTestAddresses(withPrelude(found) + suffix, base))
  return (await import(file)) as Record<string, unknown>
}

/** Runs a block, which starts one server or, with metrics, two, and returns the URL of the last one. */
async function serve(name: string, suffix = '', servers = 1): Promise<string> {
  started = []
  const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(listenAnywhere)
  toClose.push(await importBlock(name, undefined, suffix))
  spy.mockRestore()
  expect(started).toHaveLength(servers)
  return urlOf(started.at(-1)!)
}

async function urlOf(server: Server): Promise<string> {
  if (!server.listening) await new Promise((done) => server.once('listening', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs a block whose users are signed in: the id of a session is the name of its account. */
function serveTo(users: readonly string[], name: string): Promise<string> {
  return serve(name, users.map((user) => `sessions.set('${user}', '${user}')`).join('\n'))
}

function cookieOf(user: string) {
  return { cookie: `sid=${user}` }
}

/** The blocks that listen, with the routes of each beside the router's. A parameter is an id that nobody has. */
const recipes = blocks
  .filter(({ directives, text }) => directives.run && text.includes('.listen('))
  .map(({ directives, text }) => {
    const routes = [...text.matchAll(/\bapp\.(get|post|put|delete)\(\s*'([^']+)'/g)]
    return [
      directives.run!,
      routes.map(([, method, path]) => `${method!.toUpperCase()} ${path!.replace(/:\w+/g, 'another')}`),
    ] as const
  })
/** The routes that anybody may read. */
const publicRoutes = ['GET /', 'GET /health']
/** Headers of somebody who is not signed in. */
const strangers: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'x-user': 'ben' },
  cookieOf('cleo'),
  { cookie: 'x-sid=ben; xsid=ben' },
]
/** Headers, and bodies, of requests that no page of a host sends. */
const oddRequests: readonly Readonly<Record<string, string>>[] = [
  { body: '{' },
  { body: 'null' },
  { body: `{"a":"${'a'.repeat(200_000)}"}` },
  { 'content-type': 'application/json; charset=none' },
  { 'content-encoding': 'gzip' },
  { 'content-type': 'application/x-www-form-urlencoded', body: 'a=b&a=c' },
  { cookie: 'sid=%00; sid=__proto__', 'x-user': 'ben', authorization: 'Bearer sk-cr-nobody' },
]
/** A frame of a stack trace, or a file of a package. */
const TRACE = /\bat [^\n]*:\d+:\d+|node_modules/

/** Runs a block that calls the first example, and returns the values that it logged. */
async function logged(name: string, base = mounted): Promise<unknown[]> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await importBlock(name, base)
  return log.mock.calls.map(([value]) => value as unknown)
}

async function shell(name: string): Promise<string> {
  const curl = fileURLToPath(new URL('helpers/curl.mjs', import.meta.url))
  const script = `curl() { "$NODE" "$CURL" "$@"; }\n${withTestAddresses(block('run', name).text)}`
  const env = { ...process.env, NODE: process.execPath, CURL: curl }
  return (await promisify(execFile)('sh', ['-c', script], { env })).stdout
}

async function complete(base: string, model = 'acme/fast', token = 'sk-demo') {
  const response = await fetch(`${base}/compat/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  return { status: response.status, body: (await response.json()) as Reply }
}

interface Health {
  inFlight: number
  routes: { firstTokenMs?: number; tokensPerSecond?: number }[]
}

function withoutMeasures({ firstTokenMs: _, tokensPerSecond: __, ...state }: Health['routes'][number]) {
  return state
}

interface Reply {
  usage?: {
    cost: number
    is_byok: boolean
    prompt_tokens: number
    completion_tokens: number
    charge: { base_cost: number; markup_cost: number }
  }
}

const CONSTANT_KEYS = new Set([
  'object',
  'model',
  'role',
  'finish_reason',
  'basis',
  'is_byok',
  'type',
  'code',
  'param',
  'source',
])

/** Returns the parts that must match an example: keys, the types of their values, and values that never change. */
function shapeOf(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => shapeOf(item))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, shapeOf(item, name)] as const),
    )
  }
  return CONSTANT_KEYS.has(key) ? value : value === null ? null : typeof value
}

/** Returns the shapes of a stream's events. Several equal ones in a row count as one. */
function streamShape(text: string): string[] {
  const events = text.split('\n\n').filter((event) => event.trim() !== '')
  const shapes = events.map((event) => {
    const data = event.trim().replace(/^data: /, '')
    return data === '[DONE]' ? data : JSON.stringify(shapeOf(JSON.parse(data)))
  })
  return shapes.filter((shape, at) => shape !== shapes[at - 1])
}

describe('a code block of the documents', () => {
  // Blocks with `app` are run by npm run test:frameworks.
  it('is run, compared or checked, unless it is part of a program', () => {
    const idle = blocks.filter(
      ({ directives, document }) =>
        !['run', 'app', 'shows', 'check'].some((name) => directives[name]) && !withParts.has(document),
    )
    expect(idle.map(({ document, line }) => `${document}:${line}`)).toEqual([])
  })

  it('has no name that this test does not run', () => {
    const run = blocks.flatMap(({ directives }) => directives.run ?? [])
    expect(run.sort()).toEqual([...mounts, ...clients, ...others].sort())
  })

  it('listens for this machine alone if it has a key that everybody knows', () => {
    const demos = blocks.filter(
      ({ directives, document, text }) =>
        /\.listen\(|port: 3000/.test(text) &&
        (/'sk-demo'|'\.\/options\.mjs'/.test(text) ||
          (document === 'docs/frameworks.md' && directives.app !== undefined)),
    )
    expect(demos.map(({ directives }) => directives.run ?? directives.app)).toEqual([
      ...['mount', 'keyring', 'token-counter', 'events', 'start', 'fast-lane'],
      ...['nest', 'nest-module', 'nest-fastify', 'elysia', 'trpc', 'bun', 'deno', 'bundled'],
      ...['express', 'connect', 'http', 'koa', 'hapi', 'fastify', 'hono', 'telemetry', 'logs'],
      ...['custom-store', 'cache', 'failed-authentications', 'closing', 'health'],
    ])
    const forThisMachine = /(?:\.listen\(3000, |host(?:name)?: )'(?:localhost|127\.0\.0\.1)'/
    for (const { text } of demos) expect(text).toMatch(forThisMachine)
  })

  it('says that its async handlers need Express 5, in which one that rejects does not end the process', () => {
    const asynchronous = blocks.filter(({ text }) =>
      /\bapp\.(?:get|post|put|delete)\([^\n]*\basync\b/.test(text),
    )
    expect(asynchronous.length).toBeGreaterThan(3)
    for (const { text } of asynchronous) {
      expect(text).toContain(
        "// Express 5: in Express 4, an async handler that rejects ends the process\nimport express from 'express'\n",
      )
    }
  })

  it.each(['curl', 'call'])('shows the reply that a curl gets, and its cost: %s', async (name) => {
    const reply = JSON.parse(await shell(name)) as { usage: Record<string, unknown> }
    expect(shapeOf(reply)).toEqual(shapeOf(JSON.parse(block('shows', 'reply').text)))
    const cost = JSON.parse(block('shows', 'cost').text) as Record<string, unknown>
    const shown = Object.keys(cost).map((name) => [name, reply.usage[name]])
    expect(shapeOf(Object.fromEntries(shown))).toEqual(shapeOf(cost))
  })

  it('shows the stream that the second curl gets', async () => {
    expect(streamShape(await shell('stream'))).toEqual(streamShape(block('shows', 'stream').text))
  })

  it('shows the exact error for a model that does not exist', async () => {
    expect(JSON.parse(await shell('error'))).toEqual(JSON.parse(block('shows', 'error').text))
  })

  it.each(mounts)('mounts a router that completes and charges: %s', async (name) => {
    const base = await serve(name)
    const { status, body } = await complete(base)
    expect(status).toBe(200)
    expect(body.usage!.cost).toBeGreaterThan(0)
  })

  it('answers the route handlers of Next.js, and keeps one engine when their file is loaded again', async () => {
    const callReloaded = async () => {
      const { POST } = (await importBlock('next')) as { POST(request: Request): Promise<Response> }
      const response = await POST(
        new Request('https://app.example/compat/v1/chat/completions', {
          method: 'POST',
          headers: { authorization: 'Bearer sk-demo', 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hello!' }] }),
        }),
      )
      expect(((await response.json()) as Reply).usage!.cost).toBeGreaterThan(0)
      return (globalThis as { compat?: unknown }).compat
    }
    const first = await callReloaded()
    expect(await callReloaded()).toBe(first)
  })

  it('passes other requests to the application in the fast lane', async () => {
    const base = await serve('fast-lane')
    expect(await (await fetch(base)).text()).toBe('The rest of the application')
  })

  it('refuses an address for its failed authentications, never for calls that are concurrent or aborted', async () => {
    const base = await serve('failed-authentications')
    const wrong = async () => (await complete(base, 'acme/fast', 'sk-wrong')).status
    const concurrent = await Promise.all(Array.from({ length: 40 }, () => complete(base)))
    expect(concurrent.filter(({ status }) => status !== 200)).toEqual([])
    for (let aborted = 0; aborted < 31; aborted++) {
      const leaving = new AbortController()
      const { status } = await fetch(`${base}/compat/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-demo', 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'acme/fast',
          messages: [{ role: 'user', content: 'Hi' }],
          stream: true,
        }),
        signal: leaving.signal,
      })
      leaving.abort()
      expect(status).toBe(200)
    }
    for (let failure = 1; failure <= 30; failure++) expect(await wrong()).toBe(401)
    await expect.poll(wrong).toBe(429)
    const refused = await fetch(`${base}/compat/v1/models`, { headers: { authorization: 'Bearer sk-demo' } })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } })
  })

  it('refuses a key that its own store does not know', async () => {
    const { status } = await complete(await serve('custom-store'), 'acme/fast', 'sk-other')
    expect(status).toBe(401)
  })

  it('prints the cost of a call from its event', async () => {
    const base = await serve('events')
    const printed = new Promise((done) => vi.spyOn(console, 'log').mockImplementation(done))
    await complete(base)
    expect(await printed).toMatch(/^alice paid 0\.0000\d+ credits for acme\/fast$/)
  })

  it('serves metrics of the calls that it completed', async () => {
    const base = await serve('telemetry', '', 2)
    const metrics = await urlOf(started[0]!)
    await complete(base)
    const scrape = async () => (await fetch(`${metrics}/metrics`)).text()
    while (!/^compat_router_requests_active\{.*\} 0$/m.test(await scrape())) await setImmediate()
    const text = await scrape()
    expect(text).toMatch(/^compat_router_requests_total\{.*outcome="completed".*\} 1$/m)
    expect(text).toMatch(/^compat_router_credits_charged_total\{.*\} 0\.0000\d+$/m)
    expect(text).toMatch(/^compat_router_holds_open(?:\{.*\})? 0$/m)
    expect((await fetch(`${base}/metrics`)).status).toBe(404)
    expect(block('run', 'telemetry').text).toContain("new PrometheusExporter({ host: '127.0.0.1'")
  })

  it('logs the line that it shows', async () => {
    const base = await serve('logs')
    const line = new Promise<string>((done) => vi.spyOn(console, 'log').mockImplementation(done))
    await complete(base)
    expect(shapeOf(JSON.parse(await line))).toEqual(shapeOf(JSON.parse(block('shows', 'logs').text)))
  })

  it('closes on the signal that it names', async () => {
    const before = process.listeners('SIGTERM')
    expect((await complete(await serve('closing'))).status).toBe(200)
    const server = started[0]!
    const [handler] = process.listeners('SIGTERM').filter((listener) => !before.includes(listener))
    process.removeListener('SIGTERM', handler!)
    await (handler as () => Promise<void>)()
    expect(server.listening).toBe(false)
  })

  it.each(clients)('reads the cost, whole and streamed: %s', async (name) => {
    const costs = await logged(name)
    expect(costs).toEqual([expect.any(Number), expect.any(Number)])
    expect(Math.min(...(costs as number[]))).toBeGreaterThan(0)
  })

  it("has working credentials of both kinds, with the app's markup", async () => {
    const { credentials } = await importBlock('credentials', undefined, 'export { credentials }')
    const base = await serveWith({ credentials, ledger: memoryLedger({ alice: '5', bob: '5' }) })
    const key = (await complete(base, 'acme/fast', 'sk-demo')).body.usage!.charge
    const token = (await complete(base, 'acme/fast', 'at-demo')).body.usage!.charge
    expect(key.markup_cost).toBe(0)
    expect(token.markup_cost).toBeGreaterThan(0.001)
  })

  it('has limits that replies show', async () => {
    const { credentials } = await importBlock('limits', undefined, 'export { credentials }')
    const base = await serveWith({ credentials, ledger: memoryLedger({ alice: '100' }) })
    const { status, headers } = await fetch(`${base}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-demo', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hello!' }] }),
    })
    expect(status).toBe(200)
    expect(headers.get('x-ratelimit-limit-requests')).toBe('60')
    expect(headers.get('x-ratelimit-remaining-requests')).toBe('59')
  })

  it('has a catalogue that lists and prices its model', async () => {
    const { catalogue } = await importBlock('catalogue', undefined, 'export { catalogue }')
    const { providers } = await importBlock('providers', undefined, 'export { providers }')
    const { usage } = (await complete(await serveWith({ catalogue, providers }), 'acme/smart')).body
    const { prompt_tokens, completion_tokens, cost } = usage!
    expect(cost).toBeCloseTo(0.001 + (prompt_tokens * 2.5 + completion_tokens * 10) / 1e6, 9)
  })

  it('reads models with their prices from a price list', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { catalogue } = (await importBlock('price-list', undefined, 'export { catalogue }')) as {
      catalogue: MemoryCatalogue
    }
    expect(catalogue.list().length).toBeGreaterThan(1)
    for (const { id, prices } of catalogue.list()) {
      expect(id).toMatch(/^acme\/gpt-4o/)
      expect(Number(prices!.output)).toBeGreaterThan(0)
    }
  })

  it('calls a provider through an egress proxy', async () => {
    const { providers, dispatcher } = (await importBlock(
      'egress',
      undefined,
      'export { providers, dispatcher }',
    )) as { providers: ProviderRegistry; dispatcher: { destroy(): Promise<void> } }
    expect((await complete(await serveWith({ providers }))).body.usage!.cost).toBeGreaterThan(0)
    expect(proxy.targets).toEqual([new URL(upstream.baseUrl).host])
    await dispatcher.destroy()
  })

  it('has the other adapters, and one of them completes a call', async () => {
    const { providers } = (await importBlock('adapters', undefined, 'export { providers }')) as {
      providers: ProviderRegistry
    }
    expect((await complete(await serveWith({ providers }))).body.usage!.cost).toBeGreaterThan(0)
    const model = { id: 'acme/smart', created: 0, ownedBy: 'acme' }
    const context = { requestId: 'blocks', signal: new AbortController().signal }
    expect(await providers.routes(model, context)).toMatchObject([{ id: 'anthropic:acme/smart' }])
  })

  it('has a token counter whose bounds hold for odd texts, in one piece or in several', async () => {
    const { tokenCounter } = (await importBlock('token-counter', undefined, 'export { tokenCounter }')) as {
      tokenCounter: TokenCounter
    }
    for (const text of ['f'.repeat(400), '\n\t'.repeat(200), '👩‍🚀'.repeat(50), 'Some words, and more.']) {
      const whole = tokenCounter.tally()
      whole.add(text)
      const pieces = tokenCounter.tally()
      for (const piece of text.match(/.{1,3}/gs)!) for (const part of [piece, '']) pieces.add(part)
      expect(whole.atMost()).toBeGreaterThanOrEqual(Buffer.byteLength(text))
      expect(whole.atLeast()).toBe(text.split(/\s+/).filter(Boolean).length)
      expect([pieces.atMost() >= whole.atMost(), pieces.atLeast()]).toEqual([true, whole.atLeast()])
    }
  })

  it('has a fetch that reads a reply of a package of the AI SDK up to a limit', async () => {
    vi.stubEnv('PROVIDER_URL', upstream.baseUrl)
    vi.stubEnv('PROVIDER_KEY', upstreamKey)
    const { adapter } = (await importBlock('bounded-fetch')) as { adapter: ProviderAdapter }
    const providers = memoryProviders([{ id: 'bounded', models: { 'acme/fast': 'gpt-4o-mini' }, adapter }])
    const service = await serveWith({ providers })
    expect((await complete(service)).body.usage!.cost).toBeGreaterThan(0)
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 2 ** 20
        controller.enqueue(new Uint8Array(2 ** 20).fill(32))
      },
    })
    vi.stubGlobal(
      'fetch',
      async () => new Response(endless, { headers: { 'content-type': 'application/json' } }),
    )
    const { error } = await runCall(adapter, { stream: false })
    vi.unstubAllGlobals()
    expect(error).toMatchObject({ reason: 'invalid-response' })
    expect(sent).toBeLessThan(300 * 2 ** 20)
  })

  it('has a route to each of the providers that people name', async () => {
    for (const name of ['AZURE_OPENAI_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK', 'GEMINI_API_KEY'])
      vi.stubEnv(name, upstreamKey)
    const { providers } = (await importBlock('more-providers', undefined, 'export { providers }')) as {
      providers: ProviderRegistry
    }
    const context = { requestId: 'blocks', signal: new AbortController().signal }
    const routed = ['fast', 'open', 'gemini', 'smart', 'local'].map((name) =>
      providers.routes({ id: `acme/${name}`, created: 0, ownedBy: 'acme' }, context),
    )
    expect((await Promise.all(routed)).flat().map(({ id }) => id)).toEqual([
      'azure:acme/fast',
      'bedrock:acme/open',
      'google:acme/gemini',
      'anthropic:acme/smart',
      'ollama:acme/local',
    ])
  })

  it('streams, calls a tool, replies in JSON and takes an image', async () => {
    const streamed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const [calls, json, described] = (await logged('features')) as [
      OpenAI.ChatCompletionMessageToolCall[],
      string,
      string,
    ]
    expect(streamed.mock.calls.join('').length).toBeGreaterThan(0)
    expect(calls).toMatchObject([{ type: 'function', function: { name: 'temperature' } }])
    expect(JSON.parse(json)).toEqual({ celsius: expect.any(Number) })
    expect(described.length).toBeGreaterThan(0)
  })

  it('shows the response of its health page', async () => {
    const base = await serve('health')
    await complete(base)
    const { inFlight, routes } = (await (await fetch(`${base}/health`)).json()) as Health
    const shown = JSON.parse(block('shows', 'health').text) as Health
    expect({ inFlight, routes: routes.map(withoutMeasures) }).toEqual({
      ...shown,
      routes: shown.routes.map(withoutMeasures),
    })
    expect(Object.keys(shown.routes[0]!)).toEqual(expect.arrayContaining(Object.keys(routes[0]!)))
  })

  it('shows anybody no message and no address of a provider on its health page', async () => {
    const base = await serve('health')
    const failed = await fetch(`${base}/compat/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-demo', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/fast', input: 'The stand-in has no embeddings.' }),
    })
    expect(failed.status).toBe(502)
    const text = await (await fetch(`${base}/health`)).text()
    expect(text).toContain('openai:acme/fast')
    expect(text).not.toContain(new URL(upstream.baseUrl).host)
    expect(text).not.toContain('Unknown request')
  })

  it('keeps everything in a file, administers it, and accepts the key that it issues', async () => {
    await askDatabases(inject('databases'), '/worker')
    const base = await serve('durable')
    const { stores } = (await import(join(folder, 'stores.mts'))) as { stores: DurableStores }
    toClose.push({ stores })
    const [token] = (await logged('admin')) as [string]
    expect(token).toMatch(/^sk-/)
    const { cost } = (await complete(base, 'acme/fast', token)).body.usage!
    expect(cost).toBeGreaterThan(0)
    const { posted } = (await createAdmin(stores).accounts.balance('alice'))!
    expect(posted).toBe(parseCredits('25') - parseCredits(cost.toFixed(9)))
  })

  it('has an audit log that names who credited an account', async () => {
    const [newest] = await logged('audit')
    expect(newest).toMatchObject({
      ...{ by: 'anna', noun: 'entry', kind: 'credited', account: 'alice' },
      details: { amount: '25', memo: 'refund of June' },
    })
  })

  it('has a console that opens once with the link that it prints', async () => {
    await askDatabases(inject('databases'), '/worker')
    const print = vi.spyOn(console, 'log').mockImplementation(() => {})
    const base = await serve('console', 'export { stores }')
    const { pathname, hash } = new URL(print.mock.calls[0]![0] as string)
    const signIn = () =>
      fetch(base + pathname, {
        method: 'POST',
        headers: { origin: base, 'content-type': 'application/json' },
        body: JSON.stringify({ secret: hash.slice(1) }),
      })
    const cookie = (await signIn()).headers.getSetCookie()[0]!.split(';')[0]!
    expect((await signIn()).status).toBe(403)
    const me = await fetch(`${base}/console/api/me`, { headers: { cookie } })
    expect(await me.json()).toMatchObject({ viewer: { kind: 'operator' }, routerPath: '/compat/v1' })
  })

  it('has the console, Connect and the router in Hono', async () => {
    await askDatabases(inject('databases'), '/worker')
    const { stores } = (await import(join(folder, 'stores.mts'))) as { stores: DurableStores }
    toClose.push({ stores })
    vi.stubEnv('CONNECT_SECRET', 's'.repeat(32))
    const print = vi.spyOn(console, 'log').mockImplementation(() => {})
    const base = await serve('hono-pages')
    const { pathname, hash } = new URL(print.mock.calls[0]![0] as string)
    const signedIn = await fetch(base + pathname, {
      method: 'POST',
      headers: { origin: base, 'content-type': 'application/json' },
      body: JSON.stringify({ secret: hash.slice(1) }),
    })
    const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
    const me = await fetch(`${base}/console/api/me`, { headers: { cookie } })
    expect(await me.json()).toMatchObject({ viewer: { kind: 'operator' } })
    const page = await fetch(`${base}/console/`, { headers: { cookie } })
    expect(page.headers.get('content-type')).toContain('html')
    const metadata = await fetch(`${base}/.well-known/oauth-authorization-server/connect`)
    expect(await metadata.json()).toHaveProperty('token_endpoint')
    const unknown = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'nobody', code: 'c' })
    const token = await fetch(`${base}/connect/token`, { method: 'POST', body: unknown })
    expect([token.status, await token.json()]).toMatchObject([401, { error: 'invalid_client' }])
    const stranger = { authorization: 'Bearer sk-cr-nobody' }
    expect((await fetch(`${base}/compat/v1/models`, { headers: stranger })).status).toBe(401)
    expect((await fetch(`${base}/elsewhere`)).status).toBe(404)
  })

  it('answers HEAD in Hono as GET, without a body, and prints nothing', async () => {
    await askDatabases(inject('databases'), '/worker')
    vi.stubEnv('CONNECT_SECRET', 's'.repeat(32))
    vi.spyOn(console, 'log').mockImplementation(() => {})
    const base = await serve('hono-pages')
    // The first request to Connect loads oidc-provider, which may print that Node is too old for it.
    await fetch(`${base}/connect/authorize`)
    const printed = (['error', 'warn', 'info'] as const).map((method) =>
      vi.spyOn(console, method).mockImplementation(() => {}),
    )
    const seen = async (path: string, method: string) => {
      const reply = await fetch(base + path, { method, redirect: 'manual' })
      const text = await reply.text()
      return { path, status: reply.status, type: reply.headers.get('content-type'), text }
    }
    for (const path of [
      ...['/console', '/console/', '/console/sign-in', '/console/api/me', '/console/elsewhere'],
      ...['/connect/authorize', '/connect/authorize?%', '/connect/elsewhere'],
      ...['/.well-known/oauth-authorization-server/connect', '/compat/v1/models', '/elsewhere'],
    ]) {
      expect(await seen(path, 'HEAD')).toEqual({ ...(await seen(path, 'GET')), text: '' })
    }
    for (const spy of printed) expect(spy.mock.calls).toEqual([])
  })

  describe("in the guide for a host's own users", () => {
    let stores: DurableStores
    let admin: Admin

    beforeAll(async () => {
      await askDatabases(inject('databases'), '/worker')
      ;({ stores } = (await import(join(folder, 'stores.mts'))) as { stores: DurableStores })
      admin = createAdmin(stores)
      toClose.push({ stores })
      await admin.models.put({ id: 'acme/fast', prices: { input: '0.15', output: '0.60' } })
      const route = JSON.parse(withTestAddresses(checked('route').text)) as RouteRequest
      await admin.routes.put({ ...route, secret: upstreamKey })
    })

    const postJson = (url: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })

    it('has models and routes that the stores accept', async () => {
      const shown = (name: string) =>
        blocks.filter(({ directives }) => directives.check === name).map(({ text }) => JSON.parse(text))
      for (const model of shown('models').flat() as ModelRequest[]) {
        expect(await admin.models.put(model)).toBe(true)
        await admin.models.remove(model.id)
      }
      for (const route of shown('route') as RouteRequest[]) {
        const id = `${route.id}-as-shown`
        expect(await admin.routes.put({ ...route, id, secret: upstreamKey })).toBe(true)
        await admin.routes.remove(id)
      }
    })

    it('streams and charges a call on Lambda', async () => {
      vi.stubGlobal('awslambda', {
        streamifyResponse: (run: unknown) => run,
        HttpResponseStream: { from: (stream: PassThrough, head: object) => Object.assign(stream, head) },
      })
      const { main } = (await importBlock('lambda')) as { main: LambdaHandler }
      await admin.accounts.credit({ account: 'lambda', amount: '1' })
      const { token } = await admin.keys.issue({ account: 'lambda' })
      const event = {
        rawPath: '/compat/v1/chat/completions',
        rawQueryString: '',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        requestContext: { http: { method: 'POST' }, domainName: 'lambda.example' },
        body: JSON.stringify({
          model: 'acme/fast',
          stream: true,
          messages: [{ role: 'user', content: 'Hello!' }],
        }),
      }
      const replied = new PassThrough()
      const pieces: Buffer[] = []
      replied.on('data', (piece: Buffer) => void pieces.push(piece))
      await Promise.all([main(event, replied, {}), once(replied, 'end')])
      vi.unstubAllGlobals()
      expect(replied).toMatchObject({
        statusCode: 200,
        headers: { 'content-type': 'text/event-stream; charset=utf-8' },
      })
      expect(pieces.length).toBeGreaterThan(1)
      const [, cost] = /"cost":([\d.e-]+)/.exec(Buffer.concat(pieces).toString())!
      const { posted } = (await admin.accounts.balance('lambda'))!
      expect(posted).toBe(parseCredits('1') - parseCredits(Number(cost).toFixed(9)))
    })

    it('opens an account at sign-up, with a key that works once the account has credit', async () => {
      const base = await serve('users')
      const signUp = async () => (await postJson(`${base}/sign-up`, { email: 'ann@acme.example' })).json()
      const { account, token } = (await signUp()) as { account: string; token: string }
      expect((await complete(base, 'acme/fast', token)).status).toBe(402)
      await admin.accounts.credit({ account, amount: '1' })
      expect((await complete(base, 'acme/fast', token)).status).toBe(200)
      expect(await signUp()).toEqual({ error: 'no address, or one that is taken' })
    })

    it('opens one account for a hundred sign-ups with one address at once, and limits their number', async () => {
      const base = await serve('users')
      const statuses = await Promise.all(
        Array.from(
          { length: 100 },
          async () => (await postJson(`${base}/sign-up`, { email: 'race@acme.example' })).status,
        ),
      )
      expect(statuses.filter((status) => status === 201)).toHaveLength(1)
      expect(statuses.filter((status) => status === 429)).toHaveLength(70)
    })

    it('leaves an address free if its account cannot be opened, and says nothing about the fault', async () => {
      const suffix = `
        let isBroken = true
        const { open } = admin.accounts
        Object.assign(admin, { accounts: { ...admin.accounts, open: async (account: string) => {
          if (isBroken) throw new Error('The database at 10.0.0.7 is away')
          await open(account)
        } } })
        app.get('/mend', (_req, res) => { isBroken = false; res.end() })`
      const base = await serve('users', suffix)
      const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
      const signUp = () => postJson(`${base}/sign-up`, { email: 'gus@acme.example' })
      const failed = await signUp()
      expect([failed.status, await failed.json()]).toEqual([500, { error: 'something went wrong' }])
      expect(printed).toHaveBeenCalledWith(
        expect.objectContaining({ message: expect.stringContaining('10.0.0.7') }),
      )
      await fetch(`${base}/mend`)
      expect((await signUp()).status).toBe(201)
    })

    it.each([
      ...[undefined, 5, ['bea@acme.example'], 'bea', 'ANN@acme.example'],
      ...['b\0a@acme.example', '\u001b[31m@acme.example', 'b\u202ea@acme.example', 'b\ud800@acme.example'],
    ])('opens no account for an invalid address, or for a known one in capitals: %j', async (email) => {
      const base = await serve('users')
      expect((await postJson(`${base}/sign-up`, { email: 'ann@acme.example' })).status).toBe(201)
      expect((await postJson(`${base}/sign-up`, { email })).status).toBe(400)
    })

    it('streams in a page with a session token', async () => {
      await admin.accounts.open('alice')
      await admin.accounts.credit({ account: 'alice', amount: '1' })
      const before = (await admin.accounts.balance('alice'))!.posted
      const base = await serve('sessions', "sessions.set('1', { account: 'alice', label: 'login-1' })")
      const send = globalThis.fetch
      // As the browser of a page at the host's origin does.
      const asPage: typeof fetch = (input, init = {}) => {
        const headers = new Headers(init.headers)
        if (init.credentials === 'same-origin') {
          headers.set('cookie', 'sid=1')
          headers.set('sec-fetch-site', 'same-origin')
        } else headers.set('origin', 'https://app.example')
        return send(new URL(String(input), base), { ...init, headers })
      }
      vi.spyOn(globalThis, 'fetch').mockImplementation(asPage)
      const pieces = await logged('page', base)
      expect(pieces.join('').length).toBeGreaterThan(0)
      await expect.poll(async () => (await admin.accounts.balance('alice'))!.held).toBe(0n)
      expect((await admin.accounts.balance('alice'))!.posted).toBeLessThan(before)
    })

    it('accepts tokens of an identity server beside keys', async () => {
      const key = await newKey('one')
      const set = await startKeySet(key)
      identityUrl = set.url
      const base = await serve('identity')
      const seconds = Math.floor(Date.now() / 1_000)
      const times = { iat: seconds, exp: seconds + 300 }
      const account = 'user-user-1'
      await admin.accounts.credit({ account, amount: '1' })
      const before = (await admin.accounts.balance(account))!.posted
      const scope = 'openid models.run'
      const good = await sign(key, claims({ ...times, scope }))
      expect((await complete(base, 'acme/fast', good)).status).toBe(200)
      expect((await admin.accounts.balance(account))!.posted).toBeLessThan(before)
      expect((await admin.accounts.balance('notes-earnings'))!.posted).toBeGreaterThan(0n)
      const { token } = await admin.keys.issue({ account })
      expect((await complete(base, 'acme/fast', token)).status).toBe(200)
      for (const [more, status] of [
        [{ client_id: 'unknown' }, 401],
        [{ client_id: '__proto__' }, 401],
        [{ sub: 'ann\n' }, 401],
        [{ scope: undefined }, 403],
        [{ scope: 'openid models.runner' }, 403],
        [{ sub: 'platform' }, 402],
        [{ sub: 'notes-earnings' }, 402],
      ] as const) {
        const other = await sign(key, claims({ ...times, scope, ...more }))
        const answer = await complete(base, 'acme/fast', other)
        expect([more, answer.status]).toEqual([more, status])
      }
      await set.server.close()
    })

    it('accepts tokens that an identity server vouches for', async () => {
      vi.stubEnv('INTROSPECTION_SECRET', 'for the blocks')
      const seconds = Math.floor(Date.now() / 1_000)
      const good = { client_id: 'notes-desktop', scope: 'openid models.run', exp: seconds + 300 }
      const others: Record<string, object> = {
        'of-another-client': { client_id: 'notes' },
        'of-no-client': { client_id: undefined },
        'of-another-scope': { scope: 'openid' },
        'of-no-scope': { scope: undefined },
        'of-a-name-with-a-line-feed': { sub: 'ann\n' },
        'of-nobody': { sub: '' },
      }
      const server = await startServer((_, res, body) =>
        json(res, {
          active: true,
          ...claims({ ...good, ...others[new URLSearchParams(body).get('token')!] }),
        }),
      )
      identityUrl = server.url
      const base = await serve('introspection')
      await admin.accounts.credit({ account: 'user-user-1', amount: '1' })
      expect((await complete(base, 'acme/fast', 'opaque-1')).status).toBe(200)
      const { token } = await admin.keys.issue({ account: 'user-user-1' })
      expect((await complete(base, 'acme/fast', token)).status).toBe(200)
      expect(server.requests).toHaveLength(1)
      for (const other of Object.keys(others)) {
        expect([other, (await complete(base, 'acme/fast', other)).status]).toEqual([other, 401])
      }
      await server.close()
    })

    it('issues a key that expires', async () => {
      const [token] = (await logged('short-key')) as [string]
      expect(token).toMatch(/^sk-/)
      const [key] = await admin.keys.list({ account: 'alice', limit: 1 })
      expect(key!.expiresAt).toBeGreaterThan(Date.now())
    })

    it('posts a payment once, takes a refund back, and refuses a wrong signature', async () => {
      vi.stubEnv('STRIPE_SECRET_KEY', 'sk_test_for_the_blocks')
      vi.stubEnv('STRIPE_WEBHOOK_SECRET', 'whsec_for_the_blocks')
      const url = `${await serve('top-ups')}/stripe`
      const deliver = (event: object, secret = 'whsec_for_the_blocks') => {
        const payload = JSON.stringify({ id: 'evt_1', object: 'event', ...event })
        const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret })
        return postJson(url, JSON.parse(payload), { 'stripe-signature': signature })
      }
      const paid = {
        type: 'checkout.session.completed',
        data: {
          object: {
            id: 'cs_1',
            mode: 'payment',
            payment_status: 'paid',
            metadata: { account: 'buyer' },
            amount_total: 2999,
            currency: 'usd',
          },
        },
      }
      const refunded = (amount: number, before?: number) => ({
        type: 'charge.refunded',
        data: {
          object: { id: 'ch_1', metadata: { account: 'buyer' }, amount_refunded: amount, currency: 'usd' },
          previous_attributes: { amount_refunded: before ?? 0 },
        },
      })
      const balance = async () => (await admin.accounts.balance('buyer'))?.posted
      expect((await deliver(paid, 'whsec_of_somebody_else')).status).toBe(400)
      expect(await balance()).toBeUndefined()
      for (const event of [paid, paid]) expect((await deliver(event)).status).toBe(200)
      expect(await balance()).toBe(parseCredits('29.99'))
      for (const event of [refunded(500), refunded(500)]) expect((await deliver(event)).status).toBe(200)
      expect(await balance()).toBe(parseCredits('24.99'))
      expect((await deliver(refunded(2999, 500))).status).toBe(200)
      expect(await balance()).toBe(0n)
      const later = (type: string, payment_status: string) =>
        deliver({ type, data: { object: { ...paid.data.object, id: 'cs_2', payment_status } } })
      expect((await later('checkout.session.completed', 'unpaid')).status).toBe(200)
      expect(await balance()).toBe(0n)
      expect((await later('checkout.session.async_payment_succeeded', 'paid')).status).toBe(200)
      expect(await balance()).toBe(parseCredits('29.99'))
    })

    it('leaves payments and refunds of something else, of a subscription or of nothing alone', async () => {
      vi.stubEnv('STRIPE_SECRET_KEY', 'sk_test_for_the_blocks')
      vi.stubEnv('STRIPE_WEBHOOK_SECRET', 'whsec_for_the_blocks')
      const url = `${await serve('top-ups')}/stripe`
      const topUp = {
        mode: 'payment',
        payment_status: 'paid',
        metadata: { account: 'passer' },
        amount_total: 1000,
        currency: 'usd',
      }
      for (const [type, object] of [
        [
          'checkout.session.completed',
          {
            id: 'cs_3',
            mode: 'payment',
            payment_status: 'paid',
            metadata: null,
            amount_total: 100,
            currency: 'eur',
          },
        ],
        ['checkout.session.completed', { ...topUp, id: 'cs_4', amount_total: 0 }],
        // Anybody can add ?client_reference_id=… to the address of a payment link.
        ['checkout.session.completed', { ...topUp, id: 'cs_6', metadata: {}, client_reference_id: 'passer' }],
        // A plan's credits come from its invoices.
        ['checkout.session.completed', { ...topUp, id: 'cs_7', mode: 'subscription' }],
        ['checkout.session.async_payment_succeeded', { ...topUp, id: 'cs_8', mode: 'subscription' }],
        ['checkout.session.completed', { ...topUp, id: 'cs_9', mode: 'setup' }],
        ['charge.refunded', { id: 'ch_3', metadata: {}, amount_refunded: 100 }],
        ['charge.refunded', { id: 'ch_4', metadata: { account: 'passer' }, amount_refunded: 0 }],
      ]) {
        const event = { id: 'evt_3', object: 'event', type, data: { object } }
        const payload = JSON.stringify(event)
        const signature = Stripe.webhooks.generateTestHeaderString({
          payload,
          secret: 'whsec_for_the_blocks',
        })
        expect((await postJson(url, event, { 'stripe-signature': signature })).status).toBe(200)
      }
      expect(await admin.accounts.balance('passer')).toBeUndefined()
    })

    it('posts nothing for a payment or a refund in a currency without a price, and has Stripe repeat it', async () => {
      vi.stubEnv('STRIPE_SECRET_KEY', 'sk_test_for_the_blocks')
      vi.stubEnv('STRIPE_WEBHOOK_SECRET', 'whsec_for_the_blocks')
      const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
      const url = `${await serve('top-ups')}/stripe`
      for (const currency of ['krw', 'USD', '', null, undefined]) {
        for (const [type, object] of [
          [
            'checkout.session.completed',
            {
              id: 'cs_5',
              mode: 'payment',
              payment_status: 'paid',
              metadata: { account: 'seoul' },
              amount_total: 15_000,
            },
          ],
          ['charge.refunded', { id: 'ch_5', metadata: { account: 'seoul' }, amount_refunded: 15_000 }],
        ] as const) {
          const event = { id: 'evt_5', object: 'event', type, data: { object: { ...object, currency } } }
          const payload = JSON.stringify(event)
          const secret = 'whsec_for_the_blocks'
          const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret })
          expect((await postJson(url, event, { 'stripe-signature': signature })).status).toBe(500)
        }
      }
      expect(printed).toHaveBeenCalledTimes(10)
      expect(await admin.accounts.balance('seoul')).toBeUndefined()
    })

    it('lists, creates and revokes the keys of one user only', async () => {
      const base = await serveTo(['ben', 'cleo'], 'keys-page')
      await admin.accounts.credit({ account: 'ben', amount: '2' })
      await admin.accounts.open('cleo')
      const as = cookieOf
      const made = (await (await postJson(`${base}/keys`, { label: 'laptop' }, as('ben'))).json()) as {
        credentialId: string
        token: string
      }
      const list = async (user: string) =>
        (await (await fetch(`${base}/keys`, { headers: as(user) })).json()) as Record<string, unknown>[]
      expect(await list('ben')).toMatchObject([{ credentialId: made.credentialId, label: 'laptop' }])
      expect(JSON.stringify(await list('ben'))).not.toContain(made.token)
      expect(await list('cleo')).toEqual([])
      const remove = async (user: string) =>
        (await fetch(`${base}/keys/${made.credentialId}`, { method: 'DELETE', headers: as(user) })).status
      expect(await remove('cleo')).toBe(404)
      expect(await list('ben')).toHaveLength(1)
      expect(await remove('ben')).toBe(204)
      expect(await list('ben')).toEqual([])
      expect(await (await fetch(`${base}/balance`, { headers: as('ben') })).json()).toEqual({
        available: '2',
      })
    })

    const ask = (base: string, route: string, { body = '{}', ...headers }: Record<string, string> = {}) => {
      const [method, path] = route.split(' ') as [string, string]
      return fetch(base + path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(method !== 'GET' && { body }),
      })
    }

    it.each(['keys-page', 'connected-apps', 'amounts'])(
      'answers 401 to everybody without a session, whatever a header or another cookie says: %s',
      async (name) => {
        const base = await serveTo(['ben'], name)
        const [, routes] = recipes.find(([recipe]) => recipe === name)!
        expect(routes).not.toEqual([])
        for (const route of routes) {
          for (const headers of strangers) {
            const { status } = await ask(base, route, headers)
            expect([route, headers, status]).toEqual([route, headers, 401])
          }
        }
      },
    )

    it.each(['keys-page', 'connected-apps', 'amounts', 'sessions'])(
      'says nothing to anybody about a fault of its sessions: %s',
      async (name) => {
        const fault = "sessions.get = () => { throw new Error('The database at 10.0.0.7 is away') }"
        const base = await serve(name, fault)
        vi.spyOn(console, 'error').mockImplementation(() => {})
        const [, routes] = recipes.find(([recipe]) => recipe === name)!
        for (const route of routes) {
          const reply = await ask(base, route, { 'sec-fetch-site': 'same-origin' })
          expect([route, reply.status, await reply.json()]).toEqual([
            route,
            500,
            { error: 'something went wrong' },
          ])
        }
        expect(console.error).toHaveBeenCalledTimes(routes.length)
      },
    )

    it.each(recipes)(
      'refuses strangers at all routes but the public ones, and shows nobody a stack trace: %s',
      async (name, routes) => {
        vi.stubEnv('STRIPE_SECRET_KEY', 'sk_test_for_the_blocks')
        vi.stubEnv('STRIPE_WEBHOOK_SECRET', 'whsec_for_the_blocks')
        vi.stubEnv('INTROSPECTION_SECRET', 'for the blocks')
        vi.stubEnv('CONNECT_SECRET', 's'.repeat(32))
        for (const method of ['log', 'info', 'warn', 'error'] as const) {
          vi.spyOn(console, method).mockImplementation(() => {})
        }
        const base = await serve(name, '', name === 'telemetry' ? 2 : 1)
        for (const route of routes) {
          const { status } = await ask(base, route)
          if (publicRoutes.includes(route)) expect([route, status]).toEqual([route, 200])
          else expect([route, [400, 401, 403].includes(status)]).toEqual([route, true])
        }
        const router = ['POST /compat/v1/chat/completions', 'GET /compat/v1/models/%']
        for (const route of [...routes, ...routes.map((route) => `${route}/%`), ...router]) {
          for (const odd of oddRequests) {
            const reply = await ask(base, route, odd)
            const text = await reply.text()
            expect([route, odd, reply.status < 500, TRACE.test(text)]).toEqual([route, odd, true, false])
          }
        }
      },
    )

    it.each([
      ['keys-page', 'POST /keys', { label: 5 }, 400],
      ['keys-page', 'POST /keys', { labell: 'laptop' }, 400],
      ['keys-page', 'POST /keys', [], 400],
      ['keys-page', 'DELETE /keys/%', {}, 400],
      ['keys-page', 'POST /keys', '{', 400],
      ['keys-page', 'DELETE /keys/%00', {}, 400],
      ['keys-page', 'DELETE /keys/another', {}, 404],
      ['connected-apps', 'PUT /apps/another/cap', { amount: '5' }, 404],
      ['connected-apps', 'PUT /apps/another/cap', { amount: { $gt: 0 } }, 400],
      ['connected-apps', 'PUT /apps/another/cap', { amount: { toString: 5 } }, 400],
      ['connected-apps', 'PUT /apps/another/cap', { amount: ['5'] }, 400],
      ['connected-apps', 'PUT /apps/%/cap', { amount: '5' }, 400],
      ['connected-apps', 'DELETE /apps/another', {}, 404],
      ['connected-apps', 'DELETE /apps/%00', {}, 400],
    ])("refuses a user's mistakes and forbidden changes: %s, %s", async (name, route, body, status) => {
      const base = await serveTo(['ben'], name)
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      expect((await ask(base, route, { ...cookieOf('ben'), body: text })).status).toBe(status)
    })

    it('lets a user make 200 keys within an hour, however many are revoked, and others go on', async () => {
      const base = await serveTo(['gil', 'hal'], 'keys-page')
      const make = async (user: string) =>
        (await postJson(`${base}/keys`, { label: 'loop' }, cookieOf(user))).status
      const made = await Promise.all(Array.from({ length: 200 }, () => make('gil')))
      expect(made).not.toContain(429)
      for (const { credentialId } of await admin.keys.list({ account: 'gil', inUse: true })) {
        await admin.keys.revoke(credentialId)
      }
      expect(await make('gil')).toBe(429)
      expect(await make('hal')).toBe(201)
    })

    it('creates no key for a form of another site', async () => {
      const base = await serveTo(['frank'], 'keys-page')
      const headers = { ...cookieOf('frank'), 'sec-fetch-site': 'cross-site' }
      for (const body of [new URLSearchParams({ label: 'x' }), '{"label":"x"}', new FormData()]) {
        expect((await fetch(`${base}/keys`, { method: 'POST', headers, body })).status).toBe(400)
      }
      expect(await (await fetch(`${base}/keys`, { headers })).json()).toEqual([])
    })

    it('answers with amounts as decimal strings, and with null without an account', async () => {
      const base = await serveTo(['nobody', 'alice'], 'amounts')
      const none = await fetch(`${base}/balance`, { headers: cookieOf('nobody') })
      expect(await none.json()).toBeNull()
      await admin.accounts.credit({ account: 'alice', amount: '1', reference: 'for the amounts' })
      const balance = (await (
        await fetch(`${base}/balance`, { headers: cookieOf('alice') })
      ).json()) as Record<string, string>
      expect(parseCredits(balance.available!)).toBe((await admin.accounts.balance('alice'))!.available)
    })

    it('registers an app, and lets users see, cap and revoke only their own connected apps', async () => {
      await importBlock('connect-app')
      const terms = { scopes: ['models.run'], models: ['acme/fast'], markup: { basisPoints: 2_000 } }
      const shown = { appName: 'Notes', redirectHost: 'notes.example' }
      const connected = await stores.connect.consent({ account: 'ben', appId: 'notes', ...terms, ...shown })
      const base = await serveTo(['ben', 'cleo'], 'connected-apps')
      const ask = (path: string, user: string, method = 'GET', body?: object) =>
        fetch(`${base}/apps${path}`, {
          method,
          headers: { ...cookieOf(user), 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        })
      const id = connected!.connectedAppId
      expect((await ask(`/${id}/cap`, 'ben', 'PUT', { amount: '5' })).status).toBe(204)
      expect((await ask(`/${id}/cap`, 'cleo', 'PUT', { amount: '500' })).status).toBe(404)
      expect(await (await ask('', 'ben')).json()).toEqual([
        { id, appName: 'Notes', models: ['acme/fast'], devices: [], spent: '0', cap: '5 per month' },
      ])
      expect(await (await ask('', 'cleo')).json()).toEqual([])
      expect((await ask(`/${id}`, 'cleo', 'DELETE')).status).toBe(404)
      expect((await ask(`/${id}`, 'ben', 'DELETE')).status).toBe(204)
      expect(await (await ask('', 'ben')).json()).toEqual([])
    })

    it('connects an app to a host, with an OAuth client from npm', async () => {
      await importBlock('connect-app')
      const origin = `http://127.0.0.1:${await freePort()}`
      vi.stubEnv('CONNECT_SECRET', 's'.repeat(32))
      const { port } = new URL(origin)
      const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
        open.push(this)
        return listen.call(this, { port: Number(port), host: '127.0.0.1' })
      })
      await importBlock('connect-host', origin, "sessions.set('1', { account: 'alice', name: 'Alice' })")
      spy.mockRestore()
      await admin.accounts.credit({ account: 'alice', amount: '1' })
      const client = (await importBlock('connect-client', origin)) as {
        begin(): Promise<{ link: URL; verifier: string; state: string }>
        finish(callback: URL, verifier: string, state: string): Promise<OpenAI>
      }
      const { link, state, verifier } = await client.begin()
      const agent = new UserAgent(origin)
      expect((await agent.visit(link.href)).headers.get('location')).toContain(
        '/login?to=%2Fconnect%2Fauthorize',
      )
      agent.cookies.push({ name: 'sid', path: '/', value: '1' })
      const place = { origin, issuer: `${origin}/connect`, routerUrl: `${origin}/compat/v1` }
      const page = await openPage(agent, link.href)
      expect(page.text).toContain('Signed in as Alice')
      const answered = await submit(agent, place, page)
      const openai = await client.finish(new URL(answered.headers.get('location')!), verifier, state)
      const reply = await openai.chat.completions.create({
        model: 'acme/fast',
        messages: [{ role: 'user', content: 'Hi' }],
      })
      expect(reply.choices[0]?.message.content).toBeTruthy()
    })

    it('has plans that post once, expire what is left, and give members of a team a budget', async () => {
      const plans = (await importBlock('plans')) as {
        freeCredit(account: string, month: string): Promise<void>
        renewPlan(account: string, invoice: string, amount: string): Promise<void>
        expire(account: string, amount: string, postedAt: number, reference: string): Promise<void>
        addMember(team: string, member: string, budget: string): Promise<{ token: string }>
      }
      const posted = async () => (await admin.accounts.balance('planned'))!.posted
      const before = Date.now()
      for (const month of ['2026-11', '2026-11', '2026-12']) await plans.freeCredit('planned', month)
      for (const invoice of ['in_1', 'in_1']) await plans.renewPlan('planned', invoice, '20')
      expect(await posted()).toBe(parseCredits('22'))

      const { token } = await plans.addMember('planned', 'Ann', '0.000001')
      const base = await serve('durable')
      expect((await complete(base, 'acme/fast', token)).status).toBe(402)
      const { token: other } = await plans.addMember('planned', 'Ben', '5')
      const { cost } = (await complete(base, 'acme/fast', other)).body.usage!
      await expect.poll(async () => (await admin.accounts.balance('planned'))!.held).toBe(0n)
      const spent = parseCredits(cost.toFixed(9))

      for (const _ of [1, 2]) await plans.expire('planned', '20', before, 'in_1')
      expect(await posted()).toBe(parseCredits('2'))
      await plans.expire('planned', '0.00000001', before, 'used')
      expect(await posted()).toBe(parseCredits('2'))
      await plans.expire('planned', '1000', before, 'more than there is')
      expect([await posted(), spent > 0n]).toEqual([0n, true])
    })

    it('takes back credits that expire from each account, also those that a call in flight holds', async () => {
      const { expire } = (await importBlock('plans')) as {
        expire(account: string, amount: string, postedAt: number, reference: string): Promise<void>
      }
      const before = Date.now()
      const users = ['expiring-1', 'expiring-2']
      for (const account of users) await admin.accounts.credit({ account, amount: '20' })
      const hold = createHold('expiring-2', parseCredits('19'))
      await stores.ledger.hold(hold, context)
      for (const account of users) await expire(account, '20', before, '2026-11')
      await stores.ledger.release(hold, context)
      for (const account of users) {
        expect(await admin.accounts.balance(account)).toMatchObject({ posted: 0n, held: 0n })
      }
    })

    it('takes back free credit that a user has paid to itself, through the markup of its own app', async () => {
      const { expire, freeCredit } = (await importBlock('plans')) as {
        freeCredit(account: string, month: string): Promise<void>
        expire(account: string, amount: string, postedAt: number, reference: string): Promise<void>
      }
      const before = Date.now()
      await freeCredit('publisher', '2026-11')
      await admin.userApps.put('publisher', {
        id: 'own-app',
        name: 'Own app',
        redirectUris: ['https://own.example/callback'],
        allowedModels: ['acme/fast'],
        markup: { basisPoints: 0, flat: '0.9' },
      })
      const { token } = await admin.keys.issueToken({
        account: 'publisher',
        appId: 'own-app',
        scopes: ['models.run'],
      })
      const base = await serve('durable')
      const { usage } = (await complete(base, 'acme/fast', token)).body
      expect(usage!.charge.markup_cost).toBe(0.9)
      await expect.poll(async () => (await admin.accounts.balance('publisher'))!.held).toBe(0n)
      const { posted } = (await admin.accounts.balance('publisher'))!
      expect(posted).toBe(parseCredits('1') - parseCredits(usage!.charge.base_cost.toFixed(9)))
      await expire('publisher', '1', before, '2026-11')
      expect((await admin.accounts.balance('publisher'))!.posted).toBe(0n)
    })

    it('takes nothing that was paid after credits had expired from an empty account', async () => {
      const { expire } = (await importBlock('plans')) as {
        expire(account: string, amount: string, postedAt: number, reference: string): Promise<void>
      }
      const before = Date.now()
      const smallest = 1n
      for (const [account, taken] of [
        ['emptied', '-1'],
        ['in-debt', '-3'],
      ] as const) {
        const posted = async () => (await admin.accounts.balance(account))!.posted
        await admin.accounts.credit({ account, amount: '1' })
        await admin.accounts.correct({ account, amount: taken })
        const left = await posted()
        for (const _ of [1, 2]) await expire(account, '1', before, '2026-11')
        expect(await posted()).toBe(left + smallest)
        await admin.accounts.credit({ account, amount: '5' })
        await expire(account, '1', before, '2026-11')
        expect(await posted()).toBe(left + smallest + parseCredits('5'))
      }
      await expire('no-such-account', '1', before, '2026-11')
      expect(await admin.accounts.balance('no-such-account')).toBeUndefined()
    })

    it('warns of a low balance once', async () => {
      const base = await serve('alerts')
      await admin.accounts.credit({ account: 'dora', amount: '0.5' })
      const { token } = await admin.keys.issue({ account: 'dora' })
      vi.spyOn(console, 'info').mockImplementation(() => {})
      const printed = new Promise((done) => vi.spyOn(console, 'log').mockImplementation(done))
      await complete(base, 'acme/fast', token)
      expect(await printed).toMatch(/^dora has 0\.4999\d+ credits left$/)
    })
  })

  it('has a route to OpenRouter that completes', async () => {
    vi.stubEnv('OPENROUTER_API_KEY', upstreamKey)
    const { providers } = (await importBlock('openrouter-route', undefined, 'export { providers }')) as {
      providers: ProviderRegistry
    }
    const catalogue = memoryCatalogue([{ id: 'acme/smart', prices: { input: '3', output: '15' } }])
    const reply = await complete(await serveWith({ providers, catalogue }), 'acme/smart')
    expect(reply.body.usage!.cost).toBeGreaterThan(0)
  })

  it('charges a repeat with the same idempotency key once', async () => {
    const [first, repeat] = [JSON.parse(await shell('idempotency')), JSON.parse(await shell('idempotency'))]
    expect(repeat).toEqual(first)
  })

  it('keeps everything in PostgreSQL', async () => {
    const database = await createTestDatabase()
    vi.stubEnv('DATABASE_URL', database.url)
    const { stores, pool } = (await importBlock('postgres')) as {
      stores: DurableStores
      pool: { end(): Promise<void> }
    }
    await createAdmin(stores).accounts.credit({ account: 'alice', amount: '1' })
    expect((await createAdmin(stores).accounts.balance('alice'))!.posted).toBe(parseCredits('1'))
    await stores.close()
    await pool.end()
    await database.drop()
  })

  it('has commands that work', async () => {
    const file = join(folder, 'cli.db')
    await askDatabases(inject('databases'), '/worker')
    const written: string[] = []
    const write = (text: string) => written.push(text)
    for (const line of block('run', 'cli').text.trim().split('\n')) {
      const [npx, name, ...args] = line.split(' ')
      expect([npx, name]).toEqual(['npx', packageJson.name])
      const surroundings = {
        env: { COMPAT_ROUTER_FILE: file },
        stdin: Readable.from([]),
        write,
        writeError: write,
      }
      expect([line, await runCli(args, surroundings)]).toEqual([line, 0])
    }
    expect(written.join('')).toMatch(/ sk-/)
  })

  it("seals a caller's key that the router can open, and charges nothing for its use", async () => {
    const base = await serve('keyring')
    const [usage] = (await logged('seal', base)) as [Reply['usage']]
    expect(usage).toMatchObject({ is_byok: true, cost: 0 })
  })

  it('starts and stops a provider for tests', async () => {
    expect(await importBlock('stand-in')).toBeDefined()
  })

  it('makes a secret key of 32 bytes', async () => {
    const [npx, name, ...args] = checked('secret').text.trim().split(' ')
    expect([npx, name]).toEqual(['npx', packageJson.name])
    let printed = ''
    const surroundings = { env: {}, stdin: Readable.from([]), writeError: () => {} }
    await runCli(args, { ...surroundings, write: (text) => (printed += text) })
    expect(printed.trim()).toMatch(/^[0-9a-f]{64}$/)
  })

  it('says how to run the demo, with and without a database', () => {
    const demos = blocks.filter(({ directives }) => directives.check === 'demo')
    expect(demos.map(({ document }) => document)).toEqual(['README.md', 'docs/try.md'])
    const commands = ['', '-p compat-router -p libsql '].map((more) => `npx ${more}compat-router demo`)
    for (const { text } of demos) expect(text.trim().split('\n')).toEqual(commands)
  })

  it("runs the published ledger cases with Node's test runner", async () => {
    const file = join(folder, 'cases.ts')
    await writeFile(file, withPrelude(block('run', 'cases')))
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: root })
    const passed = Number(/^(?:#|ℹ) pass (\d+)$/mu.exec(stdout)?.[1])
    expect(passed).toBe(ledgerCases.length)
  })

  async function serveWith(overrides: Record<string, unknown>): Promise<string> {
    const { options } = (await import(join(folder, 'options.mts'))) as {
      options: Parameters<typeof createCompatRouter>[0]
    }
    const router = createCompatRouter({ ...options, ...overrides, basePath: '/compat/v1' })
    const server = createServer((req, res) => router(req, res))
    open.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
})

describe('a TypeScript code block of the documents', () => {
  it('compiles under strict, and the tables of the documents name every option and event', {
    timeout: 240_000,
  }, async () => {
    const names = (document: string, heading: string) =>
      tableUnder(read(document), heading).flatMap(([name]) => codeSpans(name!))
    const keys = (list: string[]) => list.map((name) => `'${name}': true`).join(', ')
    await writeFile(
      join(folder, 'tables.ts'),
      `import type { RouterEvent, StoredRouterOptions } from 'compat-router'
       export const options: Record<keyof StoredRouterOptions, true> = { ${keys(names('docs/options.md', 'Options'))} }
       export const events: Record<RouterEvent['type'], true> = { ${keys(names('docs/events.md', 'All events'))} }\n`,
    )
    const files = [join(folder, 'tables.ts')]
    for (const found of blocks.filter(({ directives, language }) => directives.run && language === 'ts')) {
      const file = join(folder, `compiled-${found.directives.run}.ts`)
      await writeFile(file, withPrelude(found))
      files.push(file)
    }
    expect(compileErrors(files)).toEqual([])
  })
})

describe('a JavaScript code block of the documents', () => {
  it('is TypeScript too, as which it compiles', { timeout: 240_000 }, async () => {
    const files: string[] = []
    const variables = new Set<string>()
    for (const found of blocks.filter(({ text }) => /^\/\/ [\w-]+\.mjs\n/.test(text))) {
      const file = join(folder, `compiled-${found.directives.run}.ts`)
      await writeFile(file, withPrelude(found))
      files.push(file)
      for (const [, name] of found.text.matchAll(/process\.env\.(\w+)/g)) variables.add(name!)
    }
    // They take it as given that their variables are set, and say no types.
    const set = join(folder, 'variables.d.ts')
    await writeFile(
      set,
      `declare namespace NodeJS { interface ProcessEnv { ${[...variables].map((name) => `${name}: string`).join('; ')} } }`,
    )
    const untyped = { noImplicitAny: false, useUnknownInCatchVariables: false }
    expect(compileErrors([...files, set], untyped)).toEqual([])
  })
})

function compileErrors(files: string[], more: ts.CompilerOptions = {}): string[] {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root)
  const program = ts.createProgram(files, { ...options, ...more, noUnusedLocals: false })
  // Other checks cover the files that these import.
  return files
    .flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)))
    .map((diagnostic) => {
      const text = ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')
      return `${diagnostic.file?.fileName.slice(folder.length + 1)}: ${text}`
    })
}
