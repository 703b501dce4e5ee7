import type { Clock } from '../../base/clock.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import { NO_BYTES, type WireBytes } from '../../protocol/wire-bytes.js'
import type { ReplyPieces } from './reply-pieces.js'

export type Headers = Readonly<Record<string, string>>

/** How a reply is sent: as a stream, or whole in one body. */
export type ReplyHead =
  | { readonly mode: 'stream'; readonly headers: Headers }
  | { readonly mode: 'whole'; readonly status: number; readonly headers: Headers; readonly body: WireBytes }

/** A reply as its followers see it. */
export interface FollowedReply {
  /** Undefined until the reply begins. */
  readonly head: ReplyHead | undefined
  readonly pieces: ReplyPieces
  readonly ended: boolean
  /** Set once slow followers are no longer waited for. */
  readonly hurrying: boolean
  /** Returns the headers for a follower that began the call, or that `joined` while it ran. */
  headersFor(joined: boolean, headers: Headers): Headers
  /** Called whenever a follower has been sent more, or is finished. */
  onProgress(): void
}

export interface FollowerOptions {
  readonly reply: FollowedReply
  readonly writer: ReplyWriter
  readonly joined: boolean
  readonly clock: Clock
  /** How long a follower may accept nothing before it is dropped. */
  readonly clientStallMs: number
  /**
   * Called when the follower has the whole reply, has left, or cannot be written to. Only the last comes with a fault.
   */
  readonly onOver: (fault?: { readonly error: unknown }) => void
}

/** One client of a reply. It is sent the reply from the start, at its own pace. */
export class Follower {
  /** The number of pieces of the reply that it has been sent. */
  sent = 0
  private hasHead = false
  private over = false
  /** Pending while the client is draining. */
  private waiting: Promise<void> | undefined
  private endStall = (): void => undefined

  constructor(private readonly options: FollowerOptions) {}

  get isWaiting(): boolean {
    return this.waiting !== undefined
  }

  start(): void {
    const { writer } = this.options
    writer.onLeave(() => this.finish())
    if (writer.left) this.finish()
    else this.goOn()
  }

  /** Sends everything recorded so far, unless the client is still draining. */
  goOn(): void {
    if (this.over || this.isWaiting) return
    const { reply, writer } = this.options
    try {
      this.sendWhatThereIs()
    } catch (error) {
      this.finish({ error })
      // It is too late to send an error.
      if (this.hasHead) writer.drop()
    }
    reply.onProgress()
  }

  /** Stops waiting and goes on at once. */
  resume(): void {
    this.stopWaiting()
    this.goOn()
  }

  drop(): void {
    this.options.writer.drop()
    this.finish()
  }

  private sendWhatThereIs(): void {
    const { joined, reply, writer } = this.options
    const { head } = reply
    if (head === undefined) return
    if (head.mode === 'whole') {
      if (this.hasHead) {
        this.drop()
        return
      }
      writer.send(head.status, reply.headersFor(joined, head.headers), head.body)
      this.finish()
      return
    }
    if (!this.hasHead) {
      this.hasHead = true
      writer.openStream(reply.headersFor(joined, head.headers))
    }
    this.sendPieces()
    if (!reply.ended || this.over || this.isWaiting) return
    writer.end(NO_BYTES)
    this.finish()
  }

  private sendPieces(): void {
    const { reply, writer } = this.options
    // The client may leave during a write.
    while (!this.over && this.sent < reply.pieces.count) {
      const { bytes, next } = reply.pieces.batch(this.sent)
      this.sent = next
      const waiting = writer.write(bytes)
      if (waiting === undefined || reply.hurrying || this.over) continue
      this.wait(waiting)
      return
    }
  }

  private wait(waiting: Promise<void>): void {
    const { clientStallMs, clock } = this.options
    this.waiting = waiting
    this.endStall = clock.after(clientStallMs, () => this.drop())
    const goOn = (): void => {
      if (this.waiting === waiting) this.resume()
    }
    waiting.then(goOn, goOn)
  }

  private stopWaiting(): void {
    this.endStall()
    this.waiting = undefined
  }

  private finish(fault?: { readonly error: unknown }): void {
    if (this.over) return
    this.over = true
    this.stopWaiting()
    this.options.onOver(fault)
  }
}
