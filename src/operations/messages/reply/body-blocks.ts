import type { NativeEvent } from '../../../conversation/delta.js'
import { mendArguments } from '../../../protocol/call-arguments.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { memorySize } from '../../../protocol/memory-size.js'
import { NO_BYTES, type WireBytes } from '../../../protocol/wire-bytes.js'

/** The members of deltas with pieces of text. */
export type TextMember = 'text' | 'thinking' | 'partial_json'

/** The destination of the blocks of a reply: a stream or a JSON body. */
export interface BlockSink {
  open(block: JsonObject): WireBytes
  delta(delta: JsonObject): WireBytes
  /**
   * Takes more of the text of the open block.
   *
   * @param event the provider's own, if it sent one with nothing else
   */
  more(member: TextMember, text: string, event: NativeEvent | undefined): WireBytes
  /** Ends the open block, if there is one. */
  close(): WireBytes
}

const NONE: readonly unknown[] = []

interface Gathered {
  readonly block: JsonObject
  input: string
}

/** Collects the blocks of a reply for a JSON body. */
export class BodyBlocks implements BlockSink {
  private readonly blocks: Gathered[] = []
  private isUnread = false
  /** The approximate memory of the blocks. */
  bytes = 0

  /** How many blocks have started. */
  get count(): number {
    return this.blocks.length
  }

  open(block: JsonObject): WireBytes {
    if (this.isUnread) return NO_BYTES
    this.bytes += memorySize(block)
    const own: JsonObject = Object.assign({}, block)
    if (Array.isArray(own.citations)) own.citations = [...own.citations]
    this.blocks.push({ block: own, input: '' })
    return NO_BYTES
  }

  delta(delta: JsonObject): WireBytes {
    const last = this.blocks.at(-1)
    if (last === undefined) return NO_BYTES
    this.bytes += memorySize(delta)
    const { block } = last
    if (delta.type === 'input_json_delta') last.input += String(delta.partial_json)
    else if (delta.type === 'text_delta') append(block, 'text', delta.text)
    else if (delta.type === 'thinking_delta') append(block, 'thinking', delta.thinking)
    else if (delta.type === 'signature_delta') block.signature = delta.signature
    else if (delta.type === 'citations_delta' && isObject(delta.citation)) {
      if (Array.isArray(block.citations)) block.citations.push(delta.citation)
      else block.citations = [delta.citation]
    } else addMembers(block, delta)
    return NO_BYTES
  }

  more(member: TextMember, text: string): WireBytes {
    const last = this.blocks.at(-1)
    if (last === undefined) return NO_BYTES
    this.bytes += memorySize(text)
    if (member === 'partial_json') last.input += text
    else append(last.block, member, text)
    return NO_BYTES
  }

  close(): WireBytes {
    return NO_BYTES
  }

  /** Stops collecting, since nobody reads the reply any more. */
  discard(): void {
    this.isUnread = true
    this.blocks.length = 0
    this.bytes = 0
  }

  /** Returns the JSON of the blocks, without those at some positions. */
  content(omitted = NONE): string {
    let json = ''
    for (const [position, block] of this.blocks.entries()) {
      if (omitted.includes(position)) continue
      json += json === '' ? writeBlock(block) : `,${writeBlock(block)}`
    }
    return `[${json}]`
  }
}

function append(block: JsonObject, member: string, text: unknown): void {
  block[member] = `${String(block[member] ?? '')}${String(text)}`
}

/** Adds a delta of a type that only its provider knows. Text is appended, as that of all known types. */
function addMembers(block: JsonObject, delta: JsonObject): void {
  for (const name of Object.keys(delta)) {
    const value = delta[name]
    if (name === 'type' || name === '__proto__') continue
    if (typeof value === 'string') append(block, name, value)
    else block[name] = value
  }
}

function writeBlock({ block, input }: Gathered): string {
  if (block.type !== 'tool_use' && input === '') return JSON.stringify(block)
  block.input = undefined
  return writeToolUse(block, mendArguments(input))
}

/** Returns the JSON of a tool call with its arguments as JSON text, digit for digit. */
function writeToolUse(block: JsonObject, input: string): string {
  return `${JSON.stringify(block).slice(0, -1)},"input":${input}}`
}
