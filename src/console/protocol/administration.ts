import type { RouteHealth } from '../../contracts/route-health.js'

export interface CredentialsQuery {
  /** A user's own by default, and no other. */
  readonly account?: string
  readonly appId?: string
  /** All by default. `in-use` leaves out what the playground made for itself. */
  readonly shown?: 'in-use' | 'playground' | 'all'
  readonly after?: string
}

/** The newest first. `next` goes into `after` for the following page. */
export interface CredentialsReply {
  readonly credentials: readonly CredentialView[]
  readonly next?: string
}

export interface CredentialView {
  readonly credentialId: string
  readonly kind: 'api-key' | 'access-token'
  readonly account: string
  readonly appId?: string
  readonly label?: string
  readonly scopes?: readonly string[]
  /** How the newest token starts and ends. */
  readonly prefix: string
  readonly lastFour: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
}

export interface CredentialBody {
  readonly credentialId: string
}

/** An API key of the account, or with `appId` an access token of that app. Ends after an hour. */
export interface PlaygroundBody {
  readonly account: string
  readonly appId?: string
}

export interface IssueKeyBody {
  readonly account: string
  readonly label?: string
  readonly expiresAt?: number
  /** For the host's own limits. An operator's alone to give. */
  readonly metadata?: Readonly<Record<string, string>>
}

export interface IssueTokenBody extends IssueKeyBody {
  readonly appId: string
  /** `['models.run']` by default. Others are an operator's alone to give. */
  readonly scopes?: readonly string[]
}

/** A user's may do no more than the token before it and end no later, which is also what it gets by default. */
export interface ReissueBody extends CredentialBody {
  /** Of the token that is to be replaced; where it has been replaced already, none is made, with status 409. */
  readonly lastFour?: string
  readonly expiresAt?: number
  readonly scopes?: readonly string[]
}

/** `token` is shown here and nowhere again. */
export interface IssuedReply {
  readonly credentialId: string
  readonly token: string
  readonly expiresAt?: number
}

export interface AppsReply {
  readonly apps: readonly AppView[]
}

/** A user sees apps that are not suspended, without the account that earns. */
export interface AppView extends AppBody {
  readonly suspendedAt?: number
}

export interface AppBody {
  readonly id: string
  readonly name?: string
  readonly markup: {
    /** An integer from 0 to 1,000,000; 2,000 is 20 %. */
    readonly basisPoints: number
    /** Credits a call. */
    readonly flat?: string
  }
  readonly allowedModels: readonly string[]
  /** Who earns the markup; the platform by default. */
  readonly account?: string
}

/**
 * Answered 409, and nothing is stored, where the app is by now another than it `was` when the change was begun, or is
 * there already and nothing says what it was.
 */
export interface PutAppBody extends AppBody {
  readonly was?: AppView
}

export interface IdBody {
  readonly id: string
}

/** Decimal strings: credits per million tokens, `request` per call. */
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
  readonly mediaTokens?: number
  readonly promptOverhead?: number
  readonly supportedParameters?: readonly string[]
  readonly operations?: readonly string[]
  readonly modalities?: readonly string[]
  /** A model without prices is listed but refused. */
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
  /** One of the kinds of adapters that the host gave its stores. */
  readonly adapter: string
  readonly upstreamModel: string
  readonly enabled?: boolean
  readonly byok?: 'yes' | 'no' | 'only'
  readonly prices?: PricesView
  readonly supportedParameters?: readonly string[]
  readonly onDisconnect?: 'abort' | 'drain'
  readonly weight?: number
}

export interface RouteBody extends RouteFields {
  /** What the adapter is built from, such as `{ baseUrl }`. Never a secret. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** The provider's key. Left out, the one that is there stays; `null` removes it. */
  readonly secret?: string | null
}

/** `was` as in {@link PutAppBody}. */
export interface PutRouteBody extends RouteBody {
  readonly was?: StoredRouteView
}

/** A route without how it is doing. */
export interface StoredRouteView extends RouteFields {
  readonly settings: Readonly<Record<string, unknown>>
  /** The id of the key that its secret is sealed under; absent if it has no secret. The secret is never shown. */
  readonly secretKeyId?: string
}

export interface RouteView extends StoredRouteView {
  /** Absent if no call of it has ended yet, or the console observes no router. */
  readonly health?: RouteHealth
  /** Why no call can take it, in words for people; absent if nothing is known against it. */
  readonly cannotBeUsed?: string
}

/** It is stored. `warnings` say, in words for people, what is missing before calls can take it. */
export interface PutRouteReply extends DoneReply {
  readonly warnings?: readonly string[]
}

export interface RotatedReply {
  readonly count: number
}

/** `isSound` where there is no difference. */
export interface VerifyReply {
  readonly isSound: boolean
  readonly discrepancies: readonly {
    readonly what: string
    readonly id: string
    readonly found: string
    readonly expected: string
    /** What is wrong, where, and what to do. */
    readonly message: string
  }[]
}

/** Always `true`: what is not there is a 404. */
export interface DoneReply {
  readonly done: true
}
