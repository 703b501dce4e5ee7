import { CompatError } from '../../base/errors.js'
import type { Mutable } from '../../base/mutable.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { RoutingExplanation } from '../../contracts/events.js'
import type { RefusedCall, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { isSecret } from '../../protocol/secret-search.js'
import { notServed } from '../admission/find-model.js'
import { servesParameters, unlistedParameters } from '../admission/parameters.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { askStore } from '../asking/stores.js'
import { andThen } from '../asking/within.js'
import type { PriceReader } from '../charging/quote.js'
import { faultyStore } from '../failures/store-failures.js'
import type { Keep, RouteChoiceRequest } from './route-choice-request.js'
import { routeFault } from './route-fault.js'
import type { RouteHealthBook } from './route-health.js'
import { orderRoutes } from './route-order.js'
import { applyPreferences, checkNames } from './route-preferences.js'
import { RoutePrices } from './route-prices.js'

export interface RouteChoice {
  /** In the order in which to try them. Never empty. */
  readonly routes: readonly Route[]
  /** How each of them takes the request. May have further routes. */
  readonly calls: ReadonlyMap<Route, RoutedCall>
  readonly explanation: Omit<RoutingExplanation, 'attempts'>
}

/** Returns all routes of a model in the registry. */
export function findRoutes(
  model: Model,
  context: LazyContext,
  options: EngineOptions,
): Awaitable<readonly Route[]> {
  const answer = askStore('providers', options, context, () => options.providers.routes(model, context))
  return andThen(answer, (routes) => {
    const why = faultOf(routes)
    if (why === undefined) return routes
    throw faultyStore('providers', options, context.requestId, why)
  })
}

function faultOf(routes: unknown): string | undefined {
  if (!Array.isArray(routes)) return 'routes() did not return a list'
  for (const route of routes) {
    const why = routeFault(route)
    if (why !== undefined) return why
  }
  return undefined
}

const NONE_EXCLUDED: RoutingExplanation['excluded'] = Object.freeze([])

/**
 * Chooses the routes that may serve a call, best first, and explains the choice. Throws if there is none.
 *
 * Filters by `enabled`, then by the pin or the caller's preferences. Orders by the caller's preference, otherwise by
 * session, weights or prices. Failing routes move behind the others. Whether such a route refuses the call is decided
 * when it is tried.
 */
export function chooseRoutes(
  call: RouteChoiceRequest,
  health: RouteHealthBook,
  readPrices: PriceReader,
): RouteChoice {
  const { asked, model } = call
  const { providerKey, routing } = asked.own
  health.noticeChanges(model.id, call.routes)
  let excluded: { routeId: string; why: string }[] | undefined
  const keep: Keep = (routes, why, wanted) => {
    let kept: Route[] | undefined
    for (let at = 0; at < routes.length; at++) {
      const route = routes[at]!
      if (wanted(route)) kept?.push(route)
      else {
        kept ??= routes.slice(0, at)
        excluded ??= []
        excluded.push({ routeId: route.id, why: typeof why === 'string' ? why : why(route) })
      }
    }
    return kept ?? routes
  }
  const onlyFirst = (routes: readonly Route[], why: string): readonly Route[] =>
    keep(routes, why, (route) => route === routes[0])
  const { able, calls, serving } = servingRoutes(call, keep)
  const explain = (
    routes: readonly Route[],
    chosenBy: RoutingExplanation['chosenBy'],
    behind: RoutingExplanation['behind'],
  ): RouteChoice => {
    const explanation: Mutable<RouteChoice['explanation']> = {
      considered: routes.map(({ id }) => id),
      excluded: excluded ?? NONE_EXCLUDED,
      chosenBy,
    }
    if (behind !== undefined) explanation.behind = behind
    return { routes, calls, explanation }
  }
  const prices = new RoutePrices(model, readPrices, call.plan)
  const isPriced = (route: Route): boolean => prices.known(route)

  if (providerKey !== undefined) {
    const pinned = pinnedRoutes(call, able, serving, keep)
    if (routing !== undefined) checkNames(routing, call)
    const { routes } = orderRoutes(pinned, undefined, call, health, prices)
    const { ordered, behind } = moveTroubled(routes, health)
    return explain(onlyFirst(ordered, 'another route of the pinned provider is first'), 'pin', behind)
  }

  const shared = keep(serving, "only for a caller's own key", (route) => route.byok !== 'only')
  if (shared.length === 0) {
    throw new CompatError(
      'no_route_available',
      call.routes.length === 0
        ? `The model '${model.id}' has no route: no provider is set up to serve it.`
        : `No provider serves the model '${model.id}' just now.`,
    )
  }
  const wanted = routing === undefined ? shared : applyPreferences(routing, call, shared, keep, prices)
  // If no route has a price, the quote reports the fault.
  const priced = wanted.some(isPriced) ? keep(wanted, 'has no price', isPriced) : wanted
  const { routes, orderedBy } = orderRoutes(priced, routing, call, health, prices)
  const { ordered, behind } = moveTroubled(routes, health)
  const chosenBy = ordered.length === 1 ? 'only-route' : orderedBy
  if (routing === undefined || routing.allowFallbacks || routing.order !== undefined) {
    return explain(ordered, chosenBy, behind)
  }
  return explain(onlyFirst(ordered, 'routing.allow_fallbacks is false'), chosenBy, behind)
}

interface ServingRoutes {
  /** The enabled routes that serve the operation. */
  readonly able: readonly Route[]
  /** Those of them that can carry this request and may be sent its parameters. */
  readonly serving: readonly Route[]
  readonly calls: ReadonlyMap<Route, RoutedCall>
}

/** Asks each enabled route how it takes the request. Throws if none does. */
function servingRoutes(
  { asked, model, operation, plan, routes }: RouteChoiceRequest,
  keep: Keep,
): ServingRoutes {
  const calls = new Map<Route, RoutedCall>()
  let refusals: Map<Route, RefusedCall> | undefined
  const onCallersKey = asked.own.providerKey !== undefined
  const enabled = keep(routes, 'disabled', (route) => route.enabled !== false)
  const able = keep(enabled, `does not serve ${operation.name}`, (route) => {
    const answer = plan.on(route, onCallersKey)
    if (answer === undefined) return false
    if ('refused' in answer) {
      refusals ??= new Map()
      refusals.set(route, answer)
    } else calls.set(route, answer)
    return true
  })
  if (able.length === 0 && enabled.length > 0) throw notServed(operation, model)
  const taking = refusals === undefined ? able : withoutRefusals(able, refusals, keep)
  if (asked.unlisted.length === 0 || taking.length === 0) return { able, serving: taking, calls }
  const serving = keep(taking, 'may not be sent a parameter of the request', (route) =>
    servesParameters(asked, model, route),
  )
  if (serving.length === 0) throw unlistedParameters(asked, model)
  return { able, serving, calls }
}

/** Returns the routes that can carry the request. Throws the error of the first if none can. */
function withoutRefusals(
  routes: readonly Route[],
  refusals: ReadonlyMap<Route, RefusedCall>,
  keep: Keep,
): readonly Route[] {
  const left = keep(
    routes,
    (route) => refusals.get(route)!.refused,
    (route) => !refusals.has(route),
  )
  if (left.length === 0) throw refusals.get(routes[0]!)!.error
  return left
}

function pinnedRoutes(
  { asked, model }: RouteChoiceRequest,
  able: readonly Route[],
  serving: readonly Route[],
  keep: Keep,
): readonly Route[] {
  const { provider } = asked.own
  const named = keep(serving, 'not the pinned provider', (route) => route.provider === provider)
  const pinned = keep(named, "takes no caller's key", takesCallersKey)
  if (pinned.length > 0) return pinned
  const names = [...new Set(able.filter(takesCallersKey).map((route) => route.provider))]
  throw new CompatError(
    'provider_not_enabled',
    `The provider named in provider does not serve the model '${model.id}' with a caller's own key. ${
      names.length === 0 ? 'No provider does.' : `Those that do are: ${names.join(', ')}.`
    }`,
    { param: 'provider' },
  )
}

/**
 * A made-up key must buy nothing. It may only replace a key that the provider requires, unless the host says that keys
 * are checked.
 */
function takesCallersKey({ adapter, byok, secret }: Route): boolean {
  if (adapter.takesKeys !== true) return false
  // A registry over a database table may return null for an absent member.
  return byok === 'only' || (byok === 'yes' && (adapter.hasKey === true || isSecret(secret?.reveal() ?? '')))
}

function moveTroubled(
  routes: readonly Route[],
  health: RouteHealthBook,
): { ordered: readonly Route[]; behind: RoutingExplanation['behind'] } {
  if (!routes.some((route) => health.troubleOf(route) !== undefined))
    return { ordered: routes, behind: undefined }
  const first: Route[] = []
  const last: Route[] = []
  const behind: { routeId: string; why: string }[] = []
  for (const route of routes) {
    const why = health.troubleOf(route)
    if (why === undefined) first.push(route)
    else {
      last.push(route)
      behind.push({ routeId: route.id, why })
    }
  }
  return { ordered: [...first, ...last], behind }
}
