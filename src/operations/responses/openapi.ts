import * as z from 'zod'
import type { OpenApiOperation } from '../../contracts/openapi.js'
import {
  CALL_CODES,
  CALL_HEADERS,
  errorResponses,
  json,
  REQUEST_ID,
  reference,
} from '../../protocol/openapi-parts.js'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { outlineFields } from '../../protocol/request-fields/own-fields.js'
import { usageSchema } from '../../protocol/response-schemas.js'
import { SHARED_FIELDS } from './request/read-request.js'

const typed = z.looseObject({ type: z.string() })

const requestSchema = z.looseObject({
  ...outlineFields,
  input: z
    .union([z.string(), z.array(z.looseObject({})).min(1).max(10_000)])
    .describe('A text, or the items of the whole conversation.'),
  instructions: z.string().nullish().describe('Comes before `input`, as a system message.'),
  max_output_tokens: z.int().min(1).nullish(),
  tools: z
    .array(typed)
    .max(1_024)
    .nullish()
    .describe('Tools of the types `function`, `custom` and `namespace`.'),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), typed]).nullish(),
  text: z
    .looseObject({ format: typed.nullish(), verbosity: z.enum(['low', 'medium', 'high']).nullish() })
    .nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  include: z.array(z.string()).max(64).nullish(),
  store: z.literal(false).nullish().describe('No reply is stored.'),
  ...Object.fromEntries(
    [...SHARED_FIELDS].map((name) => {
      const { schema, takes } = KNOWN_FIELDS.get(name)!
      return [name, schema.nullish().describe(`Takes ${takes}.`)]
    }),
  ),
})

const tokens = z.int().min(0)
const {
  prompt_tokens: _prompt,
  completion_tokens: _completion,
  prompt_tokens_details: inputDetails,
  completion_tokens_details: outputDetails,
  ...charged
} = usageSchema.shape

const responseSchema = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int().min(0).describe('Unix seconds.'),
  model: z.string().describe('The model key of the request.'),
  status: z.enum(['completed', 'incomplete']),
  output: z.array(typed),
  store: z.literal(false),
  usage: z.looseObject({
    input_tokens: tokens.describe('All input tokens, cached ones included.'),
    input_tokens_details: inputDetails,
    output_tokens: tokens.describe('All output tokens, reasoning included.'),
    output_tokens_details: outputDetails,
    ...charged,
  }),
})

const eventSchema = z
  .looseObject({ type: z.string(), sequence_number: z.int().min(0) })
  .describe(
    'The last one is `response.completed`, `response.incomplete` or `response.failed`, with the usage.',
  )

export const responsesOpenApi: OpenApiOperation = {
  operation: {
    operationId: 'createResponse',
    summary: 'Create a response',
    parameters: CALL_HEADERS,
    requestBody: { required: true, content: json('ResponseRequest') },
    responses: {
      200: {
        description: 'The response. With `stream: true`, server-sent events with names.',
        headers: REQUEST_ID,
        content: { ...json('Response'), 'text/event-stream': { schema: reference('ResponseEvent') } },
      },
      ...errorResponses(CALL_CODES),
    },
  },
  schemas: { ResponseRequest: requestSchema, Response: responseSchema, ResponseEvent: eventSchema },
}
