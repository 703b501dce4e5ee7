import type { HoldRequest, LedgerStore } from '../../../src/contracts/index.js'

export type Bug = 'refuses-early' | 'refuses-late' | 'forgets-use'

/** Puts a fault in front of a ledger. */
export function spoil(good: LedgerStore, bug: Bug | undefined): LedgerStore {
  switch (bug) {
    case undefined:
      return good
    case 'refuses-early':
      return { ...good, hold: (request, context) => good.hold(withLimits(request, 95n), context) }
    case 'refuses-late':
      return { ...good, hold: (request, context) => good.hold(withLimits(request, 105n), context) }
    case 'forgets-use':
      return {
        ...good,
        settle({ holdId, charge, postings, facts }, context) {
          return good.settle({ holdId, charge, postings, facts }, context)
        },
      }
  }
}

function withLimits(request: HoldRequest, percent: bigint): HoldRequest {
  const { limits = [] } = request
  return { ...request, limits: limits.map((each) => ({ ...each, limit: (each.limit * percent) / 100n })) }
}
