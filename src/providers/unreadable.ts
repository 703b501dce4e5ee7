import type { ProviderEvent } from '../contracts/providers.js'

/** A piece of the model's output cannot be put into OpenAI's terms. Thrown by what reads one event, and never further. */
export class UnreadableContent extends Error {}

/** The events that `read` makes of one event of a stream. A piece that it cannot read is one of them, and the rest is read. */
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
