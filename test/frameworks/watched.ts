import { type App, startWorker, workerBuild, workerFiles } from './apps.js'

/** How a handler is, as its application tells at `/handle`. */
export interface Handle {
  readonly inFlight: number
  readonly openHolds: number
  /** The timers that its clock has set. */
  readonly timers: number
  /** The cost of each request that has ended, by its id. */
  readonly costs: Readonly<Record<string, number>>
  /** The accounts of the holds that have expired. */
  readonly expired: readonly string[]
}

/** Counts the pieces of a reply, each of which has one `#`, and its timers. */
const OPTIONS = `
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders, openaiCompatible } from 'compat-router'
let shiftMs = 0
export const state = { timers: 0, costs: {}, expired: [], later() { shiftMs = 3_600_000 } }
const clock = {
  now: () => Date.now() + shiftMs,
  after(ms, run) {
    let isSet = true
    const end = () => { if (isSet) state.timers--; isSet = false }
    const timer = setTimeout(() => { end(); run() }, ms)
    state.timers++
    return () => { end(); clearTimeout(timer) }
  },
}
function tally() {
  let marks = 0
  return { add(text) { marks += text.split('#').length - 1 }, atMost: () => marks, atLeast: () => marks }
}
const adapter = openaiCompatible({ baseUrl: process.env.UPSTREAM, apiKey: 'sk-upstream' })
export const options = {
  credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
  catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1000000', output: '2000000' } }]),
  ledger: memoryLedger({ alice: '1000000000' }, { clock }),
  providers: memoryProviders([{ id: 'p', models: { 'acme/fast': 'm' }, adapter, onDisconnect: 'abort' }]),
  tokenCounter: { tally },
  timeouts: { totalMs: 20_000 },
  clock,
  onEvent(event) {
    if (event.type === 'hold-expired') state.expired.push(event.hold.account)
    if (event.type === 'request-end' && event.operation === 'chat') state.costs[event.requestId] = Number(event.charge?.cost ?? 0n) / 1e9
  },
}`

/** `/later` lets all holds expire, and sweeps. */
const WATCHED = `
import { createCompatHandler } from 'compat-router/fetch'
import { options, state } from './options.js'
const handler = createCompatHandler({ ...options, basePath: '/compat/v1' })
export async function answer(request, info) {
  const { pathname } = new URL(request.url)
  if (pathname === '/handle') return Response.json({ inFlight: handler.inFlight, openHolds: handler.openHolds, ...state })
  if (pathname === '/later') {
    state.later()
    return Response.json(await handler.sweep())
  }
  return handler(request, info)
}`

const watched = (title: string, more: Pick<App, 'lines' | 'package' | 'start'> & Partial<App>): App => ({
  name: `watched-${title.toLowerCase()}`,
  title,
  file: 'main.js',
  ...more,
  files: { ...more.files, 'options.js': OPTIONS, 'watched.js': WATCHED },
})

/** Applications that show their handler. */
export const WATCHED_APPS: readonly App[] = [
  watched('Node', {
    package: '@hono/node-server',
    lines: `
      import { serve } from '@hono/node-server'
      import { answer } from './watched.js'
      serve({ fetch: (request) => answer(request), port: Number(process.env.PORT), hostname: '127.0.0.1' })`,
    start: () => ['node', 'main.js'],
  }),
  watched('Bun', {
    package: 'bun',
    lines: `
      import { answer } from './watched.js'
      Bun.serve({ port: process.env.PORT, hostname: '127.0.0.1', idleTimeout: 60, fetch: (request) => answer(request) })`,
    start: () => ['bun', 'main.js'],
  }),
  watched('Deno', {
    package: 'deno',
    lines: `
      import { answer } from './watched.js'
      Deno.serve({ port: Number(process.env.PORT), hostname: '127.0.0.1' }, (request) => answer(request))`,
    files: { 'deno.json': '{ "nodeModulesDir": "manual" }' },
    start: () => ['deno', 'run', '--allow-all', 'main.js'],
  }),
  watched('Workers', {
    package: 'wrangler',
    lines: `
      import { answer } from './watched.js'
      export default {
        fetch: (request, _env, context) => answer(request, { waitUntil: (charged) => context.waitUntil(charged) }),
      }`,
    files: { ...workerFiles, 'wrangler.json': workerFiles['wrangler.json'].replace('main.ts', 'main.js') },
    build: workerBuild,
    start: startWorker,
  }),
]
