import type { HoldRequest, LedgerStore } from '../../src/contracts/index.js'
import type { BrokenLedger } from './broken-ledgers.js'

/** A ledger that changes each hold before it is taken. */
function changing(
  good: LedgerStore,
  change: (request: HoldRequest) => Partial<HoldRequest>,
): Partial<LedgerStore> {
  return { hold: (request, context) => good.hold({ ...request, ...change(request) }, context) }
}

function changingSteps(
  good: LedgerStore,
  change: (steps: NonNullable<HoldRequest['steps']>) => Partial<NonNullable<HoldRequest['steps']>>,
): Partial<LedgerStore> {
  return changing(good, ({ steps }) => (steps === undefined ? {} : { steps: { ...steps, ...change(steps) } }))
}

/** Ledgers with a fault in the steps of holds, or in the order of their conditions. */
export const brokenSteps: readonly BrokenLedger[] = [
  {
    what: 'takes no steps',
    foundBy: 'steps-usual',
    spoil: (good) => changingSteps(good, () => ({ most: 0 })),
  },
  {
    what: 'takes all the steps that fit',
    foundBy: 'steps-quarter',
    spoil: (good) => changingSteps(good, ({ most }) => ({ usual: most })),
  },
  {
    what: 'takes no steps beyond the usual ones',
    foundBy: 'steps-quarter',
    spoil: (good) => changingSteps(good, ({ most, usual }) => ({ most: Math.min(most, usual) })),
  },
  {
    what: 'answers steps that it does not reserve',
    foundBy: 'steps-usual',
    spoil: (good) => changingSteps(good, () => ({ amount: 0n })),
  },
  {
    what: 'does not reserve the steps of limits',
    foundBy: 'steps-limits',
    spoil: (good) =>
      changing(good, ({ limits }) =>
        limits === undefined ? {} : { limits: limits.map(({ step: _, ...limit }) => limit) },
      ),
  },
  {
    what: 'lets a hidden balance decide the steps',
    foundBy: 'steps-hidden-balance',
    spoil: (good) => changingSteps(good, () => ({ hidesBalance: false })),
  },
  {
    what: 'lets a hidden limit decide the steps',
    foundBy: 'steps-hidden-limit',
    spoil: (good) =>
      changing(good, ({ limits }) =>
        limits === undefined ? {} : { limits: limits.map((limit) => ({ ...limit, hidden: false })) },
      ),
  },
  {
    what: 'tests every limit after the balance',
    foundBy: 'limit-before-balance',
    spoil: (good) => changing(good, () => ({ beforeBalance: 0 })),
  },
]
