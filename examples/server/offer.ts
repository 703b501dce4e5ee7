import type { Admin, RouteListing } from 'compat-router/admin'
import type { OfferedModel } from './models.js'
import type { UpstreamSettings } from './settings.js'

/** How the routes that settings make begin; all others are an operator's. */
const ROUTE_PREFIX = 'settings:'
const PROVIDER = 'upstream'

/**
 * Puts what the settings offer into the stores, and takes out what former settings offered. What an operator added, or
 * changed about a model or a route, stays; the address and the key of a route follow the settings.
 */
export async function offer(
  admin: Admin,
  offered: readonly OfferedModel[],
  { baseUrl, apiKey }: UpstreamSettings,
): Promise<void> {
  const [models, routes] = await Promise.all([admin.listModels(), admin.listRoutes()])
  const isThere = new Set(models.map(({ id }) => id))
  const former = new Map(
    routes.filter(({ id }) => id.startsWith(ROUTE_PREFIX)).map((route) => [route.model, route] as const),
  )
  for (const { id, prices, priceVersion, upstreamModel } of offered) {
    if (!isThere.has(id)) await admin.putModel({ id, prices, priceVersion })
    await admin.putRoute({
      ...kept(former.get(id)),
      id: `${ROUTE_PREFIX}${id}`,
      model: id,
      provider: PROVIDER,
      adapter: 'openai',
      upstreamModel,
      settings: { baseUrl },
      secret: apiKey ?? null,
    })
    former.delete(id)
  }
  const ofOperator = new Set(
    routes.filter(({ id }) => !id.startsWith(ROUTE_PREFIX)).map(({ model }) => model),
  )
  for (const route of former.values()) {
    await admin.removeRoute(route.id)
    if (!ofOperator.has(route.model)) await admin.removeModel(route.model)
  }
}

function kept(route: RouteListing | undefined): Partial<RouteListing> {
  if (route === undefined) return {}
  const { secretKeyId: _, ...definition } = route
  return definition
}
