import { version } from '../../base/version.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Engine } from '../../engine/engine.js'
import { toLatin1 } from '../../protocol/latin1.js'
import { errorResponses, REQUEST_ID } from '../../protocol/openapi-parts.js'
import { createOpenApiDocument } from './document.js'

/** `GET /openapi.json`: the document of all endpoints. */
export function openApiEndpoint(engine: Engine, endpoints: () => readonly Endpoint[]): Endpoint {
  let document: string | undefined
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
        document ??= toLatin1(JSON.stringify(createOpenApiDocument(endpoints(), { version })))
        return { bytes: document }
      }),
  }
}
