import type { Awaitable } from '../contracts/index.js'

/** Copies plain data, deeply frozen, so that callers can share it. What is neither an array nor a plain object stays as it is. */
function frozenCopy<Value>(value: Value): Value {
  return copy(value) as Value
}

/** The copy of an answer, at once where the answer is there. */
export function frozenCopyOf<Value>(answer: Awaitable<Value>): Awaitable<Value> {
  return isPromise(answer) ? answer.then(frozenCopy) : frozenCopy(answer)
}

export function isPromise<Value>(answer: Awaitable<Value>): answer is Promise<Value> {
  return typeof (answer as Promise<Value> | undefined)?.then === 'function'
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(copy))
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copy(member)])),
  )
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
