import type { CallFacts, Charge, Credits, Posting } from '../contracts/index.js'
import { createDeadlineHeap, type Due } from './deadline-heap.js'
import { createQueue } from './queue.js'

export type HoldState = 'held' | 'expired' | 'released' | 'settled'

/** A hold, or the mark that a release or a settlement without one has left. */
export interface HoldRow extends Due {
  readonly holdId: string
  readonly account: string
  readonly amount: Credits
  replaces: string | undefined
  facts: CallFacts | undefined
  state: HoldState
  claim: string | undefined
  /** What was charged, once it is settled. */
  charge: Charge | undefined
  postings: readonly Posting[] | undefined
  endedAt: number
  /** How often it has ended: once, or twice where it was settled after it had expired or been released. */
  endings: number
}

/** Which holds there are, who has which claim, and what is over. Knows nothing of balances. */
export interface HoldBook {
  get(holdId: string): HoldRow | undefined
  /** The hold that has this claim, open or settled. */
  claimant(claim: string): HoldRow | undefined
  /** Adds a row that is held. */
  open(row: HoldRow): void
  /** Adds a row that has ended before it began. */
  mark(row: HoldRow): void
  /** Ends a row, or ends it anew. Its claim goes with `settled` and is freed otherwise. */
  end(row: HoldRow, state: Exclude<HoldState, 'held'>, now: number): void
  /** Gives a claim to a row. */
  give(claim: string, row: HoldRow): void
  /** Ends what is overdue and hands each to `ended`; forgets a few rows that ended long ago. */
  tidy(now: number, ended: (row: HoldRow) => void): void
  /** Takes an expired row that nobody has taken before. */
  takeExpired(): HoldRow | undefined
}

/** How long what has ended is remembered. */
export const RETENTION_MS = 31 * 24 * 60 * 60 * 1_000
const FORGOTTEN_AT_ONCE = 4

export function createHoldBook(): HoldBook {
  const rows = new Map<string, HoldRow>()
  const claims = new Map<string, HoldRow>()
  const open = createDeadlineHeap<HoldRow>()
  const ended = createQueue<HoldRow>()
  const expired = createQueue<HoldRow>()

  function freeClaim(row: HoldRow): void {
    if (row.claim !== undefined && claims.get(row.claim) === row) claims.delete(row.claim)
  }

  function end(row: HoldRow, state: Exclude<HoldState, 'held'>, now: number): void {
    open.remove(row)
    row.state = state
    row.endedAt = now
    row.endings++
    if (state !== 'settled') freeClaim(row)
    if (state === 'expired') expired.push(row)
    ended.push(row)
  }

  function forget(now: number): void {
    for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
      const row = ended.at(ended.start)
      if (row === undefined || (row.endings === 1 && row.endedAt + RETENTION_MS > now)) return
      ended.shift()
      row.endings--
      if (row.endings > 0) continue
      rows.delete(row.holdId)
      freeClaim(row)
    }
  }

  return {
    get: (holdId) => rows.get(holdId),
    claimant: (claim) => claims.get(claim),
    open(row) {
      rows.set(row.holdId, row)
      open.add(row)
      if (row.claim !== undefined) claims.set(row.claim, row)
    },
    mark(row) {
      rows.set(row.holdId, row)
      row.endings++
      ended.push(row)
    },
    end,
    give(claim, row) {
      row.claim = claim
      claims.set(claim, row)
    },
    tidy(now, onEnd) {
      for (let row = open.first; row !== undefined && row.deadline <= now; row = open.first) {
        end(row, 'expired', now)
        onEnd(row)
      }
      forget(now)
    },
    takeExpired() {
      for (let row = expired.shift(); row !== undefined; row = expired.shift()) {
        if (row.state === 'expired') return row
      }
      return undefined
    },
  }
}
