import type { RouteHealth } from '../../contracts/route-health.js'

/** `field` is a path into the query or the body, such as `prices.input`. */
export interface ErrorReply {
  readonly error: { readonly message: string; readonly field?: string }
}

export type Viewer =
  | { readonly kind: 'operator'; readonly name?: string }
  | { readonly kind: 'user'; readonly account: string; readonly name?: string }

export interface MeReply {
  readonly viewer: Viewer
  /** The router's path on this origin, such as `/compat/v1`: the base URL of the playground's calls. */
  readonly routerPath: string
  /** Relative to the mount. POST `{}` to it, then reload. Absent if the host has its own sign-out. */
  readonly signOutPath?: string
  /** Whether the viewer's account may publish apps. */
  readonly publishes: boolean
  /** The version of the package. */
  readonly version: string
}

/** The current activity. Pages ask for it once a second. */
export interface LiveReply {
  readonly at: number
  /** Newest first, at most 500. A user sees only its own account's calls. */
  readonly inFlight: readonly InFlightCall[]
  /** Whether more calls are in flight than are shown. */
  readonly isCut: boolean
  /** Sorted by id. Empty for a user, or if the console observes no router. */
  readonly routes: readonly RouteHealth[]
}

export interface InFlightCall {
  readonly requestId: string
  /** Absent for calls of other processes. */
  readonly startedAt?: number
  /** Absent until the credential and the model are known. */
  readonly account?: string
  readonly model?: string
  readonly appId?: string
  readonly provider?: string
  readonly routeId?: string
  readonly sessionId?: string
  /** The credits on hold. */
  readonly holdAmount?: string
  /** Whether the call runs in this process. If not, it runs in another one, or ran in one that has stopped. */
  readonly isHere?: boolean
  /** When the hold is freed, if no process settles it before. Absent if `isHere`. */
  readonly freedAt?: number
}
