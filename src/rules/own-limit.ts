import type { Limit } from '../contracts/usage-limits.js'

/**
 * Whether a limit belongs to the caller alone, so that the caller may know its figures. An account or an app is used by
 * others too.
 */
export function isOwnLimit({ of: owner = 'credential' }: Pick<Limit, 'of'>): boolean {
  return owner === 'credential'
}
