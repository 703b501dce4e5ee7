import { beginsAtMidnight } from '../base/periods.js'
import type { Limit } from '../contracts/usage-limits.js'

/**
 * Returns the name of the count that a limit is compared with. A new amount keeps the count. A new unit, period or zone
 * starts another one.
 */
export function bucketOf({ id, unit, per, zone }: Limit): string {
  if (!beginsAtMidnight(per)) return `${id}:${unit}/${per}`
  return `${id}:${unit}/${per}/${zone ?? 'UTC'}`
}
