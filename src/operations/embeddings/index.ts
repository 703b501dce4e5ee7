import type { Operation } from '../../contracts/operation.js'
import type { ProviderCall } from '../../contracts/providers.js'
import type { EmbeddingRequest } from '../../protocol/embedding-request.js'
import { embeddingsOpenApi } from './openapi.js'
import { EmbeddingsPlan } from './plan.js'
import { type AskedEmbeddings, parseEmbeddingsRequest } from './read-request.js'

/** `POST /embeddings`. */
export const embeddings: Operation<AskedEmbeddings> = {
  name: 'embeddings',
  path: '/embeddings',
  scope: 'models.run',
  idPrefix: 'embd-',
  openapi: embeddingsOpenApi,
  read: ({ value }) => parseEmbeddingsRequest(value),

  // The router converts the format itself, and every provider accepts the label `user`.
  unsupported: ({ forward }, supported) =>
    forward.dimensions === undefined || supported.includes('dimensions') ? [] : ['dimensions'],

  plan: (asked, model, options) => new EmbeddingsPlan(asked, model, options),

  digest: ({ format, forward, own: { provider, routing, sessionId } }) => ({
    forward: { ...forward, format },
    provider,
    routing,
    sessionId,
  }),

  isServedBy: (adapter) => adapter.embeddings !== undefined,

  run: (adapter, call, take) => adapter.embeddings!(call as ProviderCall<EmbeddingRequest>, take),
}
