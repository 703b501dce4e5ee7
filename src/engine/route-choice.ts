import type { Model } from '../contracts/catalogue.js'
import type { RoutingExplanation } from '../contracts/events.js'
import type { Route } from '../contracts/providers.js'
import { CompatError } from '../errors.js'
import { type Credits, parseCredits } from '../money.js'
import type { PriceRow } from '../prices.js'
import type { OwnFields, ParsedChatRequest, RoutingPreferences } from '../protocol/chat-request.js'
import { unsupportedBy } from './parameters.js'
import type { PriceReader } from './quote.js'
import type { RouteHealthBook } from './route-health.js'
import { rankByKey } from './route-rank.js'

export interface RouteChoiceRequest {
  readonly routes: readonly Route[]
  readonly model: Model
  readonly request: ParsedChatRequest
  readonly account: string
  /** Spreads calls that belong to no session. */
  readonly requestId: string
}

export interface RouteChoice {
  /** In the order in which they are to be tried. Never empty. */
  readonly routes: readonly Route[]
  readonly explanation: Omit<RoutingExplanation, 'attempts'>
}

type Excluded = { routeId: string; why: string }

/** Which routes may serve a call, best first, and why. Throws where none may. */
export function chooseRoutes(
  call: RouteChoiceRequest,
  health: RouteHealthBook,
  readPrices: PriceReader,
): RouteChoice {
  const { model, request } = call
  const { own } = request
  const excluded: Excluded[] = []
  const keep = (routes: readonly Route[], why: string, wanted: (route: Route) => boolean): Route[] =>
    routes.filter((route) => {
      const kept = wanted(route)
      if (!kept) excluded.push({ routeId: route.id, why })
      return kept
    })

  const enabled = keep(call.routes, 'disabled', (route) => route.enabled !== false)
  if (own.providerKey !== undefined) {
    const pinned = keep(enabled, 'not the pinned provider', (route) => route.provider === own.provider)
    const open = keep(pinned, "takes no caller's key", (route) => route.byok !== 'no')
    if (open.length === 0) {
      throw new CompatError(
        'provider_not_enabled',
        `The provider '${own.provider}' does not serve the model '${model.id}' here, or takes no key of a caller's.`,
        { param: 'provider' },
      )
    }
    return explained(sortByHealth(open, health).slice(0, 1), excluded, 'pin')
  }

  const shared = keep(enabled, "only for a caller's own key", (route) => route.byok !== 'only')
  if (shared.length === 0) {
    throw new CompatError('no_route_available', `No provider serves the model '${model.id}' just now.`)
  }
  const wanted = own.routing === undefined ? shared : applyWishes(own.routing, call, keep, shared, readPrices)
  const { order, chosenBy } = arrange(wanted, call, health, readPrices)
  const routes = sortByHealth(order, health)
  const fallbacks = own.routing?.allowFallbacks !== false || own.routing.order !== undefined
  return explained(
    fallbacks ? routes : routes.slice(0, 1),
    excluded,
    routes.length === 1 ? 'only-route' : chosenBy,
  )
}

function explained(
  routes: readonly Route[],
  excluded: readonly Excluded[],
  chosenBy: RoutingExplanation['chosenBy'],
): RouteChoice {
  return { routes, explanation: { considered: routes.map((route) => route.id), excluded, chosenBy } }
}

function applyWishes(
  routing: RoutingPreferences,
  call: RouteChoiceRequest,
  keep: (routes: readonly Route[], why: string, wanted: (route: Route) => boolean) => Route[],
  routes: readonly Route[],
  readPrices: PriceReader,
): Route[] {
  const known = new Set(call.routes.map((route) => route.provider))
  for (const list of ['order', 'only', 'ignore'] as const) {
    for (const [position, name] of (routing[list] ?? []).entries()) {
      if (!known.has(name)) {
        throw new CompatError(
          'invalid_request',
          `routing.${list}.${position} names no provider of the model '${call.model.id}'. Its providers are: ${[...known].join(', ')}.`,
          { param: `routing.${list}.${position}` },
        )
      }
    }
  }
  const { only, ignore, order, maxPrice } = routing
  let left = routes
  if (only !== undefined) left = keep(left, 'not in routing.only', (route) => only.includes(route.provider))
  if (ignore !== undefined)
    left = keep(left, 'in routing.ignore', (route) => !ignore.includes(route.provider))
  if (order !== undefined && !routing.allowFallbacks) {
    left = keep(left, 'not in routing.order', (route) => order.includes(route.provider))
  }
  if (maxPrice !== undefined) {
    left = keep(left, 'over routing.max_price', (route) => isWithin(maxPrice, route, call.model, readPrices))
  }
  if (routing.requireParameters) {
    left = keep(left, 'lacks a parameter of the request', (route) =>
      supportsAll(route, call.model, call.request),
    )
  }
  if (left.length > 0) return [...left]
  throw new CompatError(
    'no_route_matches',
    `No provider of the model '${call.model.id}' fits the routing asked for.`,
    {
      param: 'routing',
    },
  )
}

