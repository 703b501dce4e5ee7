import { type Credits, formatCredits } from '../base/money.js'
import { ACCOUNT_KEYS, accountRows, KEY_KEYS, keyRows } from '../sql/account-totals.js'
import { postedOf } from '../sql/balances.js'
import { readOptionalJson, readText } from '../sql/cells.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import { isDebitedOtherwise, isUnequal, keptOf, PAYER_POSTING } from '../sql/payer-posting.js'
import { POSTING_KEYS, postingRows } from '../sql/posting-totals.js'
import {
  differenceOf,
  isNotZero,
  isOther,
  partsOf,
  postedPartsOf,
  readSum,
  sumOf,
  totalOf,
  wholeSum,
} from '../sql/sums.js'
import { ACCOUNT_SUMS, CHARGE_SUMS, DAY_MS, POSTING_SUMS, QUARTER_MS } from '../sql/total-columns.js'
import { CHARGE_KEYS, chargesByKeys } from '../sql/totals.js'
import { isKeyed, isSummed } from '../sql/unsummed.js'

/** A difference in the books. */
export interface Discrepancy {
  /**
   * The amount that is wrong, and its expected value:
   *
   * - `balance`: an account's balance; the sum of its postings
   * - `held`: an account's reserved credit; the sum of its open holds
   * - `missing-account`: 0, since the account has postings but no row; their sum
   * - `entry`: the sum of the postings of a charge or a refund; 0
   * - `cost`: the cost of a charge; the sum that its payer was debited or owed to itself
   * - `parts`: the base plus the markup of a charge; its cost
   * - `share`: the most that a charge posted to one account; its cost, or the larger of its base and its markup if
   *   different accounts earn them
   * - `posted`: the amount that an entry says it posted to its own account; that posting
   * - `missing-posting`: the posting of a credit or a correction, or of the payer of a refund; the amount in its entry
   * - `missing-entry`: the largest posting of an entry that is missing; 0
   * - `totals`: the cost of charges, or the earnings, in a row of the kept totals; in their entries. Another sum of the
   *   row may differ instead
   * - `limit-held`: the credits or tokens on hold in a limit's bucket; the sum in open holds
   * - `limit-used`: the use of a limit's bucket; the sum in its period's entries or, for requests, in its holds
   */
  readonly what:
    | 'balance'
    | 'held'
    | 'missing-account'
    | 'entry'
    | 'cost'
    | 'parts'
    | 'share'
    | 'posted'
    | 'missing-posting'
    | 'missing-entry'
    | 'totals'
    | 'limit-held'
    | 'limit-used'
  /** The id of an account, an entry or a bucket. */
  readonly id: string
  /** In 10^-9 credit or, for a limit of requests or tokens, a number of them. */
  readonly found: Credits
  readonly expected: Credits
  /** The fault and its remedy, in words for an operator. */
  readonly message: string
}

/** Times from one on and before another, in milliseconds since the Unix epoch. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** The fewest days after which an ended hold may be deleted. */
export const MIN_PRUNE_DAYS = 30

const POSTED = `select account, ${sumOf('amount', 'sum')} from {postings} group by account`
const HELD = `select account, ${sumOf('amount', 'sum')} from {holds} where state = ${HOLD_STATE.open} group by account`

/**
 * SQL that is true if the posting of a credit or a correction, or the posting of a refund's payer, differs from the last
 * amount in its entry.
 */
const UNLIKE_SHOWN = `(p.amount is null or e.postings not like '%,"' || p.amount || '"]]')`

/** SQL that is true if the posting of a charge's payer, or of another entry's account, contradicts the rest of the entry. */
const MISPOSTED = `(case when e.kind = 'charge' then ${isUnequal('p.amount')} else ${UNLIKE_SHOWN} end)`
const DEBITED_OTHERWISE = isDebitedOtherwise('p.amount')

/** SQL for the postings of each entry: their sum, the largest credit or else debit, the maximum and the minimum. */
export const byEntry = (
  postings: string,
): string => `select entry_id, ${sumOf('amount', 'sum')}, max(amount) as most, min(amount) as least,
    ${partsOf('case when max(amount) > 0 then max(amount) else min(amount) end', 'largest')}
  from ${postings} group by entry_id`

/**
 * SQL for the most that a charge `e` with balanced postings `s` owed to one account: its base or its markup, or both if
 * one account earns them. If the payer earns one of them, the other is left; if it earns both, nothing is.
 */
const DUE = `case
  when -s.least <> e.cost then -s.least
  when s.most = e.cost then e.cost
  when e.base > e.markup then e.base
  else e.markup end`

