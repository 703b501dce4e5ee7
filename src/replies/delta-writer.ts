import { type CompatError, ProviderError } from '../base/errors.js'
import type { ReplyBytes } from '../contracts/reply.js'
import type { Delta, Labels } from '../conversation/delta.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { WireCharge } from '../protocol/wire-usage.js'

/**
 * Writes the replies of one API from the deltas of any provider, as a stream or as a JSON body. A writer is made for one
 * of the two forms.
 */
export interface DeltaWriter {
  /** The approximate memory that the writer needs until the end of the reply. */
  readonly keptBytes: number
  /** Returns the first bytes of a stream. Each piece is created when it is requested. Absent if there are none. */
  opening?(): Iterable<WireBytes>
  /**
   * Accepts the deltas that one event brought for one choice, with the labels of the event. Returns the bytes to send
   * now: none for a JSON body.
   */
  write(deltas: readonly Delta[], labels: Labels): WireBytes
  /** The client has left. A stream is still written to its end, and a body is no longer collected. */
  discard(): void
  /**
   * Called for a JSON body if every choice has ended. Throws a `ProviderError` if the choices cannot be written.
   *
   * @param lostCalls returns the calls of a choice to omit, because a piece of them was unreadable
   */
  endBody(lostCalls: (choice: number) => readonly number[]): void
  /** Returns the JSON body with its charge. {@link endBody} must have been called. */
  body(charge: WireCharge, labels: Labels): WireBytes
  /**
   * Returns the end of a stream whose choices have ended, with the charge. `pending` are bytes from {@link write} that were
   * not sent yet.
   */
  closing(charge: WireCharge, labels: Labels, pending: WireBytes): ReplyBytes
  /** Returns the end of a failed stream, with the charge. */
  failing(error: CompatError, charge: WireCharge, pending: WireBytes): ReplyBytes
}

/** Runs what writes a body. An adapter may pass values that JSON cannot represent, such as a BigInt. */
export function writeSafely(write: () => WireBytes): WireBytes {
  try {
    return write()
  } catch (cause) {
    throw new ProviderError('invalid-response', "The provider's reply cannot be written as JSON.", { cause })
  }
}
