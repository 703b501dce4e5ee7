import { MAX_CREDITS, parseCredits } from '../base/money.js'
import type { CallFacts, Charge, Credits, HoldRequest, Posting, SettleRequest } from '../contracts/index.js'
import { checkHoldConditions, checkLimitUses } from '../rules/limit-checks.js'
import { checkList, checkObject } from '../rules/store-arguments.js'

export function checkHold(request: HoldRequest): void {
  checkObject(request, 'request')
  const { amount, beforeBalance, facts, limits, steps, ttlMs } = request
  checkAmount(amount, 'amount')
  if (!Number.isFinite(ttlMs)) throw new TypeError('ttlMs must be a number of milliseconds')
  checkObject(facts, 'facts')
  if (limits !== undefined || steps !== undefined || beforeBalance !== undefined) checkHoldConditions(request)
}

/** The postings of a settlement, copied, and their sum of each account. */
export interface CheckedPostings {
  readonly postings: readonly Posting[]
  readonly sums: readonly Posting[]
}

export function checkSettlement(request: SettleRequest): CheckedPostings {
  checkObject(request, 'request')
  const { charge, facts, limits } = request
  checkObject(charge, 'charge')
  checkAmount(charge.cost, 'charge.cost')
  checkAmount(charge.base, 'charge.base')
  checkAmount(charge.markup, 'charge.markup')
  checkObject(charge.usage, 'charge.usage')
  checkObject(facts, 'facts')
  checkList(request.postings, 'postings')
  if (limits !== undefined) checkLimitUses(limits)
  const postings = request.postings.map(({ account, amount }) => ({ account, amount }))
  let total = 0n
  for (const { amount } of postings) total += amount
  if (total !== 0n) throw new RangeError(`postings must add up to 0; they add up to ${total}`)
  return { postings, sums: sumsOf(postings) }
}

function sumsOf(postings: readonly Posting[]): readonly Posting[] {
  const isFirst = ({ account }: Posting, index: number): boolean =>
    postings.findIndex((other) => other.account === account) === index
  if (postings.every(isFirst)) return postings
  return postings.filter(isFirst).map(({ account }) => ({
    account,
    amount: postings.reduce((sum, other) => (other.account === account ? sum + other.amount : sum), 0n),
  }))
}

function checkAmount(amount: Credits, what: string): void {
  if (typeof amount !== 'bigint') throw new TypeError(`${what} must be a bigint; got ${typeof amount}`)
  if (amount < 0n || amount > MAX_CREDITS) {
    throw new RangeError(`${what} must be from 0 to ${MAX_CREDITS}; got ${amount}`)
  }
}

/** Throws a `RangeError` if the sum is more than an account can hold or owe. */
export function addCredits(balance: Credits, amount: Credits, account: string): Credits {
  const sum = balance + amount
  if (sum > MAX_CREDITS || sum < -MAX_CREDITS) {
    throw new RangeError(
      `The balance of account ${JSON.stringify(account)} would exceed ${MAX_CREDITS} nanocredits`,
    )
  }
  return sum
}

/** Throws a `RangeError` if the sum is more than a limit can be. */
export function addUse(bucket: string, used: bigint, more: bigint): bigint {
  if (used + more <= MAX_CREDITS) return used + more
  throw new RangeError(`The use of ${bucket} would exceed ${MAX_CREDITS}`)
}

export function readCredit(amount: string, what: string): Credits {
  const credits = parseCredits(amount, what)
  if (credits > MAX_CREDITS) throw new RangeError(`${what} must be at most ${MAX_CREDITS} nanocredits`)
  return credits
}

export function copyCharge(charge: Charge): Charge {
  return { ...charge, usage: { ...charge.usage } }
}

/** Returns a charge that nobody can change: a frozen one itself, as the router's are. */
export function fixedCharge(charge: Charge): Charge {
  return Object.isFrozen(charge) && Object.isFrozen(charge.usage) ? charge : copyCharge(charge)
}

/** Returns facts that nobody can change: frozen ones themselves, as the router's are. */
export function fixedFacts(facts: CallFacts): CallFacts {
  return Object.isFrozen(facts) ? facts : { ...facts }
}
