import { ENTRY_COLUMNS } from '../sql/entry-rows.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import {
  accountsOf,
  type HoldCommand,
  type LedgerCommand,
  type LedgerOutcome,
  type ReleaseCommand,
  type SettleCommand,
} from '../sql/ledger-commands.js'
import { type Accounts, createAccounts, FEW_ROWS } from './accounts.js'
import type { Connection } from './connection.js'
import { createPostingRows, type PostingRow } from './posting-rows.js'

interface HoldRow {
  readonly account: string
  readonly amount: bigint
  readonly state: number
  readonly isOver: boolean
  readonly claim: string | null
  readonly replaces: string | null
  readonly entryId: bigint | null
}

/** An open hold that a settlement of this batch has ended. */
interface EndedHold {
  readonly account: string
  readonly amount: bigint
  readonly claim: string | null
  readonly entryId: bigint
}

/** Runs commands in one transaction: ends the open holds of all settlements first, then takes the commands in their order. */
export interface LedgerTransaction {
  apply(commands: readonly LedgerCommand[]): readonly LedgerOutcome[]
}

const CLOSED: LedgerOutcome = { kind: 'closed' }
const CONFLICT: LedgerOutcome = { kind: 'conflict' }
const GRANTED: LedgerOutcome = { kind: 'granted' }
const RELEASED: LedgerOutcome = { kind: 'released' }
const SETTLED: LedgerOutcome = { kind: 'settled' }

/**
 * The ledger's commands over one connection, many in one transaction. A statement costs as much as the row it is for, so
 * balances are read and written by one statement a batch, and so are the holds of its settlements ended.
 */
