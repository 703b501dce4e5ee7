import { describe, expect, it } from 'vitest'
import { stepsOf } from '../../src/console/serving/time-steps.js'

type Range = Parameters<typeof stepsOf>[0]

const HOUR_MS = 3_600_000
/** A Sunday evening in Berlin, four hours before midnight in UTC. */
const NOW = Date.UTC(2026, 10, 29, 20, 17)

const text = (at: number): string => new Date(at).toISOString().slice(0, 16)

function stepsAt(now: number, range: Partial<Range>, isInUtcDays = false) {
  const { length, times, before, zone } = stepsOf(
    { range: 'month', zone: 'Europe/Berlin', ...range },
    now,
    isInUtcDays,
  )
  const ends = [times[0]!, times.at(-1)!, before[0]!, before.at(-1)!].map(text)
  return { length, zone, count: times.length - 1, beforeCount: before.length - 1, ends }
}

describe("the steps of a chart in the console's reply", () => {
  it.each([
    [
      'hour',
      'five-minutes',
      12,
      ['2026-11-29T19:20', '2026-11-29T20:20', '2026-11-29T18:20', '2026-11-29T19:17'],
    ],
    ['day', 'hour', 24, ['2026-11-28T21:00', '2026-11-29T21:00', '2026-11-27T21:00', '2026-11-28T20:17']],
    ['week', 'day', 7, ['2026-11-22T23:00', '2026-11-29T23:00', '2026-11-15T23:00', '2026-11-22T20:17']],
    // Clocks were turned back on 25 October.
    ['month', 'day', 30, ['2026-10-30T23:00', '2026-11-29T23:00', '2026-09-30T22:00', '2026-10-30T20:17']],
    ['quarter', 'week', 13, ['2026-08-30T22:00', '2026-11-29T23:00', '2026-05-31T22:00', '2026-08-30T19:17']],
    ['year', 'month', 12, ['2025-11-30T23:00', '2026-11-30T23:00', '2024-11-30T23:00', '2025-11-29T20:17']],
  ] as const)(
    'of %s end with the one that runs, and are compared with as many before',
    (range, length, count, ends) => {
      expect(stepsAt(NOW, { range })).toEqual({
        length,
        zone: 'Europe/Berlin',
        count,
        beforeCount: count,
        ends,
      })
    },
  )

  it('are days in UTC if there are figures of no others, but not within a day', () => {
    expect(stepsAt(NOW, { range: 'week' }, true)).toMatchObject({
      zone: 'UTC',
      ends: ['2026-11-23T00:00', '2026-11-30T00:00', '2026-11-16T00:00', '2026-11-22T20:17'],
    })
    expect(stepsAt(NOW, { range: 'day' }, true)).toMatchObject({ zone: 'Europe/Berlin' })
  })

  it('are hours of a day, days of two months, weeks of a year, and months of more', () => {
    const of = (fromDay: string, toDay: string) => stepsAt(NOW, { fromDay, toDay })
    expect(of('2026-10-25', '2026-10-25')).toMatchObject({
      length: 'hour',
      count: 25,
      ends: ['2026-10-24T22:00', '2026-10-25T23:00', '2026-10-23T21:00', '2026-10-24T22:00'],
    })
    expect(of('2026-10-24', '2026-10-25')).toMatchObject({
      length: 'day',
      count: 2,
      ends: ['2026-10-23T22:00', '2026-10-25T23:00', '2026-10-21T22:00', '2026-10-23T22:00'],
    })
    expect(of('2026-01-01', '2026-06-30')).toMatchObject({ length: 'week', count: 27 })
    expect(of('2024-01-15', '2026-06-30')).toMatchObject({ length: 'month', count: 30 })
  })

  it('are at most a hundred, however long the time is', () => {
    expect(stepsAt(NOW, { fromDay: '0002-01-01' })).toMatchObject({ length: 'month', count: 98 })
  })

  it('end today, and begin on the day that was asked for even if that is later', () => {
    expect(stepsAt(NOW, { fromDay: '2026-11-28', toDay: '9999-12-31' })).toMatchObject({ count: 2 })
    const { times } = stepsOf({ range: 'month', zone: 'UTC', fromDay: '2027-01-01' }, NOW, false)
    expect([times[0], times.at(-1)]).toEqual([Date.UTC(2027, 0, 1), Date.UTC(2027, 0, 1) + 24 * HOUR_MS])
    expect(() => stepsAt(NOW, { fromDay: '2026-11-02', toDay: '2026-11-01' })).toThrow(
      'fromDay must not be after toDay',
    )
  })
})
