import type { Limit } from '../contracts/usage-limits.js'

/**
 * Names the count that a limit is compared with. A new amount leaves the count alone; a new unit, period or zone starts
 * another one.
 */
export function bucketOf({ id, unit, per, zone }: Limit): string {
  if (per !== 'day' && per !== 'month') return `${id}:${unit}/${per}`
  return `${id}:${unit}/${per}/${zone ?? 'UTC'}`
}
