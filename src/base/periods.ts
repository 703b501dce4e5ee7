/** The period that a limit counts over. */
export interface Period {
  /**
   * Minutes and hours have fixed lengths from the Unix epoch on. Weeks begin on Monday. `total` is one period that never
   * ends.
   */
  readonly per: 'minute' | 'hour' | 'day' | 'week' | 'month' | 'total'
  /** The time zone of days, weeks and months, such as `'America/New_York'`. UTC by default. */
  readonly zone?: string
}

/** From the shortest to the longest. */
export const PERIOD_NAMES = [
  'minute',
  'hour',
  'day',
  'week',
  'month',
  'total',
] as const satisfies readonly Period['per'][]

/** The periods that begin at midnight of a time zone, from the shortest to the longest. The others are the same in every zone. */
export const CALENDAR_PERIODS = ['day', 'week', 'month'] as const satisfies readonly Period['per'][]
export type CalendarPeriod = (typeof CALENDAR_PERIODS)[number]

export function beginsAtMidnight(per: Period['per']): boolean {
  return per === 'day' || per === 'week' || per === 'month'
}

/** One period. In milliseconds since the Unix epoch; `to` is exclusive. */
export type PeriodWindow = readonly [from: number, to: number]

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** The last millisecond that a `Date` can represent. */
const FOREVER_MS = 8_640_000_000_000_000
const DAYS_A_WEEK = 7
/** 1970-01-01 was a Thursday. */
const EPOCH_DAYS_AFTER_MONDAY = 3
const TOTAL: readonly PeriodWindow[] = [[0, FOREVER_MS]]

/** Returns the Monday of a day's week. Days are counted from 1970-01-01. */
export function mondayOf(day: number): number {
  return day - ((day + EPOCH_DAYS_AFTER_MONDAY) % DAYS_A_WEEK)
}

/**
 * Finds periods, and keeps those that are running, because finding a day in a time zone takes about as long as an SQL
 * statement.
 */
export class PeriodCalendar {
  private readonly zones = new Map<string, ZoneClock>()
  private readonly running = new Map<string, readonly PeriodWindow[]>()

  /**
   * Returns the period before this time's period, that period, and the next one. Each ends when the next one begins.
   * `total` has only one period, which is returned alone. Throws a `RangeError` if the zone is unknown.
   */
  around(period: Period, time: number): readonly PeriodWindow[] {
    if (period.per === 'total') return TOTAL
    const key = period.zone === undefined ? period.per : `${period.per} ${period.zone}`
    const kept = this.running.get(key)
    if (kept !== undefined && kept[1]![0] <= time && time < kept[1]![1]) return kept
    const windows = this.find(period, time)
    this.running.set(key, windows)
    return windows
  }

  /** Returns the local date of a time, in days from 1970-01-01. Throws a `RangeError` if the zone is unknown. */
  dayAt(zone: string, time: number): number {
    return this.clock(zone).dayAt(time)
  }

  /** Returns the first instant of a local date. Throws a `RangeError` if the zone is unknown. */
  startOfDay(zone: string, day: number): number {
    return this.clock(zone).startOf(day)
  }

  private find({ per, zone = 'UTC' }: Period, time: number): readonly PeriodWindow[] {
    if (per === 'minute') return fixedWindows(MINUTE_MS, time)
    if (per === 'hour') return fixedWindows(HOUR_MS, time)
    const clock = this.clock(zone)
    if (per === 'day') return dayWindows(clock, time)
    return per === 'week' ? weekWindows(clock, time) : monthWindows(clock, time)
  }

  private clock(zone: string): ZoneClock {
    let clock = this.zones.get(zone)
    if (clock === undefined) {
      clock = new ZoneClock(zone)
      this.zones.set(zone, clock)
    }
    return clock
  }
}

function fixedWindows(length: number, time: number): readonly PeriodWindow[] {
  const from = Math.floor(time / length) * length
  return [
    [from - length, from],
    [from, from + length],
    [from + length, from + 2 * length],
  ]
}

function dayWindows(clock: ZoneClock, time: number): readonly PeriodWindow[] {
  const today = clock.dayAt(time)
  return windowsAround(time, -2, 3, (offset) => clock.startOf(today + offset))
}

function weekWindows(clock: ZoneClock, time: number): readonly PeriodWindow[] {
  const monday = mondayOf(clock.dayAt(time))
  return windowsAround(time, -1, 2, (offset) => clock.startOf(monday + offset * DAYS_A_WEEK))
}

function monthWindows(clock: ZoneClock, time: number): readonly PeriodWindow[] {
  const today = new Date(clock.dayAt(time) * DAY_MS)
  return windowsAround(time, -1, 2, (offset) =>
    clock.startOf(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + offset, 1) / DAY_MS),
  )
}

/**
 * A period may be empty, because a zone that crosses the date line skips a day. If clocks are turned back over
 * midnight, the local date at `time` may be that of the day before. So this returns a few more periods than the three
 * around `time`.
 */
function windowsAround(
  time: number,
  first: number,
  last: number,
  startOf: (offset: number) => number,
): readonly PeriodWindow[] {
  const starts = new Set<number>()
  for (let offset = first; offset <= last + 1; offset++) starts.add(startOf(offset))
  const ordered = [...starts]
  const current = ordered.findLastIndex((start) => start <= time)
  return [-1, 0, 1].map((offset) => [ordered[current + offset]!, ordered[current + offset + 1]!])
}

/** Converts between instants and the days of a time zone. Days are counted from 1970-01-01. */
class ZoneClock {
  private readonly format: Intl.DateTimeFormat

  constructor(zone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** Returns the local date. */
  dayAt(time: number): number {
    return Math.floor(this.wallTime(time) / DAY_MS)
  }

  /** Returns the first instant whose local date is this day or, if the zone skips it, a later one. */
  startOf(day: number): number {
    const midnight = day * DAY_MS
    // Clocks change at most once in two days, so midnight has one of these two offsets, both, or neither.
    const before = midnight - this.offset(midnight - DAY_MS)
    const after = midnight - this.offset(midnight + DAY_MS)
    const [earlier, later] = before < after ? [before, after] : [after, before]
    if (this.wallTime(earlier) === midnight) return earlier
    if (this.wallTime(later) === midnight) return later
    return this.firstAfterGap(midnight, earlier, later)
  }

  /** Clocks jump over `midnight` between these two instants. Returns the instant of the jump. */
  private firstAfterGap(midnight: number, earlier: number, later: number): number {
    let before = earlier - 1_000
    let after = later
    while (after - before > 1_000) {
      const middle = before + Math.floor((after - before) / 2_000) * 1_000
      if (this.wallTime(middle) < midnight) before = middle
      else after = middle
    }
    return after
  }

  private offset(time: number): number {
    return this.wallTime(time) - time
  }

  /** Returns the local time as if it were UTC, in whole seconds. */
  private wallTime(time: number): number {
    let [year, month, day, hour, minute, second] = [0, 0, 0, 0, 0, 0]
    for (const { type, value } of this.format.formatToParts(time)) {
      if (type === 'year') year = Number(value)
      else if (type === 'month') month = Number(value)
      else if (type === 'day') day = Number(value)
      else if (type === 'hour') hour = Number(value)
      else if (type === 'minute') minute = Number(value)
      else if (type === 'second') second = Number(value)
    }
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }
}
