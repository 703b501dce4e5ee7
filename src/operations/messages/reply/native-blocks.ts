import { mendArguments } from '../../../protocol/call-arguments.js'
import { exactTextOf } from '../../../protocol/exact-data.js'
import { JsonBrackets } from '../../../protocol/json-brackets.js'
import {
  isObject,
  isText,
  isTooDeep,
  type JsonObject,
  saysNothing,
  textOf,
} from '../../../protocol/json-values.js'
import { memorySize } from '../../../protocol/memory-size.js'
import { scalarText } from '../../../protocol/scalars.js'
import type { Losses } from '../../../replies/losses.js'
import { eachTextIn } from '../../../replies/lost-pieces.js'
import { markSignature, type Thinker } from '../reasoning/thoughts.js'

/** The destination of the blocks of a reply: a stream or a JSON body. */
export interface BlockSink {
  open(block: JsonObject): string
  delta(delta: JsonObject): string
  /** `bytes` is the delta event that the provider sent. */
  spliced(index: number, text: string, bytes: string): string
  close(): string
}

export interface NativeBlocksOptions {
  readonly sink: BlockSink
  readonly thinker: Thinker
  readonly losses: Losses
  /** Called with each piece of text that counts as output. */
  readonly onText: (text: string) => void
  /** Called for each event with output. */
  readonly onToken: () => void
}

/** The member with the text of a block, by the block's type. */
const BLOCK_TEXTS: ReadonlyMap<unknown, string> = new Map([
  ['text', 'text'],
  ['thinking', 'thinking'],
])
/** The member with the text of a delta, by the delta's type. */
const DELTA_TEXTS: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['input_json_delta', 'partial_json'],
])

/** The type of the block to which deltas of a type belong. */
const BLOCK_OF: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['citations_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'thinking'],
  ['input_json_delta', 'tool_use'],
])

/** A tool call that started before the open one had its whole input. Its output is counted already. */
interface WaitingCall {
  readonly block: JsonObject
  readonly opened: JsonObject
  input: string
  hasEnded: boolean
}

const NOT_OPEN = 'a delta does not belong to the open block'

/** Passes on the blocks of a provider of this API, one after the other, and counts their text. */
export class NativeBlocks {
  /** The provider's index of the open block. */
  private index: unknown
  private block: JsonObject | undefined
  private hasInput = false
  /** The input of the open tool call. */
  private brackets = new JsonBrackets()
  /** By the provider's indexes. A block must end before the next one starts, and servers interleave parallel calls. */
  private readonly waiting = new Map<unknown, WaitingCall>()
  /** The approximate memory of the waiting calls. */
  waitingBytes = 0
  /** Whether any tool call came, readable or not. */
  hadCalls = false
  /** Whether a readable tool call came. */
  hasCalls = false

  constructor(private readonly options: NativeBlocksOptions) {}

  start(index: unknown, given: unknown): string {
    if (this.hasUnfinishedCall && isCall(given) && !this.waiting.has(index)) {
      this.hadCalls = true
      this.waiting.set(index, { block: given, opened: this.begin(given), input: '', hasEnded: false })
      this.waitingBytes += memorySize(given)
      return ''
    }
    const closed = this.end()
    if (isObject(given) && given.type === 'tool_use') this.hadCalls = true
    if (!isObject(given) || isTooDeep(given) || !isText(given.type)) {
      this.lose('a block cannot be read', given)
      return closed
    }
    if (given.type === 'tool_use' && textOf(given.name) === undefined) {
      this.lose('a tool call has no name', given)
      return closed
    }
    if (given.type === 'tool_use' && !isInput(given.input)) {
      this.lose('the arguments of a tool call are not an object', given)
      return closed
    }
    return closed + this.open(index, given, this.begin(given))
  }

  private open(index: unknown, block: JsonObject, begun: JsonObject): string {
    this.index = index
    this.block = block
    this.hasInput = false
    this.brackets = new JsonBrackets()
    return this.options.sink.open(this.marked(begun))
  }

  private get hasUnfinishedCall(): boolean {
    const { block } = this
    return block?.type === 'tool_use' && !this.brackets.closed && saysNothing(block.input)
  }

  /** Counts the text at the start of a block. Returns the start to send. */
  private begin(block: JsonObject): JsonObject {
    const { onText, onToken } = this.options
    const { type } = block
    const member = BLOCK_TEXTS.get(type)
    if (member !== undefined) {
      const text = this.readText(block, member) ?? ''
      if (text !== '') {
        onText(text)
        onToken()
      }
      if (Array.isArray(block.citations)) eachTextIn(block.citations, onText)
      return withText(block, member, text)
    }
    onToken()
    if (type === 'tool_use') {
      onText(String(block.name))
      return { ...block, input: {} }
    }
    if (type !== 'redacted_thinking') this.countMembers(block)
    return block
  }

  /** Returns the text in a member of a block or delta, even if it is a number. Returns undefined if it cannot be read. */
  private readText(piece: JsonObject, member: string): string | undefined {
    const value = piece[member]
    if (typeof value === 'string') return value
    const text = scalarText(value)
    if (text !== undefined) this.options.losses.mend('text-coerced')
    else if (!saysNothing(value)) {
      this.lose('text is not text', piece)
      return undefined
    }
    return text ?? ''
  }

  /** Counts the text in all members of a block or delta. Returns whether there is any content. */
  private countMembers(piece: JsonObject): boolean {
    let says = false
    for (const name of Object.keys(piece)) {
      if (name === 'type' || saysNothing(piece[name])) continue
      says = true
      eachTextIn(piece[name], this.options.onText)
    }
    return says
  }

