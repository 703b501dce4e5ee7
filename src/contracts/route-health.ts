import type { ErrorCode } from '../base/errors.js'

/**
 * The fault that a provider finds with the host, whoever calls: its key, an account without credit, or the name of the
 * model.
 */
export type RouteFlaw = 'key' | 'credit' | 'model'

/** The recent health of a route. */
export interface RouteHealth {
  readonly routeId: string
  readonly provider: string
  /**
   * `open`: it failed, is tried last, and may refuse calls. `half-open`: the next or the running call decides.
   * `misconfigured`: its provider refuses the host's key, its account or the model. It is tried last, but refuses no
   * call.
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
  /** The reason in words, as in `RouteAttempt`. */
  readonly why: string
}
