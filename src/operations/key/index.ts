import type { Endpoint } from '../../contracts/endpoint.js'
import type { LedgerLookUps } from '../../contracts/look-ups.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { jsonBytes } from '../../protocol/wire-bytes.js'
import { LOOK_UP_CODES, readCounts, readSpent } from '../look-ups/ask-ledger.js'
import { keyObject } from './key-object.js'
import { keySchema } from './schema.js'

/** `GET /key`: what the credential of the request may do, and what is left of its limits. */
export function keyEndpoint(engine: Engine, lookUps: LedgerLookUps): Endpoint {
  return {
    method: 'GET',
    path: '/key',
    openapi: {
      operation: {
        operationId: 'getKey',
        summary: 'Show the credential of this request',
        responses: {
          200: success('Its owner, models, use and limits.', 'Key'),
          ...errorResponses(LOOK_UP_CODES),
        },
      },
      schemas: { Key: keySchema },
    },
    answer: (call, writer) =>
      engine.answer('get-key', call, writer, async (context, { limits, principal }) => {
        const { account, credentialId } = principal
        const [spent, counts] = await Promise.all([
          readSpent(engine, lookUps, { account, credentialId }, context),
          readCounts(engine, lookUps, limits, context),
        ])
        const now = engine.options.wallClock.now()
        return jsonBytes({ data: keyObject(principal, spent, counts, now) })
      }),
  }
}
