import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/index.js'
import { isObject, isTooDeep } from '../../protocol/json-values.js'
import { ofMessage } from './message-events.js'
import { MessageReader } from './message-reader.js'

/** Reads one reply of the Messages API for an adapter of a host's own. */
export interface MessageEvents {
  /** Whether `message_stop` was received. */
  readonly hasEnded: boolean
  /** Reads one event of a stream. Throws a `ProviderError` for an error, or for anything that is no event of the API. */
  read(event: unknown): ProviderEvent[]
  /** Reads a whole message. Throws a `ProviderError` for an error, or for anything that is no message. */
  readWhole(message: unknown): ProviderEvent[]
}

/**
 * Returns a reader with which an adapter of a host's own hands on one reply of the Messages API.
 *
 * @example
 * ```ts
 * const events = readMessageEvents()
 * for await (const event of replyOf(call)) yield* events.read(event)
 * ```
 */
export function readMessageEvents(): MessageEvents {
  const reader = new MessageReader()
  return {
    get hasEnded() {
      return reader.hasEnded
    },
    read(event) {
      if (!isObject(event)) throw notAnObject()
      const events: ProviderEvent[] = []
      const read = isTooDeep(event) ? ofMessage(event) : event
      if (read !== undefined) reader.read(read, events)
      else events.push({ type: 'unreadable', why: 'An event is nested too deeply.', piece: event.delta })
      return events
    },
    readWhole(message) {
      if (!isObject(message)) throw notAnObject()
      const events: ProviderEvent[] = []
      reader.readWhole(message, events)
      return events
    },
  }
}

function notAnObject(): ProviderError {
  return new ProviderError('invalid-response', 'The reply contains a value that is not an object of the API.')
}
