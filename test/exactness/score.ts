import type { Mode } from './scenarios.js'

/** The result of a scenario. Amounts are in billionths of the target's currency. */
export interface Score {
  readonly scenario: string
  readonly mode: Mode
  /** The provider's bill, at the target's prices. */
  readonly billed: bigint
  /** Undefined if the target states no policy for the call. */
  readonly due: bigint | undefined
  readonly charged: bigint
  /** The amount by which calls at once, or calls after a revocation, exceeded the limit of the target. */
  readonly overshoot: bigint
  readonly doubles: number
  readonly losses: number
  readonly falseRefusals: number
  readonly note: string
}

/** A scenario that the target cannot express. */
export interface NotOffered {
  readonly scenario: string
  readonly missing: string
}

export type Outcome = Score | NotOffered

export function isOffered(outcome: Outcome): outcome is Score {
  return !('missing' in outcome)
}

/** The excess of the charges over the amount due. 0 if the target states no policy for the call. */
export function difference({ charged, due }: Pick<Score, 'charged' | 'due'>): bigint {
  return due === undefined ? 0n : charged - due
}

/** Whether every column is 0. */
export function isExact(score: Score): boolean {
  const { doubles, falseRefusals, losses, overshoot } = score
  return difference(score) === 0n && overshoot === 0n && doubles + losses + falseRefusals === 0
}

/** Compares the charges of calls with the amount due for all of them. */
export function compareCharges(
  charges: readonly bigint[],
  due: bigint | undefined,
  calls: number,
): Pick<Score, 'charged' | 'due' | 'doubles' | 'losses'> {
  const charged = charges.reduce((sum, each) => sum + each, 0n)
  const owes = due !== undefined && due > 0n
  return {
    charged,
    due,
    doubles: owes ? Math.max(0, charges.length - calls) : 0,
    losses: owes ? Math.max(0, calls - charges.length) : 0,
  }
}
