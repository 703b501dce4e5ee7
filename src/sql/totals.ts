import { ACCOUNT_ENTRIES, addAccountsInSqlite, addRows } from './account-totals.js'
import { readNumber, readOptionalNumber, readText } from './cells.js'
import type { Row, SqlDatabase } from './database.js'
import { addUp, CHARGE_SUMS, DAY_MS, QUARTER_MS, sumCharges } from './total-columns.js'

type Engine = SqlDatabase['engine']

/** The key of the totals of charges. A charge without a provider or an app has an empty one. */
export const CHARGE_KEYS = ['span', 'starts_at', 'model', 'provider', 'app_id'] as const

/** A statement that adds the entries `e` of this condition to the totals. */
function addCharges(engine: Engine, condition: string): string {
  const keys = CHARGE_KEYS.join(', ')
  const rows = `select ${keys}, ${addUp(CHARGE_SUMS)} from (${chargesByKeys(engine, condition)}) c group by ${keys}`
  return addRows('charge_totals', CHARGE_KEYS, CHARGE_SUMS, `(${rows})`)
}

/**
 * SQL for the charges `e` of this condition as rows of their totals. They are added up by their quarter first, and few rows
 * are left for the day.
 */
export function chargesByKeys(engine: Engine, condition: string): string {
  const names = 'model, provider, app_id'
  return `select s.span, q.starts_at - q.starts_at % s.span as starts_at, ${names}, ${CHARGE_SUMS.join(', ')}
    from (
      select e.at - e.at % ${QUARTER_MS} as starts_at, e.model, coalesce(e.provider, '') as provider,
        coalesce(e.app_id, '') as app_id, ${sumCharges(engine)}
      from {entries} e where ${condition} and e.kind = 'charge'
      group by 1, 2, 3, 4
    ) q cross join (select ${DAY_MS} as span union all select ${QUARTER_MS}) s`
}

/** Entries that one transaction of SQLite adds, while every other one waits, and that one row of PostgreSQL marks at most. */
const ENTRIES = 4_000
/** Once one transaction of PostgreSQL has so many, it takes no more rows, of which it looks at so many. */
const POSTGRES_ENTRIES = 20_000
const POSTGRES_ROWS = 10_000

/** Once a day has been over for so long, its entries are added to the totals by account. */
export const SPARE_MS = 3_600_000
/** If so many wait earlier, these are added too: a report by key reads all that wait. */
const MAX_WAITING = 300_000

/** What {@link foldTotals} needs of a database. */
export type FoldingDatabase = Pick<SqlDatabase, 'engine' | 'all' | 'batch'>

/** Whether entries that have to be added are left. `busy`: another process is adding them. `soon`: they are too young. */
export type Folded = 'done' | 'more' | 'busy' | 'soon'

export interface Waiting {
  /** Of the totals of charges. */
  readonly state: Folded
  /** The entries that wait for the totals by account. */
  readonly entries: number
  /** A time that none of these entries precedes. */
  readonly since: number | undefined
}

/**
 * Adds entries to the totals of charges, as many as one short transaction may.
 *
 * @param ageMs the least age of the oldest one on PostgreSQL, however many processes ask. To add 10,000 entries at once costs a
 *   third as much for each as to add 1,000, since each total changes once.
 */
export async function foldTotals({ engine, all, batch }: FoldingDatabase, ageMs = 0): Promise<Waiting> {
  const read = (row: Row, state: Folded): Waiting => ({
    state,
    entries: readNumber(row, 'entries'),
    since: readOptionalNumber(row, 'since'),
  })
  if (engine === 'postgres') {
    const [row] = await all({
      text: 'select folded, entries, since from {fold_totals_1}(?1, ?2)',
      parameters: [POSTGRES_ENTRIES, Math.round(ageMs)],
    })
    const folded = readText(row!, 'folded') as Folded
    return read(row!, folded)
  }
  const mark = '(select s.entry_id from {summed} s)'
  const condition = `e.id > ${mark} and e.id <= ${mark} + ${ENTRIES}`
  const last = '(select coalesce(max(f.id), 0) from {entries} f)'
  const results = await batch([
    { text: addCharges('sqlite', condition) },
    {
      text: `update {summed} set entry_id = min(entry_id + ${ENTRIES}, ${last}),
          at = (select min(w.at) from (
            select s.at from {summed} s union all select e.at from {entries} e where ${condition}
          ) w)
        returning entry_id, ${last} as last, entry_id - keyed_id as entries, at as since`,
    },
  ])
  const [row] = results.at(-1)!
  return read(row!, readNumber(row!, 'entry_id') === readNumber(row!, 'last') ? 'done' : 'more')
}

/** Returns whether it is time to add entries to the totals by account. */
export function isDue({ entries, since }: Waiting, now: number): boolean {
  const over = now - SPARE_MS
  return entries >= MAX_WAITING || (since !== undefined && since < over - (over % DAY_MS))
}

