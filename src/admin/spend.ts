import { z } from 'zod'
import { outOfRange } from '../base/invalid-input.js'
import type { Credits } from '../base/money.js'
import type { Usage } from '../protocol/usage.js'
import { idsSchema, nameSchema, parseInput, rowsSchema, whose } from '../rules/schemas.js'
import { checkTime, readNumber, readOptionalText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Parameter, Row, SqlDatabase } from '../sql/database.js'
import { readUsage } from '../sql/entry-rows.js'
import { orderedTotalOf, readSum } from '../sql/sums.js'
import { AMOUNTS, addUp, CHARGE_SUMS, COUNTS, DAY_MS, ONE_CHARGE, QUARTER_MS } from '../sql/total-columns.js'
import { unsummedEntries } from '../sql/totals.js'

export interface SpendQuery {
  /** The grouping. Days are in UTC. `app` groups by the app whose token was used. */
  readonly by: 'day' | 'model' | 'app' | 'key' | 'provider'
  /** The account that paid. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  /** Only calls with these credentials. */
  readonly credentialIds?: readonly string[]
  /** Milliseconds since the Unix epoch, inclusive. */
  readonly from?: number
  /** Milliseconds since the Unix epoch, exclusive. */
  readonly to?: number
}

export interface SpendRow {
  /** A day as `2026-01-31`, a model, an app, a credential or a provider. Undefined for calls without one. */
  readonly key: string | undefined
  readonly calls: number
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  readonly usage: Usage
}

/** SQL for the group of a charge. */
const OF_CHARGE: Readonly<Record<SpendQuery['by'], string>> = {
  day: 'e.at / 86400000',
  model: 'e.model',
  app: 'e.app_id',
  key: 'e.credential_id',
  provider: 'e.provider',
}

/** SQL for the group of a row of totals. They have no keys. */
const OF_TOTALS: Readonly<Record<Exclude<SpendQuery['by'], 'key'>, string>> = {
  day: 't.starts_at / 86400000',
  model: 't.model',
  app: "nullif(t.app_id, '')",
  provider: "nullif(t.provider, '')",
}

const spendSchema = z.strictObject({
  by: z.enum(['day', 'model', 'app', 'key', 'provider']),
  account: whose(nameSchema),
  appId: whose(nameSchema),
  model: nameSchema.optional(),
  credentialIds: whose(idsSchema),
  from: z.number().optional(),
  to: z.number().optional(),
})

const reportSchema = spendSchema.extend({ limit: rowsSchema.optional(), offset: z.int().min(0).optional() })

/** A page of rows, or all of them without a limit. */
export interface SpendReportQuery extends SpendQuery {
  readonly limit?: number
  /** The number of rows to skip. 0 by default. */
  readonly offset?: number
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
  const { text, parameters, order, by } = sumsOf(database, parseInput(spendSchema, query, 'spend'))
  const rows = await database.all({ isReport: true, text: `${text} order by ${order}`, parameters })
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
    text: `with sums as (${text}), ranked as (select sums.*, row_number() over (order by ${order}) as place from sums)
      select 0 as place, cast(null as text) as key, ${addUp(CHARGE_SUMS)}, count(*) as row_count
      from sums
      union all select place, key, ${CHARGE_SUMS.join(', ')}, 0 from ranked
      where place > ${from} ${to === undefined ? '' : `and place <= ${to}`}
      order by 1`,
    parameters,
  })
  return {
    rows: rows.map((row) => toSpendRow(row, by)),
    rowCount: readNumber(totals!, 'row_count'),
    total: toSums(totals!),
    books: {
      debited: -readSum(totals!, 'posted'),
      kept: readSum(totals!, 'kept'),
      isEqual: readNumber(totals!, 'unequal') === 0,
    },
  }
}

