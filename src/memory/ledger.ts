import { type Clock, systemClock } from '../clock.js'
import type {
  Awaitable,
  Balance,
  ExpiredHold,
  HoldRequest,
  HoldResult,
  LedgerReader,
  LedgerStore,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../contracts/index.js'
import { refuseMisspelt, requireClock, requireFunction } from '../contracts/option-checks.js'
import { createIdSource } from '../ids.js'
import type { Credits } from '../money.js'
import { createEntryLog } from './entry-log.js'
import { readFacts } from './fact-cells.js'
import { createHoldBook, HoldRow } from './hold-book.js'
import { addCredits, checkAccounts, checkHold, checkSettlement, readGrant } from './ledger-input.js'
import type { KeptEntry } from './packed-entry.js'

export interface MemoryLedgerOptions {
  /** Decides when a hold's time is over. The machine's by default. */
  readonly clock?: Clock
  /** Names this ledger's entries. Random by default. */
  readonly newId?: () => string
}

export interface MemoryLedger extends LedgerStore, LedgerReader {
  /** Adds credits, a decimal string such as `'5.00'`, to an account, which is made if there is none. */
  grant(account: string, amount: string, memo?: string): void
}

interface Account {
  posted: Credits
  held: Credits
}

/**
 * A ledger in memory: exact, and gone with the process. `accounts` has the opening balances as decimal strings.
 *
 * Ended holds and entries are kept for 31 days and forgotten a few at a time by later calls; there is no timer. An
 * amount or a balance beyond +-(2^63 - 1) nanocredits is a rejection that changes nothing.
 */
export function memoryLedger(
  accounts: Readonly<Record<string, string>> = {},
  options: MemoryLedgerOptions = {},
): MemoryLedger {
  refuseMisspelt(options, ['clock', 'newId'], 'memoryLedger')
  const { clock = systemClock, newId = createIdSource() } = options
  requireClock('memoryLedger', clock, ['now'])
  requireFunction('memoryLedger: newId', newId)
  checkAccounts(accounts)
  const balances = new Map<string, Account>()
  const book = createHoldBook()
  const log = createEntryLog(newId())

  function accountOf(name: string): Account {
    let account = balances.get(name)
    if (account === undefined) {
      account = { posted: 0n, held: 0n }
      balances.set(name, account)
    }
    return account
  }

  function uncount(row: HoldRow): void {
    accountOf(row.account).held -= row.amount
  }

  function forget({ holdId, claim }: KeptEntry): void {
    if (holdId !== undefined) book.freeClaim(holdId, claim)
  }

  function tidyNow(): number {
    const now = clock.now()
    book.tidy(now, uncount)
    log.tidy(now, forget)
    return now
  }

  function grant(name: string, amount: string, memo?: string, what = 'amount'): void {
    if (typeof name !== 'string') throw new TypeError(`account must be a string; got ${typeof name}`)
    if (memo !== undefined && typeof memo !== 'string')
      throw new TypeError(`memo must be a string; got ${typeof memo}`)
    const credits = readGrant(amount, what)
    const account = accountOf(name)
    account.posted = addCredits(account.posted, credits, name)
    log.add({ at: clock.now(), postings: [{ account: name, amount: credits }], memo })
  }

  function hold(request: HoldRequest): HoldResult {
    checkHold(request)
    const now = tidyNow()
    const { account: name, amount, holdId, replaces } = request
    const known = book.get(holdId)
    if (known !== undefined) return repeatHold(known, request)
    if (isSettled(holdId)) return { ok: false, reason: 'closed' }

    const old = replaces === undefined ? undefined : book.get(replaces)
    if (replaces !== undefined && old === undefined && isSettled(replaces))
      return { ok: false, reason: 'closed' }
    const swapped = old?.state === 'held' ? old : undefined
    const claim = request.claim ?? swapped?.claim
    const claimant = claim === undefined ? undefined : book.claimant(claim)
    if (claimant !== undefined && claimant !== swapped?.holdId) return claimedBy(claimant)

    const account = balances.get(name)
    const posted = account?.posted ?? 0n
    const freed = swapped?.account === name ? swapped.amount : 0n
    const available = posted - (account?.held ?? 0n) + freed
    if (amount > 0n && available < amount) return { ok: false, reason: 'insufficient', posted, available }
    const row = new HoldRow(request, claim, now)
    if (swapped !== undefined) {
      uncount(swapped)
      book.end(swapped, 'released', now)
    }
    accountOf(name).held += amount
    book.open(row)
    return { ok: true }
  }

  function settle(request: SettleRequest): SettleResult {
    const sums = checkSettlement(request)
    const now = tidyNow()
    const { charge, facts, holdId, postings } = request
    const payer = facts.account
    const known = book.get(holdId)
    const first = known === undefined ? log.settlementOf(holdId) : undefined
    if (first !== undefined) return { repeated: true, charge: first.charge!, overdraft: overdraftOf(payer) }

    for (const { account, amount } of sums) addCredits(balances.get(account)?.posted ?? 0n, amount, account)
    const wanted = request.claim ?? known?.claim
    const claimant = wanted === undefined ? undefined : book.claimant(wanted)
    const hasClaim = claimant === undefined || claimant === holdId
    const claim = hasClaim ? wanted : undefined
    // First, since it throws where the facts are no text: nothing has been posted or claimed then.
    log.add({ at: now, holdId, claim, charge, facts, postings })
    if (claim !== undefined && claimant === undefined) book.give(claim, holdId)
    for (const { account, amount } of sums) accountOf(account).posted += amount
    if (known?.state === 'held') uncount(known)
    book.settle(holdId)
    const settled = { repeated: false, charge, overdraft: overdraftOf(payer) }
    return hasClaim ? settled : { ...settled, claimLost: true }
  }

  /** Of a hold that the book does not know. */
  function isSettled(holdId: string): boolean {
    return log.settlementOf(holdId) !== undefined
  }

  function claimedBy(holdId: string): HoldResult {
    const charge = book.get(holdId) === undefined ? log.settlementOf(holdId)?.charge : undefined
    return charge === undefined ? { ok: false, reason: 'claimed' } : { ok: false, reason: 'claimed', charge }
  }

  function overdraftOf(name: string): Credits {
    const posted = balances.get(name)?.posted ?? 0n
    return posted < 0n ? -posted : 0n
  }

  function release({ holdId, account }: ReleaseRequest): { state: 'released' | 'settled' } {
    const now = tidyNow()
    const known = book.get(holdId)
    if (known === undefined && isSettled(holdId)) return { state: 'settled' }
    if (known === undefined) book.mark(createMark(holdId, account, now))
    else if (known.state === 'held') {
      uncount(known)
      book.end(known, 'released', now)
    }
    return { state: 'released' }
  }

  function balance(name: string): Balance | undefined {
    tidyNow()
    const account = balances.get(name)
    if (account === undefined) return undefined
    const { posted, held } = account
    return { posted, held, available: posted - held }
  }

  function expireHolds(limit: number): readonly ExpiredHold[] {
    tidyNow()
    const taken: ExpiredHold[] = []
    while (taken.length < limit) {
      const row = book.takeExpired()
      if (row === undefined) break
      const { account, amount, facts, holdId } = row
      taken.push({ holdId, account, amount, facts: readFacts(facts!) })
    }
    return taken
  }

  for (const [name, amount] of Object.entries(accounts)) {
    grant(name, amount, 'opening balance', `accounts.${name}`)
  }

  // Async, so that a bad request is a rejection and never a throw; what every call asks is answered without a promise.
  return {
    grant: (account, amount, memo) => grant(account, amount, memo),
    hold: (request) => atOnce(hold, request),
    settle: (request) => atOnce(settle, request),
    release: (request) => atOnce(release, request),
    balance: async (account) => balance(account),
    expireHolds: async (limit) => expireHolds(limit),
    entries: async (query) => log.read(query),
  }
}

function atOnce<Input, Answer>(ask: (input: Input) => Answer, input: Input): Awaitable<Answer> {
  try {
    return ask(input)
  } catch (error) {
    return Promise.reject(error)
  }
}

function createMark(holdId: string, account: string, now: number): HoldRow {
  return {
    holdId,
    account,
    amount: 0n,
    replaces: undefined,
    claim: undefined,
    facts: undefined,
    state: 'released',
    deadline: now,
    endedAt: now,
    place: -1,
  }
}

/** A repeat names its claim as the first did, or left it to the hold that it replaces. */
function repeatHold(known: HoldRow, request: HoldRequest): HoldResult {
  if (known.state !== 'held') return { ok: false, reason: 'closed' }
  const isSame =
    known.account === request.account &&
    known.amount === request.amount &&
    known.replaces === request.replaces &&
    (known.claim === request.claim || (request.claim === undefined && request.replaces !== undefined))
  return isSame ? { ok: true } : { ok: false, reason: 'conflict' }
}
