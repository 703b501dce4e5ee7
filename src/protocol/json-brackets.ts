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
      const character = piece[at]
      if (this.escaped) this.escaped = false
      else if (character === '"') this.inString = !this.inString
      else if (this.inString) this.escaped = character === '\\'
      else if (character === '{' || character === '[') {
        this.any = true
        this.depth++
      } else if ((character === '}' || character === ']') && this.depth > 0) {
        this.depth--
        if (this.closed) return at + 1
      }
    }
    return piece.length
  }
}
