import { exactTextOf } from '../protocol/exact-data.js'
import { isObject, type JsonObject, textOf } from '../protocol/json-values.js'
import type { Losses } from './delta.js'

const MAX_TOOL_CALLS = 1_024
const TOO_MANY = `there are more than ${MAX_TOOL_CALLS} tool calls`

interface ToolCallState {
  readonly kind: 'function' | 'custom'
  /** The provider's own index: several calls may share one. */
  readonly providerIndex: number
  /** Assigned when its first delta is sent. */
  index: number | undefined
  /** The provider's own id: several calls may share one. */
  id: string | undefined
  name: string | undefined
  argumentsSoFar: string
  /** Whether a piece could not be read. Without it, the rest would be a different call from the model's. */
  isLost: boolean
  readonly brackets: Brackets
  /** The provider's own fields, such as the signature that Gemini expects back. */
  readonly own: JsonObject
}

/**
 * Normalises the tool calls of one choice to the shape that clients read: indexes count from 0, the first delta of a call
 * has a unique id, a type and a name, later deltas add only to the arguments or the name, and arguments are text.
 */
export class ToolCallStream {
  private readonly calls: ToolCallState[] = []
  private last: ToolCallState | undefined
  private started = 0

  constructor(
    private readonly newId: () => string,
    private readonly losses: Losses,
  ) {}

  /** Whether at least one call is readable. */
  get any(): boolean {
    return this.calls.some(({ index, isLost }) => index !== undefined && !isLost)
  }

  /** The indexes of calls with an unreadable piece after their first delta was sent. */
  get lost(): readonly number[] {
    return this.calls.flatMap(({ index, isLost }) => (isLost && index !== undefined ? [index] : []))
  }

  /** @returns the deltas to send, possibly none */
  take(deltas: unknown): JsonObject[] {
    if (!Array.isArray(deltas)) {
      this.losses.add('tool_calls is not a list', deltas)
      return []
    }
    const sent: JsonObject[] = []
    for (const delta of deltas) {
      const out = isObject(delta) ? this.takeOne(delta) : undefined
      if (!isObject(delta)) this.losses.add('a tool call is not an object', delta)
      if (out !== undefined) sent.push(out)
    }
    return sent
  }

  /** Returns the deltas that complete calls when the choice ends: `{}` for each call without arguments. */
  missingArguments(): JsonObject[] {
    const sent: JsonObject[] = []
    for (const call of this.calls) {
      if (call.isLost) continue
      if (call.index === undefined) {
        this.lose(call, 'a tool call has no name', call.argumentsSoFar)
        continue
      }
      if (call.argumentsSoFar !== '' || call.kind === 'custom') continue
      call.argumentsSoFar = '{}'
      sent.push({ index: call.index, function: { arguments: '{}' } })
    }
    return sent
  }

  private takeOne(delta: JsonObject): JsonObject | undefined {
    const kind = isObject(delta.custom) || delta.type === 'custom' ? 'custom' : 'function'
    const details = isObject(delta[kind]) ? (delta[kind] as JsonObject) : {}
    const argumentsField = kind === 'custom' ? 'input' : 'arguments'
    const id = textOf(delta.id)
    const name = textOf(details.name)
    const given = argumentText(details[argumentsField])
    const providerIndex = readIndex(delta.index)
    if (Number.isNaN(providerIndex)) {
      this.losses.add('the index of a tool call is not a number', details)
      return undefined
    }
    const known = this.find(providerIndex, id)
    const args = known !== undefined && isReplay(known, id, name, given ?? '') ? '' : (given ?? '')
    const call =
      known === undefined || beginsAnother(known, id, name, args) ? this.add(kind, providerIndex) : known
    this.last = call
    if (call === undefined) {
      this.losses.add(TOO_MANY, details)
      return undefined
    }
    if (given === undefined || call.isLost) {
      this.lose(call, 'the arguments of a tool call are not text', details)
      return undefined
    }
    call.argumentsSoFar += args
    call.brackets.take(args)
    const own = takeOwnFields(call.own, delta)
    if (call.index !== undefined) {
      const moreOfName = name === call.name ? undefined : name
      if (moreOfName !== undefined) call.name += moreOfName
      else if (args === '' && own === undefined) return undefined
      const named = moreOfName === undefined ? {} : { name: moreOfName }
      const more = call.kind === 'custom' ? { input: args } : { arguments: args }
      return { ...own, index: call.index, [call.kind]: { ...named, ...more } }
    }
    call.id ??= id
    call.name ??= name
    if (call.name === undefined) return undefined
    call.index = this.started++
    return {
      ...call.own,
      index: call.index,
      id: this.idFor(call),
      type: call.kind,
      [call.kind]: { ...details, name: call.name, [argumentsField]: call.argumentsSoFar },
    }
  }

  private lose(call: ToolCallState, why: string, piece: unknown): void {
    call.isLost = true
    this.losses.add(why, piece)
  }

  private find(index: number | undefined, id: string | undefined): ToolCallState | undefined {
    if (index === undefined && id === undefined) return this.last
    const hasIndex = (call: ToolCallState) => index === undefined || call.providerIndex === index
    const same =
      id === undefined ? undefined : this.calls.findLast((call) => call.id === id && hasIndex(call))
    return same ?? this.calls.findLast((call) => call.providerIndex === index)
  }

