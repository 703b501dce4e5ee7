import type { NativeEvent } from '../../../conversation/delta.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { joined, jsonBytes, NO_BYTES, plus, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import type { BlockSink, TextMember } from './body-blocks.js'
import type { Stop } from './stop.js'
import { wireUsage } from './usage.js'

/** The bytes that keep a stream alive. Clients of this API may wait for an event rather than for any byte. */
export const PING = wire('event: ping\ndata: {"type":"ping"}\n\n')

/** The members of a message that do not come from its provider. */
export interface MessageTop {
  readonly id: string
  /** The model key of the request. */
  readonly model: string
}

/** The counts in the first event of a stream. The last event has the counts that are charged. */
export type FirstUsage = Readonly<Record<string, number>>

type EventName =
  | 'content_block_delta'
  | 'content_block_start'
  | 'content_block_stop'
  | 'message_delta'
  | 'message_start'
  | 'message_stop'

const NO_TOKENS: FirstUsage = Object.freeze({ input_tokens: 0, output_tokens: 0 })

/** The types of deltas by their members. */
const DELTAS: Readonly<Record<TextMember, string>> = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  partial_json: 'input_json_delta',
}

/**
 * Writes the events of a stream in order: the start of the message, each block with its start, deltas and stop, and the
 * end of the message with the charge.
 */
export class EventWriter implements BlockSink {
  /** The index of the block that started last. */
  private index = -1
  private isOpen = false
  private hasStarted = false

  constructor(private readonly top: MessageTop) {}

  /** Starts the message, if that is still to be done. */
  start(usage = NO_TOKENS): WireBytes {
    if (this.hasStarted) return NO_BYTES
    this.hasStarted = true
    const { id, model } = this.top
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    }
    return event('message_start', { type: 'message_start', message })
  }

  /** Starts a block after the end of the previous one. */
  open(block: JsonObject): WireBytes {
    const before = plus(this.start(), this.close())
    this.isOpen = true
    this.index++
    const start = { type: 'content_block_start', index: this.index, content_block: block }
    return plus(before, event('content_block_start', start))
  }

  delta(delta: JsonObject): WireBytes {
    return event('content_block_delta', { type: 'content_block_delta', index: this.index, delta })
  }

  more(member: TextMember, text: string, event: NativeEvent | undefined): WireBytes {
    // A block that could not be read changes the indexes.
    if (event !== undefined && event.index === this.index)
      return wire(`event: content_block_delta\ndata: ${event.bytes}\n\n`)
    return this.delta({ type: DELTAS[member], [member]: text })
  }

  close(): WireBytes {
    if (!this.isOpen) return NO_BYTES
    this.isOpen = false
    return event('content_block_stop', { type: 'content_block_stop', index: this.index })
  }

  end({ details, edits, reason, sequence }: Stop, charge: WireCharge): WireBytes {
    const delta = {
      stop_reason: reason,
      stop_sequence: sequence,
      ...(details !== undefined && { stop_details: details }),
    }
    const usage = wireUsage(charge)
    const end = { type: 'message_delta', delta, usage, ...(edits && { context_management: edits }) }
    return joined([
      this.start(),
      this.close(),
      event('message_delta', end),
      event('message_stop', { type: 'message_stop' }),
    ])
  }
}

function event(name: EventName, data: JsonObject): WireBytes {
  return wire(`event: ${name}\ndata: ${jsonBytes(data)}\n\n`)
}

/** Returns a whole message as JSON. `content` is the JSON of its blocks. */
export function writeMessage(
  { id, model }: MessageTop,
  content: WireBytes,
  { details, edits, reason, sequence }: Stop,
  charge: WireCharge,
): WireBytes {
  const start = jsonBytes({ id, type: 'message', role: 'assistant', model })
  const end = jsonBytes({
    stop_reason: reason,
    stop_sequence: sequence,
    ...(details !== undefined && { stop_details: details }),
    usage: wireUsage(charge),
    ...(edits && { context_management: edits }),
  })
  return wire(`${start.slice(0, -1)},"content":${content},${end.slice(1)}`)
}
