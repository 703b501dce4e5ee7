import type { Clock } from '../../base/clock.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import type { ReplyPieces } from './reply-pieces.js'

export type Headers = Readonly<Record<string, string>>

/** How a reply goes out: as a stream, or all of it in one body. */
export type ReplyHead =
  | { readonly mode: 'stream'; readonly headers: Headers }
  | { readonly mode: 'whole'; readonly status: number; readonly headers: Headers; readonly body: string }

/** A reply as those who follow it see it. */
export interface FollowedReply {
  /** Undefined until the reply begins. */
  readonly head: ReplyHead | undefined
  readonly pieces: ReplyPieces
  readonly ended: boolean
  /** Nobody is waited for any more. */
  readonly hurrying: boolean
  /** Its headers for one that `joined` while it ran, or began it. */
  headersFor(joined: boolean, headers: Headers): Headers
  /** Told whenever a follower has been sent more, or is over. */
  onProgress(): void
}

export interface FollowerOptions {
  readonly reply: FollowedReply
  readonly writer: ReplyWriter
  readonly joined: boolean
  readonly clock: Clock
  /** How long it may take nothing before it is dropped. */
  readonly clientStallMs: number
  /** It has all of the reply, has left, or cannot be written to: then with the fault. */
  readonly onOver: (fault?: { readonly error: unknown }) => void
}

/** One client of a reply: sent it from its start, at a pace of its own. */
export class Follower {
  /** How many pieces of the reply it has been sent. */
  sent = 0
  private hasHead = false
  private over = false
  /** What it waits for before it takes more, and the end of its patience. */
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

  /** Sends what there is, unless the client still has to take what it was sent. */
  goOn(): void {
    if (this.over || this.isWaiting) return
    const { reply, writer } = this.options
    try {
      this.sendWhatThereIs()
    } catch (error) {
      this.finish({ error })
      // An error cannot be told any more.
      if (this.hasHead) writer.drop()
    }
    reply.onProgress()
  }

  /** Goes on without having waited to the end. */
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
    writer.end('')
    this.finish()
  }

  private sendPieces(): void {
    const { reply, writer } = this.options
    // It may leave while it is written to.
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
