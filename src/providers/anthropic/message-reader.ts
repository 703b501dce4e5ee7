import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import type { EndMembers, Labels, Members, ProviderDelta, TextPiece } from '../../conversation/delta.js'
import { CLAUDE_FORMAT } from '../../conversation/thoughts.js'
import { mendArguments } from '../../protocol/call-arguments.js'
import { exactTextOf } from '../../protocol/exact-data.js'
import { isFailureReason, readFinishReason } from '../../protocol/finish-reason.js'
import {
  isObject,
  isText,
  isTooDeep,
  type JsonObject,
  saysNothing,
  textOf,
} from '../../protocol/json-values.js'
import { scalarText } from '../../protocol/scalars.js'
import { isCount } from '../../protocol/usage.js'
import type { WireBytes } from '../../protocol/wire-bytes.js'
import { toAnnotation } from './annotations.js'
import { frameError } from './errors.js'
import { type PlainDelta, plainDelta } from './plain-delta.js'
import { createUsageReader } from './usage.js'

type ThoughtOf = NonNullable<TextPiece['of']>

/** A block that has started. */
interface Block {
  /** `lost` if it cannot be read, `native` if only this API has such blocks. */
  readonly kind: 'text' | 'thinking' | 'tool_use' | 'native' | 'lost'
  /** Its position in the message. */
  readonly position: number
  /** Clients of other APIs tell thoughts apart by it. */
  readonly thought: ThoughtOf | undefined
  /** The input at the start of a call. Most calls have it in their deltas. */
  readonly input: unknown
  hasInput: boolean
  hasEnded: boolean
}

/** The kind of block to which deltas of a type belong. */
const BLOCK_OF: ReadonlyMap<string, Block['kind']> = new Map([
  ['text_delta', 'text'],
  ['citations_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'thinking'],
  ['input_json_delta', 'tool_use'],
])
const START_COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
]
const NO_MEMBERS: EndMembers = Object.freeze({})

/**
 * Reads the reply of a provider of the Messages API, as events of a stream or as a whole message. Whatever only this API
 * has comes with the deltas as its provider sent it, for clients of the same API.
 *
 * Some servers count blocks wrongly, omit their ends, or start one before the end of another. Passes over unknown events
 * and blocks: the API adds new ones without a new version.
 */
export class MessageReader {
  /** Whether `message_stop` was received. */
  hasEnded = false
  private readonly usage = createUsageReader()
  /** Those that have not ended, by the provider's indexes. */
  private readonly open = new Map<unknown, Block>()
  /** In the order in which they started. Those at the end of the list may have ended. */
  private readonly started: Block[] = []
  private blocks = 0
  private rest = NO_MEMBERS
  private deltas: ProviderDelta[] = []
  /** What was lost or repaired. The client first gets what can be read. */
  private odd: ProviderEvent[] = []

  /** Adds what an event of a stream says. Throws a `ProviderError` if it is an error, or not an event of the API. */
  read(event: JsonObject, events: ProviderEvent[]): void {
    switch (event.type) {
      case 'message_start':
        this.start(event.message, events)
        return
      case 'content_block_start':
        this.startBlock(event.index, event.content_block)
        break
      case 'content_block_delta':
        this.readDelta(event.index, event.delta)
        break
      case 'content_block_stop': {
        const block = this.open.get(event.index)
        if (block !== undefined) this.endBlock(event.index, block)
        break
      }
      case 'message_delta':
        this.readEnd(event, events)
        return
      case 'message_stop':
        this.hasEnded = true
        this.endBlocks()
        break
      case 'error':
        throw frameError(event)
    }
    this.hand(events)
  }

  /** Adds an event with a piece of text without parsing it. Returns whether it was one for an open block. */
  readPlain(bytes: WireBytes, events: ProviderEvent[]): boolean {
    const plain = plainDelta(bytes)
    if (plain === undefined) return false
    const block = this.open.get(plain.event.index)
    if (block?.kind !== plain.kind) return false
    events.push({ type: 'deltas', deltas: [deltaOf(plain, block)] })
    return true
  }

