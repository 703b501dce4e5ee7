import type { Clock } from '../../clock.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import type { CompatError } from '../../errors.js'
import { errorReply } from '../../protocol/error-body.js'
import { replyNotKept } from './idempotency-errors.js'
import type { Reservation } from './recording-budget.js'
import { ReplyPieces } from './reply-pieces.js'

type Headers = Readonly<Record<string, string>>

export interface RecordingOptions {
  readonly digest: string
  readonly clock: Clock
  /** How long a follower may take nothing before it is dropped. */
  readonly clientStallMs: number
  readonly reservation: Reservation
  /** How the call has gone so far, for the events of those who follow it. */
  readonly result: () => RecordedResult
}

/** As in a `request-end` event. */
export interface RecordedResult {
  readonly outcome: string
  readonly status: number
}

interface Follower {
  readonly writer: ReplyWriter
  readonly joined: boolean
  /** How many pieces of the reply it has been sent. */
  sent: number
  open: boolean
  /** What it waits for before it takes more, and the end of its patience. */
  waiting: Promise<void> | undefined
  endStall: () => void
  readonly done: (fault?: { readonly error: unknown }) => void
}

const REPLAYED: Headers = Object.freeze({ 'idempotent-replayed': 'true' })

/**
 * The reply of a call under an `Idempotency-Key`: every client, the first included, follows it at a pace of its own, and
 * one that comes later gets it from the start.
 *
 * Where there is no room to keep it, its bytes stay only until those who follow it already have them.
 */
export class Recording implements ReplyWriter {
  readonly digest: string
  /** The result when the reply ended. */
  result: RecordedResult | undefined
  private readonly followers = new Set<Follower>()
  private readonly pieces: ReplyPieces
  private streamHeaders: Headers | undefined
  private whole: { readonly status: number; readonly headers: Headers; readonly body: string } | undefined
  private ended = false
  private failed = false
  private stored = false
  private retired = false
  private hurrying = false
  private listener: (() => void) | undefined

  constructor(private readonly options: RecordingOptions) {
    this.digest = options.digest
    this.pieces = new ReplyPieces(options.reservation)
  }

  get left(): boolean {
    return this.followers.size === 0
  }

  /** The whole reply, or undefined where it was too large, came to no end, or is an error that nothing was charged for. */
  get reply(): { mode: 'json' | 'stream'; bytes: string; status: number } | undefined {
    if (!this.ended || !this.pieces.kept || this.failed) return undefined
    if (this.whole !== undefined) return { mode: 'json', bytes: this.whole.body, status: this.whole.status }
    return { mode: 'stream', bytes: this.pieces.text, status: 200 }
  }

  /** Whether those who come later are given an answer that was another's. */
  get replays(): boolean {
    return !this.failed
  }

  /** May call back more than once: followers may leave, come, and leave again. */
  onLeave(listener: () => void): void {
    this.listener = listener
  }

  /**
   * Follows the reply to its end. Settled when this client has all of it, or has left; rejects where it cannot be
   * written to. Throws where the reply is no longer there from its start.
   */
  follow(writer: ReplyWriter, joined: boolean): Promise<void> {
    if (!this.pieces.kept) throw replyNotKept()
    return new Promise((resolve, reject) => {
      const follower: Follower = {
        writer,
        joined,
        sent: 0,
        open: false,
        waiting: undefined,
        endStall: () => undefined,
        done: (fault) => (fault === undefined ? resolve() : reject(fault.error)),
      }
      this.followers.add(follower)
      writer.onLeave(() => this.leave(follower))
      if (writer.left) this.leave(follower)
      else this.pump(follower)
    })
  }

  /** What is written from now on was answered, and kept, earlier. */
  replay(): void {
    this.stored = true
    this.pieces.keptElsewhere()
  }

  send(status: number, headers: Headers, body: string): void {
    this.whole = { status, headers, body }
    this.pieces.reserve(Buffer.byteLength(body))
    this.end('')
    if (!this.pieces.kept) this.whole = undefined
  }

