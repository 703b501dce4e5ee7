import type { RouteHealth } from '../../contracts/route-health.js'
import type { LimitView } from './limits.js'

export interface CredentialsQuery {
  /** For a user only its own account, which is the default. */
  readonly account?: string
  readonly appId?: string
  /** `all` by default. `in-use` omits the playground's own keys. */
  readonly shown?: 'in-use' | 'playground' | 'all'
  readonly after?: string
}

/** Newest first. Pass `next` as `after` to get the next page. */
export interface CredentialsReply {
  readonly credentials: readonly CredentialView[]
  /** The limits of these credentials. */
  readonly limits: readonly LimitView[]
  readonly next?: string
}

export interface CredentialView {
  readonly credentialId: string
  readonly kind: 'api-key' | 'access-token'
  readonly account: string
  readonly appId?: string
  readonly label?: string
  /** The models that an API key may use; all if absent. */
  readonly allowedModels?: readonly string[]
  readonly scopes?: readonly string[]
  /** The first and last characters of the newest token. */
  readonly prefix: string
  readonly lastFour: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
  /** The minute of the last call with it that was kept. */
  readonly lastUsedAt?: number
}

export interface KeySpendQuery {
  /** Credentials' ids with commas between them, at most 200. */
  readonly ids: string
}

/** The sums that calls with these credentials cost, without those that cost nothing. For a user only its own credentials. */
export interface KeySpendReply {
  readonly spend: readonly { readonly credentialId: string; readonly cost: string }[]
}

export interface CredentialBody {
  readonly credentialId: string
}

/** Asks for an API key of the account, or with `appId` for an access token of that app. It expires after an hour. */
export interface PlaygroundBody {
  readonly account: string
  readonly appId?: string
  readonly terms?: SeenTerms
}

/** The terms of an app that the person has seen. If the app has worse ones by now, the reply is 409 and no token is made. */
export interface SeenTerms {
  readonly models: readonly string[]
  readonly markup: AppBody['markup']
}

interface IssueBody {
  readonly account: string
  readonly label?: string
  readonly expiresAt?: number
  /** For the host's own limits. Only an operator may set it. */
  readonly metadata?: Readonly<Record<string, string>>
}

export interface IssueKeyBody extends IssueBody {
  /** All models by default. An empty list allows nothing. */
  readonly allowedModels?: readonly string[]
}

export interface IssueTokenBody extends IssueBody {
  readonly appId: string
  readonly terms?: SeenTerms
  /** `['models.run']` by default. Only an operator may grant others. */
  readonly scopes?: readonly string[]
}

/** A user's new token has the scopes and the expiry of the previous one by default, and may not exceed them. */
export interface ReissueBody extends CredentialBody {
  /** The last characters of the token to replace. If it has been replaced already, the reply is 409 and no token is made. */
  readonly lastFour?: string
  readonly expiresAt?: number
  readonly scopes?: readonly string[]
}

/** No other reply contains `token`. */
export interface IssuedReply {
  readonly credentialId: string
  readonly token: string
  readonly expiresAt?: number
}

export interface AppsReply {
  readonly apps: readonly AppView[]
  /** The limits of these apps, for operators: they count the calls of all users. */
  readonly limits: readonly LimitView[]
  /** If more follow. A page may hold fewer apps than were asked for. */
  readonly next?: string
}

export interface AppsQuery {
  /** Only this app. */
  readonly id?: string
  /** Only apps that have this in their name or id, ignoring case. A page of a long search may be empty and have a `next`. */
  readonly search?: string
  readonly after?: string
  /** From 1 to 200; 100 by default. */
  readonly limit?: number
}

/** A user sees only apps that are not suspended, without the account that earns. */
export interface AppView extends AppBody {
  readonly logo?: { readonly hash: string; readonly type: string }
  readonly suspendedAt?: number
}

export interface AppBody {
  readonly id: string
  readonly name?: string
  readonly markup: {
    /** An integer from 0 to 1,000,000; 2,000 is 20 %. */
    readonly basisPoints: number
    /** Credits per call. */
    readonly flat?: string
  }
  readonly allowedModels: readonly string[]
  /** The account that earns the markup; the platform's by default. */
  readonly account?: string
  /** Where users who connect the app may be sent back. Only an app with at least one can be connected, and needs a name. */
  readonly redirectUris?: readonly string[]
  /** The origins of the pages that may use its tokens; by default those of the https redirect URIs. */
  readonly origins?: readonly string[]
  /** An https address of the app, for its users. */
  readonly site?: string
  /** The cap that the consent page suggests, in credits. */
  readonly suggestedCap?: string
  /** The account that may edit it; only operators by default. */
  readonly owner?: string
  /** `test` if only the owner and the testers can connect it. */
  readonly state?: 'test'
  readonly testers?: readonly string[]
}

