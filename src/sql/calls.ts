import type { CallStore, DroppedCalls } from '../contracts/index.js'
import { CALL_COLUMNS, type ColumnType, toCallCells } from './call-rows.js'
import type { Parameter, SqlDatabase, Statement } from './database.js'
import type { FaultKind } from './group-commit.js'
import { findCall, readCalls } from './read-calls.js'
import { WaitingCalls } from './waiting-calls.js'
import { callHost } from './watchers.js'

/** The connection on which calls are written. No posting waits for it. */
export interface CallsConnection {
  /** Inserts rows in one transaction. */
  insert(insertion: Insertion): Promise<void>
  /** Runs one statement and returns the number of its rows. */
  run(statement: Statement): Promise<number>
}

/** Rows to insert into a table. In `onConflict`, the table is called `known`. */
export interface Insertion {
  readonly table: string
  /** Types by column name. */
  readonly types: Readonly<Record<string, ColumnType>>
  readonly onConflict: string
  /** The cells of all rows, grouped by column in the same order. */
  readonly columns: readonly (readonly Parameter[])[]
}

export interface SqlCallsOptions {
  readonly database: SqlDatabase
  readonly connection: CallsConnection
  readonly faultOf: (error: unknown) => FaultKind
  /** How long calls are kept. */
  readonly keepMs: number
  /** The maximum number of rows in one transaction. */
  readonly maxRows: number
}

export interface SqlCalls extends CallStore {
  /** Writes the waiting calls, for at most five seconds. */
  close(): Promise<void>
}

/** The maximum number of calls that wait to be written. Further ones are dropped. */
const MAX_WAITING = 10_000
/** Calls are gathered for this long before they are written, unless they fill a transaction earlier. */
const GATHER_MS = 100
/** A pause after each transaction, in which others get the lock of a file. */
const PAUSE_MS = 5
/** How long a call is retried if the database fails, with the pauses between the tries. */
const PATIENCE_MS = 10_000
const FIRST_RETRY_MS = 20
const LONGEST_RETRY_MS = 1_000
const CLOSE_MS = 5_000
/** Drops are reported at most this often. */
const REPORT_MS = 5_000
/** How often old calls are deleted at least, and how many rows at a time. */
const PRUNE_MS = 60_000
const PRUNE_ROWS = 500
const MINUTE_MS = 60_000
/** How many credentials are remembered with the minute of their last use. */
const MAX_USES = 10_000
const UNAUTHENTICATED_STATUS = 401

/**
 * Keeps calls in a table that no balance depends on. They are gathered and written in batches, on a connection of their
 * own. If the database cannot keep up, calls are dropped and counted.
 */
