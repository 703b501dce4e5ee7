import type {
  CountedLimit,
  LedgerCall,
  LedgerCallQuery,
  LedgerLookUps,
  LimitCount,
  Spent,
  SpentQuery,
} from '../contracts/index.js'
import { DAY_MS, DaySums } from '../rules/day-sums.js'
import { limitCounts } from '../rules/limit-buckets.js'
import { checkList, checkObject, checkString } from '../rules/store-arguments.js'
import { heldOf, postedOf, readBalance } from './balances.js'
import { readBigint, readJson, readNumber, readOptionalNumber, readOptionalText, readText } from './cells.js'
import { createConditions } from './conditions.js'
import type { Row, SqlDatabase, Statement } from './database.js'
import { readEntry, spentOf } from './entry-rows.js'
import { HOLD_STATE } from './hold-states.js'
import { unkeyedOfAccount } from './unsummed.js'

const MAX_HOLDS = 100
/** If an account has more postings that wait for the totals, adding up its spending takes more than some 50 ms. */
const MAX_WAITING = 5_000

/** Creates the look-ups of a ledger. */
export function createSqlLookUps(database: SqlDatabase): LedgerLookUps {
  /** By query: the answer that is being read, and the one to be read after it. */
  const reading = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<Spent>>()

  /**
   * Equal queries share one answer, since a caller may ask as often as it likes. The answer is read after they were
   * asked.
   */
  async function spent(query: SpentQuery): Promise<Spent> {
    checkObject(query, 'query')
    checkString(query.account, 'account')
    const key = JSON.stringify([query.account, query.credentialId])
    let answer = waiting.get(key)
    if (answer === undefined) {
      answer = readNext(key, query)
      waiting.set(key, answer)
    }
    return answer
  }

  async function readNext(key: string, query: SpentQuery): Promise<Spent> {
    await reading.get(key)
    waiting.delete(key)
    const answer = sum(query)
    const ended = answer.then(
      () => {},
      () => {},
    )
    reading.set(key, ended)
    try {
      return await answer
    } finally {
      if (reading.get(key) === ended) reading.delete(key)
    }
  }

  async function sum(query: SpentQuery): Promise<Spent> {
    let rows = await database.all(spentStatement(database, query, true))
    // Many look-ups of such an account would hold back all others, so they take turns with reports.
    if (readNumber(rows[0]!, 'has_many') === 1) {
      rows = await database.all({ ...spentStatement(database, query, false), isReport: true })
    }
    const [first] = rows
    const sums = new DaySums()
    for (const row of rows) if (row.day !== null) sums.add(readNumber(row, 'day'), readBigint(row, 'amount'))
    return { balance: readBalance(first!), ...sums.at(readNumber(first!, 'now')) }
  }

  async function countsOf(limits: readonly CountedLimit[]): Promise<readonly LimitCount[]> {
    checkList(limits, 'limits')
    if (limits.length === 0) return []
    const { parameters, addOneOf, where } = createConditions()
    addOneOf(
      'b.id',
      limits.map(({ bucket }) => bucket),
    )
    const rows = await database.all({
      text: `select b.*, n.now from (select ${database.now} as now) n left join (select * from {limit_buckets} b ${where()}) b on true`,
      parameters,
    })
    const byId = new Map(rows.filter(({ id }) => id !== null).map((row) => [readText(row, 'id'), row]))
    const read = (id: string) => {
      const row = byId.get(id)
      return (
        row && {
          startsAt: readNumber(row, 'starts_at'),
          endsAt: readNumber(row, 'ends_at'),
          held: readBigint(row, 'held'),
          used: readBigint(row, 'used'),
        }
      )
    }
    return limitCounts({ read }, limits, readNumber(rows[0]!, 'now'))
  }

  async function findCall(query: LedgerCallQuery): Promise<LedgerCall | undefined> {
    checkObject(query, 'query')
    const { account, holdIds } = query
    checkList(holdIds, 'holdIds')
    if (holdIds.length > MAX_HOLDS) throw new RangeError(`holdIds must be at most ${MAX_HOLDS}`)
    const { parameters, add, addOneOf, where } = createConditions()
    add((value) => `account = ${value}`, account)
    addOneOf('id', holdIds)
    const rows = await database.all({
      text: `select state, amount, expires_at, ended_at, entry_id, facts, ${database.now} as now from {holds} ${where()}`,
      parameters,
    })
    const settled = rows.find((row) => row.entry_id !== null)
    if (settled !== undefined) return settledCall(readBigint(settled, 'entry_id'))
    const known = rows.filter((row) => readOptionalText(row, 'facts') !== undefined)
    const held = known.find(isOpen)
    if (held !== undefined) {
      return {
        state: 'held',
        facts: readJson(held, 'facts'),
        holdAmount: readBigint(held, 'amount'),
        expiresAt: readNumber(held, 'expires_at'),
      }
    }
    const ended = known.map((row): LedgerCall & { state: 'ended' } => ({
      state: 'ended',
      facts: readJson(row, 'facts'),
      at: readOptionalNumber(row, 'ended_at') ?? readNumber(row, 'expires_at'),
    }))
    // The hold that replaced the others ended last.
    return ended.sort((one, other) => other.at - one.at)[0]
  }

  async function settledCall(entryId: bigint): Promise<LedgerCall> {
    const [charge, ...refunds] = await database.all({
      text: `select * from {entries} where id = ?1
        union all select * from {entries} where refund_of = ?1`,
      parameters: [entryId],
    })
    if (charge === undefined) {
      throw new Error(`The ledger has no entry ${entryId}, although a hold refers to it`)
    }
    const amounts = refunds.map((row) => readEntry(row).refund?.amount ?? 0n)
    return {
      state: 'settled',
      entry: readEntry(charge),
      refunded: amounts.reduce((total, amount) => total + amount, 0n),
    }
  }

  return { spent, limitCounts: countsOf, findCall }
}

