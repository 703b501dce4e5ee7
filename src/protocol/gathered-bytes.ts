const RECENT_PIECES = 256

/**
 * Collects bytes that arrive in pieces, and joins them from time to time. A one-byte piece takes the memory of a
 * hundred bytes, and keeps the whole network read that contains it alive.
 */
export class GatheredBytes {
  private together: Buffer[] = []
  private recent: Buffer[] = []
  /** How many bytes there are. */
  length = 0

  add(piece: Buffer): void {
    this.length += piece.length
    if (this.recent.push(piece) < RECENT_PIECES) return
    this.together.push(Buffer.concat(this.recent))
    this.recent = []
  }

  /** All bytes so far. They are not copied if they arrived in one piece. Otherwise the pieces are released. */
  get bytes(): Buffer {
    const pieces = this.together.length === 0 ? this.recent : [...this.together, ...this.recent]
    if (pieces.length === 1) return pieces[0]!
    const joined = Buffer.concat(pieces)
    this.together = [joined]
    this.recent = []
    return joined
  }
}
