import type { AppBody, AppView } from './administration.js'

/** What an app may spend of an account in each calendar period, markup included. */
export interface CapView {
  /** Credits, as a decimal string. */
  readonly amount: string
  readonly per: 'day' | 'month'
  /** In which the periods begin; UTC if absent. In a change, that of the present cap if absent. */
  readonly zone?: string
}

export interface AppGrantsQuery {
  /** For a user only its own account, which is the default. */
  readonly account?: string
  readonly appId?: string
  /** `in-use` by default: neither revoked nor ended. */
  readonly shown?: 'in-use' | 'all'
  readonly after?: string
}

/** The apps that users have connected. Newest first. Pass `next` as `after` to get the next page. */
export interface AppGrantsReply {
  readonly grants: readonly AppGrantView[]
  readonly next?: string
}

/** The grant of an account to an app, on the terms that its user agreed to. */
export interface AppGrantView {
  readonly id: string
  readonly account: string
  readonly appId: string
  readonly appName?: string
  readonly scopes: readonly string[]
  readonly models: readonly string[]
  readonly markup: AppBody['markup']
  readonly cap?: CapView
  /** Only an operator may remove the cap. */
  readonly capRequired?: true
  /** The credits used and held in the present period of the cap. */
  readonly spent?: string
  readonly createdAt: number
  readonly endsAt?: number
  readonly revokedAt?: number
  /** The minute of the last call with it that was kept. */
  readonly lastUsedAt?: number
  readonly devices: readonly DeviceView[]
}

/** A browser or program that the user connected. */
export interface DeviceView {
  readonly connectionId: string
  readonly label?: string
  readonly createdAt: number
  /** When it last got an access token. */
  readonly usedAt: number
}

export interface AppGrantBody {
  readonly grantId: string
}

export interface GrantCapBody extends AppGrantBody {
  /** `null` removes the cap. */
  readonly cap: CapView | null
}

export interface DeviceBody extends AppGrantBody {
  readonly connectionId: string
}

export interface GrantHistoryReply {
  /** Newest first, at most 100. */
  readonly history: readonly GrantEventView[]
}

export interface GrantEventView {
  readonly id: string
  readonly at: number
  /** An account, `operator` or `app`. */
  readonly by: string
  readonly byKind: 'account' | 'operator' | 'app'
  readonly kind: string
  readonly terms?: Readonly<Record<string, unknown>>
}

/** The apps that an account publishes, with their figures. */
export interface OwnAppsReply {
  readonly ownApps: readonly OwnAppView[]
  /** If more follow. */
  readonly next?: string
}

export interface OwnAppView extends OwnAppBody {
  /** `test`: only the owner and the testers can connect it. */
  readonly state: 'test' | 'live'
  readonly suspendedAt?: number
  readonly logo?: string
  /** The values that wait for an operator. */
  readonly inReview?: ReviewedView
  /** The accounts that have connected it now. */
  readonly users: number
  readonly calls: number
  /** The sum of the markup that its calls have earned. */
  readonly earned: string
}

/** An app that users can connect, as its owner writes it. */
export type OwnAppBody = Omit<AppBody, 'account' | 'origins' | 'owner' | 'state'>

export interface LogoBody {
  readonly id: string
  /** A PNG, JPEG or WebP picture in base64; `null` removes the logo. */
  readonly logo: string | null
}

/** Whether the change waits for an operator. */
export interface OwnAppReply {
  readonly inReview: boolean
}

/** 50 rows a page. */
export interface OwnPageQuery {
  readonly after?: string
}

export interface ReviewsReply {
  readonly reviews: readonly ReviewView[]
  /** If more follow. */
  readonly next?: string
}

/** Values that the owner of an app wants to change, beside the app as it is in force. */
export interface ReviewView {
  readonly appId: string
  readonly by: string
  readonly at: number
  readonly values: ReviewedView
  readonly app?: AppView
}

/** A logo of an app, in force or in review. */
export interface ReviewLogoQuery {
  readonly appId: string
  readonly hash: string
}

/** `null` removes the value. */
export interface ReviewedView {
  readonly name?: string
  readonly redirectUris?: readonly string[]
  readonly site?: string | null
  /** The hash of the logo. */
  readonly logo?: string | null
  readonly live?: true
}

/** An operator decides on the values that it has seen: if they have changed, the reply is 409. */
export interface DecideBody {
  readonly review: Omit<ReviewView, 'app'>
  readonly decision: 'accept' | 'reject'
}
