import type { ConnectedApp } from '../../contracts/connect.js'
import type { Settings } from './options.js'

/** An expiry of an app's access that a user can choose. */
export interface EndChoice {
  /** The value in the form of the page. */
  readonly value: string
  readonly text: string
  /** Milliseconds since the Unix epoch. Absent if the access does not expire. */
  readonly endsAt?: number
}

const DAY_MS = 86_400_000
const DAYS = [1, 7, 30, 90, 365]
const NO_END = 'none'

/**
 * Returns the choices that a user has now: the expiry of the current connected app, numbers of days, and no expiry if the
 * host allows it.
 */
export function endChoices(
  { cap, end }: Settings,
  connectedApp: ConnectedApp | undefined,
  now: number,
): readonly EndChoice[] {
  const { maxDays, suggestedDays } = end
  const days = new Set(DAYS.filter((choice) => choice <= (maxDays ?? choice)))
  if (maxDays !== undefined) days.add(maxDays)
  if (suggestedDays !== undefined) days.add(suggestedDays)
  const choices = [...days]
    .sort((one, other) => one - other)
    .map((choice) => ({
      value: String(choice),
      text: `in ${choice} ${choice === 1 ? 'day' : 'days'}`,
      endsAt: now + choice * DAY_MS,
    }))
  const present = connectedApp?.endsAt
  const isOffered = present !== undefined && present > now && present <= now + (maxDays ?? Infinity) * DAY_MS
  return [
    ...(isOffered
      ? [{ value: presentEnd(present), text: `on ${dateOf(present, cap.zone)}, as before`, endsAt: present }]
      : []),
    ...choices,
    ...(maxDays === undefined ? [{ value: NO_END, text: 'when you disconnect it' }] : []),
  ]
}

/**
 * Returns the choice that the page preselects: the host's suggestion for a new app, and otherwise the current expiry.
 * Undefined if the access has expired, since any choice would be later than the user has agreed to.
 */
export function preselectedEnd(
  { end }: Settings,
  connectedApp: ConnectedApp | undefined,
  now: number,
): string | undefined {
  const { maxDays, suggestedDays } = end
  const suggested = suggestedDays ?? maxDays
  if (connectedApp?.endsAt !== undefined) {
    if (connectedApp.endsAt <= now) return undefined
    return connectedApp.endsAt > now + (maxDays ?? Infinity) * DAY_MS
      ? String(suggested)
      : presentEnd(connectedApp.endsAt)
  }
  const hadNoEnd = connectedApp !== undefined && maxDays === undefined
  return hadNoEnd || suggested === undefined ? NO_END : String(suggested)
}

function presentEnd(endsAt: number): string {
  return `until-${endsAt}`
}

function dateOf(time: number, zone = 'UTC'): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: zone }).format(time)
}
