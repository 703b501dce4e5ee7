import type { SqlDatabase, Statement } from './database.js'
import { refundedBy } from './entry-rows.js'
import { POSTING_KEYS, postingRows } from './posting-totals.js'
import { sumOfAmounts } from './sums.js'
import { ACCOUNT_SUMS, addUp, CHARGE_SUMS, DAY_MS, POSTING_SUMS, sumCharges } from './total-columns.js'
import type { EntrySource } from './unsummed.js'

/**
 * There may be nearly as many totals by account and key as there are calls, and to change one costs more than to write an
 * entry. So entries wait until their day is over, or until there are very many (`unsummed.ts`). Each transaction adds some of
 * them to all three tables.
 */

type Engine = SqlDatabase['engine']

/** The entries that one transaction adds: in PostgreSQL so many that few totals change twice. SQLite keeps calls waiting. */
export const ACCOUNT_ENTRIES = { postgres: 500_000, sqlite: 1_000 } as const

/** The keys of the totals. A refund has those of its charge; a column without a value is empty. */
export const ACCOUNT_KEYS = ['account', 'starts_at', 'credential_id', 'app_id', 'model', 'provider'] as const
export const KEY_KEYS = ['account', 'starts_at', 'credential_id'] as const

const NO_CHARGES = CHARGE_SUMS.map((name) => `0 as ${name}`).join(', ')
const NO_REFUNDS = '0 as refunded_high, 0 as refunded_low'

/** SQL for charges, or for refunds, as rows of the totals by account and day, a row for each key. */
export function accountRows(engine: Engine, kind: 'charge' | 'refund', { from, where }: EntrySource): string {
  return `select e.account, e.at - e.at % ${DAY_MS} as starts_at, coalesce(e.credential_id, '') as credential_id,
      coalesce(e.app_id, '') as app_id, coalesce(e.model, '') as model, coalesce(e.provider, '') as provider,
      ${sumsOf(engine, kind)}
    from ${from} where ${where} and e.kind = '${kind}'
    group by 1, 2, 3, 4, 5, 6`
}

function sumsOf(engine: Engine, kind: 'charge' | 'refund'): string {
  return kind === 'charge'
    ? `${sumCharges(engine)}, ${NO_REFUNDS}`
    : `${NO_CHARGES}, ${sumOfAmounts(engine, refundedBy(engine), 'refunded')}`
}

/** SQL for rows of the totals by account and day as rows of the totals by key and month. */
export function keyRows(engine: Engine, days: string): string {
  return `select account, ${monthOf(engine, 'd.starts_at')} as starts_at, credential_id, ${addUp(ACCOUNT_SUMS)}
    from ${days} d group by 1, 2, 3`
}

/** SQL for the beginning of a time's month, in UTC. */
function monthOf(engine: Engine, time: string): string {
  return engine === 'postgres'
    ? `cast(extract(epoch from date_trunc('month', timestamp 'epoch' + ${time} * interval '1 ms')) as bigint) * 1000`
    : `cast(strftime('%s', ${time} / 1000, 'unixepoch', 'start of month') as integer) * 1000`
}

/** A statement that adds rows of sums to those of the same key. */
export function addRows(
  table: string,
  keys: readonly string[],
  sums: readonly string[],
  rows: string,
): string {
  return `insert into {${table}} as t (${[...keys, ...sums].join(', ')})
    select ${[...keys, ...sums].join(', ')} from ${rows} r where true
    on conflict (${keys.join(', ')}) do update set ${sums.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}`
}

const addDays = (rows: string) => addRows('account_totals', ACCOUNT_KEYS, ACCOUNT_SUMS, rows)
const addMonths = (rows: string) => addRows('key_totals', KEY_KEYS, ACCOUNT_SUMS, rows)
const addPostings = (rows: string) => addRows('posting_totals', POSTING_KEYS, POSTING_SUMS, rows)

/**
 * SQLite: statements that add the next entries that wait, at most so many. There is one writer, so ids are in the order of
 * commits, and the mark moves in the transaction that adds the entries before it. The last one returns whether more wait.
 */
export function addAccountsInSqlite(entries: number): readonly Statement[] {
  const mark = (column: string) => `(select s.${column} from {summed} s)`
  const source: EntrySource = {
    from: '{entries} e',
    where: `e.id > ${mark('keyed_id')} and e.id <= min(${mark('keyed_id')} + ${entries}, ${mark('entry_id')})`,
  }
  const days = (kind: 'charge' | 'refund') => `(${accountRows('sqlite', kind, source)})`
  // To add up entries takes less than to add up rows of days, which SQLite would make twice.
  const months = (kind: 'charge' | 'refund') =>
    `(select e.account, ${monthOf('sqlite', 'e.at')} as starts_at, coalesce(e.credential_id, '') as credential_id,
        ${sumsOf('sqlite', kind)}
      from ${source.from} where ${source.where} and e.kind = '${kind}' group by 1, 2, 3)`
  const next = `min(keyed_id + ${entries}, entry_id)`
  return [
    addDays(days('charge')),
    addDays(days('refund')),
    addMonths(months('charge')),
    addMonths(months('refund')),
    addPostings(`(${postingRows('sqlite', source)})`),
    `update {summed} set keyed_id = ${next},
        at = (select min(f.at) from {entries} f where f.id > ${next} and f.id <= entry_id)
      returning keyed_id < entry_id as more`,
  ].map((text) => ({ text }))
}

/**
 * PostgreSQL: the same, with those of `unkeyed`. The transaction that adds them takes them out. Returns 1 if more wait, 0 if
 * none do, or -1 if another transaction adds entries to these totals.
 */
export const foldAccountsFunction = createFoldAccounts()

function createFoldAccounts(): string {
  const source: EntrySource = {
    from: '(select unnest(v_ids) as ids) u join {entries} e on e.id >= lower(u.ids) and e.id < upper(u.ids)',
    where: 'true',
  }
  /** The rows of days are read twice, and added up once. */
  const addDaysAndMonths = (kind: 'charge' | 'refund') => `with days as materialized (
      ${accountRows('postgres', kind, source)}
    ), added as (
      ${addDays('days')}
    )
    ${addMonths(`(${keyRows('postgres', 'days')})`)}`
  return `create function {fold_accounts_1}(p_entries bigint) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
-- Each range of ids is long, and to sort its entries costs more than to add them up in a table.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
set work_mem = '64MB'
as $function$
declare
  v_ids int8multirange;
  v_left int8multirange;
  v_at bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('{unkeyed}'), 0) then return -1; end if;
  perform set_config('synchronous_commit', 'off', true);
  with taken as (delete from {unkeyed} k returning k.ids, k.at)
  select range_agg(t.ids), min(t.at) from (select unnest(k.ids) as ids, k.at from taken k) t into v_ids, v_at;
  if v_ids is null then return 0; end if;
  v_left := v_ids - int8multirange(int8range(null, lower(v_ids) + p_entries));
  v_ids := v_ids - v_left;
  ${addDaysAndMonths('charge')};
  if exists (select from ${source.from} where e.kind = 'refund') then
    ${addDaysAndMonths('refund')};
  end if;
  ${addPostings(`(${postingRows('postgres', source)})`)};
  if isempty(v_left) then return 0; end if;
  insert into {unkeyed} (ids, at) values (v_left, v_at);
  return 1;
end
$function$`
}
