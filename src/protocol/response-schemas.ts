import * as z from 'zod'
import { type ErrorCode, errorCodes } from '../base/errors.js'

const tokens = z.int().min(0)
/** Present if the provider reported any. */
const mediaTokens = { audio_tokens: tokens.optional(), image_tokens: tokens.optional() }
const credits = z.number().min(0)

export const usageSchema = z.looseObject({
  prompt_tokens: tokens.describe('All input tokens, cached ones included.'),
  completion_tokens: tokens.describe('All output tokens, reasoning included.'),
  total_tokens: tokens,
  prompt_tokens_details: z.looseObject({ cached_tokens: tokens, ...mediaTokens }),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens, ...mediaTokens }),
  cost: credits.describe(
    'The credits debited for this request, markup included. At most nine decimal places.',
  ),
  is_byok: z.boolean().describe('Whether the call ran on a provider key of the caller.'),
  charge: z.looseObject({
    basis: z
      .enum(['reported', 'estimated'])
      .describe("Whether the token counts are the provider's or estimated."),
    base_cost: credits,
    markup_cost: credits.describe(
      "The app's markup. `base_cost + markup_cost = cost`, exactly, as decimals.",
    ),
  }),
})

const codes = errorCodes.map(({ code }) => code) as [ErrorCode, ...ErrorCode[]]

const errorFields = {
  message: z.string(),
  type: z.enum([...new Set(errorCodes.map(({ type }) => type))] as [string, ...string[]]),
  param: z.string().nullable().describe('The request field at fault, such as `messages.2.content`.'),
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
