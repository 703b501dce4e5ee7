/** A shorter key is a placeholder (`none`, `EMPTY`, `x`) for a provider that needs no key. */
const SHORTEST_SECRET = 8
const SHORTEST_RUN = 8
/** The fraction of a secret that must not be shown. */
const SHARE = 5
const MAX_DECODINGS = 3

const NOT_LETTER_OR_DIGIT = /[^\p{L}\p{N}]+/gu
const BLANK = /[\s\p{C}]+/gu
/** Invisible copies of ASCII. */
const TAG = /[\u{e0020}-\u{e007e}]/gu
const TAGS_START = 0xe0000
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu
const MARK = /\p{M}+/gu
/** Runs of percent escapes, then escapes by number: `\u0041`, `\x41`, `\u{41}`, `&#x41;`, `&#65;`, then blanks: `\n`. */
const ESCAPE =
  /((?:%[0-9a-f]{2})+)|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|(?:\\u\{|&#x)([0-9a-f]{1,6})[};]|&#(\d{1,7});|\\[nrtbf]/g
const LAST_CODE_POINT = 0x10ffff

/** Whether a key is long enough to be secret. */
export function isSecret(key: string): boolean {
  return key.length >= SHORTEST_SECRET
}

/**
 * Whether a text reveals one of these secrets: a run of 8 of its characters, or of a fifth of it if that is longer. The
 * run is also found if it is spaced out, split by punctuation or invisible characters, in another case or width,
 * escaped up to three times, or encoded as base64 or hex. A secret that itself contains an escape, such as `%41`, may
 * be missed if the text escapes it again.
 *
 * Takes time linear in the text, times the length of a secret.
 */
export function holdsSecret(text: string, secrets: readonly string[]): boolean {
  const spellings = secrets.filter(isSecret).flatMap(spellingsOf)
  if (spellings.length === 0) return false
  const readings = readingsOf(text)
  return spellings.some((spelling) => readings.some((reading) => sharesRun(reading, spelling)))
}

function spellingsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  // Inside a longer encoded text, a secret may begin at any of the three positions of a group.
  const encoded = [0, 1, 2].map((shift) => Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64'))
  return [secret, ...encoded, bytes.toString('hex')].map(fold)
}

/** Returns the text, and its versions after each of several passes that decode escapes. */
function readingsOf(text: string): readonly string[] {
  const readings = [fold(text)]
  for (let decodings = 0; decodings < MAX_DECODINGS; decodings++) {
    const last = readings.at(-1)!
    const next = fold(last.replace(ESCAPE, decode))
    if (next === last) break
    readings.push(next)
  }
  return readings
}

/** Removes differences of width, style, accents and case, and invisible characters. */
function fold(text: string): string {
  return text
    .replace(TAG, (tag) => String.fromCodePoint(tag.codePointAt(0)! - TAGS_START))
    .normalize('NFKD')
    .replace(INVISIBLE, '')
    .replace(MARK, '')
    .toLowerCase()
}

function decode(written: string, ...[percents, ...numbers]: (string | undefined)[]): string {
  if (percents !== undefined) return Buffer.from(percents.replaceAll('%', ''), 'hex').toString()
  const [unit, byte, point, decimal] = numbers
  const hex = unit ?? byte ?? point
  if (hex === undefined && decimal === undefined) return ' '
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : written
}

function sharesRun(text: string, secret: string): boolean {
  const word = secret.replace(NOT_LETTER_OR_DIGIT, '')
  // If a secret is mostly punctuation, its few letters and digits would be found by chance.
  if (word.length >= SHORTEST_RUN) return hasRun(text.replace(NOT_LETTER_OR_DIGIT, ''), word)
  return hasRun(text.replace(BLANK, ''), secret.replace(BLANK, ''))
}

function hasRun(text: string, secret: string): boolean {
  const length = Math.min(Math.max(SHORTEST_RUN, Math.ceil(secret.length / SHARE)), secret.length)
  if (length === 0) return false
  const runs = new Set<string>()
  for (let start = 0; start + length <= secret.length; start++) runs.add(secret.slice(start, start + length))
  for (let start = 0; start + length <= text.length; start++) {
    if (runs.has(text.slice(start, start + length))) return true
  }
  return false
}
