import type { HoldRequest, HoldResult } from '../../src/contracts/ledger.js'

/** Returns a hold with the amounts that the ledger chose, or with those that it refused. */
export function withSteps(request: HoldRequest, result: HoldResult): HoldRequest {
  const count = BigInt('steps' in result ? (result.steps ?? 0) : 0)
  const { amount, limits, steps } = request
  if (steps === undefined || count === 0n) return request
  return {
    ...request,
    amount: amount + steps.amount * count,
    ...(limits && {
      limits: limits.map((limit) => ({ ...limit, amount: limit.amount + (limit.step ?? 0n) * count })),
    }),
  }
}
