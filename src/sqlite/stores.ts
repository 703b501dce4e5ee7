import { resolve } from 'node:path'
import { refuseMisspelt } from '../contracts/option-checks.js'
import { createGroupCommit } from '../sql/group-commit.js'
import { createSqlLedger } from '../sql/ledger.js'
import type { LedgerCommand, LedgerOutcome } from '../sql/ledger-commands.js'
import {
  createDurableStores,
  type DurableStores,
  type DurableStoresOptions,
  STORE_OPTIONS,
} from '../sql/stores.js'
import { createSqliteDatabase } from './database.js'
import { sqliteFault } from './faults.js'
import { createWorkerClient } from './worker-client.js'

export interface SqliteStoresOptions extends DurableStoresOptions {
  /** On a local disk. Made if it does not exist, with its folder, readable by its owner only. */
  readonly file: string
}

const MAX_COMMANDS = 1_000
const PATIENCE_MS = 10_000
/** Such as `postgres://…`, which is the path of a file, too: its password would become the name of a folder. */
const ADDRESS_PATTERN = /^(file:|[a-z][a-z+]+:\/\/)/i

/**
 * All stores in one SQLite file, with no server to install; several processes of one machine may share it. Needs the
 * package `libsql` beside this one.
 *
 * Threads own a connection each: one for the ledger, so that nothing else makes its commits wait, one for all other rows,
 * and one for reports, started by the first. Every commit is on the disk (`synchronous=FULL`) before its promise is fulfilled.
 */
export function sqliteStores(given: SqliteStoresOptions): DurableStores {
  refuseMisspelt(given, ['file', ...STORE_OPTIONS], 'sqliteStores')
  const { file: path, ...options } = given
  if (typeof path !== 'string' || path === '' || path === ':memory:' || ADDRESS_PATTERN.test(path)) {
    throw new TypeError('sqliteStores needs the path of a file, such as { file: ".data/credits.db" }')
  }
  // Each thread opens the file when it is first asked, and the process may be in another folder by then.
  const file = resolve(path)
  const state = { isUpToDate: false }
  const ledgerWorker = createWorkerClient(file, state)
  const rowsWorker = createWorkerClient(file, state)
  const reportsWorker = createWorkerClient(file, state)
  const database = createSqliteDatabase(rowsWorker, reportsWorker)
  const groupCommit = createGroupCommit<LedgerCommand, LedgerOutcome>({
    apply: (commands) => ledgerWorker.ask({ kind: 'ledger', commands }),
    faultOf: sqliteFault,
    maxCommands: MAX_COMMANDS,
    patienceMs: PATIENCE_MS,
  })
  const ledger = createSqlLedger({
    database,
    settlementReads: {
      async all(statement) {
        const [rows = []] = await ledgerWorker.ask({ kind: 'batch', statements: [statement] })
        return rows
      },
    },
    groupCommit,
    expire: (limit) => ledgerWorker.ask({ kind: 'expire', limit }),
  })
  return createDurableStores({
    options,
    database,
    ledger,
    async ready() {
      await database.all({ text: 'select 1' })
    },
    async close() {
      await groupCommit.close()
      database.close()
      await Promise.all([ledgerWorker.close(), rowsWorker.close(), reportsWorker.close()])
    },
  })
}
