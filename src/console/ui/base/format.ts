/** Numbers that are no money. */
export const formatCount = (count: number): string => count.toLocaleString('en')

const TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
})

/** In UTC, as the ledger's days and every filter are. */
export const formatTime = (at: number): string => TIME_FORMAT.format(at)

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

/** A share of a whole, both exact decimals. To be looked at only. */
export function formatShare(part: string, whole: string): string {
  const of = Number(whole)
  return of === 0 ? '–' : `${((Number(part) / of) * 100).toFixed(1)} %`
}

/**
 * The first instant of a day as `2026-01-31`, in UTC, as the ledger's days are. Days before 1970 count as its first: a
 * date that is typed has such a year after each of its digits but the last.
 */
export function dayStart(day: string | undefined): number | undefined {
  if (day === undefined || day === '') return undefined
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? undefined : Math.max(at, 0)
}

export const DAY_MS = 86_400_000

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Basis points as the per cent that people say: 2,050 is `20.5`. */
export function percentOf(basisPoints: number): string {
  const whole = Math.floor(basisPoints / 100)
  const rest = String(basisPoints % 100)
    .padStart(2, '0')
    .replace(/0+$/, '')
  return rest === '' ? String(whole) : `${whole}.${rest}`
}

/** The reverse; undefined for what is no per cent of at most two places. */
export function basisPointsOf(percent: string): number | undefined {
  const match = /^(\d{1,5})(?:\.(\d{1,2}))?$/.exec(percent.trim())
  return match === null ? undefined : Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'))
}

/** What people call it, and the id that tells it from another of the same name. */
export function nameWithId({ id, name }: { readonly id: string; readonly name?: string }): string {
  return name === undefined ? id : `${name} (${id})`
}
