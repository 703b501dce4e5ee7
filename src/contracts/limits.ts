/** The bounds of a router. */
export interface RouterSettings {
  readonly timeouts: Timeouts
  readonly sizes: Sizes
  readonly concurrency: Concurrency
  readonly routing: RoutingSettings
  readonly charging: ChargingSettings
}

/** How long things may take, in milliseconds. */
export interface Timeouts {
  /** Silence while a body is read. Beyond it: 408. */
  readonly bodyIdleMs: number
  /** The time to read a whole body. Beyond it: 408. */
  readonly bodyMs: number
  /** The time for a store to answer, and for each attempt at a settlement. */
  readonly storeMs: number
  /** The time to connect to a provider. */
  readonly connectMs: number
  /** Time without a byte from the provider. For a JSON reply it starts with the first byte. */
  readonly idleMs: number
  /** Time without a token from the provider. Comments and empty deltas do not count. Starts as `idleMs` does. */
  readonly tokenMs: number
  /** The time from dispatch to the last byte. */
  readonly totalMs: number
  /** The time that a client's socket may stay full. Beyond it, the client counts as left. */
  readonly clientStallMs: number
  /** How long a reply waits for its settlement. */
  readonly settleWaitMs: number
  /** How long a failed settlement is retried. */
  readonly settleMs: number
  /** A stream opens after this much silence even without a token, so that no proxy closes the connection. */
  readonly openStreamAfterMs: number
}

/** How large things may be, in bytes. */
export interface Sizes {
  /** The size of a request body. Beyond it: 413. */
  readonly bodyBytes: number
  /**
   * The bytes received so far of all request bodies that are being read. Beyond it: 503. One account may use at most a
   * third of the bytes that it leaves to the others, so it never gets more than a quarter. Beyond that: 429.
   */
  readonly bodyBytesInFlight: number
  /**
   * The memory of running calls, in addition to that of an idle process: bodies that are being read, the parts of
   * replies that are kept until their end, recordings, and the recent items of `POST /responses`. A request counts
   * three times its bytes, until no other route may need it, and a provider's JSON body twice, until it is read. Once
   * all is used, new calls get 503 `memory_full`, and running ones continue. The requests of one account may use a
   * quarter of it. Beyond that: 429.
   */
  readonly memoryBytes: number
  /** The size of one event in a provider's stream. */
  readonly eventBytes: number
  /** The size of a provider's whole reply. */
  readonly replyBytes: number
}

/** How much may go on at once in one process. */
export interface Concurrency {
  /** Concurrent look-ups of credentials. Beyond it: 503. Tokens that were valid before may use twice as many. */
  readonly lookUps: number
  /** Concurrent calls in this process, including those whose client has left. Beyond it: 503, before the body is read. */
  readonly inFlight: number
  /**
   * Concurrent calls in this process: each process counts its own. Beyond it: 429, before the body is read. No limit if
   * absent.
   */
  readonly inFlightPerAccount?: number
  readonly inFlightPerCredential?: number
}

/** How routes are tried. */
export interface RoutingSettings {
  /** The most routes to try for one call. */
  readonly attempts: number
}

/** How calls are held and charged. */
export interface ChargingSettings {
  /** The output tokens that a hold covers if the request has no output limit. */
  readonly holdOutputTokens: number
}
