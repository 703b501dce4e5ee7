import type { OpenApiOperation } from '../../contracts/openapi.js'
import { type ErrorCode, errorCodes } from '../../errors.js'
import { errorResponses, header, json, REQUEST_ID, reference } from '../../protocol/openapi-parts.js'
import { errorFrameSchema, usageSchema } from '../../protocol/response-schemas.js'
import { chunkSchema, completionSchema } from './reply-schemas.js'
import { chatRequestSchema } from './request-schema.js'

const ROUTING_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['not_found', 'method_not_allowed'])

export const chatOpenApi: OpenApiOperation = {
  operation: {
    operationId: 'createChatCompletion',
    summary: 'Complete a chat',
    parameters: [
      header('Idempotency-Key', 'Repeats of a call with the same key and body are charged once.', {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern: '^[\\x21-\\x7e]+$',
      }),
      header('x-session-id', 'Stands in for `session_id` where a client cannot set the field.', {
        type: 'string',
        minLength: 1,
        maxLength: 1_024,
        pattern: '^[\\x21-\\x7e]+$',
      }),
    ],
    requestBody: { required: true, content: json('ChatCompletionRequest') },
    responses: {
      200: {
        description:
          'The completion; with `stream: true` server-sent events, each `data: ` and a chunk, the last one with ' +
          '`usage`, then `data: [DONE]`.',
        headers: REQUEST_ID,
        content: {
          ...json('ChatCompletion'),
          'text/event-stream': {
            schema: { anyOf: [reference('ChatCompletionChunk'), reference('StreamError')] },
          },
        },
      },
      ...errorResponses(errorCodes.map(({ code }) => code).filter((code) => !ROUTING_CODES.has(code))),
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