  delta(index: unknown, given: unknown): string {
    const { onText, onToken, sink } = this.options
    const waiting = this.waiting.get(index)
    if (this.block === undefined || (index !== this.index && waiting === undefined && !this.fits(given))) {
      this.lose(NOT_OPEN, given)
      return ''
    }
    if (!isObject(given) || isTooDeep(given) || !isText(given.type)) {
      this.lose('a delta cannot be read', given)
      return ''
    }
    const { type } = given
    if (waiting !== undefined && type !== 'input_json_delta') {
      this.lose(NOT_OPEN, given)
      return ''
    }
    const member = DELTA_TEXTS.get(type)
    if (member !== undefined) {
      const text = this.readText(given, member)
      if (text === undefined || text === '') return ''
      onText(text)
      onToken()
      if (waiting !== undefined) {
        waiting.input += text
        this.waitingBytes += text.length
        return ''
      }
      if (type === 'input_json_delta') {
        this.hasInput = true
        this.brackets.take(text)
      }
      return sink.delta(withText(given, member, text))
    }
    if (type === 'signature_delta') {
      const signature = textOf(given.signature)
      return signature === undefined ? '' : sink.delta({ type, signature: this.mark(signature) })
    }
    if (this.countMembers(given)) onToken()
    return sink.delta(given)
  }

  /** Passes on text that was read without parsing its event. Returns undefined if it does not belong to the open block. */
  splice(index: number, text: string, bytes: string): string | undefined {
    if (this.block?.type !== 'text' || index !== this.index) return undefined
    this.options.onText(text)
    this.options.onToken()
    return this.options.sink.spliced(index, text, bytes)
  }

  /** Whether a delta with a wrong index is of the type of the open block. Some servers count the blocks wrongly. */
  private fits(given: unknown): boolean {
    return isObject(given) && BLOCK_OF.get(given.type) === this.block?.type
  }

  stop(index: unknown): string {
    const waiting = this.waiting.get(index)
    if (waiting !== undefined) waiting.hasEnded = true
    return index === this.index ? this.endBlock() + this.goOn() : ''
  }

  /** Ends the open block and all waiting calls. Some servers omit the ends. */
  end(): string {
    let sent = this.endBlock()
    for (const call of this.waiting.values()) call.hasEnded = true
    sent += this.goOn()
    return sent
  }

  /** Passes on the waiting calls up to the first one that goes on. */
  private goOn(): string {
    let sent = ''
    for (const [index, { block, hasEnded, input, opened }] of this.waiting) {
      this.waiting.delete(index)
      sent += this.open(index, block, opened)
      if (input !== '') {
        this.hasInput = true
        this.brackets.take(input)
        sent += this.options.sink.delta({ type: 'input_json_delta', partial_json: input })
      }
      if (!hasEnded) break
      sent += this.endBlock()
    }
    if (this.waiting.size === 0) this.waitingBytes = 0
    return sent
  }

  /** Ends the open block. Some servers send the whole input of a call at its start. */
  private endBlock(): string {
    const { block } = this
    if (block === undefined) return ''
    this.block = undefined
    this.index = undefined
    const { sink } = this.options
    if (block.type !== 'tool_use') return sink.close()
    this.hasCalls = true
    const input = this.hasInput ? '' : this.takeInput(block.input)
    const rest = input === '' ? '' : sink.delta({ type: 'input_json_delta', partial_json: input })
    return rest + sink.close()
  }

  /** Counts the input of a call that came in one piece. Returns it as JSON text, or an empty string if there is none. */
  private takeInput(input: unknown): string {
    if (saysNothing(input)) return ''
    const { losses, onText } = this.options
    const text = typeof input === 'string' ? input : exactTextOf(input as JsonObject)
    onText(text)
    if (typeof input !== 'string') return text
    losses.mend('arguments-decoded')
    return mendArguments(text)
  }

  /** Passes on a block of a whole reply. */
  whole(block: unknown): string {
    if (!isObject(block)) return this.start(0, block)
    const member = BLOCK_TEXTS.get(block.type)
    if (member === undefined) return this.start(0, block) + this.end()
    const text = this.readText(block, member)
    if (text === undefined) return this.end()
    let sent = this.start(0, emptied(block))
    for (const citation of Array.isArray(block.citations) ? block.citations : []) {
      sent += this.delta(0, { type: 'citations_delta', citation })
    }
    sent += this.delta(0, { type: `${member}_delta`, [member]: text })
    if (block.type === 'thinking' && isText(block.signature)) {
      sent += this.delta(0, { type: 'signature_delta', signature: block.signature })
    }
    return sent + this.end()
  }

  /** Records unreadable output. */
  private lose(what: string, piece: unknown): void {
    this.options.onToken()
    this.options.losses.add(what, piece)
  }

  private marked(block: JsonObject): JsonObject {
    if (block.type === 'redacted_thinking' && isText(block.data))
      return { ...block, data: this.mark(block.data) }
    if (block.type === 'thinking' && isText(block.signature)) {
      return { ...block, signature: this.mark(block.signature) }
    }
    return block
  }

  private mark(signature: string): string {
    return markSignature(signature, this.options.thinker)
  }
}

/** Returns a text block as a stream starts it, with its text to follow in deltas. */
function emptied({ type }: JsonObject): JsonObject {
  return type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' }
}

function isCall(given: unknown): given is JsonObject {
  return (
    isObject(given) &&
    given.type === 'tool_use' &&
    textOf(given.name) !== undefined &&
    isInput(given.input) &&
    !isTooDeep(given)
  )
}

function isInput(value: unknown): boolean {
  return isObject(value) || typeof value === 'string' || saysNothing(value)
}

function withText(piece: JsonObject, member: string, text: string): JsonObject {
  return piece[member] === text ? piece : Object.assign({}, piece, { [member]: text })
}
