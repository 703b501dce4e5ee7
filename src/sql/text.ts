import { invalidInput } from '../base/invalid-input.js'
/** Characters that a database would not return unchanged. */
export const UNSTORABLE_PATTERN = /[\0\p{Surrogate}]/u

/**
 * Returns the text. Throws a `TypeError` if a database would not return it unchanged. PostgreSQL refuses U+0000 and turns
 * a lone surrogate into U+FFFD; libsql cuts at U+0000 and keeps the previous value in place of a lone surrogate. Either
 * could merge two accounts.
 */
export function checkText(text: string, field: string): string {
  if (typeof text !== 'string') throw invalidInput({ field }, `must be a string; got ${typeof text}`)
  if (UNSTORABLE_PATTERN.test(text)) {
    throw invalidInput({ field }, 'must be well-formed Unicode without U+0000')
  }
  return text
}

export function checkOptionalText(text: string | undefined, field: string): string | null {
  return text === undefined ? null : checkText(text, field)
}
