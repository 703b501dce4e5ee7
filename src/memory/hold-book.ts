import { createDeadlineHeap, type Due } from '../base/deadline-heap.js'
import type { CallFacts, Charge, Credits, HoldRequest, LimitUse } from '../contracts/index.js'
import { fixedFacts } from './ledger-input.js'
import { RecentKeys, RecentMap } from './recent-map.js'

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

export function isOpen(hold: OpenHold | SettledHold): hold is OpenHold {
  return 'deadline' in hold
}

/**
 * The state of each hold, and the hold of each claim. It knows nothing about balances.
 *
 * Open holds are never forgotten. The latest `keepClosed` settled holds are kept, and as many that ended without a charge.
 * Forgetting a settled hold releases its claim.
 */
export class HoldBook {
  /** The open and the settled ones: a look-up in so large a map is most of what a hold costs. */
  private readonly holds = new Map<string, OpenHold | SettledHold>()
  private readonly byDeadline = createDeadlineHeap<OpenHold>()
  private readonly endedHolds: RecentMap<EndedHold>
  private readonly settledIds: RecentKeys
  /** The id of the open or settled hold that has each claim. */
  private readonly claimants = new Map<string, string>()
  /** Expired holds that {@link takeExpired} has not returned. */
  private readonly expired = new Map<string, OpenHold>()

  constructor(keepClosed: number) {
    this.endedHolds = new RecentMap(keepClosed, (holdId) => this.expired.delete(holdId))
    this.settledIds = new RecentKeys(keepClosed)
  }

  /** Returns a hold that is open or settled. */
  find(holdId: string): OpenHold | SettledHold | undefined {
    return this.holds.get(holdId)
  }

  open(holdId: string): OpenHold | undefined {
    const hold = this.holds.get(holdId)
    return hold !== undefined && isOpen(hold) ? hold : undefined
  }

  ended(holdId: string): EndedHold | undefined {
    return this.endedHolds.get(holdId)
  }

  settled(holdId: string): SettledHold | undefined {
    const hold = this.holds.get(holdId)
    return hold === undefined || isOpen(hold) ? undefined : hold
  }

  /** Returns the id of the open or settled hold that has this claim. */
  claimant(claim: string): string | undefined {
    return this.claimants.get(claim)
  }

  /** Adds an open hold and gives it its claim. */
  add(hold: OpenHold): void {
    this.holds.set(hold.holdId, hold)
    this.byDeadline.add(hold)
    if (hold.claim !== undefined) this.claimants.set(hold.claim, hold.holdId)
  }

  /** Ends an open hold without a charge, and releases its claim. */
  release(hold: OpenHold): void {
    const { holdId, claim } = hold
    this.holds.delete(holdId)
    this.byDeadline.remove(hold)
    this.releaseClaim(holdId, claim)
    this.endedHolds.add(holdId, { claim })
  }

  /** Makes a late hold with this id, which must be unknown, fail as `closed`. */
  mark(holdId: string): void {
    this.endedHolds.add(holdId, { claim: undefined })
  }

  /** Settles a hold that is not settled, whatever its state, and gives it the claim. */
  settle(holdId: string, settled: SettledHold): void {
    const open = this.open(holdId)
    if (open !== undefined) this.byDeadline.remove(open)
    else {
      this.endedHolds.delete(holdId)
      this.expired.delete(holdId)
    }
    this.holds.set(holdId, settled)
    const forgotten = this.settledIds.add(holdId)
    if (forgotten !== undefined) this.forgetSettled(forgotten)
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

  private forgetSettled(holdId: string): void {
    const settled = this.settled(holdId)
    if (settled === undefined) return
    this.holds.delete(holdId)
    this.releaseClaim(holdId, settled.claim)
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
