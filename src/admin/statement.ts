import type { Credits } from '../base/money.js'
import { nameSchema, parseField } from '../rules/schemas.js'
import { heldOf, postedOf, readBalance } from '../sql/balances.js'
import type { SqlDatabase } from '../sql/database.js'
import { keptOf } from '../sql/payer-posting.js'
import { readSum, sumOf } from '../sql/sums.js'

/** How an account's balance came about. In correct books, `credited + corrected + refunded + earned - spent = posted`. */
export interface AccountStatement {
  readonly credited: Credits
  readonly corrected: Credits
  /** From refunds of its own calls, minus refunds of calls that it earned from. */
  readonly refunded: Credits
  /** From the calls of others, and from its own calls if it earns their base or markup. */
  readonly earned: Credits
  readonly spent: Credits
  readonly posted: Credits
  readonly held: Credits
}

/** Sums all postings of an account, in one snapshot. Returns undefined if the account does not exist. */
export async function readStatement(
  database: SqlDatabase,
  account: string,
): Promise<AccountStatement | undefined> {
  const own = "e.kind = 'charge' and e.account = p.account"
  const [row] = await database.all({
    isReport: true,
    text: `select ${postedOf(database)} as posted, ${heldOf(database)} as held,
        ${sumOf("case when e.kind = 'credit' then p.amount else 0 end", 'credited')},
        ${sumOf("case when e.kind = 'correction' then p.amount else 0 end", 'corrected')},
        ${sumOf("case when e.kind = 'refund' then p.amount else 0 end", 'refunded')},
        ${sumOf(`case when ${own} then ${keptOf('e.posted')} when e.kind = 'charge' then p.amount else 0 end`, 'earned')},
        ${sumOf(`case when ${own} then e.cost else 0 end`, 'spent')}
      from {accounts} a
      left join {postings} p on p.account = a.id
      left join {entries} e on e.id = p.entry_id
      where a.id = ?1 group by a.id, a.posted, a.held`,
    parameters: [parseField(nameSchema, account, 'account')],
  })
  if (row === undefined) return undefined
  const { posted, held } = readBalance(row)
  return {
    credited: readSum(row, 'credited'),
    corrected: readSum(row, 'corrected'),
    refunded: readSum(row, 'refunded'),
    earned: readSum(row, 'earned'),
    spent: readSum(row, 'spent'),
    posted,
    held,
  }
}
