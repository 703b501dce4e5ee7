/** Copies plain data, deeply frozen, so that callers can share it. What is neither an array nor a plain object stays as it is. */
export function frozenCopy<Value>(value: Value): Value {
  return copy(value) as Value
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
