import type { Attributes } from '@opentelemetry/api'
import type { Charge } from '../contracts/ledger.js'
import type { Credits } from '../money.js'
import type { CallTotals } from './call-totals.js'
import { CHAT, ERROR_TYPE, OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL, TOKEN_TYPE } from './names.js'
import { getOrMake, type Row } from './totals.js'

interface ChargeRows {
  readonly charged: Row<Credits>
  readonly markup: Row<Credits>
  readonly shortfall: Row<Credits>
}

/** The attributes and sums of the calls of one model at one provider, made once. */
export class CallSeries {
  readonly common: Attributes
  readonly input: Attributes
  readonly output: Attributes
  private readonly identity: Attributes
  private readonly failures = new Map<string, Attributes>()
  private readonly tokens = new Map<string, Row<number>>()
  private readonly charges = new Map<string, ChargeRows>()

  constructor(
    private readonly totals: CallTotals,
    model: string | undefined,
    provider: string | undefined,
  ) {
    this.identity = {
      ...(provider !== undefined && { [PROVIDER_NAME]: provider }),
      ...(model !== undefined && { [REQUEST_MODEL]: model }),
    }
    this.common = { [OPERATION_NAME]: CHAT, ...this.identity }
    this.input = { ...this.common, [TOKEN_TYPE]: 'input' }
    this.output = { ...this.common, [TOKEN_TYPE]: 'output' }
  }

  /** With `error.type` where a call was not completed. */
  attributesAt(outcome: string): Attributes {
    if (outcome === 'completed') return this.common
    return getOrMake(this.failures, outcome, () => ({ ...this.common, [ERROR_TYPE]: outcome }))
  }

  count({ basis, byok, cost, markup, shortfall, usage }: Charge): void {
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
    const row = this.tokens.get(kind)
    if (row !== undefined) row.total += tokens
    else this.tokenRow(kind).total += tokens
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
