import type { JsonObject } from '../../../protocol/json-values.js'
import { toLatin1 } from '../../../protocol/latin1.js'
import { type WireCharge, writeUsage } from '../../../protocol/wire-usage.js'

/** The top-level fields of every reply. */
export interface ReplyTop {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** Writes the chunks of a client's stream, as latin1. */
export class ChunkWriter {
  private readonly head: string

  constructor({ id, created, model }: ReplyTop) {
    const fields = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
    this.head = toLatin1(`data: ${fields.slice(0, -1)},"choices":`)
  }

  /** Returns a chunk for each choice, with `labels` from {@link writeLabels}. */
  chunks(choices: readonly JsonObject[], labels: string): string {
    let chunks = ''
    for (const choice of choices) {
      chunks += `${this.head}[${toLatin1(JSON.stringify(choice))}]${labels}}\n\n`
    }
    return chunks
  }

  /** Returns the end of a stream whose choices have ended: the usage with the charge, and `[DONE]`. */
  closing(charge: WireCharge, labels = ''): string {
    return `${this.head}[]${labels},"usage":${writeUsage(charge)}}\n\ndata: [DONE]\n\n`
  }
}

/** Writes the fields of a provider's top level that a chunk has too. */
export function writeLabels(labels: JsonObject): string {
  const text = JSON.stringify(labels)
  return text === '{}' ? '' : toLatin1(`,${text.slice(1, -1)}`)
}
