import { CompatError, type ErrorCode } from '../errors.js'
import { outlineSchema, priceLimit, type RequestOutline } from './chat-request-schema.js'
import { isObject, type JsonObject } from './json-values.js'
import { isModelKey, modelNotFound } from './model-key.js'
import { readMessages } from './request-fields/messages.js'
import { readParameters, spellingsOf } from './request-fields/parameters.js'
import { RequestReading, type Unlisted } from './request-fields/reading.js'
import { refuseFields } from './request-fields/refused-fields.js'

/** A message, without members that the router does not know. */
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
  /** What reaches a provider only if the host names it in `supportedParameters`, or its adapter in `parameters`. */
  readonly unlisted: readonly Unlisted[]
  /** Members that the router does not know and left out, such as `messages.content.extra`. */
  readonly leftOut: readonly string[]
  /** Whether a prompt cache mark is in it. */
  readonly marksCache: boolean
}

const NOT_PARAMETERS: ReadonlySet<string> = new Set([
  ...Object.keys(outlineSchema.shape),
  'messages',
  '__proto__',
])
const SPELLINGS = spellingsOf(Object.keys(outlineSchema.shape))
/** Every step of a call goes over them, and more than a hundred no client has. */
const MAX_FIELDS = 1_000

const CODES = [
  ['provider_key', 'provider_key_not_encrypted'],
  ['session_id', 'invalid_session_id'],
] as const satisfies readonly (readonly [string, ErrorCode])[]

/**
 * Checks a request body and splits it into what goes upstream and what is the router's own.
 *
 * Throws a `CompatError` of status 400 (404 for a `model` that can be none). Its message names the first fault, its
 * `details` at most 20; neither ever holds a value of the client's. The messages are the very list of the body if all of
 * it is to be sent as it came; nothing of the body is changed.
 */
export function parseChatRequest(body: unknown): ParsedChatRequest {
  if (!isObject(body)) throw new CompatError('invalid_request', 'The request body must be a JSON object.')
  const keys = Object.keys(body)
  if (keys.length > MAX_FIELDS) {
    throw new CompatError('invalid_request', 'The request body has more than 1,000 fields.')
  }
  refuseFields(keys, SPELLINGS)
  const reading = new RequestReading()
  const outline = readOutline(body, keys, reading)
  const messages = readMessages(body.messages, reading)
  const parameters = readParameters(
    body,
    keys.filter((key) => !NOT_PARAMETERS.has(key)),
    reading,
  )
  if (outline === undefined || reading.faults.list.length > 0) throw reading.faults.error(CODES)
  checkPin(outline)
  return {
    stream: parameters.stream === true,
    n: (parameters.n as number | undefined) ?? 1,
    forward: Object.assign({ model: outline.model, messages: messages as ChatMessage[] }, parameters),
    own: ownFields(outline),
    unlisted: reading.unlisted,
    leftOut: [...reading.leftOut],
    marksCache: reading.marksCache,
  }
}

function readOutline(
  body: JsonObject,
  keys: readonly string[],
  reading: RequestReading,
): RequestOutline | undefined {
  const outline = plainOutline(body, keys) ?? outlineSchema.safeParse(body)
  if (outline.success) {
    if (!isModelKey(outline.data.model)) throw modelNotFound(outline.data.model)
    return outline.data
  }
  reading.faults.addIssues(outline.error.issues)
  return undefined
}

/** What {@link outlineSchema} makes of most requests, which have none of its fields but a model. */
function plainOutline(
  { model }: JsonObject,
  keys: readonly string[],
): { success: true; data: RequestOutline } | undefined {
  if (typeof model !== 'string' || model === '') return undefined
  for (const key of keys) {
    if (NOT_PARAMETERS.has(key) && key !== 'model' && key !== 'messages') return undefined
  }
  return { success: true, data: { model } }
}

/** A provider and a key for it come together. */
function checkPin({ provider, provider_key: providerKey }: RequestOutline): void {
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
      { param: 'provider' },
    )
  }
}

function ownFields(outline: RequestOutline): OwnFields {
  return {
    sessionId: outline.session_id,
    provider: outline.provider,
    providerKey: outline.provider_key,
    routing: outline.routing == null ? undefined : routingPreferences(outline.routing),
    appId: outline.app_id ?? undefined,
    action: outline.action,
    connected: outline.connected,
  }
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
