import type { ProviderEvent } from '../contracts/providers.js'

/** Thrown if a piece of the model's output cannot be expressed in OpenAI's terms. {@link addOrPassOver} catches it. */
export class UnreadableContent extends Error {}

/**
 * Adds the events that `read` creates from one event, or an `unreadable` event, so that the rest of the stream is read.
 * They may be too many for the arguments of one call of `push`.
 */
export function addOrPassOver(events: ProviderEvent[], read: () => readonly ProviderEvent[]): void {
  try {
    for (const event of read()) events.push(event)
  } catch (error) {
    if (!(error instanceof UnreadableContent)) throw error
    events.push(unreadable(error.message))
  }
}

/** `why` must not quote the reply. */
export function unreadable(why: string): ProviderEvent {
  return { type: 'unreadable', why }
}
