/** The values of `holds.state`. An open hold whose time is over counts as expired. */
export const HOLD_STATE = { open: 0, released: 1, settled: 2, expired: 3 } as const
