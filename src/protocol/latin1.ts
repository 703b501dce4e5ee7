/** JSON text as latin1: each character a byte of its UTF-8. */
export function toLatin1(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1')
}

/** The text that latin1 bytes spell as UTF-8. */
export function fromLatin1(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Whether a string is the same as text and as latin1. */
export function isAscii(string: string): boolean {
  return Buffer.byteLength(string) === string.length
}
