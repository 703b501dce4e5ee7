import { resolve } from 'node:path'
import { z } from 'zod'
import { optionsSchema, readOptions } from '../rules/read-options.js'
import { mustBe } from '../rules/schema-faults.js'
import { type CallsConnection, createSqlCalls } from '../sql/calls.js'
import type { Statement } from '../sql/database.js'
import { createGroupCommit } from '../sql/group-commit.js'
import { createSqlLedger } from '../sql/ledger.js'
import type { LedgerCommand, LedgerOutcome } from '../sql/ledger-commands.js'
import { createProcesses } from '../sql/processes.js'
import {
  behindReporter,
  clearReporter,
  createDurableStores,
  type DurableStores,
  type DurableStoresOptions,
  durableSchemas,
  KEEP_CALLS_MS,
} from '../sql/stores.js'
import { createTotalsFolder, FOLD_MS } from '../sql/totals-folder.js'
import { clearProcess } from './clear-process.js'
import { createSqliteDatabase } from './database.js'
import { isProcessGone, sqliteFault } from './faults.js'
import { packColumn } from './messages.js'
import { createWorkerClient, type WorkerClient } from './worker-client.js'

export interface SqliteStoresOptions extends DurableStoresOptions {
  /** On a local disk. Created with its folder if it does not exist, readable only by its owner. */
  readonly file: string
}

const MAX_COMMANDS = 1_000
/** Few, since the ledger waits for the file's lock meanwhile. */
const MAX_CALLS = 100
const PATIENCE_MS = 10_000
/** Addresses such as `postgres://…`, which are also valid paths: the password would become the name of a folder. */
const ADDRESS_PATTERN = /^(file:|[a-z][a-z+]+:\/\/)/i

const FILE = 'the path of a file, such as ".data/credits.db"'
const storesSchema = optionsSchema<SqliteStoresOptions>({
  file: z
    .string(mustBe(FILE))
    .refine((path) => path !== '' && path !== ':memory:' && !ADDRESS_PATTERN.test(path), `must be ${FILE}`),
  ...durableSchemas,
})

/**
 * Creates all stores in one SQLite file, without a server. Several processes on one machine may share it. Requires the
 * package `libsql`.
 *
 * Four threads have a connection each: one for the ledger, so that nothing else delays its commits, one for all other
 * rows, one for reports, which starts with the first report, and one for kept calls, which starts with the first call.
 * Every commit is on disk (`synchronous=FULL`) before its promise resolves, except those of kept calls.
 */
export function sqliteStores(given: SqliteStoresOptions): DurableStores {
  return createSqliteStores(given)
}

/**
 * Like {@link sqliteStores}. For tests, `pollMs` shortens the time after which a process counts as dead, and `foldMs` that
 * between two rounds of adding to the totals; null for no rounds.
 */
export function createSqliteStores(
  given: SqliteStoresOptions,
  pollMs?: number,
  foldMs: number | null = FOLD_MS,
): DurableStores {
  const { file: path, ...options } = readOptions(storesSchema, given, 'sqliteStores')
  // Each thread opens the file at its first question, and the process may have changed its working directory before
  // then.
  const file = resolve(path)
  const state = { isUpToDate: false }
  const ledgerWorker = createWorkerClient(file, state)
  const rowsWorker = createWorkerClient(file, state)
  const reportsWorker = createWorkerClient(file, state)
  const callsWorker = createWorkerClient(file, state, false)
  const database = createSqliteDatabase(rowsWorker, reportsWorker)
  /** Runs statements in the thread that only the ledger uses. */
  const ledgerBatch = (statements: readonly Statement[]) => ledgerWorker.ask({ kind: 'batch', statements })
  const processes = createProcesses({
    database: { batch: ledgerBatch, now: database.now },
    clear: (id, beat) => clearProcess(ledgerBatch, id, beat),
    onCleared: clearReporter(options),
    pollMs,
  })
  const groupCommit = createGroupCommit<LedgerCommand, LedgerOutcome>({
    async apply(commands) {
      const process = await processes.current()
      try {
        const outcomes = await ledgerWorker.ask({ kind: 'ledger', commands, process })
        if (commands.some(({ kind }) => kind === 'settle')) folder.wrote()
        return outcomes
      } catch (error) {
        if (process !== undefined && isProcessGone(error)) processes.gone(process)
        throw error
      }
    },
    faultOf: sqliteFault,
    maxCommands: MAX_COMMANDS,
    patienceMs: PATIENCE_MS,
  })
  const folder = createTotalsFolder({
    // In the thread whose commits do not wait for the disk: one that is lost with the machine's power is lost whole.
    database: { ...database, batch: (statements) => callsWorker.ask({ kind: 'batch', statements }) },
    onBehind: behindReporter(options),
    everyMs: foldMs,
  })
  const ledger = createSqlLedger({
    database,
    settlementReads: {
      async all(statement) {
        const [rows = []] = await ledgerBatch([statement])
        return rows
      },
    },
    groupCommit,
    expire: (limit) => ledgerWorker.ask({ kind: 'expire', limit }),
    keepHolds: processes.keep,
  })
  const calls = createSqlCalls({
    database,
    connection: createCallsConnection(callsWorker),
    faultOf: sqliteFault,
    keepMs: options.keepCallsMs ?? KEEP_CALLS_MS,
    maxRows: MAX_CALLS,
  })
  return createDurableStores({
    options,
    calls,
    database,
    ledger,
    processes,
    async ready() {
      await database.all({ text: 'select 1' })
    },
    async close() {
      await Promise.all([groupCommit.close(), calls.close()])
      await folder.close()
      await processes.close()
      database.close()
      const workers = [ledgerWorker, rowsWorker, reportsWorker, callsWorker]
      await Promise.all(workers.map((worker) => worker.close()))
    },
  })
}

/** Writes calls in a separate thread. */
function createCallsConnection(worker: WorkerClient): CallsConnection {
  return {
    async insert({ table, types, onConflict, columns }) {
      const names = Object.keys(types)
      const values = names.map((_, index) => `?${index + 1}`)
      await worker.ask({
        kind: 'insert',
        text: `insert into {${table}} as known (${names.join(', ')}) values (${values.join(', ')}) ${onConflict}`,
        columns: columns.map(packColumn),
      })
    },
    async run(statement) {
      const [rows = []] = await worker.ask({ kind: 'batch', statements: [statement] })
      return rows.length
    },
  }
}
