import type { Limit } from '../contracts/usage-limits.js'

/** Whether a limit is the caller's alone, so that the caller may know its figures. Others use an account or an app too. */
export function isOwnLimit({ of: owner = 'credential' }: Pick<Limit, 'of'>): boolean {
  return owner === 'credential'
}
