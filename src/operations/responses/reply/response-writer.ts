import type { CompatError } from '../../../base/errors.js'
import type { ReplyBytes } from '../../../contracts/reply.js'
import type { Delta, Labels } from '../../../conversation/delta.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { joined, jsonBytes, NO_BYTES, plus, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { type DeltaWriter, writeSafely } from '../../../replies/delta-writer.js'
import { type ItemEvent, OutputItems } from './output-items.js'
import {
  type AboutResponse,
  type ResponseState,
  type ResponseStatus,
  responseError,
  responsePieces,
  responseUsage,
} from './response-object.js'

/** The events before the first item. */
const OPENING = ['response.created', 'response.in_progress'] as const
const NO_OUTPUT = wire('[]')
/** Smaller texts are sent at once. */
const SMALL_BYTES = 64 * 1_024

type StateEvent = `response.${ResponseStatus | 'created'}`

interface LateEvent {
  readonly type: ItemEvent
  readonly fields: JsonObject
}

/** Writes a response: a stream as named, numbered events. */
export class ResponseWriter implements DeltaWriter {
  private written = NO_BYTES
  private count: number = OPENING.length
  private hasOpened = false
  private isKept = false
  /** The final events, each written once the client can accept it. Undefined until the end. */
  private late: LateEvent[] | undefined
  private items: OutputItems
  /** The items of a body as JSON, written before anything was charged for them. */
  private output: WireBytes | undefined
  private isDiscarded = false

  constructor(
    private readonly about: AboutResponse,
    private readonly isStream: boolean,
  ) {
    this.items = this.newItems()
  }

  get keptBytes(): number {
    return (this.output?.length ?? 0) + this.items.bytes + this.about.repeated.bytes
  }

  opening(): Iterable<WireBytes> {
    return this.inPieces(this.openingPieces())
  }

  write(deltas: readonly Delta[]): WireBytes {
    if (this.isDiscarded || this.output !== undefined) return NO_BYTES
    this.items.add(deltas)
    return this.take()
  }

  endBody(lostCalls: (choice: number) => readonly number[]): void {
    const { items } = this
    items.end(true)
    this.output = writeSafely(() => jsonBytes(items.without(lostCalls(0))))
    items.forgetProbabilities()
  }

  body(charge: WireCharge): WireBytes {
    this.keep()
    const output = this.output ?? NO_OUTPUT
    this.output = NO_BYTES
    return joined([...responsePieces(this.about, this.ended(charge), [output])])
  }

  closing(charge: WireCharge, _labels: Labels, pending: WireBytes): ReplyBytes {
    this.late = []
    this.items.end(true)
    this.keep()
    const state = this.ended(charge)
    return this.ending(`response.${state.status}`, state, pending)
  }

  failing(error: CompatError, charge: WireCharge, pending: WireBytes): ReplyBytes {
    this.late = []
    this.items.end(false)
    this.keep()
    const state = { status: 'failed', error: responseError(error), usage: responseUsage(charge) } as const
    return this.ending('response.failed', state, pending)
  }

  /** The client has left. Keeps the items of a stream, so that it can continue from what it has read. */
  discard(): void {
    if (this.isStream) this.keep()
    else {
      this.isDiscarded = true
      this.items = this.newItems()
    }
  }

  private newItems(): OutputItems {
    const { about, isStream } = this
    if (isStream) {
      return new OutputItems(about, (type, fields) => this.emit(type, fields), about.parts.repeatedBytes)
    }
    // A body contains the log probabilities once, so it keeps them all.
    return new OutputItems(about, () => {}, Infinity)
  }

  private ended(charge: WireCharge): ResponseState {
    const reason = this.items.incompleteReason
    return { status: reason === undefined ? 'completed' : 'incomplete', reason, usage: responseUsage(charge) }
  }

  private keep(): void {
    if (this.isKept) return
    this.isKept = true
    this.items.keep()
  }

  private ending(type: StateEvent, state: ResponseState, pending: WireBytes): ReplyBytes {
    return this.inPieces(this.endingPieces(type, state, pending))
  }

  private *openingPieces(): Generator<WireBytes, void> {
    if (this.hasOpened) return
    this.hasOpened = true
    for (const [number, type] of OPENING.entries()) {
      yield* this.statePieces(type, { status: 'in_progress' }, number, [NO_OUTPUT])
    }
  }

  private *endingPieces(
    type: StateEvent,
    state: ResponseState,
    pending: WireBytes,
  ): Generator<WireBytes, void> {
    yield* this.openingPieces()
    yield pending
    for (const event of this.late ?? []) yield this.numbered(event.type, event.fields)
    yield* this.statePieces(type, state, this.count++, this.items.pieces())
  }

  private *statePieces(
    type: StateEvent,
    state: ResponseState,
    number: number,
    output: Iterable<WireBytes>,
  ): Generator<WireBytes, void> {
    yield wire(`event: ${type}\ndata: {"type":"${type}","sequence_number":${number},"response":`)
    yield* responsePieces(this.about, state, output)
    yield wire('}\n\n')
  }

  /** Joins a small text into one piece, since each piece is a separate write. */
  private inPieces(pieces: Iterable<WireBytes>): Iterable<WireBytes> {
    return this.keptBytes < SMALL_BYTES ? [joined([...pieces])] : pieces
  }

  private emit(type: ItemEvent, fields: JsonObject): void {
    if (this.late === undefined) this.written = plus(this.written, this.numbered(type, fields))
    else this.late.push({ type, fields })
  }

  private numbered(type: ItemEvent, fields: JsonObject): WireBytes {
    const json = jsonBytes({ type, sequence_number: this.count++, ...fields })
    return wire(`event: ${type}\ndata: ${json}\n\n`)
  }

  private take(): WireBytes {
    const { written } = this
    this.written = NO_BYTES
    return written
  }
}
