import type { EngineOptions } from '../../contracts/engine-options.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { type Asking, askStore } from '../asking/stores.js'
import type { PriceReader } from '../charging/quote.js'
import { faultyStore } from '../failures/store-failures.js'
import { chooseRoutes, type RouteChoice } from './route-choice.js'
import type { RouteChoiceRequest } from './route-choice-request.js'
import type { RouteHealthBook } from './route-health.js'

export interface Routing {
  readonly options: Asking & Pick<EngineOptions, 'providers' | 'newId'>
  readonly health: RouteHealthBook
  readonly readPrices: PriceReader
}

/** Asks the registry for the routes of a model and chooses among them. Throws if none may serve the request. */
export async function findRoutes(
  { account, asked, model, operation, plan }: Omit<RouteChoiceRequest, 'routes' | 'spreadKey'>,
  context: LazyContext,
  { health, options, readPrices }: Routing,
): Promise<RouteChoice> {
  const routes = await askStore('providers', options, context, () => options.providers.routes(model, context))
  if (!Array.isArray(routes)) {
    throw faultyStore('providers', options, context.requestId, 'routes() did not return a list')
  }
  return chooseRoutes(
    { account, asked, model, operation, plan, routes, spreadKey: options.newId },
    health,
    readPrices,
  )
}
