import { ProviderError } from '../base/errors.js'
import { keepExactArguments } from '../protocol/exact-data.js'
import { hasManyBrackets } from '../protocol/json-body.js'
import { isObject, isTooDeep, type JsonObject } from '../protocol/json-values.js'

/** Parses a provider's text as one JSON object of any depth. Throws an `invalid-response` error for anything else. */
export function parseProviderObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ProviderError('invalid-response', 'The reply contains text that is not JSON.', {
      cause: error,
    })
  }
  if (!isObject(value))
    throw new ProviderError('invalid-response', 'The reply contains JSON that is not an object.')
  keepExactArguments(value, text)
  return value
}

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
