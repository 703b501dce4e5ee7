/**
 * Shortcuts that only save time: each has a plain twin with the same result. `false` switches one off, to compare the
 * two or to rule it out as the cause of a fault.
 */
export interface FastPaths {
  /** A chunk of a stream is written to the socket as one string. */
  readonly chunks: boolean
  /** An adapter reads an event of one line without the parser. */
  readonly lines: boolean
  /** Long messages are sent to the provider in the client's own bytes. */
  readonly messages: boolean
  /** A chunk of a chat, or plain text of the Messages API, is relayed without being parsed. */
  readonly splice: boolean
  /** Calls that become ready in one turn of the event loop continue together. */
  readonly turns: boolean
}
