import type { ChatMessage, ChatRequest } from '../protocol/chat-request.js'
import { isObject, type JsonObject, textOf } from '../protocol/json-values.js'
import type {
  Answer,
  CallSignature,
  ConversationRequest,
  ThoughtPiece,
  ToolCall,
  Turn,
} from './conversation.js'
import { hasCacheMark, readContent, readText } from './read-chat-content.js'
import { readFields } from './read-fields.js'
import { readDetail, textIn, texts } from './thoughts.js'
import { unsupported } from './unsupported.js'

/**
 * Reads a chat as a conversation.
 *
 * @param kept the fields that an adapter itself reads, as the client sent them
 */
export function readChat(chat: ChatRequest, kept?: readonly string[]): ConversationRequest {
  return { model: chat.model, turns: readTurns(chat.messages), settings: readFields(chat, kept) }
}

/**
 * Reads the messages of a chat. A call in the old form, `function_call`, is read as a tool call, and the message of role
 * `function` after it as its result.
 *
 * Fields that only label a message or repeat parts of a reply (`name`, `parsed`, `annotations`, …) are ignored.
 * Content that cannot be read throws `unsupported-request` with its path.
 */
function readTurns(messages: readonly ChatMessage[]): readonly Turn[] {
  let oldCall = ''
  return messages.map((message, index) => {
    const param = `messages.${index}`
    if (isObject(message.function_call)) oldCall = `function_call_${index}`
    const one = readByRole(message, param, oldCall)
    return hasCacheMark(message) ? markLast(one) : one
  })
}

/** A cache mark on a message applies to its last part. */
function markLast(message: Turn): Turn {
  const last = message.content.at(-1)
  if (last === undefined) return message
  return { ...message, content: [...message.content.slice(0, -1), { ...last, cache: true }] } as Turn
}

/** @param oldCall the id given to the latest call in the old form, which has none */
function readByRole(message: ChatMessage, param: string, oldCall: string): Turn {
  const contentParam = `${param}.content`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: message.role, content: readText(message.content, contentParam) }
    case 'user':
      return { role: 'user', content: readContent(message.content, contentParam) }
    case 'assistant':
      return readAssistant(message, param, oldCall)
    case 'function':
      return {
        role: 'tool',
        toolCallId: oldCall || requiredString(message.name, `${param}.name`),
        content: readContent(message.content, contentParam),
        isError: false,
      }
    case 'tool':
      return {
        role: 'tool',
        toolCallId: textOf(message.tool_call_id) ?? '',
        content: readContent(message.content, contentParam),
        isError: message.is_error === true,
      }
    default:
      throw unsupported(
        `${param}.role`,
        `${param}.role must be "system", "developer", "user", "assistant", "tool" or "function" with this provider.`,
      )
  }
}

function readAssistant(message: ChatMessage, param: string, oldCall: string): Answer {
  if (message.audio !== undefined && message.audio !== null) {
    throw unsupported(`${param}.audio`, `${param}.audio is not supported by this provider.`)
  }
  const { content, function_call: called } = message
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const text = readText(
    parts.some(isThought) ? parts.filter((part) => !isThought(part)) : content,
    `${param}.content`,
  )
  const refusal = textOf(message.refusal)
  const pieces = thoughtsOf(message, parts)
  const reasoning = textOf(message.reasoning_content) ?? textOf(message.reasoning) ?? textIn(pieces)
  const toolCalls = readToolCalls(message.tool_calls, `${param}.tool_calls`)
  if (isObject(called)) toolCalls.push(readFunction(called, oldCall, `${param}.function_call`))
  return {
    role: 'assistant',
    content:
      text.length === 0 && refusal ? [{ type: 'text', text: refusal, isRefusal: true, cache: false }] : text,
    toolCalls,
    thoughts: reasoning === '' && pieces.length === 0 ? [] : [{ text: reasoning, pieces }],
  }
}

const isThought = (part: unknown): part is JsonObject =>
  isObject(part) && (part.type === 'thinking' || part.type === 'redacted_thinking')

/** The thoughts of a reply: OpenRouter's `reasoning_details`, LiteLLM's `thinking_blocks`, or Mistral's parts. */
function thoughtsOf(message: ChatMessage, parts: readonly unknown[]): readonly ThoughtPiece[] {
  const { reasoning_details: details, thinking_blocks: blocks } = message
  if (Array.isArray(details) && details.length > 0) return details.filter(isObject).map(readDetail)
  const thoughts = Array.isArray(blocks) && blocks.length > 0 ? blocks : parts
  return thoughts.filter(isThought).map((thought, index): ThoughtPiece => {
    const { data, signature, thinking, type } = thought
    if (type === 'redacted_thinking') return { kind: 'encrypted', index, ...texts({ data }) }
    const text = Array.isArray(thinking) ? textIn(thinking) : thinking
    return { kind: 'text', index, ...texts({ text, signature }) }
  })
}

function readToolCalls(calls: unknown, param: string): ToolCall[] {
  if (calls === undefined || calls === null) return []
  if (!Array.isArray(calls)) throw unsupported(param, `${param} must be an array.`)
  return calls.map((call: unknown, index) => readToolCall(call, `${param}.${index}`))
}

function readToolCall(call: unknown, param: string): ToolCall {
  const id = textOf(isObject(call) ? call.id : undefined) ?? ''
  if (isObject(call) && isObject(call.custom)) {
    const { input, name } = call.custom
    return {
      id,
      kind: 'custom',
      name: requiredString(name, `${param}.custom.name`),
      input: typeof input === 'string' ? input : '',
    }
  }
  if (!isObject(call) || !isObject(call.function)) {
    throw unsupported(param, `${param} must be a function call.`)
  }
  const read = readFunction(call.function, id, `${param}.function`)
  const signature = signatureIn(call)
  return signature === undefined ? read : { ...read, signature }
}

function readFunction({ arguments: text, name }: JsonObject, id: string, param: string): ToolCall {
  const input = text ?? ''
  if (typeof input !== 'string')
    throw unsupported(`${param}.arguments`, `${param}.arguments must be a string.`)
  return { id, kind: 'function', name: requiredString(name, `${param}.name`), input }
}

function signatureIn({
  extra_content: extra,
  provider_specific_fields: fields,
}: JsonObject): CallSignature | undefined {
  const google = isObject(extra) ? extra.google : undefined
  const bytes =
    textOf(isObject(google) ? google.thought_signature : undefined) ??
    textOf(isObject(fields) ? fields.thought_signature : undefined)
  return bytes === undefined ? undefined : { bytes }
}

function requiredString(value: unknown, param: string): string {
  const text = textOf(value)
  if (text === undefined) throw unsupported(param, `${param} must be a string.`)
  return text
}
