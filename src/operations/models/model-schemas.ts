import * as z from 'zod'

const decimal = z.string().regex(/^\d+(\.\d{1,9})?$/)

const price = {
  input: decimal,
  output: decimal,
  cachedInput: decimal.optional(),
  cacheWrite: decimal.optional(),
  reasoning: decimal.optional(),
  audioInput: decimal.optional(),
  audioOutput: decimal.optional(),
  imageInput: decimal.optional(),
  imageOutput: decimal.optional(),
  request: decimal.optional().describe('Credits per call.'),
}

export const modelSchema = z.looseObject({
  id: z.string().describe('The value to send as `model`.'),
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
    .describe('If present, a request with any other optional parameter is refused.'),
  modalities: z.array(z.string()).optional(),
  pricing: z
    .looseObject({
      ...price,
      tiers: z
        .array(z.looseObject({ above: z.number(), ...price }))
        .optional()
        .describe('If the prompt has more than `above` tokens, the whole call has that price.'),
    })
    .optional()
    .describe('Credits per million tokens, as decimal strings, before markup.'),
})

export const modelListSchema = z.looseObject({ object: z.literal('list'), data: z.array(modelSchema) })
