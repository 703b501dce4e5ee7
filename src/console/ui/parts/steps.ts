import type { SpendOverTimeReply } from '../../protocol.js'
import { ownZone } from '../base/format.js'
import type { Place } from '../base/place.js'
import type { ChartStep } from './chart.js'

type Steps = Pick<SpendOverTimeReply, 'length' | 'zone'>

/** Returns how a step of time is named. */
export function stepText({ length, zone }: Steps, { from, to }: { from: number; to: number }): ChartStep {
  const format = (at: number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone }).format(at)
  const day = (at: number): string => format(at, { day: 'numeric', month: 'short', year: 'numeric' })
  const clock = (at: number): string => format(at, { hour: '2-digit', minute: '2-digit' })
  if (length === 'five-minutes' || length === 'hour')
    return { label: clock(from), title: `${day(from)}, ${clock(from)} to ${clock(to)}` }
  const label = format(
    from,
    length === 'month' ? { month: 'short', year: 'numeric' } : { day: 'numeric', month: 'short' },
  )
  return { label, title: length === 'day' ? day(from) : `${day(from)} to ${day(to - 1)}` }
}

/** Returns a time from its first day to its last. */
export function rangeText({ length, zone }: Steps, { from, to }: { from: number; to: number }): string {
  const isShort = length === 'five-minutes' || length === 'hour'
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...(isShort && ({ hour: '2-digit', minute: '2-digit' } as const)),
    timeZone: zone,
  })
  return `${format.format(from)} to ${format.format(isShort ? to : to - 1)}`
}

export const STEP_NAMES: Readonly<Record<Steps['length'], string>> = {
  'five-minutes': 'five minutes',
  hour: 'hour',
  day: 'day',
  week: 'week',
  month: 'month',
}

export const RANGES = [
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: '24 hours' },
  { value: 'week', label: '7 days' },
  { value: 'month', label: '30 days' },
  { value: 'quarter', label: '13 weeks' },
  { value: 'year', label: '12 months' },
] as const
export type Range = (typeof RANGES)[number]['value']

/** Returns the range of time that the address asks for, 30 days by default. */
export function rangeQueryOf({ range, fromDay, toDay, zone }: Place['query']) {
  const chosen: Range = RANGES.find(({ value }) => value === range)?.value ?? 'month'
  return { range: chosen, fromDay, toDay, zone: zone === 'UTC' ? zone : ownZone() }
}
