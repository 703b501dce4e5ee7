import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { invalidInput } from '../base/invalid-input.js'
import { Refusal } from '../base/refusal.js'
import { createSecret, type Secret } from '../base/secret.js'
import { mustBe } from '../rules/schema-faults.js'

/** A key from the host. Its id is stored with each secret that it seals. */
export interface SecretKey {
  readonly id: string
  /** 32 bytes, as bytes, base64 or 64 hex digits. */
  readonly key: Uint8Array | string
}

/** The context that a sealed secret is tied to. It does not open in another row or for another address. */
export interface SecretBinding {
  readonly routeId: string
  readonly provider: string
  /** The origin of `baseUrl`, or empty if the settings have none. */
  readonly origin: string
}

export interface SealedSecret {
  readonly keyId: string
  /** Nonce, ciphertext and tag as base64. */
  readonly sealed: string
}

/** Encrypts secrets at rest with AES-256-GCM. */
export interface SecretBox {
  /** Seals under the first key. Throws if the host has given no key. */
  seal(secret: string, binding: SecretBinding): SealedSecret
  /** Throws if the key is missing or the secret is tied to another context. The errors do not contain the secret. */
  open(sealed: SealedSecret, binding: SecretBinding): Secret
  /** Returns whether {@link seal} would use this key. */
  isCurrent(keyId: string): boolean
}

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEX_PATTERN = /^[0-9a-f]{64}$/i
const BASE64_PATTERN = /^[A-Za-z0-9+/_-]{43}=?$/

export const secretKeysSchema = z
  .array(
    z.strictObject({
      id: z.string().min(1),
      key: z.custom<SecretKey['key']>(
        (key) => bytesOf(key).length === KEY_BYTES,
        `must be ${KEY_BYTES} bytes, as bytes, hex or base64`,
      ),
    }),
    mustBe('a list, such as [{ id, key }]'),
  )
  .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, 'must not have an id twice')

/** The first key seals new secrets; the others still open older ones. */
export function createSecretBox(keys: readonly SecretKey[] = []): SecretBox {
  const byId = new Map(keys.map(({ id, key }) => [id, Uint8Array.from(bytesOf(key))]))
  const current = keys[0]

  function keyOf(id: string): Uint8Array {
    const key = byId.get(id)
    if (key === undefined) {
      throw new Refusal('conflict', `No secret key ${JSON.stringify(id)} was given in secretKeys`)
    }
    return key
  }

  return {
    isCurrent: (keyId) => keyId === current?.id,
    seal(secret, binding) {
      if (current === undefined) {
        throw invalidInput(
          { of: 'route', field: 'secret' },
          'to store a secret, give the stores secretKeys: [{ id, key }]',
        )
      }
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, keyOf(current.id), nonce)
      cipher.setAAD(associatedData(current.id, binding))
      const sealed = Buffer.concat([
        nonce,
        cipher.update(secret, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ])
      return { keyId: current.id, sealed: sealed.toString('base64') }
    },
    open({ keyId, sealed }, binding) {
      const key = keyOf(keyId)
      const bytes = Buffer.from(sealed, 'base64')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw unopened(binding)
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
        decipher.setAAD(associatedData(keyId, binding))
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
        const text = Buffer.concat([
          decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
          decipher.final(),
        ])
        return createSecret(text.toString('utf8'))
      } catch {
        throw unopened(binding)
      }
    },
  }
}

/** JSON separates the parts, so no choice of names makes two bindings equal. */
function associatedData(keyId: string, { routeId, provider, origin }: SecretBinding): Buffer {
  return Buffer.from(JSON.stringify(['compat-router.secret.1', keyId, routeId, provider, origin]))
}

function unopened({ routeId }: SecretBinding): Error {
  return new Refusal(
    'conflict',
    `The secret of route ${JSON.stringify(routeId)} does not open: it was sealed for another row, provider or address, or under another key`,
  )
}

/** Returns the bytes of a key, or none if it has another form. */
function bytesOf(key: unknown): Uint8Array {
  if (key instanceof Uint8Array) return key
  if (typeof key !== 'string') return new Uint8Array()
  if (HEX_PATTERN.test(key)) return Buffer.from(key, 'hex')
  return BASE64_PATTERN.test(key) ? Buffer.from(key, 'base64url') : new Uint8Array()
}
