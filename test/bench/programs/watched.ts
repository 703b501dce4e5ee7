/**
 * The same router several times in one process, each with other listeners to its events. Two processes of one
 * build differ by more than the cost of listening.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Meter } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { CompatRouter, RouterOptions } from 'compat-router'
import type { Admin } from 'compat-router/admin'
import type { RouterSetup, WatchedName } from '../lib/messages.js'
import { MOUNT } from '../lib/names.js'
import { createRouter } from '../lib/router-under-test.js'
import { readSetup, serve } from '../lib/serve.js'

const setup = readSetup<RouterSetup>()
const load = (entry: string) => import(pathToFileURL(join(setup.dist, entry)).href)
const { createConsole }: typeof import('compat-router/console') = await load('console.js')
const { createTelemetry }: typeof import('compat-router/opentelemetry') = await load('opentelemetry.js')

const LISTENERS: Readonly<Record<WatchedName, () => RouterOptions['onEvent']>> = {
  unwatched: () => undefined,
  watched: () => listener({}),
  'watched-sdk': () => listener({ meter: prometheusMeter() }),
}

function prometheusMeter(): Meter {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  return new MeterProvider({ readers: [exporter] }).getMeter('bench')
}

/**
 * Passes events to a console and metrics, like a host. Without a meter, uses the one of an API without an
 * SDK.
 */
function listener(options: { meter?: Meter }): RouterOptions['onEvent'] {
  // Nobody looks at the pages here, so it gets no requests.
  const entries = { list: async () => ({ entries: [] }) } as Partial<Admin['entries']>
  const admin = { entries } as Partial<Admin> as Admin
  const pages = createConsole({ admin, authorise: () => undefined })
  const telemetry = createTelemetry({ tracer: false, ...options })
  return (event) => {
    pages.onEvent(event)
    telemetry.onEvent(event)
  }
}

const routers = new Map<string, CompatRouter>()
for (const [name, createListener] of Object.entries(LISTENERS)) {
  const onEvent = createListener()
  const { router } = await createRouter(setup, { basePath: `/${name}${MOUNT}`, ...(onEvent && { onEvent }) })
  routers.set(name, router)
}

const server = createServer((req, res) => {
  const router = routers.get(req.url!.slice(1, req.url!.indexOf('/', 1)))
  if (router === undefined) res.writeHead(404).end()
  else router(req, res)
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  serve({ port }, () => undefined)
})
