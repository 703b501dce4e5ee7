import { CompatError, type ErrorCode } from '../errors.js'
import {
  MAX_MESSAGES,
  messageSchema,
  outlineSchema,
  priceLimit,
  type RequestOutline,
} from './chat-request-schema.js'
import { isObject, type JsonObject } from './json-values.js'
import { isModelKey, modelNotFound } from './model-key.js'
import { RequestFaults } from './request-faults.js'

/** A message as a client sent it. Unknown fields pass through. */
export interface ChatMessage {
  role: string
  content?: unknown
  [field: string]: unknown
}

/** A chat completion request as a provider gets it: without the router's own fields. */
export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  stream?: boolean | null
  [field: string]: unknown
}

/** How a caller steers the choice of route. */
export interface RoutingPreferences {
  readonly order?: readonly string[]
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly allowFallbacks: boolean
  readonly sort?: 'price' | 'latency' | 'throughput'
  /** Decimal strings, in the units of prices. */
  readonly maxPrice?: { readonly input?: string; readonly output?: string; readonly request?: string }
  readonly requireParameters: boolean
}

/** The fields that are the router's own and never reach a provider. */
export interface OwnFields {
  readonly sessionId?: string
  readonly provider?: string
  readonly providerKey?: string
  readonly routing?: RoutingPreferences
  readonly appId?: string
  readonly action?: unknown
  readonly connected?: unknown
}

export interface ParsedChatRequest {
  readonly stream: boolean
  /** `n`, 1 where absent. */
  readonly n: number
  /** What goes upstream, `model` still being the model key. */
  readonly forward: ChatRequest
  readonly own: OwnFields
}

/** The router's own fields; `stream_options` is made anew by each adapter. */
const NOT_FORWARDED = new Set([
  'session_id',
  'provider',
  'provider_key',
  'routing',
  'app_id',
  'action',
  'connected',
  'stream_options',
  '__proto__',
])

const ONE_MODEL = 'A request names one model in `model`; `routing` steers which provider serves it'
const OWN_ENDPOINT = 'Where a request goes, and with which credential, is not for the request to say'

/** Fields that would have another model served than was authorised and priced, or another bill made. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['models', ONE_MODEL],
  ['route', ONE_MODEL],
  ['fallbacks', ONE_MODEL],
  ['preset', ONE_MODEL],
  ['api_key', `${OWN_ENDPOINT}; use \`provider\` and \`provider_key\` to call with a key of your own`],
  ['api_base', OWN_ENDPOINT],
  ['base_url', OWN_ENDPOINT],
  ['extra_body', 'Put its fields into the request itself'],
  ['extra_headers', OWN_ENDPOINT],
  ['mock_response', 'There are no mock answers'],
])
const OUTLINE_FIELDS: ReadonlySet<string> = new Set(Object.keys(outlineSchema.shape))

/** Fields that are read here, priced, clamped, refused or paid for. */
const READ_FIELDS: ReadonlySet<string> = new Set([
  ...OUTLINE_FIELDS,
  ...NOT_FORWARDED,
  ...REFUSED.keys(),
  ...'messages max_tokens max_completion_tokens tools tool_choice functions function_call'.split(' '),
  ...'plugins web_search_options background store service_tier modalities audio'.split(' '),
])
const LONGEST_READ_CHARS = Math.max(...[...READ_FIELDS].map((field) => field.length))
const PLAIN_FIELD = /^[a-z0-9_]+$/
/** Every step of a call goes over them, and more than a hundred no client has. */
const MAX_FIELDS = 1_000

function refuseFields(keys: readonly string[]): void {
  for (const key of keys) {
    const why = REFUSED.get(key)
    if (why !== undefined) {
      throw new CompatError('unsupported_parameter', `${key} is not accepted. ${why}.`, { param: key })
    }
    refuseRespelt(key)
  }
}

/** Some providers read a field in any case: one respelt would be theirs to obey and not ours to price. */
function refuseRespelt(key: string): void {
  // None is shorter in lower case.
  if (READ_FIELDS.has(key) || key.length > LONGEST_READ_CHARS || PLAIN_FIELD.test(key)) return
  const field = key.toLowerCase().replaceAll('\u017f', 's').replaceAll('\u212a', 'k')
  if (field === key || !READ_FIELDS.has(field)) return
  throw new CompatError('unsupported_parameter', `${field} is accepted in this spelling only.`, {
    param: field,
  })
}

const CODES = [
  ['provider_key', 'provider_key_not_encrypted'],
  ['session_id', 'invalid_session_id'],
] as const satisfies readonly (readonly [string, ErrorCode])[]

