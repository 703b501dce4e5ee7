import type { Model } from '../../../contracts/catalogue.js'
import type { Asked } from '../../../contracts/operation.js'
import type { Route } from '../../../contracts/providers.js'
import type { ConversationRequest } from '../../../conversation/conversation.js'
import { Recipient, turnsFor } from '../../../conversation/thoughts.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { MessagesRequest } from '../../../protocol/messages-request.js'
import { KNOWN_FIELDS } from '../../../protocol/request-fields/known-fields.js'
import { closeRequest, openRequest } from '../../../protocol/request-fields/open-request.js'
import { OUTLINE_NAMES } from '../../../protocol/request-fields/own-fields.js'
import { REFUSED_FIELDS, Spellings } from '../../../protocol/request-fields/refused-fields.js'
import type { RequestHeaders } from '../../../protocol/request-headers.js'
import { FIELD_NAMES, readFields } from './fields.js'
import { namesReasoning } from './native-request.js'
import { toConversation } from './to-conversation.js'

export interface AskedMessages extends Asked {
  /** The request for providers of this API, with the model key as `model`. */
  readonly native: MessagesRequest
  /** Whether the request has a prompt cache mark. */
  readonly marksCache: boolean
}

const NOT_PARAMETERS: ReadonlySet<string> = new Set([...OUTLINE_NAMES, '__proto__'])
const SPELLINGS = new Spellings([
  ...OUTLINE_NAMES,
  ...FIELD_NAMES,
  ...KNOWN_FIELDS.keys(),
  ...REFUSED_FIELDS.keys(),
])

const CONVERTED = new Set(['stream', 'metadata', 'output_config', 'output_format'])

/**
 * Checks a request and splits it into the part for providers and the router's own fields. Does not change the body.
 *
 * Throws a `CompatError` of status 400, or of status 404 if no model can have the name `model`.
 *
 * @param requiresLimit whether `max_tokens` is required
 */
export function readRequest(body: JsonObject, headers: RequestHeaders, requiresLimit = true): AskedMessages {
  const request = openRequest(body, SPELLINGS)
  const { keys, reading } = request
  const names = keys.filter((key) => !NOT_PARAMETERS.has(key))
  const fields = readFields(body, names, requiresLimit, reading)
  const { leftOut, model, own, unlisted } = closeRequest(request)
  const { metadata } = fields
  const userId = isObject(metadata) ? metadata.user_id : undefined
  const native: MessagesRequest = { model, messages: fields.messages as JsonObject[] }
  for (const name of Object.keys(fields)) if (!CONVERTED.has(name)) native[name] = fields[name]
  const config = outputConfig(fields)
  if (config !== undefined) native.output_config = config
  if (isText(userId)) native.metadata = { user_id: userId }
  const betas = readBetas(headers)
  if (betas.length > 0) native.betas = betas
  return {
    model,
    stream: fields.stream === true,
    user: isText(userId) ? userId : undefined,
    own,
    unlisted,
    leftOut,
    native,
    marksCache: reading.marksCache,
  }
}

/** `output_format` is the older name of `output_config.format`. */
function outputConfig({ output_config: config, output_format: format }: JsonObject): unknown {
  if (format === undefined) return config
  return { format, ...(isObject(config) && config) }
}

/** Returns the request as a conversation with everything that a provider could bill, to estimate its input. */
export function wholeConversation({ native }: AskedMessages): ConversationRequest {
  return toConversation(native)
}

/** Returns the conversation for a route without this API. Its provider gets only its own reasoning. */
export function conversationFor({ native }: AskedMessages, model: Model, route: Route): ConversationRequest {
  const conversation = toConversation({ ...native, system: withoutBillingLine(native.system) })
  conversation.turns = turnsFor(conversation.turns, new Recipient(route.provider, route.upstreamModel))
  // Agents send an effort to every model.
  if (!namesReasoning(model, route))
    conversation.settings = { ...conversation.settings, reasoning: undefined }
  return conversation
}

/** The first line of Claude Code's system prompt. */
const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n?/

/**
 * Returns a system prompt without the line that only Anthropic reads. It differs in each request, so no other provider
 * could serve the prompt from its cache.
 */
function withoutBillingLine(system: unknown): unknown {
  if (typeof system === 'string') return system.replace(BILLING_LINE, '')
  if (!Array.isArray(system)) return system
  return system.flatMap((block: JsonObject) => {
    if (!isText(block.text) || !BILLING_LINE.test(block.text)) return [block]
    const text = block.text.replace(BILLING_LINE, '')
    return text === '' ? [] : [{ ...block, text }]
  })
}

/**
 * The beta features that a caller may use. Each only changes the shape of a request or a reply, or shortens the input.
 * Others are not sent: they cost more than the price of a model, reach files, tools or servers of the host's account,
 * or are unknown. A host can set `anthropic-beta` in the headers of its adapter.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  'adaptive-thinking-2026-01-28',
  'claude-code-20250219',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'max-tokens-3-5-sonnet-2024-07-15',
  'mid-conversation-system-2026-04-07',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'redact-thinking-2026-02-12',
  'structured-outputs-2025-11-13',
  'thinking-display-updates-2026-08-18',
  'thinking-token-count-2026-05-13',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
])

/** Returns the allowed names in the `anthropic-beta` header, each once. */
function readBetas(headers: RequestHeaders): readonly string[] {
  const names = headers.header('anthropic-beta')?.split(',') ?? []
  return [...new Set(names.map((name) => name.trim()).filter((name) => ALLOWED.has(name)))]
}
