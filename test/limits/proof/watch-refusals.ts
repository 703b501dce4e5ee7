import type { CallContext, HoldRequest, LedgerStore } from '../../../src/contracts/index.js'

/** A hold that a limit has refused. Amounts are text. */
export interface Refusal {
  readonly holdId: string
  readonly replaces: string | undefined
  readonly bucket: string
  readonly amount: string
  readonly limit: string
}

/** The holds between which SQLite's ledger has decided on this one. */
export const markersOf = (holdId: string) => [`${holdId}-before`, `${holdId}-after`] as const

/**
 * Reports each hold that a limit refuses. If `isMarked`, it also releases an unknown hold before and another one after each
 * hold, in the same turn. SQLite's ledger runs the three in this order and, unless the batch fails, in one transaction. It
 * stores the unknown holds as released, so they show where among all changes it decided on the hold.
 */
export function watchRefusals(
  ledger: LedgerStore,
  isMarked: boolean,
  report: (refusal: Refusal) => void,
): LedgerStore {
  async function holdBetween(request: HoldRequest, context: CallContext) {
    const { account, holdId } = request
    const [before, after] = markersOf(holdId)
    const [, result] = await Promise.all([
      ledger.release({ holdId: before, account }, context),
      ledger.hold(request, context),
      ledger.release({ holdId: after, account }, context),
    ])
    return result
  }
  return {
    ...ledger,
    async hold(request, context) {
      const result = await (isMarked ? holdBetween(request, context) : ledger.hold(request, context))
      if (result.ok || result.reason !== 'limited') return result
      const { holdId, limits = [], replaces } = request
      const { bucket } = result
      const { amount, limit } = limits.find((each) => each.bucket === bucket)!
      report({ holdId, replaces, bucket, amount: amount.toString(), limit: limit.toString() })
      return result
    },
  }
}
