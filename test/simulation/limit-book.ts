import type { HoldRequest, HoldResult, LimitUse, SettleRequest } from '../../src/contracts/ledger.js'
import type { Limit } from '../../src/contracts/usage-limits.js'

const LENGTHS_MS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000 }

interface Held {
  readonly amount: bigint
  readonly from: number
  /** When the hold expires, on the ledger's clock. */
  readonly until: number
}

interface Bucket {
  from: number
  used: bigint
  readonly held: Map<string, Held>
}

export interface LimitBookOptions {
  readonly limitsOf: (credentialId: string) => readonly Limit[]
  /** The tokens that a call may have. */
  readonly tokensOf: (requestId: string) => bigint
  readonly violate: (what: string) => void
}

/**
 * The limits of docs/limits.md, counted a second time: from the callers' limits and the charges, not from what the engine
 * says about them. Nothing here is shared with the engine or the ledger.
 */
export class LimitBook {
  private readonly buckets = new Map<string, Bucket>()

  constructor(private readonly options: LimitBookOptions) {}

  /** Checks a fresh answer of the ledger, in the order of its commits. */
  hold(request: HoldRequest, answer: HoldResult, now: number): void {
    const { limitsOf, violate } = this.options
    const limits = limitsOf(request.facts.credentialId)
    this.checkRequest(request, limits)
    if (answer.ok) {
      for (const limit of limits) {
        if (!this.fits(limit, request, now)) violate(`${request.holdId} was granted beyond ${limit.id}`)
        this.add(limit, request, now)
      }
    } else if (answer.reason === 'limited' && limits.every((limit) => this.fits(limit, request, now))) {
      violate(`${request.holdId} was refused for ${answer.bucket}, although it fits`)
    }
  }

  end(holdId: string): void {
    for (const { held } of this.buckets.values()) held.delete(holdId)
  }

  /** @param isOwn whether the router that took the hold settles it */
  settle(request: SettleRequest, isOwn: boolean, now: number): void {
    const { limitsOf, violate } = this.options
    for (const limit of limitsOf(request.facts.credentialId)) {
      const bucket = this.buckets.get(limit.id)
      const use = request.limits?.find((one) => one.bucket.startsWith(`${limit.id}:`))
      if (bucket === undefined) continue
      const held = bucket.held.get(request.holdId)
      bucket.held.delete(request.holdId)
      if (isOwn) this.checkUse(limit, held, use, request)
      if (limit.unit === 'requests' || use === undefined || bucket.from !== use.from) continue
      bucket.used += isOwn ? usedOf(limit, request) : use.used
      const isCovered = held !== undefined && held.until > now
      const spent = bucket.used + sumOf(bucket, now)
      if (limit.unit === 'credits' && isCovered && held.amount > 0n && spent > limit.amount) {
        violate(`${request.holdId} takes ${limit.id} to ${spent}, above ${limit.amount}`)
      }
    }
  }

  /** Every limit of the caller is in each of its holds, with what the call may use. */
  private checkRequest(request: HoldRequest, limits: readonly Limit[]): void {
    const { tokensOf, violate } = this.options
    if ((request.limits?.length ?? 0) !== limits.length) violate(`${request.holdId} has other limits`)
    for (const limit of limits) {
      const sent = request.limits?.find(({ bucket }) => bucket.startsWith(`${limit.id}:`))
      const amount =
        limit.unit === 'credits'
          ? request.amount
          : limit.unit === 'requests'
            ? 1n
            : tokensOf(request.facts.requestId)
      if (sent?.amount !== amount)
        violate(`${request.holdId} asks ${sent?.amount} of ${limit.id}, not ${amount}`)
      if (sent?.limit !== limit.amount) violate(`${request.holdId} has another amount of ${limit.id}`)
    }
  }

  private checkUse(
    limit: Limit,
    held: Held | undefined,
    use: LimitUse | undefined,
    request: SettleRequest,
  ): void {
    const { violate } = this.options
    const due = usedOf(limit, request)
    if (use?.used !== due) violate(`${request.holdId} uses ${use?.used} of ${limit.id}, not ${due}`)
    if (held !== undefined && use?.from !== held.from)
      violate(`${request.holdId} settles ${limit.id} in the period of ${use?.from}, not ${held.from}`)
  }

  private fits(limit: Limit, request: HoldRequest, now: number): boolean {
    const bucket = this.bucketOf(limit)
    const own = request.replaces === undefined ? undefined : bucket.held.get(request.replaces)
    const isSwap = own !== undefined && own.until > now
    if (limit.unit === 'requests') {
      return isSwap || (isOver(limit, bucket, now) ? 0n : bucket.used) + 1n <= limit.amount
    }
    const amount = limit.unit === 'credits' ? request.amount : this.options.tokensOf(request.facts.requestId)
    if (limit.unit === 'credits' && amount === 0n) return true
    if (isOver(limit, bucket, now)) return amount <= limit.amount
    const others = sumOf(bucket, now) - (isSwap && own.from === bucket.from ? own.amount : 0n)
    return bucket.used + others + amount <= limit.amount
  }

  private add(limit: Limit, request: HoldRequest, now: number): void {
    const bucket = this.bucketOf(limit)
    const own = request.replaces === undefined ? undefined : bucket.held.get(request.replaces)
    const isSwap = own !== undefined && own.until > now
    if (request.replaces !== undefined) bucket.held.delete(request.replaces)
    const until = now + request.ttlMs
    if (limit.unit === 'requests' && isSwap) {
      bucket.held.set(request.holdId, { ...own, until })
      return
    }
    if (isOver(limit, bucket, now)) {
      bucket.from = beginning(limit, now)
      bucket.used = 0n
    }
    if (limit.unit === 'requests') bucket.used += 1n
    const amount =
      limit.unit === 'requests'
        ? 0n
        : limit.unit === 'credits'
          ? request.amount
          : this.options.tokensOf(request.facts.requestId)
    bucket.held.set(request.holdId, { amount, from: bucket.from, until })
  }

  private bucketOf({ id }: Limit): Bucket {
    let bucket = this.buckets.get(id)
    if (bucket === undefined) {
      bucket = { from: Number.NEGATIVE_INFINITY, used: 0n, held: new Map() }
      this.buckets.set(id, bucket)
    }
    return bucket
  }
}

/** What is held in the bucket's period. */
function sumOf({ from, held }: Bucket, now: number): bigint {
  return [...held.values()]
    .filter((one) => one.from === from && one.until > now)
    .reduce((sum, { amount }) => sum + amount, 0n)
}

function isOver(limit: Limit, bucket: Bucket, now: number): boolean {
  return beginning(limit, now) > bucket.from
}

function beginning({ per }: Limit, now: number): number {
  const length = LENGTHS_MS[per]
  return length === undefined ? 0 : Math.floor(now / length) * length
}

function usedOf({ unit }: Limit, { charge }: SettleRequest): bigint {
  if (unit === 'requests') return 1n
  return unit === 'credits' ? charge.cost : BigInt(charge.usage.prompt + charge.usage.completion)
}
