import * as z from 'zod'
import type { Endpoint } from '../../contracts/endpoint.js'
import { errorSchema } from '../../protocol/response-schemas.js'

/**
 * Creates the OpenAPI 3.1 document of the endpoints from their schemas. Its server URL is relative to the document, so
 * it is valid wherever the router is mounted. Returns a new object each time.
 */
export function createOpenApiDocument(endpoints: readonly Endpoint[], options: { readonly version: string }) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Chat completions',
      version: options.version,
      description: 'An OpenAI-compatible chat completions API that charges in credits.',
    },
    servers: [{ url: '.' }],
    security: [{ bearer: [] }],
    paths: pathsOf(endpoints),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, or an access token with the scope `models.run`.',
        },
      },
      schemas: componentSchemas(endpoints),
    },
  }
}

function pathsOf(endpoints: readonly Endpoint[]) {
  const paths: Record<string, Record<string, object>> = {}
  for (const { method, openapi, path } of endpoints) {
    if (openapi === undefined) continue
    paths[path] = { ...paths[path], [method.toLowerCase()]: openapi.operation }
  }
  return paths
}

function componentSchemas(endpoints: readonly Endpoint[]) {
  const registry = z.registry<{ id: string }>()
  const named = Object.assign({ Error: errorSchema }, ...endpoints.map(({ openapi }) => openapi?.schemas))
  for (const [id, schema] of Object.entries<z.ZodType>(named)) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _address, ...schema }]) => [id, schema]),
  )
}
