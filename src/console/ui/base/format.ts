export const capitalized = (word: string): string => word[0]!.toUpperCase() + word.slice(1)

/** Formats numbers that are not money. */
export const formatCount = (count: number): string => count.toLocaleString('en')

const TIME_PARTS = {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const
const UTC_FORMAT = new Intl.DateTimeFormat('en-GB', { ...TIME_PARTS, timeZone: 'UTC' })

/** In UTC, like the ledger's days and every filter, unless a time zone is given. */
export function formatTime(at: number, zone?: string): string {
  if (zone === undefined) return UTC_FORMAT.format(at)
  try {
    return new Intl.DateTimeFormat('en-GB', { ...TIME_PARTS, timeZone: zone }).format(at)
  } catch {
    // The browser may not know a zone that the server knows.
    return `${UTC_FORMAT.format(at)} UTC`
  }
}

const ROUNDED_PLACES = 6
const SMALLEST = '0.000001'

/** Rounds an exact decimal to six places. One that is not 0 never becomes 0. */
export function roundedAmount(value: string): string {
  const [, sign = '', whole = '0', places = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(value) ?? []
  const kept = BigInt(whole + places.padEnd(ROUNDED_PLACES, '0').slice(0, ROUNDED_PLACES))
  const rounded = kept + ((places[ROUNDED_PLACES] ?? '0') >= '5' ? 1n : 0n)
  if (rounded === 0n && /[1-9]/.test(value)) return sign === '' ? `< ${SMALLEST}` : `> -${SMALLEST}`
  const digits = String(rounded).padStart(ROUNDED_PLACES + 1, '0')
  return `${sign}${digits.slice(0, -ROUNDED_PLACES)}.${digits.slice(-ROUNDED_PLACES)}`
}

/** The reader's time zone. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

/** Formats a share of a whole, both exact decimals. The result is rounded, for display only. */
export function formatShare(part: string, whole: string): string {
  const of = Number(whole)
  return of === 0 ? '–' : `${((Number(part) / of) * 100).toFixed(1)} %`
}

/**
 * Returns the first instant of a day such as `2026-01-31`, in UTC like the ledger's days. Any day before 1970 counts as
 * the first of 1970: while somebody types a year, it is such a year after each digit except the last.
 */
export function dayStart(day: string | undefined): number | undefined {
  if (day === undefined || day === '') return undefined
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? undefined : Math.max(at, 0)
}

export const DAY_MS = 86_400_000

/** Returns the range of time from one day to the end of another. */
export function rangeOf({ fromDay, toDay }: { readonly fromDay?: string; readonly toDay?: string }) {
  const to = dayStart(toDay)
  return { from: dayStart(fromDay), to: to === undefined ? undefined : to + DAY_MS }
}

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Converts basis points to a percentage: 2,050 is `20.5`. */
export function percentOf(basisPoints: number): string {
  const whole = Math.floor(basisPoints / 100)
  const rest = String(basisPoints % 100)
    .padStart(2, '0')
    .replace(/0+$/, '')
  return rest === '' ? String(whole) : `${whole}.${rest}`
}

/** The reverse; undefined if the text is not a percentage with at most two places. */
export function basisPointsOf(percent: string): number | undefined {
  const match = /^(\d{1,5})(?:\.(\d{1,2}))?$/.exec(percent.trim())
  return match === null ? undefined : Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'))
}

/** Adds the id, since names are not unique. */
export function nameWithId({ id, name }: { readonly id: string; readonly name?: string }): string {
  return name === undefined ? id : `${name} (${id})`
}
