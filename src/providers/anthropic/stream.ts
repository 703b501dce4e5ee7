import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { exactTextOf } from '../../protocol/exact-data.js'
import { isFailureReason } from '../../protocol/finish-reason.js'
import { isObject, type JsonObject, saysNothing, textOf } from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { UnreadableContent } from '../unreadable.js'
import { toAnnotation } from './annotations.js'
import { frameError } from './errors.js'
import { encryptedDetail, reasoningFields, textDetail } from './reasoning.js'
import { createUsageReader } from './usage.js'

/** Turns the events of one streamed message into ours, in order. */
export interface StreamReader {
  /**
   * Reads one event of the API. Throws a `ProviderError` for an `error` event or a foreign event, and
   * `UnreadableContent` for invalid content.
   */
  read(event: unknown): ProviderEvent[]
  /** Whether `message_stop` was received. */
  readonly terminated: boolean
}

interface OpenBlock {
  readonly type: unknown
  /** The index of this block's tool call among all tool calls. */
  readonly call: number
  readonly input: unknown
  hasArguments: boolean
}

/** Skips unknown events, blocks and deltas: the API adds new ones without a new version. */
export function createStreamReader(): StreamReader {
  const usage = createUsageReader()
  const blocks = new Map<unknown, OpenBlock>()
  /** The indexes of blocks in the order in which they started. Those at the end of the list may have ended. */
  const starts: unknown[] = []
  let id: string | undefined
  let calls = 0
  let terminated = false

  const chunk = (delta: JsonObject, finishReason: string | null = null): ProviderEvent => ({
    type: 'chunk',
    chunk: {
      ...(id !== undefined && { id }),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finishReason }],
    },
  })
  const argumentsOf = (index: number, piece: unknown) =>
    chunk({ tool_calls: [{ index, function: { arguments: piece } }] })
  const usageOf = (value: unknown, final = false): ProviderEvent[] => {
    const report = usage.read(value)
    return report === undefined ? [] : [{ type: 'usage', usage: report, ...(final && { final }) }]
  }

  const startBlock = (index: unknown, content: JsonObject): ProviderEvent[] => {
    const isNameless = content.type === 'tool_use' && textOf(content.name) === undefined
    // Later deltas of a call without a name must not be added to another call.
    const type = isNameless ? undefined : content.type
    const block: OpenBlock = { type, call: calls, input: content.input, hasArguments: false }
    blocks.set(index, block)
    starts.push(index)
    if (isNameless) throw unreadableEvent()
    switch (content.type) {
      case 'text':
        return textDelta(content.text)
      case 'thinking':
        return thinkingDelta(content.thinking, index)
      case 'redacted_thinking':
        return [chunk(reasoningFields('', [encryptedDetail(indexOf(index), textOf(content.data) ?? '')]))]
      case 'tool_use': {
        calls += 1
        const call = { name: content.name, arguments: '' }
        return [
          chunk({ tool_calls: [{ index: block.call, id: content.id, type: 'function', function: call }] }),
        ]
      }
      default:
        return []
    }
  }
  const textDelta = (value: unknown) => (stringOf(value) === '' ? [] : [chunk({ content: value })])
  const thinkingDelta = (value: unknown, index: unknown) => {
    const thinking = stringOf(value)
    if (thinking === '') return []
    const said = chunk(reasoningFields(thinking, [textDetail(indexOf(index), thinking)]))
    return typeof value === 'string' ? [said] : [said, TEXT_COERCED]
  }
  const continueBlock = (index: unknown, delta: JsonObject): ProviderEvent[] => {
    switch (delta.type) {
      case 'text_delta':
        return textDelta(delta.text)
      case 'thinking_delta':
        return thinkingDelta(delta.thinking, index)
      case 'signature_delta': {
        const signature = textOf(delta.signature)
        if (signature === undefined) return []
        return [chunk(reasoningFields('', [textDetail(indexOf(index), '', signature)]))]
      }
      case 'citations_delta': {
        const annotation = toAnnotation(delta.citation)
        return annotation === undefined ? [] : [chunk({ annotations: [annotation] })]
      }
      case 'input_json_delta': {
        const block = blocks.get(index) ?? lastOpenBlock()
        if (block !== undefined && block.type !== 'tool_use') return []
        if (stringOf(delta.partial_json) === '') return []
        if (block === undefined) throw unreadableEvent()
        block.hasArguments = true
        return [argumentsOf(block.call, delta.partial_json)]
      }
      default:
        return []
    }
  }
  /** Some servers count the blocks wrongly, but they send one block after the other. */
  const lastOpenBlock = () => {
    while (starts.length > 0 && !blocks.has(starts.at(-1))) starts.pop()
    return blocks.get(starts.at(-1))
  }
  const stopBlock = (index: unknown): ProviderEvent[] => {
    const block = blocks.get(index)
    blocks.delete(index)
    if (block?.type !== 'tool_use' || block.hasArguments) return []
    // A call without arguments sends no deltas, but clients expect an object.
    const { call, input } = block
    return [argumentsOf(call, isObject(input) ? exactTextOf(input) : JSON.stringify(input ?? {}))]
  }
  /** Some servers omit the end of a block. */
  const stopAll = () => [...blocks.keys()].flatMap(stopBlock)

  return {
    get terminated() {
      return terminated
    },
    read(event) {
      if (!isObject(event)) throw invalidReply()
      switch (event.type) {
        case 'message_start': {
          const { message } = event
          if (!isObject(message)) throw invalidReply()
          id = textOf(message.id)
          return [chunk({ role: 'assistant', content: '' }), ...usageOf(message.usage)]
        }
        case 'content_block_start':
          return startBlock(event.index, objectIn(event, 'content_block'))
        case 'content_block_delta':
          return continueBlock(event.index, objectIn(event, 'delta'))
        case 'content_block_stop':
          return stopBlock(event.index)
        case 'message_delta': {
          const { delta } = event
          if (!isObject(delta)) throw invalidReply()
          const reason = textOf(delta.stop_reason)
          if (reason === undefined) return usageOf(event.usage)
          if (isFailureReason(reason)) return [...stopAll(), ...usageOf(event.usage, true), chunk({}, reason)]
          return [...stopAll(), chunk({}, reason), ...usageOf(event.usage)]
        }
        case 'message_stop':
          terminated = true
          return stopAll()
        case 'error':
          throw frameError(event)
        default:
          return []
      }
    },
  }
}

const TEXT_COERCED: ProviderEvent = Object.freeze({ type: 'mended', kind: 'text-coerced' })
const indexOf = (index: unknown) => (typeof index === 'number' ? index : 0)

/** Returns text. Accepts a number or a boolean too, since a token may be a JSON number or literal. */
function stringOf(value: unknown): string {
  const text = scalarText(value)
  if (text === undefined && !saysNothing(value)) throw unreadableEvent()
  return text ?? ''
}

function objectIn(event: JsonObject, field: string): JsonObject {
  const value = event[field]
  if (!isObject(value)) throw unreadableEvent()
  return value
}

const NOT_THE_API = 'An event of the stream does not have the format of the API.'
const invalidReply = () => new ProviderError('invalid-response', NOT_THE_API)
const unreadableEvent = () => new UnreadableContent(NOT_THE_API)
