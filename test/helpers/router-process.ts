import { createServer, type RequestListener } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProviderAdapter, ProviderEvent } from '../../src/contracts/index.js'
import { createCompatHandler } from '../../src/handler.js'
import { cachedCredentials, createCompatRouter, memoryCatalogue, memoryProviders } from '../../src/index.js'
import type { StoredRouterOptions } from '../../src/options.js'
import { createPostgresStores } from '../../src/postgres/stores.js'
import { jsonBytes } from '../../src/protocol/wire-bytes.js'
import { createSqliteStores } from '../../src/sqlite/stores.js'
import { bridge } from './fetch-hosts.js'
import { listenHttp } from './listen-http.js'
import { createPool } from './postgres.js'

// Runs as a process of its own that is meant to be killed or stopped: a router on a socket, with three models. `fast`
// answers at once. `slow` sends tokens until the process reads a line, `finish`, from standard input. Writes its port to
// standard output, and each event of its stores. `paced` sends a few tokens at a model's pace.

export interface RouterStart {
  readonly engine: 'SQLite' | 'PostgreSQL'
  /** A file, or the URL of a database. */
  readonly place: string
  /** The time between two polls; the real one if it is undefined. */
  readonly pollMs: number | undefined
  /**
   * For a host of web `Request`s, which aborts the calls of clients that leave: when its process ends. `once charged` is
   * when its `waitUntil` says so.
   */
  readonly ends?: 'with the first reply' | 'once it is charged' | 'never' | undefined
}

const TOKEN_MS = 20
const PACED_TOKENS = 10
const MODELS = ['fast', 'paced', 'slow']
const start = JSON.parse(process.argv[2]!) as RouterStart
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const storeOptions = { onEvent: (event: object) => void write({ event }) }
const stores =
  start.engine === 'SQLite'
    ? createSqliteStores({ file: start.place, ...storeOptions }, start.pollMs)
    : createPostgresStores(createPool(start.place, 6), storeOptions, start.pollMs)
let isFinished = false
createInterface(process.stdin).on('line', () => {
  isFinished = true
})

const choice = (delta: object, finishReason: string | null = null): ProviderEvent => ({
  type: 'data',
  bytes: jsonBytes({ choices: [{ index: 0, delta, finish_reason: finishReason }] }),
})
const USAGE: ProviderEvent = { type: 'usage', usage: { prompt: 10, completion: 20 } as never }
const adapter: ProviderAdapter = {
  async chat({ request, signal }, take) {
    await take([choice({ content: 'Hello' })])
    let left = request.model === 'paced' ? PACED_TOKENS : 0
    while (request.model === 'slow' ? !isFinished : left-- > 0) {
      await delay(TOKEN_MS)
      if (signal.aborted) throw signal.reason
      await take([choice({ content: ' there' })])
    }
    await take([choice({}, 'stop'), USAGE])
    return { terminated: true }
  },
}
const options: StoredRouterOptions = {
  stores,
  credentials: cachedCredentials(stores.credentials),
  catalogue: memoryCatalogue(MODELS.map((id) => ({ id, prices: { input: '1', output: '1' } }))),
  providers: memoryProviders([
    {
      id: 'p',
      models: Object.fromEntries(MODELS.map((id) => [id, id])),
      adapter,
      onDisconnect: start.ends === undefined ? 'drain' : 'abort',
    },
  ]),
  onEvent: (event) => {
    if (event.type !== 'request-start' && event.type !== 'request-end') write({ event })
  },
}

function createListener(): RequestListener {
  if (start.ends === undefined) {
    const router = createCompatRouter(options)
    return (req, res) => router(req, res)
  }
  const handler = createCompatHandler(options)
  const charged: Promise<void>[] = []
  const waitUntil = (promise: Promise<void>): void => void charged.push(promise)
  const listener = bridge((request) =>
    handler(request, start.ends === 'once it is charged' ? { waitUntil } : {}),
  )
  return (req, res) => {
    if (start.ends === 'with the first reply') res.on('close', () => process.exit())
    listener(req, res)
    if (start.ends === 'once it is charged') {
      res.on('close', async () => {
        await Promise.all(charged)
        process.exit()
      })
    }
  }
}

await stores.ready()
const host = await listenHttp(createServer(createListener()), '')
write({ port: host.port })
