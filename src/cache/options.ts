import { type Clock, systemClock } from '../base/clock.js'
import { refuseMisspelt, requireClock } from '../contracts/option-checks.js'

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

const NAMES = ['ttlMs', 'maxEntries', 'loadMs', 'clock']

/** The same with every default filled in. Throws a `TypeError` for a number that is not a positive integer. */
export function readCacheOptions(options: CacheOptions, what: string): Required<CacheOptions> {
  refuseMisspelt(options, NAMES, what)
  const { ttlMs = 5_000, maxEntries = 10_000, loadMs = 5_000, clock = systemClock } = options
  requireClock(what, clock, ['now', 'after'])
  for (const [name, value] of Object.entries({ ttlMs, maxEntries, loadMs })) {
    if (!Number.isSafeInteger(value) || value <= 0) {
      const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
      throw new TypeError(`${what}: ${name} must be a positive integer; got ${shown}`)
    }
  }
  return { ttlMs, maxEntries, loadMs, clock }
}
