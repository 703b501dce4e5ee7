import type { Awaitable, CredentialResult, Principal } from '../contracts/index.js'
import { isPrintable } from '../rules/schemas.js'

/** The claims of a token as an identity server issued them. The token is genuine, and for this service. */
export interface TokenClaims {
  /** Seconds since the Unix epoch. */
  readonly exp: number
  readonly sub?: string
  /** The app that the token was issued to. */
  readonly client_id?: string
  /** Scopes separated by spaces. */
  readonly scope?: string
  /** All other claims, not checked. */
  readonly [name: string]: unknown
}

/**
 * Returns who pays. Undefined or null if the token belongs to nobody known.
 *
 * `credentialId` must be the same for all tokens of one user and one app, such as issuer, subject and client id
 * together, or budgets start anew with each token. Take the app, its markup and its models from your own tables by
 * `client_id`, never from claims that an app can choose.
 */
export type PrincipalOf<Claims> = (claims: Claims) => Awaitable<Principal | undefined | null>

export const UNKNOWN: CredentialResult = Object.freeze({ ok: false, reason: 'unknown' })
export const EXPIRED: CredentialResult = Object.freeze({ ok: false, reason: 'expired' })

const OPTIONAL_TEXTS = ['sub', 'client_id', 'scope']

/**
 * Whether the claims can be used: `exp` is a number, and the other known claims are printable texts, since users may
 * choose their `sub`, and it becomes a name in the ledger, in events and in logs. Claims bound to a key (`cnf`, RFC 7800)
 * cannot, because the router does not ask for the key, so anybody who stole the token could use it.
 */
export function areUsable(claims: Readonly<Record<string, unknown>>): claims is TokenClaims {
  return (
    typeof claims.exp === 'number' &&
    Number.isFinite(claims.exp) &&
    claims.cnf === undefined &&
    OPTIONAL_TEXTS.every((name) => claims[name] === undefined || isPrintableText(claims[name]))
  )
}

function isPrintableText(claim: unknown): boolean {
  return typeof claim === 'string' && isPrintable(claim)
}

/** Asks the host who pays. The principal expires with the token (`endsAt`), or earlier if the host says so. */
export async function identify<Claims extends TokenClaims>(
  claims: Claims,
  endsAt: number,
  principalOf: PrincipalOf<Claims>,
): Promise<Principal | undefined> {
  const principal = await principalOf(claims)
  if (principal === undefined || principal === null) return undefined
  // The engine reports an invalid principal.
  if (typeof principal !== 'object') return principal
  if (claims.jti !== undefined && principal.credentialId === claims.jti) {
    throw new TypeError(
      'principal() returned the jti of a token as its credentialId. Each token would start with a full budget: make it from issuer, subject and client.',
    )
  }
  // A spread, so that fields of later versions are kept: without its limits or origins a principal could do more.
  return { ...principal, expiresAt: Math.min(principal.expiresAt ?? endsAt, endsAt) }
}
