import type { Clock } from '../../base/clock.js'
import type { ReplyBytes, ReplyWriter } from '../../contracts/reply.js'
import { joined, NO_BYTES, plus, type WireBytes, wire } from '../../protocol/wire-bytes.js'

/** Sent with every charged reply, so that client libraries do not retry it on their own. */
const STREAM_HEADERS = Object.freeze({ 'x-should-retry': 'false' })
const KEEP_ALIVE = wire(': keep-alive\n\n')

/**
 * The client's side of a streamed reply: whether it is open, whether the client is still connected, and whether it can
 * take more.
 */
export class ClientReply {
  /** Whether the head of the stream is sent, or would be if the client had stayed. */
  open = false
  /** When the client last received something. */
  lastWriteAt: number
  /** When the client stopped reading. Undefined while it reads. */
  blockedSince: number | undefined
  private headers: Readonly<Record<string, string>> = STREAM_HEADERS
  /** The bytes that wait for a slow client: pieces still to be written, and the bytes that follow them. */
  private rest: { readonly pieces: Iterator<WireBytes>; after: WireBytes; sent: Promise<void> } | undefined

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

  /** Adds headers to the head of the stream, which must not be sent yet. */
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

  /** Sends the last bytes of the stream. Returns what {@link ReplyWriter.end} returns. */
  end(bytes: ReplyBytes): void | Promise<void> {
    this.openStream()
    const { rest } = this
    if (rest !== undefined) {
      // Nobody monitors the client from here on, so the pieces must not wait for it.
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
      rest.after = plus(rest.after, typeof bytes === 'string' ? bytes : joined([...bytes]))
      return rest.sent
    }
    if (typeof bytes === 'string') return writer.write(bytes)
    const pieces = bytes[Symbol.iterator]()
    const sent = this.writePieces(pieces)
    if (sent !== undefined) this.rest = { pieces, after: NO_BYTES, sent }
    return sent
  }

  /** Writes pieces while the client accepts them, and then waits for the client. */
  private writePieces(pieces: Iterator<WireBytes>): void | Promise<void> {
    for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
      const waiting = this.writer.write(next.value)
      if (waiting !== undefined) return waiting.then(() => this.writePieces(pieces))
    }
    const after = this.rest?.after ?? NO_BYTES
    this.rest = undefined
    return after === '' ? undefined : this.writer.write(after)
  }

  /**
   * Drops a client that has read nothing for too long. Other clients with the same key that hold up the reply then have
   * as long again.
   */
  drop(): void {
    this.writer.drop()
    this.blockedSince = this.left ? undefined : this.clock.now()
  }

  keepAlive(): void {
    if (this.blockedSince === undefined && !this.left) void this.write(this.aliveBytes)
  }
}