  /** Ends the recording with an error that stands for no reply. Who has a part of a stream by now is dropped. */
  fail(error: CompatError): void {
    const { status, headers, body } = errorReply(error)
    this.whole = { status, headers, body }
    this.failed = true
    this.end('')
  }

  openStream(headers: Headers): void {
    this.streamHeaders = headers
    this.pumpAll()
  }

  write(bytes: string): void | Promise<void> {
    this.pieces.push(bytes)
    this.pumpAll()
    this.dropSent()
    return this.pieces.untilRoom()
  }

  end(bytes: string): void {
    if (bytes !== '') this.pieces.push(bytes)
    this.ended = true
    this.result = this.options.result()
    this.pumpAll()
    this.dropSent()
  }

  /** Drops those who hold up all the others. */
  drop(): void {
    const slowest = this.slowest
    for (const follower of [...this.followers]) {
      if (follower.waiting !== undefined && follower.sent === slowest) this.dropFollower(follower)
    }
  }

  /** From now on nobody is waited for: what there is goes out at once. */
  hurry(): void {
    this.hurrying = true
    for (const follower of [...this.followers]) this.resume(follower)
  }

  /** Nobody comes any more. Where the reply came to no end, who waits for it is dropped. */
  retire(): void {
    this.retired = true
    if (!this.ended) for (const follower of [...this.followers]) this.dropFollower(follower)
    this.freeIfOver()
  }

  private pumpAll(): void {
    for (const follower of [...this.followers]) if (follower.waiting === undefined) this.pump(follower)
  }

  private pump(follower: Follower): void {
    try {
      this.sendWhatThereIs(follower)
    } catch (error) {
      this.finish(follower, { error })
      // An error cannot be told any more.
      if (follower.open) follower.writer.drop()
    }
    this.dropSent()
  }

  private sendWhatThereIs(follower: Follower): void {
    const { writer } = follower
    if (this.whole !== undefined) {
      if (follower.open) {
        this.dropFollower(follower)
        return
      }
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
    while (this.followers.has(follower) && follower.sent < this.pieces.count) {
      const { bytes, next } = this.pieces.batch(follower.sent)
      follower.sent = next
      const waiting = writer.write(bytes)
      if (waiting === undefined || this.hurrying || !this.followers.has(follower)) continue
      this.wait(follower, waiting)
      return
    }
    if (this.ended && this.followers.has(follower)) {
      writer.end('')
      this.finish(follower)
    }
  }

  private wait(follower: Follower, waiting: Promise<void>): void {
    const { clientStallMs, clock } = this.options
    follower.waiting = waiting
    follower.endStall = clock.after(clientStallMs, () => this.dropFollower(follower))
    const goOn = (): void => {
      if (follower.waiting === waiting) this.resume(follower)
    }
    waiting.then(goOn, goOn)
  }

  private resume(follower: Follower): void {
    follower.endStall()
    follower.waiting = undefined
    if (this.followers.has(follower)) this.pump(follower)
  }

  private headersFor({ joined }: Follower, headers: Headers): Headers {
    return (joined || this.stored) && !this.failed ? { ...headers, ...REPLAYED } : headers
  }

  private dropFollower(follower: Follower): void {
    follower.writer.drop()
    this.leave(follower)
  }

  private leave(follower: Follower): void {
    if (!this.followers.has(follower)) return
    this.finish(follower)
    this.dropSent()
    if (this.followers.size === 0 && !this.ended) this.listener?.()
  }

  private finish(follower: Follower, fault?: { readonly error: unknown }): void {
    follower.endStall()
    follower.waiting = undefined
    this.followers.delete(follower)
    follower.done(fault)
    this.freeIfOver()
  }

  private freeIfOver(): void {
    if (this.retired && this.followers.size === 0) this.pieces.free()
  }

  private get slowest(): number {
    let sent = this.pieces.count
    for (const follower of this.followers) sent = Math.min(sent, follower.sent)
    return sent
  }

  private dropSent(): void {
    if (!this.pieces.kept) this.pieces.dropBefore(this.slowest)
  }
}