export function createSqlCalls(options: SqlCallsOptions): SqlCalls {
  const { connection, database, keepMs, maxRows } = options
  /** Includes the calls that are being written. */
  const waiting = WaitingCalls.none()
  const uses = createUses(connection)
  const drops = createDrops()
  let gathering: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  let pruning: NodeJS.Timeout | undefined
  let isPruning = false
  let closesBy = Infinity

  function isClosing(): boolean {
    return closesBy !== Infinity
  }

  function flush(): void {
    clearTimeout(gathering)
    gathering = undefined
    writing ??= writeAll()
  }

  /** Writes the waiting calls. Leaves a few until there are more. */
  async function writeAll(): Promise<void> {
    do {
      const batch = waiting.slice(0, maxRows)
      await write(batch)
      waiting.removeFirst(batch.size)
      await pause(PAUSE_MS)
    } while (waiting.size >= maxRows || (isClosing() && waiting.size > 0))
    writing = undefined
    if (waiting.size > 0) gathering ??= setTimeout(flush, GATHER_MS)
  }

  /** Writes calls in one transaction. If one of them makes it fail, writes each half, until that call fails alone. */
  async function write(batch: WaitingCalls): Promise<void> {
    let left = batch
    let retryMs = FIRST_RETRY_MS
    while (left.size > 0) {
      try {
        await insert(left)
        return
      } catch (error) {
        const kind = options.faultOf(error)
        if (kind === 'one-command' && left.size > 1) {
          const middle = left.size >> 1
          await write(left.slice(0, middle))
          return write(left.slice(middle))
        }
        const isPatient = kind === 'transient' && !isClosing()
        const lost = isPatient ? left.countBefore(performance.now() - PATIENCE_MS) : left.size
        drops.add(lost, error)
        left = left.slice(lost)
        if (left.size > 0) await pause(retryMs)
        retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)
      }
    }
  }

  async function insert(calls: WaitingCalls): Promise<void> {
    if (performance.now() > closesBy) throw new Error('The store was closed before all calls were written')
    await connection.insert({
      table: 'calls',
      types: CALL_COLUMNS,
      onConflict: 'on conflict (id) do nothing',
      columns: calls.columns,
    })
    await uses.write(calls)
  }

  async function prune(): Promise<void> {
    if (isPruning) return
    isPruning = true
    try {
      for (;;) {
        const count = await connection.run({
          text: `delete from {calls} where seq in
            (select seq from {calls} where at < ?1 order by at, seq limit ${PRUNE_ROWS}) returning seq`,
          parameters: [BigInt(Date.now() - keepMs)],
        })
        if (count < PRUNE_ROWS || isClosing()) return
        await pause(PAUSE_MS)
      }
    } catch {
      // Rows that fail to be deleted are deleted the next time.
    } finally {
      isPruning = false
    }
  }

  return {
    record(call) {
      if (waiting.size >= MAX_WAITING || isClosing()) {
        drops.add(1)
        return
      }
      let cells: readonly Parameter[]
      try {
        cells = toCallCells(call)
      } catch (error) {
        drops.add(1, error)
        return
      }
      waiting.add(cells, performance.now())
      if (waiting.size >= maxRows) flush()
      else gathering ??= setTimeout(flush, GATHER_MS)
      pruning ??= setInterval(() => void prune(), Math.min(PRUNE_MS, keepMs)).unref()
    },
    find: async (account, id) => waiting.find(account, id) ?? findCall(database, account, id),
    list: async (query) => readCalls(database, query),
    watchDropped: drops.watch,
    async close() {
      if (!isClosing()) closesBy = performance.now() + CLOSE_MS
      clearInterval(pruning)
      flush()
      await writing
      drops.report()
    },
  }
}

/** Writes the minute of each credential's last use. */
function createUses(connection: CallsConnection): { write(calls: WaitingCalls): Promise<void> } {
  const written = new Map<string, number>()
  return {
    async write(calls) {
      const latest = new Map<string, number>()
      const [times, statuses] = [calls.cellsOf('at'), calls.cellsOf('status')]
      for (const [row, credentialId] of calls.cellsOf('credential_id').entries()) {
        if (typeof credentialId !== 'string' || statuses[row] === UNAUTHENTICATED_STATUS) continue
        const minute = Math.floor(Number(times[row]) / MINUTE_MS) * MINUTE_MS
        const known = latest.get(credentialId) ?? written.get(credentialId) ?? -Infinity
        if (minute > known) latest.set(credentialId, minute)
      }
      if (latest.size === 0) return
      // In a fixed order, since processes that lock rows in different orders may wait for each other.
      const ids = [...latest.keys()].sort()
      await connection.insert({
        table: 'credential_uses',
        types: { credential_id: 'text', last_used_at: 'bigint' },
        onConflict: `on conflict (credential_id) do update set last_used_at = excluded.last_used_at
          where known.last_used_at < excluded.last_used_at`,
        columns: [ids, ids.map((id) => latest.get(id)!)],
      })
      if (written.size + latest.size > MAX_USES) written.clear()
      for (const [id, minute] of latest) written.set(id, minute)
    },
  }
}

/** Counts dropped calls, and reports them together. */
function createDrops() {
  const listeners = new Set<(dropped: DroppedCalls) => void>()
  let count = 0
  let lastError: unknown
  let reporting: NodeJS.Timeout | undefined

  function report(): void {
    clearTimeout(reporting)
    reporting = undefined
    if (count === 0) return
    const dropped: DroppedCalls = lastError === undefined ? { count } : { count, error: lastError }
    count = 0
    lastError = undefined
    if (listeners.size === 0) warn(dropped)
    for (const listener of listeners) callHost('watchDropped', () => listener(dropped))
  }

  return {
    report,
    add(dropped: number, error?: unknown): void {
      if (dropped === 0) return
      count += dropped
      if (error !== undefined) lastError = error
      reporting ??= setTimeout(report, REPORT_MS).unref()
    },
    watch(listener: (dropped: DroppedCalls) => void): () => void {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}

function warn({ count, error }: DroppedCalls): void {
  const why = error instanceof Error ? `: ${error.message}` : ''
  process.emitWarning(`compat-router has not kept ${count} calls${why}`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
