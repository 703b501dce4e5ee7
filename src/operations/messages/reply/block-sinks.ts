import { mendArguments } from '../../../protocol/call-arguments.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { memorySize } from '../../../protocol/memory-size.js'
import { type EventWriter, writeToolUse } from './event-writer.js'
import type { BlockSink } from './native-blocks.js'

/** Writes the blocks of a reply as the events of a stream. */
export class StreamSink implements BlockSink {
  constructor(private readonly events: EventWriter) {}

  open(block: JsonObject): string {
    return this.events.open(block)
  }

  delta(delta: JsonObject): string {
    return this.events.delta(delta)
  }

  spliced(index: number, text: string, bytes: string): string {
    // A block that could not be read changes the indexes.
    if (index !== this.events.index) return this.events.delta({ type: 'text_delta', text })
    return `event: content_block_delta\ndata: ${bytes}\n\n`
  }

  close(): string {
    return this.events.close()
  }
}

const NONE: ReadonlySet<unknown> = new Set()

interface Gathered {
  readonly block: JsonObject
  input: string
}

/** Collects the blocks of a reply for a JSON body. */
export class BodySink implements BlockSink {
  private readonly blocks: Gathered[] = []
  private isUnread = false
  /** The approximate memory of the blocks. */
  bytes = 0

  /** @param onUnknown called for a delta that no block can take */
  constructor(private readonly onUnknown = (): void => {}) {}

  /** How many blocks have started. */
  get count(): number {
    return this.blocks.length
  }

  open(block: JsonObject): string {
    if (this.isUnread) return ''
    this.bytes += memorySize(block)
    const own: JsonObject = Object.assign({}, block)
    if (Array.isArray(own.citations)) own.citations = [...own.citations]
    this.blocks.push({ block: own, input: '' })
    return ''
  }

  delta(delta: JsonObject): string {
    const last = this.blocks.at(-1)
    if (last === undefined) return ''
    this.bytes += memorySize(delta)
    const { block } = last
    if (delta.type === 'input_json_delta') last.input += String(delta.partial_json)
    else if (delta.type === 'text_delta') append(block, 'text', delta.text)
    else if (delta.type === 'thinking_delta') append(block, 'thinking', delta.thinking)
    else if (delta.type === 'signature_delta') block.signature = delta.signature
    else if (delta.type === 'citations_delta' && isObject(delta.citation)) {
      if (Array.isArray(block.citations)) block.citations.push(delta.citation)
      else block.citations = [delta.citation]
    } else this.onUnknown()
    return ''
  }

  spliced(_index: number, text: string): string {
    return this.delta({ type: 'text_delta', text })
  }

  close(): string {
    return ''
  }

  /** Stops collecting, since nobody reads the reply any more. */
  discard(): void {
    this.isUnread = true
    this.blocks.length = 0
    this.bytes = 0
  }

  /** Returns the JSON of the blocks, without those at some positions. */
  content(omitted = NONE): string {
    return `[${this.blocks
      .filter((_, position) => !omitted.has(position))
      .map(writeBlock)
      .join(',')}]`
  }
}

function append(block: JsonObject, member: string, text: unknown): void {
  block[member] = `${String(block[member] ?? '')}${String(text)}`
}

function writeBlock({ block, input }: Gathered): string {
  if (block.type !== 'tool_use' && input === '') return JSON.stringify(block)
  const { input: _, ...call } = block
  return writeToolUse(call, mendArguments(input))
}
