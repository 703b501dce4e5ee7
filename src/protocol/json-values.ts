export type JsonObject = Record<string, unknown>

/** No request, event or reply may be nested deeper. */
export const MAX_DEPTH = 128

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is nested deeper than `limit`. */
export function isTooDeep(value: object, limit = MAX_DEPTH): boolean {
  if (limit === 0) return true
  // Looping over a list by field name takes three times as long.
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeper(item, limit)) return true
    return false
  }
  // Own members only: a polluted `Object.prototype` would make every value endless.
  for (const field in value) {
    if (Object.hasOwn(value, field) && isDeeper((value as JsonObject)[field], limit)) return true
  }
  return false
}

function isDeeper(member: unknown, limit: number): boolean {
  return typeof member === 'object' && member !== null && isTooDeep(member, limit - 1)
}

/** Whether a value is a number without a fraction. */
export function isInteger(value: unknown): value is number {
  return Number.isInteger(value)
}

/** Whether a value is a string that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Whether a value is empty: null, `false`, or an empty text, list or object. */
export function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Returns the value if it is a string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return isText(value) ? value : undefined
}
