import { ProviderError } from '../../errors.js'
import { type Fields, invalidReply, isObject } from './delta.js'
import { fromLatin1 } from './text-encoding.js'

/** No event and no reply may be nested deeper. */
const MAX_DEPTH = 128

/** Reads an event from JSON text in latin1. Throws a `ProviderError` where it is no object. */
export function parseEvent(bytes: string): Fields {
  let event: unknown
  try {
    event = JSON.parse(fromLatin1(bytes))
  } catch (cause) {
    throw new ProviderError('invalid-response', 'The provider sent an event that is not JSON.', { cause })
  }
  if (!isObject(event)) throw invalidReply('an event is not an object')
  return event
}

/** Throws a `ProviderError` where an event or a reply is nested too deeply to be handled. */
export function checkDepth(value: object): void {
  if (depthOver(value, MAX_DEPTH)) throw invalidReply(`it is nested deeper than ${MAX_DEPTH}`)
}

function depthOver(value: object, limit: number): boolean {
  if (limit === 0) return true
  for (const field in value) {
    const member = (value as Fields)[field]
    if (typeof member === 'object' && member !== null && depthOver(member, limit - 1)) return true
  }
  return false
}
