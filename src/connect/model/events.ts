/** An event in Connect. It contains ids of rows, but no token, code, cookie or address of a client. */
export type ConnectEvent =
  | AppConnected
  | AppDenied
  | ConnectionEnded
  | TokenReused
  | TokenReusedInGrace
  | AuthorizationRefused
  | RateLimited
  | ConnectFault

/** A user has connected an app on another device, with or without the page. */
export interface AppConnected {
  readonly type: 'app-connected'
  readonly account: string
  readonly appId: string
  readonly credentialId: string
  readonly connectionId: string
  /** Whether the user has just approved on the page. Otherwise an earlier consent covered the request. */
  readonly asked: boolean
}

/** A user has refused an app. */
export interface AppDenied {
  readonly type: 'app-denied'
  readonly account: string
  readonly appId: string
}

/** An app has revoked its tokens. */
export interface ConnectionEnded {
  readonly type: 'connection-ended'
  readonly connectionId: string
}

/** A code or a refresh token was used again. All tokens of its connection are revoked. */
export interface TokenReused {
  readonly type: 'token-reused'
  readonly connectionId: string
  readonly token: 'code' | 'refresh-token'
}

/**
 * A refresh token was used again within 10 seconds of its first use, and gave another pair. That happens if a reply was
 * lost or two tabs refresh at once. If it happens repeatedly, somebody may be using a copy of the token.
 */
export interface TokenReusedInGrace {
  readonly type: 'token-reused-in-grace'
  readonly connectionId: string
  /** How long ago it was first used, in milliseconds. */
  readonly msAgo: number
}

/** A request was refused with an OAuth error. */
export interface AuthorizationRefused {
  readonly type: 'connect-refused'
  readonly where: 'authorize' | 'token' | 'revoke' | 'introspect' | 'ask'
  readonly error: string
  /** Absent if the client is unknown. */
  readonly appId?: string
}

/** A request was refused with 429. */
export interface RateLimited {
  readonly type: 'connect-rate-limited'
  readonly where: 'authorize' | 'token' | 'revoke' | 'introspect' | 'ask'
}

/** A fault occurred. The user or the app was answered with 500 or 503. */
export interface ConnectFault {
  readonly type: 'connect-fault'
  readonly where: string
  readonly error: { readonly name: string; readonly message: string }
}
