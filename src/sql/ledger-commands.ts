import type {
  Charge,
  HoldLimit,
  HoldLimited,
  HoldRequest,
  HoldSteps,
  LimitState,
  LimitUse,
  Posting,
  ReleaseRequest,
  SettleRequest,
} from '../contracts/index.js'
import { checkHoldConditions, checkHoldLimits, checkLimitUses } from '../rules/limit-checks.js'
import { checkList, checkObject } from '../rules/store-arguments.js'
import { checkNotNegative, checkSum } from './bounds.js'
import { type EntryCells, toEntryCells } from './entry-rows.js'
import { checkOptionalText, checkText } from './text.js'

/** A request as flat cells, to be sent to a worker thread or put into the arrays of one statement. */
export type LedgerCommand = HoldCommand | SettleCommand | ReleaseCommand

export interface HoldCommand {
  readonly kind: 'hold'
  readonly holdId: string
  readonly account: string
  readonly amount: bigint
  readonly ttlMs: number
  readonly claim: string | null
  readonly replaces: string | null
  readonly facts: string
  readonly limits: readonly HoldLimit[]
  readonly steps: HoldSteps | null
  readonly beforeBalance: number
}

export interface SettleCommand {
  readonly kind: 'settle'
  readonly holdId: string
  readonly account: string
  readonly claim: string | null
  /** One posting for each account. */
  readonly postings: readonly Posting[]
  readonly entry: EntryCells
  readonly limits: readonly LimitUse[]
}

export interface ReleaseCommand {
  readonly kind: 'release'
  readonly holdId: string
  readonly account: string
}

/** The outcome of a command. It identifies an earlier charge by its entry, to be read if needed. */
export type LedgerOutcome = HoldOutcome | SettleOutcome | ReleaseOutcome

/** See `HoldResult` in the contracts. `claimed` has an entry if the hold with the claim is settled. */
export type HoldOutcome =
  | { readonly kind: 'granted'; readonly limits?: readonly LimitState[]; readonly steps?: number }
  | {
      readonly kind: 'insufficient'
      readonly posted: bigint
      readonly available: bigint
      readonly steps?: number
    }
  | { readonly kind: 'conflict' | 'closed' }
  | { readonly kind: 'claimed'; readonly entryId: bigint | null }
  | ({ readonly kind: 'limited' } & Pick<HoldLimited, 'bucket' | 'left' | 'resetMs' | 'onlyHeld' | 'steps'>)

/** `balance` is the payer's balance. It may be 0 for any balance of zero or more. */
export type SettleOutcome =
  | { readonly kind: 'posted'; readonly balance: bigint; readonly claimLost: boolean }
  | { readonly kind: 'repeated'; readonly entryId: bigint }

/** `settled` if a settlement came first. */
export interface ReleaseOutcome {
  readonly kind: 'released' | 'settled'
}

const MAX_TTL_MS = 1_000_000_000_000

/** Throws a `TypeError` or `RangeError` if the request is invalid, such as an amount below zero or beyond 64 bits. */
export function toHoldCommand(request: HoldRequest): HoldCommand {
  checkObject(request, 'request')
  const { beforeBalance = 0, steps } = request
  checkNotNegative(request.amount, 'amount')
  if (steps !== undefined || beforeBalance !== 0) checkHoldConditions(request)
  if (!(request.ttlMs >= 0 && request.ttlMs <= MAX_TTL_MS)) {
    throw new RangeError(`ttlMs must be from 0 to ${MAX_TTL_MS}; got ${String(request.ttlMs)}`)
  }
  return {
    kind: 'hold',
    holdId: checkText(request.holdId, 'holdId'),
    account: checkText(request.account, 'account'),
    amount: request.amount,
    ttlMs: Math.ceil(request.ttlMs),
    claim: checkOptionalText(request.claim, 'claim'),
    replaces: checkOptionalText(request.replaces, 'replaces'),
    facts: JSON.stringify(request.facts),
    limits: toHoldLimits(request.limits),
    steps: steps === undefined ? null : toSteps(steps),
    beforeBalance,
  }
}

function toSteps({ amount, hidesBalance = false, most, usual }: HoldSteps): HoldSteps {
  return { amount, hidesBalance, most, usual }
}

export function toSettleCommand(request: SettleRequest): SettleCommand {
  checkObject(request, 'request')
  const { charge, facts } = request
  checkObject(charge, 'charge')
  checkObject(facts, 'facts')
  checkList(request.postings, 'postings')
  checkCharge(charge)
  const limits = toLimitUses(request.limits)
  const postings = sumByAccount(request.postings)
  return {
    kind: 'settle',
    holdId: checkText(request.holdId, 'holdId'),
    account: checkText(facts.account, 'account'),
    claim: checkOptionalText(request.claim, 'claim'),
    postings,
    entry: toEntryCells(request.holdId, charge, facts, postings, limits),
    limits,
  }
}

export function toReleaseCommand(request: ReleaseRequest): ReleaseCommand {
  checkObject(request, 'request')
  return {
    kind: 'release',
    holdId: checkText(request.holdId, 'holdId'),
    account: checkText(request.account, 'account'),
  }
}

/** Returns the accounts whose rows a command reads or changes. An account may appear twice. */
export function accountsOf(command: LedgerCommand): readonly string[] {
  return command.kind === 'settle'
    ? [command.account, ...command.postings.map(({ account }) => account)]
    : [command.account]
}

/** Returns the buckets that a command's limits name. Those of the hold that it ends are not known yet. */
export function bucketsOf(command: LedgerCommand): readonly string[] {
  return command.kind === 'release' ? [] : command.limits.map(({ bucket }) => bucket)
}

const NO_HOLD_LIMITS: readonly HoldLimit[] = []
const NO_LIMIT_USES: readonly LimitUse[] = []

/** Copies only the fields that a worker thread needs. */
function toHoldLimits(limits = NO_HOLD_LIMITS): readonly HoldLimit[] {
  if (limits.length === 0) return NO_HOLD_LIMITS
  checkHoldLimits(limits)
  return limits.map(({ bucket, unit, limit, amount, windows, hidden, step }) => {
    checkText(bucket, 'bucket')
    return step === undefined
      ? { bucket, unit, limit, amount, windows }
      : { bucket, unit, limit, amount, windows, step, hidden: hidden === true }
  })
}

function toLimitUses(limits = NO_LIMIT_USES): readonly LimitUse[] {
  if (limits.length === 0) return NO_LIMIT_USES
  checkLimitUses(limits)
  return limits.map(({ bucket, unit, from, used }) => {
    checkText(bucket, 'bucket')
    return { bucket, unit, from, used }
  })
}

function checkCharge(charge: Charge): void {
  checkNotNegative(charge.cost, 'charge.cost')
  checkNotNegative(charge.base, 'charge.base')
  checkNotNegative(charge.markup, 'charge.markup')
}

/** Payer, platform and app may be the same account. Throws if the postings do not add up to zero. */
function sumByAccount(postings: readonly Posting[]): readonly Posting[] {
  const sums = new Map<string, bigint>()
  let total = 0n
  for (const { account, amount } of postings) {
    sums.set(checkText(account, 'account'), (sums.get(account) ?? 0n) + amount)
    total += amount
  }
  if (total !== 0n) throw new RangeError(`The postings of a settlement must add up to 0; got ${total}`)
  return [...sums].map(([account, amount]) => ({ account, amount: checkSum(amount, 'A posting') }))
}
