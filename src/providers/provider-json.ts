import { ProviderError } from '../base/errors.js'
import { hasManyBrackets } from '../protocol/json-body.js'
import { isObject, isTooDeep, type JsonObject } from '../protocol/json-values.js'

/** Parses what a provider sent as one JSON object, however deeply nested. Anything else is an `invalid-response`. */
export function parseProviderObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ProviderError('invalid-response', 'The reply holds something that is not JSON.', {
      cause: error,
    })
  }
  if (!isObject(value))
    throw new ProviderError('invalid-response', 'The reply holds JSON that is not an object.')
  return value
}

/** Whether what was parsed from `text` is nested too deeply to be handled. */
export function isTooDeepAs(text: string, value: object): boolean {
  return hasManyBrackets(text) && isTooDeep(value)
}

/** Parses what may be JSON; any other text is itself. */
export function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
