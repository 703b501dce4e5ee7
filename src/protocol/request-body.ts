/** The body of a request: its parsed value, and a part of its text. */
export interface RequestBody {
  readonly value: Record<string, unknown>
  readonly sentText?: SentText | undefined
}

/** A body as it was received. */
export interface ReceivedBody extends RequestBody {
  /** The size in bytes. If the host has parsed a compressed body or one without a length, the memory of its value. */
  readonly bytes: number
}

/** The JSON text of a part of a request, in the client's own bytes. */
export interface SentText {
  /**
   * Returns the text of a value of the request. Returns undefined if it is unknown, and always the second time: once the
   * text has been sent, it would otherwise stay in memory until the reply ends.
   */
  take(value: unknown): Uint8Array | undefined
}
