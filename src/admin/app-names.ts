import { CONFUSABLES } from './confusables.js'

const MAX_NAME_CHARS = 40
/** Control characters, marks of writing direction, invisible characters and lone surrogates. */
const HIDDEN_PATTERN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
/** More marks on one letter than any language uses. They would cover the lines around the name. */
const STACKED_MARKS_PATTERN = /\p{M}{4}/u
/**
 * Latin letters of alphabets. All others, such as those of phonetics and small capitals, are treated as look-alikes of
 * these.
 */
const LATIN_PATTERN = /[a-zÀ-ɏḀ-ỿ]/i
/** Scripts in use today, with their own letters. Letters of no script, such as a long vowel mark, are in all. */
const SCRIPTS = [
  'Arabic',
  'Armenian',
  'Bengali',
  'Cyrillic',
  'Devanagari',
  'Ethiopic',
  'Georgian',
  'Greek',
  'Gujarati',
  'Gurmukhi',
  'Hebrew',
  'Kannada',
  'Khmer',
  'Lao',
  'Malayalam',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Tamil',
  'Telugu',
  'Thaana',
  'Thai',
  'Tibetan',
].map((script) => new RegExp(`\\p{Script_Extensions=${script}}`, 'u'))
/** Scripts that are written together, and with Latin letters. */
const EAST_ASIAN_PATTERN =
  /[\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script_Extensions=Hangul}\p{Script_Extensions=Bopomofo}]/u
/** Letters of other alphabets, and digits, that look like Latin letters in lower case. An l looks like a capital i. */
const LOOK_ALIKES = new Map(
  Object.entries({
    a: 'аαⱥ',
    b: 'ьβвƀƅʙɓ',
    c: 'сϲƈȼ',
    d: 'ԁđð',
    e: 'еєεǝɇ',
    f: 'ғƒ',
    g: 'ɡǥ',
    h: 'һнħհ',
    i: 'іιıїl1|ӏłƚɩǀ丨',
    j: 'јϳɉȷ',
    k: 'кκƙ',
    m: 'мμ',
    n: 'пηոƞŋ',
    o: 'оοσ0օøɵ〇ᄋ口ロ',
    p: 'рρƥƿ',
    q: 'ԛ',
    r: 'гяɍʀ',
    s: 'ѕ5ƨ',
    t: 'тτŧƭ',
    u: 'υս',
    v: 'νѵʋ',
    w: 'ѡωшԝ',
    x: 'хχ',
    y: 'уγүɏƴ',
    z: 'ƶ',
  }).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
)

/** Returns why an app that users can connect cannot have this name, in words for its owner. Undefined if it can. */
export function appNameFault(name: string | undefined): string | undefined {
  if (name === undefined) return 'is missing: users must see who asks'
  if (name !== name.normalize('NFKC')) return 'must be in the Unicode normal form NFKC'
  if (name !== name.trim() || name === '' || [...name].length > MAX_NAME_CHARS) {
    return `must have 1 to ${MAX_NAME_CHARS} characters, with no space at either end`
  }
  if (HIDDEN_PATTERN.test(name))
    return 'must not have control characters, direction marks or invisible characters'
  if (STACKED_MARKS_PATTERN.test(name)) return 'must not have more than 3 marks on a letter'
  if (!isOfOneScript(name))
    return 'must have letters of one script, or Latin ones with Chinese, Japanese or Korean ones'
  return appNameKey(name) === '' ? 'must have a letter or a digit' : undefined
}

/** Whether the letters of a name can belong to one language, so that no letter can stand for a look-alike. */
function isOfOneScript(name: string): boolean {
  const letters = [...name].filter((character) => /\p{L}/u.test(character))
  const isLatin = (letter: string): boolean => LATIN_PATTERN.test(letter)
  return (
    letters.every((letter) => isLatin(letter) || EAST_ASIAN_PATTERN.test(letter)) ||
    SCRIPTS.some((script) => letters.every((letter) => script.test(letter)))
  )
}

/**
 * Returns the same text for names that look alike. Case, accents, spaces, punctuation and similar letters make no
 * difference.
 */
export function appNameKey(name: string): string {
  return fold(
    [...decompose(name).toLowerCase()].map((letter) => LOOK_ALIKES.get(letter) ?? confusable(letter)),
  )
}

/** Returns the keys of all names that a name looks like, as a whole. A letter may look like others in upper case. */
export function appNameKeys(name: string): ReadonlySet<string> {
  return new Set([appNameKey(name), fold([...decompose(name)].map(confusable))])
}

/** Returns the keys of the names that occur in a name as consecutive words. */
export function appNameWords(name: string): ReadonlySet<string> {
  const words = withoutShapes(name)
    .split(BETWEEN_WORDS)
    .filter((word) => appNameKey(word) !== '')
  const keys = new Set<string>()
  for (const [first] of words.entries()) {
    for (let after = first + 1; after <= words.length; after++) {
      if (after - first === words.length) continue
      for (const key of appNameKeys(words.slice(first, after).join(' '))) keys.add(key)
    }
  }
  return keys
}

/**
 * Spaces and punctuation, and the places at which a name changes between Latin and East Asian letters, which need no
 * space.
 */
const BETWEEN_WORDS =
  /[^\p{L}\p{N}\p{M}]+|(?<=\p{Script=Latin})(?=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])|(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])(?=\p{Script=Latin})/u

function decompose(name: string): string {
  return withoutShapes(name).normalize('NFKD').replace(/\p{M}/gu, '')
}

function withoutShapes(name: string): string {
  return [...name].map((character) => ENCLOSED.get(character) ?? character).join('')
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
/** Letters and digits in a shape, and those of flags, which are symbols of their own to the normal forms. */
const ENCLOSED: ReadonlyMap<string, string> = new Map(
  (
    [
      ['🅐', LETTERS],
      ['🅰', LETTERS],
      ['🇦', LETTERS],
      ['❶', '123456789'],
      ['➀', '123456789'],
      ['➊', '123456789'],
      ['⓵', '123456789'],
      ['⓿', '0'],
      ['🄋', '0'],
      ['🄌', '0'],
    ] as const
  ).flatMap(([first, meant]) =>
    [...meant].map((letter, at) => [String.fromCodePoint(first.codePointAt(0)! + at), letter] as const),
  ),
)

function confusable(letter: string): string {
  return CONFUSABLES.get(letter) ?? letter.toLowerCase()
}

function fold(letters: readonly string[]): string {
  const latin = [...letters.join('')].map((letter) => LOOK_ALIKES.get(letter) ?? letter).join('')
  return latin
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replace(/[^\p{L}\p{N}]/gu, '')
}
