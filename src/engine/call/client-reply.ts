import type { Clock } from '../../base/clock.js'
import type { ReplyWriter } from '../../contracts/reply.js'

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
  write(bytes: string): void | Promise<void> {
    this.openStream()
    const waiting = this.writer.write(bytes)
    this.lastWriteAt = this.clock.now()
    if (waiting === undefined) return
    this.blockedSince = this.lastWriteAt
    return waiting.then(() => {
      this.blockedSince = undefined
    })
  }

  /** The last bytes of the stream. */
  end(bytes: string): void {
    this.openStream()
    this.writer.end(bytes)
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
