/** What a database would not give back as it is. */
export const UNSTORABLE_PATTERN = /[\0\p{Surrogate}]/u

/**
 * The text, or a `TypeError` if a database would not give it back as it is. PostgreSQL refuses U+0000 and turns a
 * lone surrogate into U+FFFD; libsql cuts at U+0000 and keeps the previous value in place of a lone surrogate. Either
 * would make two accounts one.
 */
export function checkText(text: string, what: string): string {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string; got ${typeof text}`)
  if (UNSTORABLE_PATTERN.test(text)) {
    throw new TypeError(`${what} must be well-formed Unicode without U+0000`)
  }
  return text
}

export function checkOptionalText(text: string | undefined, what: string): string | null {
  return text === undefined ? null : checkText(text, what)
}
