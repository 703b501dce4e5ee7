/** States of a hold as they stand in `holds.state`. An open one whose time is over counts as expired. */
export const HOLD_STATE = { open: 0, released: 1, settled: 2, expired: 3 } as const

const { open, settled } = HOLD_STATE

/** SQL that is true at that time while the hold `h` has the claim that it took. */
export function hasClaim(now: string): string {
  return `(h.state = ${settled} or (h.state = ${open} and h.expires_at > ${now}))`
}
