import type { CompatError } from '../../../base/errors.js'
import { JsonBrackets } from '../../../protocol/json-brackets.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { signedCallDetail } from '../../../replies/call-signatures.js'
import { invalidReply } from '../../../replies/delta.js'
import { imageAddress, imageText } from '../../../replies/image-text.js'
import type { StreamWriter } from '../../chat/reply/chunk-writer.js'
import { markDetails } from '../reasoning/thoughts.js'
import { detailsOfThinking, hiddenDetails } from './choice-parts.js'
import { errorEvent } from './errors.js'
import { EventWriter, type MessageTop } from './event-writer.js'
import { matchedStop, type Stop, stopOf } from './stop.js'

/** The members that {@link ChoiceStreamWriter} writes beside calls. A piece of a call has none of them. */
const SPOKEN = ['content', 'images', 'reasoning', 'reasoning_details', 'refusal'] as const
const ENDED: Stop = { reason: 'end_turn', sequence: null }

/** A tool call whose block has started. */
interface WrittenCall {
  readonly id: unknown
  readonly brackets: JsonBrackets
  hasArguments: boolean
}

/** Writes the stream of a message from the choices of a chat. */
export class ChoiceStreamWriter implements StreamWriter {
  private readonly events: EventWriter
  private current: 'text' | 'thinking' | 'tool_use' | undefined
  /** The reasoning details of the open thinking block. */
  private details: JsonObject[] = []
  /** The open tool call. */
  private call: WrittenCall | undefined
  /** Every call that has started, by its index. */
  private readonly begun = new Map<unknown, WrittenCall>()
  /** The deltas of calls that started before the open one had all its arguments, by their indexes. */
  private readonly waiting = new Map<unknown, JsonObject[]>()
  /** Deltas that came before the open call had all its arguments. A block must end before the next one starts. */
  private deferred: JsonObject[] = []
  /** Signatures that came after the start of their call. */
  private late: JsonObject[] = []
  /** The ids in details that were already sent. */
  private readonly signed = new Set<unknown>()
  private stop = ENDED
  /** The text at which the model stopped, as the provider names it. */
  private matched: string | undefined

  constructor(
    top: MessageTop,
    private readonly provider: string,
    private readonly stopSequences: ReadonlySet<unknown>,
  ) {
    this.events = new EventWriter(top)
  }

  chunks(choices: readonly JsonObject[]): string {
    let sent = ''
    for (const choice of choices) {
      if (isObject(choice.delta)) sent += this.take(choice.delta)
      this.matched ??= matchedStop(choice, this.stopSequences)
      if ((choice.finish_reason ?? undefined) === undefined) continue
      sent += this.writeWaiting(true) + this.writeDeferred() + this.writeLate() + this.close()
      this.stop = stopOf(choice, this.matched)
    }
    return sent
  }

  closing(charge: WireCharge, _labels: string, pending: string): string {
    return pending + this.events.end(this.stop, charge)
  }

  failing(error: CompatError, charge: WireCharge): string {
    return errorEvent(error, charge)
  }

  private take(delta: JsonObject): string {
    const { tool_calls: calls } = delta
    let sent = ''
    if (!this.hasUnfinishedCall) sent += this.write(delta)
    else if (SPOKEN.some((name) => delta[name] !== undefined)) this.deferred.push(delta)
    if (Array.isArray(calls)) for (const call of calls as JsonObject[]) sent += this.takeCall(call)
    return this.deferred.length === 0 || this.hasUnfinishedCall ? sent : sent + this.writeDeferred()
  }

  private get hasUnfinishedCall(): boolean {
    return this.call?.brackets.closed === false
  }

  private writeDeferred(): string {
    const { deferred } = this
    this.deferred = []
    return deferred.map((delta) => this.write(delta)).join('')
  }

  /** Writes everything in a delta except its calls. */
  private write({ content, images, reasoning, reasoning_details: details, refusal }: JsonObject): string {
    let sent = ''
    if (isText(reasoning)) sent += this.think(reasoning)
    if (Array.isArray(details)) sent += this.takeDetails(details.filter(isObject))
    if (isText(content)) sent += this.say(content)
    if (isText(refusal)) sent += this.say(refusal)
    if (Array.isArray(images)) for (const image of images) sent += this.show(image)
    return sent
  }

  private think(text: string): string {
    const begun = this.current === 'thinking' ? '' : this.begin('thinking', THINKING)
    return begun + this.events.delta({ type: 'thinking_delta', thinking: text })
  }

