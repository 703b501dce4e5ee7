import type { ProviderEvent } from '../contracts/providers.js'

/** Thrown if a piece of the model's output cannot be put into OpenAI's terms. {@link readOrPassOver} catches it. */
export class UnreadableContent extends Error {}

/**
 * Returns the events that `read` makes of one event, or an `unreadable` event, so that the rest of a stream is read.
 */
export function readOrPassOver(read: () => ProviderEvent[]): ProviderEvent[] {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableContent) return [unreadable(error.message)]
    throw error
  }
}

/** `why` must not quote the reply. */
export function unreadable(why: string): ProviderEvent {
  return { type: 'unreadable', why }
}