function isOpen(row: Row): boolean {
  return (
    readNumber(row, 'state') === HOLD_STATE.open && readNumber(row, 'expires_at') > readNumber(row, 'now')
  )
}

/**
 * Reads the balance of an account, and its spending by day or, for months that have passed, by month. Returns a row without a
 * day if it spent nothing.
 *
 * @param isQuick whether to leave out the postings that wait for the totals if there are very many, and say so in `has_many`
 */
function spentStatement(
  database: SqlDatabase,
  { account, credentialId }: SpentQuery,
  isQuick: boolean,
): Statement {
  const { engine, now } = database
  const { conditions, parameters, add } = createConditions()
  add((value) => `e.account = ${value}`, account)
  if (credentialId !== undefined) add((value) => `e.credential_id = ${value}`, credentialId)
  const own = conditions.join(' and ')
  const waiting = unkeyedOfAccount(engine, '?1')
  const hasMany = isQuick
    ? `(select case when count(*) > ${MAX_WAITING} then 1 else 0 end from (
        select 1 from {postings} p where ${waiting.since} limit ${MAX_WAITING + 1}
      ) w)`
    : '0'
  const total = `e.starts_at / ${DAY_MS} as day,
    (e.cost_high - e.refunded_high) * 1000000000 + e.cost_low - e.refunded_low as amount`
  // The month before the current one is read by day, so a clock that differs from the database's does no harm.
  const date = new Date()
  const byDay = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1, 1)
  return {
    text: `select b.now, b.posted, b.held, s.day, s.amount, ${hasMany} as has_many from (
        select n.now, coalesce(${postedOf(database)}, 0) as posted, coalesce(${heldOf(database)}, 0) as held
        from (select ${now} as now) n left join {accounts} a on a.id = ?1
      ) b left join (
        select day, sum(amount) as amount from (
          select ${total} from {key_totals} e where ${own} and e.starts_at < ${byDay}
          union all select ${total} from {account_totals} e where ${own} and e.starts_at >= ${byDay}
          union all select e.at / ${DAY_MS} as day, ${spentOf(database)} as amount
          from ${waiting.from} where ${hasMany} = 0 and ${waiting.where} and ${own} and e.kind in ('charge', 'refund')
        ) parts group by day
      ) s on true`,
    parameters,
  }
}
