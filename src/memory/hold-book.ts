import type { Credits, HoldRequest } from '../contracts/index.js'
import { createDeadlineHeap, type Due } from '../deadline-heap.js'
import { type FactCells, factCells } from './fact-cells.js'
import { createQueue } from './queue.js'
import { FORGOTTEN_AT_ONCE, RETENTION_MS } from './retention.js'

/**
 * A hold that is not settled, or the mark that a release without one has left.
 *
 * A class: V8 may come to allocate the objects of a literal in its old space, where each keeps what it refers to until a
 * full collection.
 */
export class HoldRow implements Due {
  readonly holdId: string
  readonly account: string
  readonly amount: Credits
  readonly replaces: string | undefined
  readonly facts: FactCells | undefined
  readonly claim: string | undefined
  readonly deadline: number
  state: 'held' | 'expired' | 'released' = 'held'
  endedAt = Infinity
  place = -1

  constructor(
    { account, amount, facts, holdId, replaces, ttlMs }: HoldRequest,
    claim: string | undefined,
    now: number,
  ) {
    this.holdId = holdId
    this.account = account
    this.amount = amount
    this.replaces = replaces
    this.facts = factCells(facts)
    this.claim = claim
    this.deadline = now + ttlMs
  }
}

/** Which holds are not settled, who has which claim, and what is over. Knows nothing of balances. */
export interface HoldBook {
  get(holdId: string): HoldRow | undefined
  /** The id of the hold that has this claim, open or settled. */
  claimant(claim: string): string | undefined
  /** Adds a row that is held. */
  open(row: HoldRow): void
  /** Adds a row that has ended before it began. */
  mark(row: HoldRow): void
  /** Ends a row that is held, and frees its claim. */
  end(row: HoldRow, state: 'expired' | 'released', now: number): void
  /** Takes out the row of a hold that is settled, whatever it was. Its claim stays as it is. */
  settle(holdId: string): void
  /** Gives a claim to a hold. */
  give(claim: string, holdId: string): void
  /** Frees the claim of a hold, where it has it. */
  freeClaim(holdId: string, claim: string | undefined): void
  /** Ends what is overdue and hands each to `ended`; forgets a few rows that ended long ago. */
  tidy(now: number, ended: (row: HoldRow) => void): void
  /** Takes an expired row that nobody has taken before. */
  takeExpired(): HoldRow | undefined
}

export function createHoldBook(): HoldBook {
  const holds = new Map<string, HoldRow>()
  const claims = new Map<string, string>()
  const open = createDeadlineHeap<HoldRow>()
  const ended = createQueue<HoldRow>()
  const expired = createQueue<HoldRow>()

  const isCurrent = (row: HoldRow): boolean => holds.get(row.holdId) === row

  function freeClaim(holdId: string, claim: string | undefined): void {
    if (claim !== undefined && claims.get(claim) === holdId) claims.delete(claim)
  }

  function end(row: HoldRow, state: 'expired' | 'released', now: number): void {
    open.remove(row)
    row.state = state
    row.endedAt = now
    freeClaim(row.holdId, row.claim)
    if (state === 'expired') expired.push(row)
    ended.push(row)
  }

  function forgetOld(now: number): void {
    for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
      const row = ended.at(ended.start)
      if (row === undefined || row.endedAt + RETENTION_MS > now) return
      ended.shift()
      if (!isCurrent(row)) continue
      holds.delete(row.holdId)
      freeClaim(row.holdId, row.claim)
    }
  }

  return {
    get: (holdId) => holds.get(holdId),
    claimant: (claim) => claims.get(claim),
    open(row) {
      holds.set(row.holdId, row)
      open.add(row)
      if (row.claim !== undefined) claims.set(row.claim, row.holdId)
    },
    mark(row) {
      holds.set(row.holdId, row)
      ended.push(row)
    },
    end,
    settle(holdId) {
      const row = holds.get(holdId)
      if (row === undefined) return
      open.remove(row)
      holds.delete(holdId)
    },
    give: (claim, holdId) => claims.set(claim, holdId),
    freeClaim,
    tidy(now, onEnd) {
      for (let row = open.first; row !== undefined && row.deadline <= now; row = open.first) {
        end(row, 'expired', now)
        onEnd(row)
      }
      forgetOld(now)
    },
    takeExpired() {
      for (let row = expired.shift(); row !== undefined; row = expired.shift()) {
        if (isCurrent(row)) return row
      }
      return undefined
    },
  }
}
