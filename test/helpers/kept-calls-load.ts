import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryProviders,
  openaiCompatible,
} from '../../src/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { createPool } from './postgres.js'

// Runs as a process of its own that is meant to be killed. Makes calls that fail, writes the id of each request that was
// kept to standard output, and waits.

interface Load {
  readonly engine: 'SQLite' | 'PostgreSQL'
  /** A file, or the URL of a database. */
  readonly place: string
}

const load = JSON.parse(process.argv[2]!) as Load
const stores: DurableStores =
  load.engine === 'SQLite' ? sqliteStores({ file: load.place }) : postgresStores(createPool(load.place, 5))
const model = 'acme/fast'
const router = createCompatRouter({
  stores,
  credentials: memoryCredentials({ 'sk-alice': { kind: 'api-key', account: 'alice', credentialId: 'key' } }),
  catalogue: memoryCatalogue([{ id: model, prices: { input: '1', output: '1' } }]),
  providers: memoryProviders([
    {
      id: 'dead',
      models: { [model]: 'm' },
      // Nothing listens there.
      adapter: openaiCompatible({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'sk-provider' }),
    },
  ]),
  onEvent: false,
  basePath: '/v1',
})
const server = createServer(router).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const requests = [
  ['sk-alice', model],
  ['sk-alice', 'acme/none'],
  ['sk-unknown', model],
] as const
for (const [token, asked] of requests) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: asked, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 9 }),
  })
  await response.text()
  const requestId = response.headers.get('x-request-id')!
  while ((await stores.calls.list({ requestId })).calls.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  process.stdout.write(`${requestId}\n`)
}
// Only a signal ends it.
await new Promise(() => undefined)
