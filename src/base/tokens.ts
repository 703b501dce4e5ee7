import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIXES = { 'api-key': 'sk-cr-', 'access-token': 'at-cr-', 'refresh-token': 'rt-cr-' } as const
const TOKEN_BYTES = 32
const SHOWN_CHARACTERS = 10
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_DIGITS = 6
/** The random part is 32 bytes as base64url. */
const TOKEN_PATTERN = /^((?:sk|at)-cr-[A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/

/** Returns a new token: a prefix for its kind, 256 random bits, and a checksum of both. */
export function createToken(kind: keyof typeof PREFIXES): string {
  const text = `${PREFIXES[kind]}${randomBytes(TOKEN_BYTES).toString('base64url')}`
  return text + checksum(text)
}

/**
 * Returns whether {@link createToken} may have made this key or access token, so that mistyped, truncated and invented
 * tokens need no look-up.
 */
export function mayBeIssued(token: string): boolean {
  const [, text, sum] = TOKEN_PATTERN.exec(token) ?? []
  return text !== undefined && sum === checksum(text)
}

/** Returns the parts of a token that may be shown, to distinguish it from others. */
export function shownParts(token: string): { readonly prefix: string; readonly lastFour: string } {
  return { prefix: token.slice(0, SHOWN_CHARACTERS), lastFour: token.slice(-4) }
}

/** Returns the digest under which a token is stored. */
export function digestToken(token: string): string {
  return hash('sha256', token)
}

/** CRC-32 in base 62. It catches accidents and noise, not attackers: anyone can make tokens that pass. */
function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let position = 0; position < CHECKSUM_DIGITS; position++) {
    digits = DIGITS[rest % DIGITS.length] + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}
