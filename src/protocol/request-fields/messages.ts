import { isObject, type JsonObject } from '../json-values.js'
import { inlineAddress } from './addresses.js'
import { readParts } from './parts.js'
import {
  asItCame,
  boolean,
  cacheControl,
  listOf,
  type Member,
  type Members,
  membersOf,
  objectOf,
  omitted,
  type RequestReading,
  readList,
  readObject,
  text,
} from './reading.js'

export const MAX_MESSAGES = 10_000
const MAX_CALLS = 1_024
const MAX_ITEMS = 1_000

/** Leaves an empty list out: clients send such lists back with every reply, and strict providers refuse them. */
const emptyOr =
  (member: Member): Member =>
  (value, place, reading) =>
    Array.isArray(value) && value.length === 0
      ? omitted(value, place, reading)
      : member(value, place, reading)

const functionCall = objectOf(membersOf({ name: text, arguments: text, parsed_arguments: omitted }))

/** A Gemini model refuses its own call without the signature that it attached. */
const extraContent = objectOf(membersOf({ google: objectOf(membersOf({ thought_signature: text })) }))

const toolCalls = listOf(
  objectOf(
    membersOf({
      id: text,
      type: text,
      index: omitted,
      function: functionCall,
      custom: objectOf(membersOf({ name: text, input: text })),
      extra_content: extraContent,
    }),
  ),
  MAX_CALLS,
)

/** Audio of an earlier reply that the provider keeps. It is billed as audio. */
const audio: Member = (value, place, reading) => {
  reading.mustBeNamed('audio', place)
  return objectOf(membersOf({ id: text }))(value, place, reading)
}

const textOrNumber: Member = (value, place, { faults }) => {
  if (typeof value !== 'string' && typeof value !== 'number')
    faults.add(place, 'must be a string or a number')
  return value
}

/** OpenRouter's reasoning details. Another member could contain media, which no hold covers. */
const reasoningDetail = objectOf(
  membersOf({
    type: text,
    id: text,
    format: text,
    index: textOrNumber,
    text,
    summary: text,
    data: text,
    signature: text,
  }),
)

/** LiteLLM's thinking blocks. */
const thinkingBlock = objectOf(membersOf({ type: text, thinking: text, signature: text, data: text }))

const images = listOf(
  objectOf(
    membersOf({
      type: text,
      index: omitted,
      image_url: (value, place, reading) =>
        isObject(value)
          ? readObject(value, membersOf({ url: inlineAddress, detail: text }), place, reading)
          : inlineAddress(value, place, reading),
    }),
  ),
  MAX_ITEMS,
)

/** Refuses members with such a name, because content that is meant for the model would silently be left out. */
const content: Member = (value, place, { faults }) => {
  faults.add(place, 'is not accepted here; put it into content, as a part')
  return value
}

const CONTENT_ELSEWHERE = Object.fromEntries(
  'images image videos audios documents files attachments'.split(' ').map((name) => [name, content]),
)

/** `role` and `content` are read separately. */
const COMMON = { role: asItCame, content: asItCame, name: text, cache_control: cacheControl }

const OTHER: Members = membersOf({ ...COMMON, ...CONTENT_ELSEWHERE })
const TOOL: Members = membersOf({
  ...COMMON,
  ...CONTENT_ELSEWHERE,
  tool_call_id: text,
  is_error: boolean,
})
const ASSISTANT: Members = membersOf({
  ...COMMON,
  tool_calls: emptyOr(toolCalls),
  function_call: functionCall,
  refusal: text,
  audio,
  reasoning: text,
  reasoning_content: text,
  reasoning_details: emptyOr(listOf(reasoningDetail, MAX_ITEMS)),
  thinking_blocks: emptyOr(listOf(thinkingBlock, MAX_ITEMS)),
  images: emptyOr(images),
  prefix: boolean,
  partial: boolean,
  // From earlier replies. No provider reads them.
  parsed: omitted,
  annotations: omitted,
  citations: omitted,
})

const CONTENT_RULE = 'must be a string or an array of typed parts'

/** Reads the messages of a request. Returns the same list if it can be sent unchanged, so that its bytes can be too. */
export function readMessages(messages: unknown, reading: RequestReading): readonly unknown[] {
  const { faults } = reading
  if (!Array.isArray(messages)) {
    faults.add('messages', messages === undefined ? 'is required' : 'must be an array of messages')
    return []
  }
  if (messages.length === 0) faults.add('messages', 'must have at least one message')
  if (messages.length > MAX_MESSAGES) {
    faults.add('messages', 'must have at most 10,000 messages')
    return messages
  }
  return readList(messages, readMessage, 'messages', reading)
}

const readMessage: Member = (message, place, reading) => {
  if (isPlainMessage(message)) return message
  const { faults } = reading
  if (!isObject(message)) {
    faults.add(place, 'must be an object with a role and content')
    return message
  }
  const { role } = message
  if (typeof role !== 'string') {
    faults.add(`${place}.role`, role === undefined ? 'is required' : 'must be a string')
  }
  const read = readObject(message, membersFor(role), place, reading)
  return readContent(message, read, place, reading)
}

/** Whether a message contains only a role and text, as most messages do. */
function isPlainMessage(message: unknown): boolean {
  if (!isObject(message) || typeof message.role !== 'string' || typeof message.content !== 'string') {
    return false
  }
  for (const name in message) if (name !== 'role' && name !== 'content') return false
  return true
}

function membersFor(role: unknown): Members {
  if (role === 'assistant') return ASSISTANT
  return role === 'tool' ? TOOL : OTHER
}

function readContent(
  message: JsonObject,
  read: JsonObject,
  place: string,
  reading: RequestReading,
): JsonObject {
  const { content: given, role } = message
  if (typeof given === 'string') return read
  if (Array.isArray(given)) {
    const parts = readParts(given, role, `${place}.content`, reading)
    return parts === given ? read : { ...read, content: parts }
  }
  if (given === null || given === undefined) {
    if (!standsWithoutContent(message)) {
      reading.faults.add(`${place}.content`, given === null ? CONTENT_RULE : 'is required')
    }
    // Some servers require the field even if it is null.
    return given === null ? withNullContent(message, read) : read
  }
  reading.faults.add(`${place}.content`, CONTENT_RULE)
  return read
}

/** Puts a null content back. Returns the original message if nothing else was left out. */
function withNullContent(message: JsonObject, read: JsonObject): JsonObject {
  const isAsItCame = Object.keys(message).every((name) => name === 'content' || read[name] === message[name])
  return isAsItCame ? message : { ...read, content: null }
}

/** Whether an assistant message has a member that can replace its content. */
function standsWithoutContent(message: JsonObject): boolean {
  if (message.role !== 'assistant') return false
  const { audio: spoken, function_call: called, images: shown, reasoning_details: details } = message
  return (
    [message.tool_calls, shown, details].some((list) => Array.isArray(list) && list.length > 0) ||
    [message.refusal, message.reasoning, message.reasoning_content].some(
      (said) => typeof said === 'string',
    ) ||
    [called, spoken].some(isObject)
  )
}
