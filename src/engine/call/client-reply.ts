import type { Clock } from '../../base/clock.js'
import type { ReplyBytes, ReplyWriter } from '../../contracts/reply.js'

/** Sent with every reply that is charged: a client library must not repeat it by itself. */
const STREAM_HEADERS = Object.freeze({ 'x-should-retry': 'false' })
const KEEP_ALIVE = ': keep-alive\n\n'

/** The client's side of a streamed reply: whether it is open, still there, and able to take more. */
export class ClientReply {
  /** The head of the stream is out, or would be had the client stayed. */
  open = false
  /** When the client last got something. */
  lastWriteAt: number
  /** Since when the client has been taking nothing. */
  blockedSince: number | undefined
  private headers: Readonly<Record<string, string>> = STREAM_HEADERS
  /** The bytes that wait for a slow client: pieces that are still to be made, and what follows them. */
  private rest: { readonly pieces: Iterator<string>; after: string; sent: Promise<void> } | undefined

  constructor(
    readonly writer: ReplyWriter,
    private readonly clock: Clock,
    private readonly aliveBytes = KEEP_ALIVE,
  ) {
    this.lastWriteAt = clock.now()
  }

  get left(): boolean {
    return this.writer.left
  }

  /** Adds headers to the head of the stream, which must not be out. */
  addHeaders(headers: Readonly<Record<string, string>>): void {
    this.headers = { ...STREAM_HEADERS, ...headers }
  }

  openStream(): void {
    if (this.open) return
    this.open = true
    this.writer.openStream(this.headers)
  }

  /** Returns a promise if the client is slow. It settles when the client can accept more, or has left. */
  write(bytes: ReplyBytes): void | Promise<void> {
    this.openStream()
    const waiting = this.pass(bytes)
    this.lastWriteAt = this.clock.now()
    if (waiting === undefined) return
    this.blockedSince = this.lastWriteAt
    return waiting.then(() => {
      this.blockedSince = undefined
    })
  }

  /** The last bytes of the stream. Returns what {@link ReplyWriter.end} does. */
  end(bytes: ReplyBytes): void | Promise<void> {
    this.openStream()
    const { rest } = this
    if (rest !== undefined) {
      // Nobody watches the client from here on, so its pieces wait for it no more.
      this.rest = undefined
      for (let next = rest.pieces.next(); next.done !== true; next = rest.pieces.next()) {
        void this.writer.write(next.value)
      }
      if (rest.after !== '') void this.writer.write(rest.after)
    }
    return this.writer.end(bytes)
  }

  private pass(bytes: ReplyBytes): void | Promise<void> {
    const { rest, writer } = this
    if (rest !== undefined) {
      rest.after += typeof bytes === 'string' ? bytes : [...bytes].join('')
      return rest.sent
    }
    if (typeof bytes === 'string') return writer.write(bytes)
    const pieces = bytes[Symbol.iterator]()
    const sent = this.writePieces(pieces)
    if (sent !== undefined) this.rest = { pieces, after: '', sent }
    return sent
  }

  /** Makes and writes pieces for as long as the client accepts them. Then it waits for the client. */
  private writePieces(pieces: Iterator<string>): void | Promise<void> {
    for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
      const waiting = this.writer.write(next.value)
      if (waiting !== undefined) return waiting.then(() => this.writePieces(pieces))
    }
    const after = this.rest?.after ?? ''
    this.rest = undefined
    return after === '' ? undefined : this.writer.write(after)
  }

  /** Drops a client that has been taking nothing for too long. Others of its key that hold up the reply have as long again. */
  drop(): void {
    this.writer.drop()
    this.blockedSince = this.left ? undefined : this.clock.now()
  }

  keepAlive(): void {
    if (this.blockedSince === undefined && !this.left) void this.write(this.aliveBytes)
  }
}
