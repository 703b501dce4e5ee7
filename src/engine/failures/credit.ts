import { CompatError } from '../../base/errors.js'
import { type Credits, formatCredits } from '../../base/money.js'
import type { Period } from '../../base/periods.js'
import type { Limit, LimitUnit } from '../../contracts/usage-limits.js'
import { rateLimitHeaders } from '../../protocol/rate-limit-headers.js'
import { isOwnLimit } from '../../rules/own-limit.js'

/** Why a hold was refused: the balance, or one limit. */
export type HoldRefusal = ShortBalance | LimitReached

export interface ShortBalance {
  readonly reason: 'insufficient'
  /** The credits that the hold needs. */
  readonly amount: Credits
  /** Undefined if no account can hold this amount. */
  readonly balance: { readonly posted: Credits; readonly available: Credits } | undefined
  /** Whether the caller may not learn the balance. */
  readonly isHidden: boolean
}

export interface LimitReached {
  readonly reason: 'limited'
  /** In the limit's unit. */
  readonly amount: bigint
  readonly limit: Limit
  readonly bucket: string
  /** Whether the caller is an app that acts for a user. */
  readonly isGrant: boolean
  /** Whether the caller may not learn what is left. */
  readonly isHidden: boolean
  readonly left: bigint
  /** The time until the period ends. Infinity if it has no end. */
  readonly resetMs: number
  /** Whether the amount would fit if all calls in flight ended without using anything. */
  readonly onlyHeld: boolean
}

/** Words for the message of a refusal. */
export interface RefusalWords {
  /** Settings with which the request would have fitted, such as `max_tokens: 120`. */
  readonly fitting?: string | undefined
  /** The host's own sentence for a caller without enough credit. */
  readonly creditHelp?: string | undefined
}

/** The error code for the client. */
export type RefusalCode =
  | 'insufficient_credits'
  | 'credits_on_hold'
  | 'budget_exceeded'
  | 'budget_on_hold'
  | 'rate_limited'

/** Reveals nothing about the balance beyond the refusal itself. */
const HIDDEN_BALANCE = 'The account that pays for this app has too few free credits for this request.'
/** Client libraries wait up to this long before they retry. */
const LONGEST_WAIT_MS = 60_000
const SECOND_MS = 1_000
const NAMES: Readonly<Record<Period['per'], string>> = {
  minute: 'per-minute',
  hour: 'hourly',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
  total: 'total',
}
const NOUNS: Readonly<Record<LimitUnit, string>> = {
  credits: 'budget',
  requests: 'request limit',
  tokens: 'token limit',
}
/** Each unit of time, its length, and the longest time expressed in it. */
const TIMES: readonly (readonly [name: string, ms: number, most: number])[] = [
  ['second', SECOND_MS, 119],
  ['minute', 60 * SECOND_MS, 119],
  ['hour', 3_600 * SECOND_MS, 47],
  ['day', 86_400 * SECOND_MS, Infinity],
]

/**
 * Requests and tokens per period are a rate limit, which a client can wait for. Credits, and anything limited in total,
 * are a budget, which somebody must raise.
 */
export function refusalCode(refusal: HoldRefusal): RefusalCode {
  if (refusal.reason === 'insufficient') {
    const { amount, balance } = refusal
    return balance !== undefined && amount <= balance.posted ? 'credits_on_hold' : 'insufficient_credits'
  }
  const { limit, onlyHeld } = refusal
  if (onlyHeld) return 'budget_on_hold'
  return limit.unit === 'credits' || limit.per === 'total' ? 'budget_exceeded' : 'rate_limited'
}

/**
 * Returns the credits with which a smaller hold would be granted now. Undefined if a smaller hold would be refused too,
 * or if the caller may not know.
 */
export function creditsLeft(refusal: HoldRefusal): Credits | undefined {
  if (refusal.isHidden) return undefined
  if (refusal.reason === 'insufficient') return refusal.balance?.available
  return refusal.limit.unit === 'credits' ? refusal.left : undefined
}

/** Returns the error for a client whose hold was refused. */
export function refusedHold(refusal: HoldRefusal, words: RefusalWords = {}): CompatError {
  return refusal.reason === 'insufficient' ? shortOfCredit(refusal, words) : limitReached(refusal, words)
}

