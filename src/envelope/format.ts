/** What an envelope of version 1 begins with; a compact JWE follows. */
export const ENVELOPE_PREFIX = 'v1.'

/** The longest envelope, checked before anything of it is decoded. */
export const MAX_ENVELOPE_BYTES = 8 * 1024

/** The one algorithm of version 1 for agreeing on a key, and the one for encrypting with it. */
export const KEY_AGREEMENT = 'ECDH-ES'
export const CONTENT_ENCRYPTION = 'A256GCM'

/** What a provider key may look like: visible ASCII, since it travels in a header. */
export const PROVIDER_KEY_PATTERN = /^[\x21-\x7e]{1,4096}$/

/** What a key id may look like. */
export const KEY_ID_PATTERN = /^[\x21-\x7e]{1,256}$/

/** The curves of version 1. */
export type EnvelopeCurve = 'P-256' | 'X25519'

/** A public key to seal provider keys with, as the router's `GET /envelope-keys` lists it. */
export interface EnvelopePublicKey {
  /** `EC` for P-256, `OKP` for X25519. */
  readonly kty: string
  /** `P-256` or `X25519`. */
  readonly crv: string
  readonly x: string
  /** P-256 only. */
  readonly y?: string
  /** Names the key; the envelope carries it. */
  readonly kid: string
  /** `enc`. */
  readonly use?: string
  /** `ECDH-ES`. */
  readonly alg?: string
}

/** 32 bytes as base64url writes them: a coordinate of a point on either curve, or a private key. */
export const COORDINATE_PATTERN = /^[\w-]{42}[AEIMQUYcgkosw048]$/
