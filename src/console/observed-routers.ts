import type { CallInFlight, RouteHealth } from '../contracts/index.js'
import { requireMethods } from '../contracts/option-checks.js'

/** As much of a router as the console shows. */
export interface ObservedRouter {
  calls(): readonly CallInFlight[]
  routes(): readonly RouteHealth[]
}

/** The routers of this process, asked whenever somebody looks. */
export class ObservedRouters {
  private readonly routers = new Set<ObservedRouter>()

  /** Throws a `TypeError` for what is no router. Returns what ends it. */
  observe(router: ObservedRouter): () => void {
    requireMethods('observe: router', router, ['calls', 'routes'])
    this.routers.add(router)
    return () => {
      this.routers.delete(router)
    }
  }

  /** In no order. */
  calls(): CallInFlight[] {
    return [...this.routers].flatMap((router) => router.calls())
  }

  /** Sorted by id. */
  routes(): RouteHealth[] {
    const routes = [...this.routers].flatMap((router) => router.routes())
    return routes.sort((one, other) => (one.routeId < other.routeId ? -1 : 1))
  }
}