/**
 * SQL that compares balances with `sums` by account, in both directions. As below, each query scans a table once and looks up
 * the other side by key: in SQLite, a full join would scan all rows for each row.
 */
export function comparedBalances(database: SqlDatabase): readonly string[] {
  return [
    `select case when a.id is null then 'missing-account' else 'balance' end as what, s.account as id,
    ${postedPartsOf(database, 'found')}, s.sum_high as expected_high, s.sum_low as expected_low,
    cast(null as text) as shown
  from sums s left join {accounts} a on a.id = s.account`,
    `select 'balance' as what, a.id, ${postedPartsOf(database, 'found')}, 0 as expected_high, 0 as expected_low, null as shown
  from {accounts} a
  where ${postedOf(database)} <> 0 and not exists (select 1 from sums s where s.account = a.id)`,
  ]
}

/** SQL that compares each account's reserved credit with its open holds. */
export function comparedHolds(): readonly string[] {
  return [
    `select 'held' as what, s.account as id,
    ${partsOf('coalesce(a.held, 0)', 'found')}, s.sum_high as expected_high, s.sum_low as expected_low, null as shown
  from (${HELD}) s left join {accounts} a on a.id = s.account`,
    `select 'held' as what, a.id, ${partsOf('a.held', 'found')}, 0 as expected_high, 0 as expected_low, null as shown
  from {accounts} a
  where a.held <> 0 and a.id not in (select account from {holds} where state = ${HOLD_STATE.open})`,
  ]
}

/** SQL that compares entries with `by_entry`, their postings. */
export function comparedEntries(entries: string): readonly string[] {
  return [
    `select case when e.id is null then 'missing-entry' else 'entry' end as what, cast(s.entry_id as text) as id,
    case when e.id is null then s.largest_high else s.sum_high end as found_high,
    case when e.id is null then s.largest_low else s.sum_low end as found_low,
    0 as expected_high, 0 as expected_low, null as shown
  from by_entry s left join ${entries} e on e.id = s.entry_id
  where e.id is null or e.kind in ('charge', 'refund')`,
    `select 'share' as what, cast(e.id as text) as id, ${partsOf('s.most', 'found')}, ${partsOf(DUE, 'expected')}, null as shown
  from by_entry s join ${entries} e on e.id = s.entry_id
  where e.kind = 'charge' and s.sum_high = 0 and s.sum_low = 0 and s.most <> ${DUE}`,
    `select case
      when not ${MISPOSTED} then 'posted'
      when e.kind <> 'charge' then 'missing-posting'
      when ${DEBITED_OTHERWISE} then 'cost'
      else 'parts' end as what,
    cast(e.id as text) as id,
    ${partsOf(
      `case
        when not ${MISPOSTED} then e.posted
        when e.kind = 'charge' and not ${DEBITED_OTHERWISE} then e.base + e.markup
        else coalesce(e.cost, p.amount, 0) end`,
      'found',
    )},
    ${differenceOf(
      `case when ${MISPOSTED} then ${keptOf('p.amount')} else coalesce(p.amount, 0) end`,
      `case when ${MISPOSTED} then coalesce(p.amount, 0) else 0 end`,
      'expected',
    )},
    case when e.kind <> 'charge' and ${MISPOSTED} then e.postings end as shown
  from ${entries} e ${PAYER_POSTING}
  where ${MISPOSTED} or e.posted <> coalesce(p.amount, 0)`,
  ]
}

/** Rows of a table of kept totals, and SQL for the same rows from what they add up. */
interface Totals {
  readonly table: string
  /** SQL that is true for these rows. */
  readonly where: string
  readonly keys: readonly string[]
  readonly sums: readonly string[]
  readonly rows: string
  /** The sum to show if any differs. */
  readonly shown: 'cost' | 'earned'
}

/** All totals, or those of these days, without those of months. */
export function keptTotals(engine: SqlDatabase['engine'], days?: Period): readonly Totals[] {
  const within = (column: string) => (days ? ` and ${column} >= ${days.from} and ${column} < ${days.to}` : '')
  const where = `true${within('starts_at')}`
  const keyed = { from: '{entries} e', where: `${isKeyed(engine)}${within('e.at')}` }
  const byDay = `(${accountRows(engine, 'charge', keyed)} union all ${accountRows(engine, 'refund', keyed)})`
  const charges = `(${chargesByKeys(engine, `${isSummed(engine)}${within('e.at')}`)})`
  return [
    {
      table: 'charge_totals',
      where: `span in (${QUARTER_MS}, ${DAY_MS}) and ${where}`,
      keys: CHARGE_KEYS,
      sums: CHARGE_SUMS,
      rows: charges,
      shown: 'cost',
    },
    { table: 'account_totals', where, keys: ACCOUNT_KEYS, sums: ACCOUNT_SUMS, rows: byDay, shown: 'cost' },
    ...(days === undefined ? [monthTotals(engine, where, byDay)] : []),
    {
      table: 'posting_totals',
      where,
      keys: POSTING_KEYS,
      sums: POSTING_SUMS,
      rows: `(${postingRows(engine, keyed)})`,
      shown: 'earned',
    },
  ]
}

