import type { Credits } from '../base/money.js'
import { nameSchema, parseField } from '../rules/schemas.js'
import { heldOf, postedOf, readBalance } from '../sql/balances.js'
import type { SqlDatabase } from '../sql/database.js'
import { keptOf } from '../sql/payer-posting.js'
import { sumPostings } from '../sql/posting-totals.js'
import { readSum, sumColumns, sumOfAmounts } from '../sql/sums.js'
import { addUp, POSTING_SUMS } from '../sql/total-columns.js'
import { unkeyedOfAccount } from '../sql/unsummed.js'

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

/** Reads the kept totals of an account and the postings that they lack, in one snapshot. Undefined if it does not exist. */
export async function readStatement(
  database: SqlDatabase,
  account: string,
): Promise<AccountStatement | undefined> {
  const { engine } = database
  const waiting = unkeyedOfAccount(engine, '?1')
  const own = "e.kind = 'charge' and e.account = p.account"
  const ofOwn = ['cost', 'kept'].flatMap(sumColumns)
  const zeros = (columns: readonly string[]) => columns.map((name) => `0 as ${name}`).join(', ')
  const [row] = await database.all({
    isReport: true,
    text: `select ${postedOf(database)} as posted, ${heldOf(database)} as held, s.*
      from {accounts} a cross join (
        select ${addUp([...POSTING_SUMS, ...ofOwn])} from (
          select ${POSTING_SUMS.join(', ')}, ${zeros(ofOwn)} from {posting_totals} t where t.account = ?1
          union all select ${zeros(POSTING_SUMS)}, ${ofOwn.join(', ')} from {key_totals} t where t.account = ?1
          union all select ${sumPostings(engine)},
            ${sumOfAmounts(engine, `case when ${own} then e.cost else 0 end`, 'cost')},
            ${sumOfAmounts(engine, `case when ${own} then ${keptOf('e.posted')} else 0 end`, 'kept')}
          from ${waiting.from} where ${waiting.where}
        ) parts
      ) s where a.id = ?1`,
    parameters: [parseField(nameSchema, account, 'account')],
  })
  if (row === undefined) return undefined
  const { posted, held } = readBalance(row)
  return {
    credited: readSum(row, 'credited'),
    corrected: readSum(row, 'corrected'),
    refunded: readSum(row, 'refunded') + readSum(row, 'returned'),
    earned: readSum(row, 'earned') + readSum(row, 'kept'),
    spent: readSum(row, 'cost'),
    posted,
    held,
  }
}
