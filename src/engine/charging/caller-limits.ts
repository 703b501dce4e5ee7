import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.js'
import type { Mutable } from '../../base/mutable.js'
import { PeriodCalendar } from '../../base/periods.js'
import type { HoldLimit, LimitState, LimitUse } from '../../contracts/ledger.js'
import type { CountedLimit } from '../../contracts/look-ups.js'
import type { Limit } from '../../contracts/usage-limits.js'
import { type LimitFigures, rateLimitHeaders, tighter } from '../../protocol/rate-limit-headers.js'
import type { Usage } from '../../protocol/usage.js'
import { bucketOf } from '../../rules/bucket-of.js'
import { isOwnLimit } from '../../rules/own-limit.js'
import { limitsSchema, parseInput } from '../../rules/schemas.js'

/** The number of lists of limits to remember. Each is about as large as a caller's entry in a cache. */
const KNOWN_LISTS = 10_000

/** Reads the limits of a principal, and equal lists only once. Throws an error that names the fault. */
export type LimitReader = (limits: readonly Limit[]) => CallerLimits

/** @param clock the wall clock, which decides the periods of a hold */
export function createLimitReader(clock: Clock): LimitReader {
  const calendar = new PeriodCalendar()
  /** A cached principal brings the same list with each call. Serialising the list would take some microseconds. */
  const byList = new WeakMap<readonly Limit[], CallerLimits>()
  /**
   * Without a cache, stores build a new list for each call. Checking a time zone takes longer than serialising the
   * list.
   */
  const byText = new LRUCache<string, CallerLimits>({ max: KNOWN_LISTS })

  function readText(limits: readonly Limit[]): CallerLimits {
    const key = textOf(limits)
    let read = byText.get(key)
    if (read === undefined) {
      read = new CallerLimits(limits, calendar, clock)
      byText.set(key, read)
    }
    return read
  }

  return (limits) => {
    let read = byList.get(limits)
    if (read === undefined) {
      read = readText(limits)
      if (Object.isFrozen(limits) && limits.every(Object.isFrozen)) byList.set(limits, read)
    }
    return read
  }
}

/** Serialises a list of any shape. Different lists have different texts. */
function textOf(limits: unknown): string {
  return JSON.stringify(limits, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value)) ?? ''
}

/** What each step of a hold adds. */
export interface StepUse {
  readonly credits: bigint
  readonly tokens: number
}

interface Counted {
  readonly limit: Limit
  readonly bucket: string
}

/** The limits that all calls of one caller must keep. */
export class CallerLimits {
  /** Whether a call may not cost more than its hold, since its credits are limited. */
  readonly hasBudget: boolean
  readonly countsTokens: boolean
  /** The number of budgets in a hold that belong to the caller itself or to its app. They come first. */
  readonly ownBudgets: number
  /** In the order of {@link limits}. */
  private readonly listed: readonly Counted[]
  /** In the order of a hold: the budgets of the caller or its app come first. */
  private readonly buckets: readonly Counted[]

  constructor(
    readonly limits: readonly Limit[],
    private readonly calendar: PeriodCalendar,
    private readonly clock: Clock,
  ) {
    parseInput(limitsSchema, limits, 'limits')
    this.listed = limits.map((limit) => ({ limit, bucket: bucketOf(limit) }))
    const own = this.listed.filter(({ limit }) => isOwnBudget(limit))
    this.ownBudgets = own.length
    this.buckets = [...own, ...this.listed.filter(({ limit }) => !isOwnBudget(limit))]
    this.hasBudget = limits.some(({ unit }) => unit === 'credits')
    this.countsTokens = limits.some(({ unit }) => unit === 'tokens')
  }

  /**
   * Returns the conditions of a hold for this many credits and tokens.
   *
   * @param step what each step of the hold adds
   * @param hidesAccount whether the caller may not learn what is left of the account's limits
   */
  forHold(credits: bigint, tokens: number, step?: StepUse, hidesAccount = false): HoldLimit[] {
    const now = this.clock.now()
    return this.buckets.map(({ bucket, limit }) => {
      const { unit } = limit
      const condition: Mutable<HoldLimit> = {
        bucket,
        unit,
        limit: limit.amount,
        amount: unit === 'credits' ? credits : unit === 'tokens' ? BigInt(tokens) : 1n,
        windows: this.calendar.around(limit, now),
      }
      if (step !== undefined && unit !== 'requests') {
        condition.step = unit === 'credits' ? step.credits : BigInt(step.tokens)
        if (hidesAccount && limit.of === 'account') condition.hidden = true
      }
      return condition
    })
  }

  /** Returns the limits as a ledger counts them, in the order of {@link limits}. */
  counted(): CountedLimit[] {
    const now = this.clock.now()
    return this.listed.map(({ bucket, limit }) => ({
      bucket,
      limit: limit.amount,
      windows: this.calendar.around(limit, now),
    }))
  }

  /** Returns what a call uses of its limits. `states` is the ledger's answer to its hold. */
  used(states: readonly LimitState[], cost: bigint, { completion, prompt }: Usage): LimitUse[] {
    return this.buckets.map(({ bucket, limit: { unit } }, position) => ({
      bucket,
      unit,
      from: states[position]!.from,
      used: unit === 'credits' ? cost : unit === 'tokens' ? BigInt(prompt + completion) : 1n,
    }))
  }

  /** Returns the limit of a bucket that the ledger names. */
  find(bucket: unknown): Limit | undefined {
    return this.buckets.find((counted) => counted.bucket === bucket)?.limit
  }

  /** Whether an answer to {@link forHold} has the state of every bucket, in order. */
  areAll(states: readonly LimitState[] | undefined): states is readonly LimitState[] {
    return (
      Array.isArray(states) &&
      states.length === this.buckets.length &&
      this.buckets.every(({ bucket }, position) => isState(states[position], bucket))
    )
  }

  /**
   * Returns headers for the tightest of the caller's own limits of requests, and of tokens. Undefined if there are
   * none.
   */
  headers(states: readonly LimitState[]): Readonly<Record<string, string>> | undefined {
    let requests: LimitFigures | undefined
    let tokens: LimitFigures | undefined
    for (const [position, { limit }] of this.buckets.entries()) {
      if (limit.unit === 'credits' || !isOwnLimit(limit)) continue
      const { left, resetMs } = states[position]!
      const figures = { limit: limit.amount, left, resetMs: limit.per === 'total' ? Infinity : resetMs }
      if (limit.unit === 'requests') requests = tighter(requests, figures)
      else tokens = tighter(tokens, figures)
    }
    return requests === undefined && tokens === undefined ? undefined : rateLimitHeaders(requests, tokens)
  }
}

function isOwnBudget({ of: owner, unit }: Limit): boolean {
  return unit === 'credits' && owner !== 'account'
}

function isState(state: LimitState | undefined, bucket: string): boolean {
  return (
    typeof state === 'object' &&
    state !== null &&
    state.bucket === bucket &&
    Number.isFinite(state.from) &&
    typeof state.left === 'bigint' &&
    Number.isFinite(state.resetMs)
  )
}
