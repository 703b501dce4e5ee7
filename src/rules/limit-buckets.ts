import type { PeriodWindow } from '../base/periods.js'
import type { HoldLimit, HoldLimited, LimitState, LimitUse } from '../contracts/ledger.js'
import type { CountedLimit, LimitCount } from '../contracts/look-ups.js'

/** The count that limits are compared with, for one period. Times are in milliseconds since the Unix epoch. */
export interface Bucket {
  readonly startsAt: number
  readonly endsAt: number
  /** Credits or tokens of the period's open holds. */
  readonly held: bigint
  readonly used: bigint
}

export interface BucketRows {
  read(id: string): Bucket | undefined
  set(id: string, bucket: Bucket): void
}

/** A bucket is deleted if its period has been over for this long. */
export const KEEP_BUCKET_MS = 60 * 86_400_000

/** A hold that is within all its limits. */
export interface WithinLimits {
  readonly ok: true
  readonly grants: readonly LimitGrant[]
}

export interface LimitGrant {
  readonly limit: HoldLimit
  /** The part of the bucket that the hold will account for. */
  readonly part: LimitUse
  /** The bucket with this hold. */
  readonly bucket: Bucket
  /** Whether the bucket already counted this request for the replaced hold, in a period that has ended. */
  readonly isCounted: boolean
}

/**
 * Tests limits as {@link HoldLimit} says, without changing anything. `own` are the parts that the replaced hold
 * accounts for. `overdue` returns the part of a bucket that overdue holds still hold. It is called only before a
 * refusal.
 */
export function testLimits(
  rows: BucketRows,
  limits: readonly HoldLimit[],
  own: readonly LimitUse[],
  now: number,
  overdue: (bucket: string, startsAt: number) => bigint,
): WithinLimits | HoldLimited {
  const grants: LimitGrant[] = []
  let refusal: HoldLimited | undefined
  for (const limit of limits) {
    const mine = own.find(({ bucket }) => bucket === limit.bucket)
    const bucket = presentBucket(limit, rows.read(limit.bucket), mine, now)
    if (mine !== undefined && limit.unit === 'requests' && mine.from !== bucket.startsAt) {
      grants.push({ limit, part: mine, bucket, isCounted: true })
      continue
    }
    const others = withoutPart(bucket, mine)
    const free = limit.limit - others.used - others.held
    const isWithin = limit.amount <= free || (limit.unit === 'credits' && limit.amount === 0n)
    const freeAtLast = isWithin ? free : free + overdue(limit.bucket, bucket.startsAt)
    if (isWithin || limit.amount <= freeAtLast) {
      const part = { bucket: limit.bucket, unit: limit.unit, from: bucket.startsAt, used: limit.amount }
      grants.push({ limit, part, bucket: withPart(others, part), isCounted: false })
      continue
    }
    const resetMs = Math.max(0, bucket.endsAt - now)
    if (refusal === undefined || resetMs > refusal.resetMs) {
      refusal = {
        ok: false,
        reason: 'limited',
        bucket: limit.bucket,
        left: notNegative(freeAtLast),
        resetMs,
        onlyHeld: others.used + limit.amount <= limit.limit,
      }
    }
  }
  return refusal ?? { ok: true, grants }
}

/** Returns what a limit leaves for a hold. Below 0 if it is exceeded. */
export function freeOf(
  limit: HoldLimit,
  rows: Pick<BucketRows, 'read'>,
  own: readonly LimitUse[],
  now: number,
): bigint {
  const mine = own.find(({ bucket }) => bucket === limit.bucket)
  const { held, used } = withoutPart(presentBucket(limit, rows.read(limit.bucket), mine, now), mine)
  return limit.limit - used - held
}

/** Moves the buckets from the replaced hold, if there is one, to the hold that was granted. */
export function takeLimits(rows: BucketRows, grants: readonly LimitGrant[], own: readonly LimitUse[]): void {
  giveBack(rows, own)
  for (const { part, bucket, isCounted } of grants) {
    if (!isCounted) rows.set(part.bucket, bucket)
  }
}

