import { type Clock, systemClock } from '../clock.js'
import type {
  Balance,
  CallContext,
  EntryPage,
  EntryQuery,
  ExpiredHold,
  HoldRequest,
  HoldResult,
  LedgerReader,
  LedgerStore,
  ReleaseRequest,
  SettleRequest,
  SettleResult,
} from '../contracts/index.js'
import { createIdSource } from '../ids.js'
import type { Credits } from '../money.js'
import { createEntryLog } from './entry-log.js'
import { createHoldBook, type HoldRow, type HoldState } from './hold-book.js'
import {
  addCredits,
  checkHold,
  checkSettlement,
  copyCharge,
  copyFacts,
  copyPostings,
  readGrant,
} from './ledger-input.js'

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
  { clock = systemClock, newId = createIdSource() }: MemoryLedgerOptions = {},
): MemoryLedger {
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

  function tidyNow(): number {
    const now = clock.now()
    book.tidy(now, uncount)
    return now
  }

  function grant(name: string, amount: string, memo?: string, what = 'amount'): void {
    const credits = readGrant(amount, what)
    const account = accountOf(name)
    account.posted = addCredits(account.posted, credits, name)
    log.add({ endedAt: clock.now(), postings: [{ account: name, amount: credits }], memo })
  }

  function hold(request: HoldRequest): HoldResult {
    checkHold(request)
    const now = tidyNow()
    const known = book.get(request.holdId)
    if (known !== undefined) return repeatHold(known, request)

    const old = request.replaces === undefined ? undefined : book.get(request.replaces)
    if (old?.state === 'settled') return { ok: false, reason: 'closed' }
    const swapped = old?.state === 'held' ? old : undefined
    const claim = request.claim ?? swapped?.claim
    const claimant = claim === undefined ? undefined : book.claimant(claim)
    if (claimant !== undefined && claimant !== swapped) return claimedBy(claimant)

    const account = balances.get(request.account)
    const posted = account?.posted ?? 0n
    const freed = swapped?.account === request.account ? swapped.amount : 0n
    const available = posted - (account?.held ?? 0n) + freed
    if (request.amount > 0n && available < request.amount) {
      return { ok: false, reason: 'insufficient', posted, available }
    }
    if (swapped !== undefined) {
      uncount(swapped)
      book.end(swapped, 'released', now)
    }
    const row = createRow(request.holdId, request.account, request.amount, 'held', now)
    row.facts = copyFacts(request.facts)
    row.claim = claim
    row.replaces = request.replaces
    row.deadline = now + request.ttlMs
    accountOf(request.account).held += request.amount
    book.open(row)
    return { ok: true }
  }

  function settle(request: SettleRequest): SettleResult {
    const sums = checkSettlement(request)
    const now = tidyNow()
    const payer = request.facts.account
    const known = book.get(request.holdId)
    if (known?.charge !== undefined) {
      return { repeated: true, charge: copyCharge(known.charge), overdraft: overdraftOf(payer) }
    }

    for (const { account, amount } of sums) addCredits(balances.get(account)?.posted ?? 0n, amount, account)
    for (const { account, amount } of sums) accountOf(account).posted += amount
    const row = known ?? createRow(request.holdId, payer, 0n, 'settled', now)
    if (known === undefined) book.mark(row)
    else {
      if (known.state === 'held') uncount(known)
      book.end(known, 'settled', now)
    }
    row.charge = copyCharge(request.charge)
    row.postings = copyPostings(request.postings)
    row.facts = copyFacts(request.facts)
    log.add(row)
    const settled = { repeated: false, charge: request.charge, overdraft: overdraftOf(payer) }
    return takeClaim(row, request.claim) ? settled : { ...settled, claimLost: true }
  }

  /** Returns whether the row has its claim, if any. */
  function takeClaim(row: HoldRow, claim = row.claim): boolean {
    if (claim === undefined) return true
    const claimant = book.claimant(claim)
    if (claimant === row) return true
    if (claimant !== undefined) return false
    book.give(claim, row)
    return true
  }

  function overdraftOf(name: string): Credits {
    const posted = balances.get(name)?.posted ?? 0n
    return posted < 0n ? -posted : 0n
  }

  function release({ holdId, account }: ReleaseRequest): { state: 'released' | 'settled' } {
    const now = tidyNow()
    const known = book.get(holdId)
    if (known === undefined) book.mark(createRow(holdId, account, 0n, 'released', now))
    else if (known.state === 'settled') return { state: 'settled' }
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
      taken.push({
        holdId: row.holdId,
        account: row.account,
        amount: row.amount,
        facts: copyFacts(row.facts!),
      })
    }
    return taken
  }

  for (const [name, amount] of Object.entries(accounts)) {
    grant(name, amount, 'opening balance', `accounts.${name}`)
  }

  // Async, so that a bad request is a rejection and never a throw.
  return {
    grant: (account, amount, memo) => grant(account, amount, memo),
    hold: async (request: HoldRequest) => hold(request),
    settle: async (request: SettleRequest) => settle(request),
    release: async (request: ReleaseRequest) => release(request),
    balance: async (account: string) => balance(account),
    expireHolds: async (limit: number, _context: CallContext) => expireHolds(limit),
    entries: async (query: EntryQuery): Promise<EntryPage> => log.read(query),
  }
}

function createRow(holdId: string, account: string, amount: Credits, state: HoldState, now: number): HoldRow {
  return {
    holdId,
    account,
    amount,
    state,
    facts: undefined,
    claim: undefined,
    replaces: undefined,
    charge: undefined,
    postings: undefined,
    deadline: now,
    endedAt: now,
    endings: 0,
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

function claimedBy(claimant: HoldRow): HoldResult {
  return claimant.charge === undefined
    ? { ok: false, reason: 'claimed' }
    : { ok: false, reason: 'claimed', charge: copyCharge(claimant.charge) }
}
