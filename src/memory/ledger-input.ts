import { MAX_CREDITS, parseCredits } from '../base/money.js'
import type { Charge, Credits, HoldRequest, Posting, SettleRequest } from '../contracts/index.js'
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

/** Returns the sum of the postings of each account. */
export function checkSettlement(request: SettleRequest): readonly Posting[] {
  checkObject(request, 'request')
  const { charge, facts, limits, postings } = request
  checkObject(charge, 'charge')
  checkAmount(charge.cost, 'charge.cost')
  checkAmount(charge.base, 'charge.base')
  checkAmount(charge.markup, 'charge.markup')
  checkObject(charge.usage, 'charge.usage')
  checkObject(facts, 'facts')
  checkList(postings, 'postings')
  if (limits !== undefined) checkLimitUses(limits)
  const sums: { account: string; amount: Credits }[] = []
  let total = 0n
  for (const { account, amount } of postings) {
    total += amount
    const sum = sums.find((other) => other.account === account)
    if (sum === undefined) sums.push({ account, amount })
    else sum.amount += amount
  }
  if (total !== 0n) throw new RangeError(`postings must add up to 0; they add up to ${total}`)
  return sums
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
