import { z } from 'zod'
import type { Credits } from '../base/money.js'
import { present } from '../base/present.js'
import { momentSchema, nameSchema, parseInput } from '../rules/schemas.js'
import { readJson, readNumber } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { AppDefinition } from '../sql/connect-apps.js'
import type { Parameter, SqlDatabase } from '../sql/database.js'
import { readSum, sumColumns, sumOf, totalOf, wholeSum } from '../sql/sums.js'
import { DAY_MS } from '../sql/total-columns.js'
import { type EntrySource, unkeyedOfAccount } from '../sql/unsummed.js'
import { around, isEmpty, spendRows, type Times, wholeSpans } from './spend-rows.js'

export interface AppFiguresQuery {
  readonly appId: string
  /** Milliseconds since the Unix epoch, inclusive. */
  readonly from?: number
  /** Milliseconds since the Unix epoch, exclusive. */
  readonly to?: number
}

/** The figures of an app for its owner. They never name a user. */
export interface AppFigures {
  /** The number of accounts that have connected the app now, whatever the period. */
  readonly users: number
  /** The number of charged calls of the app's tokens. */
  readonly calls: number
  /**
   * The sum of the postings of the app's charges and their refunds to the account that now earns the app's markup. The
   * owner's own calls earn nothing and are not included. Absent if the platform earns the markup.
   */
  readonly earned?: Credits
}

const querySchema = z.strictObject({
  appId: nameSchema,
  from: momentSchema.optional(),
  to: momentSchema.optional(),
})

/** Returns undefined if the app does not exist. */
export async function readAppFigures(
  database: SqlDatabase,
  query: AppFiguresQuery,
): Promise<AppFigures | undefined> {
  const { appId, from, to } = parseInput(querySchema, query, 'figures')
  const [app] = await database.all({
    text: `select p.definition, (
        select count(*) from {credentials} c
        where c.app_id = p.id and c.source = 'connect' and c.revoked_at is null
          and (c.ends_at is null or c.ends_at > ${database.now})
      ) as users
      from {apps} p where p.id = ?1`,
    parameters: [appId],
  })
  if (app === undefined) return undefined
  const { account } = readJson<AppDefinition>(app, 'definition')
  const parameters: Parameter[] = []
  const calls = spendRows(database, { by: 'app', appId, ...present({ from, to }) }, parameters)
  const earned = account && earnedRows(database, { account, appId, period: { from, to } }, parameters)
  const [sums] = await database.all({
    isReport: true,
    text: `select (select ${wholeSum('c.calls')} from (${calls}) c) as calls, ${totalOf('earned')}
      from (${earned ?? 'select 0 as earned_high, 0 as earned_low'}) s`,
    parameters,
  })
  return {
    users: readNumber(app, 'users'),
    calls: readNumber(sums!, 'calls'),
    ...(account !== undefined && { earned: readSum(sums!, 'earned') }),
  }
}

interface Earnings {
  readonly account: string
  readonly appId: string
  readonly period: Times
}

/** SQL for rows of what an account earned from an app: totals for whole days, and postings for the rest. */
function earnedRows({ engine }: SqlDatabase, { account, appId, period }: Earnings, parameters: Parameter[]) {
  const earner = `?${parameters.push(account)}`

  function postings({ from, where }: EntrySource, times: Times): string {
    const { conditions, addEqual, addTimes } = createConditions(parameters)
    addEqual({ 'e.app_id': appId })
    addTimes('e.at', times)
    return `select ${sumOf('p.amount', 'earned')} from ${from}
      where ${[where, 'e.account <> p.account', ...conditions].join(' and ')}`
  }
  const ofTimes = (times: Times) =>
    postings(
      {
        from: '{entries} e join {postings} p on p.at = e.at and p.entry_id = e.id',
        where: `p.account = ${earner}`,
      },
      times,
    )

  const days = wholeSpans(period, DAY_MS)
  if (isEmpty(days)) return ofTimes(period)
  const { addEqual, addTimes, where } = createConditions(parameters)
  addEqual({ 't.account': account, 't.app_id': appId })
  addTimes('t.starts_at', days)
  const [high, low] = sumColumns('earned').map(
    (name) => `t.${name} + t.${name.replace('earned', 'returned')}`,
  )
  return [
    `select ${high} as earned_high, ${low} as earned_low from {posting_totals} t ${where()}`,
    postings(unkeyedOfAccount(engine, earner), days),
    ...around(period, days, ofTimes),
  ].join(' union all ')
}
