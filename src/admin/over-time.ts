import { z } from 'zod'
import { outOfRange } from '../base/invalid-input.js'

const MOST_STEPS = 100
/** The groups of a report over time that are not added to the others. */
export const MOST_GROUPS = 7

/** The times of a report over time. Each one but the last begins a step, and each one but the first ends the step before. */
export const timesSchema = z
  .array(z.int())
  .min(2)
  .max(MOST_STEPS + 1)

/** Throws a `RangeError` if the times of a report are not in order. */
export function checkOrder(times: readonly number[], of: string): void {
  if (times.every((time, index) => index === 0 || time > times[index - 1]!)) return
  throw outOfRange({ of, field: 'times' }, 'must be in order')
}
