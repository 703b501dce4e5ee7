import * as z from 'zod'

const decimal = z
  .string()
  .regex(/^\d+(\.\d{1,9})?$/)
  .nullable()
const count = z.int().min(0).nullable()

export const generationSchema = z.looseObject({
  data: z.looseObject({
    id: z.string(),
    request_id: z.string().nullable(),
    upstream_id: z.string().nullable().describe("The provider's own id of the reply."),
    model: z.string(),
    provider_name: z.string().nullable(),
    api_type: z.enum(['completions', 'embeddings']),
    created_at: z.iso.datetime(),
    total_cost: z.number().describe('`cost` as a number; 0 while it is not known.'),
    usage: z.number().describe('The same.'),
    is_byok: z.boolean(),
    tokens_prompt: count,
    tokens_completion: count,
    native_tokens_prompt: count,
    native_tokens_completion: count,
    native_tokens_cached: count,
    native_tokens_reasoning: count,
    tokens_cache_write: count,
    latency: count.describe('Milliseconds from the request to the end of the reply.'),
    generation_time: count.describe('Milliseconds of the provider.'),
    first_token_ms: count.describe('Milliseconds from dispatch to the first token.'),
    finish_reason: z.string().nullable(),
    native_finish_reason: z.string().nullable(),
    streamed: z.boolean().nullable(),
    cancelled: z.boolean().nullable().describe('Whether the client left.'),
    session_id: z.string().nullable(),
    external_user: z.string().nullable(),
    pending: z.boolean().describe('Whether the call is still running, or its charge is not posted yet.'),
    operation: z.string().nullable().describe('Such as `chat`, `messages` or `embeddings`.'),
    outcome: z.string().nullable().describe('`completed`, `client-left` or the code of an error.'),
    status: z.int().nullable(),
    credential_id: z.string().nullable(),
    app: z.string().nullable(),
    cost: decimal.describe('Credits. `base_cost` and `markup_cost` add up to it.'),
    base_cost: decimal,
    markup_cost: decimal,
    basis: z.enum(['reported', 'estimated']).nullable(),
    refunded: decimal.describe('The part of the cost that was given back.'),
  }),
})
