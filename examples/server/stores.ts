import {
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from 'compat-router'
import type { OfferedModel } from './models.js'
import type { UpstreamSettings } from './settings.js'

/** What the stores hold when the server starts. */
export interface StoreSeed {
  readonly upstream: UpstreamSettings
  readonly models: readonly OfferedModel[]
  readonly apiKey: string
  readonly accessToken: string
}

export const demoAccounts = { owner: 'alice', appUser: 'bob', app: 'demo-app' } as const

/** The four stores, and how to close them. This is the file to change for stores that last. */
export function openStores({ upstream, models, apiKey, accessToken }: StoreSeed) {
  const adapter = openaiCompatible(upstream)
  return {
    credentials: memoryCredentials({
      [apiKey]: { kind: 'api-key', account: demoAccounts.owner },
      [accessToken]: {
        kind: 'access-token',
        account: demoAccounts.appUser,
        scopes: ['models.run'],
        app: {
          id: 'demo-app',
          name: 'Demo app',
          markup: { basisPoints: 2_000 },
          allowedModels: models.map((model) => model.id),
          account: demoAccounts.app,
        },
      },
    }),
    catalogue: memoryCatalogue(models.map(({ id, prices }) => ({ id, prices }))),
    ledger: memoryLedger({ [demoAccounts.owner]: '5', [demoAccounts.appUser]: '5' }),
    providers: memoryProviders([
      {
        id: 'upstream',
        models: Object.fromEntries(models.map(({ id, upstreamModel }) => [id, upstreamModel])),
        adapter,
      },
    ]),
    close: async () => {
      await adapter.close?.()
    },
  }
}
