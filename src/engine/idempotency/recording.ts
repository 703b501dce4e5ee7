import type { Clock } from '../../clock.js'
import type { ReplyWriter } from '../../contracts/reply.js'
import type { CompatError } from '../../errors.js'
import { errorReply } from '../../protocol/error-body.js'
import { fromLatin1 } from '../../protocol/latin1.js'
import { replyNotKept } from '../failures/claims.js'
import { type FollowedReply, Follower, type Headers, type ReplyHead } from './follower.js'
import type { Reservation } from './recording-budget.js'
import { ReplyPieces } from './reply-pieces.js'

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

const REPLAYED: Headers = Object.freeze({ 'idempotent-replayed': 'true' })

/**
 * The reply of a call under an `Idempotency-Key`: every client, the first included, follows it at a pace of its own, and
 * one that comes later gets it from the start.
 *
 * Where there is no room to keep it, its bytes stay only until those who follow it already have them.
 */
export class Recording implements ReplyWriter, FollowedReply {
  readonly digest: string
  readonly pieces: ReplyPieces
  head: ReplyHead | undefined
  /** The result when the reply ended; until then there is none. */
  result: RecordedResult | undefined
  hurrying = false
  private readonly followers = new Set<Follower>()
  /** It was answered, and kept, earlier. */
  private stored = false
  /** It ended with an error that stands for no reply. */
  private failed = false
  /** Nobody comes any more. */
  private retired = false
  private listener: (() => void) | undefined

  constructor(private readonly options: RecordingOptions) {
    this.digest = options.digest
    this.pieces = new ReplyPieces(options.reservation)
  }

  get left(): boolean {
    return this.followers.size === 0
  }

  get ended(): boolean {
    return this.result !== undefined
  }

  /** The whole reply, or undefined where it was too large, came to no end, or is an error that nothing was charged for. */
  get reply(): { mode: 'json' | 'stream'; bytes: string; status: number } | undefined {
    const { head, pieces } = this
    if (!this.ended || !pieces.kept || this.failed) return undefined
    if (head?.mode === 'whole') return { mode: 'json', bytes: fromLatin1(head.body), status: head.status }
    return { mode: 'stream', bytes: fromLatin1(pieces.text), status: 200 }
  }

  /** Whether those who come later are given an answer that was another's. */
  get replays(): boolean {
    return !this.failed
  }

  headersFor(joined: boolean, headers: Headers): Headers {
    return (joined || this.stored) && !this.failed ? { ...headers, ...REPLAYED } : headers
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

  /** What is written from now on was answered, and kept, earlier. */
  replay(): void {
    this.stored = true
    this.pieces.keptElsewhere()
  }

  send(status: number, headers: Headers, bytes: string): void {
    this.head = { mode: 'whole', status, headers, body: bytes }
    this.pieces.reserve(bytes.length)
    this.end('')
    if (!this.pieces.kept) this.head = undefined
  }

  /** Ends the recording with an error that stands for no reply. Who has a part of a stream by now is dropped. */
  fail(error: CompatError): void {
    this.failed = true
    this.head = { mode: 'whole', ...errorReply(error) }
    this.end('')
  }

  openStream(headers: Headers): void {
    this.head = { mode: 'stream', headers }
    this.tellFollowers()
  }

  write(bytes: string): void | Promise<void> {
    this.pieces.push(bytes)
    this.tellFollowers()
    return this.pieces.untilRoom()
  }

  end(bytes: string): void {
    if (bytes !== '') this.pieces.push(bytes)
    this.result = this.options.result()
    this.tellFollowers()
  }

  /** Drops those who hold up all the others. */
  drop(): void {
    const slowest = this.slowest
    for (const follower of [...this.followers]) {
      if (follower.isWaiting && follower.sent === slowest) follower.drop()
    }
  }

  /** From now on nobody is waited for: what there is goes out at once. */
  hurry(): void {
    this.hurrying = true
    for (const follower of [...this.followers]) follower.resume()
  }

  /** Nobody comes any more. Where the reply came to no end, who waits for it is dropped. */
  retire(): void {
    this.retired = true
    if (!this.ended) for (const follower of [...this.followers]) follower.drop()
    this.freeIfOver()
  }

  /** What everybody has by now need not stay. */
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
