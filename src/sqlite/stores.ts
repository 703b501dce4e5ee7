import { createGrouping } from '../sql/grouping.js'
import { createSqlLedger } from '../sql/ledger.js'
import type { LedgerCommand, LedgerOutcome } from '../sql/ledger-commands.js'
import { createSqliteDatabase } from './database.js'
import { sqliteFault } from './faults.js'
import { createWorkerClient } from './worker-client.js'

const MAX_COMMANDS = 1_000
const PATIENCE_MS = 10_000

export function sqliteStores({ file }: { file: string }) {
  const ledgerWorker = createWorkerClient(file)
  const rowsWorker = createWorkerClient(file)
  const database = createSqliteDatabase(rowsWorker)
  const grouping = createGrouping<LedgerCommand, LedgerOutcome>({
    apply: (commands) => ledgerWorker.ask({ kind: 'ledger', commands }),
    faultOf: sqliteFault,
    maxCommands: MAX_COMMANDS,
    patienceMs: PATIENCE_MS,
  })
  const ledger = createSqlLedger({
    database,
    grouping,
    expire: (limit) => ledgerWorker.ask({ kind: 'expire', limit }),
  })
  return { database, ledger, async close() { await grouping.close(); database.close(); await Promise.all([ledgerWorker.close(), rowsWorker.close()]) } }
}
