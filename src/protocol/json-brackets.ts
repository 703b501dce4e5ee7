const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** The brackets of JSON text that comes in pieces. Parsing all of it after each piece would take quadratic time. */
export class JsonBrackets {
  private depth = 0
  private any = false
  private inString = false
  private escaped = false

  /** Whether all brackets are closed and there were some, so that nothing more belongs to the text. */
  get closed(): boolean {
    return this.any && this.depth === 0
  }

  /** Reads until the text is closed, or to the end of the piece. Returns the number of characters read. */
  take(piece: string): number {
    for (let at = 0; at < piece.length; at++) {
      const character = piece.charCodeAt(at)
      if (this.escaped) this.escaped = false
      else if (character === QUOTE) this.inString = !this.inString
      else if (this.inString) this.escaped = character === BACKSLASH
      else if (character === OPENING_BRACE || character === OPENING_BRACKET) {
        this.any = true
        this.depth++
      } else if ((character === CLOSING_BRACE || character === CLOSING_BRACKET) && this.depth > 0) {
        this.depth--
        if (this.closed) return at + 1
      }
    }
    return piece.length
  }
}