  /** Adds what a whole message says. Throws a `ProviderError` if it is an error, or not a message. */
  readWhole(message: JsonObject, events: ProviderEvent[]): void {
    if (message.type === 'error') throw frameError(message)
    const { content, id, stop_reason: reason, usage } = message
    if (!Array.isArray(content)) {
      throw new ProviderError('invalid-response', 'The reply is not a message of the API.')
    }
    this.deltas.push(startOf(usage))
    for (const block of content) {
      if (saysNothing(block)) this.mend('part-skipped')
      else this.readBlock(block)
    }
    this.takeRest(message)
    const word = textOf(reason)
    if (word !== undefined) this.end(word, message)
    const label = textOf(id)
    this.hand(events, label === undefined ? undefined : { id: label })
    this.count(usage, events, true)
  }

  private start(message: unknown, events: ProviderEvent[]): void {
    if (!isObject(message)) throw notTheApi()
    const id = textOf(message.id)
    this.deltas.push(startOf(message.usage))
    this.hand(events, id === undefined ? undefined : { id })
    this.count(message.usage, events)
  }

  private readEnd(event: JsonObject, events: ProviderEvent[]): void {
    const { delta, usage } = event
    if (!isObject(delta)) throw notTheApi()
    this.takeRest(event)
    const reason = readFinishReason(delta.stop_reason)
    if (reason === undefined) {
      this.count(usage, events)
      return
    }
    for (const block of this.open.values()) this.giveInput(block)
    this.end(reason, delta)
    const hasFailed = isFailureReason(reason)
    if (hasFailed) this.count(usage, events, true)
    this.hand(events)
    if (!hasFailed) this.count(usage, events)
  }

  private takeRest({ context_management: edits }: JsonObject): void {
    if (isObject(edits)) this.rest = { context_management: edits }
  }

  private end(reason: string, { stop_details: details, stop_sequence: sequence }: JsonObject): void {
    const rest = isObject(details) ? { ...this.rest, stop_details: details } : this.rest
    this.deltas.push({
      type: 'end',
      choice: 0,
      reason,
      stopSequence: textOf(sequence),
      ...(rest !== NO_MEMBERS && { rest }),
    })
  }

  private count(given: unknown, events: ProviderEvent[], final = false): void {
    const report = this.usage.read(given)
    if (report !== undefined) events.push({ type: 'usage', usage: report, ...(final && { final }) })
  }

  private startBlock(index: unknown, given: unknown): void {
    this.endBefore(index)
    const block = this.blockOf(given)
    this.open.set(index, block)
    this.started.push(block)
    if (isObject(given)) this.begin(block, given)
  }

  /** Ends the blocks that must have ended before another one at this index starts. Calls may overlap. */
  private endBefore(index: unknown): void {
    for (const [key, block] of this.open) {
      if (block.kind !== 'tool_use' || key === index) this.endBlock(key, block)
      else this.giveInput(block)
    }
  }

  private blockOf(given: unknown): Block {
    const kind = kindOf(given)
    if (kind === 'lost') this.lose('A block cannot be read.', given)
    const input = kind === 'tool_use' && isObject(given) ? given.input : undefined
    const position = this.blocks++
    const thought = kind === 'thinking' ? thoughtAt(position) : undefined
    return { kind, position, thought, input, hasInput: false, hasEnded: false }
  }

  private begin({ kind, position }: Block, given: JsonObject): void {
    switch (kind) {
      case 'text':
        this.beginText(given, this.textIn(given, 'text') ?? '')
        return
      case 'thinking':
        this.beginThought(given, this.textIn(given, 'thinking') ?? '', position)
        return
      case 'tool_use':
        this.beginCall(given, position, '', undefined)
        return
      case 'native':
        if (given.type === 'redacted_thinking') this.beginHidden(given, position)
        else this.deltas.push({ type: 'begin', choice: 0, kind: 'native', block: given })
    }
  }

  private beginCall(block: JsonObject, position: number, input: string, isLast: true | undefined): void {
    const [id, name] = [textOf(block.id), textOf(block.name)]
    this.deltas.push({
      type: 'call',
      choice: 0,
      call: position,
      form: 'function',
      id,
      name,
      input,
      block,
      isLast,
    })
  }

  private beginText(given: JsonObject, text: string): void {
    const citations = Array.isArray(given.citations) ? given.citations : []
    const block = citations.length === 0 ? given : { ...given, citations: [] }
    this.deltas.push({ type: 'begin', choice: 0, kind: 'text', block: withText(block, 'text', '') })
    for (const citation of citations) this.cite({ type: 'citations_delta', citation })
    if (text !== '') this.say(text)
  }

