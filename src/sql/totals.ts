import { readNumber } from './cells.js'
import type { SqlDatabase } from './database.js'
import { addUp, CHARGE_SUMS, DAY_MS, ONE_CHARGE, QUARTER_MS } from './total-columns.js'

type Engine = SqlDatabase['engine']

/** SQL for the table `e` of the entries that the totals do not contain yet. */
export function unsummedEntries(engine: Engine): string {
  return engine === 'postgres'
    ? // The entries are looked up one by one: the planner cannot know how few there are.
      `(select f.* from (select unnest(ids) as id from {unsummed}) u
          cross join lateral (select * from {entries} f where f.id = u.id limit 1) f) e`
    : '(select f.* from {entries} f where f.id > (select s.entry_id from {summed} s)) e'
}

/** SQL that is true if the totals contain the entry `e`. */
export function isSummed(engine: Engine): string {
  return engine === 'postgres'
    ? 'e.id not in (select unnest(u.ids) from {unsummed} u)'
    : 'e.id <= (select s.entry_id from {summed} s)'
}

/** A statement that adds the entries `e` of this condition to the totals. */
function addToTotals(condition: string): string {
  const keys = CHARGE_KEYS.join(', ')
  return `insert into {charge_totals} as t (${[...CHARGE_KEYS, ...CHARGE_SUMS].join(', ')})
      select ${keys}, ${addUp(CHARGE_SUMS)} from (${chargesByKeys(condition)}) r where true group by ${keys}
      on conflict (${keys}) do update set ${CHARGE_SUMS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}`
}

/** The key of the totals of charges. A charge without a provider or an app has an empty one. */
export const CHARGE_KEYS = ['span', 'starts_at', 'model', 'provider', 'app_id'] as const

/**
 * SQL for the charges `e` of this condition as rows of their totals. They are added up by their quarter first, and few rows
 * are left for the day.
 */
export function chargesByKeys(condition: string): string {
  const names = 'model, provider, app_id'
  return `select s.span, q.starts_at - q.starts_at % s.span as starts_at, ${names}, ${CHARGE_SUMS.join(', ')}
    from (
      select starts_at, ${names}, ${addUp(CHARGE_SUMS)} from (
        select e.at - e.at % ${QUARTER_MS} as starts_at, e.model, coalesce(e.provider, '') as provider,
          coalesce(e.app_id, '') as app_id, ${ONE_CHARGE}
        from {entries} e where ${condition} and e.kind = 'charge'
      ) c
      group by starts_at, ${names}
    ) q cross join (select ${DAY_MS} as span union all select ${QUARTER_MS}) s`
}

/** Entries that one transaction of SQLite adds, while every other one waits, and that one row of PostgreSQL marks at most. */
const ENTRIES = 1_000
/** Transactions whose entries one transaction of PostgreSQL adds. */
const POSTGRES_ROWS = 200

/** What {@link foldTotals} needs of a database. */
export type FoldingDatabase = Pick<SqlDatabase, 'engine' | 'all' | 'batch'>

/**
 * Adds entries to the totals, as many as one short transaction may. Returns `done` if no entries are left, `more` if there
 * may be some, and `busy` if another process is adding them.
 */
export async function foldTotals({ engine, all, batch }: FoldingDatabase): Promise<'done' | 'more' | 'busy'> {
  if (engine === 'postgres') {
    const [row] = await all({
      text: 'select {fold_totals_1}(?1) as folded',
      parameters: [POSTGRES_ROWS],
    })
    const folded = readNumber(row!, 'folded')
    if (folded < 0) return 'busy'
    return folded < POSTGRES_ROWS ? 'done' : 'more'
  }
  const mark = '(select s.entry_id from {summed} s)'
  const condition = `e.id > ${mark} and e.id <= ${mark} + ${ENTRIES}`
  const last = '(select coalesce(max(f.id), 0) from {entries} f)'
  const results = await batch([
    { text: addToTotals(condition) },
    {
      text: `update {summed} set entry_id = min(entry_id + ${ENTRIES}, ${last})
        returning entry_id, ${last} as last`,
    },
  ])
  const [row] = results.at(-1)!
  return readNumber(row!, 'entry_id') === readNumber(row!, 'last') ? 'done' : 'more'
}

/**
 * PostgreSQL: a transaction that settles inserts one row with the ids of its charges, which becomes visible with them. The
 * transaction that adds them to the totals deletes that row. So each charge is in exactly one of the two, whatever the order
 * of commits. No mark over ids or times could tell, since both are taken before a commit. Returns the number of rows, or
 * -1 if another transaction adds charges.
 */
export const foldTotalsFunction = `create function {fold_totals_1}(p_rows bigint) returns bigint
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
  v_rows bigint;
  v_ids bigint[];
begin
  if not pg_try_advisory_xact_lock(hashtext('{unsummed}'), 0) then return -1; end if;
  -- A commit that is lost with the machine's power is lost whole, and its rows are there again.
  perform set_config('synchronous_commit', 'off', true);
  with taken as (
    delete from {unsummed} u where u.ctid = any (array(select o.ctid from {unsummed} o limit p_rows)) returning u.ids
  )
  select (select count(*) from taken), array(select unnest(k.ids) from taken k) into v_rows, v_ids;
  if v_rows > 0 then
    ${addToTotals('e.id = any (v_ids)')};
  end if;
  return v_rows;
end
$function$`

/** Empties the totals, and marks every charge as one that they do not contain. Reports stay exact. */
export async function clearTotals({ engine, all, batch }: FoldingDatabase): Promise<void> {
  if (engine === 'postgres') await all({ isReport: true, text: 'select {clear_totals_1}()' })
  else await batch([{ text: 'delete from {charge_totals}' }, { text: 'update {summed} set entry_id = 0' }])
}

export const clearTotalsFunction = `create function {clear_totals_1}() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  perform pg_advisory_xact_lock(hashtext('{unsummed}'), 0);
  -- One statement, so that all parts see the same charges.
  with totals as (delete from {charge_totals}), marks as (delete from {unsummed})
  insert into {unsummed} (ids)
  select array_agg(e.id) from {entries} e where e.kind = 'charge' group by e.id / ${ENTRIES};
end
$function$`
