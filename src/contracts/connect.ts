import type { Markup } from './credentials.js'

/**
 * The rows behind Connect, the authorization server for users' apps: apps, grants, connections (devices), and the
 * server's own requests, codes and tokens. The durable stores have it as `connect`.
 *
 * Tokens, codes and request ids are given as they are, and only their SHA-256 is stored. A rejection means
 * that the database cannot answer. Times are milliseconds since the Unix epoch, by the database's clock.
 */
export interface ConnectStore extends ConnectApps, ConnectGrants, Connections, ConnectTokens, OauthRows {
  /**
   * Deletes at most `limit` rows of each kind: OAuth rows that have expired, access tokens of connections that expired 12
   * hours ago, connections that ended 30 days ago, and those that are an hour old and have had no token. Ends connections that
   * have no other rows left. Returns the number of
   * rows, so that the caller goes on until it is 0.
   */
  sweep(limit: number): Promise<number>
}

/** The apps that Connect knows. Administration writes them. */
export interface ConnectApps {
  /** Returns an app as it is in force, also if it is suspended. Undefined if it is not registered. */
  findApp(id: string): Promise<ConnectApp | undefined>
  /** Returns the logo with this hash, if it is the app's present one. */
  findLogo(appId: string, hash: string): Promise<AppLogo | undefined>
}

/** An app that users can connect. */
export interface ConnectApp {
  readonly id: string
  readonly name?: string
  /** Where users may be sent, each one that `redirectUriFault` accepts. Empty if nobody can connect it. */
  readonly redirectUris: readonly string[]
  readonly allowedModels: readonly string[]
  readonly markup: Markup
  /** An https address. */
  readonly site?: string
  readonly logo?: AppLogoReference
  /** The app's wish for the cap of a period, as a decimal string of credits. */
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
  /** The account, or the word of the kind. */
  readonly name: string
}

/** The grants of users to apps. A grant is the credential of its tokens: its id is their `credentialId`. */
export interface ConnectGrants {
  /**
   * Returns the live grant of an account to an app: the one that is not revoked. There is at most one. It may have ended,
   * and its app or account may be suspended; a new consent renews it.
   */
  findGrant(account: string, appId: string): Promise<ConnectGrant | undefined>
  /**
   * Stores the answer of a user who agreed, in one transaction: creates the live grant, or replaces the scopes, models,
   * markup, end, cap and its rule of the existing one, which keeps its id, and appends the terms to the history. If that one had
   * ended, its connections and sessions stay ended; otherwise they go on.
   * Returns undefined, and changes nothing, if the app does not exist or is suspended, or if the account is suspended.
   */
  consent(consent: Consent): Promise<{ readonly grantId: string } | undefined>
  /**
   * Revokes the live grant of an account to an app, with everything that came of it, and appends to the history who did.
   * Every process knows within a second. Returns whether there was one.
   */
  revokeGrant(account: string, appId: string, by: Actor): Promise<boolean>
  /**
   * Returns what an account has spent with an app in the present period, also without a cap, and also if the grant was
   * revoked in between: connecting again does not start a fresh period. Includes the credits on hold under a cap.
   */
  spentInPeriod(account: string, appId: string, period: CapPeriod): Promise<bigint>
}

export interface ConnectGrant {
  /** The `credentialId` of its tokens. */
  readonly id: string
  readonly account: string
  readonly appId: string
  readonly scopes: readonly string[]
  /** The models that were consented to. A call may use those that the app still has. */
  readonly models: readonly string[]
  /** The markup that was consented to. A call pays the smaller of it and the app's present one. */
  readonly markup: Markup
  readonly cap?: Cap
  /** What the host asked of the cap. Absent if it asked for nothing. */
  readonly capRule?: CapRule
  /** Absent if the grant has no end. */
  readonly endsAt?: number
  readonly createdAt: number
}

/** What an app may spend of an account in each calendar period. It counts everything that the user pays. */
export interface Cap extends CapPeriod {
  /** In 10^-9 credit. */
  readonly amount: bigint
}

/** What a host asks of the caps that its users set. An operator is not bound by it. */
export interface CapRule extends CapPeriod {
  /** Whether there must be a cap. */
  readonly required: boolean
  /** The highest cap of a period `per`, in 10^-9 credit. */
  readonly max?: bigint
}

