import { z } from 'zod'
import { momentSchema, parseInput } from '../rules/schemas.js'
import { readNumber, readOptionalNumber } from '../sql/cells.js'
import type { SqlDatabase } from '../sql/database.js'
import { postingRows } from '../sql/posting-totals.js'
import { sumColumns, sumOf, totalOf } from '../sql/sums.js'
import { DAY_MS, POSTING_AMOUNTS } from '../sql/total-columns.js'
import { SPARE_MS } from '../sql/totals.js'
import { unkeyedEntries } from '../sql/unsummed.js'
import {
  byEntry,
  compareAll,
  comparedBalances,
  comparedEntries,
  comparedHolds,
  comparedTotals,
  type Discrepancy,
  keptTotals,
  monthTotals,
  type Period,
} from './verify.js'

export interface VerifyDaysQuery {
  /** Verifies the days from this time on, verified or not. Milliseconds since the Unix epoch. */
  readonly since?: number
  /** Stops before the next day. */
  readonly signal?: AbortSignal
}

export interface VerifiedDays {
  /** The number of days that were verified now. */
  readonly days: number
  /** All days before this time have been verified and were sound, now or earlier. */
  readonly until: number
  /** At most 1,000 of each day, and of the balances. */
  readonly discrepancies: readonly Discrepancy[]
}

const querySchema = z.strictObject({
  since: momentSchema.optional(),
  signal: z.instanceof(AbortSignal).optional(),
})

/**
 * Verifies the days in UTC that are over, each in a snapshot of its own, from the one after the last that was verified. Then
 * compares all balances with the totals.
 */
export async function verifyDays(database: SqlDatabase, query: VerifyDaysQuery = {}): Promise<VerifiedDays> {
  const { since, signal } = parseInput(querySchema, query, 'days')
  const [state] = await database.all({
    text: `select (select v.until from {verified} v) as until, (select min(e.at) from {entries} e) as first,
      ${database.now} as now`,
  })
  const end = startOfDay(readNumber(state!, 'now') - SPARE_MS)
  let until = readOptionalNumber(state!, 'until') ?? startOfDay(readOptionalNumber(state!, 'first') ?? end)
  async function mark(time: number): Promise<void> {
    until = time
    await database.batch([
      { text: 'delete from {verified}' },
      { text: 'insert into {verified} (until) values (?1)', parameters: [BigInt(time)] },
    ])
  }
  const found: Discrepancy[] = []
  let days = 0
  for (let from = startOfDay(since ?? until); from < end && signal?.aborted !== true; from += DAY_MS) {
    const day = { from, to: from + DAY_MS }
    found.push(...(await verifyDay(database, day)))
    days++
    // A day with differences, and those after it, are verified again next time.
    if (found.length > 0) {
      if (from < until) await mark(from)
    } else if (from <= until && day.to > until) await mark(day.to)
  }
  if (signal?.aborted !== true) found.push(...(await verifyBalances(database)))
  return { days, until, discrepancies: found }
}

function startOfDay(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS
}

async function verifyDay(database: SqlDatabase, day: Period): Promise<readonly Discrepancy[]> {
  const { engine } = database
  const within = (column: string) => `${column} >= ${day.from} and ${column} < ${day.to}`
  const entries = `(select * from {entries} where ${within('at')})`
  // Postings are found by their account, so those of a day by the accounts one after the other.
  const postings =
    engine === 'postgres'
      ? `{accounts} a cross join lateral (select * from {postings} p where p.account = a.id and ${within('p.at')} offset 0) p`
      : `{accounts} a cross join {postings} p on p.account = a.id and ${within('p.at')}`
  const month = new Date(day.from)
  const monthStart = Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1)
  const isLastOfMonth = new Date(day.to).getUTCDate() === 1
  const monthDays = `(select * from {account_totals} where starts_at >= ${monthStart} and starts_at < ${day.to})`
  return compareAll(database, `by_entry as (${byEntry(postings)})`, [
    ...comparedEntries(entries),
    ...keptTotals(engine, day).map(comparedTotals),
    ...(isLastOfMonth ? [comparedTotals(monthTotals(engine, `starts_at = ${monthStart}`, monthDays))] : []),
  ])
}

/** Compares each balance with the totals of its account and the entries that they lack. */
async function verifyBalances(database: SqlDatabase): Promise<readonly Discrepancy[]> {
  const { engine } = database
  const waiting = unkeyedEntries(engine)
  const [high, low] = [0, 1].map((part) => POSTING_AMOUNTS.map((name) => sumColumns(name)[part]).join(' + '))
  const parts = [
    `select account, ${high} as sum_high, ${low} as sum_low from {posting_totals}`,
    'select account, posted_high, posted_low from {key_totals}',
    `select account, ${high}, ${low} from (${postingRows(engine, { from: waiting, where: 'true' })}) w`,
    `select e.account, ${sumOf('e.posted', 'sum')} from ${waiting} where e.kind = 'charge' group by e.account`,
  ]
  const sums = `select account, ${totalOf('sum')} from (${parts.join(' union all ')}) parts group by account`
  return compareAll(database, `sums as (${sums})`, [...comparedBalances(database), ...comparedHolds()])
}
