import type { LedgerLookUps, LedgerStore } from '../../src/contracts/index.js'

/** A good ledger with one fault in its look-ups, and a case that must find it. */
interface BrokenLookUps {
  readonly what: string
  readonly foundBy: string
  spoil(good: LedgerStore & LedgerLookUps): Partial<LedgerStore & LedgerLookUps>
}

export const brokenLookUps: readonly BrokenLookUps[] = [
  {
    what: "finds another account's calls",
    foundBy: 'find-nothing',
    spoil: (good) => ({
      findCall: (query, context) => good.findCall({ ...query, account: 'alice' }, context),
    }),
  },
  {
    what: 'finds only the first hold of a call',
    foundBy: 'find-replaced',
    spoil: (good) => ({
      findCall: ({ account, holdIds }, context) =>
        good.findCall({ account, holdIds: holdIds.slice(0, 1) }, context),
    }),
  },
  {
    what: 'sums the calls of all credentials',
    foundBy: 'spent',
    spoil: (good) => ({ spent: ({ account }, context) => good.spent({ account }, context) }),
  },
  {
    what: 'reads the balance without what is held',
    foundBy: 'spent-balance',
    spoil: (good) => ({
      spent: async (query, context) => {
        const answer = await good.spent(query, context)
        const { posted } = answer.balance
        return { ...answer, balance: { posted, held: 0n, available: posted } }
      },
    }),
  },
  {
    what: 'counts limits in a period that has ended',
    foundBy: 'limit-counts',
    spoil: (good) => ({
      limitCounts: (limits, context) =>
        good.limitCounts(
          limits.map((limit) => ({ ...limit, windows: [[0, 8_640_000_000_000_000]] })),
          context,
        ),
    }),
  },
]
