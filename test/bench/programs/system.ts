/** A system under test: the bare pipe, or the router in one kind of host. One process, one server. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { CompatRouter, LedgerStore, RouterOptions } from 'compat-router'
import type { Admin } from 'compat-router/admin'
import connect from 'connect'
import express from 'express'
import { takeInventory } from '../lib/inventory.js'
import type { SystemSetup } from '../lib/messages.js'
import { MODEL, MOUNT, modelOf, tokenOf, UPSTREAM_MODEL } from '../lib/names.js'
import { createPipe } from '../lib/pipe.js'
import { createRotatingLedger, type RotatingLedger } from '../lib/rotating-ledger.js'
import { readSetup, serve } from '../lib/serve.js'

const PLENTY = '1000000000'
const HOUR_MS = 3_600_000
/** Keys that calls are made with have a balance; the others only have to be found among. */
const PAYERS = 64

const setup = readSetup<SystemSetup>()
const warnings: string[] = []
process.on('warning', (warning) => {
  // Counting live objects is what is experimental.
  if (warning.name !== 'ExperimentalWarning') warnings.push(String(warning))
})

let router: CompatRouter | undefined
let rotating: RotatingLedger | undefined

async function createListener(): Promise<RequestListener> {
  if (setup.kind === 'pipe') return createPipe(`http://127.0.0.1:${setup.upstreamPort}/v1/chat/completions`)
  const mounted = await createRouter(setup.kind === 'http' || setup.kind === 'front')
  router = mounted
  switch (setup.kind) {
    case 'http':
      return (req, res) => mounted(req, res)
    case 'connect':
      return connect().use(MOUNT, mounted)
    case 'express':
      return express().use(MOUNT, mounted)
    case 'front': {
      const app = express()
      app.use((_req, res) => {
        res.status(418).send('the host itself')
      })
      return (req, res) => mounted(req, res, () => app(req, res))
    }
  }
}

async function createRouter(hasBasePath: boolean): Promise<CompatRouter> {
  const built = pathToFileURL(join(setup.dist, 'index.js')).href
  const {
    createCompatRouter,
    memoryCatalogue,
    memoryCredentials,
    memoryLedger,
    memoryProviders,
    openaiCompatible,
  } = (await import(built)) as typeof import('compat-router')
  const models = Array.from({ length: setup.models }, (_, number) => modelOf(number))
  const prices = { input: '0.15', output: '0.60', cachedInput: '0.075', request: '0.0001' }
  const credentials = memoryCredentials()
  for (let number = 0; number < setup.keys; number++) {
    credentials.put(tokenOf(number), { kind: 'api-key', account: `account-${number}` })
  }
  const payers = Array.from({ length: Math.min(PAYERS, setup.keys) }, (_, number) => `account-${number}`)
  const open = () =>
    memoryLedger(Object.fromEntries([...payers, 'holder'].map((account) => [account, PLENTY])))
  if (setup.ledger === 'rotating') rotating = createRotatingLedger(open)
  const ledger: LedgerStore = rotating?.ledger ?? open()
  await takeHolds(ledger)
  return createCompatRouter({
    credentials,
    catalogue: memoryCatalogue(models.map((id) => ({ id, prices, priceVersion: 'bench' }))),
    ledger,
    providers: memoryProviders([
      {
        id: 'upstream',
        models: Object.fromEntries(models.map((id) => [id, UPSTREAM_MODEL])),
        adapter: openaiCompatible({
          baseUrl: `http://127.0.0.1:${setup.upstreamPort}/v1`,
          apiKey: 'sk-upstream-bench',
        }),
      },
    ]),
    ...(hasBasePath && { basePath: MOUNT }),
    ...(setup.watched && { onEvent: await createListeners() }),
  })
}

/** Hears events as a host's console and its metrics do. */
async function createListeners(): Promise<RouterOptions['onEvent']> {
  const load = (entry: string) => import(pathToFileURL(join(setup.dist, entry)).href)
  const { createConsole }: typeof import('compat-router/console') = await load('console.js')
  const { createTelemetry }: typeof import('compat-router/opentelemetry') = await load('opentelemetry.js')
  // Nobody looks at the pages here, so nothing is asked of it.
  const admin = { entries: async () => ({ entries: [] }) } as Partial<Admin> as Admin
  const pages = createConsole({ admin, authorise: () => undefined })
  const provider = new MeterProvider({ readers: [new PrometheusExporter({ preventServerStart: true })] })
  const telemetry = createTelemetry({ meter: provider.getMeter('bench'), tracer: false })
  return (event) => {
    pages.onEvent(event)
    telemetry.onEvent(event)
  }
}

async function takeHolds(ledger: LedgerStore): Promise<void> {
  for (let number = 0; number < setup.openHolds; number++) {
    const requestId = `open-${number}`
    const facts = { requestId, account: 'holder', credentialId: 'holder', model: MODEL }
    await ledger.hold(
      { holdId: requestId, account: 'holder', amount: 1n, ttlMs: HOUR_MS + number, facts },
      { requestId, signal: new AbortController().signal },
    )
  }
}

const listener = await createListener()
const server = createServer(listener)
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo
  serve<{ kind: 'inventory' | 'close' }>({ port }, async ({ kind }) => {
    if (kind === 'inventory') {
      rotating?.forget()
      return takeInventory({ process, server }, { inFlight: router?.inFlight ?? 0 }, warnings)
    }
    process.removeAllListeners('disconnect')
    server.close()
    server.closeIdleConnections()
    return router?.close()
  })
})
