import { z } from 'zod'
import { nameShape, readShape } from '../contracts/shapes.js'
import type { Credits } from '../money.js'
import type { Usage } from '../protocol/usage.js'
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

/** What was charged, summed. Days in order, everything else the dearest first. */
export async function readSpend(database: SqlDatabase, query: SpendQuery): Promise<readonly SpendRow[]> {
  const { by, account, appId, model, from, to } = readShape(spendShape, query, 'spend')
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
      from ${account === undefined ? '{entries} e' : '{postings} p join {entries} e on e.id = p.entry_id'}
      where ${[...conditions, "e.kind = 'charge'"].join(' and ')}
      group by ${column} order by ${by === 'day' ? column : 'sum(e.cost) desc, 1'}`,
    parameters,
  })
  return rows.map((row) => toSpendRow(row, by))
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