  private beginThought(given: JsonObject, thinking: string, position: number): void {
    const { signature } = given
    const block = isText(signature) ? { ...given, signature: '' } : given
    this.deltas.push({ type: 'begin', choice: 0, kind: 'thought', block: withText(block, 'thinking', '') })
    if (!isText(signature)) {
      if (thinking !== '') this.think(thinking, thoughtAt(position))
      return
    }
    if (thinking !== '') this.think(thinking)
    this.sign(signature, position, thinking)
  }

  private beginHidden(block: JsonObject, position: number): void {
    const piece = { kind: 'encrypted', data: textOf(block.data) ?? '', ...thoughtAt(position) } as const
    this.deltas.push(
      { type: 'begin', choice: 0, kind: 'thought', block },
      { type: 'thoughts', choice: 0, pieces: [piece] },
    )
  }

  private readDelta(index: unknown, given: unknown): void {
    const type = isObject(given) ? textOf(given.type) : undefined
    if (!isObject(given) || type === undefined) {
      this.lose('A delta cannot be read.', given)
      return
    }
    const wanted = BLOCK_OF.get(type)
    const block = this.blockFor(index, wanted)
    if (block?.kind === 'lost') this.lose('A delta belongs to a block that cannot be read.', given)
    else if (block?.kind === 'native' || (block !== undefined && wanted === undefined))
      this.deltas.push({ type: 'native', choice: 0, native: given })
    else if (wanted === undefined) this.mend('member-dropped', 'content.delta')
    else this.readKnown(block, type, given)
  }

  /** Returns the block at an index, or the last open one if deltas of this kind only fit there. */
  private blockFor(index: unknown, wanted: Block['kind'] | undefined): Block | undefined {
    const own = this.open.get(index)
    const { started } = this
    if (wanted === undefined || own?.kind === wanted || own?.kind === 'native' || own?.kind === 'lost')
      return own
    while (started.at(-1)?.hasEnded === true) started.pop()
    const last = started.at(-1)
    return last?.kind === wanted || last?.kind === 'lost' ? last : undefined
  }

  /** @param block undefined if no such block has started. Text is as good without one */
  private readKnown(block: Block | undefined, type: string, given: JsonObject): void {
    const position = block?.position ?? 0
    switch (type) {
      case 'text_delta': {
        const text = this.textIn(given, 'text') ?? ''
        if (text !== '') this.say(text, withText(given, 'text', text))
        return
      }
      case 'thinking_delta': {
        const thinking = this.textIn(given, 'thinking') ?? ''
        const of = block?.thought ?? thoughtAt(position)
        if (thinking !== '') this.think(thinking, of, withText(given, 'thinking', thinking))
        return
      }
      case 'signature_delta':
        if (isText(given.signature)) this.sign(given.signature, position)
        return
      case 'citations_delta':
        this.cite(given)
        return
      case 'input_json_delta': {
        const input = this.textIn(given, 'partial_json') ?? ''
        if (input === '') return
        if (block === undefined) this.lose('The input of a call comes without its start.', given)
        else this.give(block, input)
      }
    }
  }

  /** @param native the provider's own delta, which may have other members */
  private say(text: string, native?: Members): void {
    this.deltas.push({ type: 'text', choice: 0, kind: 'text', text, native })
  }

  private think(text: string, of?: ThoughtOf, native?: Members): void {
    this.deltas.push({ type: 'text', choice: 0, kind: 'thought', text, of, native })
  }

  private sign(signature: string, position: number, text = ''): void {
    const piece = { kind: 'text', text, signature, ...thoughtAt(position) } as const
    this.deltas.push({ type: 'thoughts', choice: 0, pieces: [piece], signature })
  }

  private cite(native: JsonObject): void {
    this.deltas.push({ type: 'annotation', choice: 0, annotation: toAnnotation(native.citation), native })
  }

  private give(block: Block, input: string, isLast?: true): void {
    block.hasInput = true
    const { position: call } = block
    this.deltas.push({ type: 'call', choice: 0, call, form: 'function', input, ...(isLast && { isLast }) })
  }

