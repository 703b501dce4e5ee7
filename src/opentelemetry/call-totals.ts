import type { Attributes, Meter, Observable } from '@opentelemetry/api'
import { creditsToNumber } from '../money.js'
import { Totals } from './totals.js'

/** Everything that is only added up. */
export class CallTotals {
  readonly requests = new Totals(0)
  readonly active = new Totals(0)
  readonly attempts = new Totals(0)
  readonly tokens = new Totals(0)
  readonly charged = new Totals(0n)
  readonly markup = new Totals(0n)
  readonly shortfall = new Totals(0n)
  readonly overdrafts = new Totals(0)
  readonly incidents = new Totals(0)
  readonly unsettled = new Totals(0n)

  /** Reports the totals to a meter whenever its SDK asks. */
  constructor(meter: Meter) {
    const reports: [Observable, (report: (value: number, attributes: Attributes) => void) => void][] = []
    const counter = (name: string, unit: string, description: string, totals: Totals<number>): void => {
      const instrument = meter.createObservableCounter(name, { unit, description })
      reports.push([instrument, (report) => totals.report(report)])
    }
    const credits = (name: string, description: string, totals: Totals<bigint>): void => {
      const instrument = meter.createObservableCounter(name, { unit: '{credit}', description })
      reports.push([
        instrument,
        (report) => totals.report((total, attributes) => report(creditsToNumber(total), attributes)),
      ])
    }
    counter('compat_router.requests', '{request}', 'Requests that were answered.', this.requests)
    counter('compat_router.route.attempts', '{attempt}', 'Routes that calls tried.', this.attempts)
    counter(
      'compat_router.tokens',
      '{token}',
      'Tokens that were charged, each under the one price that applies.',
      this.tokens,
    )
    counter('compat_router.overdrafts', '{call}', 'Charges that took a payer below zero.', this.overdrafts)
    counter('compat_router.incidents', '{event}', 'Events that an operator may want to see.', this.incidents)
    credits('compat_router.credits.charged', 'Credits that calls cost, markup included.', this.charged)
    credits('compat_router.credits.markup', 'Credits of these that went to apps.', this.markup)
    credits('compat_router.credits.shortfall', 'Credits above holds that were not charged.', this.shortfall)
    credits('compat_router.credits.unsettled', 'Credits whose charge could not be posted.', this.unsettled)
    reports.push([
      meter.createObservableUpDownCounter('compat_router.requests.active', {
        unit: '{request}',
        description: 'Requests under way.',
      }),
      (report) => this.active.report(report),
    ])
    meter.addBatchObservableCallback(
      (result) => {
        for (const [instrument, run] of reports) {
          run((value, attributes) => result.observe(instrument, value, attributes))
        }
      },
      reports.map(([instrument]) => instrument),
    )
  }
}
