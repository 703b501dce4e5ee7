const MAX_NAME_CHARS = 40
/** Control characters, marks of writing direction, invisible characters and lone surrogates. */
const HIDDEN_PATTERN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
/** Letters of other scripts, and two digits, that look like Latin letters in lower case. An l looks like a capital i. */
const LOOK_ALIKES = new Map(
  Object.entries({
    a: 'аα',
    b: 'ьβв',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еєε',
    f: 'ғ',
    g: 'ɡ',
    h: 'һн',
    i: 'іιıїl1|',
    j: 'јϳ',
    k: 'кκ',
    m: 'мμ',
    n: 'пηո',
    o: 'оοσ0օ',
    p: 'рρ',
    q: 'ԛ',
    r: 'гя',
    s: 'ѕ',
    t: 'тτ',
    u: 'υս',
    v: 'νѵ',
    w: 'ѡωшԝ',
    x: 'хχ',
    y: 'уγ',
    z: 'ᴢ',
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
  return appNameKey(name) === '' ? 'must have a letter or a digit' : undefined
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
