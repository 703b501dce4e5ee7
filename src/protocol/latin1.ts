import { isUtf8 } from 'node:buffer'

/** Whether text and its latin1 bytes differ at all. */
const BEYOND_ASCII = /[\u0080-\uffff]/

/** JSON text as latin1: each character a byte of its UTF-8. */
export function toLatin1(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1')
}

/** The text that latin1 bytes spell as UTF-8. */
export function fromLatin1(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Whether a string is the same as text and as latin1 bytes. */
export function isAscii(string: string): boolean {
  return !BEYOND_ASCII.test(string)
}

/**
 * Whether JSON can be parsed as latin1, and its strings be written as JSON again, with the bytes of the same text: it is
 * UTF-8, and none of its characters is escaped by its number.
 */
export function isUnescapedUtf8(json: Buffer): boolean {
  return isUtf8(json) && !json.includes('\\u')
}
