import type { Credits } from '../../base/money.js'
import type { RoutingExplanation } from '../../contracts/events.js'
import type { Route } from '../../contracts/providers.js'
import type { RoutingPreferences } from '../../protocol/request-fields/own-fields.js'
import type { RouteChoiceRequest } from './route-choice-request.js'
import type { RouteHealthBook } from './route-health.js'
import type { RoutePrices } from './route-prices.js'
import { rankByKey } from './route-rank.js'

interface Ordered {
  readonly routes: readonly Route[]
  readonly orderedBy: RoutingExplanation['chosenBy']
}

/** Orders routes by the caller's preferences. Equal routes are ordered by {@link spreadOut}. */
export function orderRoutes(
  routes: readonly Route[],
  routing: RoutingPreferences | undefined,
  call: RouteChoiceRequest,
  health: RouteHealthBook,
  prices: RoutePrices,
): Ordered {
  if (routes.length === 1) return { routes, orderedBy: 'only-route' }
  let ordered = spreadOut(routes, call, prices)
  if (routing?.sort !== undefined) {
    const value = sortValue(routing.sort, health, prices)
    ordered = { routes: stableSort(ordered.routes, value), orderedBy: 'sort' }
  }
  if (routing?.order === undefined) return ordered
  return { routes: listedFirst(ordered.routes, routing.order), orderedBy: 'order' }
}

/** Keeps a session on its route. Otherwise distributes by weight, or puts the cheapest first; ties keep the host's order. */
function spreadOut(
  routes: readonly Route[],
  { account, asked, spreadKey }: RouteChoiceRequest,
  prices: RoutePrices,
): Ordered {
  const { sessionId } = asked.own
  if (sessionId !== undefined) {
    return { routes: rankByKey([account, sessionId], routes), orderedBy: 'affinity' }
  }
  if (routes.some(({ weight }) => weight !== undefined && weight !== null)) {
    return { routes: rankByKey([spreadKey()], routes), orderedBy: 'weight' }
  }
  return { routes: stableSort(routes, priceOf(prices)), orderedBy: 'price' }
}

type Value = (route: Route) => number | Credits

function sortValue(
  sort: NonNullable<RoutingPreferences['sort']>,
  health: RouteHealthBook,
  prices: RoutePrices,
): Value {
  switch (sort) {
    case 'price':
      return priceOf(prices)
    // A route without measurements comes first, or it would never be measured.
    case 'latency':
      return (route) => health.average(route, 'firstTokenMs') ?? 0
    case 'throughput':
      return (route) => -(health.average(route, 'tokensPerSecond') ?? Infinity)
  }
}

/** Routes are compared by the price of a call with 1,000 tokens of input and 1,000 of output. A million has so many. */
const CALLS_A_MILLION = 1_000n

function priceOf(prices: RoutePrices): Value {
  return (route) => {
    const row = prices.row(route)
    return row === undefined ? Infinity : row.input + row.output + row.request * CALLS_A_MILLION
  }
}

function stableSort(routes: readonly Route[], value: Value): readonly Route[] {
  const valued = routes.map((route) => ({ route, value: value(route) }))
  valued.sort((one, other) => (one.value < other.value ? -1 : one.value > other.value ? 1 : 0))
  return valued.map(({ route }) => route)
}

function listedFirst(routes: readonly Route[], names: readonly string[]): readonly Route[] {
  return stableSort(routes, (route) => {
    const position = names.indexOf(route.provider)
    return position < 0 ? names.length : position
  })
}
