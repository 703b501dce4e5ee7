import type { HoldLimit, HoldRequest, HoldSteps, LimitUse } from '../contracts/ledger.js'
import { type BucketRows, freeOf } from './limit-buckets.js'

/** The parts of a hold that decide its number of steps. */
export type SteppedHold = Pick<HoldRequest, 'amount'> & {
  readonly limits: readonly HoldLimit[]
  readonly steps: HoldSteps
}

/** A hold with a multiple of its amount still leaves room for this many equal ones, including itself. */
const ROOM_FOR = 4n

/**
 * Chooses the number of steps as {@link HoldSteps} says, without changing anything.
 *
 * @param available the payer's balance that is free for this hold
 * @param own the parts of buckets that the replaced hold accounts for
 */
export function chooseSteps(
  { amount, limits, steps }: SteppedHold,
  available: bigint,
  rows: Pick<BucketRows, 'read'>,
  own: readonly LimitUse[],
  now: number,
): number {
  let chosen = BigInt(steps.most)
  const allow = (free: bigint, least: bigint, step: bigint): void => {
    const allowed = stepsWithin(free, least, step, BigInt(steps.usual))
    if (allowed < chosen) chosen = allowed
  }
  if (steps.hidesBalance !== true && steps.amount > 0n) allow(available, amount, steps.amount)
  for (const limit of limits) {
    const { hidden, step = 0n } = limit
    if (hidden !== true && step > 0n) allow(freeOf(limit, rows, own, now), limit.amount, step)
  }
  return Number(chosen)
}

/** Returns the steps that one part of a hold's conditions allows. */
function stepsWithin(free: bigint, amount: bigint, step: bigint, usual: bigint): bigint {
  let holds = amount === 0n ? ROOM_FOR : free / amount
  if (holds > ROOM_FOR) holds = ROOM_FOR
  if (holds < 1n) holds = 1n
  const most = (free - holds * amount) / step
  const quarter = (free - 4n * amount) / (4n * step)
  const wanted = quarter > usual ? quarter : usual
  const allowed = wanted < most ? wanted : most
  return allowed > 0n ? allowed : 0n
}

/** Returns the limits with the amounts of this many steps. */
export function withSteps(limits: readonly HoldLimit[], steps: number): readonly HoldLimit[] {
  if (steps === 0) return limits
  return limits.map((limit) =>
    limit.step === undefined ? limit : { ...limit, amount: limit.amount + limit.step * BigInt(steps) },
  )
}
