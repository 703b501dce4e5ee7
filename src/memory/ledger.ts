import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import { createIdSource } from '../base/ids.js'
import type { Credits } from '../base/money.js'
import type { Mutable } from '../base/mutable.js'
import type {
  Awaitable,
  Balance,
  CallFacts,
  ExpiredHold,
  HoldLimit,
  HoldLimited,
  HoldRequest,
  HoldResult,
  LedgerCall,
  LedgerCallQuery,
  LedgerLookUps,
  LedgerReader,
  LedgerStore,
  LimitUse,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../contracts/index.js'
import { chooseSteps, withSteps } from '../rules/hold-steps.js'
import {
  type Bucket,
  countUses,
  giveBack,
  isSameLimits,
  KEEP_BUCKET_MS,
  limitCounts,
  limitStates,
  takeLimits,
  testLimits,
  type WithinLimits,
} from '../rules/limit-buckets.js'
import { functionSchema, optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { mustBe } from '../rules/schema-faults.js'
import { checkList, checkObject, checkString, checkWhole } from '../rules/store-arguments.js'
import { EntryLog, type KeptEntry } from './entry-log.js'
import { HoldBook, isOpen, type OpenHold, openHold } from './hold-book.js'
import {
  addCredits,
  addUse,
  checkHold,
  checkSettlement,
  copyCharge,
  fixedCharge,
  fixedFacts,
  readCredit,
} from './ledger-input.js'
import { RecentMap } from './recent-map.js'
import { SpentBook } from './spent-book.js'

export interface MemoryLedgerOptions {
  /** The number of entries to keep, from 1 to 10,000,000. The oldest is dropped first. 10,000 by default. */
  readonly keepEntries?: number
  /** Decides when a hold expires. The system's clock by default. */
  readonly clock?: Clock
  /** Names this ledger's entries. Random by default. */
  readonly newId?: () => string
}

export interface MemoryLedger extends LedgerStore, LedgerReader, LedgerLookUps {
  /** Adds credits, a decimal string such as `'5.00'`, to an account, which is created if it does not exist. */
  credit(account: string, amount: string, memo?: string): void
}

interface Account {
  posted: Credits
  held: Credits
}

const DEFAULT_KEEP_ENTRIES = 10_000
/** A `Map` cannot have more than 16.7 million keys. */
const MAX_KEEP_ENTRIES = 10_000_000

const ledgerSchema = optionsSchema<MemoryLedgerOptions>({
  keepEntries: z.int().min(1).max(MAX_KEEP_ENTRIES).optional(),
  clock: withMethods<Clock>('now').optional(),
  newId: functionSchema<() => string>().optional(),
})

const BALANCES = "an object of opening balances, such as { alice: '5.00' }"
const accountsSchema = z.record(z.string(), z.unknown(), mustBe(BALANCES))

/** The minimum number of settled holds to remember, and of released or expired ones. */
const REMEMBERED_HOLDS = 100_000

/**
 * A ledger in memory. It is exact, but lost when the process ends. `accounts` has the opening balances as decimal
 * strings.
 *
 * Balances, sums of amounts spent, and open holds are never forgotten. `entries` and `findCall` return the latest
 * `keepEntries`. To post no charge twice, the ledger remembers the latest 100,000 settled holds with their charges and
 * claims, or `keepEntries` if that is more: about 450 bytes each. It also remembers as many holds that were released or
 * have expired. A forgotten hold is unknown: settling it again posts again, and its claim is free.
 *
 * An amount or a balance beyond +-(2^63 - 1) nanocredits is a rejection that changes nothing.
 */
export function memoryLedger(
  accounts: Readonly<Record<string, string>> = {},
  options: MemoryLedgerOptions = {},
): MemoryLedger {
  const {
    clock = systemClock,
    keepEntries = DEFAULT_KEEP_ENTRIES,
    newId = createIdSource(),
  } = readOptions(ledgerSchema, options, 'memoryLedger')
  readOptions(accountsSchema, accounts, 'memoryLedger', { field: 'accounts' })
  const balances = new Map<string, Account>()
  const buckets = new Map<string, Bucket>()
  const bucketRows = {
    read: (id: string) => buckets.get(id),
    set: (id: string, bucket: Bucket) => void buckets.set(id, bucket),
  }
  const holds = new HoldBook(Math.max(keepEntries, REMEMBERED_HOLDS))
  const log = new EntryLog(newId, keepEntries)
  const spent = new SpentBook()
  /** The calls that ended without a charge. */
  const ended = new RecentMap<{ readonly facts: CallFacts; readonly at: number }>(keepEntries, () => {})

  function accountOf(name: string): Account {
    let account = balances.get(name)
    if (account === undefined) {
      account = { posted: 0n, held: 0n }
      balances.set(name, account)
    }
    return account
  }

  /** Frees what an open hold has reserved. */
  function free({ account, amount, limits }: OpenHold): void {
    accountOf(account).held -= amount
    giveBack(bucketRows, limits)
  }

  function expireNow(): number {
    const now = clock.now()
    holds.expire(now, (hold) => end(hold, now))
    return now
  }

  /** Frees an open hold that nothing was charged for. */
  function end(hold: OpenHold, at: number): void {
    free(hold)
    ended.add(hold.holdId, { facts: hold.facts, at })
  }

  function credit(name: string, amount: string, memo?: string, what = 'amount'): void {
    checkString(name, 'account')
    if (memo !== undefined) checkString(memo, 'memo')
    const credits = readCredit(amount, what)
    const account = accountOf(name)
    account.posted = addCredits(account.posted, credits, name)
    const postings = [{ account: name, amount: credits }]
    log.add({ at: clock.now(), kind: 'credit', postings, ...(memo !== undefined && { memo }) })
  }

  function hold(request: HoldRequest): HoldResult {
    checkHold(request)
    const now = expireNow()
    const { account: name, beforeBalance = 0, holdId, replaces } = request
    const known = holds.find(holdId)
    if (known !== undefined && isOpen(known))
      return isRepeat(known, request) ? granted(request, known, now) : { ok: false, reason: 'conflict' }
    if (known !== undefined || holds.ended(holdId) !== undefined) return { ok: false, reason: 'closed' }
    if (replaces !== undefined && holds.settled(replaces) !== undefined)
      return { ok: false, reason: 'closed' }

    const replaced = replaces === undefined ? undefined : holds.open(replaces)
    const claim = request.claim ?? replaced?.claim
    const claimant = claim === undefined ? undefined : holds.claimant(claim)
    if (claimant !== undefined && claimant !== replaced?.holdId) return claimedBy(claimant)

    const account = balances.get(name)
    const posted = account?.posted ?? 0n
    const freed = replaced?.account === name ? replaced.amount : 0n
    const available = posted - (account?.held ?? 0n) + freed
    const own = replaced?.limits ?? NO_LIMITS
    const { amount, limits, steps } = stepped(request, available, own, now)
    const before = beforeBalance === 0 ? NONE_TESTED : test(limits.slice(0, beforeBalance), own, now)
    if (!before.ok) return refused(before, steps)
    if (amount > 0n && available < amount)
      return refused({ ok: false, reason: 'insufficient', posted, available }, steps)
    const after = test(beforeBalance === 0 ? limits : limits.slice(beforeBalance), own, now)
    if (!after.ok) return refused(after, steps)
    const grants = beforeBalance === 0 ? after.grants : [...before.grants, ...after.grants]
    const parts = grants.map(({ part }) => part)
    const opened = openHold(request, { amount, claim, limits: parts, steps }, now)
    if (replaced !== undefined) {
      accountOf(replaced.account).held -= replaced.amount
      holds.release(replaced)
    }
    takeLimits(bucketRows, grants, own)
    accountOf(name).held += amount
    holds.add(opened)
    return granted(request, opened, now)
  }

  function test(
    limits: readonly HoldLimit[],
    own: readonly LimitUse[],
    now: number,
  ): WithinLimits | HoldLimited {
    return testLimits(bucketRows, limits, own, now, noneOverdue)
  }

  /** Returns the amounts of a hold with the steps that are taken. */
  function stepped(
    { amount, limits = NO_HOLD_LIMITS, steps }: HoldRequest,
    available: Credits,
    own: readonly LimitUse[],
    now: number,
  ): Pick<OpenHold, 'amount' | 'steps'> & { readonly limits: readonly HoldLimit[] } {
    if (steps === undefined) return { amount, limits, steps }
    const chosen = chooseSteps({ amount, limits, steps }, available, bucketRows, own, now)
    return {
      amount: amount + steps.amount * BigInt(chosen),
      limits: withSteps(limits, chosen),
      steps: chosen,
    }
  }

  function granted({ limits }: HoldRequest, { limits: parts, steps }: OpenHold, now: number): HoldResult {
    const answer: Mutable<Extract<HoldResult, { ok: true }>> = { ok: true }
    if (limits !== undefined) answer.limits = limitStates(bucketRows, limits, parts, now)
    if (steps !== undefined) answer.steps = steps
    return answer
  }

  function claimedBy(holdId: string): HoldResult {
    const settled = holds.settled(holdId)
    if (settled === undefined) return { ok: false, reason: 'claimed' }
    return { ok: false, reason: 'claimed', charge: copyCharge(settled.charge) }
  }

  function settle(request: SettleRequest): SettleResult {
    const { postings, sums } = checkSettlement(request)
    const now = expireNow()
    const { holdId, limits = NO_LIMITS } = request
    const payer = request.facts.account
    const known = holds.find(holdId)
    if (known !== undefined && !isOpen(known))
      return { repeated: true, charge: copyCharge(known.charge), overdraft: overdraftOf(payer) }

    // Everything that can throw comes before the first change, because a rejection changes nothing.
    for (const { account, amount } of sums) addCredits(balances.get(account)?.posted ?? 0n, amount, account)
    for (const { bucket, used } of limits) addUse(bucket, buckets.get(bucket)?.used ?? 0n, used)
    const charge = fixedCharge(request.charge)
    const facts = fixedFacts(request.facts)
    const entry: Mutable<KeptEntry> = { at: now, kind: 'charge', postings, holdId, charge, facts }
    if (limits.length > 0) entry.limits = limits.map(copyUse)

    const wanted = request.claim ?? (known ?? holds.ended(holdId))?.claim
    const claimant = wanted === undefined ? undefined : holds.claimant(wanted)
    const hasClaim = claimant === undefined || claimant === holdId
    if (known !== undefined) free(known)
    const position = log.add(entry)
    holds.settle(holdId, { claim: hasClaim ? wanted : undefined, charge, position })
    for (const { account, amount } of sums) accountOf(account).posted += amount
    countUses(bucketRows, limits, addUse)
    spent.add(facts, charge.cost, now)
    const settled = { repeated: false, charge: request.charge, overdraft: overdraftOf(payer) }
    return hasClaim ? settled : { ...settled, claimLost: true }
  }

  function overdraftOf(name: string): Credits {
    const posted = balances.get(name)?.posted ?? 0n
    return posted < 0n ? -posted : 0n
  }

  function release(request: ReleaseRequest): { state: 'released' | 'settled' } {
    checkObject(request, 'request')
    const { holdId } = request
    checkString(holdId, 'holdId')
    const now = expireNow()
    if (holds.settled(holdId) !== undefined) return { state: 'settled' }
    const open = holds.open(holdId)
    if (open !== undefined) {
      end(open, now)
      holds.release(open)
    } else if (holds.ended(holdId) === undefined) holds.mark(holdId)
    return { state: 'released' }
  }

  function balance(name: string): Balance | undefined {
    checkString(name, 'account')
    expireNow()
    const account = balances.get(name)
    if (account === undefined) return undefined
    const { posted, held } = account
    return { posted, held, available: posted - held }
  }

  function expireHolds(limit: number): readonly ExpiredHold[] {
    checkWhole(limit, 'limit')
    const now = expireNow()
    for (const [id, { endsAt }] of buckets) {
      if (endsAt < now - KEEP_BUCKET_MS) buckets.delete(id)
    }
    return holds
      .takeExpired(limit)
      .map(({ holdId, account, amount, facts }) => ({ holdId, account, amount, facts }))
  }

  function findCall(query: LedgerCallQuery): LedgerCall | undefined {
    checkObject(query, 'query')
    const { account, holdIds } = query
    checkList(holdIds, 'holdIds')
    expireNow()
    let found: LedgerCall | undefined
    for (const holdId of holdIds) {
      const call = callOf(holdId)
      const facts = call?.state === 'settled' ? call.entry.facts : call?.facts
      if (call === undefined || facts?.account !== account) continue
      if (call.state !== 'ended') return call
      found = call
    }
    return found
  }

  function callOf(holdId: string): LedgerCall | undefined {
    const open = holds.open(holdId)
    if (open !== undefined) {
      const { amount, deadline, facts } = open
      return { state: 'held', facts: { ...facts }, holdAmount: amount, expiresAt: deadline }
    }
    const settled = holds.settled(holdId)
    if (settled !== undefined) {
      const entry = log.at(settled.position)
      return entry && { state: 'settled', entry, refunded: 0n }
    }
    const over = ended.get(holdId)
    return over && { state: 'ended', facts: { ...over.facts }, at: over.at }
  }

  for (const [name, amount] of Object.entries(accounts)) {
    credit(name, amount, 'opening balance', `accounts.${name}`)
  }

  // A bad request is a rejection and never a throw. The operations of every call answer without a promise.
  return {
    credit: (account, amount, memo) => credit(account, amount, memo),
    hold: (request) => atOnce(hold, request),
    settle: (request) => atOnce(settle, request),
    release: (request) => atOnce(release, request),
    balance: async (account) => balance(account),
    expireHolds: async (limit) => expireHolds(limit),
    entries: async (query) => {
      checkObject(query, 'query')
      return log.read(query)
    },
    spent: async (query) => {
      checkObject(query, 'query')
      return {
        balance: balance(query.account) ?? { posted: 0n, held: 0n, available: 0n },
        ...spent.read(query, clock.now()),
      }
    },
    limitCounts: async (limits) => {
      checkList(limits, 'limits')
      return limitCounts(bucketRows, limits, expireNow())
    },
    findCall: async (query) => findCall(query),
  }
}

const NO_LIMITS: readonly LimitUse[] = []
const NO_HOLD_LIMITS: readonly HoldLimit[] = []

const NONE_TESTED: WithinLimits = Object.freeze({ ok: true, grants: [] })

function refused(
  refusal: Extract<HoldResult, { reason: 'insufficient' | 'limited' }>,
  steps: number | undefined,
): HoldResult {
  return steps === undefined ? refusal : { ...refusal, steps }
}

/** Every operation expires overdue holds first. */
const noneOverdue = (): bigint => 0n

function copyUse({ bucket, unit, from, used }: LimitUse): LimitUse {
  return { bucket, unit, from, used }
}

function atOnce<Input, Answer>(ask: (input: Input) => Answer, input: Input): Awaitable<Answer> {
  try {
    return ask(input)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** A repeat has the claim of the first request, or leaves it to the hold that it replaces. */
function isRepeat(known: OpenHold, request: HoldRequest): boolean {
  const { amount, limits = NO_HOLD_LIMITS, steps } = request
  const taken = known.steps ?? 0
  return (
    known.account === request.account &&
    (known.steps === undefined) === (steps === undefined) &&
    known.amount === amount + (steps?.amount ?? 0n) * BigInt(taken) &&
    known.replaces === request.replaces &&
    isSameLimits(withSteps(limits, taken), known.limits) &&
    (known.claim === request.claim || (request.claim === undefined && request.replaces !== undefined))
  )
}
