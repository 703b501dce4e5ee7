import type { Meter } from '@opentelemetry/api'
import type { Operation, RequestEnd, RouterEvent } from '../contracts/events.js'
import type { Credits } from '../money.js'
import { CallSeries } from './call-series.js'
import { CallTotals } from './call-totals.js'
import type { CreateHistogram, Histogram } from './histograms.js'
import type { LabelBook } from './labels.js'
import { DURATION_BUCKETS, FIRST_TOKEN_BUCKETS, PER_TOKEN_BUCKETS, TOKEN_BUCKETS } from './names.js'
import { getOrMake, type Row } from './totals.js'

type Incident = Exclude<RouterEvent['type'], 'request-start' | 'request-end'>

/** Of these there are series from the beginning, so that an alert sees the first one. */
const INCIDENTS: Readonly<Record<Incident, true>> = {
  'charge-failed': true,
  'hold-expired': true,
  'claim-lost': true,
  'usage-implausible': true,
  'call-abandoned': true,
  'store-fault': true,
  'body-consumed': true,
  'route-disabled': true,
  fault: true,
}

/** Counts and measures what events tell. What it looks up for each call is by strings that are there already. */
export class CallMetrics {
  private readonly duration: Histogram
  private readonly firstToken: Histogram
  private readonly perToken: Histogram
  private readonly tokenUsage: Histogram
  private readonly totals: CallTotals
  private readonly overdrafts: Row<number>
  private readonly unsettled: Row<Credits>
  private readonly incidents = new Map<string, Row<number>>()
  private readonly active = new Map<Operation, Row<number>>()
  /** By operation and outcome. */
  private readonly requests = new Map<Operation, Map<string, Row<number>>>()
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
    const seconds = (name: string, description: string, boundaries: number[]) =>
      createHistogram({ name, unit: 's', description, boundaries })
    this.duration = seconds(
      'gen_ai.server.request.duration',
      'From a request to the end of its reply.',
      DURATION_BUCKETS,
    )
    this.firstToken = seconds(
      'gen_ai.server.time_to_first_token',
      'From dialling a provider to its first token, of streams that were completed.',
      FIRST_TOKEN_BUCKETS,
    )
    this.perToken = seconds(
      'gen_ai.server.time_per_output_token',
      'Time for each output token after the first, of streams that were completed.',
      PER_TOKEN_BUCKETS,
    )
    this.tokenUsage = createHistogram({
      name: 'gen_ai.client.token.usage',
      unit: '{token}',
      description: 'Tokens of a call, as they were charged.',
      boundaries: TOKEN_BUCKETS,
    })
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
    const { charge, facts, firstTokenMs, operation, providerMs } = event
    const outcome = this.labels.outcome.of(event.outcome)
    const requests = this.requests.get(operation)?.get(outcome) ?? this.requestRow(operation, outcome)
    requests.total++
    if (operation !== 'chat') return
    if (event.routing !== undefined) this.countAttempts(event.routing.attempts)
    const call = this.seriesOf(facts?.model, facts?.provider)
    if (charge !== undefined) call.count(charge)
    if (event.overdraft !== undefined) this.overdrafts.total++
    this.duration.record(inSeconds(event.durationMs), call.attributesAt(outcome))
    if (charge !== undefined) {
      this.tokenUsage.record(charge.usage.prompt, call.input)
      this.tokenUsage.record(charge.usage.completion, call.output)
    }
    if (event.stream !== true || outcome !== 'completed' || firstTokenMs === undefined) return
    this.firstToken.record(inSeconds(firstTokenMs), call.common)
    const more = (charge?.usage.completion ?? 0) - 1
    if (more > 0 && providerMs !== undefined) {
      this.perToken.record(inSeconds(providerMs - firstTokenMs) / more, call.common)
    }
  }

  private countAttempts(attempts: readonly { readonly routeId: string; readonly outcome: string }[]): void {
    for (const attempt of attempts) {
      const route = this.labels.route.of(attempt.routeId)
      const outcome = this.labels.outcome.of(attempt.outcome)
      const ofRoute = this.attempts.get(route)
      const row = ofRoute?.get(outcome) ?? this.attemptRow(route, outcome)
      row.total++
    }
  }

  private attemptRow(route: string, outcome: string): Row<number> {
    const row = this.totals.attempts.row({
      'compat_router.route.id': route,
      'compat_router.outcome': outcome,
    })
    getOrMake(this.attempts, route, () => new Map<string, Row<number>>()).set(outcome, row)
    return row
  }

  private requestRow(operation: Operation, outcome: string): Row<number> {
    const row = this.totals.requests.row({
      'compat_router.operation': operation,
      'compat_router.outcome': outcome,
    })
    getOrMake(this.requests, operation, () => new Map<string, Row<number>>()).set(outcome, row)
    return row
  }

  private activeOf(operation: Operation): Row<number> {
    return this.active.get(operation) ?? this.activeRow(operation)
  }

  private activeRow(operation: Operation): Row<number> {
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
    return getOrMake(ofModel, providerLabel, () => new CallSeries(this.totals, modelLabel, providerLabel))
  }
}

/** A clock that was set back while a call ran makes times below 0, which the SDK would not count. */
const inSeconds = (ms: number): number => Math.max(0, ms) / 1_000
