/** Connect. Run it with `OPENAI_API_KEY=sk-… npx tsx examples/connect.ts`. */
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
import connect from 'connect'

export function createApp({
  baseUrl = 'https://api.openai.com/v1',
  apiKey = process.env.OPENAI_API_KEY ?? '',
} = {}) {
  const router = createCompatRouter({
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
  const app = connect()
  app.use('/compat/v1', router)
  const server = createServer((req, res) => {
    try {
      app(req, res)
    } catch {
      // Connect throws for a target that is no address, which would end the process.
      res.writeHead(400).end()
    }
  })
  return { server, router }
}

if (process.argv[1] === import.meta.filename) {
  const server = createApp().server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
  server.once('listening', () => {
    const { port } = server.address() as AddressInfo
    console.log(`curl http://127.0.0.1:${port}/compat/v1/models -H 'authorization: Bearer sk-demo'`)
  })
}
