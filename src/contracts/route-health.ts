/** The recent health of a route. */
export interface RouteHealth {
  readonly routeId: string
  readonly provider: string
  /** `open`: it failed, is tried last, and may refuse calls. `half-open`: its next call, or the one under way, decides. */
  readonly state: 'closed' | 'half-open' | 'open'
  /** Moving averages, absent before the first measurement. */
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  /** From 0 to 1. */
  readonly failureRate: number
}

/** From best to worst. */
export const ROUTE_STATES: readonly RouteHealth['state'][] = ['closed', 'half-open', 'open']

/** Whether one report of a route is worse than another. */
export function isWorse(route: RouteHealth, than: RouteHealth): boolean {
  const more = ROUTE_STATES.indexOf(route.state) - ROUTE_STATES.indexOf(than.state)
  return more > 0 || (more === 0 && route.failureRate > than.failureRate)
}
