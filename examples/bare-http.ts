/**
 * The fast lane: the router gets each request first and passes on those that are not its own, so that its calls do not
 * pay for a framework. Run it with `OPENAI_API_KEY=sk-… npx tsx examples/bare-http.ts`.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from 'compat-router'
import express from 'express'

export function createApp({
  baseUrl = 'https://api.openai.com/v1',
  apiKey = process.env.OPENAI_API_KEY ?? '',
} = {}) {
  const router = createCompatRouter({
    basePath: '/compat/v1',
    // Everybody knows this key, so no page of a browser may use it.
    credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice', origins: [] } }),
    catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '0.15', output: '0.60' } }]),
    ledger: memoryLedger({ alice: '5.00' }),
    providers: memoryProviders([
      {
        id: 'openai',
        models: { 'acme/fast': 'gpt-4o-mini' },
        adapter: openaiCompatible({ baseUrl, apiKey }),
      },
    ]),
  })
  const app = express()
  app.get('/', (_req, res) => {
    res.send('The rest of the application')
  })
  const server = createServer((req, res) => router(req, res, () => app(req, res)))
  return { server, router }
}

if (process.argv[1] === import.meta.filename) {
  const server = createApp().server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
  server.once('listening', () => {
    const { port } = server.address() as AddressInfo
    console.log(`curl http://127.0.0.1:${port}/compat/v1/models -H 'authorization: Bearer sk-demo'`)
  })
}
