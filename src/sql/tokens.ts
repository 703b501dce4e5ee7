import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIXES = { 'api-key': 'sk-cr-', 'access-token': 'at-cr-' } as const
const TOKEN_BYTES = 32
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_DIGITS = 6
/** The random part is 32 bytes as base64url. Tokens of the first releases end with it. */
const TOKEN_PATTERN = /^((?:sk|at)-cr-[A-Za-z0-9_-]{43})([0-9A-Za-z]{6})?$/

/** A new token: a prefix that says its kind, 256 random bits, and a checksum of both. */
export function createToken(kind: keyof typeof PREFIXES): string {
  const text = `${PREFIXES[kind]}${randomBytes(TOKEN_BYTES).toString('base64url')}`
  return text + checksum(text)
}

/**
 * Whether {@link createToken} may have made this token, so that mistyped, cut off and made-up ones need not be looked up.
 * A token of the first releases has no checksum, and only its shape can be told.
 */
export function mayBeIssued(token: string): boolean {
  const [, text, sum] = TOKEN_PATTERN.exec(token) ?? []
  return text !== undefined && (sum === undefined || sum === checksum(text))
}

/** The digest under which a token is kept. */
export function digestToken(token: string): string {
  return hash('sha256', token)
}

/** CRC-32 in base 62. It guards against accidents and noise; whoever knows it can make tokens that pass. */
function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let position = 0; position < CHECKSUM_DIGITS; position++) {
    digits = DIGITS[rest % DIGITS.length] + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}
