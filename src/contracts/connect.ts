import type { CalendarPeriod } from '../base/periods.js'
import type { AppModels, Markup } from './credentials.js'

/**
 * The rows behind Connect, the authorization server for users' apps: apps, connected apps, connections (devices), and the
 * server's own requests, codes and tokens. The durable stores have it as `connect`.
 *
 * Methods take tokens, codes and request ids in plain text, and store only their SHA-256. A rejection means that the
 * database cannot answer. Times are milliseconds since the Unix epoch, by the database's clock.
 */
export interface ConnectStore extends RegisteredApps, ConnectedApps, Connections, ConnectTokens, OauthRows {
  /**
   * Deletes at most `limit` rows of each kind: OAuth rows that have expired, access tokens of connections that expired
   * 12 hours ago, connections that ended 30 days ago, and connections that are an hour old and never had a token. Ends
   * connections without remaining rows. Returns the number of rows, so that the caller can repeat until it is 0.
   */
  sweep(limit: number): Promise<number>
}

/** The apps that Connect knows. The admin functions write them. */
export interface RegisteredApps {
  /** Returns an app in its current state, even if it is suspended. Undefined if it is not registered. */
  findApp(id: string): Promise<RegisteredApp | undefined>
  /** Returns the logo with this hash if it is the app's current one. */
  findLogo(appId: string, hash: string): Promise<AppLogo | undefined>
}

/** An app that users can connect. */
export interface RegisteredApp {
  readonly id: string
  readonly name?: string
  /**
   * The addresses to which users may be sent, each accepted by `redirectUriFault`. Empty if nobody can connect the app.
   */
  readonly redirectUris: readonly string[]
  readonly allowedModels: AppModels
  readonly markup: Markup
  /** An https address. */
  readonly site?: string
  readonly logo?: AppLogoReference
  /** The cap that the app suggests for a period, as a decimal string of credits. */
  readonly suggestedCap?: string
  /** The account that edits the app. Absent if the operator does. */
  readonly owner?: string
  /** `test`: only the owner and the testers can connect it. `live`: an operator has reviewed it. */
  readonly state: 'test' | 'live'
  /** Accounts that can connect the app while it is in `test`. */
  readonly testers: readonly string[]
  readonly suspended: boolean
}

export interface AppLogoReference {
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly hash: string
  readonly type: 'image/png' | 'image/jpeg' | 'image/webp'
}

export interface AppLogo extends AppLogoReference {
  readonly bytes: Uint8Array
}

/** Who made a change. The kind tells an account from an operator or an app, whatever its name. */
export interface Actor {
  readonly kind: 'account' | 'operator' | 'app'
  /** The account, the name that the host gives an operator, or the word of the kind. */
  readonly name: string
}

/** Apps that users have connected. A connected app is the credential of its tokens: its id is their `credentialId`. */
export interface ConnectedApps {
  /**
   * Returns the live connected app of an account, which is the one that is not revoked. There is at most one. It may
   * have expired, and its app or account may be suspended. A new consent renews it.
   */
  findConnectedApp(account: string, appId: string): Promise<ConnectedApp | undefined>
  /**
   * Stores a user's consent in one transaction. Creates the live connected app, or replaces the scopes, models, markup,
   * expiry, cap and cap rule of the existing one, which keeps its id. Appends the terms to the history. If the existing
   * connected app had expired, its connections and sessions stay ended. Otherwise they continue. Returns undefined, and
   * changes nothing, if the app does not exist or is suspended, or if the account is suspended.
   */
  consent(consent: Consent): Promise<{ readonly connectedAppId: string } | undefined>
  /**
   * Revokes the live connected app of an account, with everything that depends on it, and records in the history who
   * did it. Every process knows within a second. Returns whether there was one.
   */
  disconnectApp(account: string, appId: string, by: Actor): Promise<boolean>
  /**
   * Returns what an account has spent with an app in the current period, even without a cap, and even if the connected
   * app was revoked in between: reconnecting does not start a new period. Includes the credits on hold under a cap.
   */
  spentInPeriod(account: string, appId: string, period: CapPeriod): Promise<bigint>
}

export interface ConnectedApp {
  /** The `credentialId` of its tokens. */
  readonly id: string
  readonly account: string
  readonly appId: string
  readonly scopes: readonly string[]
  /** The models that the user consented to. A call may use those that the app still has. */
  readonly models: AppModels
  /** The markup that the user consented to. A call pays the smaller of it and the app's current one. */
  readonly markup: Markup
  readonly cap?: Cap
  /** The host's rule for the cap. Absent if there is none. */
  readonly capRule?: CapRule
  /** Absent if the connected app does not expire. */
  readonly endsAt?: number
  readonly createdAt: number
}

/** What an app may spend of an account in each calendar period. Counts everything that the user pays. */
export interface Cap extends CapPeriod {
  /** In 10^-9 credit. */
  readonly amount: bigint
}

/** A host's rule for the caps that its users set. It does not bind an operator. */
export interface CapRule extends CapPeriod {
  /** Whether a cap is required. */
  readonly required: boolean
  /** The highest cap, in 10^-9 credit. With it, users can change neither the period nor the zone of their cap. */
  readonly max?: bigint
}

