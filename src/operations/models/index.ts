import type { ErrorCode } from '../../base/errors.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Door } from '../../contracts/operation.js'
import type { IncomingCall } from '../../contracts/reply.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { messages } from '../messages/index.js'
import { messageModel, messageModelList } from './message-models.js'
import { modelList, modelObject } from './model-object.js'
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

/** One API's clients: how models are shown to them, and how they send their credential and read errors. */
interface Audience {
  readonly replies: ModelReplies
  readonly door: Door
}

/** `GET /models` and `GET /models/{model_key}`. Clients of Anthropic's API send their version of it, and get its shapes. */
export function modelEndpoints(engine: Engine): readonly Endpoint[] {
  const { options } = engine
  const usual: Audience = {
    replies: new ModelReplies(options, { one: modelObject, list: modelList }),
    door: {},
  }
  const ofMessages: Audience = {
    replies: new ModelReplies(options, { one: messageModel, list: messageModelList }),
    door: messages,
  }
  const audienceOf = ({ headers }: IncomingCall): Audience =>
    headers['anthropic-version'] === undefined ? usual : ofMessages
  return [
    {
      method: 'GET',
      path: '/models',
      openapi: {
        operation: {
          operationId: 'listModels',
          summary: 'List the models',
          responses: {
            200: success('All models that are currently available.', 'ModelList'),
            ...errorResponses([...MODEL_CODES, 'catalogue_unavailable']),
          },
        },
        schemas: { ModelList: modelListSchema },
      },
      answer: (call, writer) => {
        const { door, replies } = audienceOf(call)
        return engine.answer('list-models', call, writer, (context) => replies.list(context), door)
      },
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
            ...errorResponses([...MODEL_CODES, 'model_not_found', 'catalogue_unavailable']),
          },
        },
        schemas: { Model: modelSchema },
      },
      answer: (call, writer, key) => {
        const { door, replies } = audienceOf(call)
        return engine.answer('get-model', call, writer, (context) => replies.one(key, context), door)
      },
    },
  ]
}
