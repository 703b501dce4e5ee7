import type { CompatError } from '../../../base/errors.js'
import { idForClaude } from '../../../conversation/call-ids.js'
import type { CallBegin, CallInput, Delta, Labels, Members, TextPiece } from '../../../conversation/delta.js'
import { JsonBrackets } from '../../../protocol/json-brackets.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { signedCallDetail } from '../../../replies/call-signatures.js'
import { type DeltaWriter, writeSafely } from '../../../replies/delta-writer.js'
import { imageText } from '../../../replies/image-text.js'
import { invalidReply } from '../../../replies/invalid-reply.js'
import { markDetails } from '../reasoning/thoughts.js'
import { BodySink, StreamSink } from './block-sinks.js'
import { detailsOfThinking, hiddenDetails } from './choice-parts.js'
import { errorEvent } from './errors.js'
import { EventWriter, type MessageTop, writeMessage } from './event-writer.js'
import type { BlockSink } from './native-blocks.js'
import { type Stop, stopOf } from './stop.js'

const ENDED: Stop = { reason: 'end_turn', sequence: null }

/** A tool call whose block has started. */
interface WrittenCall {
  readonly id: string
  readonly brackets: JsonBrackets
  /** The position of its block in a body. */
  readonly block: number
  hasArguments: boolean
}

/** A tool call that started before the open one had all its arguments. */
interface WaitingCall {
  readonly begun: CallBegin
  readonly inputs: CallInput[]
}

/** Writes a message from the deltas of any provider, as events or as one JSON body. */
export class MessageWriter implements DeltaWriter {
  private readonly events: EventWriter
  /** The blocks of a body. Undefined for a stream. */
  private readonly gathered: BodySink | undefined
  private readonly sink: BlockSink
  /** The blocks of a body as JSON, written before anything was charged for them. */
  private content = '[]'
  private current: 'text' | 'thinking' | 'tool_use' | undefined
  /** The reasoning details of the open thinking block. */
  private details: Members[] = []
  /** The open tool call. */
  private call: WrittenCall | undefined
  /** Every call that has started. */
  private readonly begun = new Map<number, WrittenCall>()
  private readonly waiting = new Map<number, WaitingCall>()
  /** Deltas that came before the open call had all its arguments. A block must end before the next one starts. */
  private deferred: Delta[] = []
  /** Signatures that came after the start of their call. */
  private late: Members[] = []
  /** The ids in details that were already sent. */
  private readonly signed = new Set<unknown>()
  private stop = ENDED

