import { ProviderError } from '../base/errors.js'
import { keepExactArguments } from '../protocol/exact-data.js'
import { isObject, type JsonObject } from '../protocol/json-values.js'
import { isBareFailure } from '../protocol/reply-errors.js'
import { fromWire, type WireBytes } from '../protocol/wire-bytes.js'
import { invalidReply } from './invalid-reply.js'

/** Parses an event from its JSON. Throws a `ProviderError` if it is not an object. */
export function parseEvent(bytes: WireBytes): JsonObject {
  const text = fromWire(bytes)
  let event: unknown
  try {
    event = JSON.parse(text)
  } catch (cause) {
    throw new ProviderError('invalid-response', 'The provider sent an event that is not JSON.', { cause })
  }
  if (!isObject(event)) throw invalidReply('an event is not an object')
  keepExactArguments(event, text)
  return event
}

/** Whether an event reports a failure of the whole reply. */
export function saysFailure(event: JsonObject): boolean {
  return (event.error !== undefined && event.error !== null) || isBareFailure(event)
}
