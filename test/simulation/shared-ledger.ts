import type { ExpiredHold, HoldRequest, SettleRequest, SettleResult } from '../../src/contracts/ledger.js'
import { type MemoryLedger, memoryLedger } from '../../src/memory/ledger.js'
import { LimitBook, type LimitBookOptions } from './limit-book.js'
import type { VirtualTime } from './virtual-time.js'

/** The settlement of a hold, as the ledger accepted it. */
export interface Posted {
  readonly request: SettleRequest
  /** Somebody else made it before the router did. */
  readonly byRival: boolean
  readonly claimLost: boolean
  /** Its hold had expired. */
  readonly isLate: boolean
}

interface OpenHold {
  readonly request: HoldRequest
  open: boolean
  readonly amount: bigint
  /** On the ledger's clock. */
  readonly until: number
}

/**
 * The one ledger of a run, with separate books: the granted and posted amounts, and the excess of charges
 * over their holds.
 */
export class SharedLedger {
  readonly store: MemoryLedger
  readonly posted = new Map<string, Posted>()
  readonly balances = new Map<string, bigint>()
  /** By account: the excess of its charges over their holds. */
  readonly excess = new Map<string, bigint>()
  readonly holds = new Map<string, OpenHold>()
  /** How far its clock is ahead. */
  aheadMs = 0
  /** Something ended because it expired. */
  expired = 0
  private readonly limits: LimitBook

  constructor(
    accounts: Readonly<Record<string, string>>,
    private readonly time: VirtualTime,
    private readonly violate: (what: string) => void,
    limits: Pick<LimitBookOptions, 'limitsOf' | 'seesBalance' | 'tokensOf'>,
  ) {
    this.limits = new LimitBook({ ...limits, violate })
    let ids = 0
    this.store = memoryLedger(accounts, {
      clock: { now: () => this.now, after: () => () => {} },
      newId: () => `entry-${++ids}`,
    })
    for (const [account, credits] of Object.entries(accounts)) {
      this.balances.set(account, BigInt(credits.padEnd(1).split('.')[0]!) * 10n ** 9n + fraction(credits))
    }
  }

  private get now(): number {
    return this.time.now + this.aheadMs
  }

  async hold(request: HoldRequest) {
    const answer = await this.store.hold(request, CONTEXT)
    // A message may have arrived twice at once.
    if (!this.holds.has(request.holdId)) {
      this.limits.hold(request, answer, this.availableTo(request), this.now)
    }
    if (answer.ok && !this.holds.has(request.holdId)) {
      const { steps, ttlMs } = request
      const amount = request.amount + (steps?.amount ?? 0n) * BigInt(answer.steps ?? 0)
      this.holds.set(request.holdId, { request, open: true, amount, until: this.now + ttlMs })
      if (request.replaces !== undefined) this.close(request.replaces)
    }
    return answer
  }

  /** The balance without the holds of other calls. */
  private availableTo({ account, replaces }: HoldRequest): bigint {
    let available = this.balances.get(account) ?? 0n
    for (const [holdId, { amount, open, request, until }] of this.holds) {
      const counts = open && until > this.now && request.account === account && holdId !== replaces
      if (counts) available -= amount
    }
    return available
  }

  async release(request: { holdId: string; account: string }) {
    const answer = await this.store.release(request, CONTEXT)
    this.close(request.holdId)
    return answer
  }

  async settle(request: SettleRequest, byRival = false): Promise<SettleResult> {
    const known = this.posted.get(request.holdId)
    const answer = await this.store.settle(request, CONTEXT)
    if (known !== undefined || this.posted.has(request.holdId)) {
      if (!answer.repeated) this.violate(`the ledger posted ${request.holdId} twice`)
      return answer
    }
    if (answer.repeated) this.violate(`the ledger calls the first settlement of ${request.holdId} a repeat`)
    const { account } = request.facts
    const hold = this.holds.get(request.holdId)
    this.limits.settle(request, !byRival, this.now)
    const isLate = hold !== undefined && hold.until <= this.now
    this.posted.set(request.holdId, { request, byRival, claimLost: answer.claimLost === true, isLate })
    const covered = hold?.open === true && !isLate ? hold.amount : 0n
    const above = request.charge.cost - covered
    if (above > 0n) this.excess.set(account, (this.excess.get(account) ?? 0n) + above)
    for (const { account: name, amount } of request.postings) {
      this.balances.set(name, (this.balances.get(name) ?? 0n) + amount)
    }
    this.close(request.holdId)
    for (const [name, balance] of this.balances) {
      const least = -(this.excess.get(name) ?? 0n)
      if (balance < least) this.violate(`account ${name} is at ${balance}, its overdrafts explain ${least}`)
    }
    return answer
  }

  async expire(limit: number): Promise<readonly ExpiredHold[]> {
    const expired = await this.store.expireHolds(limit, CONTEXT)
    for (const { holdId } of expired) this.close(holdId)
    this.expired += expired.length
    return expired
  }

  /** All holds expire now. */
  leap(ms: number): void {
    this.aheadMs += ms
    for (const hold of this.holds.values()) hold.open = false
  }

  private close(holdId: string): void {
    this.limits.end(holdId)
    const hold = this.holds.get(holdId)
    if (hold !== undefined) hold.open = false
  }
}

export const CONTEXT = Object.freeze({ requestId: 'simulation', signal: new AbortController().signal })

function fraction(credits: string): bigint {
  return BigInt((credits.split('.')[1] ?? '').padEnd(9, '0'))
}
