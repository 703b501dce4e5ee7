/**
 * Runs as a process of its own, with `--expose-gc`: serves a router, and measures the memory that is alive while its
 * parent sends calls and answers as the provider.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getHeapStatistics } from 'node:v8'
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
const SAMPLE_MS = 50
/** Text that is worth a sample while it is parsed or written: a timer never sees what one turn of the event loop drops. */
const LONG_TEXT = 256 * 1_024

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

/** What is alive, with the garbage that was not collected yet. */
function used(): number {
  const { external_memory: external, used_heap_size: heap } = getHeapStatistics()
  return external + heap
}

function alive(): number {
  global.gc?.()
  // The first one may leave the memory of buffers to be freed.
  global.gc?.()
  return used()
}

let idle = 0
let most = 0

/** Collects garbage only if there could be more alive than ever before. */
function sample(): void {
  if (used() > most) most = Math.max(most, alive())
}

setInterval(sample, SAMPLE_MS).unref()

const { parse, stringify } = JSON
JSON.parse = (text: string, ...more: []) => {
  const value: unknown = parse(text, ...more)
  if (text.length >= LONG_TEXT) sample()
  return value
}
JSON.stringify = (value: unknown, ...more: []) => {
  const text = stringify(value, ...more)
  if (text?.length >= LONG_TEXT) sample()
  return text
}

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
