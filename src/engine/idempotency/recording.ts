import type { Clock } from '../../base/clock.js'
import type { CompatError } from '../../base/errors.js'
import type { ReplyBytes, ReplyWriter, WholeReply } from '../../contracts/reply.js'
import { type ErrorStyle, errorReply } from '../../protocol/error-body.js'
import { fromWire, joined, NO_BYTES, type WireBytes } from '../../protocol/wire-bytes.js'
import { replyNotKept } from '../failures/claims.js'
import { type FollowedReply, Follower, type Headers, type ReplyHead } from './follower.js'
import type { Reservation } from './recording-budget.js'
import { ReplyPieces } from './reply-pieces.js'

export interface RecordingOptions {
  readonly digest: string
  readonly errors: ErrorStyle
  readonly clock: Clock
  /** How long a follower may accept nothing before it is dropped. */
  readonly clientStallMs: number
  readonly reservation: Reservation
  /** Returns how the call has gone so far, for the events of its followers. */
  readonly result: () => RecordedResult
}

/** The same fields as in a `request-end` event. */
export interface RecordedResult {
  readonly outcome: string
  readonly status: number
}

const REPLAYED: Headers = Object.freeze({ 'idempotent-replayed': 'true' })

/**
 * The reply of a call with an `Idempotency-Key`. Every client, including the first, follows it at its own pace. A later
 * client gets it from the start.
 *
 * If there is no room to keep the reply, its bytes stay only until the current followers have them.
 */
export class Recording implements ReplyWriter, FollowedReply {
  readonly digest: string
  readonly errors: ErrorStyle
  readonly pieces: ReplyPieces
  head: ReplyHead | undefined
  /** The result, once the reply has ended. */
  result: RecordedResult | undefined
  hurrying = false
  private readonly followers = new Set<Follower>()
  /** Whether the reply was recorded earlier. */
  private stored = false
  /** Whether it ended with an error that must not be replayed. */
  private failed = false
  /** Whether it accepts no new followers. */
  private retired = false
  private listener: (() => void) | undefined

  constructor(private readonly options: RecordingOptions) {
    this.digest = options.digest
    this.errors = options.errors
    this.pieces = new ReplyPieces(options.reservation)
  }

  get left(): boolean {
    return this.followers.size === 0
  }

  get ended(): boolean {
    return this.result !== undefined
  }

  /** The whole reply. Undefined if it was too large, did not end, or is an error without a charge. */
  get reply(): { mode: 'json' | 'stream'; bytes: string; status: number } | undefined {
    const { head, pieces } = this
    if (!this.ended || !pieces.kept || this.failed) return undefined
    if (head?.mode === 'whole') return { mode: 'json', bytes: fromWire(head.body), status: head.status }
    return { mode: 'stream', bytes: fromWire(pieces.bytes), status: 200 }
  }

  /** Whether later clients get a reply that was recorded for an earlier one. */
  get replays(): boolean {
    return !this.failed
  }

  headersFor(joined: boolean, headers: Headers): Headers {
    return (joined || this.stored) && !this.failed ? { ...headers, ...REPLAYED } : headers
  }

  /** Calls back when the last follower leaves an unfinished reply. This can happen more than once, since others may join. */
  onLeave(listener: () => void): void {
    this.listener = listener
  }

  /**
   * Follows the reply to its end. Settles when this client has the whole reply or has left. Rejects if writing to the
   * client fails. Throws if the start of the reply is no longer kept.
   */
  follow(writer: ReplyWriter, joined: boolean): Promise<void> {
    if (!this.pieces.kept) throw replyNotKept()
    const { clientStallMs, clock } = this.options
    return new Promise((resolve, reject) => {
      const onOver = (fault?: { readonly error: unknown }): void => {
        this.remove(follower)
        if (fault === undefined) resolve()
        else reject(fault.error)
      }
      const follower = new Follower({ reply: this, writer, joined, clock, clientStallMs, onOver })
      this.followers.add(follower)
      follower.start()
    })
  }

  /** Marks the reply as a replay of an earlier one from now on. */
  replay(): void {
    this.stored = true
    this.pieces.keptElsewhere()
  }

  send(status: number, headers: Headers, bytes: WholeReply): void {
    const body = typeof bytes === 'string' ? bytes : joined(bytes)
    this.head = { mode: 'whole', status, headers, body }
    this.pieces.reserve(body.length)
    this.end(NO_BYTES)
    if (!this.pieces.kept) this.head = undefined
  }

  /** Ends the recording with an error that must not be replayed. Drops followers that already have part of a stream. */
  fail(error: CompatError): void {
    this.failed = true
    this.head = { mode: 'whole', ...errorReply(error, this.errors) }
    this.end(NO_BYTES)
  }

  openStream(headers: Headers): void {
    this.head = { mode: 'stream', headers }
    this.tellFollowers()
  }

  write(bytes: WireBytes): void | Promise<void> {
    this.pieces.push(bytes)
    this.tellFollowers()
    return this.pieces.untilRoom()
  }

  end(bytes: ReplyBytes): void {
    for (const piece of typeof bytes === 'string' ? [bytes] : bytes) if (piece !== '') this.pieces.push(piece)
    this.result = this.options.result()
    this.tellFollowers()
  }

  /** Drops the followers that hold up all the others. */
  drop(): void {
    const slowest = this.slowest
    for (const follower of [...this.followers]) {
      if (follower.isWaiting && follower.sent === slowest) follower.drop()
    }
  }

  /** Stops waiting for slow followers and sends everything at once. */
  hurry(): void {
    this.hurrying = true
    for (const follower of [...this.followers]) follower.resume()
  }

  /** Accepts no new followers. If the reply has not ended, drops its current followers. */
  retire(): void {
    this.retired = true
    if (!this.ended) for (const follower of [...this.followers]) follower.drop()
    this.freeIfOver()
  }

  /** Frees the pieces that every follower has received. */
  onProgress(): void {
    if (!this.pieces.kept) this.pieces.dropBefore(this.slowest)
  }

  private tellFollowers(): void {
    for (const follower of [...this.followers]) follower.goOn()
    this.onProgress()
  }

  private remove(follower: Follower): void {
    this.followers.delete(follower)
    this.freeIfOver()
    this.onProgress()
    if (this.left && !this.ended) this.listener?.()
  }

  private freeIfOver(): void {
    if (this.retired && this.left) this.pieces.free()
  }

  private get slowest(): number {
    let sent = this.pieces.count
    for (const follower of this.followers) sent = Math.min(sent, follower.sent)
    return sent
  }
}
