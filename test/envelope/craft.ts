import {
  type BinaryLike,
  createCipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type JsonWebKey,
  randomBytes,
} from 'node:crypto'
import type { EnvelopePublicKey } from '../../src/envelope/index.js'

export interface Craft {
  /** Turns the correct header into another value. A string or bytes are used unchanged. */
  header?: (right: Record<string, unknown>) => unknown
  /** A string or bytes are used unchanged. */
  payload: unknown
}

/**
 * Creates an envelope according to RFC 7516 and RFC 7518 (4.6), without the library that opens it. Everything except
 * the encryption can be wrong.
 */
export function craftEnvelope(to: EnvelopePublicKey, { header = (right) => right, payload }: Craft): string {
  const ephemeral =
    to.crv === 'P-256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('x25519')
  const { kid, kty, crv, x, y } = to
  const publicKey = createPublicKey({ key: { kty, crv, x, y } as JsonWebKey, format: 'jwk' })
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey })
  const epk = ephemeral.publicKey.export({ format: 'jwk' })
  const right = { alg: 'ECDH-ES', enc: 'A256GCM', kid, epk }
  const made = header(right)
  const encodedHeader = toBytes(made).toString('base64url')
  const { apu, apv } = typeof made === 'object' && made !== null ? (made as Record<string, unknown>) : {}
  const contentKey = concatKdf(shared, 'A256GCM', party(apu), party(apv))
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', contentKey, iv).setAAD(Buffer.from(encodedHeader, 'ascii'))
  const ciphertext = Buffer.concat([cipher.update(toBytes(payload)), cipher.final()])
  const parts = [
    encodedHeader,
    '',
    ...[iv, ciphertext, cipher.getAuthTag()].map((b) => b.toString('base64url')),
  ]
  return `v1.${parts.join('.')}`
}

function toBytes(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
}

function party(value: unknown): Buffer {
  return typeof value === 'string' ? Buffer.from(value, 'base64url') : Buffer.alloc(0)
}

/** One round of the key derivation of NIST SP 800-56A 5.8.1, which yields the required 256 bits. */
function concatKdf(shared: Buffer, algorithm: string, apu: Buffer, apv: Buffer): Buffer {
  const hash = createHash('sha256')
  const parts: BinaryLike[] = [uint32(1), shared]
  for (const part of [Buffer.from(algorithm), apu, apv]) parts.push(uint32(part.length), part)
  parts.push(uint32(256))
  for (const part of parts) hash.update(part)
  return hash.digest()
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
