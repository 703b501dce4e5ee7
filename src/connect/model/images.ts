const SIGNATURES: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/webp', 8, 'WEBP'],
]

/** Returns the media type of an image by its first bytes, or undefined if it is not PNG, JPEG or WebP. */
export function imageType(bytes: unknown): string | undefined {
  if (!(bytes instanceof Uint8Array)) return undefined
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(16, bytes.length)).toString('latin1')
  return SIGNATURES.find(([, offset, signature]) => head.startsWith(signature, offset))?.[0]
}
