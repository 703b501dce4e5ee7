import { describe, expect, it } from 'vitest'
import type { ScenarioReport } from './lib/report.js'
import { type Metric, NO_METRICS, type Sample } from './lib/scenarios.js'
import { median, ratios, spreadOf } from './lib/statistics.js'
import { judge } from './lib/targets.js'

function samples(metric: Metric, values: readonly number[]): Sample[] {
  return values.map((value) => ({ ...NO_METRICS, [metric]: value, errors: 0 }))
}

function report(
  scenario: string,
  metric: Metric,
  systems: Record<string, readonly number[]>,
): ScenarioReport {
  const entries = Object.entries(systems).map(([name, values]) => [name, samples(metric, values)])
  return { scenario, title: scenario, samples: Object.fromEntries(entries) }
}

describe('the benchmark figures', () => {
  it('are ratios for each round, so that a slow round does not count', () => {
    const found = spreadOf(ratios([50, 5, 60], [100, 10, 100]))
    expect(found).toEqual({ median: 0.5, min: 0.5, max: 0.6 })
  })

  it('are medians, even of an even number of rounds, and skip unknown values', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(median([Number.NaN, 7])).toBe(7)
    expect(median([])).toBeNaN()
  })

  it.each([
    [0.44, 'MISSED'],
    [0.45, 'floor held'],
    [0.6, 'aim reached'],
  ])('a rate of %d of the limit is: %s', (share, verdict) => {
    const verdicts = judge([
      report('json-50', 'rate', { pipe: [100, 100], http: [share * 100, share * 100] }),
    ])
    expect(verdicts.map((found) => found.verdict)).toEqual([verdict])
  })

  it('compare a lower-is-better goal with its ceiling, and a goal without an aim with its floor', () => {
    const paced = report('paced', 'cpuMicroseconds', { pipe: [10], http: [12.5] })
    const firstToken = report('first-token', 'p50Ms', { pipe: [0.5], http: [0.8] })
    const verdicts = judge([paced, firstToken]).map(({ verdict }) => verdict)
    expect(verdicts).toEqual(['floor held', 'MISSED'])
  })

  it('are not compared with a value that was not measured', () => {
    expect(judge([report('json-50', 'rate', { http: [1] })])).toEqual([])
    expect(judge([report('json-50', 'rate', { http: [1], portkey: [0] })])).toEqual([])
  })
})
