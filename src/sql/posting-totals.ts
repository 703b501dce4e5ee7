import type { SqlDatabase } from './database.js'
import { sumColumns, sumOfAmounts, wholeSum } from './sums.js'
import { DAY_MS, POSTING_AMOUNTS, type PostingAmount } from './total-columns.js'
import type { EntrySource } from './unsummed.js'

/**
 * The postings of a day by account and app, so that a statement reads no history, nor what an app earned. Charges of the
 * account's own are left out: `key_totals` has those.
 */

type Engine = SqlDatabase['engine']

/** The key of the totals of postings. An entry without an app has an empty one. */
export const POSTING_KEYS = ['account', 'app_id', 'starts_at'] as const

/** SQL that is true for a posting of this kind. `isOwn` is SQL that is true if its account is that of its entry. */
const IS: Readonly<Record<PostingAmount, (kind: string, isOwn: string) => string>> = {
  credited: (kind) => `${kind} = 'credit'`,
  corrected: (kind) => `${kind} = 'correction'`,
  refunded: (kind, isOwn) => `${kind} = 'refund' and ${isOwn}`,
  earned: (kind, isOwn) => `${kind} = 'charge' and not ${isOwn}`,
  returned: (kind, isOwn) => `${kind} = 'refund' and not ${isOwn}`,
}

/** SQL that adds up postings `p` of entries `e`, in the columns of the totals. */
export function sumPostings(engine: Engine): string {
  return POSTING_AMOUNTS.map((name) =>
    sumOfAmounts(
      engine,
      `case when ${IS[name]('e.kind', '(e.account = p.account)')} then p.amount else 0 end`,
      name,
    ),
  ).join(', ')
}

/**
 * SQL for the postings of entries `e` as rows of the totals. They are taken from the entries: no index leads to the postings
 * of one. They are added up by their kind first, and few rows are left for the columns.
 */
export function postingRows(engine: Engine, source: EntrySource): string {
  const columns = POSTING_AMOUNTS.flatMap((name) =>
    sumColumns(name).map((column, place) => {
      const part = sumColumns('amount')[place]!
      return `${wholeSum(`case when ${IS[name]('k.kind', 'k.is_own')} then k.${part} else 0 end`)} as ${column}`
    }),
  )
  return `select ${POSTING_KEYS.join(', ')}, ${columns.join(', ')} from (
      select p.account, coalesce(p.app_id, '') as app_id, p.at - p.at % ${DAY_MS} as starts_at, p.kind,
        p.account = p.payer as is_own, ${sumOfAmounts(engine, 'p.amount', 'amount')}
      from (${engine === 'postgres' ? postingsInPostgres(source) : postingsInSqlite(source)}) p
      where p.kind <> 'charge' or p.account <> p.payer
      group by 1, 2, 3, 4, 5
    ) k group by 1, 2, 3`
}

const OF_ENTRY = 'e.kind, e.app_id, e.at'

function postingsInSqlite({ from, where }: EntrySource): string {
  return `select v.value ->> 0 as account, cast(v.value ->> 1 as integer) as amount, e.account as payer,
      ${OF_ENTRY}
    from ${from} join json_each(e.postings) v where ${where}`
}

/**
 * To split the text at its quotes takes a quarter of the time of reading JSON. If it has a backslash, a name contains a quote
 * or the like. Every fourth part from the second on is an account, and the one after next is its amount.
 */
function postingsInPostgres({ from, where }: EntrySource): string {
  const parts = `case when strpos(e.postings, '\\') = 0 then string_to_array(e.postings, '"')
      else (
        select array_agg(u.part order by v.place, u.place)
        from json_array_elements(cast(e.postings as json)) with ordinality v(value, place)
        cross join lateral unnest(array['', v.value ->> 0, '', v.value ->> 1]) with ordinality u(part, place)
      ) end`
  return `select e.parts[e.place] collate "C" as account, cast(e.parts[e.place + 2] as bigint) as amount, e.payer,
      ${OF_ENTRY}
    from (
      select e.*, generate_series(2, cardinality(e.parts), 4) as place
      from (select e.account as payer, ${OF_ENTRY}, ${parts} as parts from ${from} where ${where} offset 0) e
    ) e`
}
