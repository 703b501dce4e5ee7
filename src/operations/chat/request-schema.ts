import * as z from 'zod'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { MAX_MESSAGES } from '../../protocol/request-fields/messages.js'
import { outlineFields } from '../../protocol/request-fields/own-fields.js'

const MAX_PARTS = 1_000

const contentPart = z.looseObject({ type: z.string() })

/** A message in the OpenAPI document. Messages are read by `request-fields/messages.ts`. */
const messageSchema = z.looseObject({
  role: z.string(),
  content: z
    .union([z.string(), z.array(contentPart).max(MAX_PARTS), z.null()])
    .optional()
    .describe('Null or absent only on an assistant message. One that has nothing else either is left out.'),
})

/** A whole request in the OpenAPI document. */
export const chatRequestSchema = z.looseObject({
  ...outlineFields,
  messages: z.array(messageSchema).min(1).max(MAX_MESSAGES),
  ...Object.fromEntries(
    [...KNOWN_FIELDS].map(([name, { schema, takes }]) => [
      name,
      schema.nullish().describe(`Takes ${takes}.`),
    ]),
  ),
})
