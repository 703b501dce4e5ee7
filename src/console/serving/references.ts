import type { Admin } from '../../admin/index.js'
import type { CallFacts, Prices } from '../../contracts/index.js'

/**
 * The current unit prices: those of the route if it has its own, otherwise those of the model. They may have changed
 * since the charge, even under the same `priceVersion` if an operator did not change it.
 */
export interface CurrentPrices {
  readonly of: 'model' | 'route'
  readonly prices: Prices
  readonly priceVersion: string | undefined
}

/** The current labels and prices of the items that calls name by id. */
export interface References {
  labelOf(credentialId: string): string | undefined
  pricesOf(facts: CallFacts): CurrentPrices | undefined
}

export const NO_REFERENCES: References = { labelOf: () => undefined, pricesOf: () => undefined }

/** The ids in a call, or in one that was refused early. */
type Named = Pick<CallFacts, 'credentialId' | 'routeId'> & Partial<Pick<CallFacts, 'model'>>

/** Looks up all items that these calls name, at once. */
export async function readReferences(
  admin: Admin,
  calls: readonly (Named | undefined)[],
): Promise<References> {
  const idsOf = (idOf: (named: Named) => string | undefined): readonly string[] => [
    ...new Set(calls.flatMap((named) => (named === undefined ? [] : (idOf(named) ?? [])))),
  ]
  const credentialIds = idsOf(({ credentialId }) => credentialId)
  if (credentialIds.length === 0) return NO_REFERENCES
  const [credentials, models, routes] = await Promise.all([
    admin.keys.list({ credentialIds }),
    admin.models.list({ modelIds: idsOf(({ model }) => model) }),
    admin.routes.list({ routeIds: idsOf(({ routeId }) => routeId) }),
  ])
  const labels = new Map(credentials.map(({ credentialId, label }) => [credentialId, label]))
  const modelsById = new Map(models.map((model) => [model.id, model]))
  const routesById = new Map(routes.map((route) => [route.id, route]))
  return {
    labelOf: (credentialId) => labels.get(credentialId),
    pricesOf({ model: modelId, routeId }) {
      const model = modelsById.get(modelId)
      const ofRoute = routeId === undefined ? undefined : routesById.get(routeId)?.prices
      const prices = ofRoute ?? model?.prices
      if (prices === undefined) return undefined
      return { of: ofRoute === undefined ? 'model' : 'route', prices, priceVersion: model?.priceVersion }
    },
  }
}