/** The totals by key of these months, and SQL for their days. */
export function monthTotals(engine: SqlDatabase['engine'], where: string, days: string): Totals {
  const rows = `(${keyRows(engine, days)})`
  return { table: 'key_totals', where, keys: KEY_KEYS, sums: ACCOUNT_SUMS, rows, shown: 'cost' }
}

/** SQL that compares kept totals with what they add up: the sums of each key on two sides must be equal. */
export function comparedTotals({ table, where, keys, sums, rows, shown }: Totals): string {
  const columns = [...keys, ...sums].join(', ')
  const difference = (column: string) => wholeSum(`side * ${column}`)
  const differs = sums.map((name) => {
    if (!name.endsWith('_high')) return name.endsWith('_low') ? [] : [`${difference(name)} <> 0`]
    return [isNotZero(difference(name), difference(name.replace('_high', '_low')))]
  })
  const shownOn = (side: number, part: string) =>
    wholeSum(`case when side = ${side} then ${shown}_${part} else 0 end`)
  return `select 'totals' as what, '${table} ' || ${keys.join(" || ' ' || ")} as id,
      ${shownOn(1, 'high')} as found_high, ${shownOn(1, 'low')} as found_low,
      ${shownOn(-1, 'high')} as expected_high, ${shownOn(-1, 'low')} as expected_low, cast(null as text) as shown
    from (
      select 1 as side, ${columns} from {${table}} where ${where}
      union all select -1 as side, ${columns} from ${rows} c
    ) sides
    group by ${keys.join(', ')} having ${differs.flat().join(' or ')}`
}

/** SQL for the parts of buckets that rows account for, from JSON as `LimitCells` describes it. */
function partsIn({ engine }: SqlDatabase, table: string, json: string, condition: string): string {
  const each =
    engine === 'postgres'
      ? `jsonb_array_elements(cast(${json} as jsonb)) as l (value)`
      : `json_each(${json}) l`
  return `select l.value ->> 0 as bucket, cast(l.value ->> 2 as bigint) as starts_at,
      ${sumOf('cast(l.value ->> 3 as bigint)', 'sum')}
    from ${table}, ${each} where ${json} is not null and ${condition} group by 1, 2`
}

/** Holds that ended so long ago may have been pruned. */
const HOLDS_KEPT_MS = MIN_PRUNE_DAYS * 86_400_000

/**
 * SQL that compares each bucket with the parts of its period: those of open holds, those of entries and, for requests,
 * those of all holds. In a period that began long ago, more requests may be used than holds are found.
 */
function comparedBuckets(database: SqlDatabase): readonly string[] {
  const inEntries =
    database.engine === 'postgres' ? "(cast(e.details as jsonb) -> 'limits')" : "(e.details -> '$.limits')"
  const held = partsIn(
    database,
    '{holds} h',
    'h.limits',
    `h.state = ${HOLD_STATE.open} and l.value ->> 1 <> 'requests'`,
  )
  const uses = partsIn(database, '{entries} e', inEntries, "l.value ->> 1 <> 'requests'")
  const requests = partsIn(database, '{holds} h', 'h.limits', "l.value ->> 1 = 'requests'")
  const used = `select bucket, starts_at, ${totalOf('sum')}, max(is_whole) as is_whole from (
      select u.*, 1 as is_whole from (${uses}) u union all select r.*, 0 as is_whole from (${requests}) r
    ) parts group by bucket, starts_at`
  const compare = (what: string, amount: string, parts: string, condition: string) =>
    `select '${what}' as what, b.id, ${partsOf(`b.${amount}`, 'found')},
      coalesce(s.sum_high, 0) as expected_high, coalesce(s.sum_low, 0) as expected_low, cast(null as text) as shown
    from {limit_buckets} b left join (${parts}) s on s.bucket = b.id and s.starts_at = b.starts_at
    where ${condition}`
  const isTooFew = `b.used / 1000000000 < s.sum_high + s.sum_low / 1000000000
    or (b.used / 1000000000 = s.sum_high + s.sum_low / 1000000000 and b.used % 1000000000 < s.sum_low % 1000000000)`
  return [
    compare('limit-held', 'held', held, 'true'),
    compare(
      'limit-used',
      'used',
      used,
      `b.starts_at > ${database.now} - ${HOLDS_KEPT_MS} or s.is_whole = 1 or ${isTooFew}`,
    ),
  ]
}

