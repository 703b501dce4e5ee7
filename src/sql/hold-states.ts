/** The values of `holds.state`. An open hold whose time is over counts as expired. */
export const HOLD_STATE = { open: 0, released: 1, settled: 2, expired: 3 } as const

const { open, settled } = HOLD_STATE

/** SQL that is true if the hold `h` still has its claim at the time `now`. */
export function hasClaim(now: string): string {
  return `(h.state = ${settled} or (h.state = ${open} and h.expires_at > ${now}))`
}
