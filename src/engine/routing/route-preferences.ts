import { CompatError } from '../../base/errors.js'
import { type Credits, parseCredits } from '../../base/money.js'
import { BASIS, type MarkupTerms, type PriceRow } from '../../base/prices.js'
import type { Route } from '../../contracts/providers.js'
import type { RoutingPreferences } from '../../protocol/request-fields/own-fields.js'
import { supportsAll } from '../admission/parameters.js'
import type { Keep, RouteChoiceRequest } from './route-choice-request.js'
import type { RoutePrices } from './route-prices.js'

const MAX_DETAILS = 20

/** Refuses a preference for a provider that the model does not have, enabled or not. It is probably a typo. */
export function checkNames(routing: RoutingPreferences, { model, routes }: RouteChoiceRequest): void {
  const known = new Set(routes.map((route) => route.provider))
  for (const list of ['order', 'only', 'ignore'] as const) {
    for (const [position, name] of (routing[list] ?? []).entries()) {
      if (known.has(name)) continue
      throw new CompatError(
        'invalid_request',
        `routing.${list}.${position} names no provider of the model '${model.id}'. Its providers are: ${[...known].join(', ')}.`,
        { param: `routing.${list}.${position}` },
      )
    }
  }
}

/** Returns the routes that match a caller's preferences. Throws if there is none. */
export function applyPreferences(
  routing: RoutingPreferences,
  call: RouteChoiceRequest,
  routes: readonly Route[],
  keep: Keep,
  prices: RoutePrices,
): readonly Route[] {
  checkNames(routing, call)
  const { asked, model, operation } = call
  const { allowFallbacks, ignore, maxPrice, only, order, requireParameters } = routing
  const refused: { provider: string; message: string }[] = []
  let left = routes
  const want = (why: string, wanted: (route: Route) => boolean): void => {
    left = keep(left, why, (route) => {
      const kept = wanted(route)
      if (!kept) refused.push({ provider: route.provider, message: why })
      return kept
    })
  }
  if (only !== undefined) want('not in routing.only', (route) => only.includes(route.provider))
  if (ignore !== undefined) want('in routing.ignore', (route) => !ignore.includes(route.provider))
  if (order !== undefined && !allowFallbacks) {
    want('not in routing.order', (route) => order.includes(route.provider))
  }
  if (maxPrice !== undefined) {
    const within = withinPrice(maxPrice, call.markup)
    want('over routing.max_price', (route) => prices.rows(route).every(within))
  }
  if (requireParameters) {
    want('lacks a parameter of the request', (route) => supportsAll(operation, asked, model, route))
  }
  if (left.length > 0) return left
  throw new CompatError(
    'no_route_matches',
    `No provider of the model '${model.id}' matches the routing preferences. Relax them in routing.`,
    { param: 'routing', details: refused.slice(0, MAX_DETAILS) },
  )
}

/**
 * Compares prices as the caller pays them, with the markup of its app. A route without prices is within any limit, since
 * its quote refuses it.
 */
function withinPrice(
  maxPrice: NonNullable<RoutingPreferences['maxPrice']>,
  { basisPoints, flat }: MarkupTerms,
): (row: PriceRow) => boolean {
  const limits = (['input', 'output', 'request'] as const).flatMap((part): [typeof part, Credits][] => {
    const limit = maxPrice[part]
    return limit === undefined ? [] : [[part, parseCredits(limit, `routing.max_price.${part}`)]]
  })
  return (row) =>
    limits.every(([part, limit]) => {
      const prices = part === 'output' ? [row.output, row.reasoning] : [row[part]]
      const more = part === 'request' ? flat * BASIS : 0n
      return prices.every((price) => price * (BASIS + basisPoints) + more <= limit * BASIS)
    })
}
