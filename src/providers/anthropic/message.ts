import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { exactTextOf } from '../../protocol/exact-data.js'
import { isObject, isTooDeep, type JsonObject, textOf } from '../../protocol/json-values.js'
import { unreadable } from '../unreadable.js'
import { toAnnotation } from './annotations.js'
import { frameError } from './errors.js'
import { encryptedDetail, type ReasoningDetail, reasoningFields, textDetail } from './reasoning.js'
import { createUsageReader } from './usage.js'

/**
 * Reads a whole message of the API as one completion and its usage. Throws a `ProviderError` if it is not a message.
 */
export function readMessage(body: unknown): ProviderEvent[] {
  if (isObject(body) && body.type === 'error') throw frameError(body)
  if (!isObject(body) || !Array.isArray(body.content)) {
    throw new ProviderError('invalid-response', 'The reply is not a message of the API.')
  }
  const content: readonly unknown[] = body.content
  const blocks = content.filter(isReadable)
  const usage = createUsageReader().read(body.usage)
  const choice = {
    index: 0,
    message: toMessage(blocks),
    finish_reason: textOf(body.stop_reason) ?? null,
  }
  return [
    {
      type: 'completion',
      completion: {
        ...(textOf(body.id) === undefined ? {} : { id: body.id }),
        object: 'chat.completion',
        choices: [choice],
      },
    },
    ...(blocks.length < content.length ? [unreadable('A block of the message cannot be read.')] : []),
    ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]),
  ]
}

function isReadable(block: unknown): block is JsonObject {
  if (!isObject(block) || isTooDeep(block)) return false
  return block.type !== 'tool_use' || textOf(block.name) !== undefined
}

function toMessage(blocks: readonly JsonObject[]): JsonObject {
  const text = blocks.filter((block) => block.type === 'text')
  const content = text.map((block) => textOf(block.text) ?? '').join('')
  const citations = text.flatMap((block): unknown[] =>
    Array.isArray(block.citations) ? block.citations : [],
  )
  const annotations = citations.map(toAnnotation).filter((annotation) => annotation !== undefined)
  const calls = blocks.filter((block) => block.type === 'tool_use').map(toToolCall)
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...toReasoning(blocks),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
  }
}

function toToolCall(block: JsonObject): JsonObject {
  return {
    id: block.id,
    type: 'function',
    function: {
      name: block.name,
      arguments: isObject(block.input) ? exactTextOf(block.input) : JSON.stringify(block.input ?? {}),
    },
  }
}

function toReasoning(blocks: readonly JsonObject[]): JsonObject {
  const details = blocks.map(toDetail).filter((detail) => detail !== undefined)
  if (details.length === 0) return {}
  const thinking = blocks.map((block) => (block.type === 'thinking' ? textOf(block.thinking) : undefined))
  return reasoningFields(thinking.filter((text) => text !== undefined).join('\n\n'), details)
}

function toDetail(block: JsonObject, index: number): ReasoningDetail | undefined {
  if (block.type === 'redacted_thinking') return encryptedDetail(index, textOf(block.data) ?? '')
  if (block.type !== 'thinking') return undefined
  return textDetail(index, textOf(block.thinking) ?? '', textOf(block.signature))
}
