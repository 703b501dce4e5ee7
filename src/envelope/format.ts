/** The prefix of an envelope of version 1. A compact JWE follows it. */
export const ENVELOPE_PREFIX = 'v1.'

/** The length of the longest envelope, checked before any of it is decoded. */
export const MAX_ENVELOPE_BYTES = 8 * 1024

/** The only algorithms of version 1, for key agreement and for content encryption. */
export const KEY_AGREEMENT = 'ECDH-ES'
export const CONTENT_ENCRYPTION = 'A256GCM'

/** Visible ASCII, because a provider key is sent in a header. */
export const PROVIDER_KEY_PATTERN = /^[\x21-\x7e]{1,4096}$/

export const KEY_ID_PATTERN = /^[\x21-\x7e]{1,256}$/

/** The curves of version 1. */
export type EnvelopeCurve = 'P-256' | 'X25519'

/** A public key for sealing provider keys, as listed by the router's `GET /envelope-keys`. */
export interface EnvelopePublicKey {
  /** `EC` for P-256, `OKP` for X25519. */
  readonly kty: string
  /** `P-256` or `X25519`. */
  readonly crv: string
  readonly x: string
  /** P-256 only. */
  readonly y?: string
  /** The key id, which each envelope contains. */
  readonly kid: string
  /** `enc`. */
  readonly use?: string
  /** `ECDH-ES`. */
  readonly alg?: string
}

/** 32 bytes in base64url: a coordinate of a point on either curve, or a private key. */
export const COORDINATE_PATTERN = /^[\w-]{42}[AEIMQUYcgkosw048]$/
