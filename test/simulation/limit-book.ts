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
  /** The tokens that a call may have, or the fewest if the ledger chooses its output. */
  readonly tokensOf: (requestId: string) => bigint
  /** Whether the caller's holds may depend on the balance of its account. */
  readonly seesBalance: (credentialId: string) => boolean
  readonly violate: (what: string) => void
}

/**
 * The limits of docs/limits.md, counted a second time: from the callers' limits and the charges, not from what the engine
 * says about them. Nothing here is shared with the engine or the ledger.
 */
export class LimitBook {
  private readonly buckets = new Map<string, Bucket>()

  constructor(private readonly options: LimitBookOptions) {}

  /**
   * Checks a fresh answer of the ledger, in the order of its commits.
   *
   * @param available the balance that was free for the hold
   */
  hold(request: HoldRequest, answer: HoldResult, available: bigint, now: number): void {
    const { limitsOf, violate } = this.options
    const limits = limitsOf(request.facts.credentialId)
    this.checkRequest(request, limits)
    const steps = ('steps' in answer && answer.steps) || 0
    if (answer.ok) {
      this.checkSteps(request, steps, limits, available, now)
      for (const limit of limits) {
        if (!this.fits(limit, request, steps, now))
          violate(`${request.holdId} was granted beyond ${limit.id}`)
        this.add(limit, request, steps, now)
      }
    } else if (
      answer.reason === 'limited' &&
      limits.every((limit) => this.fits(limit, request, steps, now))
    ) {
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
    const { seesBalance, tokensOf, violate } = this.options
    if ((request.limits?.length ?? 0) !== limits.length) violate(`${request.holdId} has other limits`)
    const isBlind = !seesBalance(request.facts.credentialId)
    if (request.steps !== undefined && request.steps.hidesBalance !== isBlind)
      violate(`${request.holdId} hides the balance: ${request.steps.hidesBalance}`)
    const first = limits.filter(({ of: owner, unit }) => isBlind && unit === 'credits' && owner !== 'account')
    const early = request.limits?.slice(0, request.beforeBalance ?? 0) ?? []
    if (early.length !== first.length || !first.every(({ id }) => early.some(isOf(id))))
      violate(`${request.holdId} tests ${early.map(({ bucket }) => bucket)} before the balance`)
    for (const limit of limits) {
      const sent = request.limits?.find(({ bucket }) => bucket.startsWith(`${limit.id}:`))
      const amount =
        limit.unit === 'credits'
          ? request.amount
          : limit.unit === 'requests'
            ? 1n
            : tokensOf(request.facts.requestId)
      // A hold that is taken again has the tokens that the ledger chose before.
      const isLess =
        sent === undefined || (limit.unit === 'tokens' ? sent.amount < amount : sent.amount !== amount)
      if (isLess) violate(`${request.holdId} asks ${sent?.amount} of ${limit.id}, not ${amount}`)
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

  /**
   * No more steps are taken than every part of the credit allows, and no fewer. A part allows a number if so many are usual
   * or cost at most a quarter, and if there is still room for the least of up to three holds.
   */
  private checkSteps(
    { amount: least, facts, holdId, limits: sent = [], replaces, steps }: HoldRequest,
    taken: number,
    limits: readonly Limit[],
    available: bigint,
    now: number,
  ): void {
    if (steps === undefined) return
    const parts = steps.hidesBalance === true ? [] : [{ free: available, least, step: steps.amount }]
    for (const limit of limits) {
      const isHidden = limit.of === 'account' && !this.options.seesBalance(facts.credentialId)
      const condition = sent.find(isOf(limit.id))
      if (limit.unit === 'requests' || isHidden || condition === undefined) continue
      const bucket = this.bucketOf(limit)
      const own = replaces === undefined ? undefined : bucket.held.get(replaces)
      const isSwap = own !== undefined && own.until > now
      // The swap stays in its period until another hold begins the next one.
      if (isSwap && (isOver(limit, bucket, now) || own.from !== bucket.from)) return
      const others = sumOf(bucket, now) - (isSwap ? own.amount : 0n)
      const free = isOver(limit, bucket, now) ? limit.amount : limit.amount - bucket.used - others
      parts.push({ free, least: condition.amount, step: condition.step ?? 0n })
    }
    const isAllowed = (count: number): boolean =>
      parts.every(({ free, least: first, step }) => {
        if (step === 0n) return true
        const spent = first + step * BigInt(count)
        let room = 0n
        while (room < 3n && (room + 2n) * first <= free) room += 1n
        return free - spent >= room * first && (count <= steps.usual || 4n * spent <= free)
      })
    const isMost = taken === steps.most || !isAllowed(taken + 1)
    if ((taken > 0 && !isAllowed(taken)) || !isMost || taken > steps.most)
      this.options.violate(`${holdId} takes ${taken} of ${steps.most} steps`)
  }

  private fits(limit: Limit, request: HoldRequest, steps: number, now: number): boolean {
    const bucket = this.bucketOf(limit)
    const own = request.replaces === undefined ? undefined : bucket.held.get(request.replaces)
    const isSwap = own !== undefined && own.until > now
    if (limit.unit === 'requests') {
      return isSwap || (isOver(limit, bucket, now) ? 0n : bucket.used) + 1n <= limit.amount
    }
    const amount = heldOf(limit, request, steps)
    if (limit.unit === 'credits' && amount === 0n) return true
    if (isOver(limit, bucket, now)) return amount <= limit.amount
    const others = sumOf(bucket, now) - (isSwap && own.from === bucket.from ? own.amount : 0n)
    return bucket.used + others + amount <= limit.amount
  }

  private add(limit: Limit, request: HoldRequest, steps: number, now: number): void {
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
    const amount = limit.unit === 'requests' ? 0n : heldOf(limit, request, steps)
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

/** The credits or tokens that a hold with so many steps holds of a limit. */
function heldOf(limit: Limit, { amount, limits, steps }: HoldRequest, count: number): bigint {
  if (limit.unit === 'credits') return amount + (steps?.amount ?? 0n) * BigInt(count)
  const condition = limits?.find(isOf(limit.id))
  return (condition?.amount ?? 0n) + (condition?.step ?? 0n) * BigInt(count)
}

function isOf(id: string): (limit: { readonly bucket: string }) => boolean {
  return ({ bucket }) => bucket.startsWith(`${id}:`)
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
