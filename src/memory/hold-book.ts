import { createDeadlineHeap, type Due } from '../base/deadline-heap.js'
import type { CallFacts, Charge, Credits, HoldRequest, LimitUse } from '../contracts/index.js'
import { fixedFacts } from './ledger-input.js'
import { RecentMap } from './recent-map.js'

/** A hold that still counts against its account. */
export interface OpenHold extends Due {
  readonly holdId: string
  readonly account: string
  /** Includes its steps. */
  readonly amount: Credits
  /** Undefined if the hold asked for none. */
  readonly steps: number | undefined
  readonly replaces: string | undefined
  readonly claim: string | undefined
  readonly facts: CallFacts
  /** The parts of buckets that it accounts for. */
  readonly limits: readonly LimitUse[]
}

/** A hold that was released or has expired, or the marker that the release of an unknown hold leaves. */
export interface EndedHold {
  readonly claim: string | undefined
}

/**
 * A plain object: a settlement that packs it as JSON, in the heap or in a buffer, takes more CPU than the garbage collector
 * then saves, and packing it in typed arrays saves nothing.
 */
export interface SettledHold {
  /** Undefined if the call had none, or another hold had it. */
  readonly claim: string | undefined
  readonly charge: Charge
  /** The position of its entry. */
  readonly position: number
}

/**
 * The state of each hold, and the hold of each claim. It knows nothing about balances.
 *
 * Open holds are never forgotten. The latest `keepClosed` settled holds are kept, and as many that ended without a charge.
 * Forgetting a settled hold releases its claim.
 */
export class HoldBook {
  private readonly openHolds = new Map<string, OpenHold>()
  private readonly byDeadline = createDeadlineHeap<OpenHold>()
  private readonly endedHolds: RecentMap<EndedHold>
  private readonly settledHolds: RecentMap<SettledHold>
  /** The id of the open or settled hold that has each claim. */
  private readonly claimants = new Map<string, string>()
  /** Expired holds that {@link takeExpired} has not returned. */
  private readonly expired = new Map<string, OpenHold>()

  constructor(keepClosed: number) {
    this.endedHolds = new RecentMap(keepClosed, (holdId) => this.expired.delete(holdId))
    this.settledHolds = new RecentMap(keepClosed, (holdId, { claim }) => this.releaseClaim(holdId, claim))
  }

  open(holdId: string): OpenHold | undefined {
    return this.openHolds.get(holdId)
  }

  ended(holdId: string): EndedHold | undefined {
    return this.endedHolds.get(holdId)
  }

  settled(holdId: string): SettledHold | undefined {
    return this.settledHolds.get(holdId)
  }

  /** Returns the id of the open or settled hold that has this claim. */
  claimant(claim: string): string | undefined {
    return this.claimants.get(claim)
  }

  /** Adds an open hold and gives it its claim. */
  add(hold: OpenHold): void {
    this.openHolds.set(hold.holdId, hold)
    this.byDeadline.add(hold)
    if (hold.claim !== undefined) this.claimants.set(hold.claim, hold.holdId)
  }

  /** Ends an open hold without a charge, and releases its claim. */
  release(hold: OpenHold): void {
    const { holdId, claim } = hold
    this.close(hold)
    this.releaseClaim(holdId, claim)
    this.endedHolds.add(holdId, { claim })
  }

  /** Makes a late hold with this id, which must be unknown, fail as `closed`. */
  mark(holdId: string): void {
    this.endedHolds.add(holdId, { claim: undefined })
  }

  /** Settles a hold that is not settled, whatever its state, and gives it the claim. */
  settle(holdId: string, settled: SettledHold): void {
    const hold = this.openHolds.get(holdId)
    if (hold !== undefined) this.close(hold)
    else {
      this.endedHolds.delete(holdId)
      this.expired.delete(holdId)
    }
    this.settledHolds.add(holdId, settled)
    if (settled.claim !== undefined) this.claimants.set(settled.claim, holdId)
  }

  /** Ends the open holds that are due, and calls `expired` for each. */
  expire(now: number, expired: (hold: OpenHold) => void): void {
    for (let hold = this.byDeadline.first; hold !== undefined; hold = this.byDeadline.first) {
      if (hold.deadline > now) return
      this.expired.set(hold.holdId, hold)
      this.release(hold)
      expired(hold)
    }
  }

  /** Returns at most `limit` expired holds. Each is returned once, unless it is settled first. */
  takeExpired(limit: number): readonly OpenHold[] {
    const taken: OpenHold[] = []
    for (const [holdId, hold] of this.expired) {
      if (taken.length >= limit) break
      this.expired.delete(holdId)
      taken.push(hold)
    }
    return taken
  }

  private close(hold: OpenHold): void {
    this.openHolds.delete(hold.holdId)
    this.byDeadline.remove(hold)
  }

  private releaseClaim(holdId: string, claim: string | undefined): void {
    if (claim !== undefined && this.claimants.get(claim) === holdId) this.claimants.delete(claim)
  }
}

/** What the store has decided about a hold. */
interface OpenedHold extends Pick<OpenHold, 'amount' | 'claim' | 'steps'> {
  readonly limits?: readonly LimitUse[]
}

/** `claim` is the request's, or that of the hold that it replaces. `amount` is the request's with the steps. */
export function openHold(
  request: HoldRequest,
  { amount, claim, limits = [], steps }: OpenedHold,
  now: number,
): OpenHold {
  const { account, facts, holdId, replaces, ttlMs } = request
  return {
    holdId,
    account,
    amount,
    steps,
    replaces,
    claim,
    facts: fixedFacts(facts),
    limits,
    deadline: now + ttlMs,
    slot: -1,
  }
}
