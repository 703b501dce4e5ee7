import * as z from 'zod'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { askStore } from '../../engine/asking/stores.js'
import type { Engine } from '../../engine/engine.js'
import { faultyStore } from '../../engine/failures/store-failures.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { jsonBytes } from '../../protocol/wire-bytes.js'

const keySetSchema = z.looseObject({
  keys: z.array(
    z.looseObject({
      kty: z.string(),
      crv: z.string(),
      x: z.string(),
      y: z.string().optional(),
      kid: z.string(),
      use: z.string().optional(),
      alg: z.string().optional(),
    }),
  ),
})

/** `GET /envelope-keys`. */
export function envelopeKeysEndpoint(engine: Engine): Endpoint {
  return {
    method: 'GET',
    path: '/envelope-keys',
    isPublic: true,
    openapi: {
      operation: {
        operationId: 'listEnvelopeKeys',
        summary: 'List the public keys for sealing provider keys',
        security: [],
        responses: {
          200: success('A JSON Web Key Set.', 'EnvelopeKeys'),
          ...errorResponses(['not_found', 'internal_error', 'envelope_opener_unavailable']),
        },
      },
      schemas: { EnvelopeKeys: keySetSchema },
    },
    answer: (call, writer) =>
      engine.answerPublic(call, writer, async (context) => ({
        bytes: jsonBytes(await publishedKeys(engine.options, context)),
      })),
  }
}

/** Members that only private and secret keys have (RFC 7518, section 6). */
const PRIVATE_MEMBERS = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth']

/** Returns the public keys for sealing provider keys. Throws if the list contains anything else. */
async function publishedKeys(options: EngineOptions, context: LazyContext): Promise<object> {
  const published = await askStore('envelopes', options, context, () => options.envelopes?.publicKeys?.())
  const keys: unknown = published?.keys
  if (Array.isArray(keys) && keys.every(isPublicKey)) return { keys }
  const why = 'publicKeys() did not return { keys }, a list of public keys'
  throw faultyStore('envelopes', options, context.requestId, why)
}

function isPublicKey(key: unknown): boolean {
  if (typeof key !== 'object' || key === null) return false
  return !PRIVATE_MEMBERS.some((member) => Object.hasOwn(key, member))
}
