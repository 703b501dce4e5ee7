import { parseCredits } from '../../src/base/money.js'
import { post } from '../../src/sql/credits.js'
import type { SqlDatabase } from '../../src/sql/database.js'

/** Opening balances, as `memoryLedger` takes them. */
export async function openAccounts(
  database: SqlDatabase,
  accounts: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const [account, amount] of Object.entries(accounts)) {
    await post(database, {
      kind: 'credit',
      account,
      amount: parseCredits(amount),
      reference: `opening:${account}`,
    })
  }
}
