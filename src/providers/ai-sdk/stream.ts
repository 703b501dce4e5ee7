import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import type { ThoughtPiece } from '../../conversation/conversation.js'
import type { Labels, ProviderDelta, ProviderEnd, TextPiece } from '../../conversation/delta.js'
import { GOOGLE_FORMAT } from '../../conversation/thoughts.js'
import { isFailureReason, ownFinishReason } from '../../protocol/finish-reason.js'
import { isObject, type JsonObject, saysNothing, textOf } from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { UnreadableContent } from '../unreadable.js'
import { toAnnotation, toArguments, toImage } from './content.js'
import { toFrameError, toUnreadable } from './errors.js'
import { endedUnnamed, toEnd, unifiedReason } from './finish.js'
import { callSignature, thoughtPiece } from './signatures.js'
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
  hasInput: boolean
  /** Its whole input, once that has come. */
  whole: string | undefined
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
  const signatures: ThoughtPiece[] = []
  let callCount = 0
  let thoughtIndex = 0
  let labels: Labels | undefined
  let terminated = false
  let couldNotRead = false

  const step = (...deltas: readonly ProviderDelta[]): ProviderEvent =>
    labels === undefined ? { type: 'deltas', deltas } : { type: 'deltas', deltas, labels }
  const say = (kind: TextPiece['kind'], value: unknown): ProviderEvent[] => {
    const text = stringOf(value)
    if (text === '') return []
    const said = step({ type: 'text', choice: 0, kind, text })
    return typeof value === 'string' ? [said] : [said, TEXT_COERCED]
  }
  const think = ({ delta, id: thoughtId, providerMetadata }: JsonObject): ProviderEvent[] => {
    const thought = thoughts.get(thoughtId) ?? { index: thoughtIndex++, text: '', metadata: undefined }
    thoughts.set(thoughtId, thought)
    thought.text += stringOf(delta)
    thought.metadata = providerMetadata ?? thought.metadata
    return say('thought', delta)
  }
  /**
   * Returns the thoughts that are signed by now. Any part of a thought may bring its signature. They go out before the
   * text or the call that follows them, so that they are in order. Those of Google wait for the end, since Google signs
   * calls too, and some clients keep only the last delta with details.
   */
  const signedThoughts = (isEnd = false): ThoughtPiece[] => {
    const signed: ThoughtPiece[] = []
    for (const [thoughtId, { index, metadata, text }] of thoughts) {
      const piece = thoughtPiece(text, metadata, index)
      if (piece === undefined || (piece.format === GOOGLE_FORMAT && !isEnd)) continue
      signed.push(piece)
      thoughts.delete(thoughtId)
    }
    return signed
  }
  /** Sends pieces in one delta, since some clients keep only the last one. */
  const signed = (pieces: readonly ThoughtPiece[]): ProviderEvent[] =>
    pieces.length === 0 ? [] : [step({ type: 'thoughts', choice: 0, pieces })]
  const startCall = (id: string, named: unknown, input: string, signature?: string): ProviderEvent[] => {
    const call = callCount++
    calls.set(id, { index: call, hasInput: input !== '', whole: undefined })
    const name = requiredString(named)
    return [step({ type: 'call', choice: 0, call, form: 'function', id, name, input, signature })]
  }
  const continueCall = (call: OpenCall | undefined, input: string, signature?: string): ProviderEvent[] => {
    if (call === undefined || (input === '' && signature === undefined)) return []
    call.hasInput ||= input !== ''
    return [step({ type: 'call', choice: 0, call: call.index, form: 'function', input, signature })]
  }
  const finishCall = (part: JsonObject): ProviderEvent[] => {
    const callId = requiredString(part.toolCallId)
    if (part.providerExecuted === true || passedOver.has(callId)) return []
    const call = calls.get(callId)
    const signature = callSignature(part.providerMetadata)
    const input = toArguments(part.input)
    // Some servers give several calls one id, or repeat a call.
    const isOther = call?.whole !== undefined && call.whole !== input
    const events =
      call === undefined || isOther
        ? [...signed(signedThoughts()), ...startCall(callId, part.toolName, input, signature)]
        : continueCall(call, call.hasInput ? '' : input, signature)
    calls.get(callId)!.whole = input
    if (signature !== undefined) signatures.push(signatureOf(callId, signature, thoughtIndex++))
    return events
  }
  const finish = (part: JsonObject): ProviderEvent[] => {
    const usage = toUsage(part.usage, part.providerMetadata, source)
    const unnamed = endedUnnamed(part.finishReason, usage, source)
    // If a package could not read a piece, it reports `error` as the reason for the end of the reply.
    const hasEnded = unnamed || (couldNotRead && unifiedReason(part.finishReason) === 'error')
    const end = hasEnded ? ENDED : toEnd(part, source)
    const open = [...calls.values()].filter((call) => !call.hasInput)
    const counted: ProviderEvent[] = usage === undefined ? [] : [{ type: 'usage', usage }]
    terminated = end !== undefined
    if (end === undefined) return counted
    const rest = [
      ...signed([...signedThoughts(true), ...signatures]),
      ...open.flatMap((call) => continueCall(call, '{}')),
    ]
    if (usage === undefined || !isFailure(end)) return [...rest, step(end), ...counted]
    return [...rest, { type: 'usage', usage, final: true }, step(end)]
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
        case 'response-metadata': {
          const id = textOf(part.id)
          if (id !== undefined) labels ??= { id }
          return []
        }
        case 'text-delta':
          return [...signed(signedThoughts()), ...say('text', part.delta)]
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end':
          return think(part)
        case 'tool-input-start':
          if (part.providerExecuted === true) {
            passedOver.add(part.id)
            return []
          }
          return [...signed(signedThoughts()), ...startCall(requiredString(part.id), part.toolName, '')]
        case 'tool-input-delta':
          return continueCall(calls.get(requiredString(part.id)), stringOf(part.delta))
        case 'tool-call':
          return finishCall(part)
        case 'source': {
          const annotation = toAnnotation(part)
          return annotation === undefined ? [] : [step({ type: 'annotation', choice: 0, annotation })]
        }
        case 'file': {
          const image = toImage(part)
          return image === undefined ? [] : [step(image)]
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

const ENDED: ProviderEnd = Object.freeze({ type: 'end', choice: 0, reason: 'stop' })

/** A client may send back only this of a signed call. */
function signatureOf(id: string, signature: string, index: number): ThoughtPiece {
  return { kind: 'encrypted', id, data: signature, format: GOOGLE_FORMAT, index }
}

function isFailure({ native, reason }: ProviderEnd): boolean {
  return isFailureReason(ownFinishReason({ finish_reason: reason, native_finish_reason: native }))
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
