import { z } from 'zod'
import { type Period, PeriodCalendar } from '../../base/periods.js'
import { zoneSchema } from '../../rules/schemas.js'
import { HttpError } from './http-error.js'

/** A range of time in a query: a number of steps until now, or days from `fromDay` to the end of `toDay`. */
export const rangeSchema = {
  range: z.enum(['hour', 'day', 'week', 'month', 'quarter', 'year']).default('month'),
  /** A day of `zone`, such as `2026-01-31`. With one of these days, `range` has no effect. */
  fromDay: z.iso.date().optional(),
  toDay: z.iso.date().optional(),
  /** The time zone of days, such as `Europe/Berlin`. */
  zone: zoneSchema.default('UTC'),
}
type Range = {
  readonly range: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'
  readonly fromDay?: string | undefined
  readonly toDay?: string | undefined
  readonly zone: string
}

/** The length of a step. */
export type StepLength = 'five-minutes' | Exclude<Period['per'], 'minute' | 'total'>

export interface TimeSteps {
  readonly length: StepLength
  /** Each time but the last begins a step. The last one may be in the future. */
  readonly times: readonly number[]
  /** The steps of the period before. If the last step has not ended, its counterpart is as long as it has been so far. */
  readonly before: readonly number[]
  readonly zone: string
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const FIVE_MINUTES_MS = 5 * MINUTE_MS

/** The steps of each range. A quarter is 13 weeks. */
const RANGES: Readonly<Record<Range['range'], { readonly length: StepLength; readonly count: number }>> = {
  hour: { length: 'five-minutes', count: 12 },
  day: { length: 'hour', count: 24 },
  week: { length: 'day', count: 7 },
  month: { length: 'day', count: 30 },
  quarter: { length: 'week', count: 13 },
  year: { length: 'month', count: 12 },
}
const DEFAULT_DAYS = 30
const MOST_STEPS = 100
/** The longest range of days with steps of this length. */
const LENGTHS: readonly { readonly length: StepLength; readonly mostDays: number }[] = [
  { length: 'hour', mostDays: 1 },
  { length: 'day', mostDays: 62 },
  { length: 'week', mostDays: 366 },
  { length: 'month', mostDays: Number.POSITIVE_INFINITY },
]

/** Divides a range into steps. `isInUtcDays` says that there are figures only of whole days in UTC, and of the last day. */
export function stepsOf(range: Range, now: number, isInUtcDays: boolean): TimeSteps {
  const isShort = range.fromDay === undefined && range.toDay === undefined && isWithinDay(range)
  const zone = isInUtcDays && !isShort ? 'UTC' : range.zone
  const calendar = new Calendar(zone)
  const { length, times, shift } = timesOf(range, now, calendar)
  const shifted = times.map(shift)
  const [start, end] = [times.at(-2)!, times.at(-1)!]
  const isRunning = start <= now && now < end
  const shiftedStart = shifted.at(-2)!
  // `to` is exclusive, and `now` counts.
  const soFar = Math.min(shifted.at(-1)!, shiftedStart + now + 1 - start)
  return { length, times, before: isRunning ? [...shifted.slice(0, -1), soFar] : shifted, zone }
}

const isWithinDay = ({ range }: Range): boolean => range === 'hour' || range === 'day'

interface Times {
  readonly length: StepLength
  readonly times: readonly number[]
  /** Returns the counterpart of a time in the period before. */
  readonly shift: (time: number) => number
}

function timesOf({ range, fromDay, toDay }: Range, now: number, calendar: Calendar): Times {
  if (fromDay !== undefined || toDay !== undefined) return daysOf(fromDay, toDay, now, calendar)
  const { length, count } = RANGES[range]
  let [start, end] = calendar.stepAt(length, now)
  const times = [end]
  for (let step = 0; step < count; step++) {
    times.unshift(start)
    start = calendar.stepAt(length, start - 1)[0]
  }
  if (range === 'year') return { length, times, shift: (time) => calendar.yearBefore(time) }
  if (length === 'five-minutes' || length === 'hour') {
    const lengthMs = end - times[0]!
    return { length, times, shift: (time) => time - lengthMs }
  }
  const days = calendar.dayAt(end) - calendar.dayAt(times[0]!)
  return { length, times, shift: (time) => calendar.daysBefore(time, days) }
}

function daysOf(
  fromDay: string | undefined,
  toDay: string | undefined,
  now: number,
  calendar: Calendar,
): Times {
  const today = calendar.dayAt(now)
  const until = toDay === undefined ? today : Math.min(dayNumber(toDay), today)
  const first = fromDay === undefined ? until + 1 - DEFAULT_DAYS : dayNumber(fromDay)
  if (toDay !== undefined && first > dayNumber(toDay))
    throw new HttpError(400, 'fromDay must not be after toDay', 'fromDay')
  const last = Math.max(first, until)
  const days = last + 1 - first
  const { length } = LENGTHS.find(({ mostDays }) => days <= mostDays)!
  const [from, to] = [calendar.startOfDay(first), calendar.startOfDay(last + 1)]
  const starts = [from]
  for (let time = calendar.stepAt(length, from)[1]; time < to; time = calendar.stepAt(length, time)[1])
    starts.push(time)
  // Of many months, several are one step.
  const size = Math.ceil(starts.length / MOST_STEPS)
  const times = [...starts.filter((_, index) => index % size === 0), to]
  const shift = (time: number) => (length === 'hour' ? time - (to - from) : calendar.daysBefore(time, days))
  return { length, times, shift }
}

/** Any day before 1970 counts as its first: while somebody types a year, it is such a year after each digit but the last. */
const dayNumber = (day: string): number => Math.max(0, Date.parse(`${day}T00:00:00Z`) / DAY_MS)

/** The steps and days of one zone. */
class Calendar {
  private readonly periods = new PeriodCalendar()

  constructor(private readonly zone: string) {}

  /** Returns the step that contains a time. */
  stepAt(length: StepLength, time: number): readonly [from: number, to: number] {
    if (length === 'five-minutes') {
      const from = Math.floor(time / FIVE_MINUTES_MS) * FIVE_MINUTES_MS
      return [from, from + FIVE_MINUTES_MS]
    }
    return this.periods.around({ per: length, zone: this.zone }, time)[1]!
  }

  dayAt(time: number): number {
    return this.periods.dayAt(this.zone, time)
  }

  startOfDay(day: number): number {
    return this.periods.startOfDay(this.zone, day)
  }

  /** Returns the same time of a day so many days before. */
  daysBefore(time: number, days: number): number {
    const day = this.dayAt(time)
    return this.startOfDay(day - days) + time - this.startOfDay(day)
  }

  yearBefore(time: number): number {
    const day = this.dayAt(time)
    const date = new Date(day * DAY_MS)
    const before = Date.UTC(date.getUTCFullYear() - 1, date.getUTCMonth(), date.getUTCDate())
    return this.daysBefore(time, day - before / DAY_MS)
  }
}