  constructor(
    private readonly top: MessageTop,
    private readonly provider: string,
    isStream: boolean,
  ) {
    this.events = new EventWriter(top)
    this.gathered = isStream ? undefined : new BodySink()
    this.sink = this.gathered ?? new StreamSink(this.events)
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
    const lost = new Set(lostCalls(0).map((call) => this.begun.get(call)?.block))
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
      case 'text':
      case 'details':
      case 'image':
        if (!this.hasUnfinishedCall) return this.writeSpoken(delta)
        this.deferred.push(delta)
        return ''
      case 'begin':
        if (delta.kind !== 'call') return ''
        this.waiting.set(delta.call, { begun: delta, inputs: [] })
        return this.writeWaiting(false)
      case 'input':
        return this.takeInput(delta)
      case 'end': {
        const rest = this.writeWaiting(true) + this.writeDeferred() + this.writeLate() + this.close()
        this.stop = stopOf(delta)
        return rest
      }
      default:
        return ''
    }
  }

  private get hasUnfinishedCall(): boolean {
    return this.call?.brackets.closed === false
  }

  private writeDeferred(): string {
    const { deferred } = this
    this.deferred = []
    return deferred.map((delta) => this.writeSpoken(delta)).join('')
  }

  private writeSpoken(delta: Delta): string {
    switch (delta.type) {
      case 'text':
        return this.writeText(delta)
      case 'details':
        return this.takeDetails(delta.details)
      case 'image':
        // A block of a reply has no images.
        return delta.address === undefined ? '' : this.say(imageText(delta.address))
      default:
        return ''
    }
  }

  private writeText({ kind, text }: TextPiece): string {
    return kind === 'thought' ? this.think(text) : this.say(text)
  }

  private think(text: string): string {
    const begun = this.current === 'thinking' ? '' : this.begin('thinking', THINKING)
    return begun + this.sink.delta({ type: 'thinking_delta', thinking: text })
  }

  private say(text: string): string {
    const begun = this.current === 'text' ? '' : this.begin('text', TEXT)
    return begun + this.sink.delta({ type: 'text_delta', text })
  }

  /** Attaches details to the open thinking block. Without one, they become hidden thinking. */
  private takeDetails(details: readonly Members[]): string {
    if (this.current !== 'thinking') return this.hide(details)
    this.details.push(...details)
    return ''
  }

  private hide(details: readonly Members[]): string {
    for (const { id } of details) this.signed.add(id)
    const data = markDetails(hiddenDetails(details), this.provider)
    return this.close() + this.sink.open({ type: 'redacted_thinking', data }) + this.sink.close()
  }

  private takeInput(input: CallInput): string {
    const known = this.begun.get(input.call)
    if (known !== undefined) return this.writeInput(known, input) + this.writeWaiting(false)
    this.waiting.get(input.call)?.inputs.push(input)
    return ''
  }

  /**
   * Writes the waiting calls, one after the other.
   *
   * @param isLast whether no more of the open call follows, so that the next one starts even if its arguments are
   * incomplete
   */
  private writeWaiting(isLast: boolean): string {
    let sent = ''
    for (const [call, { begun, inputs }] of this.waiting) {
      if (this.call !== undefined && !isLast && !this.call.brackets.closed) break
      this.waiting.delete(call)
      const { written, sent: start } = this.beginCall(begun)
      sent += start
      for (const input of inputs) sent += this.writeInput(written, input)
    }
    return sent
  }

  private beginCall({ call, id: given, name, signature }: CallBegin): { written: WrittenCall; sent: string } {
    const id = idForClaude(given)
    const isHidden = signature === undefined || this.signed.has(given)
    const hidden = isHidden ? '' : this.hide([signedCallDetail(id, signature)])
    const begun = this.begin('tool_use', { type: 'tool_use', id, name, input: {} })
    const block = (this.gathered?.count ?? 0) - 1
    const written: WrittenCall = { id, brackets: new JsonBrackets(), block, hasArguments: false }
    this.call = written
    this.begun.set(call, written)
    return { written, sent: hidden + begun }
  }

  /** Writes more of the arguments of a started call. */
  private writeInput(call: WrittenCall, { form, signature, text }: CallInput): string {
    if (signature !== undefined && !this.signed.has(call.id)) {
      this.signed.add(call.id)
      this.late.push(signedCallDetail(call.id, signature))
    }
    // This API has no custom tools.
    if (text === '' || form === 'custom') return ''
    if (call !== this.call) {
      // Its block has already ended, as that of a call without arguments.
      if (text === NO_ARGUMENTS && !call.hasArguments) return ''
      throw invalidReply('a piece of a tool call follows its end')
    }
    call.brackets.take(text)
    call.hasArguments = true
    return this.sink.delta({ type: 'input_json_delta', partial_json: text })
  }

  /** Writes the signatures that came late. Their order among the blocks does not matter. */
  private writeLate(): string {
    const { late } = this
    this.late = []
    return late.length === 0 ? '' : this.hide(late)
  }

  private begin(type: NonNullable<MessageWriter['current']>, block: JsonObject): string {
    const closed = this.close()
    this.current = type
    return closed + this.sink.open(block)
  }

  /** Ends the open block. A thinking block gets the signature with which its provider accepts it back. */
  private close(): string {
    let sent = ''
    if (this.current === 'thinking') {
      const signature = markDetails(detailsOfThinking(this.details), this.provider)
      sent = this.sink.delta({ type: 'signature_delta', signature })
      this.details = []
    }
    if (this.call?.hasArguments === false) {
      sent = this.sink.delta({ type: 'input_json_delta', partial_json: NO_ARGUMENTS })
    }
    this.call = undefined
    this.current = undefined
    return sent + this.sink.close()
  }
}

const THINKING: JsonObject = Object.freeze({ type: 'thinking', thinking: '', signature: '' })
const TEXT: JsonObject = Object.freeze({ type: 'text', text: '' })
const NO_ARGUMENTS = '{}'
