import { type Clock, systemClock } from '../base/clock.js'
import { refuseMisspelt, requireClock } from '../rules/option-checks.js'

export interface CacheOptions {
  /** How long an answer is kept, in milliseconds. 5,000 by default. */
  readonly ttlMs?: number
  /** The number of answers to keep. The least recently used is dropped first. 10,000 by default. */
  readonly maxEntries?: number
  /** How long a look-up may take, in milliseconds, before it fails. 5,000 by default. */
  readonly loadMs?: number
  /** The system's clock by default. */
  readonly clock?: Clock
}

const NAMES = ['ttlMs', 'maxEntries', 'loadMs', 'clock']

/** Fills in the defaults. Throws a `TypeError` if a number is not a positive integer. */
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
