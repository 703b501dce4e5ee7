import { readText } from '../sql/cells.js'
import { accountsOf, type LedgerCommand } from '../sql/ledger-commands.js'
import { toArray } from './arrays.js'
import type { Queries } from './query.js'

/** Returns the commands that need an account that another transaction has locked. */
export async function findLocked(
  queries: Queries,
  commands: readonly LedgerCommand[],
): Promise<ReadonlySet<LedgerCommand>> {
  const accounts = new Set(commands.flatMap(accountsOf))
  const rows = await queries.run({
    text: `with free as (
        select id from {accounts} where id = any (cast(?1 as text[])) for no key update skip locked
      )
      select id from {accounts} where id = any (cast(?1 as text[])) and id not in (select id from free)`,
    parameters: [toArray([...accounts])],
  })
  const locked = new Set(rows.map((row) => readText(row, 'id')))
  return new Set(commands.filter((command) => accountsOf(command).some((account) => locked.has(account))))
}
