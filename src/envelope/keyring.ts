import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import { OptionsError } from '../base/options-error.js'
import type { Envelopes } from '../contracts/index.js'
import { optionsSchema, readOptions, resembles, withMethods } from '../rules/read-options.js'
import {
  COORDINATE_PATTERN,
  type EnvelopeCurve,
  type EnvelopePublicKey,
  KEY_AGREEMENT,
  KEY_ID_PATTERN,
} from './format.js'
import { openEnvelope } from './open.js'

/** A private key as a JWK. Store it like a password. Clients seal with its public half. */
export interface EnvelopeKey extends EnvelopePublicKey {
  readonly d: string
}

/** A key of a keyring. A `retired` key still opens envelopes, but is no longer published. */
export interface KeyringKey extends EnvelopeKey {
  readonly retired?: boolean
}

/** The `envelopes` option of a router. */
export interface Keyring extends Envelopes {
  /** Returns the keys that are not retired as a JWK set, in the given order, with public members only. */
  publicKeys(): { readonly keys: readonly EnvelopePublicKey[] }
}

/**
 * Generates a private key for a {@link keyring}, as plain JSON.
 *
 * `kid` is its permanent id, 1 to 256 visible ASCII characters. Give every key a different one, such as its date.
 * `curve` is P-256 by default; some older browsers lack X25519.
 */
export async function generateEnvelopeKey(
  kid: string,
  options: { readonly curve?: EnvelopeCurve } = {},
): Promise<EnvelopeKey> {
  const { curve = 'P-256' } = readOptions(generateSchema, options, 'generateEnvelopeKey')
  if (typeof kid !== 'string' || !KEY_ID_PATTERN.test(kid)) {
    throw invalid('generateEnvelopeKey', 'kid', 'must be 1 to 256 visible ASCII characters')
  }
  const { exportJWK, generateKeyPair } = await import('jose')
  const { privateKey } = await generateKeyPair(KEY_AGREEMENT, { crv: curve, extractable: true })
  const { x = '', y, d = '' } = await exportJWK(privateKey)
  return {
    kty: curve === 'P-256' ? 'EC' : 'OKP',
    crv: curve,
    x,
    ...(y !== undefined && { y }),
    d,
    kid,
    use: 'enc',
    alg: KEY_AGREEMENT,
  }
}

/**
 * Returns the `envelopes` option of a router, which opens the provider keys that callers seal with `sealProviderKey`.
 *
 * To rotate, put the new key first and mark the old one `retired`. Remove the old one once its envelopes are no longer
 * in use. The keys are copied. Opening never rejects, and `clock` decides whether an envelope has expired. Throws a
 * `TypeError` if a key cannot be used; the message has its position and none of its values.
 */
export function keyring(
  keys: readonly KeyringKey[],
  options: { readonly clock?: Pick<Clock, 'now'> } = {},
): Keyring {
  const { clock = systemClock } = readOptions(keyringSchema, options, 'keyring')
  if (!Array.isArray(keys) || keys.length === 0) {
    throw invalid('keyring', 'keys', 'must be an array of at least one key: see generateEnvelopeKey')
  }
  const opening = new Map<string, KeyObject>()
  const published: EnvelopePublicKey[] = []
  for (const [position, candidate] of keys.entries()) {
    const where = `keys.${position}`
    const key = readKey(candidate, where)
    if (opening.has(key.kid))
      throw invalid('keyring', `${where}.kid`, 'is also the id of another key; give each key its own')
    opening.set(key.kid, importPrivateKey(key, where))
    if (key.retired !== true) published.push(publicHalf(key))
  }
  return Object.freeze({
    open: (envelope, binding) => openEnvelope(envelope, binding, opening, clock.now()),
    publicKeys: () => ({ keys: published.map((key) => ({ ...key })) }),
  } satisfies Keyring)
}

function invalid(where: string, field: string, problem: string): OptionsError {
  return new OptionsError({ code: 'invalid_option', where, field, problem })
}

const generateSchema = optionsSchema<{ readonly curve?: EnvelopeCurve }>({
  curve: z.enum(['P-256', 'X25519']).optional(),
})
const keyringSchema = optionsSchema<{ readonly clock?: Pick<Clock, 'now'> }>({
  clock: withMethods<Pick<Clock, 'now'>>('now').optional(),
})

const coordinate = z.string().regex(COORDINATE_PATTERN, 'must be 32 bytes in base64url')

const anyKey = {
  d: coordinate,
  x: coordinate,
  kid: z.string().regex(KEY_ID_PATTERN, 'must be 1 to 256 visible ASCII characters'),
  use: z.literal('enc').optional(),
  alg: z.literal(KEY_AGREEMENT).optional(),
  retired: z.boolean().optional(),
}

const keySchema = z.discriminatedUnion('crv', [
  z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), y: coordinate, ...anyKey }),
  z.object({ kty: z.literal('OKP'), crv: z.literal('X25519'), ...anyKey }),
])

type ParsedKey = z.infer<typeof keySchema>

function readKey(candidate: unknown, where: string): ParsedKey {
  if (candidate instanceof Promise) {
    throw invalid('keyring', where, 'is a promise, such as generateEnvelopeKey returns; await it first')
  }
  const parsed = keySchema.safeParse(candidate)
  if (parsed.success) {
    // A JWK may have other members, but a misspelt one of these would publish a retired key.
    const misspelt = Object.keys(Object(candidate)).find(
      (name) => name !== 'retired' && resembles(name, 'retired'),
    )
    if (misspelt === undefined) return parsed.data
    throw new OptionsError({
      code: 'unknown_option',
      where: 'keyring',
      field: `${where}.${misspelt}`,
      problem: `is not an option of keyring; did you mean ${where}.retired?`,
    })
  }
  const { path, message } = parsed.error.issues[0]!
  throw invalid(
    'keyring',
    [where, ...path].join('.'),
    `is not valid in a private JWK on P-256 or X25519: ${message}`,
  )
}

function publicHalf(key: ParsedKey): EnvelopePublicKey {
  const { kty, crv, x, kid } = key
  const y = key.crv === 'P-256' ? { y: key.y } : {}
  return { kty, crv, x, ...y, kid, use: 'enc', alg: KEY_AGREEMENT }
}

function importPrivateKey(key: ParsedKey, where: string): KeyObject {
  const { kty, crv, x, d } = key
  const point = { kty, crv, x, ...(key.crv === 'P-256' && { y: key.y }) }
  try {
    const privateKey = createPrivateKey({ key: { ...point, d }, format: 'jwk' })
    if (agree(crv, privateKey, createPublicKey({ key: point, format: 'jwk' }))) return privateKey
  } catch {
    // Thrown below without the reason, which may quote the key.
  }
  throw invalid('keyring', where, `is not a valid ${crv} key, or its x does not match its d`)
}

/** Whether the keys are a pair. Node accepts a private key on P-256 whose public part does not match. */
function agree(curve: EnvelopeCurve, privateKey: KeyObject, publicKey: KeyObject): boolean {
  const probe =
    curve === 'P-256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('x25519')
  const one = diffieHellman({ privateKey, publicKey: probe.publicKey })
  const other = diffieHellman({ privateKey: probe.privateKey, publicKey })
  return one.equals(other)
}
