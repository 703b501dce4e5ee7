import { sqliteStores } from '../../src/sqlite/index.js'
import { context, createHold, createSettle } from './ledger-requests.js'
import { openAccounts } from './open-accounts.js'

// Runs as a process of its own whose files cannot exceed a size limit: settles until a write fails.
const stores = sqliteStores({ file: process.argv[2]! })
await openAccounts(stores.database, { alice: '1' })
for (;;) {
  const hold = createHold('alice', 1n, { ttlMs: 1_000 })
  try {
    await stores.ledger.hold(hold, context)
    await stores.ledger.settle(createSettle(hold.holdId, 'alice', 1n), context)
  } catch (error) {
    process.stdout.write(`refused ${String((error as { code?: unknown }).code)}\n`)
    process.exit(0)
  }
  process.stdout.write(`${hold.holdId}\n`)
}
