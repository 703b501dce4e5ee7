import { Observed } from '../../base/observed.js'
import type { CallInFlight, RouteHealth } from '../../contracts/index.js'
import { requireMethods } from '../../rules/option-checks.js'
import { isWorse } from '../../rules/route-states.js'

/** The part of a router that the console shows. */
export interface ObservedRouter {
  calls(): readonly CallInFlight[]
  routes(): readonly RouteHealth[]
}

/** The routers of this process, read whenever somebody looks. */
export class ObservedRouters {
  private readonly routers = new Observed<ObservedRouter>()

  /** Returns a function that stops it. Throws a `TypeError` if the value is not a router. */
  observe(router: ObservedRouter): () => void {
    requireMethods('observe: router', router, ['calls', 'routes'])
    return this.routers.add(router)
  }

  /** In no order. */
  calls(): CallInFlight[] {
    return [...this.routers.items].flatMap((router) => router.calls())
  }

  /** Sorted by id. A route that several routers share is shown in its worst state. */
  routes(): RouteHealth[] {
    const byId = new Map<string, RouteHealth>()
    for (const router of this.routers.items) {
      for (const route of router.routes()) {
        const known = byId.get(route.routeId)
        if (known === undefined || isWorse(route, known)) byId.set(route.routeId, route)
      }
    }
    return [...byId.values()].sort((one, other) => (one.routeId < other.routeId ? -1 : 1))
  }
}
