/** Alternating names and values, the form in which undici accepts headers fastest. */
export type HeaderList = string[]

/** One request, as a sender takes it. */
export interface SentRequest {
  readonly path: string
  readonly method: 'POST'
  readonly headers: HeaderList
  readonly body: string | Buffer
  /** The caller has deadlines of its own. */
  readonly headersTimeout: 0
  readonly bodyTimeout: 0
  /** Called before anything is sent. */
  onConnection(connection: Connection): void
}

/** The connection of one call. */
export interface Connection {
  /** The request is about to be sent. */
  begin(): void
  /** Closes the connection during the call that runs on it. */
  drop(reason: Error): void
  /** Whether part of the request is still buffered because the other side has not accepted it. */
  readonly isSending: boolean
  /** Stops reading until {@link release}, if the connection supports that. */
  hold(): void
  release(): void
}

/**
 * Takes what becomes of a request. Its methods are undici's older ones, which need nothing between the two and are faster
 * than the newer ones by a tenth of the time of a bare pipe.
 */
export interface Receiver {
  /** The request is about to be sent. An error after this may come from a provider that has received it. */
  onConnect(abort: (reason?: Error) => void): void
  /** Takes the head of a reply, also of an interim one. Alternating names and values. */
  onHeaders(status: number, headers: Buffer[]): boolean
  onData(bytes: Buffer): boolean
  onComplete(): void
  onError(error: Error): void
}

/** Sends requests to one server, and keeps its connections. */
export interface Sender {
  dispatch(request: SentRequest, receiver: Receiver): boolean
  /** Closes idle connections at once, and the others when their calls end. */
  close(): Promise<void>
}

/** What a sender does beside sending. docs/adapters.md has the same table. */
export interface SenderAbilities {
  /** Limits the time that a connection may take to open. */
  readonly limitsConnecting: boolean
  /** Sends a request again if its kept connection was lost before any of it was sent. */
  readonly sendsAgain: boolean
  /** The longest head of a reply that it takes, in bytes. Undefined if the runtime decides. */
  readonly headerBytes: number | undefined
  /** Passes on compressed bodies as they are. A sender that decodes them leaves `content-encoding` out. */
  readonly passesOnCompressed: boolean
  /** Survives a `100 Continue` that nobody has asked for. */
  readonly skipsContinue: boolean
}

/** What `#sender` exports: the way out of the runtime, chosen by the conditions of package.json. */
export interface SenderModule {
  readonly abilities: SenderAbilities
  openSender(origin: string, connectMs: number): Sender
}
