import { beginsAtMidnight } from '../base/periods.js'
import type { Limit } from '../contracts/usage-limits.js'

/**
 * Returns the name of the count that a limit is compared with. A new amount keeps the count. Each owner, unit, period and
 * zone has another one.
 */
export function bucketOf({ id, of, ownerId, unit, per, zone }: Limit): string {
  const name = ownerId === undefined ? id : JSON.stringify([id, of, ownerId])
  if (!beginsAtMidnight(per)) return `${name}:${unit}/${per}`
  return `${name}:${unit}/${per}/${zone ?? 'UTC'}`
}
