import * as z from 'zod'
import { errorCodes } from '../../base/errors.js'
import type { OpenApiOperation } from '../../contracts/openapi.js'
import {
  CALL_CODES,
  CALL_HEADERS,
  errorResponses,
  header,
  json,
  REQUEST_ID,
  reference,
} from '../../protocol/openapi-parts.js'
import { outlineFields } from '../../protocol/request-fields/own-fields.js'

const object = z.looseObject({})
const typed = z.looseObject({ type: z.string() })
const content = z.union([z.string(), z.array(typed)])
const tokens = z.int().min(0)
const credits = z.number().min(0)

const fields = {
  ...outlineFields,
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content })).min(1),
  system: content.nullish(),
  tools: z.array(z.looseObject({ name: z.string(), input_schema: object.optional() })).nullish(),
  tool_choice: typed.nullish(),
  thinking: typed.nullish(),
  output_config: object.nullish(),
  cache_control: typed.nullish(),
  context_management: object.nullish(),
}

const requestSchema = z.looseObject({
  ...fields,
  max_tokens: z.int().min(1),
  stream: z.boolean().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
})

const usageSchema = z.looseObject({
  input_tokens: tokens.describe('Input tokens that were neither read from nor written to the cache.'),
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  output_tokens: tokens.describe('All output tokens, thinking included.'),
  output_tokens_details: z.looseObject({ thinking_tokens: tokens }),
  cost: credits.describe('The credits debited for this request, markup included.'),
  is_byok: z.boolean(),
  charge: z.looseObject({
    basis: z.enum(['reported', 'estimated']),
    base_cost: credits,
    markup_cost: credits,
  }),
})

const messageSchema = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string().describe('The model key of the request.'),
  content: z.array(typed),
  stop_reason: z.string().nullable(),
  stop_sequence: z.string().nullable(),
  usage: usageSchema,
})

const errorSchema = z.looseObject({
  type: z.literal('error'),
  error: z.looseObject({
    type: z.string(),
    message: z.string(),
    code: z.enum(errorCodes.map(({ code }) => code) as [string, ...string[]]),
  }),
})

/** Returns the error responses of this API, which have their own shape. */
function ownErrors(): Record<string, unknown> {
  const responses = errorResponses(CALL_CODES) as Record<string, { content: unknown }>
  for (const response of Object.values(responses)) response.content = json('MessagesError')
  return responses
}

const HEADERS = [
  header('x-api-key', 'The credential, if there is no `Authorization`.', { type: 'string' }),
  header('anthropic-version', 'Accepted and not read.', { type: 'string' }),
  header('anthropic-beta', 'Names of beta features. The ones that are not allowed are left out.', {
    type: 'string',
  }),
]

export const messagesOpenApi: OpenApiOperation = {
  operation: {
    operationId: 'createMessage',
    summary: 'Create a message',
    parameters: [...CALL_HEADERS, ...HEADERS],
    requestBody: { required: true, content: json('MessagesRequest') },
    responses: {
      200: {
        description:
          "The message. With `stream: true`, Anthropic's server-sent events; `message_delta` has the whole `usage`.",
        headers: REQUEST_ID,
        content: {
          ...json('Message'),
          'text/event-stream': { schema: { anyOf: [reference('MessageEvent'), reference('MessagesError')] } },
        },
      },
      ...ownErrors(),
    },
  },
  schemas: {
    MessagesRequest: requestSchema,
    Message: messageSchema,
    MessageEvent: typed,
    MessagesError: errorSchema,
  },
}

export const countOpenApi: OpenApiOperation = {
  operation: {
    operationId: 'countMessageTokens',
    summary: 'Count the input tokens of a message',
    parameters: HEADERS,
    requestBody: { required: true, content: json('MessagesCountRequest') },
    responses: {
      200: {
        description: 'The number of input tokens. `estimated` is true if no provider counted them.',
        headers: REQUEST_ID,
        content: json('MessagesCount'),
      },
      ...ownErrors(),
    },
  },
  schemas: {
    MessagesCountRequest: z.looseObject(fields),
    MessagesCount: z.looseObject({ input_tokens: tokens, estimated: z.literal(true).optional() }),
    MessagesError: errorSchema,
  },
}
