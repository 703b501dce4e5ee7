/** How a route has been doing. */
export interface RouteHealth {
  readonly routeId: string
  readonly provider: string
  /** `open`: it failed and is tried last; `half-open`: the next call tells. */
  readonly state: 'closed' | 'half-open' | 'open'
  /** Moving averages; absent before the first call that told. */
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  /** From 0 to 1. */
  readonly failureRate: number
}
