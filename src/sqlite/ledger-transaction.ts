import type { Posting } from '../contracts/index.js'
import { countUses, giveBack } from '../rules/limit-buckets.js'
import { checkSum } from '../sql/bounds.js'
import { ENTRY_COLUMNS } from '../sql/entry-rows.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import {
  accountsOf,
  bucketsOf,
  type LedgerCommand,
  type LedgerOutcome,
  type ReleaseCommand,
  type ReleaseOutcome,
  type SettleCommand,
  type SettleOutcome,
} from '../sql/ledger-commands.js'
import { type Accounts, createAccounts } from './accounts.js'
import { type Buckets, createBuckets } from './buckets.js'
import type { Connection, Prepared } from './connection.js'
import { PROCESS_GONE } from './faults.js'
import { createHoldRows, type SettledHold } from './hold-rows.js'
import { takeHold } from './take-hold.js'

/** Runs commands in one transaction. Ends the open holds of all settlements first, then runs the commands in order. */
export interface LedgerTransaction {
  /**
   * Throws an error with the code {@link PROCESS_GONE}, and changes nothing, if it has holds to take and the process was
   * cleared.
   *
   * @param process the process that takes the holds; if absent, they last until they expire
   */
  apply(commands: readonly LedgerCommand[], process?: string): readonly LedgerOutcome[]
}

const RELEASED: ReleaseOutcome = { kind: 'released' }
const SETTLED: ReleaseOutcome = { kind: 'settled' }

/**
 * Runs many of the ledger's commands in one transaction. A statement costs as much as its row. So for each batch one
 * statement reads the balances and one the buckets, one writes each of them, and one ends the holds of the settlements.
 */
export function createLedgerTransaction(connection: Connection): LedgerTransaction {
  const holds = createHoldRows(connection)
  const postingRows = createPostingRows(connection)
  const findProcess = connection.prepare('select 1 from {processes} where id = ?1')
  const lastEntry = connection.prepare('select max(id) from {entries}')
  const insertEntry = connection.prepare(
    `insert into {entries} (id, at, kind, ${ENTRY_COLUMNS.join(', ')})
     values (?, ?, 'charge'${', ?'.repeat(ENTRY_COLUMNS.length)})`,
  )

  function apply(commands: readonly LedgerCommand[], process?: string): readonly LedgerOutcome[] {
    return connection.transaction(() => {
      if (process !== undefined && commands.some(({ kind }) => kind === 'hold')) checkProcess(process)
      const now = BigInt(Date.now())
      const accounts = createAccounts(connection, now)
      accounts.load(commands.flatMap(accountsOf))
      const buckets = createBuckets(connection)
      buckets.load(commands.flatMap(bucketsOf))
      let entryId = (lastEntry.first([])?.[0] ?? 0n) as bigint
      const settlements = commands.filter(({ kind }) => kind === 'settle')
      const settled = holds.settleOpen(
        settlements.map(({ holdId }) => holdId),
        entryId + 1n,
        now,
      )
      const postings: PostingRow[] = []
      const outcomes = commands.map((command): LedgerOutcome => {
        if (command.kind === 'hold') return takeHold(command, holds, accounts, buckets, now, process ?? null)
        if (command.kind === 'release') return release(command, accounts, buckets, now)
        return settle(command, accounts, buckets, now, ++entryId, settled.get(command.holdId), postings)
      })
      postingRows.insert(postings, now)
      accounts.write()
      buckets.write()
      return outcomes
    })
  }

  /** If the process was cleared and then died, nothing would end its hold. */
  function checkProcess(process: string): void {
    if (findProcess.first([process]) !== undefined) return
    throw Object.assign(new Error(`The process ${process} was cleared`), { code: PROCESS_GONE })
  }

  function release(
    { holdId, account }: ReleaseCommand,
    accounts: Accounts,
    buckets: Buckets,
    now: bigint,
  ): ReleaseOutcome {
    const freed = holds.releaseOpen(holdId, now)
    if (freed !== undefined) {
      accounts.change(freed.account, 0n, -freed.amount)
      giveBack(buckets, freed.limits)
      return RELEASED
    }
    if (holds.insertReleased(holdId, account, now)) return RELEASED
    return holds.read(holdId, now)?.state === HOLD_STATE.settled ? SETTLED : RELEASED
  }

  function settle(
    command: SettleCommand,
    accounts: Accounts,
    buckets: Buckets,
    now: bigint,
    entryId: bigint,
    ended: SettledHold | undefined,
    postings: PostingRow[],
  ): SettleOutcome {
    const { holdId, account } = command
    let claim = command.claim
    // If a batch settles a hold twice, the hold was ended for only one of the two.
    if (ended?.entryId === entryId) {
      // An overdue hold that has not been swept still counts as held.
      accounts.change(ended.account, 0n, -ended.amount)
      giveBack(buckets, ended.limits)
      claim ??= ended.claim
    } else if (!holds.insertSettled(holdId, account, entryId, now)) {
      const known = holds.read(holdId, now)!
      if (known.state === HOLD_STATE.settled) return { kind: 'repeated', entryId: known.entryId! }
      // It is open only if the same batch has granted it.
      if (known.state === HOLD_STATE.open) {
        accounts.change(known.account, 0n, -known.amount)
        giveBack(buckets, known.limits)
      }
      holds.settle(holdId, entryId, now)
      claim ??= known.claim
    }
    for (const posting of command.postings) {
      accounts.change(posting.account, posting.amount, 0n)
      postings.push({ ...posting, entryId })
    }
    countUses(buckets, command.limits, addUse)
    insertEntry.run([entryId, now, ...command.entry])
    return {
      kind: 'posted',
      balance: accounts.read(account).posted,
      claimLost: claim !== null && !takeClaim(claim, holdId, now),
    }
  }

  /** A hold that already has the claim, open or settled, keeps it. */
  function takeClaim(claim: string, holdId: string, now: bigint): boolean {
    if (holds.claimHolder(claim, holdId, now) !== undefined) return false
    holds.giveClaim(claim, holdId)
    return true
  }

  return { apply }
}

function addUse(bucket: string, used: bigint, more: bigint): bigint {
  return checkSum(used + more, `The use of ${bucket}`)
}

interface PostingRow extends Posting {
  readonly entryId: bigint
}

/** Numbers of rows in one statement, largest first. An entry usually has three postings. */
const STATEMENT_ROWS = [256, 64, 16, 3, 1] as const

/** Writes the postings of a batch, many rows in one statement, in the table's order. */
function createPostingRows(connection: Connection): {
  insert(rows: PostingRow[], at: bigint): void
} {
  const statements = STATEMENT_ROWS.map((count): { count: number; statement: Prepared } => {
    const values = new Array(count).fill('(?, ?, ?, ?)').join(', ')
    return {
      count,
      statement: connection.prepare(
        `insert into {postings} (account, at, entry_id, amount) values ${values}`,
      ),
    }
  })

  return {
    insert(rows, at) {
      rows.sort((first, second) =>
        first.account < second.account ? -1 : Number(first.account > second.account),
      )
      let next = 0
      for (const { count, statement } of statements) {
        for (; rows.length - next >= count; next += count) {
          const cells: unknown[] = []
          for (let index = next; index < next + count; index++) {
            const { account, entryId, amount } = rows[index]!
            cells.push(account, at, entryId, amount)
          }
          statement.run(cells)
        }
      }
    },
  }
}
