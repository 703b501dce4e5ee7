/** Returns text as latin1: each character is one byte of its UTF-8. */
export function toLatin1(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1')
}

/** Returns the text whose UTF-8 bytes are these latin1 characters. */
export function fromLatin1(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Whether a string is the same as text and as latin1. */
export function isAscii(string: string): boolean {
  return Buffer.byteLength(string) === string.length
}
