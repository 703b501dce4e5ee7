const QUOTE = 0x22
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
    /** The next ones of a string. Each is searched only beyond the last one, so that this takes linear time. */
    let quote = -1
    let backslash = -1
    for (let at = 0; at < piece.length; at++) {
      if (this.escaped) {
        this.escaped = false
        continue
      }
      if (this.inString) {
        if (quote < at) quote = positionOf('"', piece, at)
        if (backslash < at) backslash = positionOf('\\', piece, at)
        at = Math.min(quote, backslash)
        if (backslash < quote) this.escaped = true
        else this.inString = quote === piece.length
        continue
      }
      const character = piece.charCodeAt(at)
      if (character === QUOTE) this.inString = true
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

/** Returns the length of the text if there is none. */
function positionOf(character: string, text: string, from: number): number {
  const found = text.indexOf(character, from)
  return found < 0 ? text.length : found
}
