import { z } from 'zod'
import type { Credits } from '../base/money.js'
import { momentSchema, nameSchema, parseInput } from '../rules/schemas.js'
import { readJson, readNumber } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { AppDefinition } from '../sql/connect-apps.js'
import type { SqlDatabase } from '../sql/database.js'
import { readSum, sumOf } from '../sql/sums.js'

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
  const { conditions, parameters, addEqual, addTimes } = createConditions()
  addEqual({ 'e.app_id': appId })
  addTimes('e.at', { from, to })
  parameters.push(account ?? null)
  const [sums] = await database.all({
    isReport: true,
    text: `select coalesce(sum(case when e.kind = 'charge' then 1 else 0 end), 0) as calls,
        ${sumOf('coalesce(p.amount, 0)', 'earned')}
      from {entries} e
      left join {postings} p on p.account = cast(?${parameters.length} as text) and p.at = e.at and p.entry_id = e.id
        and e.account <> p.account
      where ${conditions.join(' and ')}`,
    parameters,
  })
  return {
    users: readNumber(app, 'users'),
    calls: readNumber(sums!, 'calls'),
    ...(account !== undefined && { earned: readSum(sums!, 'earned') }),
  }
}
