import type { Awaitable } from '../contracts/index.js'

/** Returns a deeply frozen copy that callers can share. Objects that are neither plain nor arrays are not copied. */
function frozenCopy<Value>(value: Value): Value {
  return copy(value) as Value
}

/** Returns the copy of an answer, without a promise if the answer is not a promise. */
export function frozenCopyOf<Value>(answer: Awaitable<Value>): Awaitable<Value> {
  return isPromise(answer) ? Promise.resolve(answer).then(frozenCopy) : frozenCopy(answer)
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