function isWithin(
  maxPrice: NonNullable<RoutingPreferences['maxPrice']>,
  route: Route,
  model: Model,
  readPrices: PriceReader,
): boolean {
  const row = firstRow(route, model, readPrices)
  if (row === undefined) return false
  return (['input', 'output', 'request'] as const).every((part) => {
    const limit = maxPrice[part]
    return limit === undefined || row[part] <= parseCredits(limit, `routing.max_price.${part}`)
  })
}

function supportsAll(route: Route, model: Model, request: ParsedChatRequest): boolean {
  return unsupportedBy(route.supportedParameters ?? model.supportedParameters, request.forward).length === 0
}

function arrange(
  routes: readonly Route[],
  call: RouteChoiceRequest,
  health: RouteHealthBook,
  readPrices: PriceReader,
): { order: readonly Route[]; chosenBy: RoutingExplanation['chosenBy'] } {
  const { routing, sessionId }: OwnFields = call.request.own
  if (routing?.sort !== undefined) {
    const byWish = stableSort(routes, sortValue(routing.sort, call.model, health, readPrices))
    return {
      order: listedFirst(byWish, routing.order),
      chosenBy: routing.order === undefined ? 'sort' : 'order',
    }
  }
  const spread = spreadOut(routes, call, readPrices)
  if (routing?.order !== undefined) return { order: listedFirst(spread, routing.order), chosenBy: 'order' }
  return { order: spread, chosenBy: sessionId === undefined ? 'weight' : 'affinity' }
}

/** Where nobody wishes otherwise: a session stays with its route, else weights share calls out, else the cheapest is first. */
function spreadOut(
  routes: readonly Route[],
  call: RouteChoiceRequest,
  readPrices: PriceReader,
): readonly Route[] {
  const { sessionId } = call.request.own
  if (routes.length === 1) return routes
  if (sessionId !== undefined) return rankByKey([call.account, sessionId], routes)
  if (routes.some((route) => route.weight !== undefined)) return rankByKey([call.requestId], routes)
  return stableSort(routes, sortValue('price', call.model, undefined, readPrices))
}

function sortValue(
  sort: NonNullable<RoutingPreferences['sort']>,
  model: Model,
  health: RouteHealthBook | undefined,
  readPrices: PriceReader,
): (route: Route) => number | Credits {
  switch (sort) {
    case 'price':
      return (route) => {
        const row = firstRow(route, model, readPrices)
        return row === undefined ? Infinity : row.input + row.output
      }
    case 'latency':
      return (route) => health?.average(route, 'firstTokenMs') ?? Infinity
    case 'throughput':
      return (route) => -(health?.average(route, 'tokensPerSecond') ?? 0)
  }
}

/** The prices of a route below any tier, or undefined where it has none that can be read: its quote tells of that. */
function firstRow(route: Route, model: Model, readPrices: PriceReader): PriceRow | undefined {
  const prices = route.prices ?? model.prices
  try {
    return prices && readPrices(prices, 'prices')[0]?.row
  } catch {
    return undefined
  }
}

function stableSort(routes: readonly Route[], value: (route: Route) => number | Credits): Route[] {
  const valued = routes.map((route) => ({ route, value: value(route) }))
  valued.sort((one, other) => (one.value < other.value ? -1 : one.value > other.value ? 1 : 0))
  return valued.map(({ route }) => route)
}

function listedFirst(routes: readonly Route[], names: readonly string[] | undefined): Route[] {
  if (names === undefined) return [...routes]
  return stableSort(routes, (route) => {
    const position = names.indexOf(route.provider)
    return position < 0 ? names.length : position
  })
}

/** An unhealthy route is moved behind the others, never left out. */
function sortByHealth(routes: readonly Route[], health: RouteHealthBook): readonly Route[] {
  if (routes.length === 1) return routes
  return stableSort(routes, (route) => (health.isHealthy(route) ? 0 : 1))
}
