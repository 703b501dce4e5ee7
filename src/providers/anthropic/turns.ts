import type { JsonObject } from '../../protocol/json-values.js'
import type { ContentPart } from '../openai-input/content.js'
import type { InputMessage } from '../openai-input/messages.js'
import { toBlock } from './blocks.js'
import { isOwnDetail } from './reasoning.js'
import type { NativeBlock, NativeTurn } from './wire.js'

/**
 * Messages as the system prompt and turns of the Messages API.
 *
 * - Every system and developer message, wherever it stands, is a block of the one system prompt, in order.
 * - Neighbours of one role are one turn; results of tools are a user's turn and come before its other content.
 * - Reasoning goes back only as it came with its signature, in `reasoning_details`; the API takes no other, and none of
 *   another provider's.
 * - Ids of calls, which a conversation may have from another provider, are spelt as the API takes them for Claude models.
 * - White space alone is left out, and so is a message of nothing, as a reply may have been: the API refuses both.
 */
export function toTurns(
  messages: readonly InputMessage[],
  model: string,
): { system: NativeBlock[]; turns: NativeTurn[] } {
  const toId = model.includes('claude') ? cleanId : (id: string) => id
  const system: NativeBlock[] = []
  const turns: NativeTurn[] = []
  for (const message of messages) {
    if (message.role === 'system') {
      system.push(...toContent(message.content))
      continue
    }
    const blocks = toBlocks(message, toId)
    if (blocks.length === 0) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    let turn = turns.at(-1)
    if (turn?.role !== role) {
      turn = { role, content: [] }
      turns.push(turn)
    }
    turn.content.push(...blocks)
  }
  for (const turn of turns) turn.content = resultsFirst(turn.content)
  return { system, turns }
}

/** The API takes other characters in no id. A server of another model may know its calls by them. */
const cleanId = (id: string) => id.replace(/[^\w-]/g, '_')

function toBlocks(
  message: Exclude<InputMessage, { role: 'system' }>,
  toId: (id: string) => string,
): NativeBlock[] {
  const content = toContent(message.content)
  switch (message.role) {
    case 'user':
      return content
    case 'tool':
      return [
        {
          type: 'tool_result',
          tool_use_id: toId(message.toolCallId),
          ...(content.length === 0 ? {} : { content }),
          ...(message.isError ? { is_error: true } : {}),
        },
      ]
    case 'assistant':
      return [
        ...toThinkingBlocks(message.reasoningDetails),
        ...content,
        ...message.toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id: toId(id), name, input })),
      ]
  }
}

function toContent(parts: readonly ContentPart[]): NativeBlock[] {
  return parts.filter((part) => part.type !== 'text' || part.text.trim() !== '').map(toBlock)
}

/** A client may have kept the pieces of a stream apart: text up to its signature is one block. */
function toThinkingBlocks(details: readonly JsonObject[]): NativeBlock[] {
  const blocks: NativeBlock[] = []
  let thinking = ''
  let index: unknown
  for (const detail of details.filter(isOwnDetail)) {
    if (detail.type === 'reasoning.encrypted' && typeof detail.data === 'string') {
      blocks.push({ type: 'redacted_thinking', data: detail.data })
    }
    if (detail.type !== 'reasoning.text') continue
    if (detail.index !== index) thinking = ''
    index = detail.index
    if (typeof detail.text === 'string') thinking += detail.text
    if (typeof detail.signature === 'string' && detail.signature !== '') {
      blocks.push({ type: 'thinking', thinking, signature: detail.signature })
      thinking = ''
    }
  }
  return blocks
}

function resultsFirst(content: NativeBlock[]): NativeBlock[] {
  const isResult = (block: NativeBlock) => block.type === 'tool_result'
  return [...content.filter(isResult), ...content.filter((block) => !isResult(block))]
}
