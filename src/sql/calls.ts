import { ownerOfCall } from '../contracts/calls.js'
import type { CallStore, DroppedCalls, KeptCall } from '../contracts/index.js'
import { CALL_COLUMNS, toCallCells } from './call-rows.js'
import type { Parameter, SqlDatabase, Statement } from './database.js'
import { createGroupCommit, type FaultKind } from './group-commit.js'
import { findCall, readCalls } from './read-calls.js'
import { callHost } from './watchers.js'

/** The connection on which calls are written. No money waits for it. */
export interface CallsConnection {
  /** Inserts rows in one transaction. */
  insert(insertion: Insertion): Promise<void>
  /** Runs one statement and returns the number of its rows. */
  run(statement: Statement): Promise<number>
}

/** Rows to insert into a table. In `onConflict`, the table is called `known`. */
export interface Insertion {
  readonly table: string
  readonly columns: Readonly<Record<string, 'text' | 'bigint'>>
  readonly onConflict: string
  /** A cell for each column, in the same order. */
  readonly rows: readonly (readonly Parameter[])[]
}

export interface SqlCallsOptions {
  readonly database: SqlDatabase
  readonly connection: CallsConnection
  readonly faultOf: (error: unknown) => FaultKind
  /** How long calls are kept. */
  readonly keepMs: number
  /** The most rows of one transaction. */
  readonly maxRows: number
}

export interface SqlCalls extends CallStore {
  /** Writes the waiting calls, for at most five seconds. */
  close(): Promise<void>
}

interface Waiting {
  readonly call: KeptCall
  readonly cells: readonly Parameter[]
}

/** How many calls may wait to be written. Further ones are dropped. */
const MAX_WAITING = 10_000
/** Calls are gathered for this long before they are written. */
const GATHER_MS = 100
/** A pause after each transaction, in which others get the lock of a file. */
const PAUSE_MS = 5
/** How long a call is retried if the database fails. */
const PATIENCE_MS = 10_000
const CLOSE_MS = 5_000
/** Drops are reported at most this often. */
const REPORT_MS = 5_000
/** How often old calls are deleted, at least, and how many rows at a time. */
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
  /** Calls that are not written yet, by their ids. */
  const waiting = new Map<string, KeptCall>()
  const uses = createUses(connection)
  const drops = createDrops()
  const writes = createGroupCommit<Waiting, undefined>({
    apply: write,
    faultOf: options.faultOf,
    maxCommands: maxRows,
    patienceMs: PATIENCE_MS,
  })
  let gathered: Waiting[] = []
  let gathering: NodeJS.Timeout | undefined
  let pruning: NodeJS.Timeout | undefined
  let isPruning = false
  let closesBy = Infinity

  async function write(batch: readonly Waiting[]): Promise<readonly undefined[]> {
    if (performance.now() > closesBy) throw new Error('The store was closed before all calls were written')
    await connection.insert({
      table: 'calls',
      columns: CALL_COLUMNS,
      onConflict: 'on conflict (id) do nothing',
      rows: batch.map(({ cells }) => cells),
    })
    await uses.write(batch.map(({ call }) => call))
    await pause(PAUSE_MS)
    return batch.map(() => undefined)
  }

  function flush(): void {
    gathering = undefined
    const batch = gathered
    gathered = []
    for (const item of batch) {
      const { id } = item.call
      writes.add(item).then(
        () => waiting.delete(id),
        (error: unknown) => {
          waiting.delete(id)
          drops.add(error)
        },
      )
    }
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
        if (count < PRUNE_ROWS || closesBy !== Infinity) return
        await pause(PAUSE_MS)
      }
    } catch {
      // They are deleted the next time.
    } finally {
      isPruning = false
    }
  }

  return {
    record(call) {
      if (waiting.size >= MAX_WAITING || closesBy !== Infinity) {
        drops.add(undefined)
        return
      }
      let cells: readonly Parameter[]
      try {
        cells = toCallCells(call)
      } catch (error) {
        drops.add(error)
        return
      }
      waiting.set(call.id, call)
      gathered.push({ call, cells })
      gathering ??= setTimeout(flush, GATHER_MS)
      pruning ??= setInterval(() => void prune(), Math.min(PRUNE_MS, keepMs)).unref()
    },
    async find(account, id) {
      const isOwn = (call: KeptCall): boolean =>
        account === undefined || ownerOfCall(call)?.account === account
      const unwritten = waiting.get(id)
      if (unwritten !== undefined && isOwn(unwritten)) return unwritten
      let newest: KeptCall | undefined
      for (const call of waiting.values()) {
        if (call.requestId === id && isOwn(call) && !(newest !== undefined && newest.at > call.at))
          newest = call
      }
      return newest ?? findCall(database, account, id)
    },
    list: async (query) => readCalls(database, query),
    watchDropped: drops.watch,
    async close() {
      if (closesBy === Infinity) closesBy = performance.now() + CLOSE_MS
      clearTimeout(gathering)
      clearInterval(pruning)
      flush()
      await writes.close()
      drops.report()
    },
  }
}

/** Writes the minute of each credential's last use. */
function createUses(connection: CallsConnection): { write(calls: readonly KeptCall[]): Promise<void> } {
  const written = new Map<string, number>()
  return {
    async write(calls) {
      const latest = new Map<string, number>()
      for (const call of calls) {
        const credentialId = ownerOfCall(call)?.credentialId
        if (credentialId === undefined || call.status === UNAUTHENTICATED_STATUS) continue
        const minute = Math.floor(call.at / MINUTE_MS) * MINUTE_MS
        const known = latest.get(credentialId) ?? written.get(credentialId) ?? -Infinity
        if (minute > known) latest.set(credentialId, minute)
      }
      if (latest.size === 0) return
      await connection.insert({
        table: 'credential_uses',
        columns: { credential_id: 'text', last_used_at: 'bigint' },
        onConflict: `on conflict (credential_id) do update set last_used_at = excluded.last_used_at
          where known.last_used_at < excluded.last_used_at`,
        // In one order, since processes that lock rows in different orders may wait for each other.
        rows: [...latest]
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([id, at]) => [id, BigInt(at)]),
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
    add(error: unknown): void {
      count++
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
