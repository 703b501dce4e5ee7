import { readBigint, readText } from '../sql/cells.js'
import type { SqlDatabase } from '../sql/database.js'

/** Something that does not add up. */
export interface Discrepancy {
  readonly what: 'balance' | 'held' | 'entry'
  /** An account, or an entry's id. */
  readonly id: string
  /** What stands there, and what it should be. */
  readonly found: bigint
  readonly expected: bigint
}

export interface MaintenanceAdmin {
  /**
   * Recomputes every balance from its postings, what is on hold from the open holds, and every charge to zero, in one
   * snapshot. Returns at most 1,000 differences; none in a sound ledger.
   */
  verify(): Promise<readonly Discrepancy[]>
  /**
   * Forgets holds that ended more than so many days ago, 30 at least, with their claims, a few thousand at a time.
   * Entries stay. A settlement repeated after that would post again. Returns how many went.
   */
  pruneHolds(olderThanDays: number): Promise<number>
}

const MIN_DAYS = 30
const DAY_MS = 86_400_000
const PAGE_ROWS = 5_000

export function createMaintenanceAdmin(database: SqlDatabase): MaintenanceAdmin {
  return {
    async verify() {
      const rows = await database.all({
        isReport: true,
        text: `select 'balance' as what, a.id, a.posted as found, coalesce(p.sum, 0) as expected
          from {accounts} a
          left join (select account, sum(amount) as sum from {postings} group by account) p on p.account = a.id
          where a.posted <> coalesce(p.sum, 0)
          union all
          select 'held', a.id, a.held, coalesce(h.sum, 0)
          from {accounts} a
          left join (select account, sum(amount) as sum from {holds} where state = 0 group by account) h
            on h.account = a.id
          where a.held <> coalesce(h.sum, 0)
          union all
          select 'entry', cast(e.id as text), p.sum, 0
          from {entries} e
          join (select entry_id, sum(amount) as sum from {postings} group by entry_id) p on p.entry_id = e.id
          where e.kind = 'charge' and p.sum <> 0
          order by 1, 2 limit 1000`,
      })
      return rows.map((row) => ({
        what: readText(row, 'what') as Discrepancy['what'],
        id: readText(row, 'id'),
        found: readBigint(row, 'found'),
        expected: readBigint(row, 'expected'),
      }))
    },

    async pruneHolds(olderThanDays) {
      if (!(olderThanDays >= MIN_DAYS)) {
        throw new RangeError(`Ended holds stay at least ${MIN_DAYS} days; got ${String(olderThanDays)}`)
      }
      const before = BigInt(Math.floor(Date.now() - olderThanDays * DAY_MS))
      let count = 0
      let last = ''
      for (;;) {
        // A page of ids at a time, so that nobody waits long for the lock.
        const page = await database.all({
          text: `select max(id) as last, count(*) as rows
            from (select id from {holds} where id > ?1 order by id limit ${PAGE_ROWS}) page`,
          parameters: [last],
        })
        const next = page[0]?.last
        if (typeof next !== 'string') return count
        const gone = 'id > ?1 and id <= ?2 and state <> 0 and ended_at < ?3'
        const [, removed = []] = await database.batch([
          {
            text: `delete from {claims} where hold_id in (select id from {holds} where ${gone})`,
            parameters: [last, next, before],
          },
          { text: `delete from {holds} where ${gone} returning id`, parameters: [last, next, before] },
        ])
        count += removed.length
        last = next
      }
    },
  }
}
