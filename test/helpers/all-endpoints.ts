import type { Endpoint } from '../../src/contracts/endpoint.js'
import { createEndpoints } from '../../src/endpoints/index.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { engineOptions } from '../../src/options.js'

/** The endpoint table of a router that has all endpoints. */
export function allEndpoints(): readonly Endpoint[] {
  const options = engineOptions({
    credentials: memoryCredentials({}),
    catalogue: memoryCatalogue([]),
    ledger: memoryLedger({}),
    providers: memoryProviders([]),
    envelopes: { open: () => ({ ok: false, reason: 'invalid' }), publicKeys: () => ({ keys: [] }) },
  })
  return createEndpoints(createEngine(options), {
    hasOpenApi: true,
    hasPublicModels: false,
    recent: undefined,
  })
}
