import { KEPT_ELSEWHERE, type Reservation } from './recording-budget.js'

/** Pieces are put together up to about this length for one who has to catch up. */
const BATCH_BYTES = 64 * 1_024

/**
 * The bytes of a streamed reply, in the pieces that they came in. They are kept from the start for as long as there is
 * room; from then on a piece stays only until all who follow the reply have it.
 */
export class ReplyPieces {
  private readonly pieces: string[] = []
  /** How many pieces were dropped from the front. */
  private dropped = 0
  private retainedBytes = 0
  private isKept = true
  /** What may wait for slow followers once the reply is not kept. */
  private mostRetainedBytes = 0
  private room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  constructor(private reservation: Reservation) {}

  /** Whether all of it is there from the start. */
  get kept(): boolean {
    return this.isKept
  }

  /** How many pieces have come. */
  get count(): number {
    return this.dropped + this.pieces.length
  }

  get text(): string {
    return this.pieces.join('')
  }

  /** What comes from now on is kept elsewhere already, and takes no room here. */
  keptElsewhere(): void {
    this.reservation = KEPT_ELSEWHERE
  }

  /** Takes room for so many more bytes, or ceases to keep what came. */
  reserve(bytes: number): void {
    if (!this.isKept || this.reservation.grow(bytes)) return
    this.isKept = false
    this.mostRetainedBytes = this.retainedBytes
  }

  push(bytes: string): void {
    this.reserve(bytes.length)
    this.pieces.push(bytes)
    this.retainedBytes += bytes.length
  }

  /** Some pieces from a position on, and the position after them. */
  batch(from: number): { readonly bytes: string; readonly next: number } {
    let bytes = ''
    let next = from
    do {
      bytes += this.pieces[next - this.dropped]!
      next++
    } while (next < this.count && bytes.length < BATCH_BYTES)
    return { bytes, next }
  }

  /** Everybody has what came before this position. */
  dropBefore(position: number): void {
    if (this.isKept) return
    for (const piece of this.pieces.splice(0, position - this.dropped)) this.retainedBytes -= piece.length
    this.dropped = position
    if (!this.hasRoom) return
    this.room?.resolve()
    this.room = undefined
  }

  /** Settled when more can be taken; undefined if it can be at once. */
  untilRoom(): Promise<void> | undefined {
    if (this.hasRoom) return undefined
    this.room ??= createRoom()
    return this.room.promise
  }

  /** Gives back the room that it takes. */
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