export function createLedgerTransaction(connection: Connection): LedgerTransaction {
  const sql = prepareStatements(connection)
  const postingRows = createPostingRows(connection)

  function apply(commands: readonly LedgerCommand[]): readonly LedgerOutcome[] {
    return connection.transaction(() => {
      const now = BigInt(Date.now())
      const accounts = createAccounts(connection, now)
      accounts.load(commands.flatMap(accountsOf))
      const settlements = commands.filter((command) => command.kind === 'settle')
      let entryId = (sql.lastEntry.first([])?.[0] ?? 0n) as bigint
      const ended = endHolds(settlements, entryId + 1n, now)
      const postings: PostingRow[] = []
      const outcomes = commands.map((command): LedgerOutcome => {
        if (command.kind === 'hold') return hold(command, accounts, now)
        if (command.kind === 'release') return release(command, accounts, now)
        return settle(command, accounts, now, ++entryId, ended.get(command.holdId), postings)
      })
      postingRows.insert(postings, now)
      accounts.write()
      return outcomes
    })
  }

  /** Ends the open holds among those to settle, the first with the entry `entryId` and so on, by hold id. */
  function endHolds(
    settlements: readonly SettleCommand[],
    entryId: bigint,
    now: bigint,
  ): ReadonlyMap<string, EndedHold> {
    const first = Number(entryId)
    const cells = settlements.map(({ holdId }, index): [string, number] => [holdId, first + index])
    if (cells.length > FEW_ROWS) {
      const rows = sql.settleMany.rows([now, JSON.stringify(cells)])
      return new Map(rows.map((row) => [row.id as string, row as unknown as EndedHold]))
    }
    const ended = new Map<string, EndedHold>()
    for (const [holdId, id] of cells) {
      const open = sql.settle.first([now, BigInt(id), holdId])
      if (open === undefined) continue
      const [account, amount, claim] = open as [string, bigint, string | null]
      ended.set(holdId, { account, amount, claim, entryId: BigInt(id) })
    }
    return ended
  }

  function release({ holdId, account }: ReleaseCommand, accounts: Accounts, now: bigint): LedgerOutcome {
    const freed = sql.release.first([now, holdId, now])
    if (freed !== undefined) {
      accounts.change(freed[0] as string, 0n, -(freed[1] as bigint))
      return RELEASED
    }
    if (sql.insertReleased.run([holdId, account, now, now]) === 1) return RELEASED
    return readHold(holdId, now)?.state === HOLD_STATE.settled ? SETTLED : RELEASED
  }

  function readHold(id: string, now: bigint): HoldRow | undefined {
    const cells = sql.hold.first([id])
    if (cells === undefined) return undefined
    const state = Number(cells[2])
    return {
      account: cells[0] as string,
      amount: cells[1] as bigint,
      state,
      isOver: state !== HOLD_STATE.open || (cells[3] as bigint) <= now,
      claim: cells[4] as string | null,
      replaces: cells[5] as string | null,
      entryId: cells[6] as bigint | null,
    }
  }

  function hold(command: HoldCommand, accounts: Accounts, now: bigint): LedgerOutcome {
    const { amount } = command
    const account = accounts.read(command.account)
    const expiresAt = now + BigInt(command.ttlMs)
    if (command.claim === null && command.replaces === null) {
      const covered = amount === 0n || account.posted - account.held >= amount
      // The common case: covered, and never seen before.
      if (covered && insertHold(command, null, expiresAt)) {
        if (amount > 0n) accounts.change(command.account, 0n, amount)
        return GRANTED
      }
    }
    return holdWithCare(command, accounts, now, expiresAt)
  }

  function holdWithCare(
    command: HoldCommand,
    accounts: Accounts,
    now: bigint,
    expiresAt: bigint,
  ): LedgerOutcome {
    const known = readHold(command.holdId, now)
    if (known !== undefined) {
      if (known.isOver) return CLOSED
      return isSameHold(known, command) ? GRANTED : CONFLICT
    }
    const replaced = command.replaces === null ? undefined : readHold(command.replaces, now)
    if (replaced?.state === HOLD_STATE.settled) return CLOSED
    const swapped = replaced === undefined || replaced.isOver ? undefined : replaced
    const claim = command.claim ?? swapped?.claim ?? null
    const holder = claim === null ? undefined : readClaimHolder(claim, command.replaces, now)
    if (holder !== undefined) return { kind: 'claimed', entryId: holder.entryId }

    const account = accounts.read(command.account)
    const freed = swapped?.account === command.account ? swapped.amount : 0n
    let available = account.posted - account.held + freed
    if (command.amount > 0n && available < command.amount) {
      available += sql.overdue.first([command.account, now])![0] as bigint
      if (available < command.amount) {
        return { kind: 'insufficient', posted: account.posted, available }
      }
    }
    if (swapped !== undefined) {
      sql.free.run([now, command.replaces])
      accounts.change(swapped.account, 0n, -swapped.amount)
    }
    if (command.amount > 0n) accounts.change(command.account, 0n, command.amount)
    if (claim !== null) sql.claim.run([claim, command.holdId])
    insertHold(command, claim, expiresAt)
    return GRANTED
  }

  function insertHold(command: HoldCommand, claim: string | null, expiresAt: bigint): boolean {
    const { holdId, account, amount, replaces, facts } = command
    return sql.insertHold.run([holdId, account, amount, expiresAt, claim, replaces, facts]) === 1
  }

  /** The hold, other than the one being replaced, that has the claim now. */
  function readClaimHolder(claim: string, except: string | null, now: bigint): HoldRow | undefined {
    const id = sql.claimHolder.first([claim])?.[0] as string | undefined
    if (id === undefined || id === except) return undefined
    const holder = readHold(id, now)
    return holder !== undefined && (holder.state === HOLD_STATE.settled || !holder.isOver)
      ? holder
      : undefined
  }

  function settle(
    command: SettleCommand,
    accounts: Accounts,
    now: bigint,
    entryId: bigint,
    ended: EndedHold | undefined,
    postings: PostingRow[],
  ): LedgerOutcome {
    const { holdId, account } = command
    let claim = command.claim
    // An overdue hold that no sweeper has ended yet is still part of what its account holds.
    if (ended?.entryId === entryId) {
      accounts.change(ended.account, 0n, -ended.amount)
      claim ??= ended.claim
    } else if (sql.settleUnknown.run([holdId, account, now, now, entryId]) === 0) {
      const known = readHold(holdId, now)!
      if (known.state === HOLD_STATE.settled) return { kind: 'repeated', entryId: known.entryId! }
      // Open only where the same batch has taken it.
      if (known.state === HOLD_STATE.open) accounts.change(known.account, 0n, -known.amount)
      sql.settleEnded.run([now, entryId, holdId])
      claim ??= known.claim
    }
    for (const posting of command.postings) {
      accounts.change(posting.account, posting.amount, 0n)
      postings.push({ ...posting, entryId })
    }
    sql.insertEntry.run([entryId, now, ...command.entry])
    return {
      kind: 'posted',
      balance: accounts.read(account).posted,
      claimLost: claim !== null && !takeClaim(claim, holdId, now),
    }
  }

  function takeClaim(claim: string, holdId: string, now: bigint): boolean {
    if (readClaimHolder(claim, holdId, now) !== undefined) return false
    sql.claim.run([claim, holdId])
    return true
  }

  return { apply }
}