  /** Returns a unique id, because clients match results to calls only by id. */
  private idFor({ id }: ToolCallState): string {
    const isShared = this.calls.filter((call) => call.id === id).length > 1
    return id === undefined || isShared ? this.newId() : id
  }

  /** Returns undefined if the maximum number of calls is reached. */
  private add(kind: ToolCallState['kind'], providerIndex = this.calls.length): ToolCallState | undefined {
    if (this.calls.length >= MAX_TOOL_CALLS) return undefined
    const call: ToolCallState = {
      kind,
      providerIndex,
      index: undefined,
      id: undefined,
      name: undefined,
      argumentsSoFar: '',
      isLost: false,
      brackets: new Brackets(),
      own: {},
    }
    this.calls.push(call)
    return call
  }
}

const COMMON_FIELDS = new Set(['index', 'id', 'type', 'function', 'custom', '__proto__'])

/** @returns the new values of the provider's own fields, undefined if there are none */
function takeOwnFields(known: JsonObject, delta: JsonObject): JsonObject | undefined {
  let found: JsonObject | undefined
  for (const field of Object.keys(delta)) {
    const value = delta[field]
    if (value === null || COMMON_FIELDS.has(field)) continue
    if (JSON.stringify(value) === JSON.stringify(known[field])) continue
    known[field] = value
    found ??= {}
    found[field] = value
  }
  return found
}

/**
 * Whether a delta begins another call instead of continuing the known one. Some providers give all calls the same index
 * or id, or none. Others repeat the name with each piece of a call, or make up a new id for each piece.
 */
function beginsAnother(known: ToolCallState, id: string | undefined, name: string | undefined, args: string) {
  if (name === undefined || known.name === undefined) return false
  const hasOtherId = id !== undefined && known.id !== undefined && id !== known.id
  if (name !== known.name) return hasOtherId || known.argumentsSoFar !== ''
  return (args.startsWith('{') || (args === '' && hasOtherId)) && known.brackets.closed
}

/** Some providers send a call in pieces and then the whole call again. */
function isReplay(
  known: ToolCallState,
  id: string | undefined,
  name: string | undefined,
  args: string,
): boolean {
  return (
    id !== undefined &&
    id === known.id &&
    (name === undefined || name === known.name) &&
    args !== '' &&
    args === known.argumentsSoFar &&
    known.brackets.closed
  )
}

/** Tracks the brackets of JSON text that arrives in pieces. Parsing all of it after each piece would take quadratic time. */
class Brackets {
  private depth = 0
  private any = false
  private inString = false
  private escaped = false

  /** Whether there were any brackets and none is open. */
  get closed(): boolean {
    return this.any && this.depth === 0
  }

  take(text: string): void {
    for (const character of text) {
      if (this.escaped) this.escaped = false
      else if (character === '"') this.inString = !this.inString
      else if (this.inString) this.escaped = character === '\\'
      else if (character === '{' || character === '[') {
        this.any = true
        this.depth++
      } else if (character === '}' || character === ']') this.depth--
    }
  }
}

/** Returns undefined if there is no index, NaN if it is not an integer. */
function readIndex(given: unknown): number | undefined {
  if (given === undefined || given === null) return undefined
  const index = typeof given === 'string' ? Number(given) : given
  return Number.isInteger(index) ? (index as number) : Number.NaN
}

/** Returns the readable tool calls of a whole message, each with a unique id, a type, a name and arguments as text. */
export function mendToolCalls(calls: unknown, newId: () => string, losses: Losses): JsonObject[] {
  if (!Array.isArray(calls)) {
    losses.add('tool_calls is not a list', calls)
    return []
  }
  if (calls.length > MAX_TOOL_CALLS) losses.add(TOO_MANY, calls.slice(MAX_TOOL_CALLS).map(outputIn))
  const ids = new Set<string>()
  return calls.slice(0, MAX_TOOL_CALLS).flatMap((call: unknown): JsonObject[] => {
    const unreadable = (what: string): [] => {
      losses.add(what, outputIn(call))
      return []
    }
    if (!isObject(call)) return unreadable('a tool call is not an object')
    const kind = isObject(call.custom) || call.type === 'custom' ? 'custom' : 'function'
    const details = call[kind]
    if (!isObject(details) || textOf(details.name) === undefined) return unreadable('a tool call has no name')
    const { index: _index, ...rest } = call
    const text = argumentText(kind === 'custom' ? details.input : details.arguments)
    if (text === undefined) return unreadable('the arguments of a tool call are not text')
    const args = kind === 'custom' ? { input: text } : { arguments: text || '{}' }
    const own = textOf(call.id)
    const id = own === undefined || ids.has(own) ? newId() : own
    ids.add(id)
    return [{ ...rest, id, type: kind, [kind]: { ...details, ...args } }]
  })
}

/** Returns the output in a tool call of any shape. */
function outputIn(call: unknown): unknown {
  return isObject(call) ? (call.function ?? call.custom) : call
}

/** Returns undefined if the arguments cannot be read. */
function argumentText(value: unknown): string | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  return isObject(value) ? exactTextOf(value) : undefined
}
