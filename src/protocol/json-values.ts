export type JsonObject = Record<string, unknown>

/** No request, event or reply may be nested deeper. */
export const MAX_DEPTH = 128

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is nested deeper than `limit`. */
export function isTooDeep(value: object, limit = MAX_DEPTH): boolean {
  if (limit === 0) return true
  for (const field in value) {
    const member = (value as JsonObject)[field]
    if (typeof member === 'object' && member !== null && isTooDeep(member, limit - 1)) return true
  }
  return false
}

/** Whether a value is a string with something in it. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The value where it is a string with something in it. */
export function textOf(value: unknown): string | undefined {
  return isText(value) ? value : undefined
}
