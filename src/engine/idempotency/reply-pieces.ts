import { joined, NO_BYTES, plus, type WireBytes } from '../../protocol/wire-bytes.js'
import { KEPT_ELSEWHERE, type Reservation } from './recording-budget.js'

/** Pieces are joined up to about this length for a follower that catches up. */
const BATCH_BYTES = 64 * 1_024

/**
 * The bytes of a streamed reply, in the pieces in which they arrived. All pieces are kept while there is room. After
 * that, a piece stays only until every follower has it.
 */
export class ReplyPieces {
  private readonly pieces: WireBytes[] = []
  /** The number of pieces dropped from the front. */
  private dropped = 0
  private retainedBytes = 0
  private isKept = true
  /** The most bytes that may wait for slow followers once the reply is not kept. */
  private mostRetainedBytes = 0
  private room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  constructor(private reservation: Reservation) {}

  /** Whether the reply is still complete from its start. */
  get kept(): boolean {
    return this.isKept
  }

  /** The number of pieces that have arrived. */
  get count(): number {
    return this.dropped + this.pieces.length
  }

  get bytes(): WireBytes {
    return joined(this.pieces)
  }

  /** Marks what follows as kept elsewhere, so that it takes no room here. */
  keptElsewhere(): void {
    this.reservation = KEPT_ELSEWHERE
  }

  /** Reserves room for this many more bytes. Without room, stops keeping the reply. */
  reserve(bytes: number): void {
    if (!this.isKept || this.reservation.grow(bytes)) return
    this.isKept = false
    this.mostRetainedBytes = this.retainedBytes
  }

  push(bytes: WireBytes): void {
    this.reserve(bytes.length)
    this.pieces.push(bytes)
    this.retainedBytes += bytes.length
  }

  /** Returns some pieces from a position on, and the position after them. */
  batch(from: number): { readonly bytes: WireBytes; readonly next: number } {
    let bytes = NO_BYTES
    let next = from
    do {
      bytes = plus(bytes, this.pieces[next - this.dropped]!)
      next++
    } while (next < this.count && bytes.length < BATCH_BYTES)
    return { bytes, next }
  }

  /** Drops the pieces before this position, which every follower has. */
  dropBefore(position: number): void {
    if (this.isKept) return
    for (const piece of this.pieces.splice(0, position - this.dropped)) this.retainedBytes -= piece.length
    this.dropped = position
    if (!this.hasRoom) return
    this.room?.resolve()
    this.room = undefined
  }

  /** Settles when there is room for more. Undefined if there is room now. */
  untilRoom(): Promise<void> | undefined {
    if (this.hasRoom) return undefined
    this.room ??= createRoom()
    return this.room.promise
  }

  /** Releases the reserved room. */
  free(): void {
    this.reservation.free()
  }

  private get hasRoom(): boolean {
    return this.isKept || this.retainedBytes <= this.mostRetainedBytes
  }
}

function createRoom(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
