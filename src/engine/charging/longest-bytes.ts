/** From here on, no character has a normal form other than itself, and each takes four bytes of UTF-8. */
const FIRST_UNCHANGED = 0x30000
const FIRST_OF_FOUR_BYTES = 0x10000
const BYTES_OF_LONE_SURROGATE = 3
const BITS = 7
const BYTES_MASK = (1 << BITS) - 1
const MARK_FLAG = 1 << (2 * BITS)
/** Includes the few letters that become marks, such as half-width voicing marks. */
const MARK = /^\p{M}/u

/**
 * Counts the bytes of a text in UTF-8, or in NFKC if that is longer, since tokenizers may normalise a text first. Takes
 * linear time, while `normalize` takes quadratic time for a run of marks.
 *
 * Normalising reorders marks, and a mark may replace one that was part of the character before it. So marks, and
 * characters before marks, count as fully decomposed: no normal form is longer.
 */
export class LongestBytes {
  /**
   * For each character seen so far: its bytes, its additional bytes before a mark, and whether it is a mark. Node's own
   * data fill the table, so it fits any version of Unicode.
   */
  private readonly known = new Uint16Array(FIRST_UNCHANGED)

  of(text: string): number {
    const { known } = this
    let bytes = 0
    let moreBeforeMark = 0
    for (let at = 0; at < text.length; at++) {
      let entry = known[text.charCodeAt(at)]!
      if (entry === 0) {
        const code = text.codePointAt(at)!
        if (code >= FIRST_OF_FOUR_BYTES) at++
        entry = code < FIRST_UNCHANGED ? known[code]! || this.learn(code) : 4
      }
      if (entry <= BYTES_MASK) {
        bytes += entry
        moreBeforeMark = 0
      } else {
        bytes += entry & BYTES_MASK
        if ((entry & MARK_FLAG) !== 0) bytes += moreBeforeMark
        moreBeforeMark = (entry >> BITS) & BYTES_MASK
      }
    }
    // A chat template may put a mark after the text.
    return bytes + moreBeforeMark
  }

  private learn(code: number): number {
    // Half of a pair must not be remembered, or a pair would be read as two characters.
    if (isSurrogate(code)) return BYTES_OF_LONE_SURROGATE
    const character = String.fromCodePoint(code)
    const decomposed = character.normalize('NFKD')
    const utf8 = Buffer.byteLength(character)
    const beforeMark = Math.max(utf8, Buffer.byteLength(decomposed))
    const isMark = MARK.test(decomposed)
    const bytes = isMark ? beforeMark : Math.max(utf8, Buffer.byteLength(character.normalize('NFKC')))
    const entry = bytes | ((beforeMark - bytes) << BITS) | (isMark ? MARK_FLAG : 0)
    this.known[code] = entry
    return entry
  }
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}
