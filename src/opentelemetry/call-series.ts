import type { Attributes } from '@opentelemetry/api'
import type { RequestEnd } from '../contracts/events.js'
import type { Charge } from '../contracts/ledger.js'
import type { Credits } from '../money.js'
import type { CallHistograms } from './call-histograms.js'
import type { CallTotals } from './call-totals.js'
import type { Series } from './histograms.js'
import { CHAT, ERROR_TYPE, OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL, TOKEN_TYPE } from './names.js'
import { getOrMake, type Row } from './totals.js'

const COMPLETED = 'completed'

interface ChargeRows {
  readonly charged: Row<Credits>
  readonly markup: Row<Credits>
  readonly shortfall: Row<Credits>
}

/** The calls of one model at one provider: their sums and measures, each made when the first call needs it. */
export class CallSeries {
  private readonly identity: Attributes
  private readonly common: Attributes
  private readonly tokens = new Map<string, Row<number>>()
  private readonly charges = new Map<string, ChargeRows>()
  private readonly failures = new Map<string, Series>()
  private completed: Series | undefined
  private firstToken: Series | undefined
  private perToken: Series | undefined
  private input: Series | undefined
  private output: Series | undefined

  constructor(
    private readonly totals: CallTotals,
    private readonly histograms: CallHistograms,
    model: string | undefined,
    provider: string | undefined,
  ) {
    this.identity = {
      ...(provider !== undefined && { [PROVIDER_NAME]: provider }),
      ...(model !== undefined && { [REQUEST_MODEL]: model }),
    }
    this.common = { [OPERATION_NAME]: CHAT, ...this.identity }
  }

  /** `outcome` is that of the event as a label. */
  end(event: RequestEnd, outcome: string): void {
    const { charge, durationMs } = event
    this.durationAt(outcome).record(inSeconds(durationMs))
    if (charge !== undefined) {
      this.count(charge)
      this.input ??= this.tokenUsage('input')
      this.input.record(charge.usage.prompt)
      this.output ??= this.tokenUsage('output')
      this.output.record(charge.usage.completion)
    }
    if (event.stream === true && outcome === COMPLETED) this.measureStream(event)
  }

  private measureStream({ charge, firstTokenMs, providerMs }: RequestEnd): void {
    if (firstTokenMs === undefined) return
    this.firstToken ??= this.histograms.firstToken.series(this.common)
    this.firstToken.record(inSeconds(firstTokenMs))
    const more = (charge?.usage.completion ?? 0) - 1
    if (more <= 0 || providerMs === undefined) return
    this.perToken ??= this.histograms.perToken.series(this.common)
    this.perToken.record(inSeconds(providerMs - firstTokenMs) / more)
  }

  /** With `error.type` where a call was not completed. */
  private durationAt(outcome: string): Series {
    const { duration } = this.histograms
    if (outcome === COMPLETED) {
      this.completed ??= duration.series(this.common)
      return this.completed
    }
    return getOrMake(this.failures, outcome, () => duration.series({ ...this.common, [ERROR_TYPE]: outcome }))
  }

  private tokenUsage(type: string): Series {
    return this.histograms.tokenUsage.series({ ...this.common, [TOKEN_TYPE]: type })
  }

  private count({ basis, byok, cost, markup, shortfall, usage }: Charge): void {
    const rows = this.charges.get(byok ? `${basis} byok` : basis) ?? this.chargeRows(basis, byok)
    rows.charged.total += cost
    if (markup !== 0n) rows.markup.total += markup
    if (shortfall !== undefined) rows.shortfall.total += shortfall
    this.countTokens('input', usage.prompt - usage.cached - usage.cacheWrite)
    this.countTokens('cached', usage.cached)
    this.countTokens('cache_write', usage.cacheWrite)
    this.countTokens('output', usage.completion - usage.reasoning)
    this.countTokens('reasoning', usage.reasoning)
  }

  private countTokens(kind: string, tokens: number): void {
    if (tokens === 0) return
    const row = this.tokens.get(kind) ?? this.tokenRow(kind)
    row.total += tokens
  }

  private tokenRow(kind: string): Row<number> {
    const row = this.totals.tokens.row({ ...this.identity, 'compat_router.token.kind': kind })
    this.tokens.set(kind, row)
    return row
  }

  private chargeRows(basis: Charge['basis'], byok: boolean): ChargeRows {
    const attributes = {
      ...this.identity,
      'compat_router.charge.basis': basis,
      'compat_router.byok': byok,
    }
    const rows = {
      charged: this.totals.charged.row(attributes),
      markup: this.totals.markup.row(attributes),
      shortfall: this.totals.shortfall.row(attributes),
    }
    this.charges.set(byok ? `${basis} byok` : basis, rows)
    return rows
  }
}

/** A clock that was set back while a call ran makes times below 0, which the SDK would not count. */
const inSeconds = (ms: number): number => Math.max(0, ms) / 1_000
