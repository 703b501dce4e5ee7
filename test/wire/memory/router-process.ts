/**
 * Runs as a process of its own, with `--expose-gc`: serves a router, and measures the memory that is alive while its
 * parent sends calls and answers as the provider.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  anthropic,
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from '../../../src/index.js'
import { ACCOUNTS } from './accounts.js'

export interface MemoryReport {
  readonly port: number
  /** The most memory that was alive since the report before, in bytes above that of the idle process. */
  readonly aliveBytes: number
  readonly rssBytes: number
}

const [providerUrl = '', memoryBytes = ''] = process.argv.slice(2)
const SAMPLE_MS = 200

const router = createCompatRouter({
  credentials: memoryCredentials(
    Object.fromEntries(ACCOUNTS.map((account) => [`sk-${account}`, { kind: 'api-key', account }])),
  ),
  catalogue: memoryCatalogue(['chat', 'claude'].map((id) => ({ id, prices: { input: '1', output: '1' } }))),
  ledger: memoryLedger(Object.fromEntries(ACCOUNTS.map((account) => [account, '1000000000']))),
  providers: memoryProviders([
    { id: 'chat', models: { chat: 'm' }, adapter: openaiCompatible({ baseUrl: `${providerUrl}/v1` }) },
    { id: 'claude', models: { claude: 'm' }, adapter: anthropic({ baseUrl: providerUrl, apiKey: 'k' }) },
  ]),
  sizes: { memoryBytes: Number(memoryBytes) },
  onEvent: false,
})
const server = createServer((req, res) => router(req, res))

function alive(): number {
  global.gc?.()
  // The first one may leave the memory of buffers to be freed.
  global.gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}

let idle = 0
let most = 0
setInterval(() => {
  most = Math.max(most, alive())
}, SAMPLE_MS).unref()

function report(): void {
  const { port } = server.address() as AddressInfo
  process.send?.({
    port,
    aliveBytes: most - idle,
    rssBytes: process.memoryUsage.rss(),
  } satisfies MemoryReport)
  idle = alive()
  most = idle
}

process.on('message', report)
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', report)
