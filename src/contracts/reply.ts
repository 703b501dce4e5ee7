import type { Awaitable } from './context.js'

/**
 * Where a reply goes: an HTTP response, or the recording of a call under an `Idempotency-Key`.
 *
 * Either one `send`, or `openStream`, any number of `write` and one `end`. After `left` turned true all of them do
 * nothing. Their `bytes` are latin1: each character a byte of the UTF-8.
 */
export interface ReplyWriter {
  /** Whether the client went away before the end. */
  readonly left: boolean
  /** Calls back once when the client leaves. The last listener counts. */
  onLeave(listener: () => void): void
  /** Sends all of a reply. */
  send(status: number, headers: Readonly<Record<string, string>>, bytes: string): void
  openStream(headers: Readonly<Record<string, string>>): void
  /** A promise when the client is slow: settled when it can take more, or has left. */
  write(bytes: string): void | Promise<void>
  /** Sends the last bytes, if there are any, and ends the stream. */
  end(bytes: string): void
  /** Drops a client that takes nothing more. */
  drop(): void
}

/** A request for a chat completion, its body not yet read. */
export interface IncomingCall {
  readonly requestId: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** How many `authorization` lines the request had. */
  readonly authorizationLines: number
  /**
   * The body as a value, at once where it has arrived. Fails with a `CompatError`: not JSON, too large, too slow. Its bytes
   * count towards the share of `account`.
   */
  readBody(account: string): Awaitable<unknown>
}
