import { isObject } from '../../protocol/json-values.js'

const FIELDS = ['delta', 'text', 'input', 'data']

/** Returns roughly the bytes of a part's content: its text and data. Nothing else is long. */
export function lengthOf(part: unknown): number {
  if (!isObject(part)) return 0
  let length = 0
  for (const field of FIELDS) {
    const value = part[field]
    if (typeof value === 'string' || value instanceof Uint8Array) length += value.length
    else if (field === 'data') length += lengthOf(value)
  }
  return length
}
