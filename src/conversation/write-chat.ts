import type { ChatMessage, ChatRequest } from '../protocol/chat-request.js'
import type { JsonObject } from '../protocol/json-values.js'
import { CACHE_MARK, writeFields } from './chat-fields.js'
import type {
  Answer,
  ConversationRequest,
  MediaPart,
  Part,
  TextPart,
  ToolCall,
  ToolResult,
  Turn,
} from './conversation.js'
import { toCustomArguments } from './custom-tools.js'
import { reasoningOf, writeDetail } from './thoughts.js'

/** Writes a conversation as a chat. */
export function writeChat({ model, settings, turns }: ConversationRequest): ChatRequest {
  return Object.assign({ model, messages: turns.map(writeMessage) }, writeFields(settings))
}

function writeMessage(turn: Turn): ChatMessage {
  switch (turn.role) {
    case 'assistant':
      return writeReply(turn)
    case 'tool':
      return writeResult(turn)
    default:
      return { role: turn.role, content: plainly(turn.content) }
  }
}

/** A single text is sent as a string, which every server accepts. */
function plainly(parts: readonly Part[]): unknown {
  const [only] = parts
  if (only === undefined) return ''
  const isPlain = parts.length === 1 && only.type === 'text' && !only.cache && only.isRefusal === undefined
  return isPlain ? only.text : parts.map(writePart)
}

/** Like {@link plainly}, with a mark of the text as one of the message. */
function plainlyMarked(parts: readonly Part[], message: ChatMessage): void {
  const [only] = parts
  if (parts.length === 1 && only?.type === 'text' && only.isRefusal === undefined) {
    message.content = only.text
    if (only.cache) message.cache_control = CACHE_MARK
  } else message.content = plainly(parts)
}

function writeResult({ content, isError, toolCallId }: ToolResult): ChatMessage {
  const message: ChatMessage = { role: 'tool', tool_call_id: toolCallId }
  plainlyMarked(content, message)
  if (isError) message.is_error = true
  return message
}

function writeReply(answer: Answer): ChatMessage {
  const { content, thoughts, toolCalls } = answer
  const message: ChatMessage = { role: 'assistant' }
  if (content.length === 0) message.content = toolCalls.length > 0 ? null : ''
  else plainlyMarked(content, message)
  if (thoughts.length > 0) {
    const reasoning = reasoningOf(answer)
    if (reasoning !== undefined) {
      // Servers know it by either name.
      message.reasoning_content = reasoning
      message.reasoning = reasoning
    }
    const details = thoughts.flatMap(({ pieces }) => pieces.map(writeDetail))
    if (details.length > 0) message.reasoning_details = details
  }
  if (toolCalls.length > 0) {
    message.tool_calls = toolCalls.map(writeCall)
    if (toolCalls.some(({ cache }) => cache)) message.cache_control = CACHE_MARK
  }
  return message
}

function writeCall({ id, input, kind, name, signature }: ToolCall): JsonObject {
  const called = { name, arguments: kind === 'custom' ? toCustomArguments(input) : input }
  const call: JsonObject = { id, type: 'function', function: called }
  if (signature !== undefined) call.extra_content = { google: { thought_signature: signature.bytes } }
  return call
}

function writePart(part: Part): JsonObject {
  const written = part.type === 'text' ? writeText(part) : writeMedia(part)
  if (part.cache) written.cache_control = CACHE_MARK
  return written
}

function writeText({ isRefusal, text }: TextPart): JsonObject {
  return isRefusal ? { type: 'refusal', refusal: text } : { type: 'text', text }
}

function writeMedia({ detail, filename, image, source }: MediaPart): JsonObject {
  if (source.kind === 'file') return { type: 'file', file: { file_id: source.id } }
  const address =
    source.kind === 'inline' ? `data:${source.mediaType};base64,${source.base64}` : source.address
  if (image)
    return {
      type: 'image_url',
      image_url: detail === undefined ? { url: address } : { url: address, detail },
    }
  return {
    type: 'file',
    file: filename === undefined ? { file_data: address } : { filename, file_data: address },
  }
}
