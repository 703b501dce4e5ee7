import type { Endpoint } from '../contracts/endpoint.js'
import type { EngineOptions } from '../contracts/engine-options.js'
import type { LedgerLookUps } from '../contracts/look-ups.js'
import type { ModelOperation, Operation } from '../contracts/operation.js'
import type { Engine } from '../engine/engine.js'
import { chat } from '../operations/chat/index.js'
import { creditsEndpoint } from '../operations/credits/index.js'
import { embeddings } from '../operations/embeddings/index.js'
import { envelopeKeysEndpoint } from '../operations/envelope-keys/index.js'
import { generationEndpoint } from '../operations/generation/index.js'
import { keyEndpoint } from '../operations/key/index.js'
import { countEndpoint } from '../operations/messages/count.js'
import { messages } from '../operations/messages/index.js'
import { modelEndpoints } from '../operations/models/index.js'
import { openApiEndpoint } from '../operations/openapi/index.js'
import { createResponses, storedResponseEndpoints } from '../operations/responses/index.js'
import type { RecentItems } from '../operations/responses/recall/recent-items.js'

export { RecentItems } from '../operations/responses/recall/recent-items.js'

export interface EndpointOptions {
  /** Whether there is `GET /openapi.json`. */
  readonly hasOpenApi: boolean
  /** Whether callers without a credential see the models. */
  readonly hasPublicModels: boolean
  /** The items of recent replies of `POST /responses`. Undefined if none are kept. */
  readonly recent: RecentItems | undefined
}

/** The one table of endpoints. Paths, answers to other methods, and the OpenAPI document come from it. */
export function createEndpoints(
  engine: Engine,
  { hasOpenApi, hasPublicModels, recent }: EndpointOptions,
): readonly Endpoint[] {
  // Every charged operation. Add a new one here.
  const operations: readonly Operation[] = [chat, createResponses(recent), messages, embeddings]
  const modelOperations: readonly ModelOperation[] = [chat, embeddings]
  const endpoints: Endpoint[] = [
    ...operations.map((operation) => charged(operation, engine)),
    countEndpoint(engine),
    ...modelEndpoints(engine, modelOperations, { isPublic: hasPublicModels }),
  ]
  const lookUps = lookUpsOf(engine.options.ledger)
  if (lookUps !== undefined) {
    endpoints.push(
      keyEndpoint(engine, lookUps),
      creditsEndpoint(engine, lookUps),
      generationEndpoint(engine, lookUps, operations),
    )
  }
  if (typeof engine.options.envelopes?.publicKeys === 'function') endpoints.push(envelopeKeysEndpoint(engine))
  if (hasOpenApi) endpoints.push(openApiEndpoint(engine, () => endpoints))
  endpoints.push(...storedResponseEndpoints)
  return endpoints
}

function charged(operation: Operation, engine: Engine): Endpoint {
  const { errors, openapi, path } = operation
  return {
    method: 'POST',
    path,
    openapi,
    ...(errors !== undefined && { errors }),
    answer: (call, writer) => engine.run(operation, call, writer),
  }
}

/** Returns the look-ups of a ledger, or undefined if it lacks any of the three methods. */
function lookUpsOf(ledger: EngineOptions['ledger']): LedgerLookUps | undefined {
  const { findCall, limitCounts, spent } = ledger
  const hasAll = [findCall, limitCounts, spent].every((method) => typeof method === 'function')
  return hasAll ? (ledger as LedgerLookUps) : undefined
}
