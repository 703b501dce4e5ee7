import type { ProviderEvent } from '../contracts/providers.js'

/** Thrown if a piece of the model's output cannot be expressed in OpenAI's terms. {@link readOrPassOver} catches it. */
export class UnreadableContent extends Error {}

/**
 * Returns the events that `read` creates from one event, or an `unreadable` event, so that the rest of the stream is
 * read.
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
