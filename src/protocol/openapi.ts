import * as z from 'zod'
import { type ErrorCode, errorCodes } from '../errors.js'
import { chatRequestSchema } from './chat-request-schema.js'
import {
  chunkSchema,
  completionSchema,
  errorFrameSchema,
  errorSchema,
  keySetSchema,
  modelListSchema,
  modelSchema,
  usageSchema,
} from './response-schemas.js'

const SCHEMAS = {
  ChatCompletionRequest: chatRequestSchema,
  ChatCompletion: completionSchema,
  ChatCompletionChunk: chunkSchema,
  StreamError: errorFrameSchema,
  Usage: usageSchema,
  Model: modelSchema,
  ModelList: modelListSchema,
  Error: errorSchema,
  EnvelopeKeys: keySetSchema,
}

type SchemaName = keyof typeof SCHEMAS

/** What either question for models may end with. Limits on calls are not for these. */
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

const ROUTING_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['not_found', 'method_not_allowed'])

/**
 * The OpenAPI 3.1 description of the routes, made from the schemas that check requests. Its one server is relative to
 * where the document itself is found, so it holds wherever the router is mounted. A fresh object at every call.
 */
export function createOpenApiDocument(options: { readonly version: string }) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Chat completions',
      version: options.version,
      description: 'An OpenAI-compatible chat completions API that charges in credits.',
    },
    servers: [{ url: '.' }],
    security: [{ bearer: [] }],
    paths: {
      '/chat/completions': { post: chatOperation() },
      '/models': { get: listOperation() },
      '/models/{model_key}': { get: modelOperation() },
      '/envelope-keys': { get: envelopeKeysOperation() },
      '/openapi.json': { get: documentOperation() },
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, or an access token with the scope `models.run`.',
        },
      },
      schemas: componentSchemas(),
    },
  }
}

function chatOperation() {
  return {
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
  }
}

function listOperation() {
  return {
    operationId: 'listModels',
    summary: 'List the models',
    responses: {
      200: success('All models, as they are offered at this moment.', 'ModelList'),
      ...errorResponses([...MODEL_CODES, 'catalogue_unavailable']),
    },
  }
}

function modelOperation() {
  return {
    operationId: 'retrieveModel',
    summary: 'Show a model',
    parameters: [
      {
        name: 'model_key',
        in: 'path',
        required: true,
        description: 'The id of a model. Its slashes may stand as they are or as `%2F`.',
        schema: { type: 'string', minLength: 1, maxLength: 256 },
      },
    ],
    responses: {
      200: success('The model.', 'Model'),
      ...errorResponses([...MODEL_CODES, 'model_not_found', 'catalogue_unavailable']),
    },
  }
}

function envelopeKeysOperation() {
  return {
    operationId: 'listEnvelopeKeys',
    summary: 'Show the public keys to seal provider keys with',
    security: [],
    responses: {
      200: success('A JSON Web Key Set.', 'EnvelopeKeys'),
      ...errorResponses(['not_found', 'internal_error', 'envelope_opener_unavailable']),
    },
  }
}

function documentOperation() {
  return {
    operationId: 'showOpenApi',
    summary: 'Show this document',
    security: [],
    responses: {
      200: {
        description: 'An OpenAPI 3.1 document.',
        headers: REQUEST_ID,
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      ...errorResponses(['not_found', 'internal_error']),
    },
  }
}

const REQUEST_ID = {
  'x-request-id': { description: 'Names this request to the operator.', schema: { type: 'string' } },
}
const RETRY_AFTER = {
  'retry-after': { description: 'Seconds.', schema: { type: 'integer', minimum: 1, maximum: 59 } },
}
/** With credit on hold, and a call under the same key, there is something to wait for too. */
const MAY_WAIT = new Set([402, 409, 429, 503])
const CHALLENGE = { 'www-authenticate': { schema: { type: 'string' } } }

/** One response a status, naming the codes that come with it. */
function errorResponses(codes: readonly ErrorCode[]) {
  const byStatus = new Map<number, string[]>()
  for (const { code, status } of errorCodes) {
    if (codes.includes(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(', '),
        headers: {
          ...REQUEST_ID,
          ...(MAY_WAIT.has(status) ? RETRY_AFTER : {}),
          ...(status === 401 ? CHALLENGE : {}),
        },
        content: json('Error'),
      },
    ]),
  )
}

function success(description: string, schema: SchemaName) {
  return { description, headers: REQUEST_ID, content: json(schema) }
}

function header(name: string, description: string, schema: object) {
  return { name, in: 'header', required: false, description, schema }
}

function json(schema: SchemaName) {
  return { 'application/json': { schema: reference(schema) } }
}

function reference(schema: SchemaName) {
  return { $ref: `#/components/schemas/${schema}` }
}

function componentSchemas() {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _address, ...schema }]) => [id, schema]),
  )
}
