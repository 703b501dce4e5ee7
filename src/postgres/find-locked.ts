import { readText } from '../sql/cells.js'
import { accountsOf, bucketsOf, type LedgerCommand } from '../sql/ledger-commands.js'
import { toArray } from './arrays.js'
import type { Queries } from './query.js'

/** Returns the commands that need an account or the bucket of a limit that another transaction has locked. */
export async function findLocked(
  queries: Queries,
  commands: readonly LedgerCommand[],
): Promise<ReadonlySet<LedgerCommand>> {
  const rows = await queries.run({
    text: `with free_accounts as (
        select id from {accounts} where id = any (cast(?1 as text[])) for no key update skip locked
      ), free_buckets as (
        select id from {limit_buckets} where id = any (cast(?2 as text[])) for no key update skip locked
      ), locked_buckets as (
        select id from {limit_buckets} where id = any (cast(?2 as text[])) and id not in (select id from free_buckets)
      )
      select 'account' as kind, id from {accounts}
      where id = any (cast(?1 as text[])) and id not in (select id from free_accounts)
      union all select 'bucket', id from locked_buckets`,
    parameters: [toArray(distinct(commands, accountsOf)), toArray(distinct(commands, bucketsOf))],
  })
  const locked = { account: new Set<string>(), bucket: new Set<string>() }
  for (const row of rows) locked[readText(row, 'kind') as keyof typeof locked].add(readText(row, 'id'))
  return new Set(
    commands.filter(
      (command) =>
        accountsOf(command).some((account) => locked.account.has(account)) ||
        bucketsOf(command).some((bucket) => locked.bucket.has(bucket)),
    ),
  )
}

function distinct(
  commands: readonly LedgerCommand[],
  namesOf: (command: LedgerCommand) => readonly string[],
): readonly string[] {
  return [...new Set(commands.flatMap(namesOf))]
}
