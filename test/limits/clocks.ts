import { onTestFinished, vi } from 'vitest'
import type { LedgerReader, LedgerStore } from '../../src/contracts/index.js'
import { memoryLedger } from '../../src/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { createGroupCommit } from '../../src/sql/group-commit.js'
import { createSqlLedger } from '../../src/sql/ledger.js'
import type { LedgerCommand, LedgerOutcome } from '../../src/sql/ledger-commands.js'
import { openConnection } from '../../src/sqlite/connection.js'
import { sqliteFault } from '../../src/sqlite/faults.js'
import { expireHolds } from '../../src/sqlite/hold-rows.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { createLedgerTransaction } from '../../src/sqlite/ledger-transaction.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { createTestFile } from '../helpers/sqlite.js'

export type ClockedLedger = LedgerStore & LedgerReader

/** Opens a ledger whose own clock is the test's. It is closed with its test. */
export type OpenClocked = (
  accounts: Readonly<Record<string, string>>,
  now: () => number,
) => Promise<ClockedLedger>

const openMemory: OpenClocked = async (accounts, now) =>
  memoryLedger(accounts, { clock: { now, after: () => () => {} } })

/** SQLite's ledger reads its thread's clock, so it runs in the thread of the test here. */
const openSqlite: OpenClocked = async (accounts, now) => {
  const place = await createTestFile()
  const stores = sqliteStores({ file: place.file })
  await openAccounts(stores.database, accounts)
  const connection = openConnection(place.file)
  const transaction = createLedgerTransaction(connection)
  function atTime<Result>(run: () => Result): Result {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now())
    try {
      return run()
    } finally {
      clock.mockRestore()
    }
  }
  const groupCommit = createGroupCommit<LedgerCommand, LedgerOutcome>({
    apply: async (commands) => atTime(() => transaction.apply(commands)),
    faultOf: sqliteFault,
    maxCommands: 100,
    patienceMs: 1_000,
  })
  onTestFinished(async () => {
    await groupCommit.close()
    connection.close()
    await stores.close()
    place.remove()
  })
  return createSqlLedger({
    database: stores.database,
    settlementReads: stores.database,
    groupCommit,
    expire: async (limit) => atTime(() => expireHolds(connection, limit)),
    keepHolds: () => Promise.reject(new Error('Nobody keeps these holds')),
  })
}

/** PostgreSQL's functions read the server's clock, which a function of the test replaces. */
const openPostgres: OpenClocked = async (accounts, now) => {
  const database = await createTestDatabase()
  const stores = postgresStores(database.pool)
  onTestFinished(async () => {
    await stores.close()
    await database.drop()
  })
  await openAccounts(stores.database, accounts)
  await database.pool.query('create table test_clock (at timestamptz not null)')
  await database.pool.query('insert into test_clock values (now())')
  const { rows } = await database.pool.query(
    `select pg_get_functiondef(oid) as definition from pg_proc
     where pronamespace = 'compat_router'::regnamespace and prosrc like '%clock_timestamp()%'`,
  )
  for (const { definition } of rows) {
    await database.pool.query(
      definition.replaceAll('clock_timestamp()', '(select c.at from public.test_clock c)'),
    )
  }
  const setClock = () => database.pool.query('update test_clock set at = $1', [new Date(now())])
  const { ledger } = stores
  return {
    ...ledger,
    hold: async (request, context) => setClock().then(() => ledger.hold(request, context)),
    settle: async (request, context) => setClock().then(() => ledger.settle(request, context)),
    release: async (request, context) => setClock().then(() => ledger.release(request, context)),
    expireHolds: async (limit, context) => setClock().then(() => ledger.expireHolds(limit, context)),
  }
}

export const clockedLedgers = [
  ['memory', openMemory],
  ['SQLite', openSqlite],
  ['PostgreSQL', openPostgres],
] as const
