import { z } from 'zod'
import { createIdSource } from '../base/ids.js'
import { outOfRange } from '../base/invalid-input.js'
import { type Credits, formatCredits, MAX_CREDITS, parseCredits } from '../base/money.js'
import { present } from '../base/present.js'
import type { Balance, CallContext, LedgerStore } from '../contracts/index.js'
import {
  idSchema,
  idsSchema,
  labelSchema,
  nameSchema,
  parseField,
  parseInput,
  referenceSchema,
  rowsSchema,
  signedCreditsSchema,
  whose,
} from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import { heldOf, postedOf, readBalance } from '../sql/balances.js'
import { readNumber, readOptionalNumber, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import { type PostedEntry, post } from '../sql/credits.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { checkHoldable } from './amounts.js'
import { type AccountStatement, readStatement } from './statement.js'

export interface CreditRequest {
  readonly account: string
  /** A decimal string of at most nine places, such as `'5.00'`. */
  readonly amount: string
  /**
   * Identifies this posting, such as an invoice number. A repeat with the same reference posts nothing and returns the
   * first entry. Rejects if that entry has another account, amount or kind.
   */
  readonly reference?: string
  readonly memo?: string
}

/** Like a credit, but the amount may be negative. It must not be 0. */
export type CorrectionRequest = CreditRequest

export interface AccountRow {
  readonly id: string
  readonly balance: Balance
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number
  /** Milliseconds since the Unix epoch. Absent unless the account is suspended. */
  readonly suspendedAt?: number
}

export interface AccountsQuery {
  readonly accountIds?: readonly string[]
  readonly after?: string
  readonly limit?: number
}

export interface AccountsAdmin {
  /** Creates an account without credits. Does nothing if it exists. */
  open(account: string): Promise<void>
  /** Adds credits in one posting. The amount must be above 0. Creates the account if it does not exist. */
  credit(request: CreditRequest): Promise<PostedEntry>
  /** Adds or removes credits, to correct a wrong charge or credit. */
  correct(request: CorrectionRequest): Promise<PostedEntry>
  /**
   * Refuses every credential of the account, in every process within a second, until {@link resume}. Returns
   * whether the account exists.
   */
  suspend(account: string): Promise<boolean>
  /** Returns whether the account exists. */
  resume(account: string): Promise<boolean>
  /** Returns undefined if the account does not exist. */
  find(account: string): Promise<AccountRow | undefined>
  /**
   * Lists accounts by id: all, or those with the given ids. For the next page, pass the last id as `after`. `limit` is 100
   * by default.
   */
  list(query?: AccountsQuery): Promise<readonly AccountRow[]>
  /** Returns undefined if the account does not exist. */
  balance(account: string): Promise<Balance | undefined>
  /** Returns how a balance came about. Undefined if the account does not exist. */
  statement(account: string): Promise<AccountStatement | undefined>
}

const creditSchema = z.strictObject({
  account: nameSchema,
  amount: signedCreditsSchema,
  reference: referenceSchema,
  memo: labelSchema.optional(),
})

const querySchema = z.strictObject({
  accountIds: whose(idsSchema),
  after: idSchema.optional(),
  limit: rowsSchema.optional(),
})

export function createAccountsAdmin(
  database: SqlDatabase,
  ledger: Pick<LedgerStore, 'balance'>,
  context: CallContext,
  recorder: Recorder,
): AccountsAdmin {
  const newId = createIdSource()

  async function add(kind: 'credit' | 'correction', request: CreditRequest): Promise<PostedEntry> {
    const { account, amount: text, reference = newId(), memo } = parseInput(creditSchema, request, kind)
    const amount = parseSigned(text)
    const place = { of: kind, field: 'amount' }
    if (kind === 'credit' && amount < 0n) {
      throw outOfRange(place, 'must be above 0. To take credits away, make a correction.')
    }
    if (kind === 'credit' && amount === 0n) {
      throw outOfRange(place, 'must be above 0: a credit adds to the balance.')
    }
    if (amount === 0n) {
      throw outOfRange(place, 'must not be 0: a correction adds credits or takes them.')
    }
    checkHoldable(amount, place)
    try {
      return await post(database, { kind, account, amount, reference, ...present({ memo }) }, recorder)
    } catch (error) {
      // If the sum did not fit, replaces the database's own error by one that states the amounts.
      const [before] = await read({ accountIds: [account] }).catch(() => [])
      if (before !== undefined) checkSum(before.balance.posted + amount, kind)
      throw error
    }
  }

  async function setSuspended(account: string, isSuspended: boolean): Promise<boolean> {
    const parameters = [parseField(idSchema, account, 'account')]
    const [rows] = await database.batch([
      // Locks the row, so that the second of two concurrent changes sees the first.
      { text: 'update {accounts} set id = id where id = ?1 returning id', parameters },
      recorder.record(
        { noun: 'account', kind: isSuspended ? 'suspended' : 'resumed' },
        {
          text: `select id, id as account from {accounts} where id = ?1 and suspended_at is ${isSuspended ? '' : 'not '}null`,
          parameters,
        },
      ),
      {
        text: `update {accounts} set suspended_at = ${isSuspended ? `coalesce(suspended_at, ${database.now})` : 'null'}
          where id = ?1`,
        parameters,
      },
      database.change('credentials'),
    ])
    return rows!.length > 0
  }

  async function read({ accountIds, after, limit = 100 }: AccountsQuery): Promise<AccountRow[]> {
    const { parameters, add, addOneOf, where } = createConditions()
    if (accountIds !== undefined) addOneOf('a.id', accountIds)
    if (after !== undefined) add((value) => `a.id > ${value}`, after)
    parameters.push(BigInt(limit))
    const rows = await database.all({
      text: `select a.id, ${postedOf(database)} as posted, ${heldOf(database)} as held, a.suspended_at, a.created_at
        from {accounts} a ${where()} order by a.id limit ?${parameters.length}`,
      parameters,
    })
    return rows.map(readAccountRow)
  }

  return {
    async open(account) {
      await database.batch([
        {
          text: `insert into {accounts} (id, created_at) values (?1, ${database.now}) on conflict do nothing`,
          parameters: [parseField(nameSchema, account, 'account')],
        },
      ])
    },
    credit: (request) => add('credit', request),
    correct: (request) => add('correction', request),
    suspend: (account) => setSuspended(account, true),
    resume: (account) => setSuspended(account, false),
    find: async (account) => (await read({ accountIds: [parseField(idSchema, account, 'account')] }))[0],
    list: async (query = {}) => read(parseInput(querySchema, query, 'accounts')),
    balance: async (account) => ledger.balance(parseField(idSchema, account, 'account'), context),
    statement: (account) => readStatement(database, account),
  }
}

function readAccountRow(row: Row): AccountRow {
  return {
    id: readText(row, 'id'),
    balance: readBalance(row),
    createdAt: readNumber(row, 'created_at'),
    ...present({ suspendedAt: readOptionalNumber(row, 'suspended_at') }),
  }
}

function checkSum(sum: Credits, kind: string): void {
  if (sum <= MAX_CREDITS && sum >= -MAX_CREDITS) return
  throw outOfRange(
    { of: kind, field: 'amount' },
    `must keep the balance between -${formatCredits(MAX_CREDITS)} and ${formatCredits(MAX_CREDITS)} credits; it would be ${formatCredits(sum)}`,
  )
}

function parseSigned(text: string): Credits {
  return text.startsWith('-') ? -parseCredits(text.slice(1)) : parseCredits(text)
}
