import { ProviderError } from '../base/errors.js'
import type { ProviderEvent } from '../contracts/providers.js'
import { keepExactArguments } from '../protocol/exact-data.js'
import { hasManyBrackets } from '../protocol/json-body.js'
import { isObject, isTooDeep, type JsonObject } from '../protocol/json-values.js'

/** Parses a provider's text as one JSON object of any depth. Throws an `invalid-response` error for anything else. */
export function parseProviderObject(text: string): JsonObject {
  const value = parseProviderJson(text)
  if (!isObject(value))
    throw new ProviderError('invalid-response', 'The reply contains JSON that is not an object.')
  return value
}

/** Parses a provider's text. Throws an `invalid-response` error if it is not JSON. */
export function parseProviderJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ProviderError('invalid-response', 'The reply contains text that is not JSON.', {
      cause: error,
    })
  }
  if (isObject(value)) keepExactArguments(value, text)
  return value
}

/** Event types and words sent as data that only keep a stream alive. */
const SIGN_OF_LIFE = /^\W*(?:ping|pong|heart[-_ ]?beat|keep[-_ ]?alive)\W*$/i

/**
 * Returns the objects in one event of a stream. JSON without an object is skipped, and so is a sign of life. A list
 * yields each of its objects. Throws an `invalid-response` error for any other text.
 */
export function readFrame(
  text: string,
  type: string | undefined,
  events: ProviderEvent[],
): readonly JsonObject[] {
  const isAlive = SIGN_OF_LIFE.test(text) || (type !== undefined && SIGN_OF_LIFE.test(type))
  const value = isAlive ? parseLoosely(text) : parseProviderJson(text)
  if (isObject(value)) return [value]
  const objects = Array.isArray(value) ? value.filter(isObject) : []
  if (objects.length === 0) events.push(FRAME_SKIPPED)
  return objects
}

const FRAME_SKIPPED: ProviderEvent = Object.freeze({ type: 'mended', kind: 'frame-skipped' })

/** Whether the value parsed from `text` is nested too deeply to be processed. */
export function isTooDeepAs(text: string, value: object): boolean {
  return hasManyBrackets(text) && isTooDeep(value)
}

/** Parses text that may be JSON. Returns any other text unchanged. */
export function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
