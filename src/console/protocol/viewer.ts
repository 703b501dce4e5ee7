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
  /** Where the router is on this origin, such as `/compat/v1`: the base URL of the playground's calls. */
  readonly routerPath: string
  /** To be posted to with `{}`, relative to the mount; then reload. Absent if the host has its own way. */
  readonly signOutPath?: string
  /** Of the package. */
  readonly version: string
}

/** What is going on. Meant to be asked for once a second. */
export interface LiveReply {
  readonly at: number
  /** Newest first, at most 500. A user sees those of its account. */
  readonly inFlight: readonly InFlightCall[]
  /** More are in flight than are shown. */
  readonly isCut: boolean
  /** Sorted by id. Empty for a user, and where the console observes no router. */
  readonly routes: readonly RouteHealth[]
}

export interface InFlightCall {
  readonly requestId: string
  /** Absent for calls of other processes. */
  readonly startedAt?: number
  /** Absent before the credential and the model are known: then only a start is. */
  readonly account?: string
  readonly model?: string
  readonly appId?: string
  readonly provider?: string
  readonly routeId?: string
  readonly sessionId?: string
  /** What is set aside. */
  readonly holdAmount?: string
  /** Whether this process has it under way. Otherwise another one has, or one that is gone. */
  readonly isHere?: boolean
  /** When what is set aside is freed, if no process settles it before. Absent where `isHere`. */
  readonly freedAt?: number
}