/** Compares the whole books with themselves, in one snapshot. */
export async function readDiscrepancies(database: SqlDatabase): Promise<readonly Discrepancy[]> {
  return compareAll(database, `sums as (${POSTED}), by_entry as (${byEntry('{postings}')})`, [
    ...comparedBalances(database),
    ...comparedHolds(),
    ...comparedEntries('{entries}'),
    ...keptTotals(database.engine).map(comparedTotals),
    ...comparedBuckets(database),
  ])
}

/** Returns at most 1,000 differences that these comparisons find in one snapshot. */
export async function compareAll(
  database: SqlDatabase,
  tables: string,
  parts: readonly string[],
): Promise<readonly Discrepancy[]> {
  const rows = await database.all({
    isReport: true,
    text: `with ${tables} select * from (${parts.join(' union all ')}) compared
      where what like 'missing-%' or what = 'totals' or ${isOther('found', 'expected')}
      order by what, id limit 1000`,
  })
  return rows.map(toDiscrepancy)
}

function toDiscrepancy(row: Row): Discrepancy {
  const what = readText(row, 'what') as Discrepancy['what']
  const id = readText(row, 'id')
  const found = readSum(row, 'found')
  const shown = readOptionalJson<readonly (readonly [account: string, amount: string])[]>(row, 'shown')
  const expected = shown === undefined ? readSum(row, 'expected') : BigInt(shown.at(-1)![1])
  return {
    what,
    id,
    found,
    expected,
    message: explain(what, id, shownAmount(what, id, found), shownAmount(what, id, expected)),
  }
}

/** Limits of requests and tokens are not in credits. */
function shownAmount(what: Discrepancy['what'], id: string, amount: bigint): string {
  return what.startsWith('limit-') && !CREDITS_BUCKET_PATTERN.test(id)
    ? String(amount)
    : formatCredits(amount)
}

const CREDITS_BUCKET_PATTERN = /:credits\/[^:]*$/

function explain(what: Discrepancy['what'], id: string, found: string, expected: string): string {
  const account = `The account ${JSON.stringify(id)}`
  switch (what) {
    case 'balance':
      return `${account} has a balance of ${found}, but its postings add up to ${expected}: restore the missing postings from a backup, or change posted in its accounts row by the difference.`
    case 'held':
      return `${account} has ${found} on hold, but its open holds add up to ${expected}: while no router runs, set held in its accounts row to their sum.`
    case 'missing-account':
      return `${account} has no row in accounts, but its postings add up to ${expected}: restore the row from a backup, or insert one with 0 as posted and verify again.`
    case 'entry':
      return `The postings of the entry ${id} add up to ${found} instead of 0: restore the changed or deleted ones from a backup; postings in its entries row shows the originals.`
    case 'cost':
      return `The charge ${id} shows a cost of ${found}, but its payer's posting amounts to ${expected}: restore its entries row or its postings from a backup.`
    case 'parts':
      return `The base and the markup of the charge ${id} add up to ${found}, but it shows a cost of ${expected}: restore its entries row from a backup.`
    case 'share':
      return `The charge ${id} posted ${found} to an account that earned ${expected}: restore its entries row or its postings from a backup.`
    case 'posted':
      return `The entry ${id} says that it posted ${found} to its own account, but its posting is ${expected}: set posted in its entries row to that.`
    case 'missing-posting':
      return `The entry ${id} shows ${expected} for its account, but its posting is ${found === '0' ? 'missing or 0' : found}: restore it from a backup.`
    case 'missing-entry':
      return `The entry ${id} is missing, but it has postings of up to ${found}: restore its entries row from a backup.`
    case 'totals':
      return `The kept totals ${JSON.stringify(id)} show ${found}, but their entries add up to ${expected}, or another of their sums differs: run compat-router maintenance rebuild-totals.`
    case 'limit-held':
      return `The limit ${JSON.stringify(id)} has ${found} on hold, but its open holds add up to ${expected}: while no router runs, set held in its limit_buckets row to their sum.`
    case 'limit-used':
      return `The limit ${JSON.stringify(id)} has counted ${found} as used, but the calls of its period add up to ${expected}: while no router runs, set used in its limit_buckets row to their sum.`
  }
}
