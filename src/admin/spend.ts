import { z } from 'zod'
import { nameShape, readShape } from '../contracts/shapes.js'
import type { Credits } from '../money.js'
import { NO_USAGE, type Usage } from '../protocol/usage.js'
import { readBigint, readNumber, readOptionalText } from '../sql/cells.js'
import type { Row, SqlDatabase } from '../sql/database.js'
import { createConditions, toTime } from '../sql/entries.js'

export interface SpendQuery {
  /** What the sums are made by. Days are of UTC; `app` knows only apps whose token was used. */
  readonly by: 'day' | 'model' | 'app' | 'key' | 'provider'
  /** Who paid. */
  readonly account?: string
  readonly appId?: string
  readonly model?: string
  /** Milliseconds since the Unix epoch, inclusive. */
  readonly from?: number
  /** Milliseconds since the Unix epoch, exclusive. */
  readonly to?: number
}

export interface SpendRow {
  /** A day as `2026-01-31`, a model, an app, a credential or a provider; undefined for what has none. */
  readonly key: string | undefined
  readonly calls: number
  readonly cost: Credits
  readonly base: Credits
  readonly markup: Credits
  readonly usage: Usage
}

const COLUMNS: Readonly<Record<SpendQuery['by'], string>> = {
  day: 'e.at / 86400000',
  model: 'e.model',
  app: 'e.app_id',
  key: 'e.credential_id',
  provider: 'e.provider',
}

const DAY_MS = 86_400_000

const spendShape = z.strictObject({
  by: z.enum(['day', 'model', 'app', 'key', 'provider']),
  account: nameShape.optional(),
  appId: nameShape.optional(),
  model: nameShape.optional(),
  from: z.number().optional(),
  to: z.number().optional(),
})

/** {@link SpendRow}s, held against the postings of the same charges. */
export interface SpendReport {
  readonly rows: readonly SpendRow[]
  readonly total: Omit<SpendRow, 'key'>
  readonly books: SpendBooks
}

/** What the charges of a report cost by the ledger's postings alone. */
export interface SpendBooks {
  /** What postings took from those who paid. */
  readonly debited: Credits
  /** What payers that earn the base or the markup as well owed to themselves: netted out of their postings. */
  readonly kept: Credits
  /** Whether `debited + kept` is the rows' cost, row by row, and no posting is missing. */
  readonly isEqual: boolean
}

/** What was charged, summed. Days in order, everything else the dearest first. */
export async function readSpend(database: SqlDatabase, query: SpendQuery): Promise<readonly SpendRow[]> {
  const { rows, by } = await sum(database, query, false)
  return rows.map((row) => toSpendRow(row, by))
}

/** {@link readSpend} with totals and the postings' own figure, all of one snapshot. */
export async function readSpendReport(database: SqlDatabase, query: SpendQuery): Promise<SpendReport> {
  const { rows: cells, by } = await sum(database, query, true)
  const rows = cells.map((row) => toSpendRow(row, by))
  let debited = 0n
  let kept = 0n
  let isEqual = true
  for (const [position, row] of cells.entries()) {
    const paid = { debited: -readBigint(row, 'posted'), kept: readBigint(row, 'kept') }
    debited += paid.debited
    kept += paid.kept
    if (paid.debited + paid.kept !== rows[position]!.cost || readBigint(row, 'missing') !== 0n)
      isEqual = false
  }
  return { rows, total: addUp(rows), books: { debited, kept, isEqual } }
}

/**
 * SQL for what a payer kept of its own charge: a posting is summed for each account, so that of a payer which is the
 * platform, the app's account or both lacks the base, the markup or both. Nothing else is accepted.
 */
export const KEPT = `case
  when p.amount is null or p.amount = -e.cost then 0
  when p.amount = -e.markup then e.base
  when p.amount = -e.base then e.markup
  when p.amount = 0 then e.cost
  else 0 end`

async function sum(
  database: SqlDatabase,
  query: SpendQuery,
  withBooks: boolean,
): Promise<{ rows: readonly Row[]; by: SpendQuery['by'] }> {
  const { by, account, appId, model, from, to } = readShape(spendShape, query, 'spend')
  if (from !== undefined && to !== undefined && from >= to) {
    throw new RangeError('spend.from: must be before to')
  }
  const { conditions, parameters, add } = createConditions()
  // With an account, its postings are the index to its entries.
  const at = account === undefined ? 'e.at' : 'p.at'
  if (account !== undefined) {
    add((value) => `p.account = ${value}`, account)
    conditions.push('e.account = p.account')
  }
  if (appId !== undefined) add((value) => `e.app_id = ${value}`, appId)
  if (model !== undefined) add((value) => `e.model = ${value}`, model)
  if (from !== undefined) add((value) => `${at} >= ${value}`, toTime(from, 'from'))
  if (to !== undefined) add((value) => `${at} < ${value}`, toTime(to, 'to'))
  const column = COLUMNS[by]
  const rows = await database.all({
    isReport: true,
    text: `select ${by === 'day' ? `cast(${column} as text)` : column} as key, count(*) as calls,
        sum(e.cost) as cost, sum(e.base) as base, sum(e.markup) as markup,
        sum(e.prompt) as prompt, sum(e.cached) as cached, sum(e.cache_write) as cache_write,
        sum(e.completion) as completion, sum(e.reasoning) as reasoning
        ${withBooks ? `, ${BOOK_COLUMNS}` : ''}
      from ${account === undefined ? `{entries} e ${withBooks ? PAYER_POSTING : ''}` : '{postings} p join {entries} e on e.id = p.entry_id'}
      where ${[...conditions, "e.kind = 'charge'"].join(' and ')}
      group by ${column} order by ${by === 'day' ? column : 'sum(e.cost) desc, 1'}`,
    parameters,
  })
  return { rows, by }
}

const BOOK_COLUMNS = `sum(coalesce(p.amount, 0)) as posted, sum(${KEPT}) as kept,
        sum(case when p.amount is null then 1 else 0 end) as missing`
const PAYER_POSTING = `left join {postings} p
        on p.account = e.account and p.at = e.at and p.entry_id = e.id`

const USAGE_NAMES = Object.keys(NO_USAGE) as (keyof Usage)[]

function addUp(rows: readonly SpendRow[]): SpendReport['total'] {
  const usage = { ...NO_USAGE } as Record<keyof Usage, number>
  const total = { calls: 0, cost: 0n, base: 0n, markup: 0n, usage }
  for (const row of rows) {
    total.calls += row.calls
    total.cost += row.cost
    total.base += row.base
    total.markup += row.markup
    for (const name of USAGE_NAMES) usage[name] += row.usage[name]
  }
  return total
}

function toSpendRow(row: Row, by: SpendQuery['by']): SpendRow {
  const key = readOptionalText(row, 'key')
  return {
    key: by === 'day' ? new Date(Number(key) * DAY_MS).toISOString().slice(0, 10) : key,
    calls: readNumber(row, 'calls'),
    cost: readBigint(row, 'cost'),
    base: readBigint(row, 'base'),
    markup: readBigint(row, 'markup'),
    usage: {
      prompt: readNumber(row, 'prompt'),
      cached: readNumber(row, 'cached'),
      cacheWrite: readNumber(row, 'cache_write'),
      completion: readNumber(row, 'completion'),
      reasoning: readNumber(row, 'reasoning'),
    },
  }
}
