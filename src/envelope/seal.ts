import { CompactEncrypt, importJWK, type JWK } from 'jose'
import { OptionsError, type OptionsErrorCode } from '../base/options-error.js'
import {
  CONTENT_ENCRYPTION,
  ENVELOPE_PREFIX,
  type EnvelopePublicKey,
  KEY_AGREEMENT,
  KEY_ID_PATTERN,
  MAX_ENVELOPE_BYTES,
  PROVIDER_KEY_PATTERN,
} from './format.js'

export type { EnvelopeCurve, EnvelopePublicKey } from './format.js'
export type { EnvelopeKey, Keyring, KeyringKey } from './keyring.js'

/** A provider key, with the provider and the account that may use it. */
export interface ProviderKey {
  /** 1 to 4,096 visible ASCII characters. */
  readonly key: string
  /** The provider that the key is for, by its name in the request's `provider`. */
  readonly provider: string
  /** The account that may use the key, which is the one that pays for the request. */
  readonly account: string
  /** Milliseconds since the Unix epoch, rounded down to seconds. If absent, the envelope does not expire. */
  readonly expiresAt?: number
}

/**
 * Seals a provider key so that only the router can read it, and returns the text for a request's `provider_key`.
 *
 * `jwk` is one of the keys that the router publishes at `/envelope-keys`. Each call returns a different text. Works
 * wherever Web Crypto does: in browsers (on `https:` or localhost), workers and Node.
 *
 * Rejects with an `OptionsError` if the input is invalid. The message explains why and contains no part of the key.
 */
export async function sealProviderKey(providerKey: ProviderKey, jwk: EnvelopePublicKey): Promise<string> {
  const payload = readPayload(providerKey)
  const publicKey = await importPublicKey(jwk)
  const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: KEY_AGREEMENT, enc: CONTENT_ENCRYPTION, kid: jwk.kid })
    .encrypt(publicKey)
  const envelope = ENVELOPE_PREFIX + sealed
  if (envelope.length > MAX_ENVELOPE_BYTES) {
    throw wrong(
      '',
      `would return ${envelope.length} bytes, but the maximum is ${MAX_ENVELOPE_BYTES}: shorten key, provider or account`,
    )
  }
  return envelope
}

/** A smaller number is a time in seconds: as milliseconds it would be before March 1973. */
const SMALLEST_EXPIRY_MS = 100_000_000_000

const FIELDS = ['key', 'provider', 'account', 'expiresAt']
const TAKEN = `takes an object with only ${FIELDS.join(', ')}`

/** This file has no schema, since pages load it. */
function wrong(field: string, problem: string, code: OptionsErrorCode = 'invalid_option'): OptionsError {
  return new OptionsError({ code, where: 'sealProviderKey', field, problem })
}

function readPayload(given: ProviderKey) {
  if (typeof given !== 'object' || given === null) throw wrong('', TAKEN)
  // A misspelt `expiresAt` would mean no expiry. The message does not quote the name, which may be a secret.
  if (Object.keys(given).some((name) => !FIELDS.includes(name))) throw wrong('', TAKEN, 'unknown_option')
  const { key, provider, account, expiresAt } = given
  if (typeof key !== 'string' || !PROVIDER_KEY_PATTERN.test(key)) {
    throw wrong(
      'key',
      'must be a string of 1 to 4,096 visible ASCII characters, without spaces or line breaks',
    )
  }
  if (typeof provider !== 'string' || provider === '') {
    throw wrong('provider', "must be the name of the provider that the key is for, such as 'openai'")
  }
  if (typeof account !== 'string' || account === '') {
    throw wrong('account', 'must be the account that may use the key')
  }
  if (expiresAt === undefined) return { key, provider, account }
  if (!Number.isFinite(expiresAt) || expiresAt < SMALLEST_EXPIRY_MS || expiresAt > Number.MAX_SAFE_INTEGER) {
    throw wrong(
      'expiresAt',
      `must be a time in milliseconds since the Unix epoch; got ${typeof expiresAt === 'number' ? expiresAt : typeof expiresAt}`,
    )
  }
  return { key, provider, account, exp: Math.floor(expiresAt / 1000) }
}

async function importPublicKey(jwk: EnvelopePublicKey) {
  if (typeof jwk !== 'object' || jwk === null) {
    throw wrong('jwk', 'must be one of the keys listed at /envelope-keys')
  }
  const { kty, crv, x, y, kid, use, alg } = jwk
  if ('d' in jwk) {
    throw wrong(
      'jwk',
      'is a private key, which must never leave the router: seal with the key that /envelope-keys lists',
    )
  }
  if (typeof kid !== 'string' || !KEY_ID_PATTERN.test(kid)) {
    throw wrong('jwk.kid', 'must be 1 to 256 visible ASCII characters')
  }
  if (use !== undefined && use !== 'enc') throw wrong('jwk.use', "must be 'enc'")
  if (alg !== undefined && alg !== KEY_AGREEMENT) throw wrong('jwk.alg', `must be '${KEY_AGREEMENT}'`)
  let clean: JWK
  if (kty === 'EC' && crv === 'P-256') clean = { kty, crv, x, y }
  else if (kty === 'OKP' && crv === 'X25519') clean = { kty, crv, x }
  else throw wrong('jwk', "must be an EC key on 'P-256' or an OKP key on 'X25519'")
  try {
    return await importJWK(clean, KEY_AGREEMENT)
  } catch {
    throw wrong('jwk', `is not a valid ${crv} public key, or Web Crypto cannot be used here`)
  }
}
