import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import { optionsSchema, readOptions, withMethods } from '../rules/read-options.js'

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

const positiveSchema = z.int().positive().optional()
const cacheSchema = optionsSchema<CacheOptions>({
  ttlMs: positiveSchema,
  maxEntries: positiveSchema,
  loadMs: positiveSchema,
  clock: withMethods<Clock>('now', 'after').optional(),
})

/** Checks the options and fills in the defaults. */
export function readCacheOptions(options: CacheOptions, where: string): Required<CacheOptions> {
  const {
    ttlMs = 5_000,
    maxEntries = 10_000,
    loadMs = 5_000,
    clock = systemClock,
  } = readOptions(cacheSchema, options, where)
  return { ttlMs, maxEntries, loadMs, clock }
}
