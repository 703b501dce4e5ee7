/** How long what has ended is remembered. */
export const RETENTION_MS = 31 * 24 * 60 * 60 * 1_000

/** What one operation forgets at most, so that none waits for a long tidying. */
export const FORGOTTEN_AT_ONCE = 4
