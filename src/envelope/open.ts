import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { createSecret } from '../base/secret.js'
import type { EnvelopeBinding, OpenResult } from '../contracts/index.js'
import {
  CONTENT_ENCRYPTION,
  COORDINATE_PATTERN,
  ENVELOPE_PREFIX,
  KEY_AGREEMENT,
  MAX_ENVELOPE_BYTES,
  PROVIDER_KEY_PATTERN,
} from './format.js'

/**
 * Opens an envelope of version 1. Never rejects: the result contains the reason why an envelope cannot be opened.
 *
 * `keys` are private keys by key id. An envelope has exactly one text: it does not open if any character was changed.
 */
export async function openEnvelope(
  envelope: unknown,
  binding: EnvelopeBinding,
  keys: ReadonlyMap<string, KeyObject>,
  nowMs: number,
): Promise<OpenResult> {
  try {
    const { key, provider, account, exp } = await decrypt(envelope, keys)
    if (provider !== binding.provider || account !== binding.account) return refuse('mismatch')
    if (exp !== undefined && nowMs >= exp * 1000) return refuse('expired')
    return { ok: true, secret: createSecret(key) }
  } catch {
    return refuse('invalid')
  }
}

function refuse(reason: 'invalid' | 'expired' | 'mismatch'): OpenResult {
  return { ok: false, reason }
}

/** Few hosts have envelopes. */
let loadedJose: Promise<typeof import('jose')> | undefined

/** Header, no encrypted key (the agreed key encrypts the content), IV of 96 bits, ciphertext, tag of 128 bits. */
const COMPACT_JWE = /^([\w-]+)\.\.([\w-]{16})\.([\w-]+)\.([\w-]{22})$/

/** Rejects, with any error, if the envelope is invalid or sealed for another key. */
async function decrypt(envelope: unknown, keys: ReadonlyMap<string, KeyObject>) {
  if (typeof envelope !== 'string' || envelope.length > MAX_ENVELOPE_BYTES) throw new TypeError('not a text')
  if (!envelope.startsWith(ENVELOPE_PREFIX)) throw new TypeError('another version')
  const jwe = envelope.slice(ENVELOPE_PREFIX.length)
  const [, encodedHeader = '', , ciphertext = '', tag = ''] = COMPACT_JWE.exec(jwe) ?? []
  const header = protectedHeader.parse(readJson(Buffer.from(encodedHeader, 'base64url')))
  const key = keys.get(header.kid)
  if (key === undefined) throw new TypeError('no such key')
  // The last characters of these two have unused bits. The header is authenticated as text, and the IV has no unused bits.
  if (!isCanonical(ciphertext) || !isCanonical(tag)) throw new TypeError('unused bits are set')
  loadedJose ??= import('jose')
  const { compactDecrypt } = await loadedJose
  const { plaintext } = await compactDecrypt(jwe, key, {
    keyManagementAlgorithms: [KEY_AGREEMENT],
    contentEncryptionAlgorithms: [CONTENT_ENCRYPTION],
    maxDecompressedLength: 0,
  })
  return payload.parse(readJson(plaintext))
}

function readJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
}

function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text
}

const coordinate = z.string().regex(COORDINATE_PATTERN)

const protectedHeader = z.strictObject({
  alg: z.literal(KEY_AGREEMENT),
  enc: z.literal(CONTENT_ENCRYPTION),
  kid: z.string(),
  epk: z.discriminatedUnion('crv', [
    z.strictObject({ kty: z.literal('EC'), crv: z.literal('P-256'), x: coordinate, y: coordinate }),
    z.strictObject({ kty: z.literal('OKP'), crv: z.literal('X25519'), x: coordinate }),
  ]),
  apu: z.string().optional(),
  apv: z.string().optional(),
})

const payload = z.strictObject({
  key: z.string().regex(PROVIDER_KEY_PATTERN),
  provider: z.string().min(1),
  account: z.string().min(1),
  /** Seconds since the Unix epoch, as in a JWT. */
  exp: z.int().nonnegative().optional(),
})
