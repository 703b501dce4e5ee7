import type { Meter } from '@opentelemetry/api'
import type { RequestEnd, RouteAttempt, RouterEvent } from '../contracts/events.js'
import type { Credits } from '../money.js'
import { CallHistograms } from './call-histograms.js'
import { CallSeries } from './call-series.js'
import { CallTotals } from './call-totals.js'
import type { CreateHistogram } from './histograms.js'
import type { LabelBook } from './labels.js'
import { getOrMake, type Row } from './totals.js'

type Incident = Exclude<RouterEvent['type'], 'request-start' | 'request-end'>

/** Of these there are series from the beginning, so that an alert sees the first one. */
const INCIDENTS: Readonly<Record<Incident, true>> = {
  'charge-failed': true,
  'hold-expired': true,
  'claim-lost': true,
  'usage-implausible': true,
  'request-trimmed': true,
  'call-abandoned': true,
  'store-fault': true,
  'body-consumed': true,
  'route-disabled': true,
  fault: true,
}

/** Counts and measures what events tell. What it looks up for each call is by strings that are there already. */
export class CallMetrics {
  private readonly histograms: CallHistograms
  private readonly totals: CallTotals
  private readonly overdrafts: Row<number>
  private readonly unsettled: Row<Credits>
  private readonly incidents = new Map<string, Row<number>>()
  private readonly active = new Map<string, Row<number>>()
  /** By operation and outcome, labels both; so is what follows. */
  private readonly requests = new Map<string, Map<string, Row<number>>>()
  /** By route and outcome. */
  private readonly attempts = new Map<string, Map<string, Row<number>>>()
  /** By model and provider. */
  private readonly calls = new Map<string | undefined, Map<string | undefined, CallSeries>>()
  /** Of the last call, since the next one is often of the same model. */
  private last:
    | {
        readonly model: string | undefined
        readonly provider: string | undefined
        readonly series: CallSeries
      }
    | undefined

  constructor(
    meter: Meter,
    createHistogram: CreateHistogram,
    private readonly labels: LabelBook,
  ) {
    this.histograms = new CallHistograms(createHistogram)
    this.totals = new CallTotals(meter)
    this.overdrafts = this.totals.overdrafts.row({})
    this.unsettled = this.totals.unsettled.row({})
    for (const incident of Object.keys(INCIDENTS)) {
      this.incidents.set(incident, this.totals.incidents.row({ 'compat_router.incident': incident }))
    }
  }

  record(event: RouterEvent): void {
    switch (event.type) {
      case 'request-start':
        this.activeOf(event.operation).total++
        return
      case 'request-end':
        this.activeOf(event.operation).total--
        this.end(event)
        return
      case 'charge-failed':
        this.unsettled.total += event.request.charge.cost
    }
    const incident = this.incidents.get(event.type)
    if (incident !== undefined) incident.total++
  }

  private end(event: RequestEnd): void {
    const { facts, operation } = event
    const requests =
      this.requests.get(operation)?.get(event.outcome) ?? this.requestRow(operation, event.outcome)
    requests.total++
    if (operation !== 'chat') return
    if (event.routing !== undefined) this.countAttempts(event.routing.attempts)
    if (event.overdraft !== undefined) this.overdrafts.total++
    this.seriesOf(facts?.model, facts?.provider).end(event, this.labels.outcome.of(event.outcome))
  }

  private countAttempts(attempts: readonly RouteAttempt[]): void {
    for (const { outcome, routeId } of attempts) {
      const row = this.attempts.get(routeId)?.get(outcome) ?? this.attemptRow(routeId, outcome)
      row.total++
    }
  }

  private attemptRow(routeId: string, outcome: string): Row<number> {
    const routeLabel = this.labels.route.of(routeId)
    const outcomeLabel = this.labels.outcome.of(outcome)
    const ofRoute = getOrMake(this.attempts, routeLabel, () => new Map<string, Row<number>>())
    return getOrMake(ofRoute, outcomeLabel, () =>
      this.totals.attempts.row({
        'compat_router.route.id': routeLabel,
        'compat_router.outcome': outcomeLabel,
      }),
    )
  }

  private requestRow(operation: string, outcome: string): Row<number> {
    const label = this.labels.outcome.of(outcome)
    const ofOperation = getOrMake(this.requests, operation, () => new Map<string, Row<number>>())
    return getOrMake(ofOperation, label, () =>
      this.totals.requests.row({
        'compat_router.operation': operation,
        'compat_router.outcome': label,
      }),
    )
  }

  private activeOf(operation: string): Row<number> {
    return this.active.get(operation) ?? this.activeRow(operation)
  }

  private activeRow(operation: string): Row<number> {
    const row = this.totals.active.row({ 'compat_router.operation': operation })
    this.active.set(operation, row)
    return row
  }

  private seriesOf(model: string | undefined, provider: string | undefined): CallSeries {
    const { last } = this
    if (last !== undefined && last.model === model && last.provider === provider) return last.series
    const series = this.findSeries(model, provider)
    this.last = { model, provider, series }
    return series
  }

  private findSeries(model: string | undefined, provider: string | undefined): CallSeries {
    const known = this.calls.get(model)?.get(provider)
    if (known !== undefined) return known
    const modelLabel = model && this.labels.model.of(model)
    const providerLabel = provider && this.labels.provider.of(provider)
    const ofModel = getOrMake(this.calls, modelLabel, () => new Map<string | undefined, CallSeries>())
    return getOrMake(
      ofModel,
      providerLabel,
      () => new CallSeries(this.totals, this.histograms, modelLabel, providerLabel),
    )
  }
}