/**
 * `was` is the app that the change is based on; absent for a new app. If the stored app differs from it, the reply is 409
 * and nothing is stored.
 */
export interface PutAppBody extends AppBody {
  readonly was?: AppView
}

export interface IdBody {
  readonly id: string
}

/** Decimal strings, in credits per million tokens; `request` is per call. */
export interface PriceView {
  readonly input: string
  readonly output: string
  readonly cachedInput?: string
  readonly cacheWrite?: string
  readonly reasoning?: string
  readonly audioInput?: string
  readonly audioOutput?: string
  readonly imageInput?: string
  readonly imageOutput?: string
  readonly request?: string
}

export interface PricesView extends PriceView {
  readonly tiers?: readonly (PriceView & { readonly above: number })[]
}

export interface ModelsReply {
  readonly models: readonly ModelView[]
}

export interface MediaTokensView {
  readonly image?: number
  readonly audio?: number
  readonly video?: number
  readonly pdf?: number
  readonly archive?: number
}

export interface ModelBody {
  readonly id: string
  /** Unix seconds, not milliseconds. */
  readonly created?: number
  readonly ownedBy?: string
  readonly root?: string
  readonly parent?: string | null
  readonly name?: string
  readonly description?: string
  readonly contextLength?: number
  readonly maxOutputTokens?: number
  readonly defaultOutputTokens?: number
  /** One number, or a number for each kind of file. */
  readonly mediaTokens?: number | MediaTokensView
  readonly promptOverhead?: number
  readonly dimensions?: number
  readonly supportedParameters?: readonly string[]
  readonly operations?: readonly string[]
  readonly modalities?: readonly string[]
  /** A model without prices is listed, but calls for it are refused. */
  readonly prices?: PricesView
  readonly priceVersion?: string
}

export interface ModelView extends ModelBody {
  readonly created: number
  readonly ownedBy: string
}

/** `was` as in {@link PutAppBody}. */
export interface PutModelBody extends ModelBody {
  readonly was?: ModelView
}

export interface RoutesReply {
  readonly routes: readonly RouteView[]
}

interface RouteFields {
  readonly id: string
  readonly model: string
  readonly provider: string
  /** One of the kinds of adapters that the host passed to its stores. */
  readonly adapter: string
  readonly upstreamModel: string
  readonly enabled?: boolean
  readonly byok?: 'yes' | 'no' | 'only'
  readonly prices?: PricesView
  readonly supportedParameters?: readonly string[]
  readonly defaultOutputTokens?: number
  readonly onDisconnect?: 'abort' | 'drain'
  readonly promptEscapes?: 'ascii' | 'html'
  readonly weight?: number
}

export interface RouteBody extends RouteFields {
  /** The adapter's settings, such as `{ baseUrl }`. Never a secret. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** The provider's key. If omitted, the stored key stays; `null` removes it. */
  readonly secret?: string | null
}

/** `was` as in {@link PutAppBody}. */
export interface PutRouteBody extends RouteBody {
  readonly was?: StoredRouteView
}

/** A route without its health. */
export interface StoredRouteView extends RouteFields {
  readonly settings: Readonly<Record<string, unknown>>
  /** The id of the key that seals the secret; absent if there is no secret. The secret itself is never shown. */
  readonly secretKeyId?: string
}

export interface RouteView extends StoredRouteView {
  /** Absent if no call on it has ended yet, or the console observes no router. */
  readonly health?: RouteHealth
  /** Why no call can use it, as a text for people; absent if no reason is known. */
  readonly cannotBeUsed?: string
}

/** The route is stored. `warnings` are texts for people: the things that are missing before calls can use it. */
export interface PutRouteReply extends DoneReply {
  readonly warnings?: readonly string[]
}

export interface RotatedReply {
  readonly count: number
}

/** `isSound` if there is no discrepancy. */
export interface VerifyReply {
  readonly isSound: boolean
  readonly discrepancies: readonly {
    readonly what: string
    readonly id: string
    readonly found: string
    readonly expected: string
    /** The fault, its location, and what to do. */
    readonly message: string
  }[]
}

/** Always `true`: a missing item is a 404. */
export interface DoneReply {
  readonly done: true
}
