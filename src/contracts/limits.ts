/** Every limit of the router. Times in milliseconds, sizes in bytes. */
export interface Limits {
  /** A request body. Past it 413. */
  readonly bodyBytes: number
  /**
   * What has come of all request bodies being read. Past it 503. An account may take a third of what it leaves to all
   * others, at most a quarter; past that 429.
   */
  readonly bodyBytesInFlight: number
  /** Silence while a body is read. Past it 408. */
  readonly bodyIdleMs: number
  /** Reading a whole body. Past it 408. */
  readonly bodyMs: number
  /** Credentials being looked up. Past it 503; twice as many if the token was good before. */
  readonly lookUps: number
  /** An answer of a store, and each attempt at a settlement. */
  readonly storeMs: number
  /** Connecting to a provider. */
  readonly connectMs: number
  /** No byte from the provider. For a reply in one body this begins with its first byte. */
  readonly idleMs: number
  /** No token from the provider; comments and empty deltas do not count. Begins as `idleMs` does. */
  readonly tokenMs: number
  /** From dispatch to the last byte, whatever keeps a call alive. */
  readonly totalMs: number
  /** The client's socket is full and does not drain. Past it the client counts as gone. */
  readonly clientStallMs: number
  /** One event of a provider's stream. */
  readonly eventBytes: number
  /** A provider's whole reply. */
  readonly replyBytes: number
  /** How long a reply waits for its settlement. */
  readonly settleWaitMs: number
  /** How long a settlement is tried again. */
  readonly settleMs: number
  /** A stream is opened without a token after this much silence, so that nothing on the way cuts it. */
  readonly openStreamAfterMs: number
  /** Output tokens that a hold covers where the request names no bound. */
  readonly holdOutputTokens: number
  /** Routes tried for one call. */
  readonly attempts: number
  /** Calls at once in this process, those included whose client has left. Past it 503 before the body is read. */
  readonly inFlight: number
  /** Calls at once. Past it 429 before the body is read. No limit if absent. */
  readonly inFlightPerAccount?: number
  readonly inFlightPerCredential?: number
}
