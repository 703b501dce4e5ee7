export const LONE_SURROGATE = /\p{Surrogate}/gu
export const CONTROL = /\p{Cc}/gu
export const BIDI_OR_INVISIBLE = /[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const LABEL_CHARS = 256
/** Most strings match, and need no cleaning. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Whether a string has no lone surrogates, so that UTF-8 can represent it. */
export function isWellFormed(text: string): boolean {
  return PRINTABLE_ASCII.test(text) || text.search(LONE_SURROGATE) === -1
}

/** Whether a store, an event or a header can contain a string unchanged: well-formed, without control characters. */
export function isPlainText(text: string): boolean {
  return PRINTABLE_ASCII.test(text) || (text.search(CONTROL) === -1 && isWellFormed(text))
}

/** Returns a string for a store or an event, with control characters as `\u00XX` and lone surrogates as U+FFFD. */
export function escapeControl(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text
  return text
    .replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(LONE_SURROGATE, '\ufffd')
}

/**
 * Returns a client's or provider's string as a label for stores, events and messages: well-formed, without control, bidi
 * and invisible characters, at most `maxChars` UTF-16 code units, with no surrogate pair split.
 */
export function cleanLabel(text: string, maxChars = LABEL_CHARS): string {
  // Cut before the patterns run, so that megabytes cost nothing, and cut again to the exact length afterwards.
  const start = text.length > maxChars * 4 ? text.slice(0, maxChars * 4) : text
  if (PRINTABLE_ASCII.test(start)) return cut(start, maxChars)
  return cut(
    start.replace(CONTROL, '').replace(BIDI_OR_INVISIBLE, '').replace(LONE_SURROGATE, '\ufffd'),
    maxChars,
  )
}

/** Cuts a string to this many UTF-16 code units, or one fewer to keep a surrogate pair together. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const last = text.charCodeAt(maxChars - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars)
}