/**
 * Checks a request body and splits it into what goes upstream and what is the router's own.
 *
 * Throws a `CompatError` of status 400 (404 for a `model` that can be none). Its message names the first fault, its
 * `details` at most 20; neither ever holds a value of the client's. Messages are taken as they are, not copied; own
 * `__proto__` is dropped.
 */
export function parseChatRequest(body: unknown): ParsedChatRequest {
  if (!isObject(body)) throw new CompatError('invalid_request', 'The request body must be a JSON object.')
  const keys = Object.keys(body)
  if (keys.length > MAX_FIELDS) {
    throw new CompatError('invalid_request', 'The request body has more than 1,000 fields.')
  }
  refuseFields(keys)
  const outline = checkedOutline(body, keys)
  if (!isModelKey(outline.model)) throw modelNotFound(outline.model)
  const { provider, provider_key: providerKey } = outline
  if (provider !== undefined && providerKey === undefined) {
    throw new CompatError(
      'invalid_request',
      'provider_key is required beside provider. To choose a provider without a key of your own, use routing.only.',
      { param: 'provider_key' },
    )
  }
  if (providerKey !== undefined && provider === undefined) {
    throw new CompatError(
      'invalid_request',
      'provider is required beside provider_key: the name of the provider that the key is for.',
      {
        param: 'provider',
      },
    )
  }
  return {
    stream: outline.stream === true,
    n: outline.n ?? 1,
    forward: forwarded(body),
    own: {
      sessionId: outline.session_id,
      provider,
      providerKey,
      routing: outline.routing == null ? undefined : routingPreferences(outline.routing),
      appId: outline.app_id ?? undefined,
      action: outline.action,
      connected: outline.connected,
    },
  }
}

function checkedOutline(body: Readonly<JsonObject>, keys: readonly string[]): RequestOutline {
  const outline = plainOutline(body, keys) ?? outlineSchema.safeParse(body)
  const faults = new RequestFaults()
  if (!outline.success) faults.addIssues(outline.error.issues)
  checkMessages(body.messages, faults)
  if (!outline.success || faults.list.length > 0) throw faults.error(CODES)
  return outline.data
}

/** Of most requests, which have none of these fields but a model and `stream`: what {@link outlineSchema} makes of it. */
function plainOutline(
  { model, stream }: Readonly<JsonObject>,
  keys: readonly string[],
): { success: true; data: RequestOutline } | undefined {
  if (typeof model !== 'string' || model === '') return undefined
  if (stream !== undefined && typeof stream !== 'boolean') return undefined
  for (const key of keys) {
    if (OUTLINE_FIELDS.has(key) && key !== 'model' && key !== 'stream') return undefined
  }
  return { success: true, data: { model, stream } }
}

/** One by one, so that a body of nothing but bad messages ends with the twentieth fault. */
function checkMessages(messages: unknown, faults: RequestFaults): void {
  if (!Array.isArray(messages)) {
    faults.add('messages', messages === undefined ? 'is required' : 'must be an array of messages')
    return
  }
  if (messages.length === 0) faults.add('messages', 'must hold at least one message')
  if (messages.length > MAX_MESSAGES) {
    faults.add('messages', 'must hold at most 10,000 messages')
    return
  }
  for (let index = 0; index < messages.length && !faults.full; index += 1) {
    if (isPlainMessage(messages[index])) continue
    const checked = messageSchema.safeParse(messages[index])
    if (!checked.success) faults.addIssues(checked.error.issues, ['messages', index])
  }
}

/** What most messages are, and what {@link messageSchema} takes as it is. */
function isPlainMessage(message: unknown): boolean {
  return isObject(message) && typeof message.role === 'string' && typeof message.content === 'string'
}

function forwarded(body: Readonly<JsonObject>): ChatRequest {
  const request: Record<string, unknown> = {}
  for (const key of Object.keys(body)) {
    if (!NOT_FORWARDED.has(key)) request[key] = body[key]
  }
  return request as ChatRequest
}

function routingPreferences(routing: NonNullable<RequestOutline['routing']>): RoutingPreferences {
  const { max_price: most } = routing
  const limit = (value: number | string | undefined) => (value === undefined ? undefined : priceLimit(value))
  return {
    order: routing.order,
    only: routing.only,
    ignore: routing.ignore,
    allowFallbacks: routing.allow_fallbacks ?? true,
    sort: routing.sort,
    maxPrice: most && { input: limit(most.input), output: limit(most.output), request: limit(most.request) },
    requireParameters: routing.require_parameters ?? false,
  }
}
