import { keepExactText } from './exact-data.js'
import { parseInner } from './inner-json.js'
import { isObject, isTooDeep, type JsonObject } from './json-values.js'

/**
 * Returns the arguments of an earlier tool call as JSON text of an object, unchanged if they are one. Many providers
 * refuse a whole conversation because of a call that was cut off, and the client can only send it back unchanged.
 *
 * Empty text and null become `{}`. If one object follows another, the last one counts. Any other text becomes the
 * member `arguments` of an object, so that the model can still read it.
 */
export function mendArguments(text: string): string {
  if (text.trim() === '') return '{}'
  const value = parseInner(text)
  if (isArguments(value)) return text
  if (value === null) return '{}'
  if (typeof value === 'string' && isArguments(parseInner(value))) return value
  return lastObject(text) ?? JSON.stringify({ arguments: text })
}

/** Returns the arguments of an earlier tool call as an object, converted like {@link mendArguments}. */
export function readArguments(text: string): JsonObject {
  const value = parseInner(text)
  if (isArguments(value)) return keepExactText(value, text)
  const mended = mendArguments(text)
  return keepExactText(JSON.parse(mended), mended)
}

function isArguments(value: unknown): value is JsonObject {
  return isObject(value) && !isTooDeep(value)
}

/** Some providers start with `{}` and then send the arguments, or send all of them twice. */
function lastObject(text: string): string | undefined {
  const end = text.indexOf('}{')
  const start = text.lastIndexOf('}{')
  if (end < 0 || !isArguments(parseInner(text.slice(0, end + 1)))) return undefined
  const last = text.slice(start + 1)
  return isArguments(parseInner(last)) ? last : undefined
}
