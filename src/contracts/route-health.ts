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

/** From good to bad. */
export const ROUTE_STATES: readonly RouteHealth['state'][] = ['closed', 'half-open', 'open']

/** Whether a route is doing worse, of what two routers say of one. */
export function isWorse(route: RouteHealth, than: RouteHealth): boolean {
  const more = ROUTE_STATES.indexOf(route.state) - ROUTE_STATES.indexOf(than.state)
  return more > 0 || (more === 0 && route.failureRate > than.failureRate)
}