export interface CapPeriod {
  readonly per: CalendarPeriod
  /** A time zone such as `'Europe/Berlin'`; UTC by default. */
  readonly zone?: string
}

/** Without a cap, the app may spend everything that the account has, and an earlier cap ends. */
export interface Consent extends Omit<ConnectedApp, 'id' | 'createdAt'> {
  /** For the history: the app's name as the page showed it, and the host to which the user was sent. */
  readonly appName: string
  readonly redirectHost: string
}

/**
 * The connections of connected apps: one for each authorization and so for each device. They share the connected app's
 * cap and terms.
 */
export interface Connections {
  /**
   * Adds a connection to the live connected app of an account. It appears as a device, in lists and in the history, once
   * it has an access token, since the browser may stop before the app gets its code. Returns false, and changes nothing,
   * if the connected app is revoked or has expired, or if its app or account is suspended. The id is the library's id of
   * its `Grant`. A repeat with the same id returns true and adds nothing.
   */
  addConnection(connection: NewConnection): Promise<boolean>
  /**
   * Returns a connection with the current terms of its connected app. Undefined if it cannot be used now because it has
   * ended, its connected app is revoked or has expired, or the app or the account is suspended.
   */
  findConnection(id: string): Promise<Connection | undefined>
  /**
   * Ends a connection. Every token, code and refresh token of it is refused, in every process within a second, even one
   * that is saved later. Its connected app and the other connections stay. Records in the history who did it, by default
   * the app. Returns whether it changed anything.
   */
  endConnection(id: string, reason: ConnectionEndReason, by?: Actor): Promise<boolean>
}

/**
 * - `replayed`: a code or a refresh token was used again
 * - `revoked`: the app returned its token (RFC 7009)
 * - `removed`: the user or an operator removed the device
 * - `unused`: all its codes and tokens have expired
 */
export type ConnectionEndReason = 'replayed' | 'revoked' | 'removed' | 'unused'

export interface NewConnection {
  readonly id: string
  readonly account: string
  readonly appId: string
  /** A name for the device, for its user. */
  readonly label?: string
}

export interface Connection {
  readonly id: string
  readonly account: string
  readonly appId: string
  /** The scopes of the connected app. */
  readonly scopes: readonly string[]
  readonly createdAt: number
  /** The expiry of the connected app. Absent if it has none. */
  readonly endsAt?: number
}

/** The access tokens of connections. They are in the same table as an operator's tokens, which the router resolves. */
export interface ConnectTokens {
  /**
   * Stores an access token and notes that its connection was used. The first one adds the device to the history. A
   * token of an ended connection is stored, but refused. Returns false, and stores nothing, if the connection does not
   * exist. A repeat changes nothing.
   */
  saveToken(token: NewConnectToken): Promise<boolean>
  /** Returns an access token of a connection if a call with it would be admitted now. For introspection. */
  findToken(token: string): Promise<ConnectToken | undefined>
  /** Revokes one access token of a connection, in every process within a second. Returns whether it changed anything. */
  revokeToken(token: string): Promise<boolean>
}

export interface NewConnectToken {
  /** Must be created by `createToken('access-token')`, or the router refuses it without a look-up. */
  readonly token: string
  readonly connectionId: string
  /** Some of the connected app's scopes. Scopes that the connected app loses later no longer apply. */
  readonly scopes: readonly string[]
  readonly expiresAt: number
}

export interface ConnectToken {
  readonly connectionId: string
  readonly account: string
  readonly appId: string
  readonly scopes: readonly string[]
  readonly createdAt: number
  /** The earlier of the token's and the connected app's expiry. */
  readonly expiresAt: number
}

/** The rows that the OAuth library keeps, by model and id. */
export interface OauthRows {
  /** Adds a row, or replaces its payload, expiry and connection. Does not change whether it is consumed. */
  putOauth(row: NewOauthRow): Promise<void>
  /** Returns an unexpired row, even if it is consumed. */
  findOauth(model: OauthModel, id: string): Promise<OauthRow | undefined>
  /**
   * Marks a row as consumed, in one conditional update. Of any number of concurrent attempts, exactly one is `first`.
   * Returns undefined if the row does not exist or has expired.
   */
  consumeOauth(model: OauthModel, id: string): Promise<Consumption | undefined>
  /** Deletes a row if it exists. */
  destroyOauth(model: OauthModel, id: string): Promise<void>
}

export type OauthModel = 'Interaction' | 'AuthorizationCode' | 'RefreshToken'

export interface NewOauthRow {
  readonly model: OauthModel
  readonly id: string
  /** Only set for a code and a refresh token. */
  readonly connectionId?: string
  /** Plain JSON, without the id. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt: number
}

export interface OauthRow {
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt: number
  /** How long ago the row was consumed, in milliseconds. Absent if it was not. */
  readonly consumedMsAgo?: number
}

export interface Consumption {
  /** Whether this call consumed the row. */
  readonly first: boolean
  /** How long ago the row was consumed, in milliseconds; 0 for the first. */
  readonly msAgo: number
}
