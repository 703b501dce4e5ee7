import { CompatError } from '../../base/errors.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { LedgerLookUps } from '../../contracts/look-ups.js'
import type { Operation } from '../../contracts/operation.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { cleanLabel, isPlainText } from '../../protocol/text.js'
import { jsonBytes } from '../../protocol/wire-bytes.js'
import { LOOK_UP_CODES } from '../look-ups/ask-ledger.js'
import { GenerationFinder } from './find-generation.js'
import { generationObject } from './generation-object.js'
import { generationSchema } from './schema.js'

/** No reply id is longer, whatever function a host uses for ids. */
const MAX_ID_CHARS = 256
const SHOWN_CHARS = 64

/**
 * `GET /generation?id=`: one call, by the id of its reply. Running and recorded calls are also found by their request
 * id.
 */
export function generationEndpoint(
  engine: Engine,
  lookUps: LedgerLookUps,
  operations: readonly Operation[],
): Endpoint {
  const finder = new GenerationFinder(engine, lookUps, operations)
  return {
    method: 'GET',
    path: '/generation',
    openapi: {
      operation: {
        operationId: 'getGeneration',
        summary: 'Show a call',
        parameters: [
          {
            name: 'id',
            in: 'query',
            required: true,
            description: 'The `id` of a reply or, for calls that were kept, its `x-request-id`.',
            schema: { type: 'string', minLength: 1, maxLength: MAX_ID_CHARS },
          },
        ],
        responses: {
          200: success('The call: what was asked, how it ended, and its cost.', 'Generation'),
          ...errorResponses([...LOOK_UP_CODES, 'invalid_request', 'not_found']),
        },
      },
      schemas: { Generation: generationSchema },
    },
    answer: (call, writer) =>
      engine.answer('get-generation', call, writer, async (context, { principal }) => {
        const id = new URLSearchParams(call.query).get('id') ?? ''
        if (id === '' || id.length > MAX_ID_CHARS) {
          throw new CompatError(
            'invalid_request',
            'id is missing: send the id of a reply, as in GET /generation?id=chatcmpl-….',
            { param: 'id' },
          )
        }
        // No other text is an id, and databases refuse some of it.
        const found = isPlainText(id) ? await finder.find(id, principal, context) : undefined
        if (found === undefined) {
          throw new CompatError(
            'not_found',
            `There is no call with the id '${cleanLabel(id, SHOWN_CHARS)}'. Send the id of a reply to this account.`,
            { param: 'id' },
          )
        }
        return jsonBytes({ data: generationObject(found) })
      }),
  }
}
