import type { ModelOperation } from '../../contracts/operation.js'
import { hasMethod } from '../../rules/adapter-methods.js'
import { embeddingsOpenApi } from './openapi.js'
import { EmbeddingsPlan } from './plan.js'
import { type AskedEmbeddings, parseEmbeddingsRequest } from './read-request.js'

/** `POST /embeddings`. */
export const embeddings: ModelOperation<AskedEmbeddings> = {
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

  isServedBy: (adapter) => hasMethod(adapter, 'embeddings'),
}