/** Adds entries to the totals by account, as many as one transaction may. */
export async function foldAccounts(
  { engine, all, batch }: FoldingDatabase,
  entries: number = ACCOUNT_ENTRIES[engine],
): Promise<Folded> {
  if (engine === 'postgres') {
    // It may take seconds, and nothing waits for it.
    const [row] = await all({
      isReport: true,
      text: 'select {fold_accounts_1}(?1) as folded',
      parameters: [entries],
    })
    const folded = readNumber(row!, 'folded')
    return folded < 0 ? 'busy' : folded > 0 ? 'more' : 'done'
  }
  const results = await batch(addAccountsInSqlite(entries))
  return readNumber(results.at(-1)![0]!, 'more') === 1 ? 'more' : 'done'
}

/**
 * PostgreSQL: the same as one call, which deletes rows of `unsummed` and puts their ids into `unkeyed`. `folded` is a
 * {@link Folded}.
 */
export const foldTotalsFunction = `create function {fold_totals_1}(p_entries bigint, p_age bigint, out folded text, out entries bigint, out since bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
-- As in apply_ledger: the tables are large and the arrays small.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $function$
declare
  v_ids bigint[];
  v_at bigint;
  v_ranges int8multirange;
  v_rows bigint := 0;
begin
  entries := 0;
  if not pg_try_advisory_xact_lock(hashtext('{unsummed}'), 0) then
    folded := 'busy';
    return;
  end if;
  folded := 'done';
  if p_age > 0 and exists (select from {unsummed})
    and not exists (select from {unsummed} u where abs(extract(epoch from clock_timestamp()) * 1000 - u.at) >= p_age) then
    folded := 'soon';
  end if;
  -- A commit that is lost with the machine's power is lost whole, and its rows are there again.
  perform set_config('synchronous_commit', 'off', true);
  with taken as (
    delete from {unsummed} u where u.ctid = any (array(
      select w.ctid from (
        select o.ctid, sum(cardinality(o.ids)) over (rows unbounded preceding) - cardinality(o.ids) as before
        from (select f.ctid, f.ids from {unsummed} f limit case when folded = 'soon' then 0 else ${POSTGRES_ROWS} end) o
      ) w where w.before < p_entries
    )) returning u.ids, u.at
  )
  select (select count(*) from taken), array(select unnest(k.ids) from taken k), (select min(k.at) from taken k),
    -- The ids of a transaction nearly always follow each other.
    (select range_agg(r.ids) from taken k
      cross join lateral (select min(i) as first, max(i) as last, count(*) as many from unnest(k.ids) i) b
      cross join lateral (
        select int8range(b.first, b.last, '[]') as ids where b.last - b.first < b.many
        union all select int8range(i, i, '[]') from unnest(k.ids) i where b.last - b.first >= b.many
      ) r)
  into v_rows, v_ids, v_at, v_ranges;
  if v_rows > 0 then
    if v_rows = ${POSTGRES_ROWS} or cardinality(v_ids) >= p_entries then folded := 'more'; end if;
    ${addCharges('postgres', 'e.id = any (v_ids)')};
    -- There is one row of few ranges, and another while fold_accounts has that one.
    with taken as (
      delete from {unkeyed} k where k.ctid = any (array(select o.ctid from {unkeyed} o for update skip locked))
      returning k.ids, k.at
    )
    select range_agg(r.ids), least(v_at, (select min(k.at) from taken k)) from (
      select unnest(k.ids) as ids from taken k union all select unnest(v_ranges)
    ) r into v_ranges, since;
    insert into {unkeyed} (ids, at) values (v_ranges, since);
  else
    select range_agg(k.ids), min(k.at) from (select unnest(o.ids) as ids, o.at from {unkeyed} o) k into v_ranges, since;
  end if;
  entries := (select coalesce(sum(upper(r.ids) - lower(r.ids)), 0) from (select unnest(v_ranges) as ids) r);
end
$function$`

/** Empties the totals, and lets every entry wait for them again. Reports stay exact. */
export async function clearTotals({ engine, all, batch }: FoldingDatabase): Promise<void> {
  if (engine === 'postgres') await all({ isReport: true, text: 'select {clear_totals_1}()' })
  else {
    await batch([
      ...TOTALS.map((table) => ({ text: `delete from {${table}}` })),
      { text: 'update {summed} set entry_id = 0, keyed_id = 0, at = null' },
    ])
  }
}

const TOTALS = ['charge_totals', 'account_totals', 'key_totals', 'posting_totals'] as const

export const clearTotalsFunction = `create function {clear_totals_1}() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  perform pg_advisory_xact_lock(hashtext('{unsummed}'), 0), pg_advisory_xact_lock(hashtext('{unkeyed}'), 0);
  -- One statement, so that all parts see the same entries.
  with ${[...TOTALS, 'unsummed', 'unkeyed'].map((table) => `old_${table} as (delete from {${table}})`).join(', ')}
  insert into {unsummed} (ids, at)
  select array_agg(e.id), min(e.at) from {entries} e group by e.id / ${ENTRIES};
end
$function$`
