import { type Clock, systemClock } from '../clock.js'

export interface CacheOptions {
  /** How long an answer is kept, in milliseconds. 5,000 by default. */
  readonly ttlMs?: number
  /** How many answers are kept, the least recently used going first. 10,000 by default. */
  readonly maxEntries?: number
  /** How long the store may take, in milliseconds, before all who wait for it are told so. 5,000 by default. */
  readonly loadMs?: number
  /** The machine's by default. */
  readonly clock?: Clock
}

/** The same with every default filled in. Throws a `TypeError` for a number that is not a positive integer. */
export function readCacheOptions(options: CacheOptions): Required<CacheOptions> {
  const read = { ttlMs: 5_000, maxEntries: 10_000, loadMs: 5_000, clock: systemClock, ...options }
  for (const name of ['ttlMs', 'maxEntries', 'loadMs'] as const) {
    if (!Number.isSafeInteger(read[name]) || read[name] <= 0) {
      throw new TypeError(`${name} must be a positive integer; got ${String(read[name])}`)
    }
  }
  return read
}
