import type { ErrorCode } from '../../base/errors.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { ModelReplies } from './model-replies.js'
import { modelListSchema, modelSchema } from './model-schemas.js'

/** The error codes of both endpoints. Limits on calls do not apply to them. */
const MODEL_CODES: readonly ErrorCode[] = [
  'missing_credential',
  'invalid_api_key',
  'expired_credential',
  'revoked_credential',
  'account_suspended',
  'internal_error',
  'credential_store_unavailable',
  'shutting_down',
]

/** `GET /models` and `GET /models/{model_key}`. */
export function modelEndpoints(engine: Engine): readonly Endpoint[] {
  const replies = new ModelReplies(engine.options)
  return [
    {
      method: 'GET',
      path: '/models',
      openapi: {
        operation: {
          operationId: 'listModels',
          summary: 'List the models',
          responses: {
            200: success('All models that are currently available to the API key.', 'ModelList'),
            ...errorResponses([...MODEL_CODES, 'catalogue_unavailable']),
          },
        },
        schemas: { ModelList: modelListSchema },
      },
      answer: (call, writer) =>
        engine.answer('list-models', call, writer, (context, principal) => replies.list(context, principal)),
    },
    {
      method: 'GET',
      path: '/models/{model_key}',
      openapi: {
        operation: {
          operationId: 'retrieveModel',
          summary: 'Show a model',
          parameters: [
            {
              name: 'model_key',
              in: 'path',
              required: true,
              description: 'The id of a model. Slashes may be written as they are or as `%2F`.',
              schema: { type: 'string', minLength: 1, maxLength: 256 },
            },
          ],
          responses: {
            200: success('The model.', 'Model'),
            ...errorResponses([
              ...MODEL_CODES,
              'model_not_allowed',
              'model_not_found',
              'catalogue_unavailable',
            ]),
          },
        },
        schemas: { Model: modelSchema },
      },
      answer: (call, writer, key) =>
        engine.answer('get-model', call, writer, (context, principal) =>
          replies.one(key, context, principal),
        ),
    },
  ]
}
