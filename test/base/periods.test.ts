import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import { type Period, PeriodCalendar } from '../../src/base/periods.js'

const around = (period: Period, time: string): (readonly string[])[] =>
  new PeriodCalendar()
    .around(period, Date.parse(time))
    .map((window) => window.map((each) => new Date(each).toISOString().replace(':00.000Z', 'Z')))

const day = (zone: string, time: string) => around({ per: 'day', zone }, time)
const week = (zone: string, time: string) => around({ per: 'week', zone }, time)
const month = (zone: string, time: string) => around({ per: 'month', zone }, time)

describe('a calendar of limit periods', () => {
  it('gives minutes and hours fixed lengths in UTC', () => {
    expect(around({ per: 'minute' }, '2026-03-01T00:00:30Z')).toEqual([
      ['2026-02-28T23:59Z', '2026-03-01T00:00Z'],
      ['2026-03-01T00:00Z', '2026-03-01T00:01Z'],
      ['2026-03-01T00:01Z', '2026-03-01T00:02Z'],
    ])
    expect(around({ per: 'hour' }, '2026-03-01T00:00:00Z')).toEqual([
      ['2026-02-28T23:00Z', '2026-03-01T00:00Z'],
      ['2026-03-01T00:00Z', '2026-03-01T01:00Z'],
      ['2026-03-01T01:00Z', '2026-03-01T02:00Z'],
    ])
  })

  it('has one period for limits in total, which contains every time', () => {
    const windows = new PeriodCalendar().around({ per: 'total' }, Date.parse('2026-03-01T00:00Z'))
    expect(windows).toEqual([[0, 8_640_000_000_000_000]])
  })

  it('uses days and months in UTC if no zone is given', () => {
    expect(around({ per: 'day' }, '2026-03-01T12:00Z')[1]).toEqual(['2026-03-01T00:00Z', '2026-03-02T00:00Z'])
    expect(around({ per: 'month' }, '2026-02-28T23:59Z')).toEqual([
      ['2026-01-01T00:00Z', '2026-02-01T00:00Z'],
      ['2026-02-01T00:00Z', '2026-03-01T00:00Z'],
      ['2026-03-01T00:00Z', '2026-04-01T00:00Z'],
    ])
  })

  it('has days of 23 and 25 hours in New York', () => {
    const [, spring] = day('America/New_York', '2026-03-08T12:00Z')
    expect(spring).toEqual(['2026-03-08T05:00Z', '2026-03-09T04:00Z'])
    const [, autumn] = day('America/New_York', '2026-11-01T12:00Z')
    expect(autumn).toEqual(['2026-11-01T04:00Z', '2026-11-02T05:00Z'])
  })

  it('starts a day at the first of two midnights in Havana', () => {
    // At 1:00 clocks go back to 0:00, so 0:30 comes at 4:30 and at 5:30 UTC.
    for (const time of ['2026-11-01T04:30Z', '2026-11-01T05:30Z']) {
      expect(day('America/Havana', time)[1]).toEqual(['2026-11-01T04:00Z', '2026-11-02T05:00Z'])
    }
  })

  it('starts a day at 1:00 if the zone has no midnight on it, as in Sao Paulo', () => {
    expect(day('America/Sao_Paulo', '2018-11-04T12:00Z')).toEqual([
      ['2018-11-03T03:00Z', '2018-11-04T03:00Z'],
      ['2018-11-04T03:00Z', '2018-11-05T02:00Z'],
      ['2018-11-05T02:00Z', '2018-11-06T02:00Z'],
    ])
  })

  it('has no period for the day that Apia skipped', () => {
    const skipped = [
      ['2011-12-29T10:00Z', '2011-12-30T10:00Z'],
      ['2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ]
    expect(day('Pacific/Apia', '2011-12-30T09:59Z').slice(1)).toEqual(skipped)
    expect(day('Pacific/Apia', '2011-12-30T10:00Z').slice(0, 2)).toEqual(skipped)
  })

  it('continues a day that has started, although clocks were set back over midnight', () => {
    // In St. John's, clocks went back from 0:01 to 23:01 of the day before.
    const today = ['2010-11-07T02:30Z', '2010-11-08T03:30Z']
    expect(day('America/St_Johns', '2010-11-07T02:30:30Z')[1]).toEqual(today)
    expect(day('America/St_Johns', '2010-11-07T03:00Z')[1]).toEqual(today)
  })

  it('ends a month in Tokyo nine hours before it ends in UTC', () => {
    expect(month('Asia/Tokyo', '2026-02-28T15:00Z')).toEqual([
      ['2026-01-31T15:00Z', '2026-02-28T15:00Z'],
      ['2026-02-28T15:00Z', '2026-03-31T15:00Z'],
      ['2026-03-31T15:00Z', '2026-04-30T15:00Z'],
    ])
    expect(month('Asia/Tokyo', '2026-02-28T14:59:59Z')[1]).toEqual(['2026-01-31T15:00Z', '2026-02-28T15:00Z'])
  })

  it('begins a week on Monday in its zone, also if clocks change in it', () => {
    expect(week('Europe/Paris', '2026-03-29T12:00Z')).toEqual([
      ['2026-03-15T23:00Z', '2026-03-22T23:00Z'],
      ['2026-03-22T23:00Z', '2026-03-29T22:00Z'],
      ['2026-03-29T22:00Z', '2026-04-05T22:00Z'],
    ])
    expect(week('Europe/Paris', '2026-03-29T22:00Z')[1]).toEqual(['2026-03-29T22:00Z', '2026-04-05T22:00Z'])
  })

  it('returns the same periods until the current one ends or the clock goes back before it', () => {
    const calendar = new PeriodCalendar()
    const first = calendar.around({ per: 'day', zone: 'Asia/Tokyo' }, Date.parse('2026-02-28T15:00Z'))
    expect(calendar.around({ per: 'day', zone: 'Asia/Tokyo' }, first[1]![1] - 1)).toBe(first)
    expect(calendar.around({ per: 'day', zone: 'Asia/Tokyo' }, first[1]![1])[0]).toEqual(first[1])
    expect(calendar.around({ per: 'day', zone: 'Asia/Tokyo' }, first[1]![0] - 1)[2]).toEqual(first[1])
    expect(calendar.around({ per: 'day' }, first[1]![0])).not.toEqual(first)
  })

  it('throws a RangeError for an unknown zone', () => {
    expect(() => day('America/Atlantis', '2026-02-28T15:00Z')).toThrow(RangeError)
  })

  it('agrees with Temporal in every zone', () => {
    let state = 20_261_126
    const random = () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
      return state / 0x8000_0000
    }
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      for (let round = 0; round < 3; round++) {
        const time = Math.floor(Date.UTC(1990, 0) + random() * (Date.UTC(2040, 0) - Date.UTC(1990, 0)))
        const today = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone).toPlainDate()
        const startOf = (date: Temporal.PlainDate) => date.toZonedDateTime(zone).epochMilliseconds
        const calendar = new PeriodCalendar()
        expect(calendar.around({ per: 'day', zone }, time)[1], zone).toEqual([
          startOf(today),
          startOf(today.add({ days: 1 })),
        ])
        const monday = today.subtract({ days: today.dayOfWeek - 1 })
        expect(calendar.around({ per: 'week', zone }, time), zone).toEqual(
          [-1, 0, 1].map((weeks) => [
            startOf(monday.add({ weeks })),
            startOf(monday.add({ weeks: weeks + 1 })),
          ]),
        )
        const first = today.with({ day: 1 })
        expect(calendar.around({ per: 'month', zone }, time), zone).toEqual(
          [-1, 0, 1].map((months) => [
            startOf(first.add({ months })),
            startOf(first.add({ months: months + 1 })),
          ]),
        )
      }
    }
  })
})
