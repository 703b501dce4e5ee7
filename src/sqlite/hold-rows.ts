import type { LimitUse } from '../contracts/index.js'
import { giveBack, KEEP_BUCKET_MS } from '../rules/limit-buckets.js'
import type { Row } from '../sql/database.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import type { HoldCommand } from '../sql/ledger-commands.js'
import { type LimitCells, readLimitCells, toLimitCells } from '../sql/limit-cells.js'
import { createAccounts, FEW_ROWS } from './accounts.js'
import { createBuckets } from './buckets.js'
import type { Connection } from './connection.js'

export interface HoldRow {
  readonly account: string
  readonly amount: bigint
  /** Null if the hold asked for none. */
  readonly steps: number | null
  readonly state: number
  /** Whether it has ended, or its time is over. */
  readonly isOver: boolean
  readonly claim: string | null
  readonly replaces: string | null
  readonly entryId: bigint | null
  readonly limits: readonly LimitUse[]
}

/** An open hold that a settlement of this batch has ended. */
export interface SettledHold {
  readonly account: string
  readonly amount: bigint
  readonly claim: string | null
  readonly entryId: bigint
  readonly limits: readonly LimitUse[]
}

export interface ReleasedHold {
  readonly account: string
  readonly amount: bigint
  readonly limits: readonly LimitUse[]
}

/** What was decided about a hold. `amount` includes its steps. */
export type OpenedHold = Pick<HoldRow, 'amount' | 'claim' | 'limits' | 'steps'>

/** The rows of holds and their claims. The caller changes the balances. */
export interface HoldRows {
  read(id: string, now: bigint): HoldRow | undefined
  /** Returns the sum of an account's overdue holds that have not been swept. */
  overdue(account: string, now: bigint): bigint
  /** Returns the part of a bucket's period that such holds hold. */
  overdueLimit(bucket: string, startsAt: number, now: bigint): bigint
  /** Returns false, and changes nothing, if a hold with this id exists. */
  insertOpen(command: HoldCommand, opened: OpenedHold, now: bigint, process: string | null): boolean
  /** Like {@link insertOpen}, for an unknown hold, so that it is refused if it arrives later. */
  insertReleased(id: string, account: string, now: bigint): boolean
  /** Like {@link insertReleased}. */
  insertSettled(id: string, account: string, entryId: bigint, now: bigint): boolean
  /** Releases a hold that is open and not overdue. Returns the freed amount. */
  releaseOpen(id: string, now: bigint): ReleasedHold | undefined
  /** Releases a hold that is replaced by another one, which then accounts for its parts of buckets. */
  releaseReplaced(id: string, now: bigint): void
  /** Settles the open holds of `ids`. The hold at index n gets the entry `firstEntryId + n`. Returns them by id. */
  settleOpen(ids: readonly string[], firstEntryId: bigint, now: bigint): ReadonlyMap<string, SettledHold>
  settle(id: string, entryId: bigint, now: bigint): void
  /** Returns the hold, other than `except`, that has the claim. */
  claimHolder(claim: string, except: string | null, now: bigint): HoldRow | undefined
  giveClaim(claim: string, id: string): void
}

const { open, released, settled } = HOLD_STATE

export function createHoldRows(connection: Connection): HoldRows {
  const sql = prepareStatements(connection)

  function read(id: string, now: bigint): HoldRow | undefined {
    const cells = sql.read.first([id])
    if (cells === undefined) return undefined
    const state = Number(cells[2])
    return {
      account: cells[0] as string,
      amount: cells[1] as bigint,
      state,
      isOver: state !== open || (cells[3] as bigint) <= now,
      claim: cells[4] as string | null,
      replaces: cells[5] as string | null,
      entryId: cells[6] as bigint | null,
      limits: readLimits(cells[7] as string | null),
      steps: cells[8] === null ? null : Number(cells[8]),
    }
  }

  return {
    read,
    overdue: (account, now) => sql.overdue.first([account, now])![0] as bigint,
    overdueLimit: (bucket, startsAt, now) =>
      sql.overdueLimit.first([now, bucket, BigInt(startsAt)])![0] as bigint,
    insertOpen({ holdId, account, ttlMs, replaces, facts }, { amount, claim, limits, steps }, now, process) {
      const expiresAt = now + BigInt(ttlMs)
      const cell = limits.length === 0 ? null : JSON.stringify(toLimitCells(limits))
      const taken = steps === null ? null : BigInt(steps)
      const cells = [holdId, account, amount, expiresAt, claim, replaces, facts, cell, process, taken]
      return sql.insertOpen.run(cells) === 1
    },
    insertReleased: (id, account, now) => sql.insertReleased.run([id, account, now]) === 1,
    insertSettled: (id, account, entryId, now) => sql.insertSettled.run([id, account, now, entryId]) === 1,
    releaseOpen(id, now) {
      const cells = sql.releaseOpen.first([now, id])
      if (cells === undefined) return undefined
      const [account, amount, limits] = cells as [string, bigint, string | null]
      return { account, amount, limits: readLimits(limits) }
    },
    releaseReplaced: (id, now) => void sql.releaseReplaced.run([now, id]),
    settleOpen(ids, firstEntryId, now) {
      const first = Number(firstEntryId)
      if (ids.length > FEW_ROWS) {
        const pairs = ids.map((id, index) => [id, first + index])
        const rows = sql.settleMany.rows([now, JSON.stringify(pairs)])
        return new Map(rows.map((row) => [row.id as string, toSettledHold(row)]))
      }
      const ended = new Map<string, SettledHold>()
      for (const [index, id] of ids.entries()) {
        const entryId = BigInt(first + index)
        const cells = sql.settleOpen.first([now, entryId, id])
        if (cells === undefined) continue
        const [account, amount, claim, limits] = cells as [string, bigint, string | null, string | null]
        ended.set(id, { account, amount, claim, entryId, limits: readLimits(limits) })
      }
      return ended
    },
    settle: (id, entryId, now) => void sql.settle.run([now, entryId, id]),
    claimHolder(claim, except, now) {
      const id = sql.claimHolder.first([claim])?.[0] as string | undefined
      if (id === undefined || id === except) return undefined
      const holder = read(id, now)
      return holder !== undefined && (holder.state === settled || !holder.isOver) ? holder : undefined
    },
    giveClaim: (claim, id) => void sql.giveClaim.run([claim, id]),
  }
}

