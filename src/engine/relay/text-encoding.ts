/** JSON text as latin1: each character a byte of its UTF-8. */
export function toLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** The text that latin1 bytes spell as UTF-8. */
export function fromLatin1(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