  private say(text: string): string {
    const begun = this.current === 'text' ? '' : this.begin('text', TEXT)
    return begun + this.events.delta({ type: 'text_delta', text })
  }

  /** Describes an image as text, since a block of a reply has no images. */
  private show(image: unknown): string {
    const address = imageAddress(image)
    return address === undefined ? '' : this.say(imageText(address))
  }

  /** Attaches details to the open thinking block. Without one, they become hidden thinking. */
  private takeDetails(details: readonly JsonObject[]): string {
    if (details.length === 0) return ''
    if (this.current === 'thinking') {
      this.details.push(...details)
      return ''
    }
    return this.hide(details)
  }

  private hide(details: readonly JsonObject[]): string {
    for (const { id } of details) this.signed.add(id)
    const data = markDetails(hiddenDetails(details), this.provider)
    return this.close() + this.events.open({ type: 'redacted_thinking', data }) + this.events.close()
  }

  private takeCall(delta: JsonObject): string {
    const { index } = delta
    const known = this.begun.get(index)
    if (known !== undefined) return this.writePiece(known, delta) + this.writeWaiting(false)
    const waiting = this.waiting.get(index)
    if (waiting === undefined) this.waiting.set(index, [delta])
    else waiting.push(delta)
    return this.writeWaiting(false)
  }

  /**
   * Writes the waiting calls, one after the other.
   *
   * @param isLast whether no more of the open call follows, so that the next one starts even if its arguments are
   * incomplete
   */
  private writeWaiting(isLast: boolean): string {
    let sent = ''
    for (const [index, deltas] of this.waiting) {
      if (this.call !== undefined && !isLast && !this.call.brackets.closed) break
      this.waiting.delete(index)
      const call = deltas[0]!
      sent += this.beginCall(call)
      for (const delta of deltas) sent += this.writePiece(this.call!, delta)
    }
    return sent
  }

  private beginCall(delta: JsonObject): string {
    const { id, index } = delta
    const { name } = isObject(delta.function) ? delta.function : {}
    const signed = signedCallDetail(delta)
    const hidden = signed === undefined || this.signed.has(id) ? '' : this.hide([signed])
    const begun = this.begin('tool_use', { type: 'tool_use', id, name, input: {} })
    this.call = { id, brackets: new JsonBrackets(), hasArguments: false }
    this.begun.set(index, this.call)
    return hidden + begun
  }

  /** Writes more of the arguments of a started call. */
  private writePiece(call: WrittenCall, delta: JsonObject): string {
    const { arguments: args } = isObject(delta.function) ? delta.function : {}
    const { extra_content } = delta
    const signed = signedCallDetail({ id: call.id, extra_content })
    if (signed !== undefined && !this.signed.has(call.id)) {
      this.signed.add(call.id)
      this.late.push(signed)
    }
    if (!isText(args)) return ''
    if (call !== this.call) {
      // Its block has already ended, as that of a call without arguments.
      if (args === NO_ARGUMENTS && !call.hasArguments) return ''
      throw invalidReply('a piece of a tool call follows its end')
    }
    call.brackets.take(args)
    call.hasArguments = true
    return this.events.delta({ type: 'input_json_delta', partial_json: args })
  }

  /** Writes the signatures that came late. Their order among the blocks does not matter. */
  private writeLate(): string {
    const { late } = this
    this.late = []
    return late.length === 0 ? '' : this.hide(late)
  }

  private begin(type: NonNullable<ChoiceStreamWriter['current']>, block: JsonObject): string {
    const closed = this.close()
    this.current = type
    return closed + this.events.open(block)
  }

  /** Ends the open block. A thinking block gets the signature with which its provider accepts it back. */
  private close(): string {
    let sent = ''
    if (this.current === 'thinking') {
      const signature = markDetails(detailsOfThinking(this.details), this.provider)
      sent = this.events.delta({ type: 'signature_delta', signature })
      this.details = []
    }
    if (this.call?.hasArguments === false) {
      sent = this.events.delta({ type: 'input_json_delta', partial_json: NO_ARGUMENTS })
    }
    this.call = undefined
    this.current = undefined
    return sent + this.events.close()
  }
}

const THINKING: JsonObject = Object.freeze({ type: 'thinking', thinking: '', signature: '' })
const TEXT: JsonObject = Object.freeze({ type: 'text', text: '' })
const NO_ARGUMENTS = '{}'

/** The bytes that keep a stream alive. Clients of this API may wait for an event rather than for any byte. */
export const PING = 'event: ping\ndata: {"type":"ping"}\n\n'
