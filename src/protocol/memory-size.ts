const OBJECT_BYTES = 48
const TEXT_BYTES = 16
const MEMBER_BYTES = 16

/** Returns the approximate memory of a parsed JSON value. */
export function memorySize(value: unknown): number {
  if (typeof value === 'string') return TEXT_BYTES + value.length
  if (typeof value !== 'object' || value === null) return 0
  let bytes = OBJECT_BYTES
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    bytes += MEMBER_BYTES + memorySize(member)
  }
  return bytes
}
