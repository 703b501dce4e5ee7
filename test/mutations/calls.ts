import type { JsonObject } from '../recordings/recording.js'
import type { ToolCall } from './hearing.js'
import { isObject, saysNothing, textsIn } from './shapes.js'

/** One piece of a call, as its provider numbers and names it. */
interface Piece {
  readonly lane: number
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly args: string
}

interface Call {
  readonly lane: number
  readonly index: number
  id: string | undefined
  name: string | undefined
  args: string
  isLost: boolean
  /** No more of its name can come. */
  isNamed: boolean
  /** Its provider said that nothing more of it comes, so it was not cut off. */
  hasEnded: boolean
}

/** An empty object before arguments that have something else in front: either may be meant. */
const BROKEN_PLACEHOLDER = /^\s*\{\}\s*[^\s{][\s\S]*\{/
const PLACEHOLDER = /^\s*(?:\{\}|null)(?=\s*\{)/

/** Puts the pieces of a reply's calls together once all have come. */
export class CallBook {
  private readonly calls: Call[] = []
  /** The calls of a body, and their arguments if the reply was cut off: then none are added. */
  private readonly wholes: { readonly call: ToolCall; readonly cut: string }[] = []
  private readonly seen = new Map<string, string>()
  private readonly own = new Map<Call, string>()
  private last: Call | undefined
  private isUnsure = false
  /** The bytes of all names and arguments, which count in an estimate. */
  bytes = 0
  /** Whether any call came, readable or not. */
  any = false

  constructor(private readonly isBody: boolean) {}

  /** Reads the value of a `tool_calls`. Returns the text of the pieces that cannot be read. */
  take(given: unknown, lane: number): { isToken: boolean; lost: string[] } {
    this.any = true
    if (saysNothing(given)) return { isToken: false, lost: [] }
    const isOne = isObject(given) && (isObject(given.function) || isObject(given.custom))
    const entries = isOne ? [given] : given
    if (!Array.isArray(entries)) return { isToken: true, lost: [textsIn(entries)] }
    const lost: string[] = []
    let isToken = false
    for (const entry of entries) {
      if (isObject(entry)) {
        const read = this.isBody ? this.takeWhole(entry) : this.takePiece(entry, lane)
        isToken ||= read.isToken
        if (read.lost !== undefined) lost.push(read.lost)
      } else if (!saysNothing(entry)) lost.push(textsIn(entry))
    }
    return { isToken: isToken || lost.length > 0, lost }
  }

  /** The provider ends the call with this number. */
  endCall(index: number): void {
    for (const call of this.calls) if (call.index === index) call.hasEnded = true
  }

  /** Returns the readable calls, and the text of those that turn out unreadable only at the end. */
  end(isCut: boolean): { calls: ToolCall[]; lost: string[]; unsure: boolean } {
    if (this.isBody) {
      const wholes = this.wholes.map(({ call, cut }) => (isCut ? { name: call.name, arguments: cut } : call))
      for (const call of wholes) this.bytes += Buffer.byteLength(call.name + call.arguments)
      return { calls: wholes, lost: [], unsure: this.isUnsure }
    }
    const calls: ToolCall[] = []
    const lost: string[] = []
    for (const call of this.calls) {
      if (call.isLost) continue
      if (call.name === undefined) {
        if (call.args !== '' || call.id !== undefined) lost.push('')
        continue
      }
      if (BROKEN_PLACEHOLDER.test(call.args)) this.isUnsure = true
      const [first = '', ...further] = argumentsIn(call.args, isCut && !call.hasEnded)
      for (const args of [first, ...further]) calls.push({ name: call.name, arguments: args })
    }
    return { calls, lost, unsure: this.isUnsure }
  }

  private takeWhole(entry: JsonObject): { isToken: boolean; lost?: string } {
    const details = detailsOf(entry)
    const name = textOf(details?.name)
    const id = textOf(entry.id)
    if (details === undefined || name === undefined) {
      const args = details?.arguments ?? details?.input
      if (saysNothing(args) && id === undefined) return { isToken: false }
      return { isToken: true, lost: textsIn(entry.function ?? entry.custom) }
    }
    const args = argumentsText(details.arguments)
    if (args === undefined || args === 'open')
      return { isToken: true, lost: textsIn(entry.function ?? entry.custom) }
    const [first = '', ...further] = argumentsIn(args, false)
    const [cut = ''] = argumentsIn(args, true)
    const key = JSON.stringify([name, first])
    if (id !== undefined && this.seen.get(id) === key) return { isToken: false }
    if (id !== undefined && !this.seen.has(id)) this.seen.set(id, key)
    for (const text of [first, ...further]) {
      this.wholes.push({ call: { name, arguments: text }, cut: text === first ? cut : text })
    }
    return { isToken: true }
  }

  private takePiece(entry: JsonObject, lane: number): { isToken: boolean; lost?: string } {
    const details = detailsOf(entry) ?? {}
    const id = textOf(entry.id)
    const name = textOf(details.name)
    const index = indexOf(entry.index)
    if (index === 'none' && id === undefined && name === undefined)
      return { isToken: true, lost: textsIn(details) }
    const read = argumentsText(details.arguments)
    const known = this.find({ lane, index: index === 'none' ? undefined : index, id, name, args: '' })
    const isOpen = known !== undefined && known.args !== '' && !isClosed(known.args)
    const args = read === 'open' ? (isOpen ? String(details.arguments) : undefined) : read
    const piece: Piece = { lane, index: index === 'none' ? undefined : index, id, name, args: args ?? '' }
    const isSame = known !== undefined && !this.beginsAnother(known, piece)
    const own = ownMembers(entry)
    if (
      !isSame &&
      id === undefined &&
      name === undefined &&
      piece.args === '' &&
      args !== undefined &&
      own === ''
    ) {
      return { isToken: false }
    }
    const call = isSame ? known : this.begin(piece)
    this.last = call
    if (args === undefined || call.isLost) {
      call.isLost = true
      return { isToken: true, lost: textsIn(details) }
    }
    call.id ??= id
    let isToken = args !== ''
    if (name !== undefined && name !== call.name) {
      if (call.isNamed) this.isUnsure = true
      else {
        const added =
          call.name !== undefined && name.startsWith(call.name) ? name.slice(call.name.length) : name
        call.name = (call.name ?? '') + added
        this.bytes += Buffer.byteLength(added)
        isToken = true
      }
    } else if (args !== '' && call.name !== undefined) call.isNamed = true
    call.args += args
    this.bytes += Buffer.byteLength(args)
    if (call.name !== undefined && isClosed(call.args) && !/^\s*\{\}\s*$/.test(call.args)) call.isNamed = true
    if (own !== '' && own !== this.own.get(call)) {
      this.own.set(call, own)
      isToken = true
    }
    return { isToken }
  }

  private begin({ id, index, lane, name }: Piece): Call {
    // Another call shows that the names before it are whole.
    for (const call of this.calls) if (call.name !== undefined) call.isNamed = true
    const call: Call = {
      lane,
      index: index ?? this.calls.length,
      id,
      name: undefined,
      args: '',
      isLost: false,
      isNamed: false,
      hasEnded: false,
    }
    void name
    this.calls.push(call)
    return call
  }

  private find({ id, index, lane, name }: Piece): Call | undefined {
    const { last } = this
    if (index === undefined && id === undefined)
      return name === undefined || last?.lane === lane ? last : undefined
    const inLane = this.calls.filter((call) => call.lane === lane)
    const byId = inLane.filter((call) => call.id === id && (index === undefined || call.index === index))
    const byIndex = inLane.filter((call) => call.index === index)
    const found = (id === undefined ? undefined : byId.at(-1)) ?? byIndex.at(-1)
    return found ?? (name === undefined && last?.lane !== lane ? last : undefined)
  }

  /** Some providers give all calls one index or id; others repeat the name or send it in pieces. */
  private beginsAnother(known: Call, { args, id, index, name }: Piece): boolean {
    if (name === undefined || known.name === undefined) return false
    const isOther = id !== undefined && known.id !== undefined && id !== known.id
    const isOpen = known.args !== '' && !isClosed(known.args) && !isEmptyObject(known.args)
    if (name !== known.name) return isOther || known.isNamed || !(known.args === '' || isOpen)
    const begins = args.trimStart().startsWith('{')
    if (isOther) return !isOpen && (args === '' || begins)
    if (!begins || !isClosed(known.args) || id !== undefined) return false
    if (isEmptyObject(known.args)) return false
    return index === undefined || args.trim() !== firstOf(known.args).trim()
  }
}

function detailsOf(entry: JsonObject): JsonObject | undefined {
  if (isObject(entry.function)) return entry.function
  if (entry.function !== undefined && entry.function !== null) return undefined
  const { arguments: args, name } = entry
  if (textOf(name) === undefined && textOf(args) === undefined && !isObject(args)) return undefined
  return { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) }
}

function indexOf(value: unknown): number | undefined | 'none' {
  if (value === undefined || value === null) return undefined
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : 'none'
}

/** Returns undefined for what can be no arguments, `open` for a digit or a word of JSON, which can be a piece of some. */
function argumentsText(value: unknown): string | undefined | 'open' {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (isObject(value)) return JSON.stringify(value)
  return typeof value === 'number' || typeof value === 'boolean' ? 'open' : undefined
}

const COMMON = new Set(['index', 'id', 'type', 'function', 'custom'])

/** The members of a provider's own, which count as output when they change. */
function ownMembers(entry: JsonObject): string {
  const isFlat = entry.function === undefined || entry.function === null
  const own = Object.entries(entry).filter(
    ([name, value]) =>
      value !== null && !COMMON.has(name) && !(isFlat && (name === 'name' || name === 'arguments')),
  )
  return own.length === 0 ? '' : JSON.stringify(own)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The arguments in all that came of one call: its own, and those of further calls of the same tool behind them. */
function argumentsIn(all: string, isCut: boolean): string[] {
  let text = all
  while (PLACEHOLDER.test(text)) text = text.replace(PLACEHOLDER, '')
  const own = firstOf(text)
  const behind = text.slice(own.length)
  const further: string[] = []
  for (let rest = behind; rest.trim() !== ''; ) {
    const next = firstOf(rest)
    rest = rest.slice(next.length)
    const value = next.trim()
    if (value === own.trim() || value === '{}' || value === 'null') continue
    if (isObject(parsed(value))) further.push(value)
  }
  if (!isCut && (own.trim() === '' || own.trim() === 'null')) return ['{}', ...further]
  const inner = parsed(own)
  if (typeof inner === 'string' && isObject(parsed(inner))) return [inner, ...further]
  return [own, ...further]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The text up to where its brackets are closed, or all of it. */
function firstOf(text: string): string {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if ('{['.includes(character)) depth++
    else if (']}'.includes(character) && depth > 0 && --depth === 0) return text.slice(0, at + 1)
  }
  return text
}

function isClosed(text: string): boolean {
  let rest = text
  while (PLACEHOLDER.test(rest)) rest = rest.replace(PLACEHOLDER, '')
  const first = firstOf(rest)
  return first !== '' && /[}\]]$/.test(first) && firstOf(`${first}x`) === first
}

function isEmptyObject(text: string): boolean {
  return text.trim() === '{}'
}
