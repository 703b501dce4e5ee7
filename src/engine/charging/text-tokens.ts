/**
 * Bounds the number of tokens in a text by the kinds of its characters. No tokenizer runs here. Each byte of UTF-8
 * costs a fraction of a token that depends on the byte before it, so one pass with one look-up per byte is enough.
 *
 * Calibrated on prose of all scripts, code, encodings, tables and noise: none has more tokens in o200k, cl100k or Llama
 * 3 than are counted. English prose and code are counted at no more than 1.6 times their tokens in o200k.
 */

/** Costs are given in this fraction of a token. */
export const COST_PER_TOKEN = 16

/** Letters that often follow a letter in English and in code. Such pairs are mostly inside one token. */
const COMMON_FOLLOWERS: Readonly<Record<string, string>> = {
  a: 'bcdgilmnprstz',
  b: 'ejlou',
  c: 'aeklortu',
  d: 'eios',
  e: 'acdflnrstxy',
  f: 'iou',
  g: 'ehr',
  h: 'aeio',
  i: 'cdefglmnostv',
  k: 'eg',
  l: 'eilosuy',
  m: 'aeiop',
  n: 'cdegost',
  o: 'dfklmnprtuvw',
  p: 'aelorty',
  r: 'aeimnost',
  s: 'ceiostu',
  t: 'ehiorsu',
  u: 'eilmnrst',
  v: 'aeis',
  w: 'ahi',
  x: 'cpt',
  y: 'p',
}
const COMMON_FIRST_LETTERS = 'abcdfimoprstvwy'
const COMMON_LAST_LETTERS = 'deglnrstwy'
/** Long runs of these characters are one token. */
const RULERS = '-=*_#./~'

const COMMON_PAIR = 2
const RARE_PAIR = 11
const COMMON_CAPITALS = 4
const RARE_CAPITALS = 12
const COMMON_EDGE = 4
const RARE_EDGE = 16
const REPEATED_SIGN = 8
const REPEATED_RULER = 2
const SPACE_BEFORE_OTHER = 8
/** The discount for most spaces after two others, since a long run of spaces is few tokens. */
const FURTHER_SPACE = 9

type Kind = 'space' | 'line' | 'tab' | 'digit' | 'upper' | 'lower' | 'sign' | 'other'

/**
 * The cost of an ASCII character by its own kind and the kind of the one before it. `other` means control characters;
 * as the previous kind it also means anything that is not ASCII. Letters after letters and spaces are refined below.
 *
 * A digit is a token of its own in many tokenizers (Llama 2, Qwen, Gemini), though not in OpenAI's.
 */
const COSTS: Readonly<Record<Kind, Readonly<Record<Kind, number>>>> = {
  space: { space: 10, line: 0, tab: 16, digit: 16, upper: 11, lower: 0, sign: 6, other: 16 },
  line: { space: 16, line: 4, tab: 16, digit: 16, upper: 16, lower: 16, sign: 4, other: 16 },
  tab: { space: 16, line: 16, tab: 4, digit: 16, upper: 16, lower: 16, sign: 8, other: 16 },
  digit: { space: 32, line: 16, tab: 16, digit: 16, upper: 16, lower: 16, sign: 16, other: 16 },
  upper: { space: 6, line: 8, tab: 4, digit: 16, upper: 0, lower: 16, sign: 6, other: 16 },
  lower: { space: 0, line: 16, tab: 4, digit: 16, upper: 8, lower: 0, sign: 13, other: 16 },
  sign: { space: 6, line: 4, tab: 4, digit: 16, upper: 16, lower: 8, sign: 14, other: 16 },
  other: { space: 16, line: 16, tab: 16, digit: 16, upper: 16, lower: 16, sign: 16, other: 16 },
}

/**
 * The cost of other characters, from each of these code points on. A byte is at most one token, so two to four tokens
 * are the most. Only the scripts that tokenizers know well cost less.
 */
const SCRIPTS: readonly (readonly [from: number, cost: number])[] = [
  [0x0080, 24], // accented Latin letters
  [0x0100, 32],
  [0x0370, 20], // Greek
  [0x0400, 22], // Cyrillic capitals
  [0x0430, 16], // Cyrillic
  [0x0460, 32],
  [0x05d0, 24], // Hebrew
  [0x05f0, 32],
  [0x0600, 24], // Arabic
  [0x0670, 32],
  [0x0800, 48],
  [0x0900, 24], // Devanagari
  [0x0980, 40], // the other scripts of India
  [0x0e00, 24], // Thai
  [0x0e80, 48],
  [0x2000, 32], // dashes, quotation marks, spaces
  [0x2040, 48],
  [0x2500, 32], // frames and blocks
  [0x25c0, 48],
  [0x3000, 24], // Japanese
  [0x3100, 48],
  [0x4e00, 28], // Chinese
  [0xa000, 48],
  [0xac00, 26], // Korean
  [0xd7c0, 48],
  [0x10000, 64],
]

