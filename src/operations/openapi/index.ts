import { version } from '../../base/version.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, REQUEST_ID } from '../../protocol/openapi-parts.js'
import { jsonBytes, type WireBytes } from '../../protocol/wire-bytes.js'
import { createOpenApiDocument } from './document.js'

/** `GET /openapi.json`: the document of all endpoints. */
export function openApiEndpoint(engine: Engine, endpoints: () => readonly Endpoint[]): Endpoint {
  let document: WireBytes | undefined
  return {
    method: 'GET',
    path: '/openapi.json',
    isPublic: true,
    openapi: {
      operation: {
        operationId: 'showOpenApi',
        summary: 'Show this document',
        security: [],
        responses: {
          200: {
            description: 'An OpenAPI 3.1 document.',
            headers: REQUEST_ID,
            content: { 'application/json': { schema: { type: 'object' } } },
          },
          ...errorResponses(['not_found', 'internal_error']),
        },
      },
      schemas: {},
    },
    answer: (call, writer) =>
      engine.answerPublic(call, writer, async () => {
        document ??= jsonBytes(createOpenApiDocument(endpoints(), { version }))
        return { bytes: document }
      }),
  }
}
