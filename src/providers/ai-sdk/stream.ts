import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { GOOGLE_FORMAT } from '../../conversation/thoughts.js'
import { isFailureReason, ownFinishReason } from '../../protocol/finish-reason.js'
import { isObject, type JsonObject, saysNothing, textOf } from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { UnreadableContent } from '../unreadable.js'
import { toAnnotation, toArguments, toImage } from './content.js'
import { toFrameError, toUnreadable } from './errors.js'
import { endedUnnamed, toFinish, unifiedReason } from './finish.js'
import { callFields, callSignature, thoughtDetail } from './signatures.js'
import { toUsage, type UsageSource } from './usage.js'
import { type AskedFields, ignoredFields } from './warnings.js'

/** Turns the parts of one streamed reply into our events, in order. */
export interface PartReader {
  /**
   * Reads one part. Throws a `ProviderError` for an `error` part, and `UnreadableContent` for a part that is invalid or
   * that the package itself could not read.
   */
  read(part: unknown): ProviderEvent[]
  /** Whether a `finish` part with the provider's reason was received. Nothing comes after it. */
  readonly terminated: boolean
}

interface OpenCall {
  readonly index: number
  hasArguments: boolean
}

/** A thought so far, and the last metadata that came with it. */
interface OpenThought {
  readonly index: number
  text: string
  metadata: unknown
}

/** Skips parts of unknown types, and calls that the provider executes itself: they are not for the client. */
export function createPartReader(source: UsageSource, asked: AskedFields): PartReader {
  const calls = new Map<string, OpenCall>()
  const thoughts = new Map<unknown, OpenThought>()
  const passedOver = new Set<unknown>()
  /** Those of calls. */
  const details: JsonObject[] = []
  let detailIndex = 0
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
        ...(id !== undefined && { id }),
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { ...role, ...delta }, ...finish }],
      },
    }
  }
  const textChunk = (value: unknown, toDelta: (text: string) => JsonObject): ProviderEvent[] => {
    const text = stringOf(value)
    if (text === '') return []
    return typeof value === 'string' ? [chunk(toDelta(text))] : [chunk(toDelta(text)), TEXT_COERCED]
  }
  const think = ({ delta, id: thoughtId, providerMetadata }: JsonObject): ProviderEvent[] => {
    const thought = thoughts.get(thoughtId) ?? { index: detailIndex++, text: '', metadata: undefined }
    thoughts.set(thoughtId, thought)
    thought.text += stringOf(delta)
    thought.metadata = providerMetadata ?? thought.metadata
    return textChunk(delta, (text) => ({ reasoning: text, reasoning_content: text }))
  }
  /**
   * Returns the details of thoughts that are signed by now. Any part of a thought may bring its signature. They go out
   * before the text or the call that follows them, so that they are in order. Those of Google wait for the end, since
   * Google signs calls too, and some clients keep only the last delta with details.
   */
  const signedThoughts = (isEnd = false): JsonObject[] => {
    const signed: JsonObject[] = []
    for (const [thoughtId, { index, metadata, text }] of thoughts) {
      const detail = thoughtDetail(text, metadata, index)
      if (detail === undefined || (detail.format === GOOGLE_FORMAT && !isEnd)) continue
      signed.push(detail)
      thoughts.delete(thoughtId)
    }
    return signed
  }
  /** Sends details in one delta, since some clients keep only the last one. */
  const detailChunk = (details: readonly JsonObject[]): ProviderEvent[] =>
    details.length === 0 ? [] : [chunk({ reasoning_details: details })]
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
    const signature = callSignature(part.providerMetadata)
    const text = toArguments(part.input)
    const events =
      call === undefined
        ? [...detailChunk(signedThoughts()), ...startCall(callId, part.toolName, text)]
        : continueCall(call, call.hasArguments ? '' : text)
    return signature === undefined ? events : [...events, signCall(callId, signature)]
  }
  const signCall = (callId: string, signature: string): ProviderEvent => {
    const { call, detail } = callFields(callId, signature, detailIndex++)
    details.push(detail)
    return chunk({ tool_calls: [{ index: calls.get(callId)!.index, ...call }] })
  }
  const finish = (part: JsonObject): ProviderEvent[] => {
    const usage = toUsage(part.usage, part.providerMetadata, source)
    const unnamed = endedUnnamed(part.finishReason, usage, source)
    // If a package could not read a piece, it reports `error` as the reason for the end of the reply.
    const hasEnded = unnamed || (couldNotRead && unifiedReason(part.finishReason) === 'error')
    const end = hasEnded ? { finish_reason: 'stop' } : toFinish(part, source)
    const open = [...calls.values()].filter((call) => !call.hasArguments)
    const counted: ProviderEvent[] = usage === undefined ? [] : [{ type: 'usage', usage }]
    terminated = end !== undefined
    if (end === undefined) return counted
    const rest = [
      ...detailChunk([...signedThoughts(true), ...details]),
      ...open.flatMap((call) => continueCall(call, '{}')),
    ]
    if (usage === undefined || !isFailureReason(ownFinishReason(end)))
      return [...rest, chunk({}, end), ...counted]
    return [...rest, { type: 'usage', usage, final: true }, chunk({}, end)]
  }

  return {
    get terminated() {
      return terminated
    },
    read(part) {
      if (!isObject(part)) throw new ProviderError('invalid-response', NOT_SPECIFIED)
      switch (part.type) {
        case 'stream-start':
          return ignoredFields(part.warnings, asked)
        case 'response-metadata':
          id ??= textOf(part.id)
          return []
        case 'text-delta':
          return [...detailChunk(signedThoughts()), ...textChunk(part.delta, (content) => ({ content }))]
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end':
          return think(part)
        case 'tool-input-start':
          if (part.providerExecuted === true) {
            passedOver.add(part.id)
            return []
          }
          return [...detailChunk(signedThoughts()), ...startCall(requiredString(part.id), part.toolName, '')]
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

/** Returns text. Accepts a number or a boolean too, since a token may be a JSON number or literal. */
function stringOf(value: unknown): string {
  const text = scalarText(value)
  if (text === undefined && !saysNothing(value)) throw unreadablePart()
  return text ?? ''
}

function requiredString(value: unknown): string {
  const text = textOf(value)
  if (text === undefined) throw unreadablePart()
  return text
}

const TEXT_COERCED: ProviderEvent = Object.freeze({ type: 'mended', kind: 'text-coerced' })
const NOT_SPECIFIED = 'A part of the stream does not follow the specification.'
const unreadablePart = () => new UnreadableContent(NOT_SPECIFIED)
