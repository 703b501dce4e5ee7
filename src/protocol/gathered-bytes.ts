const RECENT_PIECES = 256

/**
 * Bytes that come in pieces. They are copied together on the way: a piece of one byte takes the memory of a hundred, and
 * keeps the whole read that it came in.
 */
export class GatheredBytes {
  readonly #together: Buffer[] = []
  #recent: Buffer[] = []

  add(piece: Buffer): void {
    if (this.#recent.push(piece) < RECENT_PIECES) return
    this.#together.push(Buffer.concat(this.#recent))
    this.#recent = []
  }

  /** All bytes so far, themselves if they came in one piece. */
  get bytes(): Buffer {
    const pieces = this.#together.length === 0 ? this.#recent : [...this.#together, ...this.#recent]
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }
}
