import { ProviderError } from '../../errors.js'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { sentMessages } from '../../protocol/sent-messages.js'
import { cleanLabel } from '../../protocol/text.js'
import { NOTHING_OMITTED, type Omissions, REASONING_FIELDS } from './omissions.js'

/**
 * The body to post, as JSON. Throws `unsupported-request` where a message holds an address that is neither `https:` nor
 * `data:`.
 */
export function buildRequestBody(
  request: ChatRequest,
  stream: boolean,
  omitted: Omissions = NOTHING_OMITTED,
): string | Buffer {
  const { stream_options: streamOptions, messages } = request
  const prepared = messages.map((message, index) => prepareMessage(message, index, omitted))
  const isAsSent = prepared.every((message, index) => message === messages[index])
  const sent = isAsSent ? sentMessages(messages) : undefined
  const body = Object.assign({}, request, {
    messages: sent === undefined ? prepared : undefined,
    stream: stream ? true : undefined,
    stream_options:
      stream && !omitted.usage
        ? { ...(isObject(streamOptions) && streamOptions), include_usage: true }
        : undefined,
  })
  const text = JSON.stringify(body)
  return sent === undefined ? text : withMessages(text, sent)
}

const NONE: readonly string[] = []

/** Adds `messages` to the JSON text of an object that is not empty. */
function withMessages(text: string, messages: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${text.slice(0, -1)},"messages":`), messages, Buffer.from('}')])
}

/** Without what the router or a client's library has added to a reply that is sent back: strict providers refuse it. */
function prepareMessage(message: ChatMessage, index: number, omitted: Omissions): ChatMessage {
  if (Array.isArray(message.content)) checkAddresses(message.content, `messages.${index}.content`)
  const unwanted = omitted.reasoning
    ? REASONING_FIELDS.filter((field) => field in message)
    : repeatedReasoning(message)
  const calls = message.tool_calls
  const hasParsedCalls = Array.isArray(calls) && calls.some(isParsedCall)
  if (unwanted.length === 0 && !hasParsedCalls && !('parsed' in message)) return message
  const { parsed: _, ...sent } = message
  for (const field of unwanted) delete sent[field]
  if (hasParsedCalls) sent.tool_calls = calls.map(withoutParsedArguments)
  return sent
}

/**
 * The name under which a reasoning stands a second time, as clients get it from the router. The first is that of the
 * provider it came from, which may want it back, and may refuse the other.
 */
function repeatedReasoning(message: ChatMessage): readonly string[] {
  const { reasoning } = message
  if (typeof reasoning !== 'string' || reasoning !== message.reasoning_content) return NONE
  const names = Object.keys(message)
  return [names.indexOf('reasoning') < names.indexOf('reasoning_content') ? 'reasoning_content' : 'reasoning']
}

function isParsedCall(call: unknown): call is { readonly function: JsonObject } {
  return isObject(call) && isObject(call.function) && 'parsed_arguments' in call.function
}

function withoutParsedArguments(call: unknown): unknown {
  if (!isParsedCall(call)) return call
  const { parsed_arguments: _, ...details } = call.function
  return { ...call, function: details }
}

function checkAddresses(content: readonly unknown[], path: string): void {
  const place = findOtherAddress(content, '')
  if (place === undefined) return
  const param = cleanLabel(`${path}${place}`)
  const message = `${param} must be an https: or a data: address.`
  throw new ProviderError('unsupported-request', message, { param, providerMessage: message })
}

/**
 * Where the first string stands that is named `…url` or `…uri`, alone or in a list, and is no address that may be sent
 * on, or a `file_data` that is such an address; whatever the types of the parts are. As deep as a body may be nested, 128.
 */
function findOtherAddress(value: unknown, name: string): string | undefined {
  if (typeof value === 'string') return isRefused(value, name) ? '' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const isList = Array.isArray(value)
  for (const [key, member] of Object.entries(value)) {
    const place = findOtherAddress(member, isList ? name : key)
    if (place !== undefined) return `.${key}${place}`
  }
  return undefined
}

function isRefused(value: string, name: string): boolean {
  return ADDRESS_NAME.test(name) ? !PASSED.test(value) : name === 'file_data' && isOtherAddress(value)
}

const ADDRESS_NAME = /ur[il]s?$/i
const PASSED = /^(?:https|data):/i
const SCHEME = /^\s*[a-z][a-z0-9+.-]*:/i

/** Base64 alone is no address. */
function isOtherAddress(value: string): boolean {
  return SCHEME.test(value) && !PASSED.test(value)
}
