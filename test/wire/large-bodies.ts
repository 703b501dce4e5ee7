/**
 * Runs as a process of its own: serves a router and reports the CPU time and memory used so far to its parent
 * on request. The client's work is therefore not counted.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
} from '../../src/index.js'
import { peakMiB } from '../helpers/peak-memory.js'

export interface LargeBodyReport {
  readonly port: number
  readonly cpuMs: number
  readonly rssMiB: number
  readonly peakMiB: number
  /** How often the provider was called. */
  readonly dispatched: number
}

let dispatched = 0
const router = createCompatRouter({
  credentials: memoryCredentials({ 'sk-large': { kind: 'api-key', account: 'alice' } }),
  catalogue: memoryCatalogue([{ id: 'm', prices: { input: '1', output: '1' } }]),
  ledger: memoryLedger({ alice: '1000000' }),
  providers: memoryProviders([
    {
      id: 'p0',
      models: { m: 'm' },
      adapter: {
        async chat() {
          dispatched++
          return { terminated: true }
        },
      },
    },
  ]),
})
const server = createServer((req, res) => router(req, res))

function report(): void {
  const { user, system } = process.cpuUsage()
  const { port } = server.address() as AddressInfo
  process.send?.({
    port,
    cpuMs: Math.round((user + system) / 1_000),
    rssMiB: Math.round(process.memoryUsage.rss() / 1_048_576),
    peakMiB: Math.round(peakMiB()),
    dispatched,
  } satisfies LargeBodyReport)
}

process.on('message', report)
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', report)
