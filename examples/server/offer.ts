import type { Admin, RouteListing } from 'compat-router/admin'
import type { OfferedModel } from './models.js'
import type { UpstreamSettings } from './settings.js'

/** Prefix of the routes that come from settings. All other routes are an operator's. */
const ROUTE_PREFIX = 'settings:'
const PROVIDER = 'upstream'

/**
 * Writes the models and routes of the settings to the stores, and removes those of former settings. Models and routes
 * that an operator added stay, and so do an operator's changes. Only a route's URL and key always follow the settings.
 */
export async function offer(
  admin: Admin,
  offered: readonly OfferedModel[],
  { baseUrl, apiKey }: UpstreamSettings,
): Promise<void> {
  const [models, routes] = await Promise.all([admin.models.list(), admin.routes.list()])
  const existing = new Set(models.map(({ id }) => id))
  const former = new Map(
    routes.filter(({ id }) => id.startsWith(ROUTE_PREFIX)).map((route) => [route.model, route] as const),
  )
  for (const { id, prices, priceVersion, upstreamModel } of offered) {
    if (!existing.has(id)) await admin.models.put({ id, prices, priceVersion })
    await admin.routes.put({
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
    await admin.routes.remove(route.id)
    if (!ofOperator.has(route.model)) await admin.models.remove(route.model)
  }
}

function kept(route: RouteListing | undefined): Partial<RouteListing> {
  if (route === undefined) return {}
  const { secretKeyId: _, ...definition } = route
  return definition
}
