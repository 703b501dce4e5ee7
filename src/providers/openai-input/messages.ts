import type { ChatMessage } from '../../protocol/chat-request.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { type ContentPart, hasCacheMark, readContent, readText, type TextPart } from './content.js'
import { unsupported } from './unsupported.js'

export interface InputToolCall {
  readonly id: string
  readonly name: string
  /** The arguments, parsed. */
  readonly input: JsonObject
}

/** A message of the request, as a union of its forms. `param` names it in errors. */
export type InputMessage = { readonly param: string } & (
  | { readonly role: 'system'; readonly content: readonly TextPart[] }
  | { readonly role: 'user'; readonly content: readonly ContentPart[] }
  | {
      readonly role: 'assistant'
      readonly content: readonly TextPart[]
      readonly toolCalls: readonly InputToolCall[]
      readonly reasoning?: string
      readonly reasoningDetails: readonly JsonObject[]
    }
  | {
      readonly role: 'tool'
      readonly toolCallId: string
      readonly content: readonly ContentPart[]
      readonly isError: boolean
    }
)

/**
 * Reads the messages of a request. `developer` counts as `system`.
 *
 * Fields that only label a message or repeat parts of a reply (`name`, `parsed`, `annotations`, …) are ignored.
 * Content that cannot be read throws `unsupported-request` with its path.
 */
export function readMessages(messages: readonly ChatMessage[]): InputMessage[] {
  return messages.map((message, index) => readMessage(message, `messages.${index}`))
}

function readMessage(message: ChatMessage, param: string): InputMessage {
  const read = readByRole(message, param)
  return hasCacheMark(message) ? markLast(read) : read
}

/** A cache mark on a message applies to its last part. */
function markLast<Message extends InputMessage>(message: Message): Message {
  const last = message.content.at(-1)
  if (last === undefined) return message
  return { ...message, content: [...message.content.slice(0, -1), { ...last, cache: true }] }
}

function readByRole(message: ChatMessage, param: string): InputMessage {
  const contentParam = `${param}.content`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', param, content: readText(message.content, contentParam) }
    case 'user':
      return { role: 'user', param, content: readContent(message.content, contentParam) }
    case 'assistant':
      return readAssistant(message, param)
    case 'tool':
      return {
        role: 'tool',
        param,
        toolCallId: requiredString(message.tool_call_id, `${param}.tool_call_id`),
        content: readContent(message.content, contentParam),
        isError: message.is_error === true,
      }
    default:
      throw unsupported(
        `${param}.role`,
        `${param}.role must be "system", "developer", "user", "assistant" or "tool" with this provider.`,
      )
  }
}

function readAssistant(message: ChatMessage, param: string): InputMessage {
  for (const field of ['function_call', 'audio']) {
    if (message[field] !== undefined && message[field] !== null) {
      throw unsupported(`${param}.${field}`, `${param}.${field} is not supported by this provider.`)
    }
  }
  const text = readText(message.content, `${param}.content`)
  const refusal = textOf(message.refusal)
  const reasoning = textOf(message.reasoning_content) ?? textOf(message.reasoning)
  return {
    role: 'assistant',
    param,
    content: text.length === 0 && refusal ? [{ type: 'text', text: refusal, cache: false }] : text,
    toolCalls: readToolCalls(message.tool_calls, `${param}.tool_calls`),
    ...(reasoning === undefined ? {} : { reasoning }),
    reasoningDetails: Array.isArray(message.reasoning_details)
      ? message.reasoning_details.filter(isObject)
      : [],
  }
}

function readToolCalls(calls: unknown, param: string): InputToolCall[] {
  if (calls === undefined || calls === null) return []
  if (!Array.isArray(calls)) throw unsupported(param, `${param} must be an array.`)
  return calls.map((call: unknown, index) => readToolCall(call, `${param}.${index}`))
}

function readToolCall(call: unknown, param: string): InputToolCall {
  if (!isObject(call) || !isObject(call.function)) {
    throw unsupported(param, `${param} must be a function call.`)
  }
  return {
    id: requiredString(call.id, `${param}.id`),
    name: requiredString(call.function.name, `${param}.function.name`),
    input: readArguments(call.function.arguments, `${param}.function.arguments`),
  }
}

function readArguments(text: unknown, param: string): JsonObject {
  if (text === undefined || text === null || text === '') return {}
  if (typeof text === 'string') {
    const input = parse(text)
    if (isObject(input)) return input
  }
  throw unsupported(param, `${param} must be the JSON text of an object.`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function requiredString(value: unknown, param: string): string {
  const text = textOf(value)
  if (text === undefined) throw unsupported(param, `${param} must be a string.`)
  return text
}