function toSettledHold(row: Row): SettledHold {
  const { account, amount, claim, entryId, limits } = row as Omit<SettledHold, 'limits'> & {
    limits: string | null
  }
  return { account, amount, claim, entryId, limits: readLimits(limits) }
}

const NO_LIMITS: readonly LimitUse[] = []

function readLimits(cell: string | null): readonly LimitUse[] {
  return cell === null ? NO_LIMITS : readLimitCells(JSON.parse(cell) as LimitCells)
}

function prepareStatements(connection: Connection) {
  return {
    read: connection.prepare(
      'select account, amount, state, expires_at, claim, replaces, entry_id, limits, steps from {holds} where id = ?1',
    ),
    overdue: connection.prepare(
      `select coalesce(sum(amount), 0) from {holds} indexed by compat_holds_due
       where state = ${open} and account = ?1 and expires_at <= ?2`,
    ),
    overdueLimit: connection.prepare(
      `select coalesce(sum(cast(l.value ->> 3 as integer)), 0)
       from {holds} h indexed by compat_holds_due, json_each(h.limits) l
       where h.state = ${open} and h.expires_at <= ?1
         and l.value ->> 0 = ?2 and l.value ->> 1 <> 'requests' and l.value ->> 2 = ?3`,
    ),
    insertOpen: connection.prepare(
      `insert into {holds} (id, account, amount, state, expires_at, claim, replaces, facts, limits, process, steps)
       values (?1, ?2, ?3, ${open}, ?4, ?5, ?6, ?7, ?8, ?9, ?10) on conflict do nothing`,
    ),
    insertReleased: connection.prepare(
      `insert into {holds} (id, account, amount, state, expires_at, ended_at)
       values (?1, ?2, 0, ${released}, ?3, ?3) on conflict do nothing`,
    ),
    insertSettled: connection.prepare(
      `insert into {holds} (id, account, amount, state, expires_at, ended_at, entry_id)
       values (?1, ?2, 0, ${settled}, ?3, ?3, ?4) on conflict do nothing`,
    ),
    releaseOpen: connection.prepare(
      `update {holds} set state = ${released}, ended_at = ?1 where id = ?2 and state = ${open} and expires_at > ?1
       returning account, amount, limits`,
    ),
    releaseReplaced: connection.prepare(
      `update {holds} set state = ${released}, ended_at = ?1, limits = null where id = ?2`,
    ),
    settleOpen: connection.prepare(
      `update {holds} set state = ${settled}, ended_at = ?1, entry_id = ?2 where id = ?3 and state = ${open}
       returning account, amount, claim, limits`,
    ),
    // The plus keeps the planner from scanning all open holds through their index.
    settleMany: connection.prepare(
      `update {holds} set state = ${settled}, ended_at = ?1, entry_id = s.value ->> 1 from json_each(?2) s
       where {holds}.id = s.value ->> 0 and +state = ${open}
       returning {holds}.id, account, amount, claim, entry_id as "entryId", limits`,
    ),
    settle: connection.prepare(
      `update {holds} set state = ${settled}, ended_at = ?1, entry_id = ?2 where id = ?3`,
    ),
    claimHolder: connection.prepare('select hold_id from {claims} where claim = ?1'),
    giveClaim: connection.prepare(
      `insert into {claims} (claim, hold_id) values (?1, ?2)
       on conflict (claim) do update set hold_id = excluded.hold_id`,
    ),
  }
}

/** Expires at most `limit` overdue holds and returns them. Deletes unused buckets. */
export function expireHolds(connection: Connection, limit: number): readonly Row[] {
  return connection.transaction(() => {
    const now = BigInt(Date.now())
    const accounts = createAccounts(connection, now)
    const buckets = createBuckets(connection)
    const due = connection
      .prepare(
        `select id, account, amount, facts, limits from {holds} indexed by compat_holds_due
         where state = ${HOLD_STATE.open} and expires_at <= ?1 order by expires_at limit ?2`,
      )
      .rows([now, BigInt(limit)])
    const end = connection.prepare(
      `update {holds} set state = ${HOLD_STATE.expired}, ended_at = ?1 where id = ?2`,
    )
    for (const row of due) {
      end.run([now, row.id])
      accounts.change(row.account as string, 0n, -(row.amount as bigint))
      giveBack(buckets, readLimits(row.limits as string | null))
    }
    accounts.write()
    buckets.write()
    connection.prepare('delete from {limit_buckets} where ends_at < ?1').run([now - BigInt(KEEP_BUCKET_MS)])
    return due
  })
}
