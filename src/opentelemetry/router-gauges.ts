import type { Attributes, BatchObservableResult, Meter } from '@opentelemetry/api'
import { Observed } from '../contracts/observed.js'
import { isWorse, ROUTE_STATES, type RouteHealth } from '../contracts/route-health.js'
import { type LabelBook, OTHER } from './labels.js'
import { PROVIDER_NAME } from './names.js'
import { getOrMake } from './totals.js'

/** As much of a router as is observed. */
export interface ObservedRouter {
  readonly openHolds: number
  routes(): readonly RouteHealth[]
}

interface KnownRoute {
  readonly attributes: Attributes
  now: RouteHealth | undefined
}

/** What routers say of themselves when they are asked. */
export class RouterGauges {
  private readonly routers = new Observed<ObservedRouter>()
  private readonly routes = new Map<string, KnownRoute>()
  private isReporting = false
  private readonly openHolds
  private readonly state
  private readonly failureRate
  private readonly firstToken
  private readonly throughput

  constructor(
    private readonly meter: Meter,
    private readonly labels: LabelBook,
  ) {
    this.openHolds = meter.createObservableUpDownCounter('compat_router.holds.open', {
      unit: '{hold}',
      description: 'Holds that are neither settled nor released yet.',
    })
    this.state = meter.createObservableUpDownCounter('compat_router.route.state', {
      unit: '1',
      description: '1 for the state that a route is in, 0 for the others.',
    })
    this.failureRate = meter.createObservableGauge('compat_router.route.failure_rate', {
      unit: '1',
      description: 'The share of the latest calls of a route that failed, a moving average.',
    })
    this.firstToken = meter.createObservableGauge('compat_router.route.time_to_first_token', {
      unit: 's',
      description: 'From dialling a route to its first token, a moving average.',
    })
    this.throughput = meter.createObservableGauge('compat_router.route.throughput', {
      unit: '{token}/s',
      description: 'Tokens a second of a route, a moving average.',
    })
  }

  observe(router: ObservedRouter): () => void {
    if (!this.isReporting) {
      const { openHolds, state, failureRate, firstToken, throughput } = this
      const instruments = [openHolds, state, failureRate, firstToken, throughput]
      this.meter.addBatchObservableCallback((result) => this.report(result), instruments)
      this.isReporting = true
    }
    return this.routers.add(router)
  }

  private report(result: BatchObservableResult): void {
    let openHolds = 0
    // What is no longer told must be said to be over: the SDK goes on with the last value that it heard.
    for (const known of this.routes.values()) known.now = undefined
    for (const router of this.routers.items) {
      openHolds += router.openHolds
      for (const route of router.routes()) this.gather(route)
    }
    result.observe(this.openHolds, openHolds)
    for (const { attributes, now } of this.routes.values()) this.reportRoute(result, attributes, now)
  }

  /** Of a route that several routers have, or of all `_other` ones, keeps what tells of the most trouble. */
  private gather(route: RouteHealth): void {
    const id = this.labels.route.of(route.routeId)
    const provider = id === OTHER ? OTHER : this.labels.provider.of(route.provider)
    const known = getOrMake(this.routes, JSON.stringify([id, provider]), () => ({
      attributes: { 'compat_router.route.id': id, [PROVIDER_NAME]: provider },
      now: undefined,
    }))
    if (known.now === undefined || isWorse(route, known.now)) known.now = route
  }

  private reportRoute(
    result: BatchObservableResult,
    attributes: Attributes,
    route: RouteHealth | undefined,
  ): void {
    for (const state of ROUTE_STATES) {
      const value = route?.state === state ? 1 : 0
      result.observe(this.state, value, { ...attributes, 'compat_router.route.state': state })
    }
    result.observe(this.failureRate, route?.failureRate ?? 0, attributes)
    if (route?.firstTokenMs !== undefined)
      result.observe(this.firstToken, route.firstTokenMs / 1_000, attributes)
    if (route?.tokensPerSecond !== undefined)
      result.observe(this.throughput, route.tokensPerSecond, attributes)
  }
}
