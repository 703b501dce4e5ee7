import { exactTextOf } from '../../../protocol/exact-data.js'
import { isObject, isText, isTooDeep, type JsonObject, textOf } from '../../../protocol/json-values.js'
import { eachTextIn } from '../../../replies/delta.js'
import type { Losses } from '../../../replies/losses.js'
import { markSignature, type Thinker } from '../reasoning/thoughts.js'

/** The destination of the blocks of a reply: a stream, or one body. */
export interface BlockSink {
  open(block: JsonObject): string
  delta(delta: JsonObject): string
  /** `bytes` is the event of the delta that the provider sent. */
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

/** The deltas with text, by the member that contains it. */
const TEXTS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
}

const NOT_OPEN = 'a delta does not belong to the open block'

/** Passes on the blocks of a provider that speaks this API, one after the other. Counts their text. */
export class NativeBlocks {
  /** The provider's index of the block that is open. */
  private index: unknown
  private block: JsonObject | undefined
  private hasInput = false

  constructor(private readonly options: NativeBlocksOptions) {}

  start(index: unknown, given: unknown): string {
    const { sink } = this.options
    const closed = this.end()
    if (!isObject(given) || isTooDeep(given) || !isText(given.type)) {
      this.lose('a block cannot be read', given)
      return closed
    }
    if (given.type === 'tool_use' && textOf(given.name) === undefined) {
      this.lose('a tool call has no name', given)
      return closed
    }
    this.index = index
    this.block = given
    this.hasInput = false
    this.countStart(given)
    return closed + sink.open(this.marked(given.type === 'tool_use' ? { ...given, input: {} } : given))
  }

  /** Blocks of text may begin with some of it. All others are output as they stand. */
  private countStart({ name, text, thinking, type, ...others }: JsonObject): void {
    const { onText, onToken } = this.options
    if (type === 'text' || type === 'thinking') {
      const begun = type === 'text' ? text : thinking
      if (!isText(begun)) return
      onText(begun)
    } else if (type === 'tool_use') onText(String(name))
    else if (type !== 'redacted_thinking') eachTextIn(others, onText)
    onToken()
  }

  delta(index: unknown, given: unknown): string {
    const { onText, onToken, sink } = this.options
    if (this.block === undefined || index !== this.index) {
      this.lose(NOT_OPEN, given)
      return ''
    }
    if (!isObject(given) || isTooDeep(given) || !isText(given.type)) {
      this.lose('a delta cannot be read', given)
      return ''
    }
    const { type } = given
    const member = TEXTS[type]
    if (member !== undefined) {
      const text = given[member] ?? ''
      if (typeof text !== 'string') {
        this.lose('the text of a delta is not text', given)
        return ''
      }
      if (text === '') return ''
      if (type === 'input_json_delta') this.hasInput = true
      onText(text)
      onToken()
      return sink.delta(given)
    }
    if (type === 'signature_delta') {
      const signature = textOf(given.signature)
      return signature === undefined ? '' : sink.delta({ type, signature: this.mark(signature) })
    }
    return sink.delta(given)
  }

  /** Passes on text that was read without parsing its event. Returns undefined if it is not for the open block. */
  splice(index: number, text: string, bytes: string): string | undefined {
    if (this.block?.type !== 'text' || index !== this.index) return undefined
    this.options.onText(text)
    this.options.onToken()
    return this.options.sink.spliced(index, text, bytes)
  }

  stop(index: unknown): string {
    return index === this.index ? this.end() : ''
  }

  /** Ends the block that is open. Some servers omit the end, and some send the whole input of a call at its start. */
  end(): string {
    const { block } = this
    if (block === undefined) return ''
    this.block = undefined
    this.index = undefined
    const { input, type } = block
    const { onText, sink } = this.options
    let rest = ''
    if (type === 'tool_use' && !this.hasInput && isObject(input) && Object.keys(input).length > 0) {
      const text = exactTextOf(input)
      onText(text)
      rest = sink.delta({ type: 'input_json_delta', partial_json: text })
    }
    return rest + sink.close()
  }

  /** Passes on a block of a whole reply. */
  whole(block: unknown): string {
    const opened = this.start(0, isObject(block) ? emptied(block) : block)
    if (!isObject(block) || this.block === undefined) return opened
    this.block = block
    let deltas = ''
    for (const citation of Array.isArray(block.citations) ? block.citations : []) {
      deltas += this.delta(0, { type: 'citations_delta', citation })
    }
    if (isText(block.text) && block.type === 'text')
      deltas += this.delta(0, { type: 'text_delta', text: block.text })
    if (block.type === 'thinking') {
      if (isText(block.thinking))
        deltas += this.delta(0, { type: 'thinking_delta', thinking: block.thinking })
      if (isText(block.signature))
        deltas += this.delta(0, { type: 'signature_delta', signature: block.signature })
    }
    return opened + deltas + this.end()
  }

  /** Records output that cannot be read. */
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

/** Returns the block as a stream begins it: its text follows in deltas. */
function emptied(block: JsonObject): JsonObject {
  if (block.type === 'text') return { type: 'text', text: '' }
  return block.type === 'thinking' ? { type: 'thinking', thinking: '', signature: '' } : block
}
