import type { Admin } from 'compat-router/admin'
import type { DurableStores } from 'compat-router/sqlite'

/** The accounts and keys among which charges are spread, whatever their number. Each account has one key. */
export const ACCOUNTS = 30_000
export const MODELS = 20
export const DAYS = 90
export const DAY_MS = 86_400_000

/** The end of the charges: a fixed day, so that a database that is kept is the same in each run. */
export const FILLED_TO = Date.UTC(2026, 0, 1)
const FILLED_FROM = FILLED_TO - DAYS * DAY_MS
/** Charges that one statement inserts. */
const STEP = 500_000
const CREDIT = 10n ** 15n

const DETAILS = JSON.stringify({
  facts: { requestId: '01JGQ3N6T5ZV8W9X0Y1A2B3C4D', operation: 'chat', ip: '203.0.113.7' },
  basis: 'reported',
  byok: false,
  priceVersion: '2025-12',
})

/** Fills a database with this many charges of {@link DAYS} days, unless it was filled before. Its books are correct. */
export async function fillLedger(
  { database }: Pick<DurableStores, 'database'>,
  maintenance: Pick<Admin['maintenance'], 'rebuildTotals'>,
  charges: number,
): Promise<void> {
  const [mark] = await database.all({ text: "select 1 from {accounts} where id = 'filled'" })
  if (mark !== undefined) return
  const isPostgres = database.engine === 'postgres'
  const series = (from: number, to: number) =>
    isPostgres
      ? `(select cast(i as bigint) as i from generate_series(${from}, ${to}) i) n`
      : `(with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to}) select i from n) n`
  // Reports have a connection of their own and the time that they need.
  const run = (text: string) => database.all({ isReport: true, text })
  const account = `'account-' || (i * 2654435761 % ${ACCOUNTS})`
  await run(`insert into {accounts} (id, posted, created_at)
    select 'account-' || i, 0, ${FILLED_FROM} from ${series(0, ACCOUNTS - 1)}
    union all select 'developer-' || i, 0, ${FILLED_FROM} from ${series(0, 9)}
    union all select 'platform', 0, ${FILLED_FROM}`)
  await run(`insert into {entries} (at, kind, account, reference, posted, postings)
    select ${FILLED_FROM}, 'credit', 'account-' || i, 'credit-' || i, ${CREDIT}, '[["account-' || i || '","${CREDIT}"]]'
    from ${series(0, ACCOUNTS - 1)}`)
  for (let from = 1; from <= charges; from += STEP) {
    const to = Math.min(charges, from + STEP - 1)
    await run(`insert into {entries} (at, kind, hold_id, account, credential_id, model, app_id, session_id, provider,
        cost, base, markup, prompt, cached, cache_write, completion, reasoning, posted, postings, details)
      select ${FILLED_FROM} + i * ${DAYS * DAY_MS - 1} / ${charges}, 'charge', 'hold-' || i, ${account},
        'key-' || (i * 2654435761 % ${ACCOUNTS}), 'model-' || (i / 3 % ${MODELS}),
        case when i % 2 = 0 then 'app-' || (i / 2 % 50) end, 'session-' || (i / 7), 'provider-' || (i % 5),
        1000 + i % 997 + i % 101, 1000 + i % 997, i % 101, 200 + i % 3001, i % 151, 0, 10 + i % 499, i % 7,
        -(1000 + i % 997 + i % 101),
        '[["' || ${account} || '","-' || (1000 + i % 997 + i % 101) || '"],["platform","' ||
          (1000 + i % 997 + case when i % 2 = 0 then 0 else i % 101 end) || '"]' ||
          case when i % 2 = 0 then ',["developer-' || (i / 2 % 10) || '","' || (i % 101) || '"]' else '' end || ']',
        '${DETAILS}'
      from ${series(from, to)}`)
  }
  const charged = "{entries} where kind = 'charge'"
  await run(`insert into {postings} (account, at, entry_id, amount)
    select account, at, id, posted from {entries}
    union all select 'platform', at, id, base + case when app_id is null then markup else 0 end from ${charged}
    union all select 'developer-' || substr(app_id, length(app_id)), at, id, markup from ${charged} and app_id is not null
    order by 1, 2, 3`)
  await run(`update {accounts} set posted = (select sum(amount) from {postings} p where p.account = id)
    where id in (select account from {postings})`)
  await maintenance.rebuildTotals()
  if (isPostgres) await run('analyze')
  await run("insert into {accounts} (id, created_at) values ('filled', 0)")
}
