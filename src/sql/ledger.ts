import type {
  Charge,
  ExpiredHold,
  HoldResult,
  LedgerReader,
  LedgerStore,
  SettleResult,
} from '../contracts/index.js'
import { heldOf, readBalance } from './balances.js'
import { readBigint, readJson, readText } from './cells.js'
import type { Row, SqlDatabase } from './database.js'
import { readEntries } from './entries.js'
import { readCharge } from './entry-rows.js'
import type { GroupCommit } from './group-commit.js'
import {
  type LedgerCommand,
  type LedgerOutcome,
  toHoldCommand,
  toHoldResult,
  toReleaseCommand,
  toSettleCommand,
} from './ledger-commands.js'

export interface SqlLedgerParts {
  readonly database: SqlDatabase
  readonly groupCommit: GroupCommit<LedgerCommand, LedgerOutcome>
  /** Ends overdue holds in one transaction: rows of `id`, `account`, `amount`, `facts`. */
  readonly expire: (limit: number) => Promise<readonly Row[]>
}

/** The ledger over an engine's way of running commands together. */
export function createSqlLedger({
  database,
  groupCommit,
  expire,
}: SqlLedgerParts): LedgerStore & LedgerReader {
  async function readCharges(ids: readonly bigint[]): Promise<(entryId: bigint) => Charge> {
    const found = new Map<bigint, Charge>()
    for (const id of ids) {
      const [row] = await database.all({ text: 'select * from {entries} where id = ?1', parameters: [id] })
      if (row === undefined) throw new Error(`The ledger has no entry ${id}, though a hold names it`)
      found.set(id, readCharge(row))
    }
    return (id) => found.get(id)!
  }

  async function balanceOf(account: string): Promise<bigint> {
    const [row] = await database.all({
      text: 'select posted from {accounts} where id = ?1',
      parameters: [account],
    })
    return row === undefined ? 0n : readBigint(row, 'posted')
  }

  return {
    async hold(request, context): Promise<HoldResult> {
      const outcome = await groupCommit.add(toHoldCommand(request), context.signal)
      const entryId = outcome.kind === 'claimed' ? outcome.entryId : null
      const result = toHoldResult(outcome, await readCharges(entryId === null ? [] : [entryId]))
      if (result === undefined) throw unexpected(outcome)
      return result
    },

    async settle(request): Promise<SettleResult> {
      const outcome = await groupCommit.add(toSettleCommand(request))
      if (outcome.kind === 'repeated') {
        const charge = (await readCharges([outcome.entryId]))(outcome.entryId)
        return { repeated: true, charge, overdraft: overdraftOf(await balanceOf(request.facts.account)) }
      }
      if (outcome.kind !== 'posted') throw unexpected(outcome)
      const result = {
        repeated: false,
        charge: request.charge,
        overdraft: overdraftOf(outcome.balance),
      }
      return outcome.claimLost ? { ...result, claimLost: true } : result
    },

    async release(request) {
      const outcome = await groupCommit.add(toReleaseCommand(request))
      if (outcome.kind !== 'released' && outcome.kind !== 'settled') throw unexpected(outcome)
      return { state: outcome.kind }
    },

    async balance(account) {
      const [row] = await database.all({
        text: `select a.posted, ${heldOf(database)} as held from {accounts} a where a.id = ?1`,
        parameters: [account],
      })
      return row === undefined ? undefined : readBalance(row)
    },

    async expireHolds(limit): Promise<readonly ExpiredHold[]> {
      const rows = await expire(limit)
      return rows.map((row) => ({
        holdId: readText(row, 'id'),
        account: readText(row, 'account'),
        amount: readBigint(row, 'amount'),
        facts: readJson(row, 'facts'),
      }))
    },

    entries: (query) => readEntries(database, query),
  }
}

function overdraftOf(balance: bigint): bigint {
  return balance < 0n ? -balance : 0n
}

function unexpected(outcome: LedgerOutcome): Error {
  return new Error(`The database answered another question: ${outcome.kind}`)
}
