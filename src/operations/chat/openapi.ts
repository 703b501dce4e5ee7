import type { OpenApiOperation } from '../../contracts/openapi.js'
import {
  CALL_CODES,
  CALL_HEADERS,
  errorResponses,
  json,
  REQUEST_ID,
  reference,
} from '../../protocol/openapi-parts.js'
import { errorFrameSchema, usageSchema } from '../../protocol/response-schemas.js'
import { chunkSchema, completionSchema } from './reply-schemas.js'
import { chatRequestSchema } from './request-schema.js'

export const chatOpenApi: OpenApiOperation = {
  operation: {
    operationId: 'createChatCompletion',
    summary: 'Complete a chat',
    parameters: CALL_HEADERS,
    requestBody: { required: true, content: json('ChatCompletionRequest') },
    responses: {
      200: {
        description:
          'The completion. With `stream: true`, server-sent events: each is `data: ` and a chunk. The last chunk has ' +
          '`usage`, and `data: [DONE]` follows.',
        headers: REQUEST_ID,
        content: {
          ...json('ChatCompletion'),
          'text/event-stream': {
            schema: { anyOf: [reference('ChatCompletionChunk'), reference('StreamError')] },
          },
        },
      },
      ...errorResponses(CALL_CODES),
    },
  },
  schemas: {
    ChatCompletionRequest: chatRequestSchema,
    ChatCompletion: completionSchema,
    ChatCompletionChunk: chunkSchema,
    StreamError: errorFrameSchema,
    Usage: usageSchema,
  },
}
