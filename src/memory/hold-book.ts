import type { CallFacts, Credits } from '../contracts/index.js'
import { createDeadlineHeap, type Due } from './deadline-heap.js'
import type { PackedEntry } from './packed-entry.js'
import { createQueue } from './queue.js'
import { FORGOTTEN_AT_ONCE, RETENTION_MS } from './retention.js'

/** A hold that is not settled, or the mark that a release without one has left. */
export interface HoldRow extends Due {
  readonly holdId: string
  readonly account: string
  readonly amount: Credits
  readonly replaces: string | undefined
  readonly facts: CallFacts | undefined
  readonly claim: string | undefined
  state: 'held' | 'expired' | 'released'
  endedAt: number
}

/** Which holds there are, who has which claim, and what is over. Knows nothing of balances. */
export interface HoldBook {
  /** A settled hold is its entry. */
  get(holdId: string): HoldRow | PackedEntry | undefined
  /** The id of the hold that has this claim, open or settled. */
  claimant(claim: string): string | undefined
  /** Adds a row that is held. */
  open(row: HoldRow): void
  /** Adds a row that has ended before it began. */
  mark(row: HoldRow): void
  /** Ends a row that is held, and frees its claim. */
  end(row: HoldRow, state: 'expired' | 'released', now: number): void
  /** Puts the entry of a hold in the place of its row, whatever that was. Its claim stays as it is. */
  settle(holdId: string, entry: PackedEntry): void
  /** Gives a claim to a hold. */
  give(claim: string, holdId: string): void
  /** Forgets a hold and frees its claim. */
  forget(holdId: string, claim: string | undefined): void
  /** Ends what is overdue and hands each to `ended`; forgets a few rows that ended long ago. */
  tidy(now: number, ended: (row: HoldRow) => void): void
  /** Takes an expired row that nobody has taken before. */
  takeExpired(): HoldRow | undefined
}

export function createHoldBook(): HoldBook {
  const holds = new Map<string, HoldRow | PackedEntry>()
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

  function forget(holdId: string, claim: string | undefined): void {
    holds.delete(holdId)
    freeClaim(holdId, claim)
  }

  function forgetOld(now: number): void {
    for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
      const row = ended.at(ended.start)
      if (row === undefined || row.endedAt + RETENTION_MS > now) return
      ended.shift()
      if (isCurrent(row)) forget(row.holdId, row.claim)
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
    settle(holdId, entry) {
      const known = holds.get(holdId)
      if (typeof known === 'object') open.remove(known)
      holds.set(holdId, entry)
    },
    give: (claim, holdId) => claims.set(claim, holdId),
    forget,
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
