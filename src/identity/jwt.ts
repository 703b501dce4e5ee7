import type { JWTPayload } from 'jose'
import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import type {
  Awaitable,
  CredentialOwner,
  CredentialResult,
  CredentialStore,
  Principal,
} from '../contracts/index.js'
import { functionSchema, optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { nameSchema } from '../rules/schemas.js'
import { addressSchema } from './address.js'
import { areUsable, EXPIRED, identify, type PrincipalOf, type TokenClaims, UNKNOWN } from './claims.js'
import { remoteKeySet } from './key-set.js'

/** The claims of a JWT whose signature, issuer, audience and times have been checked. */
export interface JwtClaims extends TokenClaims {
  readonly iss: string
  readonly sub: string
  readonly aud: string | readonly string[]
  readonly iat: number
}

export interface JwtCredentialsOptions {
  /** The `iss` of every token. */
  readonly issuer: string
  /** The `aud` of tokens for this service, which no other service accepts. */
  readonly audience: string
  /** The address of the issuer's key set: `https`, or `http` on loopback. */
  readonly jwks: string | URL
  readonly principal: PrincipalOf<JwtClaims>
  /** Whether a token was revoked before its expiry. If absent, a token is valid until its `exp`. */
  readonly isRevoked?: (claims: JwtClaims) => Awaitable<boolean>
  /** `RS256`, `PS256`, `ES256` and `EdDSA` by default. Symmetric algorithms and `none` are refused. */
  readonly algorithms?: readonly string[]
  /** The `typ` of the header. `at+jwt` by default (RFC 9068), which id tokens do not have. */
  readonly typ?: string
  /** The most that `exp` may be after `iat`. An hour by default. */
  readonly maxLifetimeMs?: number
  /** Decides when a token has expired. The system's clock by default. */
  readonly clock?: Clock
}

/** A credential store that recognises its tokens by their shape. */
export interface ShapedCredentials extends CredentialStore {
  recognises(token: string): boolean
}

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
const ASYMMETRIC = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/
const HOUR_MS = 3_600_000
const SECOND_MS = 1_000
const TOLERANCE_SECONDS = 5
/** The signature may be empty, so that a token with `alg: none` is refused as a JWT. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** The errors of an invalid token. Any other error means that it could not be checked. */
const FAULTS_OF_TOKEN: readonly string[] = [
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_INVALID',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
]
const TOKEN_EXPIRED = 'ERR_JWT_EXPIRED'

const jwtSchema = optionsSchema<JwtCredentialsOptions>({
  issuer: nameSchema,
  audience: nameSchema,
  jwks: addressSchema,
  principal: functionSchema<JwtCredentialsOptions['principal']>(),
  isRevoked: functionSchema<NonNullable<JwtCredentialsOptions['isRevoked']>>().optional(),
  algorithms: z
    .array(z.string().regex(ASYMMETRIC, 'must be an asymmetric algorithm, such as RS256 or EdDSA'))
    .min(1)
    .optional(),
  typ: nameSchema.optional(),
  maxLifetimeMs: z.int().min(SECOND_MS).optional(),
  clock: withMethods<Clock>('now').optional(),
})

/**
 * Admits the holders of JWTs that an identity server signed. A JWT cannot be revoked before its `exp`, except by
 * `isRevoked`.
 *
 * A token must have `exp`, `iat` and `sub`. Times are compared with a tolerance of 5 seconds. Tokens that are bound to
 * a key (`cnf`) are refused. The store throws, which becomes a 503, if the key set cannot be fetched. This function
 * throws a `TypeError` if an option is invalid.
 */
export function jwtCredentials(options: JwtCredentialsOptions): ShapedCredentials {
  const {
    algorithms = ALGORITHMS,
    audience,
    clock = systemClock,
    isRevoked,
    issuer,
    jwks,
    maxLifetimeMs = HOUR_MS,
    principal,
    typ = 'at+jwt',
  } = readOptions(jwtSchema, options, 'jwtCredentials')
  // Only hosts with an identity server load it, and before the first token comes.
  const loaded = import('jose').then((jose) => ({ jose, keys: remoteKeySet(jose, new URL(jwks)) }))
  loaded.catch(() => {}) // Each token says why.

  /** Returns the claims, or the refusal. Two members, because a claim may have any name. */
  async function verify(token: string): Promise<{ claims: JWTPayload } | { refusal: CredentialResult }> {
    const { jose, keys } = await loaded
    try {
      const { payload } = await jose.jwtVerify(token, keys, {
        algorithms: [...algorithms],
        issuer,
        audience,
        typ,
        requiredClaims: ['exp', 'iat', 'sub'],
        clockTolerance: TOLERANCE_SECONDS,
        // Also refuses an `iat` in the future, since the lifetime bounds the validity only then.
        maxTokenAge: maxLifetimeMs / SECOND_MS,
        currentDate: new Date(clock.now()),
      })
      return { claims: payload }
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === TOKEN_EXPIRED) return { refusal: EXPIRED }
      if (code !== undefined && FAULTS_OF_TOKEN.includes(code)) return { refusal: UNKNOWN }
      throw error
    }
  }

  return {
    recognises: (token) => JWT.test(token),

    async resolve(token) {
      if (!JWT.test(token)) return UNKNOWN
      const verified = await verify(token)
      if ('refusal' in verified) return verified.refusal
      const { claims } = verified
      if (!areJwtClaims(claims) || (claims.exp - claims.iat) * SECOND_MS > maxLifetimeMs) return UNKNOWN
      // The engine checks the expiry too, and must not refuse a token that was accepted here.
      const endsAt = (claims.exp + TOLERANCE_SECONDS) * SECOND_MS
      const found = await identify(claims, endsAt, principal)
      if (found === undefined) return UNKNOWN
      if (await isRevoked?.(claims)) return { ok: false, reason: 'revoked', credential: ownerOf(found) }
      return { ok: true, principal: found }
    },
  }
}

function areJwtClaims(claims: JWTPayload): claims is JWTPayload & JwtClaims {
  return areUsable(claims) && typeof claims.sub === 'string' && claims.sub !== ''
}

function ownerOf(principal: Principal): CredentialOwner {
  const { account, credentialId } = principal
  return principal.kind === 'access-token'
    ? { credentialId, account, appId: principal.app.id }
    : { credentialId, account }
}
