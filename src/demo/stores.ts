import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type CompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  type RouterEvent,
  type RouterStores,
} from '../index.js'
import type { StandIn } from '../testing/index.js'
import { DEMO_ACCOUNT, demoModels } from './models.js'

/** The stores of the demo, and everything that depends on their kind. */
export interface DemoStores {
  readonly stores: RouterStores
  readonly apiKey: string
  /** The console. Undefined without a database. */
  readonly pages?: DemoPages
  close(): Promise<void>
}

export interface DemoPages {
  readonly onEvent: (event: RouterEvent) => void
  observe(router: CompatRouter): void
  signInLink(origin: string): string
  serve(req: IncomingMessage, res: ServerResponse, next: () => void): void
}

/** Keeps everything in memory. */
export function openMemoryStores({ apiKey: secret, baseUrl }: StandIn): DemoStores {
  const apiKey = `sk-demo-${randomBytes(18).toString('base64url')}`
  const adapter = openaiCompatible({ baseUrl, apiKey: secret })
  const models = Object.fromEntries([...demoModels].map(([upstream, { id }]) => [id, upstream]))
  return {
    stores: {
      credentials: memoryCredentials({ [apiKey]: { kind: 'api-key', account: DEMO_ACCOUNT.id } }),
      catalogue: memoryCatalogue([...demoModels.values()]),
      ledger: memoryLedger({ [DEMO_ACCOUNT.id]: DEMO_ACCOUNT.credits }),
      providers: memoryProviders([{ id: 'stand-in', models, adapter }]),
    },
    apiKey,
    close: async () => adapter.close?.(),
  }
}
