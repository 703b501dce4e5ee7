import type { CompatError } from '../../../base/errors.js'
import type { ReasoningName } from '../../../contracts/reasoning-name.js'
import type { Delta, Labels } from '../../../conversation/delta.js'
import { errorFrame } from '../../../protocol/error-body.js'
import { memorySize } from '../../../protocol/memory-size.js'
import { jsonBytes, NO_BYTES, toWire, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import { type WireCharge, wireUsage, writeUsage } from '../../../protocol/wire-usage.js'
import { type DeltaWriter, writeSafely } from '../../../replies/delta-writer.js'
import { ChatChoice, Thoughts } from './chat-choice.js'

/** The top-level fields of every reply. */
export interface ReplyTop {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** The approximate memory of a piece of text besides its characters. */
const DELTA_BYTES = 128

/** Writes chat completions, as chunks or as one JSON body. */
export class ChatWriter implements DeltaWriter {
  /** The start of each chunk, up to its choices. Undefined for a body. */
  private readonly head: WireBytes | undefined
  /** The choices of a body, by their indexes. Undefined if nobody reads them. */
  private gathered: ChatChoice[] | undefined
  /** The choices of a body, written before anything was charged for them. */
  private written = NO_BYTES
  private gatheredBytes = 0
  private readonly thoughts = new Thoughts()

  constructor(
    private readonly top: ReplyTop,
    private readonly reasoningName: ReasoningName,
    isStream: boolean,
  ) {
    if (!isStream) {
      this.gathered = []
      return
    }
    const { created, id, model } = top
    const fields = jsonBytes({ id, object: 'chat.completion.chunk', created, model })
    this.head = wire(`data: ${fields.slice(0, -1)},"choices":[`)
  }

  get keptBytes(): number {
    return this.written.length + this.gatheredBytes
  }

  write(deltas: readonly Delta[], labels: Labels): WireBytes {
    if (this.head !== undefined) return this.chunks(this.head, deltas, wire(`]${writeLabels(labels)}}\n\n`))
    for (const delta of deltas) this.gather(delta)
    return NO_BYTES
  }

  discard(): void {
    this.gathered = undefined
    this.gatheredBytes = 0
  }

  endBody(lostCalls: (choice: number) => readonly number[]): void {
    const choices = this.gathered ?? []
    // `flatMap` passes over choices that the reply does not have.
    this.written = writeSafely(() =>
      jsonBytes(choices.flatMap((choice, index) => choice.written(index, lostCalls(index)))),
    )
    this.discard()
  }

  body(charge: WireCharge, labels: Labels): WireBytes {
    const { created, id, model } = this.top
    const fields = jsonBytes(Object.assign({ id, object: 'chat.completion', created, model }, labels))
    const { written } = this
    this.written = NO_BYTES
    return wire(`${fields.slice(0, -1)},"choices":${written},"usage":${writeUsage(charge)}}`)
  }

  /** Returns the end of a stream: the usage with the charge, and `[DONE]`. */
  closing(charge: WireCharge, labels: Labels, pending: WireBytes): WireBytes {
    const { head = NO_BYTES } = this
    const usage = writeUsage(charge)
    return wire(`${pending}${head}]${writeLabels(labels)},"usage":${usage}}\n\ndata: [DONE]\n\n`)
  }

  /** Omits `[DONE]`, so that the stream does not look successful. */
  failing(error: CompatError, charge: WireCharge): WireBytes {
    return errorFrame(error, wireUsage(charge))
  }

  private gather(delta: Delta): void {
    const { gathered } = this
    if (gathered === undefined) return
    this.gatheredBytes += delta.type === 'text' ? DELTA_BYTES + delta.text.length : memorySize(delta)
    let choice = gathered[delta.choice]
    if (choice === undefined) {
      choice = new ChatChoice(this.reasoningName, false, this.thoughts)
      gathered[delta.choice] = choice
    }
    choice.add(delta)
  }

  /** Returns the deltas of a choice as one chunk. Its finish comes after its last calls, in a chunk of its own. */
  private chunks(head: WireBytes, deltas: readonly Delta[], labels: WireBytes): WireBytes {
    const [first] = deltas
    if (first === undefined) return NO_BYTES
    let chunks = NO_BYTES
    let choice = new ChatChoice(this.reasoningName, true, this.thoughts)
    for (const delta of deltas) {
      if (delta.type === 'end' && choice.hasCalls) {
        chunks = wire(`${chunks}${head}${jsonBytes(choice.written(first.choice))}${labels}`)
        choice = new ChatChoice(this.reasoningName, true, this.thoughts)
      }
      choice.add(delta)
    }
    return wire(`${chunks}${head}${jsonBytes(choice.written(first.choice))}${labels}`)
  }
}

/** Writes the provider's top-level fields that a chunk has too. */
function writeLabels(labels: Labels): WireBytes {
  const text = JSON.stringify(labels)
  return text === '{}' ? NO_BYTES : toWire(`,${text.slice(1, -1)}`)
}
