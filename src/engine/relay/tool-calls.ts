import { type Fields, invalidReply, isObject } from './delta.js'

const MAX_TOOL_CALLS = 1_024

interface ToolCallState {
  readonly kind: 'function' | 'custom'
  id: string | undefined
  name: string | undefined
  /** Text of the arguments that no delta has carried yet, because the name is still to come. */
  waiting: string
  started: boolean
  hasArguments: boolean
}

/**
 * Brings the tool calls of one choice to the shape that clients read: every delta has an index, the first of a call has
 * id, type and name, later ones nothing but arguments, and arguments are text.
 */
export class ToolCallStream {
  private readonly calls = new Map<number, ToolCallState>()
  private last = -1

  constructor(private readonly newId: () => string) {}

  get any(): boolean {
    return this.calls.size > 0
  }

  /** @returns the deltas to send, none where there is nothing to tell yet */
  take(deltas: unknown): Fields[] {
    if (!Array.isArray(deltas)) throw invalidReply('tool_calls is not a list')
    const sent: Fields[] = []
    for (const delta of deltas) {
      if (!isObject(delta)) throw invalidReply('a tool call is not an object')
      const out = this.takeOne(delta)
      if (out !== undefined) sent.push(out)
    }
    return sent
  }

  /** What is still missing when the choice ends: `{}` for calls that never had arguments. */
  missingArguments(): Fields[] {
    const sent: Fields[] = []
    for (const [index, call] of this.calls) {
      if (!call.started) throw invalidReply('a tool call has no name')
      if (call.hasArguments || call.kind === 'custom') continue
      call.hasArguments = true
      sent.push({ index, function: { arguments: '{}' } })
    }
    return sent
  }

  private takeOne(delta: Fields): Fields | undefined {
    const kind = isObject(delta.custom) || delta.type === 'custom' ? 'custom' : 'function'
    const details = isObject(delta[kind]) ? (delta[kind] as Fields) : {}
    const id = text(delta.id)
    const index = this.indexOf(delta.index, id)
    let call = this.calls.get(index)
    if (call === undefined) {
      call = { kind, id: undefined, name: undefined, waiting: '', started: false, hasArguments: false }
      this.calls.set(index, call)
    }
    const argumentsField = call.kind === 'custom' ? 'input' : 'arguments'
    const args = argumentText(details[argumentsField])
    if (args !== '') call.hasArguments = true
    if (call.started) {
      return args === '' ? undefined : { index, [call.kind]: { [argumentsField]: args } }
    }
    call.id ??= id
    call.name ??= text(details.name)
    call.waiting += args
    if (call.name === undefined) return undefined
    call.started = true
    return {
      ...delta,
      index,
      id: call.id ?? this.newId(),
      type: call.kind,
      [call.kind]: { ...details, name: call.name, [argumentsField]: call.waiting },
    }
  }

  private indexOf(index: unknown, id: string | undefined): number {
    if (index === undefined || index === null) {
      const known = id === undefined ? this.last : this.indexOfId(id)
      this.last = known >= 0 ? known : this.calls.size
    } else if (Number.isInteger(index) && (index as number) >= 0) {
      this.last = index as number
    } else {
      throw invalidReply('the index of a tool call is not a number')
    }
    if (this.last >= MAX_TOOL_CALLS)
      throw invalidReply(`the index of a tool call is not below ${MAX_TOOL_CALLS}`)
    return this.last
  }

  private indexOfId(id: string): number {
    for (const [index, call] of this.calls) if (call.id === id) return index
    return -1
  }
}

/** The tool calls of a whole message, each with id, type, name and arguments as text. */
export function mendToolCalls(calls: unknown, newId: () => string): Fields[] {
  if (!Array.isArray(calls)) throw invalidReply('tool_calls is not a list')
  if (calls.length > MAX_TOOL_CALLS) throw invalidReply(`there are more than ${MAX_TOOL_CALLS} tool calls`)
  return calls.map((call) => {
    if (!isObject(call)) throw invalidReply('a tool call is not an object')
    const kind = isObject(call.custom) || call.type === 'custom' ? 'custom' : 'function'
    const details = call[kind]
    if (!isObject(details) || text(details.name) === undefined) throw invalidReply('a tool call has no name')
    const { index: _index, ...rest } = call
    const args =
      kind === 'custom'
        ? { input: argumentText(details.input) }
        : { arguments: argumentText(details.arguments) || '{}' }
    return { ...rest, id: text(call.id) ?? newId(), type: kind, [kind]: { ...details, ...args } }
  })
}

function argumentText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (isObject(value)) return JSON.stringify(value)
  throw invalidReply('the arguments of a tool call are not text')
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
