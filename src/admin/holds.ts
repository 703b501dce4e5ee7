import { z } from 'zod'
import type { Credits } from '../base/money.js'
import { present } from '../base/present.js'
import { Refusal } from '../base/refusal.js'
import type { CallContext, CallFacts, LedgerStore } from '../contracts/index.js'
import { idSchema, parseInput, rowsSchema, whose } from '../rules/schemas.js'
import { readBigint, readNumber, readOptionalJson, readOptionalText, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { SqlDatabase } from '../sql/database.js'
import { HOLD_STATE } from '../sql/hold-states.js'

/** Credit reserved for a call in flight, in any process. */
export interface OpenHold {
  readonly holdId: string
  readonly account: string
  readonly amount: Credits
  /** Milliseconds since the Unix epoch. From then on the hold no longer counts. */
  readonly expiresAt: number
  readonly facts?: CallFacts
}

export interface OpenHoldsQuery {
  readonly account?: string
  readonly holdId?: string
  /** 100 by default. */
  readonly limit?: number
}

const querySchema = z.strictObject({
  account: whose(idSchema),
  holdId: idSchema.optional(),
  limit: rowsSchema.optional(),
})

/** Returns the holds that are not settled, released or expired, ordered by expiry, latest first. */
export async function readOpenHolds(
  database: SqlDatabase,
  query: OpenHoldsQuery,
): Promise<readonly OpenHold[]> {
  const { account, holdId, limit = 100 } = parseInput(querySchema, query, 'holds')
  const { conditions, parameters, addEqual } = createConditions()
  addEqual({ 'h.account': account, 'h.id': holdId })
  parameters.push(BigInt(limit))
  const rows = await database.all({
    text: `select h.id, h.account, h.amount, h.expires_at, h.facts from {holds} h
      where ${[`h.state = ${HOLD_STATE.open}`, `h.expires_at > ${database.now}`, ...conditions].join(' and ')}
      order by h.expires_at desc limit ?${parameters.length}`,
    parameters,
  })
  return rows.map((row) => ({
    holdId: readText(row, 'id'),
    account: readText(row, 'account'),
    amount: readBigint(row, 'amount'),
    expiresAt: readNumber(row, 'expires_at'),
    ...present({ facts: readOptionalJson<CallFacts>(row, 'facts') }),
  }))
}

/** Releases a hold, and with it the `Idempotency-Key` of its call. Throws a {@link Refusal} if the hold is not open. */
export async function freeHold(
  database: SqlDatabase,
  ledger: Pick<LedgerStore, 'release'>,
  holdId: string,
  context: CallContext,
): Promise<void> {
  const [row] = await database.all({
    text: 'select account, claim from {holds} where id = ?1 and state = ?2',
    parameters: [holdId, HOLD_STATE.open],
  })
  if (row === undefined) throw notOpen(holdId)
  const { state } = await ledger.release({ holdId, account: readText(row, 'account') }, context)
  if (state === 'settled') throw notOpen(holdId)
  const claim = readOptionalText(row, 'claim')
  if (claim === undefined) return
  await database.all({ text: 'delete from {replies} where claim = ?1 and done = 0', parameters: [claim] })
}

function notOpen(holdId: string): Refusal {
  return new Refusal('not-found', `There is no open hold ${JSON.stringify(holdId)}`)
}