export interface CapPeriod {
  readonly per: 'day' | 'month'
  /** A time zone such as `'Europe/Berlin'`; UTC by default. */
  readonly zone?: string
}

export interface Consent {
  readonly account: string
  readonly appId: string
  readonly scopes: readonly string[]
  readonly models: readonly string[]
  readonly markup: Markup
  /** Without one, the app may spend everything that the account has, and an earlier cap ends. */
  readonly cap?: Cap
  readonly capRule?: CapRule
  readonly endsAt?: number
  /** The app's name as the page showed it, and the host where the user was sent, for the history. */
  readonly appName: string
  readonly redirectHost: string
}

/** The connections of grants: one for each authorisation, thus for each device. They share the grant's cap and terms. */
export interface Connections {
  /**
   * Adds a connection to the live grant of an account to an app. It is a device, in lists and in the history, once it has an
   * access token: the browser may stop before the app gets its code. Returns false, and changes nothing, if
   * there is no grant that can be used: it is revoked or has ended, or its app or account is suspended. The id is the
   * library's id of its `Grant`. A repeat with the same id returns true and adds nothing.
   */
  addConnection(connection: NewConnection): Promise<boolean>
  /**
   * Returns a connection with the present terms of its grant. Undefined unless it can be used now: it is also absent if it
   * has ended, if its grant is revoked or has ended, and if the app or the account is suspended.
   */
  findConnection(id: string): Promise<Connection | undefined>
  /**
   * Ends a connection: every token, code and refresh token of it is refused, in every process within a second, also one
   * that is saved afterwards. Its grant and the other connections stay. Appends to the history who did it: the app, if
   * nobody is given. Returns whether it changed anything.
   */
  endConnection(id: string, reason: ConnectionEndReason, by?: Actor): Promise<boolean>
}

/**
 * - `replayed`: a code or a refresh token was presented again, after it had been used
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
  /** The scopes of the grant. */
  readonly scopes: readonly string[]
  readonly createdAt: number
  /** The end of the grant. Absent if it has none. */
  readonly endsAt?: number
}

/** The access tokens of connections. They are rows of the same table as an operator's, which the router resolves. */
export interface ConnectTokens {
  /**
   * Stores an access token and notes that its connection was used; the first one adds the device to the history. A token of a connection that has ended is stored, but
   * refused. Returns false, and stores nothing, if there is no such connection. A repeat changes nothing.
   */
  saveToken(token: NewConnectToken): Promise<boolean>
  /** Returns an access token of a connection if a call with it would be admitted now: for introspection. */
  findToken(token: string): Promise<ConnectToken | undefined>
  /** Revokes one access token of a connection, in every process within a second. Returns whether it changed anything. */
  revokeToken(token: string): Promise<boolean>
}

export interface NewConnectToken {
  /** Made by `createToken('access-token')`, or the router refuses it without a look-up. */
  readonly token: string
  readonly connectionId: string
  /** Some of the grant's scopes. Those that the grant loses later do not count. */
  readonly scopes: readonly string[]
  readonly expiresAt: number
}

export interface ConnectToken {
  readonly connectionId: string
  readonly account: string
  readonly appId: string
  readonly scopes: readonly string[]
  readonly createdAt: number
  /** The earlier one of the token's and the grant's end. */
  readonly expiresAt: number
}

/** The rows that the OAuth library keeps, by model and id. */
export interface OauthRows {
  /** Adds a row, or replaces its payload, expiry and connection. Leaves a consumption alone. */
  putOauth(row: NewOauthRow): Promise<void>
  /** Returns a row that has not expired, also if it is consumed. */
  findOauth(model: OauthModel, id: string): Promise<OauthRow | undefined>
  /**
   * Marks a row as consumed, in one conditional update: of any number of attempts at once, exactly one is `first`. Returns
   * undefined if there is no such row, or if it has expired.
   */
  consumeOauth(model: OauthModel, id: string): Promise<Consumption | undefined>
  /** Deletes a row if it exists. */
  destroyOauth(model: OauthModel, id: string): Promise<void>
}

export type OauthModel = 'Interaction' | 'AuthorizationCode' | 'RefreshToken'

export interface NewOauthRow {
  readonly model: OauthModel
  readonly id: string
  /** Only for a code and a refresh token. */
  readonly connectionId?: string
  /** Plain JSON. Leave the id out of it. */
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
