import type { ErrorCode } from '../base/errors.js'

/**
 * What a provider refuses to the host, whoever calls: its key, service to an account without credit, or the name of the
 * model.
 */
export type RouteFlaw = 'key' | 'credit' | 'model'

/** The recent health of a route. */
export interface RouteHealth {
  readonly routeId: string
  readonly provider: string
  /**
   * `open`: it failed, is tried last, and may refuse calls. `half-open`: its next call, or the one under way, decides.
   * `misconfigured`: its provider refuses the host's key, its account or the model. It is tried last, and refuses no call.
   */
  readonly state: 'closed' | 'half-open' | 'open' | 'misconfigured'
  /** What is misconfigured. */
  readonly flaw?: RouteFlaw
  /** The latest failure that was not a refusal of the request. */
  readonly lastError?: RouteError
  /** Moving averages, absent before the first measurement. */
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  /** From 0 to 1. */
  readonly failureRate: number
}

export interface RouteError {
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  /** The error code of the attempt. */
  readonly outcome: ErrorCode
  /** In words, as in `RouteAttempt`. */
  readonly why: string
}
