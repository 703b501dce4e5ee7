import { createServer } from 'node:http'
import type { IdempotencyStore, LedgerStore } from '../../../src/contracts/index.js'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryProviders,
  openaiCompatible,
  type RouterEvent,
} from '../../../src/index.js'
import { listenHttp } from '../../helpers/listen-http.js'

export const MODEL = 'acme/fast'
export const ACCOUNT = 'alice'
export const APP_ACCOUNT = 'app'
export const TOKEN = 'token-of-an-app'
const PRICES = { input: '1.37', output: '7.91', request: '0.000001' }

/** Only these events matter here. */
const FAULTS: readonly RouterEvent['type'][] = [
  'fault',
  'store-fault',
  'charge-failed',
  'claim-lost',
  'call-abandoned',
]

/** This test does not look for slow machines. */
const PATIENT = { storeMs: 60_000, connectMs: 60_000, settleWaitMs: 60_000 }

export interface ServiceOptions {
  readonly ledger: LedgerStore
  /** If absent, in memory and private to this service. */
  readonly store?: IdempotencyStore
  readonly providerUrl: string
}

export interface Service {
  readonly port: number
  /** Types of events that should not have happened. */
  close(): Promise<readonly string[]>
}

/** One process: a router on its own socket. */
export async function startService({ ledger, store, providerUrl }: ServiceOptions): Promise<Service> {
  const faults: string[] = []
  const adapter = openaiCompatible({ baseUrl: providerUrl })
  const router = createCompatRouter({
    credentials: memoryCredentials({
      [TOKEN]: {
        kind: 'access-token',
        account: ACCOUNT,
        credentialId: 'grant',
        scopes: ['models.run'],
        app: { id: 'app', account: APP_ACCOUNT, markup: { basisPoints: 1_250 }, allowedModels: [MODEL] },
      },
    }),
    catalogue: memoryCatalogue([{ id: MODEL, prices: PRICES }]),
    ledger,
    // If a client without a key left, the provider request would be aborted.
    providers: memoryProviders([
      { id: 'p', models: { [MODEL]: 'upstream-model' }, adapter, onDisconnect: 'abort' },
    ]),
    ...(store !== undefined && { idempotency: { store } }),
    timeouts: PATIENT,
    onEvent(event) {
      if (FAULTS.includes(event.type)) faults.push(JSON.stringify(event, plain))
    },
  })
  const host = await listenHttp(
    createServer((req, res) => router(req, res)),
    '',
  )
  return {
    port: host.port,
    async close() {
      await router.close({ graceMs: 30_000 })
      await host.close()
      await adapter.close?.()
      return faults
    },
  }
}

function plain(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