/** Builds the statement that sums charges, and the order of its rows. */
function sumsOf(database: SqlDatabase, query: z.infer<typeof spendSchema>) {
  const { by, from, to } = query
  if (from !== undefined && to !== undefined && from >= to) {
    throw outOfRange({ of: 'spend', field: 'from' }, 'must be before to')
  }
  const parameters: Parameter[] = []
  const text = `select ${by === 'day' ? 'cast(c.key as text)' : 'c.key'} as key, min(c.since) as since, ${addUp(COUNTS)},
        ${AMOUNTS.map(orderedTotalOf).join(', ')}
      from (${rowsOf(database, query, parameters)}) c
      group by c.key`
  return { text, parameters, order: by === 'day' ? 'since' : 'cost_high desc, cost_low desc, key', by }
}

/** SQL for rows of sums: those of totals as far as they cover the query, and charges for the rest of it. */
function rowsOf(database: SqlDatabase, query: z.infer<typeof spendSchema>, parameters: Parameter[]): string {
  const { account, appId, by, credentialIds, from, model, to } = query

  function charges(source: string, times: Times): string {
    const { conditions, addEqual, addOneOf, addTimes } = createConditions(parameters)
    // For one account, its postings serve as the index to its entries.
    if (account !== undefined) conditions.push('e.account = p.account')
    addEqual({ 'p.account': account, 'e.app_id': appId, 'e.model': model })
    if (credentialIds !== undefined) addOneOf('e.credential_id', credentialIds)
    addTimes(account === undefined ? 'e.at' : 'p.at', times)
    return `select ${OF_CHARGE[by]} as key, e.at as since, ${ONE_CHARGE} from ${source}
        where ${[...conditions, "e.kind = 'charge'"].join(' and ')}`
  }

  if (account !== undefined)
    return charges('{postings} p join {entries} e on e.id = p.entry_id', { from, to })
  const quarters = wholeSpans({ from, to }, QUARTER_MS)
  if (by === 'key' || credentialIds !== undefined || isEmpty(quarters))
    return charges('{entries} e', { from, to })

  function totals(span: number, times: Times): string {
    const { addEqual, addTimes, where } = createConditions(parameters)
    addEqual({ 't.span': BigInt(span), 't.app_id': appId, 't.model': model })
    addTimes('t.starts_at', times)
    return `select ${OF_TOTALS[by as keyof typeof OF_TOTALS]} as key, t.starts_at as since, ${CHARGE_SUMS.map((name) => `t.${name}`).join(', ')}
        from {charge_totals} t ${where()}`
  }

  /** SQL for the times of an outer period before and after its inner one. */
  function around(outer: Times, inner: Times, rows: (times: Times) => string): readonly string[] {
    return [
      ...(inner.from === outer.from ? [] : [rows({ from: outer.from, to: inner.from })]),
      ...(inner.to === outer.to ? [] : [rows({ from: inner.to, to: outer.to })]),
    ]
  }

  const days = wholeSpans(quarters, DAY_MS)
  const ofQuarters = (times: Times) => totals(QUARTER_MS, times)
  return [
    ...(isEmpty(days)
      ? [ofQuarters(quarters)]
      : [totals(DAY_MS, days), ...around(quarters, days, ofQuarters)]),
    charges(unsummedEntries(database.engine), quarters),
    ...around({ from, to }, quarters, (times) => charges('{entries} e', times)),
  ].join(' union all ')
}

/** Returns the time of all whole spans within a time. */
function wholeSpans({ from, to }: Times, span: number): Times {
  return {
    from: from === undefined ? undefined : Math.ceil(checkTime(from, 'from') / span) * span,
    to: to === undefined ? undefined : Math.floor(checkTime(to, 'to') / span) * span,
  }
}

function isEmpty({ from, to }: Times): boolean {
  return from !== undefined && to !== undefined && from >= to
}

type Times = Parameters<ReturnType<typeof createConditions>['addTimes']>[1]

function toSpendRow(row: Row, by: SpendQuery['by']): SpendRow {
  const key = readOptionalText(row, 'key')
  return {
    key: by === 'day' ? new Date(Number(key) * DAY_MS).toISOString().slice(0, 10) : key,
    ...toSums(row),
  }
}

function toSums(row: Row): SpendReport['total'] {
  return {
    calls: readNumber(row, 'calls'),
    cost: readSum(row, 'cost'),
    base: readSum(row, 'base'),
    markup: readSum(row, 'markup'),
    usage: readUsage(row),
  }
}