const BYTES = 256
/** Bytes of characters that are not ASCII start here. The first byte of each character starts at `FIRST_LEAD`. */
const FIRST_OTHER = 0x80
const FIRST_LEAD = 0xc0
const LINE_FEED = 0x0a
const SPACE = 0x20
/** A byte that never occurs in UTF-8. */
const PADDING = 0xff
export const PADDING_BYTES = 3
/** The cost of each byte after each other one: that of `b` after `a` is at `a * 256 + b`. Made at its first use. */
let madePairs: Uint8Array | undefined

/**
 * Returns the cost of the first `length` bytes of UTF-8, in sixteenths of a token. Overwrites {@link PADDING_BYTES}
 * after them: reading four bytes at a time takes three fifths of the time of reading single bytes.
 */
export function costOf(utf8: Uint8Array, length: number): number {
  madePairs ??= bytePairs()
  const pairs = madePairs
  utf8.fill(PADDING, length, length + PADDING_BYTES)
  let cost = 0
  let before = LINE_FEED
  for (let at = 0; at < length; at += 4) {
    const first = utf8[at]!
    const second = utf8[at + 1]!
    const third = utf8[at + 2]!
    const fourth = utf8[at + 3]!
    cost +=
      pairs[(before << 8) | first]! +
      pairs[(first << 8) | second]! +
      pairs[(second << 8) | third]! +
      pairs[(third << 8) | fourth]!
    if (second === SPACE && third === SPACE) {
      if (first === SPACE) cost -= before === SPACE ? 2 * FURTHER_SPACE : FURTHER_SPACE
      if (fourth === SPACE) cost -= FURTHER_SPACE
    }
    before = fourth
  }
  return cost
}

function bytePairs(): Uint8Array {
  const pairs = new Uint8Array(BYTES * BYTES)
  const ascii = Array.from({ length: FIRST_OTHER }, (_, byte) => String.fromCharCode(byte))
  const kinds = ascii.map(kindOf)
  for (let byte = 0; byte < FIRST_OTHER; byte++) {
    const costs = COSTS[kinds[byte]!]
    for (let before = 0; before < FIRST_OTHER; before++) {
      pairs[(before << 8) | byte] =
        letterCost(ascii[before]!, ascii[byte]!, kinds[before]!, kinds[byte]!) ?? costs[kinds[before]!]
    }
    for (let before = FIRST_OTHER; before < BYTES; before++) pairs[(before << 8) | byte] = costs.other
  }
  for (let first = FIRST_LEAD; first < PADDING; first++) {
    pairs[(SPACE << 8) | first] = SPACE_BEFORE_OTHER
    for (let six = 0; six < 64; six++) pairs[(first << 8) | FIRST_OTHER | six] = leadCost(first, six)
  }
  return pairs
}

/** Returns the cost of a character by its first byte and six bits of the second, which identify its script. */
function leadCost(first: number, six: number): number {
  if (first < 0xe0) return scriptCost(((first & 0x1f) << 6) | six)
  if (first < 0xf0) return scriptCost(((first & 0x0f) << 12) | (six << 6))
  return scriptCost(0x10000)
}

function scriptCost(character: number): number {
  let found = 0
  for (const [from, cost] of SCRIPTS) if (character >= from) found = cost
  return found
}

/** Returns the cost if it depends on more than the two kinds. Otherwise undefined. */
function letterCost(before: string, character: string, kindBefore: Kind, kind: Kind): number | undefined {
  if (kind === 'upper' && kindBefore === 'upper') {
    return isCommonPair(before.toLowerCase(), character.toLowerCase()) ? COMMON_CAPITALS : RARE_CAPITALS
  }
  if (kind === 'lower' && kindBefore === 'lower') {
    return isCommonPair(before, character) ? COMMON_PAIR : RARE_PAIR
  }
  if (kind === 'lower' && kindBefore === 'space') {
    return COMMON_FIRST_LETTERS.includes(character) ? COMMON_EDGE : RARE_EDGE
  }
  if (kind === 'space' && kindBefore === 'lower') {
    return COMMON_LAST_LETTERS.includes(before) ? COMMON_EDGE : RARE_EDGE
  }
  if (kind === 'sign' && character === before) {
    return RULERS.includes(character) ? REPEATED_RULER : REPEATED_SIGN
  }
  return undefined
}

function isCommonPair(before: string, letter: string): boolean {
  return COMMON_FOLLOWERS[before]?.includes(letter) === true
}

function kindOf(character: string): Kind {
  if (character === ' ') return 'space'
  if (character === '\n' || character === '\r') return 'line'
  if (character === '\t') return 'tab'
  if (character >= '0' && character <= '9') return 'digit'
  if (character >= 'A' && character <= 'Z') return 'upper'
  if (character >= 'a' && character <= 'z') return 'lower'
  return character > ' ' && character <= '~' ? 'sign' : 'other'
}
