import { ProviderError } from '../errors.js'
import { hasManyBrackets } from '../protocol/json-body.js'
import { isObject, isTooDeep, type JsonObject, MAX_DEPTH } from '../protocol/json-values.js'

/** Parses what a provider sent as one JSON object nested at most 128 deep. Anything else is an `invalid-response`. */
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
  if (hasManyBrackets(text) && isTooDeep(value)) {
    throw new ProviderError('invalid-response', `The reply is nested deeper than ${MAX_DEPTH}.`)
  }
  return value
}

/** Parses what may be JSON; any other text is itself. */
export function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
