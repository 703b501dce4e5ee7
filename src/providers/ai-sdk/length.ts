/** What an object and each of its members take besides their content. */
const OBJECT_BYTES = 16
const MEMBER_BYTES = 8

/**
 * Returns roughly the bytes of a part: of all text and data in it, at any depth. Stops once it has counted more than
 * `most`, so that a part that contains itself ends, too. An error does not count, because it contains the request.
 */
export function lengthOf(part: unknown, most: number): number {
  let length = 0
  const left: unknown[] = [part]
  while (left.length > 0 && length <= most) {
    const value = left.pop()
    if (typeof value === 'string') length += value.length
    else if (ArrayBuffer.isView(value)) length += value.byteLength
    else if (typeof value === 'object' && value !== null && !(value instanceof Error)) {
      const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
      length += OBJECT_BYTES + members.length * MEMBER_BYTES
      for (const member of members) left.push(member)
    }
  }
  return length
}
