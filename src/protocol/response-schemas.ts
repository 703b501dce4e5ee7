import * as z from 'zod'
import { type ErrorCode, errorCodes } from '../errors.js'

const tokens = z.int().min(0)
const credits = z.number().min(0)
const decimal = z.string().regex(/^\d+(\.\d{1,9})?$/)

export const usageSchema = z.looseObject({
  prompt_tokens: tokens.describe('All input, cached input included.'),
  completion_tokens: tokens.describe('All output, reasoning included.'),
  total_tokens: tokens,
  prompt_tokens_details: z.looseObject({ cached_tokens: tokens }),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens }),
  cost: credits.describe(
    'The credits debited for this request, markup included. At most nine decimal places.',
  ),
  is_byok: z.boolean().describe('Whether the call ran on a provider key of the caller.'),
  charge: z.looseObject({
    basis: z.enum(['reported', 'estimated']).describe("Whose token counts: the provider's, or an estimate."),
    base_cost: credits,
    markup_cost: credits.describe(
      "The app's markup. `base_cost + markup_cost = cost`, exactly, as decimals.",
    ),
  }),
})

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

const price = {
  input: decimal,
  output: decimal,
  cachedInput: decimal.optional(),
  cacheWrite: decimal.optional(),
  reasoning: decimal.optional(),
  request: decimal.optional().describe('Credits per call.'),
}

export const modelSchema = z.looseObject({
  id: z.string().describe('What to send as `model`.'),
  object: z.literal('model'),
  created: z.int().min(0).describe('Unix seconds.'),
  owned_by: z.string(),
  root: z.string(),
  parent: z.string().nullable(),
  name: z.string().optional(),
  description: z.string().optional(),
  context_length: z.int().optional().describe('Tokens.'),
  max_output_tokens: z.int().optional().describe('Tokens.'),
  supported_parameters: z
    .array(z.string())
    .optional()
    .describe('Where given, a request with another optional parameter is refused.'),
  modalities: z.array(z.string()).optional(),
  pricing: z
    .looseObject({
      ...price,
      tiers: z
        .array(z.looseObject({ above: z.number(), ...price }))
        .optional()
        .describe('Where the prompt has more than `above` tokens, the whole call has that price.'),
    })
    .optional()
    .describe('Credits per million tokens, as decimal strings, before markup.'),
})

export const modelListSchema = z.looseObject({ object: z.literal('list'), data: z.array(modelSchema) })

const codes = errorCodes.map(({ code }) => code) as [ErrorCode, ...ErrorCode[]]

const errorFields = {
  message: z.string(),
  type: z.enum([...new Set(errorCodes.map(({ type }) => type))] as [string, ...string[]]),
  param: z.string().nullable().describe('The request field at fault, as `messages.2.content`.'),
  code: z.enum(codes),
  source: z.enum(['gateway', 'provider']),
  details: z.array(z.unknown()).max(20).optional(),
}

export const errorSchema = z.looseObject({
  error: z.looseObject({ ...errorFields, metadata: z.looseObject({}).optional() }),
})

export const errorFrameSchema = z
  .looseObject({ error: z.looseObject({ ...errorFields, metadata: z.looseObject({ usage: usageSchema }) }) })
  .describe('Ends a stream that failed after its first bytes. No `[DONE]` follows.')

export const keySetSchema = z.looseObject({
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
