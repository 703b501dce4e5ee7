const MAX_NAME_CHARS = 40
/** Control characters, marks of writing direction, invisible characters and lone surrogates. */
const HIDDEN_PATTERN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
/** More marks on one letter than any language writes: they would cover the lines around the name. */
const STACKED_MARKS_PATTERN = /\p{M}{4}/u
/** Latin letters of alphabets. The others, such as those of phonetics and small capitals, are made to look like these. */
const LATIN_PATTERN = /[a-zÀ-ɏḀ-ỿ]/i
/** Scripts that people write today, with their own letters. Letters of no script, such as a long vowel mark, are in all. */
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
    a: 'аα',
    b: 'ьβвƀƅ',
    c: 'сϲƈ',
    d: 'ԁđð',
    e: 'еєεǝ',
    f: 'ғƒ',
    g: 'ɡǥ',
    h: 'һнħհ',
    i: 'іιıїl1|ӏłƚɩǀ',
    j: 'јϳɉȷ',
    k: 'кκƙ',
    m: 'мμ',
    n: 'пηոƞ',
    o: 'оοσ0օø',
    p: 'рρƥƿ',
    q: 'ԛ',
    r: 'гяɍ',
    s: 'ѕ5',
    t: 'тτŧƭ',
    u: 'υս',
    v: 'νѵ',
    w: 'ѡωшԝ',
    x: 'хχ',
    y: 'уγүɏƴ',
    z: 'ƶ',
  }).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
)

/** Returns why an app that users can connect cannot have this name, for its owner, or undefined if it can. */
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

/** Whether the letters of a name can be of one language, so that no letter stands for one that looks like it. */
function isOfOneScript(name: string): boolean {
  const letters = [...name].filter((character) => /\p{L}/u.test(character))
  const isLatin = (letter: string): boolean => LATIN_PATTERN.test(letter)
  return (
    letters.every((letter) => isLatin(letter) || EAST_ASIAN_PATTERN.test(letter)) ||
    SCRIPTS.some((script) => letters.every((letter) => script.test(letter)))
  )
}

/** Returns the same text for names that look alike: case, accents, spaces, punctuation and similar letters do not count. */
export function appNameKey(name: string): string {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const latin = [...letters].map((letter) => LOOK_ALIKES.get(letter) ?? letter).join('')
  return latin
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replace(/[^\p{L}\p{N}]/gu, '')
}
