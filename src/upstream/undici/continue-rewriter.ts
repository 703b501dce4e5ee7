const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const ZERO = 0x30
const ONE = 0x31
const TWO = 0x32
/** Its position in `HTTP/1.1 100 Continue`. */
const FIRST_DIGIT = 9
const LAST_DIGIT = 11

/**
 * Turns each `100 Continue` before a reply into a `102 Processing`. The request asked for neither. undici (7 and 8)
 * treats the first as a broken reply, but skips the second.
 */
export class ContinueRewriter {
  /** The position in a status line. Undefined in the other lines of an interim reply's head. */
  private place: number | undefined = 0
  private isZeroBefore = false
  private isLineEmpty = false
  private isDone = true

  /** A request starts, so a reply may follow. */
  begin(): void {
    this.place = 0
    this.isDone = false
  }

  /** Rewrites the received bytes in place, however they are cut. */
  rewrite(bytes: Buffer): void {
    for (let index = 0; index < bytes.length && !this.isDone; index++) {
      const byte = bytes[index]!
      if (this.place === undefined) this.skip(byte)
      else this.rewriteStatus(bytes, index, byte, this.place)
    }
  }

  private rewriteStatus(bytes: Buffer, index: number, byte: number, place: number): void {
    if (place === 0 && (byte === CARRIAGE_RETURN || byte === LINE_FEED)) return
    if (place === FIRST_DIGIT && byte !== ONE) {
      this.isDone = true
      return
    }
    if (place < LAST_DIGIT) {
      this.isZeroBefore = byte === ZERO
      this.place = place + 1
      return
    }
    if (this.isZeroBefore && byte === ZERO) bytes[index] = TWO
    this.place = undefined
    this.isLineEmpty = false
  }

  /** An empty line ends the head, and another reply follows. */
  private skip(byte: number): void {
    if (byte === CARRIAGE_RETURN) return
    if (byte !== LINE_FEED) this.isLineEmpty = false
    else if (this.isLineEmpty) this.place = 0
    else this.isLineEmpty = true
  }
}
