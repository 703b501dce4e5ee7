import type {
  Charge,
  ExpiredHold,
  HoldResult,
  KeptHolds,
  LedgerLookUps,
  LedgerReader,
  LedgerStore,
  SettleResult,
} from '../contracts/index.js'
import { checkObject, checkString, checkWhole } from '../rules/store-arguments.js'
import { heldOf, postedOf, readBalance } from './balances.js'
import { readBigint, readJson, readText } from './cells.js'
import type { Row, SqlDatabase } from './database.js'
import { readEntries } from './entries.js'
import { readCharge } from './entry-rows.js'
import type { GroupCommit } from './group-commit.js'
import {
  type LedgerCommand,
  type LedgerOutcome,
  toHoldCommand,
  toReleaseCommand,
  toSettleCommand,
} from './ledger-commands.js'
import { createSqlLookUps } from './look-ups.js'

export interface SqlLedgerParts {
  readonly database: SqlDatabase
  /** Reads for settlements, without waiting behind the look-ups of `database`. */
  readonly settlementReads: Pick<SqlDatabase, 'all'>
  readonly groupCommit: GroupCommit<LedgerCommand, LedgerOutcome>
  /** Expires overdue holds in one transaction. Returns rows with `id`, `account`, `amount` and `facts`. */
  readonly expire: (limit: number) => Promise<readonly Row[]>
  readonly keepHolds: () => Promise<KeptHolds>
}

/** Creates a ledger on top of an engine's group commit. */
export function createSqlLedger({
  database,
  settlementReads,
  groupCommit,
  expire,
  keepHolds,
}: SqlLedgerParts): LedgerStore & LedgerReader & LedgerLookUps {
  async function chargeOf(entryId: bigint): Promise<Charge> {
    const [row] = await settlementReads.all({
      text: 'select * from {entries} where id = ?1',
      parameters: [entryId],
    })
    if (row === undefined) throw new Error(`The ledger has no entry ${entryId}, although a hold refers to it`)
    return readCharge(row)
  }

  async function balanceOf(account: string): Promise<bigint> {
    const [row] = await settlementReads.all({
      text: `select ${postedOf(database)} as posted from {accounts} a where a.id = ?1`,
      parameters: [account],
    })
    return row === undefined ? 0n : readBigint(row, 'posted')
  }

  return {
    async hold(request, context): Promise<HoldResult> {
      const outcome = await groupCommit.add(toHoldCommand(request), context.signal)
      switch (outcome.kind) {
        case 'granted':
          return {
            ok: true,
            ...(outcome.limits !== undefined && { limits: outcome.limits }),
            ...(outcome.steps !== undefined && { steps: outcome.steps }),
          }
        case 'limited': {
          const { bucket, left, resetMs, onlyHeld, steps } = outcome
          return {
            ok: false,
            reason: 'limited',
            bucket,
            left,
            resetMs,
            onlyHeld,
            ...(steps !== undefined && { steps }),
          }
        }
        case 'insufficient': {
          const { available, posted, steps } = outcome
          return {
            ok: false,
            reason: 'insufficient',
            posted,
            available,
            ...(steps !== undefined && { steps }),
          }
        }
        case 'conflict':
        case 'closed':
          return { ok: false, reason: outcome.kind }
        case 'claimed':
          return outcome.entryId === null
            ? { ok: false, reason: 'claimed' }
            : { ok: false, reason: 'claimed', charge: await chargeOf(outcome.entryId) }
        default:
          throw unexpected(outcome)
      }
    },

    async settle(request): Promise<SettleResult> {
      const outcome = await groupCommit.add(toSettleCommand(request))
      if (outcome.kind === 'repeated') {
        const charge = await chargeOf(outcome.entryId)
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
      checkString(account, 'account')
      const [row] = await database.all({
        text: `select ${postedOf(database)} as posted, ${heldOf(database)} as held from {accounts} a where a.id = ?1`,
        parameters: [account],
      })
      return row === undefined ? undefined : readBalance(row)
    },

    async expireHolds(limit): Promise<readonly ExpiredHold[]> {
      checkWhole(limit, 'limit')
      const rows = await expire(limit)
      return rows.map((row) => ({
        holdId: readText(row, 'id'),
        account: readText(row, 'account'),
        amount: readBigint(row, 'amount'),
        facts: readJson(row, 'facts'),
      }))
    },

    keepHolds,
    async entries(query) {
      checkObject(query, 'query')
      return readEntries(database, query)
    },
    ...createSqlLookUps(database),
  }
}

function overdraftOf(balance: bigint): bigint {
  return balance < 0n ? -balance : 0n
}

function unexpected(outcome: LedgerOutcome): Error {
  return new Error(`The database returned an unexpected outcome: ${outcome.kind}`)
}