/** Returns the amounts of an open hold to the buckets. Requests stay used. */
export function giveBack(rows: BucketRows, parts: readonly LimitUse[]): void {
  for (const part of parts) {
    const bucket = part.unit === 'requests' ? undefined : rows.read(part.bucket)
    if (bucket?.startsAt === part.from) rows.set(part.bucket, withoutPart(bucket, part))
  }
}

/** Counts the uses of a settlement. Requests were counted by the hold. `sum` adds two amounts, or throws. */
export function countUses(
  rows: BucketRows,
  uses: readonly LimitUse[],
  sum: (bucket: string, used: bigint, more: bigint) => bigint,
): void {
  for (const { bucket: id, unit, from, used } of uses) {
    const bucket = unit === 'requests' ? undefined : rows.read(id)
    if (bucket?.startsAt !== from) continue
    const { startsAt, endsAt, held } = bucket
    rows.set(id, { startsAt, endsAt, held, used: sum(id, bucket.used, used) })
  }
}

/** Returns the answer to a hold that accounts for these parts. */
export function limitStates(
  rows: BucketRows,
  limits: readonly HoldLimit[],
  parts: readonly LimitUse[],
  now: number,
): readonly LimitState[] {
  return limits.map(({ bucket, limit }, index) => {
    const row = rows.read(bucket)
    return {
      bucket,
      from: parts[index]!.from,
      left: row === undefined ? limit : notNegative(limit - row.used - row.held),
      resetMs: row === undefined ? 0 : Math.max(0, row.endsAt - now),
    }
  })
}

/** Returns the counts of limits at this time. A bucket whose period has ended, or that does not exist, is empty. */
export function limitCounts(
  rows: Pick<BucketRows, 'read'>,
  limits: readonly CountedLimit[],
  now: number,
): readonly LimitCount[] {
  return limits.map((counted) => {
    const { bucket, limit } = counted
    const { endsAt, held, used } = presentBucket(counted, rows.read(bucket), undefined, now)
    return { bucket, used, held, left: notNegative(limit - used - held), resetMs: Math.max(0, endsAt - now) }
  })
}

/** Whether each limit has a window that contains `now`. Otherwise only the repeat of a granted hold is answered. */
export function areInPresent(limits: readonly HoldLimit[], now: number): boolean {
  return limits.every(({ windows }) => presentWindow(windows, now) !== undefined)
}

/** Whether a hold with these parts was granted for a request with the same limits. */
export function isSameLimits(limits: readonly HoldLimit[], parts: readonly LimitUse[]): boolean {
  return (
    limits.length === parts.length &&
    limits.every(
      ({ bucket, amount }, index) => parts[index]!.bucket === bucket && parts[index]!.used === amount,
    )
  )
}

/** Returns the bucket of the period in which a hold counts now. */
function presentBucket(
  { bucket, windows }: Pick<HoldLimit, 'bucket' | 'windows'>,
  row: Bucket | undefined,
  mine: LimitUse | undefined,
  now: number,
): Bucket {
  const window = presentWindow(windows, now)
  if (window === undefined) {
    throw new RangeError(`No window of ${bucket} contains the time of the store's clock, ${now}`)
  }
  const [startsAt, endsAt] = window
  if (row !== undefined && (row.startsAt >= startsAt || row.startsAt === mine?.from)) return row
  return { startsAt, endsAt, held: 0n, used: 0n }
}

function presentWindow(windows: HoldLimit['windows'], now: number): PeriodWindow | undefined {
  return windows.find(([from, to]) => from <= now && now < to)
}

function withoutPart(bucket: Bucket, part: LimitUse | undefined): Bucket {
  if (part === undefined || part.from !== bucket.startsAt) return bucket
  return changed(bucket, part.unit, -part.used)
}

function withPart(bucket: Bucket, part: LimitUse): Bucket {
  return changed(bucket, part.unit, part.used)
}

function changed({ startsAt, endsAt, held, used }: Bucket, unit: LimitUse['unit'], by: bigint): Bucket {
  return unit === 'requests'
    ? { startsAt, endsAt, held, used: used + by }
    : { startsAt, endsAt, held: held + by, used }
}

function notNegative(amount: bigint): bigint {
  return amount > 0n ? amount : 0n
}
