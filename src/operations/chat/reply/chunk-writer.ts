import type { CompatError } from '../../../base/errors.js'
import type { ReplyBytes } from '../../../contracts/reply.js'
import { errorFrame } from '../../../protocol/error-body.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import { type WireCharge, wireUsage, writeUsage } from '../../../protocol/wire-usage.js'
import { completeDetails } from './complete-details.js'

/** The top-level fields of every reply. */
export interface ReplyTop {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** Writes a client's stream as latin1, from choices in the shape that OpenAI's clients read. */
export interface StreamWriter {
  /** Returns the bytes for some choices of a chunk. `labels` are from {@link writeLabels}. */
  chunks(choices: readonly JsonObject[], labels: string): string
  /** The memory that the writer needs until the end of the stream. Absent if it needs none. */
  readonly keptBytes?: number
  /** Returns the first bytes of the stream. Each piece is created when it is requested. Absent if there are none. */
  opening?(): Iterable<string>
  /**
   * Returns the end of a stream whose choices have ended, with the charge. `pending` are bytes from {@link chunks} that
   * were not sent yet.
   */
  closing(charge: WireCharge, labels: string, pending: string): ReplyBytes
  /** Returns the end of a failed stream, with the charge. */
  failing(error: CompatError, charge: WireCharge, pending: string): ReplyBytes
  /** Called if the client has left. The stream is still written to its end. */
  discard?(): void
}

/** Writes the chunks of a client's stream, as latin1. */
export class ChunkWriter implements StreamWriter {
  private readonly head: string

  constructor({ id, created, model }: ReplyTop) {
    const fields = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
    this.head = toLatin1(`data: ${fields.slice(0, -1)},"choices":`)
  }

  /** Returns a chunk for each choice, with `labels` from {@link writeLabels}. */
  chunks(choices: readonly JsonObject[], labels: string): string {
    let chunks = ''
    for (const choice of choices) {
      if (isObject(choice.delta)) completeDetails(choice.delta)
      chunks += `${this.head}[${toLatin1(JSON.stringify(choice))}]${labels}}\n\n`
    }
    return chunks
  }

  /** Returns the end of a stream whose choices have ended: the usage with the charge, and `[DONE]`. */
  closing(charge: WireCharge, labels: string, pending: string): string {
    return `${pending}${this.head}[]${labels},"usage":${writeUsage(charge)}}\n\ndata: [DONE]\n\n`
  }

  /** Omits `[DONE]`, so that the stream does not look successful. */
  failing(error: CompatError, charge: WireCharge): string {
    return errorFrame(error, wireUsage(charge))
  }
}

/** Writes the provider's top-level fields that a chunk has too. */
export function writeLabels(labels: JsonObject): string {
  const text = JSON.stringify(labels)
  return text === '{}' ? '' : toLatin1(`,${text.slice(1, -1)}`)
}
