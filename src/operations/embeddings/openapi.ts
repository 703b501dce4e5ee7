import * as z from 'zod'
import type { OpenApiOperation } from '../../contracts/openapi.js'
import { CALL_CODES, CALL_HEADERS, errorResponses, json, success } from '../../protocol/openapi-parts.js'
import { usageSchema } from '../../protocol/response-schemas.js'
import { embeddingsRequestSchema } from './read-request.js'

const embeddingListSchema = z.looseObject({
  object: z.literal('list'),
  data: z
    .array(
      z.looseObject({
        object: z.literal('embedding'),
        index: z.int().min(0),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe('Numbers, or base64 of 32-bit floats, little-endian, as `encoding_format` asks.'),
      }),
    )
    .describe('One for each input, in their order.'),
  model: z.string().describe('The model key of the request.'),
  usage: usageSchema,
})

export const embeddingsOpenApi: OpenApiOperation = {
  operation: {
    operationId: 'createEmbeddings',
    summary: 'Embed texts',
    parameters: CALL_HEADERS,
    requestBody: { required: true, content: json('EmbeddingsRequest') },
    responses: { 200: success('The embeddings.', 'EmbeddingList'), ...errorResponses(CALL_CODES) },
  },
  schemas: {
    EmbeddingsRequest: embeddingsRequestSchema,
    EmbeddingList: embeddingListSchema,
    Usage: usageSchema,
  },
}
