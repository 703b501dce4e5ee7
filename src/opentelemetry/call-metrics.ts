import type { Attributes, Meter } from '@opentelemetry/api'
import type { RequestEnd, RouteAttempt, RouterEvent } from '../contracts/events.js'
import type { Charge } from '../contracts/ledger.js'
import { CreditTotals } from './credit-totals.js'
import { createInstruments, type Instruments } from './instruments.js'
import type { LabelBook } from './labels.js'
import { callsModel, ERROR_TYPE, OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL, TOKEN_TYPE } from './names.js'

type Incident = Exclude<RouterEvent['type'], 'request-start' | 'request-end'>

/** Each counter starts at 0, so that an alert sees the first incident. */
const INCIDENTS: Readonly<Record<Incident, true>> = {
  'charge-failed': true,
  'hold-expired': true,
  'claim-lost': true,
  'usage-implausible': true,
  'reply-mended': true,
  'request-trimmed': true,
  'call-abandoned': true,
  'store-fault': true,
  'calls-dropped': true,
  'body-consumed': true,
  'route-disabled': true,
  'route-misconfigured': true,
  'route-restored': true,
  'watch-lost': true,
  'watch-restored': true,
  'process-cleared': true,
  'totals-behind': true,
  fault: true,
}

/** Records events as metrics. */
export class CallMetrics {
  private readonly instruments: Instruments
  private readonly credits: CreditTotals
  private behindMs = 0

  constructor(
    meter: Meter,
    private readonly labels: LabelBook,
  ) {
    this.instruments = createInstruments(meter)
    this.credits = new CreditTotals(meter)
    const behind = meter.createObservableGauge('compat_router.totals.behind', {
      unit: 's',
      description: 'How long charges have waited for the kept totals, once that is longer than a minute.',
    })
    meter.addBatchObservableCallback((result) => result.observe(behind, this.behindMs / 1_000), [behind])
    const { incidents, overdrafts } = this.instruments
    overdrafts.add(0)
    for (const incident of Object.keys(INCIDENTS)) incidents.add(0, { 'compat_router.incident': incident })
  }

  record(event: RouterEvent): void {
    const { active, incidents } = this.instruments
    switch (event.type) {
      case 'request-start':
        active.add(1, { 'compat_router.operation': event.operation })
        return
      case 'request-end':
        active.add(-1, { 'compat_router.operation': event.operation })
        this.recordEnd(event)
        return
      case 'charge-failed':
        this.credits.addUnsettled(event.request.charge.cost)
        break
      case 'totals-behind':
        this.behindMs = event.behindMs
    }
    incidents.add(1, { 'compat_router.incident': event.type })
  }

  private recordEnd(event: RequestEnd): void {
    const { operation } = event
    const outcome = this.labels.outcome.of(event.outcome)
    this.instruments.requests.add(1, {
      'compat_router.operation': operation,
      'compat_router.outcome': outcome,
    })
    if (callsModel(operation)) this.recordCall(event, outcome)
  }

  private recordCall(event: RequestEnd, outcome: string): void {
    const { charge, durationMs, facts, operation, overdraft, routing, stream } = event
    if (routing !== undefined) this.countAttempts(routing.attempts)
    if (overdraft !== undefined) this.instruments.overdrafts.add(1)
    const route: Attributes = {
      ...(facts?.provider !== undefined && { [PROVIDER_NAME]: this.labels.provider.of(facts.provider) }),
      ...(facts !== undefined && { [REQUEST_MODEL]: this.labels.model.of(facts.model) }),
    }
    const call = { [OPERATION_NAME]: operation, ...route }
    const isCompleted = event.outcome === 'completed'
    this.instruments.duration.record(
      inSeconds(durationMs),
      isCompleted ? call : { ...call, [ERROR_TYPE]: outcome },
    )
    if (charge !== undefined) {
      this.countCharge(charge, route)
      this.instruments.tokenUsage.record(charge.usage.prompt, { ...call, [TOKEN_TYPE]: 'input' })
      this.instruments.tokenUsage.record(charge.usage.completion, { ...call, [TOKEN_TYPE]: 'output' })
    }
    if (stream === true && isCompleted) this.measureStream(event, call)
  }

  private countAttempts(attempts: readonly RouteAttempt[]): void {
    for (const { outcome, routeId } of attempts) {
      this.instruments.attempts.add(1, {
        'compat_router.route.id': this.labels.route.of(routeId),
        'compat_router.outcome': this.labels.outcome.of(outcome),
      })
    }
  }

  private countCharge(charge: Charge, route: Attributes): void {
    const { basis, byok, usage } = charge
    this.credits.addCharge(charge, {
      ...route,
      'compat_router.charge.basis': basis,
      'compat_router.byok': byok,
    })
    this.countTokens('input', usage.prompt - usage.cached - usage.cacheWrite, route)
    this.countTokens('cached', usage.cached, route)
    this.countTokens('cache_write', usage.cacheWrite, route)
    this.countTokens('output', usage.completion - usage.reasoning, route)
    this.countTokens('reasoning', usage.reasoning, route)
  }

  private countTokens(kind: string, tokens: number, route: Attributes): void {
    if (tokens > 0) this.instruments.tokens.add(tokens, { ...route, 'compat_router.token.kind': kind })
  }

  private measureStream({ charge, firstTokenMs, providerMs }: RequestEnd, call: Attributes): void {
    if (firstTokenMs === undefined) return
    this.instruments.firstToken.record(inSeconds(firstTokenMs), call)
    const furtherTokens = (charge?.usage.completion ?? 0) - 1
    if (furtherTokens <= 0 || providerMs === undefined) return
    this.instruments.perToken.record(inSeconds(providerMs - firstTokenMs) / furtherTokens, call)
  }
}

/** If the clock was set back during a call, its times are negative, and the SDK would ignore them. */
const inSeconds = (ms: number): number => Math.max(0, ms) / 1_000
