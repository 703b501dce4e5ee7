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
import { toLatin1 } from '../../../protocol/latin1.js'
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
  private content = '[]'
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

  write(deltas: readonly Delta[]): string {
    let sent = ''
    for (const delta of deltas) sent += this.take(delta)
    return this.deferred.length === 0 || this.hasUnfinishedCall ? sent : sent + this.writeDeferred()
  }

  discard(): void {
    this.gathered?.discard()
  }

  endBody(lostCalls: (choice: number) => readonly number[]): void {
    const { gathered } = this
    if (gathered === undefined) return
    const lost = lostCalls(0).map((call) => this.calls?.begun.get(call)?.block)
    this.content = writeSafely(() => toLatin1(gathered.content(lost)))
    gathered.discard()
  }

  body(charge: WireCharge): string {
    const { content } = this
    this.content = ''
    return writeMessage(this.top, content, this.stop, charge)
  }

  closing(charge: WireCharge, _labels: Labels, pending: string): string {
    return pending + this.events.end(this.stop, charge)
  }

  failing(error: CompatError, charge: WireCharge): string {
    return errorEvent(error, charge)
  }

  private take(delta: Delta): string {
    switch (delta.type) {
      case 'start':
        return delta.counts === undefined || this.gathered !== undefined
          ? ''
          : this.events.start(delta.counts)
      case 'begin':
        if (delta.kind === 'message') return ''
        if (delta.kind !== 'call') return this.writeInTurn(delta)
        return this.takeCall(delta)
      case 'input':
        return this.takeInput(delta)
      case 'done':
        return delta.call === undefined ? this.writeInTurn(delta) : this.endCall(delta.call)
      case 'end': {
        const rest = this.writeWaiting(true) + this.writeDeferred() + this.writeLate() + this.close()
        this.stop = stopOf(delta, this.hasRefused)
        return rest
      }
      default:
        return this.writeInTurn(delta)
    }
  }

  /** Writes a delta that belongs to no call, or keeps it until the open call has ended. */
  private writeInTurn(delta: Delta): string {
    if (!this.hasUnfinishedCall) return this.writeSpoken(delta)
    this.deferred.push(delta)
    return ''
  }

  private get hasUnfinishedCall(): boolean {
    return this.call?.isWhole === false
  }

  private writeDeferred(): string {
    const { deferred } = this
    this.deferred = []
    return deferred.map((delta) => this.writeSpoken(delta)).join('')
  }

  private writeSpoken(delta: Delta): string {
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
        return delta.address === undefined ? '' : this.say({ text: imageText(delta.address) })
      case 'annotation':
        return delta.native === undefined ? '' : this.within('text', TEXT) + this.sink.delta(delta.native)
      case 'begin':
        return delta.kind === 'call' || delta.kind === 'message' ? '' : this.beginBlock(delta)
      case 'native':
        return this.current === undefined ? '' : this.sink.delta(delta.native)
      case 'done':
        return this.close()
      default:
        return ''
    }
  }

  private beginBlock({ block, kind }: BlockBegin): string {
    const { data, type } = block
    if (kind === 'text') return this.begin('text', block, true)
    if (type === 'thinking') return this.begin('thinking', block, true)
    if (type !== 'redacted_thinking' || !isText(data)) return this.begin('native', block, true)
    return this.begin('native', { ...block, data: markSignature(data, this.thinker) }, true)
  }

  private think({ event, native, of, text }: TextPiece): string {
    const begun = this.within('thinking', THINKING)
    if (of !== undefined && !this.isNative) this.details.push(writeDetail({ kind: 'text', text, ...of }))
    return begun + this.more('thinking', text, native, event)
  }

  private say({ event, native, text }: Pick<TextPiece, 'event' | 'native' | 'text'>): string {
    const begun = this.within('text', TEXT)
    return begun + this.more('text', text, native, event)
  }

  private more(
    member: TextMember,
    text: string,
    native: TextPiece['native'],
    event: TextPiece['event'],
  ): string {
    return native === undefined ? this.sink.more(member, text, event) : this.sink.delta(native)
  }

  /** Starts a block of a type, unless one is open. */
  private within(type: 'text' | 'thinking', block: JsonObject): string {
    return this.current === type ? '' : this.begin(type, block)
  }

  private takeThoughts({ pieces, signature }: ThoughtPieces): string {
    const isNative = this.isNative && (this.current === 'thinking' || this.current === 'native')
    if (!isNative) return this.takeDetails(pieces.map(writeDetail))
    if (signature === undefined) return ''
    return this.sink.delta({ type: 'signature_delta', signature: markSignature(signature, this.thinker) })
  }

  /** Attaches details to the open thinking block. Without one, they become hidden thinking. */
  private takeDetails(details: readonly Members[]): string {
    if (this.current !== 'thinking') return this.hide(details)
    this.details.push(...details)
    return ''
  }

  private hide(details: readonly Members[]): string {
    this.signed ??= new Set()
    for (const { id } of details) this.signed.add(id)
    const data = markDetails(hiddenDetails(details), this.thinker.provider)
    return this.close() + this.sink.open({ type: 'redacted_thinking', data }) + this.sink.close()
  }

  private takeCall(begun: CallBegin): string {
    this.calls ??= { begun: new Map(), waiting: new Map() }
    if (this.hasUnfinishedCall || this.calls.waiting.size > 0) {
      this.calls.waiting.set(begun.call, { begun, inputs: [], hasEnded: false })
      return ''
    }
    return this.beginCall(begun, this.calls).sent
  }

  private takeInput(input: CallInput): string {
    const { calls } = this
    const known = calls?.begun.get(input.call)
    if (known !== undefined) return this.writeInput(known, input) + this.writeWaiting(false)
    calls?.waiting.get(input.call)?.inputs.push(input)
    return ''
  }

  /**
   * Writes the waiting calls, one after the other.
   *
   * @param isLast whether no more of the open call follows, so that the next one starts even if its arguments are
   * incomplete
   */
  private writeWaiting(isLast: boolean): string {
    const { calls } = this
    if (calls === undefined || calls.waiting.size === 0) return ''
    let sent = ''
    for (const [call, { begun, hasEnded, inputs }] of calls.waiting) {
      if (this.hasUnfinishedCall && !isLast) break
      calls.waiting.delete(call)
      const { written, sent: start } = this.beginCall(begun, calls)
      sent += start
      for (const input of inputs) sent += this.writeInput(written, input)
      if (hasEnded) sent += this.close()
    }
    return sent
  }

  private endCall(call: number): string {
    const waiting = this.calls?.waiting.get(call)
    if (waiting !== undefined) waiting.hasEnded = true
    const written = this.calls?.begun.get(call)
    return written === undefined || written !== this.call ? '' : this.close() + this.writeWaiting(false)
  }

  private beginCall(
    { block: given, call, id: givenId, name, signature }: CallBegin,
    calls: Calls,
  ): { written: WrittenCall; sent: string } {
    const id = idForClaude(givenId)
    const isHidden = signature === undefined || this.signed?.has(givenId) === true
    const hidden = isHidden ? '' : this.hide([signedCallDetail(id, signature)])
    const isNative = given !== undefined
    const begun = this.begin('tool_use', { type: 'tool_use', ...given, id, name, input: {} }, isNative)
    const block = (this.gathered?.count ?? 0) - 1
    const written = { id, isNative, block, hasArguments: false, isWhole: false }
    this.call = written
    calls.begun.set(call, written)
    return { written, sent: hidden + begun }
  }

  /** Writes more of the arguments of a started call. */
  private writeInput(
    call: WrittenCall,
    { event, form, isAssumed, isWhole, signature, text }: CallInput,
  ): string {
    if (signature !== undefined && this.signed?.has(call.id) !== true) {
      this.signed ??= new Set()
      this.signed.add(call.id)
      this.late.push(signedCallDetail(call.id, signature))
    }
    // This API has no custom tools.
    if (text === '' || form === 'custom') return ''
    // A block of this API starts with it.
    if (call.isNative && isAssumed === true) return ''
    if (call !== this.call) {
      // Its block has already ended, as that of a call without arguments.
      if (text === NO_ARGUMENTS && !call.hasArguments) return ''
      throw invalidReply('a piece of a tool call follows its end')
    }
    call.isWhole = isWhole
    call.hasArguments = true
    return this.sink.more('partial_json', text, event)
  }

  /** Writes the signatures that came late. Their order among the blocks does not matter. */
  private writeLate(): string {
    const { late } = this
    this.late = []
    return late.length === 0 ? '' : this.hide(late)
  }

  private begin(type: NonNullable<MessageWriter['current']>, block: JsonObject, isNative = false): string {
    const closed = this.close()
    this.current = type
    this.isNative = isNative
    return closed + this.sink.open(block)
  }

  /** Ends the open block. Thinking from another API gets the signature with which its provider accepts it back. */
  private close(): string {
    let sent = ''
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
    return sent + this.sink.close()
  }
}

const THINKING: JsonObject = Object.freeze({ type: 'thinking', thinking: '', signature: '' })
const TEXT: JsonObject = Object.freeze({ type: 'text', text: '' })
const NO_ARGUMENTS = '{}'
