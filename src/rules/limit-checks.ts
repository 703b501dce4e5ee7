import { type Credits, MAX_CREDITS } from '../base/money.js'
import type { HoldLimit, HoldRequest, HoldSteps, LimitUse } from '../contracts/ledger.js'

/** A store may keep a number of steps as an integer of 32 bits. */
export const MOST_STEPS = 2 ** 31 - 1
const UNITS: readonly unknown[] = ['credits', 'requests', 'tokens']

/** Throws a `TypeError` or `RangeError` if a ledger cannot take a hold with these steps and limits. */
export function checkHoldConditions({ amount, beforeBalance = 0, limits = [], steps }: HoldRequest): void {
  checkHoldLimits(limits)
  if (!(Number.isInteger(beforeBalance) && beforeBalance >= 0 && beforeBalance <= limits.length)) {
    throw new RangeError(`beforeBalance must be from 0 to ${limits.length}; got ${beforeBalance}`)
  }
  if (steps !== undefined) checkSteps(steps, amount, limits)
}

function checkSteps(steps: HoldSteps, amount: Credits, limits: readonly HoldLimit[]): void {
  for (const name of ['most', 'usual'] as const) {
    const count = steps[name]
    if (Number.isInteger(count) && count >= 0 && count <= MOST_STEPS) continue
    throw new RangeError(`steps.${name} must be an integer from 0 to ${MOST_STEPS}; got ${count}`)
  }
  const most = BigInt(steps.most)
  checkCount(steps.amount, 'steps.amount')
  checkCount(amount + steps.amount * most, 'The amount with all steps')
  for (const { amount: least, bucket, step = 0n } of limits) {
    checkCount(step, `The step of ${bucket}`)
    checkCount(least + step * most, `The amount for ${bucket} with all steps`)
  }
}

/** Throws a `TypeError` or `RangeError` if a ledger cannot test these limits. */
export function checkHoldLimits(limits: readonly HoldLimit[]): void {
  const buckets = new Set<string>()
  for (const { bucket, unit, limit, amount, windows } of limits) {
    checkBucket(bucket, unit, buckets)
    checkCount(limit, `The limit of ${bucket}`)
    checkCount(amount, `The amount for ${bucket}`)
    checkWindows(windows, bucket)
  }
}

/** Throws a `TypeError` or `RangeError` if a ledger cannot count these uses. */
export function checkLimitUses(uses: readonly LimitUse[]): void {
  const buckets = new Set<string>()
  for (const { bucket, unit, from, used } of uses) {
    checkBucket(bucket, unit, buckets)
    checkCount(used, `The use of ${bucket}`)
    if (!Number.isSafeInteger(from)) throw new TypeError(`The period of ${bucket} must begin at a valid time`)
  }
}

function checkBucket(bucket: string, unit: string, seen: Set<string>): void {
  if (typeof bucket !== 'string' || bucket === '')
    throw new TypeError('The bucket of a limit must be a text that is not empty')
  if (!UNITS.includes(unit))
    throw new TypeError(`The unit of ${bucket} must be 'credits', 'requests' or 'tokens'`)
  if (seen.has(bucket)) throw new TypeError(`The bucket ${bucket} must not occur twice`)
  seen.add(bucket)
}

function checkCount(count: Credits, what: string): void {
  if (typeof count !== 'bigint') throw new TypeError(`${what} must be a bigint; got ${typeof count}`)
  if (count < 0n || count > MAX_CREDITS) {
    throw new RangeError(`${what} must be from 0 to ${MAX_CREDITS}; got ${count}`)
  }
}

function checkWindows(windows: HoldLimit['windows'], bucket: string): void {
  let end: number | undefined
  for (const [from, to] of windows) {
    const isNext = end === undefined || from === end
    if (!(Number.isSafeInteger(from) && Number.isSafeInteger(to) && from < to && isNext)) {
      throw new RangeError(`The windows of ${bucket} must be periods in order, without gaps`)
    }
    end = to
  }
}
