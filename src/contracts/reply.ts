import type { ReceivedBody } from '../protocol/request-body.js'
import type { RequestHeaders } from '../protocol/request-headers.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { Awaitable } from './context.js'

/** A part of a reply. A large part comes in pieces, each created only when the client can accept it. */
export type ReplyBytes = WireBytes | Iterable<WireBytes>
/** A whole reply, whose length is known. A large one comes in pieces, so that it is never in memory twice. */
export type WholeReply = WireBytes | readonly WireBytes[]

/**
 * The destination of a reply: an HTTP response, or the recording of a call with an `Idempotency-Key`.
 *
 * Call `send` once, or `openStream`, any number of `write` and one `end`. Once `left` is true they all do nothing.
 */
export interface ReplyWriter {
  /** Whether the client left before the end. */
  readonly left: boolean
  /** Calls the listener once, when the client leaves. A later listener replaces an earlier one. */
  onLeave(listener: () => void): void
  /** Sends a whole reply. Returns a promise if it is large. It settles when the client has accepted it, or has left. */
  send(status: number, headers: Readonly<Record<string, string>>, bytes: WholeReply): void | Promise<void>
  openStream(headers: Readonly<Record<string, string>>): void
  /** Returns a promise if the client is slow. It settles when the client can accept more, or has left. */
  write(bytes: WireBytes): void | Promise<void>
  /** Sends the last bytes, if any, and ends the stream. Returns the same as {@link send}. */
  end(bytes: ReplyBytes): void | Promise<void>
  /** Disconnects a client that accepts nothing more. */
  drop(): void
}

/** A request whose body has not been read. */
export interface IncomingCall extends RequestHeaders {
  readonly requestId: string
  /** The part of the request target after `?`, not decoded; empty if there is none. */
  readonly query: string
  /** The number of `authorization` header lines. */
  readonly authorizationLines: number
  /** Lets the page that sent the request read the reply. By default it may read errors only. */
  allowOrigin(): void
  /**
   * Returns the body, without a promise if it has already arrived. Fails with a `CompatError` if the body is not JSON, is
   * too large or arrives too slowly. Its bytes count towards the share of `account`. `admit` is called with the size of a
   * large body before it is parsed; it may throw.
   */
  readBody(account: string, admit?: (bytes: number) => void): Awaitable<ReceivedBody>
}
