import type { ErrorCode } from '../../base/errors.js'
import type { Principal } from '../../contracts/credentials.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Api, ModelOperation } from '../../contracts/operation.js'
import type { IncomingCall, ReplyWriter } from '../../contracts/reply.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import type { Engine } from '../../engine/engine.js'
import { errorResponses, success } from '../../protocol/openapi-parts.js'
import { messages } from '../messages/index.js'
import { type ListedModel, modelList, modelObject } from './model-object.js'
import { ModelReplies, type ModelsBody } from './model-replies.js'
import { modelListSchema, modelSchema } from './model-schemas.js'

/** The error codes of both endpoints. Limits on calls do not apply to them. */
const MODEL_CODES: readonly ErrorCode[] = [
  'missing_credential',
  'invalid_api_key',
  'expired_credential',
  'revoked_credential',
  'origin_not_allowed',
  'account_suspended',
  'internal_error',
  'credential_store_unavailable',
  'shutting_down',
]

/** Writes the answer for a caller. The caller is unknown if the models are public. */
type AnswerModels = (
  replies: ModelReplies,
  context: LazyContext,
  principal?: Principal,
) => Promise<ModelsBody>

/** The clients of one API: how models are shown to them, how they send their credential, and how they read errors. */
interface Audience {
  readonly replies: ModelReplies
  readonly api: Api
}

/**
 * `GET /models` and `GET /models/{model_key}`. If they are public, a request without a credential is answered too, with
 * prices before any markup. Clients of Anthropic's API send a version header and get that API's shapes.
 */
export function modelEndpoints(
  engine: Engine,
  operations: readonly ModelOperation[],
  { isPublic }: { readonly isPublic: boolean },
): readonly Endpoint[] {
  const { options } = engine
  const usual: Audience = {
    replies: new ModelReplies(options, operations, { one: modelObject, list: modelList }),
    api: {},
  }
  const ofMessages: Audience = {
    replies: new ModelReplies(options, operations, { one: messageModel, list: messageModelList }),
    api: messages,
  }
  const answer = (
    name: string,
    call: IncomingCall,
    writer: ReplyWriter,
    body: AnswerModels,
  ): Promise<void> => {
    const { api, replies } = call.header('anthropic-version') === undefined ? usual : ofMessages
    const { tokenHeader } = api
    const hasToken =
      call.authorizationLines > 0 || (tokenHeader !== undefined && call.header(tokenHeader) !== undefined)
    return isPublic && !hasToken
      ? engine.answerPublic(call, writer, (context) => body(replies, context), api)
      : engine.answer(
          name,
          call,
          writer,
          async (context, { principal }) => (await body(replies, context, principal)).bytes,
          api,
        )
  }
  return [
    {
      method: 'GET',
      path: '/models',
      openapi: {
        operation: {
          operationId: 'listModels',
          summary: 'List the models',
          parameters: [
            {
              name: 'supported_parameters',
              in: 'query',
              description: 'Only models that take all of these, with commas between them.',
              schema: { type: 'string' },
            },
            {
              name: 'operation',
              in: 'query',
              description: 'Only models that serve this operation.',
              schema: { type: 'string', enum: operations.map((operation) => operation.name) },
            },
          ],
          responses: {
            200: success('All models that are currently available to the API key.', 'ModelList'),
            ...errorResponses([
              ...MODEL_CODES,
              'invalid_request',
              'catalogue_unavailable',
              'provider_registry_unavailable',
            ]),
          },
        },
        schemas: { ModelList: modelListSchema },
      },
      answer: (call, writer) =>
        answer('list-models', call, writer, (replies, context, principal) =>
          replies.list(call.query, context, principal),
        ),
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
        answer('get-model', call, writer, (replies, context, principal) =>
          replies.one(key, context, principal),
        ),
    },
  ]
}

/** Returns a model as Anthropic's API shows it. */
function messageModel({ created, id, name }: ListedModel) {
  return {
    type: 'model' as const,
    id,
    display_name: name ?? id,
    created_at: timeOf(created),
  }
}

/** Returns the envelope of the model list in Anthropic's API, as a single page. */
function messageModelList(models: readonly ListedModel[]) {
  return {
    data: [] as const,
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }
}

/** The latest time that JavaScript can write, in Unix seconds. */
const LATEST = 8_640_000_000_000

function timeOf(seconds: number): string {
  const isTime = Math.abs(seconds) <= LATEST
  return new Date(isTime ? Math.floor(seconds) * 1_000 : 0).toISOString().replace('.000Z', 'Z')
}
