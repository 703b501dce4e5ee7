import { hash } from 'node:crypto'
import { PeriodCalendar } from '../base/periods.js'
import type { Cap, CapPeriod, Limit } from '../contracts/index.js'
import { bucketOf } from '../rules/bucket-of.js'
import { readBigint, readNumber } from './cells.js'
import type { Row, SqlDatabase } from './database.js'
import { spentOf } from './entry-rows.js'
import { readLimits } from './limit-rows.js'

/**
 * Returns the id of the limit that is an account's cap for an app. It does not depend on the connected app, so a new
 * connected app continues to count in the same bucket.
 */
export function capId(account: string, appId: string): string {
  return `cap-${hash('sha256', JSON.stringify([account, appId]))}`
}

/** Returns a cap as a limit of its connected app, which is a credential. */
export function toLimit(account: string, appId: string, { amount, per, zone }: Cap): Limit {
  return {
    id: capId(account, appId),
    unit: 'credits',
    amount,
    per,
    of: 'credential',
    ...(zone !== undefined && { zone }),
  }
}

/** Reads a cap from the definition of its limit. */
export function readCap(row: Row, column: string): Cap | undefined {
  const [limit] = readLimits(row, column)
  if (limit === undefined) return undefined
  const { amount, per, zone } = limit
  return { amount, per: per as Cap['per'], ...(zone !== undefined && { zone }) }
}

/** Returns the credits used and held in the current period of each cap, in order. */
export async function readSpent(
  database: SqlDatabase,
  caps: readonly { readonly account: string; readonly appId: string; readonly period: CapPeriod }[],
): Promise<readonly bigint[]> {
  if (caps.length === 0) return []
  const buckets = caps.map(({ account, appId, period }) =>
    bucketOf({ ...toLimit(account, appId, { ...period, amount: 0n }) }),
  )
  const rows = await database.all({
    text: `select b.id, b.starts_at, b.held, b.used, ${database.now} as now from {limit_buckets} b
      where b.id in (${buckets.map((_, index) => `?${index + 1}`).join(', ')})`,
    parameters: buckets,
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  const calendar = new PeriodCalendar()
  return caps.map(({ period }, index) => {
    const row = byId.get(buckets[index]!)
    if (row === undefined) return 0n
    const from = startOf(calendar, period, readNumber(row, 'now'))
    return readNumber(row, 'starts_at') < from ? 0n : readBigint(row, 'used') + readBigint(row, 'held')
  })
}

/**
 * Returns how much an account was charged for its calls with an app in the current period, less refunds. A bucket
 * counts only while there is a cap.
 */
export async function readCharged(
  database: SqlDatabase,
  account: string,
  appId: string,
  period: CapPeriod,
): Promise<bigint> {
  const [clock] = await database.all({ text: `select ${database.now} as now` })
  const from = startOf(new PeriodCalendar(), period, readNumber(clock!, 'now'))
  const [row] = await database.all({
    isReport: true,
    text: `select cast(coalesce(sum(${spentOf(database)}), 0) as bigint) as spent
      from {postings} p join {entries} e on e.id = p.entry_id
      where p.account = ?1 and p.at >= ?2 and e.account = p.account and e.app_id = ?3
        and e.kind in ('charge', 'refund')`,
    parameters: [account, BigInt(from), appId],
  })
  return readBigint(row!, 'spent')
}

function startOf(calendar: PeriodCalendar, period: CapPeriod, now: number): number {
  return calendar.around(period, now).find(([start, end]) => start <= now && now < end)![0]
}
