import type { CompatError } from '../../../base/errors.js'
import { idForClaude } from '../../../conversation/call-ids.js'
import type {
  BlockBegin,
  CallBegin,
  CallInput,
  Delta,
  Labels,
  Members,
  TextPiece,
  ThoughtPieces,
} from '../../../conversation/delta.js'
import { writeDetail } from '../../../conversation/thoughts.js'
import { isText, type JsonObject } from '../../../protocol/json-values.js'
import { joined, NO_BYTES, plus, toWire, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { signedCallDetail } from '../../../replies/call-signatures.js'
import { type DeltaWriter, writeSafely } from '../../../replies/delta-writer.js'
import { imageText } from '../../../replies/image-text.js'
import { invalidReply } from '../../../replies/invalid-reply.js'
import { markDetails, markSignature, type Thinker } from '../reasoning/thoughts.js'
import { type BlockSink, BodyBlocks, type TextMember } from './body-blocks.js'
import { detailsOfThinking, hiddenDetails } from './choice-parts.js'
import { errorEvent } from './errors.js'
import { EventWriter, type MessageTop, writeMessage } from './event-writer.js'
import { type Stop, stopOf } from './stop.js'

const ENDED: Stop = { reason: 'end_turn', sequence: null }

/** A tool call whose block has started. */
interface WrittenCall {
  readonly id: string
  /** Whether it came as a block of this API. */
  readonly isNative: boolean
  /** The position of its block in a body. */
  readonly block: number
  hasArguments: boolean
  /** Whether it has all of them. */
  isWhole: boolean
}

interface Calls {
  /** Every call whose block has started. */
  readonly begun: Map<number, WrittenCall>
  readonly waiting: Map<number, WaitingCall>
}

/** A tool call that started before the open one had all its arguments. */
interface WaitingCall {
  readonly begun: CallBegin
  readonly inputs: CallInput[]
  hasEnded: boolean
}

/**
 * Writes a message from the deltas of any provider, as events or as one JSON body. Blocks and members that came from a
 * provider of this API are unchanged, except that thinking of models other than Claude is marked.
 */
export class MessageWriter implements DeltaWriter {
  private readonly events: EventWriter
  /** The blocks of a body. Undefined for a stream. */
  private readonly gathered: BodyBlocks | undefined
  private readonly sink: BlockSink
  /** The blocks of a body as JSON, written before anything was charged for them. */
  private content = wire('[]')
  private current: 'text' | 'thinking' | 'tool_use' | 'native' | undefined
  /** Whether the open block came as a block of this API. */
  private isNative = false
  /** The reasoning details of the open thinking block. */
  private details: Members[] = []
  /** The open tool call. */
  private call: WrittenCall | undefined
  /** Undefined until there is a call. */
  private calls: Calls | undefined
  /** Deltas that came before the open call had all its arguments. A block must end before the next one starts. */
  private deferred: Delta[] = []
  /** Signatures that came after the start of their call. */
  private late: Members[] = []
  /** The ids in details that were already sent. Undefined if there are none. */
  private signed: Set<unknown> | undefined
  private hasRefused = false
  private stop = ENDED

  constructor(
    private readonly top: MessageTop,
    private readonly thinker: Thinker,
    isStream: boolean,
  ) {
    this.events = new EventWriter(top)
    this.gathered = isStream ? undefined : new BodyBlocks()
    this.sink = this.gathered ?? this.events
  }

  get keptBytes(): number {
    return this.content.length + (this.gathered?.bytes ?? 0)
  }

  write(deltas: readonly Delta[]): WireBytes {
    let sent = NO_BYTES
    for (const delta of deltas) sent = plus(sent, this.take(delta))
    return this.deferred.length === 0 || this.hasUnfinishedCall ? sent : plus(sent, this.writeDeferred())
  }

  discard(): void {
    this.gathered?.discard()
  }

  endBody(lostCalls: (choice: number) => readonly number[]): void {
    const { gathered } = this
    if (gathered === undefined) return
    const lost = lostCalls(0).map((call) => this.calls?.begun.get(call)?.block)
    this.content = writeSafely(() => toWire(gathered.content(lost)))
    gathered.discard()
  }

  body(charge: WireCharge): WireBytes {
    const { content } = this
    this.content = NO_BYTES
    return writeMessage(this.top, content, this.stop, charge)
  }

  closing(charge: WireCharge, _labels: Labels, pending: WireBytes): WireBytes {
    return plus(pending, this.events.end(this.stop, charge))
  }

  failing(error: CompatError, charge: WireCharge): WireBytes {
    return errorEvent(error, charge)
  }

  private take(delta: Delta): WireBytes {
    switch (delta.type) {
      case 'start':
        return delta.counts === undefined || this.gathered !== undefined
          ? NO_BYTES
          : this.events.start(delta.counts)
      case 'begin':
        if (delta.kind === 'message') return NO_BYTES
        if (delta.kind !== 'call') return this.writeInTurn(delta)
        return this.takeCall(delta)
      case 'input':
        return this.takeInput(delta)
      case 'done':
        return delta.call === undefined ? this.writeInTurn(delta) : this.endCall(delta.call)
      case 'end': {
        const rest = joined([this.writeWaiting(true), this.writeDeferred(), this.writeLate(), this.close()])
        this.stop = stopOf(delta, this.hasRefused)
        return rest
      }
      default:
        return this.writeInTurn(delta)
    }
  }

  /** Writes a delta that belongs to no call, or keeps it until the open call has ended. */
  private writeInTurn(delta: Delta): WireBytes {
    if (!this.hasUnfinishedCall) return this.writeSpoken(delta)
    this.deferred.push(delta)
    return NO_BYTES
  }

  private get hasUnfinishedCall(): boolean {
    return this.call?.isWhole === false
  }

  private writeDeferred(): WireBytes {
    const { deferred } = this
    this.deferred = []
    return joined(deferred.map((delta) => this.writeSpoken(delta)))
  }

  private writeSpoken(delta: Delta): WireBytes {
    switch (delta.type) {
      case 'text':
        if (delta.kind === 'thought') return this.think(delta)
        if (delta.kind === 'refusal') this.hasRefused = true
        return this.say(delta)
      case 'thoughts':
        return this.takeThoughts(delta)
      case 'details':
        return this.takeDetails(delta.details)
      case 'image':
        // A block of a reply has no images.
        return delta.address === undefined ? NO_BYTES : this.say({ text: imageText(delta.address) })
      case 'annotation':
        return delta.native === undefined
          ? NO_BYTES
          : plus(this.within('text', TEXT), this.sink.delta(delta.native))
      case 'begin':
        return delta.kind === 'call' || delta.kind === 'message' ? NO_BYTES : this.beginBlock(delta)
      case 'native':
        return this.current === undefined ? NO_BYTES : this.sink.delta(delta.native)
      case 'done':
        return this.close()
      default:
        return NO_BYTES
    }
  }

  private beginBlock({ block, kind }: BlockBegin): WireBytes {
    const { data, type } = block
    if (kind === 'text') return this.begin('text', block, true)
    if (type === 'thinking') return this.begin('thinking', block, true)
    if (type !== 'redacted_thinking' || !isText(data)) return this.begin('native', block, true)
    return this.begin('native', { ...block, data: markSignature(data, this.thinker) }, true)
  }

  private think({ event, native, of, text }: TextPiece): WireBytes {
    const begun = this.within('thinking', THINKING)
    if (of !== undefined && !this.isNative) this.details.push(writeDetail({ kind: 'text', text, ...of }))
    return plus(begun, this.more('thinking', text, native, event))
  }

  private say({ event, native, text }: Pick<TextPiece, 'event' | 'native' | 'text'>): WireBytes {
    const begun = this.within('text', TEXT)
    return plus(begun, this.more('text', text, native, event))
  }

  private more(
    member: TextMember,
    text: string,
    native: TextPiece['native'],
    event: TextPiece['event'],
  ): WireBytes {
    return native === undefined ? this.sink.more(member, text, event) : this.sink.delta(native)
  }

  /** Starts a block of a type, unless one is open. */
  private within(type: 'text' | 'thinking', block: JsonObject): WireBytes {
    return this.current === type ? NO_BYTES : this.begin(type, block)
  }

  private takeThoughts({ pieces, signature }: ThoughtPieces): WireBytes {
    const isNative = this.isNative && (this.current === 'thinking' || this.current === 'native')
    if (!isNative) return this.takeDetails(pieces.map(writeDetail))
    if (signature === undefined) return NO_BYTES
    return this.sink.delta({ type: 'signature_delta', signature: markSignature(signature, this.thinker) })
  }

  /** Attaches details to the open thinking block. Without one, they become hidden thinking. */
  private takeDetails(details: readonly Members[]): WireBytes {
    if (this.current !== 'thinking') return this.hide(details)
    this.details.push(...details)
    return NO_BYTES
  }

  private hide(details: readonly Members[]): WireBytes {
    this.signed ??= new Set()
    for (const { id } of details) this.signed.add(id)
    const data = markDetails(hiddenDetails(details), this.thinker.provider)
    return joined([this.close(), this.sink.open({ type: 'redacted_thinking', data }), this.sink.close()])
  }

  private takeCall(begun: CallBegin): WireBytes {
    this.calls ??= { begun: new Map(), waiting: new Map() }
    if (this.hasUnfinishedCall || this.calls.waiting.size > 0) {
      this.calls.waiting.set(begun.call, { begun, inputs: [], hasEnded: false })
      return NO_BYTES
    }
    return this.beginCall(begun, this.calls).sent
  }

  private takeInput(input: CallInput): WireBytes {
    const { calls } = this
    const known = calls?.begun.get(input.call)
    if (known !== undefined) return plus(this.writeInput(known, input), this.writeWaiting(false))
    calls?.waiting.get(input.call)?.inputs.push(input)
    return NO_BYTES
  }

  /**
   * Writes the waiting calls, one after the other.
   *
   * @param isLast whether no more of the open call follows, so that the next one starts even if its arguments are
   * incomplete
   */
  private writeWaiting(isLast: boolean): WireBytes {
    const { calls } = this
    if (calls === undefined || calls.waiting.size === 0) return NO_BYTES
    let sent = NO_BYTES
    for (const [call, { begun, hasEnded, inputs }] of calls.waiting) {
      if (this.hasUnfinishedCall && !isLast) break
      calls.waiting.delete(call)
      const { written, sent: start } = this.beginCall(begun, calls)
      sent = plus(sent, start)
      for (const input of inputs) sent = plus(sent, this.writeInput(written, input))
      if (hasEnded) sent = plus(sent, this.close())
    }
    return sent
  }

  private endCall(call: number): WireBytes {
    const waiting = this.calls?.waiting.get(call)
    if (waiting !== undefined) waiting.hasEnded = true
    const written = this.calls?.begun.get(call)
    return written === undefined || written !== this.call
      ? NO_BYTES
      : plus(this.close(), this.writeWaiting(false))
  }

  private beginCall(
    { block: given, call, id: givenId, name, signature }: CallBegin,
    calls: Calls,
  ): { written: WrittenCall; sent: WireBytes } {
    const id = idForClaude(givenId)
    const isHidden = signature === undefined || this.signed?.has(givenId) === true
    const hidden = isHidden ? NO_BYTES : this.hide([signedCallDetail(id, signature)])
    const isNative = given !== undefined
    const begun = this.begin('tool_use', { type: 'tool_use', ...given, id, name, input: {} }, isNative)
    const block = (this.gathered?.count ?? 0) - 1
    const written = { id, isNative, block, hasArguments: false, isWhole: false }
    this.call = written
    calls.begun.set(call, written)
    return { written, sent: plus(hidden, begun) }
  }

  /** Writes more of the arguments of a started call. */
  private writeInput(
    call: WrittenCall,
    { event, form, isAssumed, isWhole, signature, text }: CallInput,
  ): WireBytes {
    if (signature !== undefined && this.signed?.has(call.id) !== true) {
      this.signed ??= new Set()
      this.signed.add(call.id)
      this.late.push(signedCallDetail(call.id, signature))
    }
    // This API has no custom tools.
    if (text === '' || form === 'custom') return NO_BYTES
    // A block of this API starts with it.
    if (call.isNative && isAssumed === true) return NO_BYTES
    if (call !== this.call) {
      // Its block has already ended, as that of a call without arguments.
      if (text === NO_ARGUMENTS && !call.hasArguments) return NO_BYTES
      throw invalidReply('a piece of a tool call follows its end')
    }
    call.isWhole = isWhole
    call.hasArguments = true
    return this.sink.more('partial_json', text, event)
  }

  /** Writes the signatures that came late. Their order among the blocks does not matter. */
  private writeLate(): WireBytes {
    const { late } = this
    this.late = []
    return late.length === 0 ? NO_BYTES : this.hide(late)
  }

  private begin(type: NonNullable<MessageWriter['current']>, block: JsonObject, isNative = false): WireBytes {
    const closed = this.close()
    this.current = type
    this.isNative = isNative
    return plus(closed, this.sink.open(block))
  }

  /** Ends the open block. Thinking from another API gets the signature with which its provider accepts it back. */
  private close(): WireBytes {
    let sent = NO_BYTES
    if (this.current === 'thinking' && !this.isNative) {
      const signature = markDetails(detailsOfThinking(this.details), this.thinker.provider)
      sent = this.sink.delta({ type: 'signature_delta', signature })
      this.details = []
    }
    if (this.call?.hasArguments === false && !this.isNative) {
      sent = this.sink.more('partial_json', NO_ARGUMENTS, undefined)
    }
    this.call = undefined
    this.current = undefined
    this.isNative = false
    return plus(sent, this.sink.close())
  }
}

const THINKING: JsonObject = Object.freeze({ type: 'thinking', thinking: '', signature: '' })
const TEXT: JsonObject = Object.freeze({ type: 'text', text: '' })
const NO_ARGUMENTS = '{}'
