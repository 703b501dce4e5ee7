import { parseCredits } from '../../src/base/money.js'
import type { SqlDatabase } from '../../src/sql/database.js'
import { post } from '../../src/sql/grants.js'

/** Opening balances, as `memoryLedger` takes them. */
export async function openAccounts(
  database: SqlDatabase,
  accounts: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const [account, amount] of Object.entries(accounts)) {
    await post(database, {
      kind: 'grant',
      account,
      amount: parseCredits(amount),
      reference: `opening:${account}`,
    })
  }
}
