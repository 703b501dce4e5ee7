import { z } from 'zod'
import type { LimitRequest } from '../../admin/index.js'
import { nameSchema } from '../../rules/schemas.js'
import { done, type Endpoint, post } from '../serving/endpoint.js'

/** `putLimit` checks the members itself. */
const limitBody = z.custom<LimitRequest>(() => true)

export const limitEndpoints: readonly Endpoint[] = [
  post('limits/put', 'operator', limitBody, async (limit, _, { admin }) => {
    await admin.putLimit(limit)
    return { done: true }
  }),
  post('limits/remove', 'operator', z.strictObject({ id: nameSchema }), async ({ id }, _, { admin }) =>
    done(await admin.removeLimit(id), 'limit', id),
  ),
]
