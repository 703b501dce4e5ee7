import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { memorySize } from '../../../protocol/memory-size.js'

/** Joins the choices of a stream into the choices of a JSON reply. */
export class ChoiceAccumulator {
  private readonly choices = new Map<
    number,
    { message: JsonObject; rest: JsonObject; toolCalls: Map<number, JsonObject> }
  >()

  /** The approximate memory of the choices. */
  bytes = 0

  add(choice: JsonObject): void {
    this.bytes += memorySize(choice)
    const { index, delta, logprobs, ...rest } = choice as {
      index: number
      delta: JsonObject
      logprobs?: unknown
    }
    let whole = this.choices.get(index)
    if (whole === undefined) {
      whole = {
        message: { role: 'assistant', content: null },
        rest: { finish_reason: null },
        toolCalls: new Map(),
      }
      this.choices.set(index, whole)
    }
    for (const [field, value] of Object.entries(delta)) {
      if (field === 'tool_calls') addToolCalls(whole.toolCalls, value as JsonObject[])
      else if (value !== null && field !== 'role') joinField(whole.message, field, value)
    }
    if (isObject(logprobs)) whole.rest.logprobs = join(whole.rest.logprobs, logprobs)
    for (const [field, value] of Object.entries(rest)) if (value !== null) whole.rest[field] = value
  }

  /** @param lost returns the indexes of a choice's tool calls to omit, because a piece of them was unreadable */
  finished(lost: (choice: number) => readonly number[]): JsonObject[] {
    return [...this.choices]
      .sort(([one], [other]) => one - other)
      .map(([index, { message, rest, toolCalls }]) => {
        const left = lost(index)
        const readable = [...toolCalls].filter(([call]) => !left.includes(call))
        const calls = readable.sort(([one], [other]) => one - other).map(([, call]) => call)
        return { index, message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) }, ...rest }
      })
  }
}

function addToolCalls(calls: Map<number, JsonObject>, deltas: readonly JsonObject[]): void {
  for (const { index, ...delta } of deltas) {
    calls.set(index as number, join(calls.get(index as number), delta) as JsonObject)
  }
}

/**
 * Appends text and lists, and joins objects by field. Otherwise the last value other than null applies. Changes
 * `known`.
 */
function join(known: unknown, more: unknown): unknown {
  if (typeof known === 'string' && typeof more === 'string') return known + more
  if (Array.isArray(more)) {
    const list = Array.isArray(known) ? known : []
    for (const item of more) list.push(item)
    return list
  }
  if (isObject(more)) {
    const fields = isObject(known) ? known : {}
    for (const [field, value] of Object.entries(more)) joinField(fields, field, value)
    return fields
  }
  return more
}

/** Fields that some providers repeat unchanged with each piece. */
const REPEATED = new Set(['id', 'name', 'type'])

function joinField(fields: JsonObject, field: string, more: unknown): void {
  if (field === '__proto__' || (REPEATED.has(field) && fields[field] === more)) return
  if (more === null && fields[field] !== undefined) return
  fields[field] = join(fields[field], more)
}
