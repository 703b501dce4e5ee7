/** The router on bare `http`, the handler on `@hono/node-server`, or a constant reply on either. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createAdaptorServer } from '@hono/node-server'
import type { WebHostSetup } from '../lib/messages.js'
import { MODEL, MOUNT, tokenOf, UPSTREAM_MODEL } from '../lib/names.js'
import { ownCpuUsage, readSetup, serve } from '../lib/serve.js'

const { dist, kind, upstreamPort } = readSetup<WebHostSetup>()
const load = (name: string) => import(pathToFileURL(join(dist, name)).href)
const {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} = (await load('index.js')) as typeof import('compat-router')
const { createCompatHandler } = (await load('fetch.js')) as typeof import('compat-router/fetch')

const options = () => {
  const adapter = openaiCompatible({ baseUrl: `http://127.0.0.1:${upstreamPort}/v1`, apiKey: 'sk-bench' })
  return {
    credentials: memoryCredentials({ [tokenOf(0)]: { kind: 'api-key', account: 'bench' } }),
    catalogue: memoryCatalogue([{ id: MODEL, prices: { input: '0.15', output: '0.60' } }]),
    ledger: memoryLedger({ bench: '1000000000' }),
    providers: memoryProviders([{ id: 'upstream', models: { [MODEL]: UPSTREAM_MODEL }, adapter }]),
    basePath: MOUNT,
  }
}
const CONSTANT = JSON.stringify({ object: 'chat.completion', text: 'x'.repeat(1_000) })
const JSON_TYPE = { 'content-type': 'application/json' }

function createHost() {
  switch (kind) {
    case 'router-http': {
      const router = createCompatRouter(options())
      return createServer((req, res) => router(req, res))
    }
    case 'handler-hono': {
      const handler = createCompatHandler(options())
      return createAdaptorServer({ fetch: (request) => handler(request) })
    }
    case 'constant-http':
      return createServer((_req, res) => res.writeHead(200, JSON_TYPE).end(CONSTANT))
    case 'constant-hono':
      return createAdaptorServer({ fetch: () => new Response(CONSTANT, { headers: JSON_TYPE }) })
  }
}

const server = createHost()
server.listen(0, '127.0.0.1', () => {
  serve({ port: (server.address() as AddressInfo).port }, ownCpuUsage)
})
