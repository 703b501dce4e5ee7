import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { exactTextOf } from '../../protocol/exact-data.js'
import {
  isObject,
  isText,
  isTooDeep,
  type JsonObject,
  saysNothing,
  textOf,
} from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
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
  const given: readonly unknown[] = body.content
  const content = given.filter((block) => !saysNothing(block))
  const blocks = content.filter(isReadable)
  const usage = createUsageReader().read(body.usage)
  const choice = {
    index: 0,
    message: toMessage(blocks, content.some(isCall)),
    finish_reason: textOf(body.stop_reason) ?? null,
  }
  return [
    {
      type: 'completion',
      completion: {
        ...(textOf(body.id) !== undefined && { id: body.id }),
        object: 'chat.completion',
        choices: [choice],
      },
    },
    ...(content.length < given.length ? [PART_SKIPPED] : []),
    ...(blocks.some(isCoerced) ? [TEXT_COERCED] : []),
    ...(blocks.length < content.length ? [unreadable('A block of the message cannot be read.')] : []),
    ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }]),
  ]
}

const PART_SKIPPED: ProviderEvent = Object.freeze({ type: 'mended', kind: 'part-skipped' })
const TEXT_COERCED: ProviderEvent = Object.freeze({ type: 'mended', kind: 'text-coerced' })

function isCall(block: unknown): boolean {
  return isObject(block) && block.type === 'tool_use'
}

function isCoerced({ text, thinking, type }: JsonObject): boolean {
  const said = type === 'thinking' ? thinking : type === 'text' ? text : undefined
  return typeof said === 'number' || typeof said === 'boolean'
}

function isReadable(block: unknown): block is JsonObject {
  if (!isObject(block) || isTooDeep(block)) return false
  if (block.type === 'tool_use') return textOf(block.name) !== undefined
  const said = block.type === 'thinking' ? block.thinking : block.type === 'text' ? block.text : undefined
  return scalarText(said) !== undefined || saysNothing(said)
}

/** @param hadCalls whether there were tool calls, readable or not: an empty list then says that none is left */
function toMessage(blocks: readonly JsonObject[], hadCalls: boolean): JsonObject {
  const text = blocks.filter((block) => block.type === 'text')
  const content = text.map((block) => scalarText(block.text) ?? '').join('')
  const citations = text.flatMap((block): unknown[] =>
    Array.isArray(block.citations) ? block.citations : [],
  )
  const annotations = citations.map(toAnnotation).filter((annotation) => annotation !== undefined)
  const calls = blocks.filter(isCall).map(toToolCall)
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...toReasoning(blocks),
    ...(hadCalls && { tool_calls: calls }),
    ...(annotations.length !== 0 && { annotations }),
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
  const thinking = blocks.map((block) => (block.type === 'thinking' ? scalarText(block.thinking) : undefined))
  return reasoningFields(thinking.filter(isText).join('\n\n'), details)
}

function toDetail(block: JsonObject, index: number): ReasoningDetail | undefined {
  if (block.type === 'redacted_thinking') return encryptedDetail(index, textOf(block.data) ?? '')
  if (block.type !== 'thinking') return undefined
  return textDetail(index, scalarText(block.thinking) ?? '', textOf(block.signature))
}
