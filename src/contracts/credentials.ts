import type { Awaitable, CallContext, Watch } from './context.js'
import type { Limit } from './usage-limits.js'

/** Maps tokens to the accounts that pay. */
export interface CredentialStore {
  /**
   * Looks up a bearer token. Store digests of tokens, never the tokens.
   *
   * An unknown token is a result (`reason: 'unknown'`), not an error. A throw means that the store cannot answer: the
   * client gets 503 `credential_store_unavailable`.
   */
  resolve(token: string, context: CallContext): Awaitable<CredentialResult>
  /** Whether a token has the shape of this store's tokens, whoever holds it. Needed by `firstCredentials`. */
  recognises?(token: string): boolean
  /** Reports credentials that changed, by `credentialId`, so that caches drop them. */
  watch?: Watch
}

export type CredentialResult =
  | { readonly ok: true; readonly principal: Principal }
  | {
      readonly ok: false
      readonly reason: CredentialRefusal
      /** The owner, if the credential is expired, revoked or suspended. For events only: the caller does not see it. */
      readonly credential?: CredentialOwner
    }

export type CredentialRefusal = 'unknown' | 'expired' | 'revoked' | 'suspended'

/** The owner of a credential, for the host's events. Same names as in {@link Principal}. */
export interface CredentialOwner {
  readonly credentialId: string
  readonly account: string
  /** Only for an access token. */
  readonly appId?: string
}

/** The holder of an API key pays for itself. An access token lets an app act for the user who pays. */
export type Principal = Credential & (ApiKey | AccessToken)

export interface ApiKey {
  readonly kind: 'api-key'
  /** Model ids, compared as whole strings. All models if absent. An empty list allows nothing. */
  readonly allowedModels?: readonly string[]
}

export interface AccessToken {
  readonly kind: 'access-token'
  readonly app: App
  /** Compared as whole strings. Chat completions and embeddings need `models.run`. */
  readonly scopes: readonly string[]
}

export interface Credential {
  /**
   * Identifies the credential without revealing it. For an access token, identify the connected app, which survives a
   * refresh.
   */
  readonly credentialId: string
  /** The ledger account that pays. */
  readonly account: string
  /** Milliseconds since the Unix epoch. From then on the credential is refused, even if it is cached. */
  readonly expiresAt?: number
  /**
   * All limits that apply to a call: the credential's own, and those of its account and app (see `of`). Each has its
   * own id.
   */
  readonly limits?: readonly Limit[]
  /** The name of the key or of the connected app, for its holder: `GET /key` shows it. */
  readonly label?: string
  /**
   * The web origins whose pages may use the credential, such as `https://notes.example`. A request that names another
   * origin is refused with 403 `origin_not_allowed`. A request that names none is accepted. If absent, any page may use
   * it, but browsers then withhold the replies from pages of other origins than the router's.
   */
  readonly origins?: readonly string[]
  /** For the host's own `admit` hook; the router does not read it. */
  readonly metadata?: Readonly<Record<string, string>>
}

/**
 * The models of an app, or of the terms that a user agreed to: ids, compared as whole strings, of which an empty list
 * allows nothing, or `'all'` for every model of the catalogue, later ones too.
 */
export type AppModels = readonly string[] | 'all'

export interface App {
  readonly id: string
  readonly name?: string
  readonly markup: Markup
  /** The models that its tokens may use. */
  readonly allowedModels: AppModels
  /** The ledger account that earns the markup; the platform's account by default. */
  readonly account?: string
}

/** The amount that an app adds to the price: `base x basisPoints / 10,000 + flat`. */
export interface Markup {
  /** An integer from 0 to 1,000,000; 2,000 is 20 %. */
  readonly basisPoints: number
  /** Credits per call: a decimal string with at most nine places. */
  readonly flat?: string
}
