import * as z from 'zod'
import { usageSchema } from '../../protocol/response-schemas.js'

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter'])

export const completionSchema = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().min(0).describe('Unix seconds.'),
  model: z.string().describe('The model key of the request.'),
  choices: z.array(
    z.looseObject({
      index: z.int().min(0),
      message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable() }),
      finish_reason: finishReason,
    }),
  ),
  usage: usageSchema,
  system_fingerprint: z.string().nullable(),
})

export const chunkSchema = z.looseObject({
  id: z.string().describe('The same in every chunk of a stream.'),
  object: z.literal('chat.completion.chunk'),
  created: z.int().min(0).describe('Unix seconds.'),
  model: z.string().describe('The model key of the request.'),
  choices: z
    .array(
      z.looseObject({
        index: z.int().min(0),
        delta: z.looseObject({ role: z.literal('assistant').optional(), content: z.string().nullish() }),
        finish_reason: finishReason.nullable(),
      }),
    )
    .describe('Empty in the last chunk, which has `usage`.'),
  usage: usageSchema.optional().describe('Only in the last chunk before `[DONE]`.'),
})
