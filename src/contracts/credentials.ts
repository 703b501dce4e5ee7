import type { Awaitable, CallContext, Watch } from './context.js'

/** Who holds which token. */
export interface CredentialStore {
  /**
   * Looks up a bearer token. The token is a secret: keep its digest, never the token.
   *
   * A token that is not known is an outcome (`reason: 'unknown'`), not a throw. A throw means that the store cannot
   * answer: the client gets 503 `credential_store_unavailable`.
   */
  resolve(token: string, context: CallContext): Awaitable<CredentialResult>
  /** Reports credentials that changed, by `credentialId`, so that caches drop them. */
  watch?: Watch
}

export type CredentialResult =
  | { readonly ok: true; readonly principal: Principal }
  | {
      readonly ok: false
      readonly reason: CredentialRefusal
      /** Whose it is, where it is expired, revoked or suspended; never where it is unknown. The caller is not told. */
      readonly credential?: CredentialOwner
    }

export type CredentialRefusal = 'unknown' | 'expired' | 'revoked' | 'suspended'

/** Whose a credential is, for the host's events. Named as in its {@link Principal}. */
export interface CredentialOwner {
  readonly credentialId: string
  readonly account: string
  /** Of an access token. */
  readonly appId?: string
}

/** The holder of an API key pays for itself; an access token lets an app act for the user who pays. */
export type Principal = Bearer & ({ readonly kind: 'api-key' } | AccessToken)

export interface AccessToken {
  readonly kind: 'access-token'
  readonly app: App
  /** Whole strings; chat completions need `models.run`. */
  readonly scopes: readonly string[]
}

export interface Bearer {
  /** Names the credential without giving it away. For an access token it names the grant, so that it survives a refresh. */
  readonly credentialId: string
  /** The ledger account that pays. */
  readonly account: string
  /** Milliseconds since the Unix epoch; from this one on it is refused. Checked at every use, cached or not. */
  readonly expiresAt?: number
  /** For the host's own `admit` hook. The router does not read it. */
  readonly metadata?: Readonly<Record<string, string>>
}

export interface App {
  readonly id: string
  readonly name?: string
  readonly markup: Markup
  /** Model ids, compared as whole strings. An empty list allows nothing. */
  readonly allowedModels: readonly string[]
  /** The ledger account that earns the markup. The platform's by default. */
  readonly account?: string
}

/** What an app adds to the price: `base x basisPoints / 10,000 + flat`. */
export interface Markup {
  /** An integer from 0 to 1,000,000; 2,000 is 20 %. */
  readonly basisPoints: number
  /** Credits a call, a decimal string of at most nine places. */
  readonly flat?: string
}
