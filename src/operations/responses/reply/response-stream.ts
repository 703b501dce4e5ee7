import type { CompatError } from '../../../base/errors.js'
import type { ReplyBytes } from '../../../contracts/reply.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import type { StreamWriter } from '../../chat/reply/chunk-writer.js'
import { OutputItems } from './output-items.js'
import {
  type AboutResponse,
  type ResponseState,
  responseError,
  responsePieces,
  responseUsage,
} from './response-object.js'

/** The events before the first item. */
const OPENING = ['response.created', 'response.in_progress'] as const
const NO_OUTPUT: readonly string[] = ['[]']
/** Smaller texts are sent at once. */
const SMALL_BYTES = 64 * 1_024

interface LateEvent {
  readonly type: string
  readonly fields: JsonObject
}

/** Writes a response as named, numbered events. */
export class ResponseStream implements StreamWriter {
  private written = ''
  private count: number = OPENING.length
  private hasOpened = false
  private isKept = false
  /** The final events, each written once the client can accept it. Undefined until the end. */
  private late: LateEvent[] | undefined
  private readonly items: OutputItems

  constructor(private readonly about: AboutResponse) {
    const { repeatedBytes } = about.parts
    this.items = new OutputItems(about, (type, fields) => this.emit(type, fields), repeatedBytes)
  }

  get keptBytes(): number {
    return this.items.bytes + this.about.repeated.bytes
  }

  opening(): Iterable<string> {
    return this.inPieces(this.openingPieces())
  }

  chunks(choices: readonly JsonObject[]): string {
    for (const choice of choices) this.items.add(choice)
    return this.take()
  }

  closing(charge: WireCharge, _labels: string, pending: string): ReplyBytes {
    this.late = []
    this.items.end(true)
    this.keep()
    const reason = this.items.incompleteReason
    const status = reason === undefined ? 'completed' : 'incomplete'
    return this.ending(`response.${status}`, { status, reason, usage: responseUsage(charge) }, pending)
  }

  failing(error: CompatError, charge: WireCharge, pending: string): ReplyBytes {
    this.late = []
    this.items.end(false)
    this.keep()
    const state = { status: 'failed', error: responseError(error), usage: responseUsage(charge) } as const
    return this.ending('response.failed', state, pending)
  }

  /** The client has left. Keeps the items, so that it can continue from what it has read. */
  discard(): void {
    this.keep()
  }

  private keep(): void {
    if (this.isKept) return
    this.isKept = true
    this.items.keep()
  }

  private ending(type: string, state: ResponseState, pending: string): ReplyBytes {
    return this.inPieces(this.endingPieces(type, state, pending))
  }

  private *openingPieces(): Generator<string, void> {
    if (this.hasOpened) return
    this.hasOpened = true
    for (const [number, type] of OPENING.entries()) {
      yield* this.statePieces(type, { status: 'in_progress' }, number, NO_OUTPUT)
    }
  }

  private *endingPieces(type: string, state: ResponseState, pending: string): Generator<string, void> {
    yield* this.openingPieces()
    yield pending
    for (const event of this.late ?? []) yield this.write(event.type, event.fields)
    yield* this.statePieces(type, state, this.count++, this.items.pieces())
  }

  private *statePieces(
    type: string,
    state: ResponseState,
    number: number,
    output: Iterable<string>,
  ): Generator<string, void> {
    yield `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},"response":`
    yield* responsePieces(this.about, state, output)
    yield '}\n\n'
  }

  /** Joins a small text into one piece, since each piece is a separate write. */
  private inPieces(pieces: Iterable<string>): Iterable<string> {
    return this.keptBytes < SMALL_BYTES ? [[...pieces].join('')] : pieces
  }

  private emit(type: string, fields: JsonObject): void {
    if (this.late === undefined) this.written += this.write(type, fields)
    else this.late.push({ type, fields })
  }

  private write(type: string, fields: JsonObject): string {
    const json = JSON.stringify({ type, sequence_number: this.count++, ...fields })
    return `event: ${type}\ndata: ${toLatin1(json)}\n\n`
  }

  private take(): string {
    const { written } = this
    this.written = ''
    return written
  }
}
