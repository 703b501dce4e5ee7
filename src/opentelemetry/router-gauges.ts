import type { Attributes, BatchObservableResult, Meter } from '@opentelemetry/api'
import { Observed } from '../base/observed.js'
import type { RouteHealth } from '../contracts/route-health.js'
import { isWorse, ROUTE_STATES } from '../rules/route-states.js'
import { type LabelBook, OTHER } from './labels.js'
import { PROVIDER_NAME } from './names.js'

/** The part of a router that is observed. */
export interface ObservedRouter {
  readonly openHolds: number
  routes(): readonly RouteHealth[]
}

interface KnownRoute {
  readonly attributes: Attributes
  /** Undefined if no observed router still has the route. */
  now: RouteHealth | undefined
}

/** Metrics that are read from routers at each export. */
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
      description: '1 for the current state of a route, 0 for the others.',
    })
    this.failureRate = meter.createObservableGauge('compat_router.route.failure_rate', {
      unit: '1',
      description: 'Share of the latest calls of a route that failed, a moving average.',
    })
    this.firstToken = meter.createObservableGauge('compat_router.route.time_to_first_token', {
      unit: 's',
      description: 'From the request to a route to its first token, a moving average.',
    })
    this.throughput = meter.createObservableGauge('compat_router.route.throughput', {
      unit: '{token}/s',
      description: 'Tokens per second of a route, a moving average.',
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
    // Removed routes must still be reported, as 0, because the SDK repeats the last value that it received.
    for (const known of this.routes.values()) known.now = undefined
    for (const router of this.routers.items) {
      openHolds += router.openHolds
      for (const route of router.routes()) this.gather(route)
    }
    result.observe(this.openHolds, openHolds)
    for (const { attributes, now } of this.routes.values()) this.reportRoute(result, attributes, now)
  }

  /** Keeps the worst health of a route that several routers have, and of all routes that are `_other`. */
  private gather(route: RouteHealth): void {
    const id = this.labels.route.of(route.routeId)
    const provider = id === OTHER ? OTHER : this.labels.provider.of(route.provider)
    const key = JSON.stringify([id, provider])
    const attributes = { 'compat_router.route.id': id, [PROVIDER_NAME]: provider }
    const known = this.routes.get(key) ?? { attributes, now: undefined }
    if (known.now === undefined || isWorse(route, known.now)) known.now = route
    this.routes.set(key, known)
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
    if (route?.firstTokenMs !== undefined) {
      result.observe(this.firstToken, route.firstTokenMs / 1_000, attributes)
    }
    if (route?.tokensPerSecond !== undefined) {
      result.observe(this.throughput, route.tokensPerSecond, attributes)
    }
  }
}
