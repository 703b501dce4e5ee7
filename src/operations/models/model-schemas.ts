import * as z from 'zod'
import { PRICE_NAMES } from '../../base/prices.js'

const decimal = z.string().regex(/^\d+(\.\d{1,19})?$/)

const perToken = z.string().regex(/^(-1|\d+(\.\d{1,19})?)$/)

const price = {
  ...Object.fromEntries(PRICE_NAMES.map((name) => [name, decimal.optional()])),
  request: decimal.optional().describe('Credits per call.'),
}

export const modelSchema = z.looseObject({
  id: z.string().describe('The value to send as `model`.'),
  object: z.literal('model'),
  created: z.int().min(0).describe('Unix seconds.'),
  owned_by: z.string(),
  root: z.string(),
  parent: z.string().nullable(),
  canonical_slug: z.string().describe('The id again, as in the list of OpenRouter.'),
  name: z.string(),
  description: z.string().describe('Empty if the host has none.'),
  context_length: z.int().nullable().describe('Tokens; null if it is not known.'),
  max_output_tokens: z.int().optional().describe('Tokens.'),
  supported_parameters: z
    .array(z.string())
    .describe(
      'The optional parameters that the model takes; all that the router knows if the host does not list them.',
    ),
  operations: z
    .array(z.string())
    .optional()
    .describe('The operations that the model serves. If absent, all that its routes serve.'),
  modalities: z.array(z.string()).optional(),
  architecture: z.looseObject({
    modality: z.string().describe('Both lists in one text, such as `text+image->text`.'),
    input_modalities: z.array(z.string()),
    output_modalities: z.array(z.string()),
  }),
  top_provider: z.looseObject({
    context_length: z.int().nullable(),
    max_completion_tokens: z.int().nullable(),
    is_moderated: z.boolean(),
  }),
  pricing: z
    .looseObject({
      prompt: perToken.describe(
        'Credits per token: `input` divided by a million. `-1` if it depends on the route.',
      ),
      completion: perToken.describe(
        'Credits per token: `output` divided by a million. `-1` if it depends on the route.',
      ),
      input_cache_read: decimal.optional().describe('Credits per token: `cachedInput` divided by a million.'),
      input_cache_write: decimal.optional().describe('Credits per token: `cacheWrite` divided by a million.'),
      ...price,
      tiers: z
        .array(z.looseObject({ above: z.number(), ...price }))
        .optional()
        .describe('If the prompt has more than `above` tokens, the whole call has that price.'),
    })
    .describe(
      'Credits per million tokens, as decimal strings, with the markup of the app if an access token asks.',
    ),
})

export const modelListSchema = z.looseObject({
  object: z.literal('list'),
  data: z.array(modelSchema),
  total_count: z.int(),
})
