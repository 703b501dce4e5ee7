import type { LimitUnit, LimitUse } from '../contracts/index.js'

/**
 * The part of a bucket that a hold or an entry accounts for, in the JSON of `holds.limits` and `entries.details`. An
 * open hold's amount of credits or tokens is held. A hold's request is used, whatever became of the hold.
 */
export type LimitCells = readonly (readonly [
  bucket: string,
  unit: LimitUnit,
  startsAt: number,
  amount: string,
])[]

export function toLimitCells(uses: readonly LimitUse[]): LimitCells {
  return uses.map(({ bucket, unit, from, used }) => [bucket, unit, from, used.toString()])
}

export function readLimitCells(cells: LimitCells): readonly LimitUse[] {
  return cells.map(([bucket, unit, from, used]) => ({ bucket, unit, from, used: BigInt(used) }))
}
