import { Observed } from '../../base/observed.js'
import type { CallInFlight, RouteHealth } from '../../contracts/index.js'
import { readOptions, withMethods } from '../../rules/read-options.js'
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
    readOptions(withMethods<ObservedRouter>('calls', 'routes'), router, 'observe', { field: 'router' })
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
