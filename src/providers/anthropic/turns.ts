import type { JsonObject } from '../../protocol/json-values.js'
import type { ContentPart } from '../openai-input/content.js'
import type { InputMessage } from '../openai-input/messages.js'
import { toBlock } from './blocks.js'
import { isOwnDetail } from './reasoning.js'
import type { NativeBlock, NativeTurn } from './wire.js'

/**
 * Converts messages to the system prompt and turns of the Messages API.
 *
 * - All system and developer messages, in any position, become blocks of the one system prompt, in order.
 * - Adjacent messages of one role form one turn. Tool results belong to a user's turn and come before its other
 *   content.
 * - Reasoning is sent back only with its signature, from `reasoning_details`. The API accepts no other reasoning, and
 *   none from another provider.
 * - Call ids may come from another provider. For Claude models, they are reduced to the characters that the API
 *   accepts.
 * - Text of white space alone is omitted, and so is a message without content, such as an empty reply: the API
 *   rejects both.
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

/** The API accepts no other characters in an id. A server of another model may know its calls by them. */
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

/** A client may have kept the pieces of a stream apart, so text up to a signature forms one block. */
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
