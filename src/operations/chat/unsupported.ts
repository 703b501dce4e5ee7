import { isNeutral, KNOWN_FIELDS, SAME_FIELDS } from '../../protocol/request-fields/known-fields.js'

const MAX_NAMED = 20
/** Every route supports these. */
const ALWAYS_SUPPORTED = new Set(['model', 'messages', 'stream', 'user'])

/** Returns at most 20 known fields of a chat that have an effect but are not in a list. */
export function unsupportedFields(
  fields: Iterable<readonly [field: string, value: unknown]>,
  supported: readonly string[],
): readonly string[] {
  const unsupported: string[] = []
  for (const [field, value] of fields) {
    if (unsupported.length >= MAX_NAMED) break
    if (!ALWAYS_SUPPORTED.has(field) && !isNamed(field, supported) && !isNeutral(field, value)) {
      unsupported.push(field)
    }
  }
  return unsupported
}

/** Whether a list contains a field or its synonym. Unknown fields are checked elsewhere. */
function isNamed(field: string, supported: readonly string[]): boolean {
  if (supported.includes(field) || !KNOWN_FIELDS.has(field)) return true
  return SAME_FIELDS.some((same) => same.includes(field) && same.some((name) => supported.includes(name)))
}