function isSameHold(known: HoldRow, command: HoldCommand): boolean {
  const sameClaim = known.claim === command.claim || (command.claim === null && command.replaces !== null)
  return (
    known.account === command.account &&
    known.amount === command.amount &&
    known.replaces === command.replaces &&
    sameClaim
  )
}

function prepareStatements(connection: Connection) {
  const entryColumns = ['id', 'at', 'kind', ...ENTRY_COLUMNS].join(', ')
  return {
    lastEntry: connection.prepare('select max(id) from {entries}'),
    hold: connection.prepare(
      'select account, amount, state, expires_at, claim, replaces, entry_id from {holds} where id = ?1',
    ),
    insertHold: connection.prepare(
      `insert into {holds} (id, account, amount, state, expires_at, claim, replaces, facts)
       values (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7) on conflict do nothing`,
    ),
    overdue: connection.prepare(
      `select coalesce(sum(amount), 0) from {holds} indexed by compat_holds_due
       where state = 0 and account = ?1 and expires_at <= ?2`,
    ),
    free: connection.prepare('update {holds} set state = 1, ended_at = ?1 where id = ?2'),
    release: connection.prepare(
      `update {holds} set state = 1, ended_at = ?1 where id = ?2 and state = 0 and expires_at > ?3
       returning account, amount`,
    ),
    insertReleased: connection.prepare(
      `insert into {holds} (id, account, amount, state, expires_at, ended_at)
       values (?1, ?2, 0, 1, ?3, ?4) on conflict do nothing`,
    ),
    settle: connection.prepare(
      `update {holds} set state = 2, ended_at = ?1, entry_id = ?2 where id = ?3 and state = 0
       returning account, amount, claim`,
    ),
    // The plus keeps the planner from walking through all open holds by the index of those.
    settleMany: connection.prepare(
      `update {holds} set state = 2, ended_at = ?1, entry_id = s.value ->> 1 from json_each(?2) s
       where {holds}.id = s.value ->> 0 and +state = 0
       returning {holds}.id, account, amount, claim, entry_id as "entryId"`,
    ),
    settleUnknown: connection.prepare(
      `insert into {holds} (id, account, amount, state, expires_at, ended_at, entry_id)
       values (?1, ?2, 0, 2, ?3, ?4, ?5) on conflict do nothing`,
    ),
    settleEnded: connection.prepare(
      'update {holds} set state = 2, ended_at = ?1, entry_id = ?2 where id = ?3',
    ),
    insertEntry: connection.prepare(
      `insert into {entries} (${entryColumns})
       values (?, ?, 'charge'${', ?'.repeat(ENTRY_COLUMNS.length)})`,
    ),
    claimHolder: connection.prepare('select hold_id from {claims} where claim = ?1'),
    claim: connection.prepare(
      `insert into {claims} (claim, hold_id) values (?1, ?2)
       on conflict (claim) do update set hold_id = excluded.hold_id`,
    ),
  }
}
