import { setTimeout as delay } from 'node:timers/promises'
import { createPostgresStores } from '../../src/postgres/stores.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { foldAccounts } from '../../src/sql/totals.js'
import { createSqliteStores } from '../../src/sqlite/stores.js'
import { context, createHold, createSettle } from './ledger-requests.js'
import { createPool } from './postgres.js'

// Runs as a process of its own that is meant to be killed. Holds and settles continuously, and writes the id
// of each settlement to standard output once the ledger has acknowledged it. Ends by itself if every account
// is out of credit.

interface Load {
  readonly engine: 'SQLite' | 'PostgreSQL'
  /** A file, or the URL of a database. */
  readonly place: string
  readonly accounts: readonly string[]
  readonly callers: number
  readonly cost: number
  readonly ttlMs: number
}

/** Often, so that a process is also killed while it adds to the totals. */
const FOLD_MS = 10

const load = JSON.parse(process.argv[2]!) as Load
const stores: DurableStores =
  load.engine === 'SQLite'
    ? createSqliteStores({ file: load.place }, undefined, FOLD_MS)
    : createPostgresStores(createPool(load.place, 4), {}, undefined, FOLD_MS)

async function call(account: string): Promise<void> {
  for (;;) {
    const request = createHold(account, BigInt(load.cost), { ttlMs: load.ttlMs })
    const held = await stores.ledger.hold(request, context)
    if (!held.ok) return
    await stores.ledger.settle(createSettle(request.holdId, account, BigInt(load.cost)), context)
    process.stdout.write(`${request.holdId}\n`)
  }
}

/** As the router does much more rarely, so that a process is also killed within such a step. */
async function foldAccountsOften(): Promise<void> {
  for (;;) {
    await foldAccounts(stores.database, 50)
    await delay(FOLD_MS)
  }
}

await stores.ready()
process.stdout.write('ready\n')
foldAccountsOften().catch(() => undefined)
await Promise.all(
  Array.from({ length: load.callers }, (_, index) => call(load.accounts[index % load.accounts.length]!)),
)
await stores.close()
process.exit(0)