  /** Some servers send the whole input of a call at its start. */
  private giveInput(block: Block): void {
    if (block.hasInput) return
    const input = this.inputOf(block)
    if (input !== '') this.give(block, input)
  }

  /** Returns the JSON of the input at the start of a call. */
  private inputOf({ input }: Block): string {
    if (saysNothing(input)) return ''
    if (isObject(input)) return exactTextOf(input)
    this.mend('arguments-decoded')
    return mendArguments(typeof input === 'string' ? input : JSON.stringify(input))
  }

  private endBlock(index: unknown, block: Block): void {
    this.open.delete(index)
    this.finish(block)
  }

  private finish(block: Block): void {
    block.hasEnded = true
    if (block.kind === 'tool_use') {
      this.giveInput(block)
      this.give(block, '', true)
    } else if (block.kind !== 'lost') this.deltas.push({ type: 'done', choice: 0 })
  }

  private endBlocks(): void {
    for (const [index, block] of this.open) this.endBlock(index, block)
  }

  /** Reads a block of a whole message. Leaves it out if its text cannot be read. */
  private readBlock(given: unknown): void {
    const block = this.blockOf(given)
    if (!isObject(given) || block.kind === 'lost') return
    const { kind, position } = block
    if (kind === 'tool_use') {
      this.beginCall(given, position, this.inputOf(block), true)
      return
    }
    const text = kind === 'text' || kind === 'thinking' ? this.textIn(given, kind) : ''
    if (text === undefined) return
    this.begin(block, text === '' ? given : withText(given, kind, text))
    this.finish(block)
  }

  /** Returns text, also of a number or a boolean, since a token may be a JSON number or literal. Undefined if it is lost. */
  private textIn(piece: JsonObject, member: string): string | undefined {
    const value = piece[member]
    if (typeof value === 'string') return value
    const text = scalarText(value)
    if (text !== undefined) this.mend('text-coerced')
    else if (!saysNothing(value)) {
      this.lose('Text of the message is not text.', piece)
      return undefined
    }
    return text ?? ''
  }

  private lose(why: string, piece: unknown): void {
    this.odd.push({ type: 'unreadable', why, piece })
  }

  private mend(kind: string, dropped?: string): void {
    this.odd.push({ type: 'mended', kind, ...(dropped !== undefined && { dropped }) })
  }

  /** Hands on what was read. */
  private hand(events: ProviderEvent[], labels?: Labels): void {
    const { deltas, odd } = this
    if (deltas.length > 0) {
      events.push(labels === undefined ? { type: 'deltas', deltas } : { type: 'deltas', deltas, labels })
      this.deltas = []
    }
    if (odd.length === 0) return
    for (const event of odd) events.push(event)
    this.odd = []
  }
}

function deltaOf({ event, kind, text }: PlainDelta, block: Block): ProviderDelta {
  switch (kind) {
    case 'text':
      return { type: 'text', choice: 0, kind: 'text', text, event }
    case 'thinking':
      return { type: 'text', choice: 0, kind: 'thought', text, of: block.thought!, event }
    case 'tool_use':
      block.hasInput = true
      return { type: 'call', choice: 0, call: block.position, form: 'function', input: text, event }
  }
}

/** Names the thought in the block at a position. */
function thoughtAt(index: number): ThoughtOf {
  return { format: CLAUDE_FORMAT, index }
}

function kindOf(given: unknown): Block['kind'] {
  if (!isObject(given) || !isText(given.type) || isTooDeep(given)) return 'lost'
  const { type } = given
  return type === 'text' || type === 'thinking' || type === 'tool_use' ? type : 'native'
}

function startOf(usage: unknown): ProviderDelta {
  if (!isObject(usage)) return { type: 'start', choice: 0 }
  const counts: Record<string, number> = { input_tokens: 0, output_tokens: 0 }
  for (const name of START_COUNTS) if (isCount(usage[name])) counts[name] = usage[name]
  return { type: 'start', choice: 0, counts }
}

function withText(piece: JsonObject, member: string, text: string): JsonObject {
  return piece[member] === text ? piece : { ...piece, [member]: text }
}

function notTheApi(): ProviderError {
  return new ProviderError('invalid-response', 'An event of the stream does not have the format of the API.')
}
