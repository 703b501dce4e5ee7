import { createOrderedIdSource } from '../../src/base/ids.js'
import { parseCredits } from '../../src/base/money.js'
import { createRecorder } from '../../src/sql/audit.js'
import { OPERATOR } from '../../src/sql/connect-history.js'
import { post } from '../../src/sql/credits.js'
import type { SqlDatabase } from '../../src/sql/database.js'

/** Opening balances, as `memoryLedger` takes them. */
export async function openAccounts(
  database: SqlDatabase,
  accounts: Readonly<Record<string, string>> = {},
): Promise<void> {
  const recorder = createRecorder(database, createOrderedIdSource(), OPERATOR)
  for (const [account, amount] of Object.entries(accounts)) {
    await post(
      database,
      {
        kind: 'credit',
        account,
        amount: parseCredits(amount),
        reference: `opening:${account}`,
      },
      recorder,
    )
  }
}
