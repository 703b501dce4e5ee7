import { LRUCache } from 'lru-cache'
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
import { heldOf, postedOf, readBalance } from './balances.js'
import { readBigint, readJson, readNumber, readOptionalNumber, readOptionalText, readText } from './cells.js'
import { createConditions } from './conditions.js'
import type { Row, SqlDatabase, Statement } from './database.js'
import { readEntry, spentOf } from './entry-rows.js'
import { HOLD_STATE } from './hold-states.js'

/** How long after its end a day is read again, since an entry has the time at which its transaction began. */
const SPARE_MS = 3_600_000
const KNOWN_SUMS = 10_000
/** How long remembered sums are used. This bounds the error after a clock was set back. */
const KNOWN_MS = 24 * 3_600_000
const MAX_HOLDS = 100

/** The sums of the days before `day`, which no longer change. */
interface ClosedDays {
  readonly sums: DaySums
  readonly day: number
}

/** Creates the look-ups of a ledger. */
export function createSqlLookUps(database: SqlDatabase): LedgerLookUps {
  const closed = new LRUCache<string, ClosedDays>({ max: KNOWN_SUMS, ttl: KNOWN_MS })
  /** By query: the answer that is being read, and the one to be read after it. */
  const reading = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<Spent>>()

  /**
   * Equal queries share one answer, since a caller may ask as often as it likes. The answer is read after they were
   * asked.
   */
  function spent(query: SpentQuery): Promise<Spent> {
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
    const answer = sum(key, query)
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

  /** Reads the days that may still change, and remembers the others. */
  async function sum(key: string, query: SpentQuery): Promise<Spent> {
    const known = closed.get(key) ?? { sums: new DaySums(), day: 0 }
    const rows = await database.all(spentStatement(database, query, known.day))
    const [first] = rows
    const now = readNumber(first!, 'now')
    const firstOpen = Math.floor((now - SPARE_MS) / DAY_MS)
    const before = known.sums.copy()
    const all = known.sums.copy()
    for (const row of rows) {
      if (row.day === null) continue
      const [day, amount] = [readNumber(row, 'day'), readBigint(row, 'amount')]
      all.add(day, amount)
      if (day < firstOpen) before.add(day, amount)
    }
    if (firstOpen > known.day) closed.set(key, { sums: before, day: firstOpen })
    return { balance: readBalance(first!), ...all.at(now) }
  }

  async function countsOf(limits: readonly CountedLimit[]): Promise<readonly LimitCount[]> {
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

  async function findCall({ account, holdIds }: LedgerCallQuery): Promise<LedgerCall | undefined> {
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

/** Sums what an account spent on each day from this one on, and reads its balance. Returns a row without a day if there are none. */
function spentStatement(
  database: SqlDatabase,
  { account, credentialId }: SpentQuery,
  day: number,
): Statement {
  const { now } = database
  const { conditions, parameters, add, where } = createConditions()
  add((value) => `p.account = ${value}`, account)
  conditions.push('e.account = p.account', "e.kind in ('charge', 'refund')")
  if (credentialId !== undefined) add((value) => `e.credential_id = ${value}`, credentialId)
  add((value) => `p.at >= ${value}`, BigInt(day * DAY_MS))
  return {
    isReport: true,
    text: `select b.now, b.posted, b.held, s.day, s.amount from (
        select n.now, coalesce(${postedOf(database)}, 0) as posted, coalesce(${heldOf(database)}, 0) as held
        from (select ${now} as now) n left join {accounts} a on a.id = ?1
      ) b left join (
        select p.at / ${DAY_MS} as day, sum(${spentOf(database)}) as amount
        from {postings} p join {entries} e on e.id = p.entry_id
        ${where()}
        group by p.at / ${DAY_MS}
      ) s on true`,
    parameters,
  }
}
