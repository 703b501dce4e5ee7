/** Whether text and its latin1 bytes differ at all. */
const BEYOND_ASCII = /[\u0080-\uffff]/

/** JSON text as latin1: each character a byte of its UTF-8. */
export function toLatin1(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

/** The text that latin1 bytes spell as UTF-8. */
export function fromLatin1(bytes: string): string {
  return BEYOND_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes
}
