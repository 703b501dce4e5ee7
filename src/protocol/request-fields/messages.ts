import { mendArguments } from '../call-arguments.js'
import { isObject, type JsonObject } from '../json-values.js'
import { isAddress } from './addresses.js'
import { readParts } from './parts.js'
import {
  asItCame,
  boolean,
  cacheControl,
  ifRight,
  listOf,
  type Member,
  type Members,
  membersOf,
  OMITTED,
  objectOf,
  omitted,
  type RequestReading,
  readList,
  TOO_MUCH_JSON,
  text,
} from './reading.js'

export const MAX_MESSAGES = 10_000
/** The most calls of a message. */
export const MAX_CALLS = 1_024
const MAX_ITEMS = 1_000
/** The most reasoning details of a message. */
export const MAX_DETAILS = MAX_ITEMS

/** Omits an empty list: clients send such lists back with every reply, and strict providers refuse them. */
const emptyOr =
  (member: Member): Member =>
  (value, place, reading) => {
    const read = member(value, place, reading)
    return Array.isArray(read) && read.length === 0 ? OMITTED : read
  }

const textOfReply = ifRight((value) => typeof value === 'string')

/**
 * The client can only return the arguments that it received, however broken. Arguments that are nested too deeply are
 * never parsed.
 */
const callArguments: Member = (value, place, reading) => {
  if (typeof value !== 'string') return text(value, place, reading)
  if (reading.innerJson.add(value) !== 'too-many') return mendArguments(value)
  reading.faults.add(place, TOO_MUCH_JSON)
  return value
}

const functionCall = objectOf(membersOf({ name: text, arguments: callArguments, parsed_arguments: omitted }))

/** A Gemini model refuses its own call without the signature that it attached. */
const signature = objectOf(membersOf({ thought_signature: textOfReply }))
const extraContent = objectOf(membersOf({ google: signature }))

const toolCalls = listOf(
  objectOf(
    membersOf({
      id: text,
      type: text,
      index: omitted,
      function: functionCall,
      custom: objectOf(membersOf({ name: text, input: text })),
      extra_content: extraContent,
      // LiteLLM's field for it.
      provider_specific_fields: signature,
    }),
  ),
  MAX_CALLS,
)

/** Audio of an earlier reply that the provider has stored. It is billed as audio. */
const audio: Member = (value, place, reading) => {
  reading.mustBeNamed('audio', place)
  return objectOf(membersOf({ id: text }))(value, place, reading)
}

const textParts = listOf(objectOf(membersOf({ type: textOfReply, text: textOfReply })), MAX_ITEMS)
const textOrParts: Member = (value, place, reading) =>
  Array.isArray(value) ? textParts(value, place, reading) : textOfReply(value, place, reading)

/** OpenRouter's reasoning details. Another member could contain media, which no hold covers. */
const reasoningDetail = objectOf(
  membersOf({
    type: textOfReply,
    id: textOfReply,
    format: textOfReply,
    index: ifRight((value) => typeof value === 'string' || typeof value === 'number'),
    text: textOfReply,
    summary: textOrParts,
    data: textOfReply,
    signature: textOfReply,
  }),
)

/** LiteLLM's thinking blocks. */
const thinkingBlock = objectOf(
  membersOf({ type: textOfReply, thinking: textOfReply, signature: textOfReply, data: textOfReply }),
)

const imageMembers = objectOf(membersOf({ type: textOfReply, index: omitted, image_url: asItCame }))
const imageAddress = objectOf(membersOf({ url: asItCame, detail: textOfReply }))

/** An image of an earlier reply. It is omitted if only its provider can open it. */
const image: Member = (value, place, reading) => {
  const given = isObject(value) ? value.image_url : undefined
  if (!isObject(value) || !isAddress(isObject(given) ? given.url : given)) {
    return ifRight(() => false)(value, place, reading)
  }
  const read = imageMembers(value, place, reading) as JsonObject
  if (!isObject(given)) return read
  const address = imageAddress(given, `${place}.image_url`, reading)
  return address === given ? read : { ...read, image_url: address }
}

const images = listOf(image, MAX_ITEMS)

/** Refuses members with such a name, because content that is meant for the model would silently be omitted. */
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
  const read = readList(messages, readMessage, 'messages', reading)
  if (read.length > 0 || messages.length === 0 || faults.full) return read
  for (const [position, message] of messages.entries()) {
    if (message.content !== '') faults.add(`messages.${position}.content`, CONTENT_RULE)
  }
  return messages
}

/** Reads one message. An empty reply is omitted. */
export const readMessage: Member = (message, place, reading) => {
  if (isPlainMessage(message)) return isEmptyTurn(message as JsonObject) ? OMITTED : message
  const { faults } = reading
  if (!isObject(message)) {
    faults.add(place, 'must be an object with a role and content')
    return message
  }
  const { role } = message
  if (typeof role !== 'string') {
    faults.add(`${place}.role`, role === undefined ? 'is required' : 'must be a string')
  }
  const read = objectOf(membersFor(role))(message, place, reading) as JsonObject
  const whole = readContent(message, read, place, reading)
  return isEmptyTurn(whole) ? OMITTED : whole
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
    if (message.role !== 'assistant') {
      reading.faults.add(`${place}.content`, given === null ? CONTENT_RULE : 'is required')
    }
    // Some servers require the field even if it is null.
    return given === null ? withNullContent(message, read) : read
  }
  reading.faults.add(`${place}.content`, CONTENT_RULE)
  return read
}

/** Restores a null content. Returns the original message if nothing else was omitted. */
function withNullContent(message: JsonObject, read: JsonObject): JsonObject {
  const isAsItCame = Object.keys(message).every((name) => name === 'content' || read[name] === message[name])
  return isAsItCame ? message : { ...read, content: null }
}

/**
 * Whether a message is an empty reply, for example because it was filtered or cut off at once. Clients send it back,
 * and strict providers refuse the whole conversation because of it.
 */
function isEmptyTurn(message: JsonObject): boolean {
  if (message.role !== 'assistant' || isFilled(message.content)) return false
  return !STAND_WITHOUT_CONTENT.some((name) => isFilled(message[name]))
}

const STAND_WITHOUT_CONTENT = [
  ...['tool_calls', 'function_call', 'refusal', 'audio', 'images'],
  ...['reasoning', 'reasoning_content', 'reasoning_details', 'thinking_blocks'],
] as const

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return typeof value === 'object' ? value !== null : value !== undefined && value !== ''
}
