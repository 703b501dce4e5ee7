import type { Clock } from '../../clock.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import type { CompatError } from '../../errors.js'
import { errorReply } from '../../protocol/error-body.js'
import { replyNotKept } from './idempotency-errors.js'
import { KEPT_ELSEWHERE, type Reservation } from './recording-budget.js'

type Headers = Readonly<Record<string, string>>

export interface RecordingOptions {
  readonly digest: string
  readonly clock: Clock
  /** How long a follower may take nothing before it is dropped. */
  readonly clientStallMs: number
  readonly reservation: Reservation
  /** How the call has gone so far, for the events of those who follow it. */
  readonly result: () => CallResult
}

/** As in a `request-end` event. */
export interface CallResult {
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

/** Pieces are put together up to about this length for one who has to catch up. */
const BATCH_BYTES = 64 * 1_024
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
  result: CallResult | undefined
  private reservation: Reservation
  private readonly followers = new Set<Follower>()
  private readonly pieces: string[] = []
  /** How many pieces were dropped from the front. */
  private dropped = 0
  private retainedBytes = 0
  private kept = true
  /** What may wait for slow followers once the reply is not kept. */
  private mostRetainedBytes = 0
  private room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined
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
    this.reservation = options.reservation
  }

  get left(): boolean {
    return this.followers.size === 0
  }

  /** The whole reply, or undefined where it was too large, came to no end, or is an error that nothing was charged for. */
  get reply(): { mode: 'json' | 'stream'; bytes: string; status: number } | undefined {
    if (!this.ended || !this.kept || this.failed) return undefined
    if (this.whole !== undefined) return { mode: 'json', bytes: this.whole.body, status: this.whole.status }
    return { mode: 'stream', bytes: this.pieces.join(''), status: 200 }
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
    if (!this.kept) throw replyNotKept()
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
    this.reservation = KEPT_ELSEWHERE
  }

  send(status: number, headers: Headers, body: string): void {
    this.whole = { status, headers, body }
    this.kept = this.reservation.grow(Buffer.byteLength(body))
    this.end()
    if (!this.kept) this.whole = undefined
  }

  /** Ends the recording with an error that stands for no reply. */
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
    if (this.kept && !this.reservation.grow(bytes.length)) {
      this.kept = false
      this.mostRetainedBytes = this.retainedBytes
    }
    this.pieces.push(bytes)
    this.retainedBytes += bytes.length
    this.pumpAll()
    this.dropSent()
    if (this.hasRoom) return
    this.room ??= createRoom()
    return this.room.promise
  }

  end(): void {
    this.ended = true
    this.result = this.options.result()
    this.pumpAll()
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

  /** Nobody comes any more. */
  retire(): void {
    this.retired = true
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
    }
    this.dropSent()
  }

  private sendWhatThereIs(follower: Follower): void {
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
    while (this.followers.has(follower) && follower.sent < this.dropped + this.pieces.length) {
      const waiting = writer.write(this.takeBatch(follower))
      if (waiting === undefined || this.hurrying || !this.followers.has(follower)) continue
      this.wait(follower, waiting)
      return
    }
    if (this.ended && this.followers.has(follower)) {
      writer.end()
      this.finish(follower)
    }
  }

  private takeBatch(follower: Follower): string {
    let batch = ''
    do {
      batch += this.pieces[follower.sent - this.dropped]!
      follower.sent++
    } while (follower.sent < this.dropped + this.pieces.length && batch.length < BATCH_BYTES)
    return batch
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
    if (this.retired && this.followers.size === 0) this.reservation.free()
  }

  private get slowest(): number {
    let sent = this.dropped + this.pieces.length
    for (const follower of this.followers) sent = Math.min(sent, follower.sent)
    return sent
  }

  private get hasRoom(): boolean {
    return this.kept || this.retainedBytes <= this.mostRetainedBytes
  }

  private dropSent(): void {
    if (this.kept) return
    const { slowest } = this
    for (const piece of this.pieces.splice(0, slowest - this.dropped)) this.retainedBytes -= piece.length
    this.dropped = slowest
    if (!this.hasRoom) return
    this.room?.resolve()
    this.room = undefined
  }
}

function createRoom(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
