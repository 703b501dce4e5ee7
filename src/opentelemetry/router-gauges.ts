import type { BatchObservableResult, Meter } from '@opentelemetry/api'
import type { LabelBook } from './labels.js'

/** As much of a router as is observed. */
export interface ObservedRouter {
  readonly openHolds: number
  routes(): readonly ObservedRoute[]
}

export interface ObservedRoute {
  readonly routeId: string
  readonly provider: string
  readonly state: 'closed' | 'half-open' | 'open'
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  readonly failureRate: number
}

const STATES: readonly ObservedRoute['state'][] = ['closed', 'half-open', 'open']

/** What routers say of themselves when they are asked. */
export class RouterGauges {
  private readonly routers = new Set<ObservedRouter>()
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
    if (this.routers.size === 0) this.meter.addBatchObservableCallback(this.report, this.instruments())
    this.routers.add(router)
    return () => {
      const was = this.routers.delete(router)
      if (was && this.routers.size === 0) {
        this.meter.removeBatchObservableCallback(this.report, this.instruments())
      }
    }
  }

  private instruments() {
    return [this.openHolds, this.state, this.failureRate, this.firstToken, this.throughput]
  }

  private readonly report = (result: BatchObservableResult): void => {
    let openHolds = 0
    for (const router of this.routers) {
      openHolds += router.openHolds
      for (const route of router.routes()) this.reportRoute(result, route)
    }
    result.observe(this.openHolds, openHolds)
  }

  private reportRoute(result: BatchObservableResult, route: ObservedRoute): void {
    const attributes = {
      'compat_router.route.id': this.labels.route.of(route.routeId),
      'gen_ai.provider.name': this.labels.provider.of(route.provider),
    }
    for (const state of STATES) {
      const value = route.state === state ? 1 : 0
      result.observe(this.state, value, { ...attributes, 'compat_router.route.state': state })
    }
    result.observe(this.failureRate, route.failureRate, attributes)
    if (route.firstTokenMs !== undefined)
      result.observe(this.firstToken, route.firstTokenMs / 1_000, attributes)
    if (route.tokensPerSecond !== undefined)
      result.observe(this.throughput, route.tokensPerSecond, attributes)
  }
}
