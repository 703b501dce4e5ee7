import type { LedgerStore } from 'compat-router/stores'

export interface RotatingLedger {
  readonly ledger: LedgerStore
  /** Drops every ledger without open holds, except the newest, which is new. */
  forget(): void
}

interface Generation {
  readonly store: LedgerStore
  readonly open: Set<string>
}

const HOLDS_A_GENERATION = 2_000

/**
 * The memory ledger remembers the latest 100,000 charges, which hides any leak under full load. Here a new
 * one begins every 2,000 holds, with fresh balances, and an old one is dropped when the last of its holds has
 * ended.
 */
export function createRotatingLedger(open: () => LedgerStore): RotatingLedger {
  let newest: Generation = { store: open(), open: new Set() }
  let taken = 0
  const older = new Set<Generation>()

  function rotate(): void {
    older.add(newest)
    newest = { store: open(), open: new Set() }
    taken = 0
    for (const generation of older) if (generation.open.size === 0) older.delete(generation)
  }

  function find(holdId: string): Generation {
    if (newest.open.has(holdId)) return newest
    for (const generation of older) if (generation.open.has(holdId)) return generation
    return newest
  }

  function end(generation: Generation, holdId: string): void {
    generation.open.delete(holdId)
    if (generation.open.size === 0) older.delete(generation)
  }

  return {
    forget: rotate,
    ledger: {
      async hold(request, context) {
        if (++taken > HOLDS_A_GENERATION) rotate()
        const generation = request.replaces === undefined ? newest : find(request.replaces)
        generation.open.add(request.holdId)
        const result = await generation.store.hold(request, context)
        if (!result.ok) end(generation, request.holdId)
        else if (request.replaces !== undefined) end(generation, request.replaces)
        return result
      },
      async settle(request, context) {
        const generation = find(request.holdId)
        const result = await generation.store.settle(request, context)
        end(generation, request.holdId)
        return result
      },
      async release(request, context) {
        const generation = find(request.holdId)
        const result = await generation.store.release(request, context)
        end(generation, request.holdId)
        return result
      },
      balance: (account, context) => newest.store.balance(account, context),
      expireHolds: (limit, context) => newest.store.expireHolds(limit, context),
    },
  }
}
