import type { RouteHealth } from '../contracts/route-health.js'

/** From best to worst. */
export const ROUTE_STATES: readonly RouteHealth['state'][] = ['closed', 'half-open', 'open', 'misconfigured']

/** Whether one report of a route is worse than another. */
export function isWorse(route: RouteHealth, than: RouteHealth): boolean {
  const more = ROUTE_STATES.indexOf(route.state) - ROUTE_STATES.indexOf(than.state)
  return more > 0 || (more === 0 && route.failureRate > than.failureRate)
}
