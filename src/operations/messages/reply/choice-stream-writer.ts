import type { CompatError } from '../../../base/errors.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { invalidReply } from '../../../replies/delta.js'
import type { StreamWriter } from '../../chat/reply/chunk-writer.js'
import { signedCallDetail } from '../reasoning/call-signatures.js'
import { markDetails } from '../reasoning/thoughts.js'
import { imageText, joinDetails } from './choice-parts.js'
import { errorEvent } from './errors.js'
import { EventWriter, type MessageTop } from './event-writer.js'
import { type Stop, stopReason } from './stop.js'

const ENDED: Stop = { reason: 'end_turn', sequence: null }

/** Writes the stream of a message from the choices of a chat. */
export class ChoiceStreamWriter implements StreamWriter {
  private readonly events: EventWriter
  private current: 'text' | 'thinking' | 'tool_use' | undefined
  /** The reasoning details of the block of thinking that is open. */
  private details: JsonObject[] = []
  /** The index of the tool call that is open, and its arguments so far. */
  private call: unknown
  private args = ''
  /** The deltas of calls that began before the open one had all of its arguments. */
  private readonly waiting: JsonObject[] = []
  /** The ids in details that were sent. */
  private readonly signed = new Set<unknown>()
  private stop = ENDED

  constructor(
    top: MessageTop,
    private readonly provider: string,
  ) {
    this.events = new EventWriter(top)
  }

  chunks(choices: readonly JsonObject[]): string {
    let sent = ''
    for (const { delta, finish_reason: finish, native_finish_reason: native } of choices) {
      if (isObject(delta)) sent += this.take(delta)
      if (finish === null || finish === undefined) continue
      sent += this.writeWaiting(true) + this.close()
      this.stop = { reason: stopReason(finish, native), sequence: null }
    }
    return sent
  }

  closing(charge: WireCharge): string {
    return this.events.end(this.stop, charge)
  }

  failing(error: CompatError, charge: WireCharge): string {
    return errorEvent(error, charge)
  }

  private take(delta: JsonObject): string {
    const { content, images, reasoning, reasoning_details: details, refusal, tool_calls: calls } = delta
    let sent = ''
    if (isText(reasoning)) sent += this.think(reasoning)
    if (Array.isArray(details)) sent += this.takeDetails(details.filter(isObject))
    if (isText(content)) sent += this.say(content)
    if (isText(refusal)) sent += this.say(refusal)
    if (Array.isArray(images)) for (const image of images) sent += this.say(imageText(image))
    if (Array.isArray(calls)) for (const call of calls as JsonObject[]) sent += this.takeCall(call)
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

  /** Details go with the thinking that is open. Without any, they become thinking that cannot be read. */
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
    const data = markDetails(joinDetails(details, false), this.provider)
    return this.close() + this.events.open({ type: 'redacted_thinking', data }) + this.events.close()
  }

  private takeCall(call: JsonObject): string {
    this.waiting.push(call)
    return this.writeWaiting(false)
  }

  /**
   * Writes the deltas that wait, call by call.
   *
   * @param isLast whether no more of the open call follows, so that the next one begins even if its arguments are not whole
   */
  private writeWaiting(isLast: boolean): string {
    let sent = ''
    while (this.waiting.length > 0) {
      const isOpen = this.current === 'tool_use'
      const place = isOpen ? this.waiting.findIndex(({ index }) => index === this.call) : -1
      if (place < 0 && isOpen && !isLast && !isWhole(this.args)) break
      const [call] = this.waiting.splice(Math.max(0, place), 1)
      sent += this.writeCall(call!)
    }
    return sent
  }

  private writeCall(call: JsonObject): string {
    const { arguments: args, name } = isObject(call.function) ? call.function : {}
    let sent = ''
    if (this.current !== 'tool_use' || call.index !== this.call) {
      if (!isText(call.id)) throw invalidReply('a piece of a tool call follows its end')
      const signed = signedCallDetail(call)
      if (signed !== undefined && !this.signed.has(call.id)) sent += this.hide([signed])
      sent += this.begin('tool_use', { type: 'tool_use', id: call.id, name, input: {} })
      this.call = call.index
      this.args = ''
    }
    if (!isText(args)) return sent
    this.args += args
    return sent + this.events.delta({ type: 'input_json_delta', partial_json: args })
  }

  private begin(type: NonNullable<ChoiceStreamWriter['current']>, block: JsonObject): string {
    const closed = (type === 'tool_use' ? '' : this.writeWaiting(true)) + this.close()
    this.current = type
    return closed + this.events.open(block)
  }

  /** Ends the open block. Thinking gets the signature with which its provider takes it back. */
  private close(): string {
    let sent = ''
    if (this.current === 'thinking') {
      const signature = markDetails(joinDetails(this.details, true), this.provider)
      sent = this.events.delta({ type: 'signature_delta', signature })
      this.details = []
    }
    this.current = undefined
    return sent + this.events.close()
  }
}

const THINKING: JsonObject = Object.freeze({ type: 'thinking', thinking: '', signature: '' })
const TEXT: JsonObject = Object.freeze({ type: 'text', text: '' })

function isWhole(args: string): boolean {
  try {
    JSON.parse(args)
    return true
  } catch {
    return false
  }
}

/** The bytes that keep a stream alive. Clients of this API may wait for an event, and not for any byte. */
export const PING = 'event: ping\ndata: {"type":"ping"}\n\n'
