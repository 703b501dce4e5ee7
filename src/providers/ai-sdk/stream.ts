import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { UnreadableContent } from '../unreadable.js'
import { toAnnotation, toArguments, toImage } from './content.js'
import { toFrameError, toUnreadable } from './errors.js'
import { endedUnnamed, toFinish, unifiedReason } from './finish.js'
import { toUsage, type UsageSource } from './usage.js'
import { type AskedFields, rejectIgnored } from './warnings.js'

/** Turns the parts of one streamed reply into our events, in order. */
export interface PartReader {
  /**
   * Reads one part. Throws a `ProviderError` for an `error` part or if the package ignored a field, and
   * `UnreadableContent` for a part that makes no sense or that the package itself could not read.
   */
  read(part: unknown): ProviderEvent[]
  /** Whether a `finish` part with the provider's reason was received. Nothing comes after it. */
  readonly terminated: boolean
}

interface OpenCall {
  readonly index: number
  hasArguments: boolean
}

/** Skips parts of unknown types, and calls that the provider executes itself: they are not for the client. */
export function createPartReader(source: UsageSource, asked: AskedFields): PartReader {
  const calls = new Map<string, OpenCall>()
  const passedOver = new Set<unknown>()
  let started = false
  let id: string | undefined
  let terminated = false
  let couldNotRead = false

  const chunk = (delta: JsonObject, finish: JsonObject = { finish_reason: null }): ProviderEvent => {
    const role = started ? {} : { role: 'assistant' }
    started = true
    return {
      type: 'chunk',
      chunk: {
        ...(id === undefined ? {} : { id }),
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { ...role, ...delta }, ...finish }],
      },
    }
  }
  const textChunk = (value: unknown, toDelta: (text: string) => JsonObject): ProviderEvent[] => {
    const text = stringOf(value)
    return text === '' ? [] : [chunk(toDelta(text))]
  }
  const startCall = (callId: string, name: unknown, text: string): ProviderEvent[] => {
    const index = calls.size
    calls.set(callId, { index, hasArguments: text !== '' })
    const definition = { name: requiredString(name), arguments: text }
    return [chunk({ tool_calls: [{ index, id: callId, type: 'function', function: definition }] })]
  }
  const continueCall = (call: OpenCall | undefined, text: string): ProviderEvent[] => {
    if (call === undefined || text === '') return []
    call.hasArguments = true
    return [chunk({ tool_calls: [{ index: call.index, function: { arguments: text } }] })]
  }
  const finishCall = (part: JsonObject): ProviderEvent[] => {
    const callId = requiredString(part.toolCallId)
    if (part.providerExecuted === true || passedOver.has(callId)) return []
    const call = calls.get(callId)
    if (call === undefined) return startCall(callId, part.toolName, toArguments(part.input))
    return call.hasArguments ? [] : continueCall(call, toArguments(part.input))
  }
  const finish = (part: JsonObject): ProviderEvent[] => {
    const usage = toUsage(part.usage, part.providerMetadata, source)
    const unnamed = endedUnnamed(part.finishReason, usage, source)
    // If a package could not read a piece, it reports `error` as the reason for the end of the reply.
    const hasEnded = unnamed || (couldNotRead && unifiedReason(part.finishReason) === 'error')
    const end = hasEnded ? { finish_reason: 'stop' } : toFinish(part.finishReason, source)
    const open = [...calls.values()].filter((call) => !call.hasArguments)
    const events =
      end === undefined ? [] : [...open.flatMap((call) => continueCall(call, '{}')), chunk({}, end)]
    terminated = end !== undefined
    return [...events, ...(usage === undefined ? [] : [{ type: 'usage' as const, usage }])]
  }

  return {
    get terminated() {
      return terminated
    },
    read(part) {
      if (!isObject(part)) throw new ProviderError('invalid-response', NOT_SPECIFIED)
      switch (part.type) {
        case 'stream-start':
          rejectIgnored(part.warnings, asked)
          return []
        case 'response-metadata':
          id ??= textOf(part.id)
          return []
        case 'text-delta':
          return textChunk(part.delta, (content) => ({ content }))
        case 'reasoning-delta':
          return textChunk(part.delta, (text) => ({ reasoning: text, reasoning_content: text }))
        case 'tool-input-start':
          if (part.providerExecuted === true) {
            passedOver.add(part.id)
            return []
          }
          return startCall(requiredString(part.id), part.toolName, '')
        case 'tool-input-delta':
          return continueCall(calls.get(requiredString(part.id)), stringOf(part.delta))
        case 'tool-call':
          return finishCall(part)
        case 'source': {
          const annotation = toAnnotation(part)
          return annotation === undefined ? [] : [chunk({ annotations: [annotation] })]
        }
        case 'file': {
          const image = toImage(part)
          return image === undefined ? [] : [chunk({ images: [image] })]
        }
        case 'finish':
          return finish(part)
        case 'error': {
          const piece = toUnreadable(part.error)
          couldNotRead ||= piece !== undefined
          throw piece ?? toFrameError(part.error)
        }
        default:
          return []
      }
    },
  }
}

function stringOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw unreadablePart()
  return value
}

function requiredString(value: unknown): string {
  const text = textOf(value)
  if (text === undefined) throw unreadablePart()
  return text
}

const NOT_SPECIFIED = 'A part of the stream does not follow the specification.'
const unreadablePart = () => new UnreadableContent(NOT_SPECIFIED)