function shortOfCredit(refusal: ShortBalance, words: RefusalWords): CompatError {
  const { amount, balance, isHidden } = refusal
  const code = refusalCode(refusal)
  if (isHidden) {
    return new CompatError(
      code,
      code === 'credits_on_hold' ? HIDDEN_BALANCE : withWords(HIDDEN_BALANCE, words),
    )
  }
  const needs = `This request needs ${formatCredits(amount)} credits on hold`
  if (balance === undefined) {
    return new CompatError(code, withWords(`${needs}; no account can have that many.`, words))
  }
  const { available, posted } = balance
  if (code === 'credits_on_hold') {
    return new CompatError(
      code,
      `${needs}; ${formatCredits(available)} are free while other calls of this account are running. Try again shortly.`,
    )
  }
  return new CompatError(code, withWords(`${needs}; this account has ${formatCredits(posted)}.`, words))
}

function limitReached(refusal: LimitReached, words: RefusalWords): CompatError {
  const code = refusalCode(refusal)
  const message = describe(refusal)
  if (code === 'budget_on_hold') {
    return new CompatError(code, message, { headers: figuresOf(refusal) })
  }
  const { amount, limit, resetMs } = refusal
  const canWait = resetMs <= LONGEST_WAIT_MS && amount <= limit.amount
  const retryAfter = String(Math.max(1, Math.ceil(resetMs / SECOND_MS)))
  const isRate = code === 'rate_limited'
  const headers = {
    ...figuresOf(refusal),
    ...((isRate || canWait) && { 'retry-after': retryAfter }),
    'x-should-retry': String(canWait),
  }
  return new CompatError(code, isRate ? message : withWords(message, words), { headers })
}

/** Names limits of an account or an app without figures, since others use them too. */
function describe(refusal: LimitReached): string {
  const { amount, limit, onlyHeld, resetMs } = refusal
  const { per, unit } = limit
  const isOwn = isOwnLimit(limit)
  const name = `${NAMES[per]} ${NOUNS[unit]} of ${owner(refusal)}`
  const left = isOwn ? ` has ${number(unit, refusal.left)} of ${figure(unit, limit.amount)} left` : undefined
  const needs =
    unit === 'credits'
      ? `This request needs ${figure(unit, amount)} on hold`
      : unit === 'tokens'
        ? `This request may use ${figure(unit, amount)}`
        : 'This request is one too many'
  if (onlyHeld) {
    return `${needs}; the ${name}${left ?? ' does not cover it'} while other calls are running. Try again shortly.`
  }
  const ends = per === 'total' ? '' : ` It starts again in ${duration(resetMs)}.`
  if (!isOwn) return `${needs}; the ${name} does not cover it.${ends}`
  if (amount > limit.amount) return `${needs}; the ${name} is ${figure(unit, limit.amount)}.`
  return `${needs}; the ${name}${left}.${ends}`
}

function owner({ isGrant, limit }: LimitReached): string {
  if (!isOwnLimit(limit)) return `this ${limit.of}`
  return isGrant ? 'your grant to this app' : 'this key'
}

function figure(unit: LimitUnit, amount: bigint): string {
  return `${number(unit, amount)} ${amount === 1n && unit !== 'credits' ? unit.slice(0, -1) : unit}`
}

function number(unit: LimitUnit, amount: bigint): string {
  return unit === 'credits' ? formatCredits(amount) : amount.toLocaleString('en')
}

/** Rounds up, so that a client that waits this long is not too early. */
function duration(ms: number): string {
  const [name, length] = TIMES.find(([, each, most]) => ms <= most * each)!
  const count = Math.max(1, Math.ceil(ms / length))
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

function figuresOf({ left, limit, resetMs }: LimitReached): Readonly<Record<string, string>> {
  if (!isOwnLimit(limit)) return {}
  const figures = { limit: limit.amount, left, resetMs }
  if (limit.unit === 'requests') return rateLimitHeaders(figures, undefined)
  return limit.unit === 'tokens' ? rateLimitHeaders(undefined, figures) : {}
}

function withWords(message: string, { creditHelp, fitting }: RefusalWords): string {
  const fits = fitting === undefined ? '' : ` It would fit with ${fitting}.`
  return `${message}${fits}${creditHelp === undefined ? '' : ` ${creditHelp}`}`
}
