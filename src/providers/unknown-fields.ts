import { isProviderError, ProviderError } from '../base/errors.js'
import { writeFields } from '../conversation/chat-fields.js'
import type { ConversationRequest } from '../conversation/conversation.js'
import { isObject, type JsonObject } from '../protocol/json-values.js'

const LONGEST_WORDS = 4_096

/** Returns the field and the message with which a provider rejected a request; empty for any other failure. */
export function refusalOf(failure: unknown): string {
  if (!isProviderError(failure) || failure.reason !== 'status') return ''
  const { param = '', providerMessage = '', status } = failure
  if (status !== 400 && status !== 422) return ''
  return `${param.slice(0, LONGEST_WORDS)} ${providerMessage.slice(0, LONGEST_WORDS)}`
}

/** Phrases of OpenAI, Anthropic, Groq, Google, Mistral and vLLM for a field that they do not know. */
const SAYS_UNKNOWN =
  /\bunsupported\b|\bunknown (?:name|parameter|field)\b|\bunrecognized\b|\bnot permitted\b|\bcannot find field\b/i
/** A field that is known, but not with this value. */
const SAYS_VALUE = /\bunsupported value\b/i

export function saysUnknown(words: string): boolean {
  return SAYS_UNKNOWN.test(words)
}

/** Returns the fields that a provider names, and their members as in `text.verbosity`. Members of a list are not among them. */
export function fieldsIn(words: string): ReadonlySet<string> {
  return new Set(words.match(/(?<![\w.\]])\w+(?:\.\w+)*/g))
}

/** Members of a request that every provider of its API knows. */
const NOT_FIELDS: ReadonlySet<string> = new Set(
  'model messages input system tools stream stream_options'.split(' '),
)

/**
 * Returns the failure as that of a request that this provider cannot express, if it rejected a field because it does not
 * know it. Another provider may know it, and without a field that is only a hint the call can go on.
 *
 * @param request as the client sent it, in the API of the provider
 */
export function unknownField(failure: unknown, request: JsonObject): ProviderError | undefined {
  return asUnsupported(failure, (named) => named.find((path) => isIn(request, path)))
}

/** Does the same if the adapter made the request from a conversation. Its client knows settings by the names of chats. */
export function unknownSetting(
  failure: unknown,
  { settings }: Partial<ConversationRequest>,
): ProviderError | undefined {
  // A provider that has accepted the request knows its fields.
  if (settings === undefined) return undefined
  return asUnsupported(failure, (named) => {
    const fields = writeFields(settings)
    return named.find((path) => isIn(fields, path)) ?? sourceOf(named, fields)
  })
}

function asUnsupported(
  failure: unknown,
  find: (named: readonly string[]) => string | undefined,
): ProviderError | undefined {
  const words = refusalOf(failure)
  if (!isProviderError(failure) || !saysUnknown(words) || SAYS_VALUE.test(words)) return undefined
  const param = find([...fieldsIn(words)])
  if (param === undefined) return undefined
  const { address, cause, message, providerCode, providerMessage, status } = failure
  const fields = { address, cause, param, providerCode, providerMessage, status }
  return new ProviderError('unsupported-request', message, fields)
}

function isIn(request: JsonObject, path: string): boolean {
  const [field = '', member, ...deeper] = path.split('.')
  if (NOT_FIELDS.has(field) || deeper.length > 0 || !has(request, field)) return false
  if (member === undefined) return true
  const value = request[field]
  return isObject(value) && has(value, member)
}

const has = (object: JsonObject, name: string): boolean =>
  Object.hasOwn(object, name) && object[name] !== undefined

const OF_REASONING = ['reasoning_effort', 'reasoning']
/** The fields of a chat that become a field of the Responses or the Messages API. */
const SOURCES: ReadonlyMap<string, readonly string[]> = new Map([
  ['reasoning', OF_REASONING],
  ['reasoning.effort', OF_REASONING],
  ['thinking', OF_REASONING],
  ['thinking.budget_tokens', OF_REASONING],
  ['output_config', [...OF_REASONING, 'response_format']],
  ['output_config.effort', OF_REASONING],
  ['output_config.format', ['response_format']],
  ['text.format', ['response_format']],
  ['text.verbosity', ['verbosity']],
  ['max_output_tokens', ['max_completion_tokens', 'max_tokens']],
  ['stop_sequences', ['stop']],
  ['tool_choice.disable_parallel_tool_use', ['parallel_tool_calls']],
  ['metadata.user_id', ['user']],
])

function sourceOf(named: readonly string[], request: JsonObject): string | undefined {
  return named.flatMap((path) => SOURCES.get(path) ?? []).find((field) => has(request, field))
}
