import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import type { Secret } from '../base/secret.js'
import { type CachedCredentials, cachedCredentials } from '../cache/index.js'
import type { CallContext, CredentialResult, CredentialStore } from '../contracts/index.js'
import { functionSchema, optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { nameSchema } from '../rules/schemas.js'
import { addressSchema } from './address.js'
import { areUsable, EXPIRED, identify, type PrincipalOf, type TokenClaims, UNKNOWN } from './claims.js'
import { readText } from './read-text.js'

/** How the router authenticates to the identity server. */
export type IntrospectionAuth =
  /** HTTP Basic. */
  | { readonly clientId: string; readonly clientSecret: string | Secret }
  /** A signed assertion (`private_key_jwt`, RFC 7523). The key is a private JWK with its `alg`. */
  | { readonly clientId: string; readonly privateKey: Readonly<Record<string, unknown>> }

export type IntrospectionCredentialsOptions = {
  /** The introspection endpoint: `https`, or `http` on loopback. */
  readonly endpoint: string | URL
  readonly auth: IntrospectionAuth
  readonly principal: PrincipalOf<TokenClaims>
  /** How long an answer is kept. 5,000 by default, so a revoked token is accepted for that long at most. */
  readonly ttlMs?: number
  /** The system's clock by default. */
  readonly clock?: Clock
} & (
  | {
      /** The `aud` of tokens for this service, which no other service accepts. */
      readonly audience: string
      readonly accept?: never
    }
  | {
      /** Whether a token is for this service, if the server sends no `aud`. */
      readonly accept: (claims: TokenClaims) => boolean
      readonly audience?: never
    }
)

/** Credentials that an identity server knows, behind a cache. */
export interface IntrospectionCredentials extends CachedCredentials {
  recognises(token: string): boolean
}

/** The router's own tokens are never sent to another server. */
const OWN_TOKEN = /^(?:sk|at|rt)-cr-/
const TIMEOUT_MS = 3_000
const MAX_AT_ONCE = 50
const MAX_ANSWER_BYTES = 65_536
const ASSERTION_SECONDS = 60
const SECOND_MS = 1_000
const JSON_BODY = /^application\/(?:[^\s;]+\+)?json(?:\s*;|$)/i

/** The options before it is known which of the two says that a token is for this service. */
interface GivenOptions extends Omit<IntrospectionCredentialsOptions, 'audience' | 'accept'> {
  readonly audience?: string
  readonly accept?: (claims: TokenClaims) => boolean
}

const introspectionSchema = optionsSchema<GivenOptions>({
  endpoint: addressSchema,
  auth: z.union([
    z.strictObject({ clientId: nameSchema, clientSecret: z.custom<string | Secret>(Boolean) }),
    z.strictObject({
      clientId: nameSchema,
      privateKey: z.looseObject({ kty: z.string(), alg: z.string() }),
    }),
  ]),
  principal: functionSchema<GivenOptions['principal']>(),
  audience: nameSchema.optional(),
  accept: functionSchema<NonNullable<GivenOptions['accept']>>().optional(),
  ttlMs: z.int().positive().optional(),
  clock: withMethods<Clock>('now', 'after').optional(),
}).refine(
  ({ accept, audience }) => (audience === undefined) !== (accept === undefined),
  'takes either audience or accept, since a token for another service must not pass',
)

/**
 * Admits the holders of tokens that an identity server vouches for (RFC 7662).
 *
 * An answer counts if `active` is true, `exp` is set, the audience is this service, and the token is not bound to a key
 * (`cnf`). Answers are kept for `ttlMs`, at most until `exp`, and refusals for a second. An answer may take 3 seconds.
 * At most 50 tokens are asked about at once. Further ones, and all tokens while the server fails, get a 503. Throws a
 * `TypeError` if an option is invalid.
 */
export function introspectionCredentials(options: IntrospectionCredentialsOptions): IntrospectionCredentials {
  const read = readOptions(introspectionSchema, options, 'introspectionCredentials')
  const { accept, audience, auth, clock = systemClock, principal, ttlMs } = read
  const endpoint = new URL(read.endpoint)
  const authenticate = authOf(auth, endpoint, clock)
  const isForUs = (claims: TokenClaims): boolean =>
    accept === undefined ? hasAudience(claims.aud, audience!) : accept(claims) === true
  let asking = 0

  async function ask(token: string, { signal }: CallContext): Promise<unknown> {
    if (asking >= MAX_AT_ONCE) throw new Error(`${MAX_AT_ONCE} introspections are in progress`)
    asking++
    try {
      const body = new URLSearchParams({ token })
      const headers = { accept: 'application/json', ...(await authenticate(body)) }
      const response = await fetch(endpoint, { method: 'POST', headers, body, redirect: 'manual', signal })
      if (response.status !== 200) throw new Error(`The endpoint answered with status ${response.status}`)
      if (!JSON_BODY.test(response.headers.get('content-type') ?? '')) {
        throw new Error('The endpoint did not answer in JSON')
      }
      return parse(await readText(response, MAX_ANSWER_BYTES))
    } finally {
      asking--
    }
  }

  const store: CredentialStore = {
    async resolve(token, context): Promise<CredentialResult> {
      const claims = await ask(token, context)
      if (typeof claims !== 'object' || claims === null) throw new Error('The answer is not an object')
      if (!('active' in claims) || claims.active !== true) return UNKNOWN
      const answer: Readonly<Record<string, unknown>> = { ...claims }
      if (!areUsable(answer) || !isForUs(answer)) return UNKNOWN
      const endsAt = answer.exp * SECOND_MS
      if (endsAt <= clock.now()) return EXPIRED
      const found = await identify(answer, endsAt, principal)
      return found === undefined ? UNKNOWN : { ok: true, principal: found }
    },
  }
  const cached = cachedCredentials(store, {
    clock,
    loadMs: TIMEOUT_MS,
    ...(ttlMs !== undefined && { ttlMs }),
  })
  const recognises = (token: string): boolean => !OWN_TOKEN.test(token)
  return {
    ...cached,
    recognises,
    resolve: (token, context) => (recognises(token) ? cached.resolve(token, context) : UNKNOWN),
  }
}

function hasAudience(given: unknown, audience: string): boolean {
  return given === audience || (Array.isArray(given) && given.includes(audience))
}

/** Omits the text from the error, since it is about a person. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('The endpoint did not answer in JSON')
  }
}

/** Returns a function that adds the credentials to the body, or returns them as headers. */
function authOf(
  auth: IntrospectionAuth,
  endpoint: URL,
  clock: Clock,
): (body: URLSearchParams) => Promise<Record<string, string>> {
  if ('clientSecret' in auth) {
    const { clientId, clientSecret } = auth
    const secret = typeof clientSecret === 'string' ? clientSecret : clientSecret.reveal()
    const pair = `${formEncode(clientId)}:${formEncode(secret)}`
    const headers = { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
    return async () => headers
  }
  const { clientId, privateKey } = auth
  const alg = String(privateKey.alg)
  return async (body) => {
    const { importJWK, SignJWT } = await import('jose')
    const seconds = Math.floor(clock.now() / SECOND_MS)
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg, ...(typeof privateKey.kid === 'string' && { kid: privateKey.kid }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(endpoint.href)
      .setJti(randomUUID())
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + ASSERTION_SECONDS)
      .sign(await importJWK(privateKey as JWK, alg))
    body.set('client_id', clientId)
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    body.set('client_assertion', assertion)
    return {}
  }
}

/** Encodes as RFC 6749, section 2.3.1, requires. */
function formEncode(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}
