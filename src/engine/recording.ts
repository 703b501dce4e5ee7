import type { ReplyWriter } from '../contracts/reply.js'
import { CompatError } from '../errors.js'
import { errorReply } from '../protocol/error-body.js'

type Headers = Readonly<Record<string, string>>

/** A reply of more bytes than this is not kept; whoever follows it by then still gets all of it. */
const MAX_KEPT_BYTES = 4 * 1_024 * 1_024
const REPLAYED: Headers = Object.freeze({ 'idempotent-replayed': 'true' })

interface Follower {
  readonly writer: ReplyWriter
  readonly replayed: boolean
  /** How many pieces of the reply it has been sent. */
  sent: number
  open: boolean
  waiting: Promise<void> | undefined
  done: () => void
}

/**
 * The reply of a call under an `Idempotency-Key`: every client, the first included, follows it at a pace of its own, and
 * one that comes later gets it from the start.
 */
export class Recording implements ReplyWriter {
  private readonly followers = new Set<Follower>()
  private pieces: string[] = []
  /** How many pieces were dropped from the front, once the reply was too large to keep. */
  private dropped = 0
  private bytes = 0
  private kept = true
  private streamHeaders: Headers | undefined
  private whole: { readonly status: number; readonly headers: Headers; readonly body: string } | undefined
  private ended = false
  private failed = false
  private listener: (() => void) | undefined

  constructor(readonly digest: string) {}

  get left(): boolean {
    return this.followers.size === 0
  }

  /** What may be stored: undefined where the reply was too large, or never came to a whole. */
  get stored(): { mode: 'json' | 'stream'; bytes: string; status: number } | undefined {
    if (!this.ended || !this.kept || this.failed) return undefined
    if (this.whole !== undefined) return { mode: 'json', bytes: this.whole.body, status: this.whole.status }
    return { mode: 'stream', bytes: this.pieces.join(''), status: 200 }
  }

  onLeave(listener: () => void): void {
    this.listener = listener
  }

  /** Follows the reply to its end. Settled when this client has all of it, or has left. */
  follow(writer: ReplyWriter, replayed: boolean): Promise<void> {
    if (!this.kept && !this.ended) {
      throw new CompatError(
        'idempotency_in_flight',
        'A call with this Idempotency-Key is still running, and its reply is too large to be followed.',
      )
    }
    return new Promise((resolve) => {
      const follower: Follower = { writer, replayed, sent: 0, open: false, waiting: undefined, done: resolve }
      this.followers.add(follower)
      writer.onLeave(() => this.leave(follower))
      if (writer.left) this.leave(follower)
      else this.pump(follower)
    })
  }

  send(status: number, headers: Headers, body: string): void {
    this.whole = { status, headers, body }
    this.kept = Buffer.byteLength(body) <= MAX_KEPT_BYTES
    this.end()
  }

  /** Ends the recording with an error that nothing was charged for. */
  fail(error: CompatError): void {
    const { status, headers, body } = errorReply(error)
    this.whole = { status, headers, body }
    this.failed = true
    this.end()
  }

  openStream(headers: Headers): void {
    this.streamHeaders = headers
    this.pumpAll()
  }

  write(bytes: string): void | Promise<void> {
    this.pieces.push(bytes)
    this.bytes += bytes.length
    if (this.bytes > MAX_KEPT_BYTES) this.kept = false
    this.pumpAll()
    if (this.kept) return
    this.dropSent()
    const slow = [...this.followers].flatMap(({ waiting }) => (waiting === undefined ? [] : [waiting]))
    if (slow.length > 0) return Promise.all(slow).then(() => this.dropSent())
  }

  end(): void {
    this.ended = true
    this.pumpAll()
  }

  drop(): void {
    for (const { writer } of [...this.followers]) writer.drop()
  }

  private pumpAll(): void {
    for (const follower of [...this.followers]) this.pump(follower)
  }

  private pump(follower: Follower): void {
    if (follower.waiting !== undefined || !this.followers.has(follower)) return
    const { writer } = follower
    if (this.whole !== undefined) {
      const { status, headers, body } = this.whole
      writer.send(status, this.headersFor(follower, headers), body)
      this.finish(follower)
      return
    }
    if (this.streamHeaders === undefined) return
    if (!follower.open) {
      follower.open = true
      writer.openStream(this.headersFor(follower, this.streamHeaders))
    }
    while (follower.sent < this.dropped + this.pieces.length) {
      const waiting = writer.write(this.pieces[follower.sent - this.dropped]!)
      follower.sent++
      if (waiting === undefined) continue
      follower.waiting = waiting.then(() => {
        follower.waiting = undefined
        this.pump(follower)
        return follower.waiting
      })
      return
    }
    if (this.ended) {
      writer.end()
      this.finish(follower)
    }
  }

  private headersFor(follower: Follower, headers: Headers): Headers {
    return follower.replayed && !this.failed ? { ...headers, ...REPLAYED } : headers
  }

  private finish(follower: Follower): void {
    this.followers.delete(follower)
    follower.done()
  }

  private leave(follower: Follower): void {
    if (!this.followers.has(follower)) return
    this.finish(follower)
    if (this.followers.size === 0 && !this.ended) this.listener?.()
  }

  private dropSent(): void {
    let sent = this.dropped + this.pieces.length
    for (const follower of this.followers) sent = Math.min(sent, follower.sent)
    this.pieces.splice(0, sent - this.dropped)
    this.dropped = sent
  }
}
