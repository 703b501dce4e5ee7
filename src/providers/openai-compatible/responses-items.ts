import type { Answer, Part, ThoughtPiece, ToolCall, Turn } from '../../conversation/conversation.js'
import { piecesOf } from '../../conversation/thoughts.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { RESPONSES_FORMAT } from '../../protocol/responses-request.js'
import { readSource } from '../openai-input/media.js'

/** Writes a conversation as items of the Responses API. */
export function itemsOf(turns: readonly Turn[]): JsonObject[] {
  /** The ids of calls of custom tools, whose results are other items than those of functions. */
  const custom = new Set<string>()
  return turns.flatMap((turn) => {
    switch (turn.role) {
      case 'assistant':
        for (const { id, kind } of turn.toolCalls) {
          if (kind === 'custom') custom.add(id)
          else custom.delete(id)
        }
        return itemsOfAnswer(turn)
      case 'tool': {
        const type = custom.has(turn.toolCallId) ? 'custom_tool_call_output' : 'function_call_output'
        return [{ type, call_id: turn.toolCallId, output: contentOf(turn.content, 'input_text') }]
      }
      default:
        return [{ type: 'message', role: turn.role, content: contentOf(turn.content, 'input_text') }]
    }
  })
}

/** Returns the items of an earlier reply: its reasoning, its text, and its calls. */
function itemsOfAnswer(answer: Answer): JsonObject[] {
  const { content, toolCalls } = answer
  const items = piecesOf(answer).flatMap(reasoningOf)
  if (content.length > 0)
    items.push({ type: 'message', role: 'assistant', content: contentOf(content, 'output_text') })
  for (const call of toolCalls) items.push(itemOfCall(call))
  return items
}

/** Returns the encrypted reasoning that came from this API. It can read no other. */
function reasoningOf({ data, format, id }: ThoughtPiece): JsonObject[] {
  if (format !== RESPONSES_FORMAT || !data) return []
  return [{ ...(id && { id }), type: 'reasoning', summary: [], encrypted_content: data }]
}

function itemOfCall({ id, input, kind, name }: ToolCall): JsonObject {
  return kind === 'custom'
    ? { type: 'custom_tool_call', call_id: id, name, input }
    : { type: 'function_call', call_id: id, name, arguments: input }
}

/** A single text is sent as a string. */
function contentOf(parts: readonly Part[], textType: 'input_text' | 'output_text'): unknown {
  const [first] = parts
  if (first === undefined) return ''
  if (parts.length === 1 && first.type === 'text' && !first.isRefusal) return first.text
  return parts.map((part) => toPart(part, textType))
}

function toPart(part: Part, textType: string): JsonObject {
  if (part.type === 'text') {
    return part.isRefusal ? { type: 'refusal', refusal: part.text } : { type: textType, text: part.text }
  }
  const { detail, filename, image } = part
  const source = readSource(part)
  const isUrl = source.kind === 'url'
  const address = isUrl ? source.url : `data:${source.mediaType};base64,${source.base64}`
  if (image) return { type: 'input_image', image_url: address, ...(detail !== undefined && { detail }) }
  return { type: 'input_file', ...(isUrl ? { file_url: address } : { filename, file_data: address }) }
}
