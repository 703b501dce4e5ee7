import { z } from 'zod'
import { outOfRange } from '../base/invalid-input.js'
import type { Credits } from '../base/money.js'
import { present } from '../base/present.js'
import type { Usage } from '../protocol/usage.js'
import { idsSchema, nameSchema, parseInput, rowsSchema, whose } from '../rules/schemas.js'
import { readNumber, readOptionalNumber, readOptionalText } from '../sql/cells.js'
import type { Parameter, Row, SqlDatabase } from '../sql/database.js'
import { readUsage } from '../sql/entry-rows.js'
import { orderedTotalOf, readSum } from '../sql/sums.js'
import { AMOUNTS, addUp, CHARGE_SUMS, COUNTS, DAY_MS } from '../sql/total-columns.js'
import { type SpendQuery, spendRows } from './spend-rows.js'

export interface SpendRow {
  /** A day as `2026-01-31`, a model, an app, a credential, an account or a provider. Undefined for calls without one. */
  readonly key: string | undefined
  readonly calls: number
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  readonly usage: Usage
}

const spendSchema = z.strictObject({
  by: z.enum(['day', 'model', 'app', 'key', 'account', 'provider']),
  account: whose(nameSchema),
  appId: whose(nameSchema),
  model: nameSchema.optional(),
  credentialIds: whose(idsSchema),
  from: z.number().optional(),
  to: z.number().optional(),
})

const reportSchema = spendSchema.extend({
  limit: rowsSchema.optional(),
  offset: z.int().min(0).optional(),
  newest: rowsSchema.optional(),
})

/** A page of rows, or all of them without a limit. */
export interface SpendReportQuery extends SpendQuery {
  readonly limit?: number
  /** The number of rows to skip. 0 by default. */
  readonly offset?: number
  /**
   * Reads only this many of the newest charges of the period, whatever their number; other filters select among these.
   * So the time that a report by account or key takes has a bound.
   */
  readonly newest?: number
}

/**
 * {@link SpendRow}s, compared with the amounts that the same charges posted to their payers. Everything but `rows` covers
 * all pages.
 */
export interface SpendReport {
  readonly rows: readonly SpendRow[]
  readonly rowCount: number
  readonly total: Omit<SpendRow, 'key'>
  readonly books: SpendBooks
  /** How far the replica was behind that answered, in milliseconds. Absent if the ledger's own database did. */
  readonly behindMs?: number
  /** With `newest`: the time of the oldest charge that was counted. Absent if none was. */
  readonly since?: number
}

/** The cost of a report's charges, computed only from what they posted to their payers. `verify` compares that with the postings. */
export interface SpendBooks {
  /** The sum that postings took from the payers. */
  readonly debited: Credits
  /** The sum that payers owed to themselves, since they also earn the base or the markup. Their postings do not contain it. */
  readonly kept: Credits
  /** Whether every charge has its payer's posting, and its cost equals both debited plus kept and base plus markup. */
  readonly isEqual: boolean
}

/** Sums charges. Returns days in order, and all other groups by cost, highest first. */
export async function readSpend(database: SqlDatabase, query: SpendQuery): Promise<readonly SpendRow[]> {
  const filters = parseInput(spendSchema, query, 'spend')
  const { text, parameters, order, by } = sumsOf(database, filters)
  const rows = await database.all({
    isReport: true,
    mayLag: true,
    text: `${text} order by ${order}`,
    parameters,
  })
  return rows.map((row) => toSpendRow(row, by))
}

/**
 * {@link readSpend} with totals and the sums of the postings, in one snapshot. The database does the sums: there may be a
 * row for each of a million keys, and calls run in this thread.
 */
export async function readSpendReport(database: SqlDatabase, query: SpendReportQuery): Promise<SpendReport> {
  const { limit, offset = 0, ...filters } = parseInput(reportSchema, query, 'spend')
  const { text, parameters, order, by } = sumsOf(database, filters)
  const page = [offset, ...(limit === undefined ? [] : [offset + limit])]
  const [from, to] = page.map((value) => `?${parameters.push(BigInt(value))}`)
  const [totals, ...rows] = await database.all({
    isReport: true,
    mayLag: true,
    text: `with sums as (${text}), ranked as (select sums.*, row_number() over (order by ${order}) as place from sums)
      select 0 as place, cast(null as text) as key, ${addUp(CHARGE_SUMS)}, count(*) as row_count, ${database.behind ?? 'null'} as behind, min(since) as since
      from sums
      union all select place, key, ${CHARGE_SUMS.join(', ')}, 0, null, null from ranked
      where place > ${from} ${to === undefined ? '' : `and place <= ${to}`}
      order by 1`,
    parameters,
  })
  return {
    rows: rows.map((row) => toSpendRow(row, by)),
    rowCount: readNumber(totals!, 'row_count'),
    total: toSums(totals!),
    books: readBooks(totals!),
    ...present({
      behindMs: readOptionalNumber(totals!, 'behind'),
      since: filters.newest === undefined ? undefined : readOptionalNumber(totals!, 'since'),
    }),
  }
}

/** Builds the statement that sums charges, and the order of its rows. */
function sumsOf(database: SqlDatabase, query: z.infer<typeof reportSchema>) {
  const { by, from, to } = query
  if (from !== undefined && to !== undefined && from >= to) {
    throw outOfRange({ of: 'spend', field: 'from' }, 'must be before to')
  }
  const parameters: Parameter[] = []
  const text = `select ${by === 'day' ? 'cast(c.key as text)' : 'c.key'} as key, min(c.since) as since, ${addUp(COUNTS)},
        ${AMOUNTS.map(orderedTotalOf).join(', ')}
      from (${spendRows(database, query, parameters)}) c
      group by c.key having sum(c.calls) > 0`
  return { text, parameters, order: by === 'day' ? 'since' : 'cost_high desc, cost_low desc, key', by }
}

function toSpendRow(row: Row, by: SpendQuery['by']): SpendRow {
  const key = readOptionalText(row, 'key')
  return {
    key: by === 'day' ? new Date(Number(key) * DAY_MS).toISOString().slice(0, 10) : key,
    ...toSums(row),
  }
}

export function readBooks(row: Row): SpendBooks {
  return {
    debited: -readSum(row, 'posted'),
    kept: readSum(row, 'kept'),
    isEqual: readNumber(row, 'unequal') === 0,
  }
}

export function toSums(row: Row): SpendReport['total'] {
  return {
    calls: readNumber(row, 'calls'),
    cost: readSum(row, 'cost'),
    base: readSum(row, 'base'),
    markup: readSum(row, 'markup'),
    usage: readUsage(row),
  }
}
