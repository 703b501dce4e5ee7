import { z } from 'zod'
import { optionsSchema, readOptions, withMethods } from '../rules/read-options.js'
import { mustBe } from '../rules/schema-faults.js'
import { type CallsConnection, createSqlCalls } from '../sql/calls.js'
import { readNumber } from '../sql/cells.js'
import type { FaultKind } from '../sql/group-commit.js'
import { createSqlLedger } from '../sql/ledger.js'
import type { LedgerCommand, LedgerOutcome } from '../sql/ledger-commands.js'
import { createProcesses } from '../sql/processes.js'
import {
  behindReporter,
  clearReporter,
  createDurableStores,
  type DurableStores,
  type DurableStoresOptions,
  durableSchemas,
  KEEP_CALLS_MS,
  reporter,
} from '../sql/stores.js'
import { createTotalsFolder, FOLD_MS } from '../sql/totals-folder.js'
import { fromLines, toArray, toLines } from './arrays.js'
import { createPostgresDatabase } from './database.js'
import { isProcessGone, postgresFault } from './faults.js'
import { createGate, type Gate } from './gate.js'
import { rowsOf, toLedgerBatch } from './ledger-batch.js'
import { createListener } from './listener.js'
import { migrate } from './migrations.js'
import { hearNewConnections, type PostgresPool } from './pool.js'
import { createQueries, type Queries } from './query.js'
import { createRowQueues } from './row-queues.js'

export interface PostgresStoresOptions extends DurableStoresOptions {
  /** The schema of all tables and functions, `compat_router` by default. Created if it does not exist. */
  readonly schema?: string
  /**
   * Another pool for the one connection that listens for changes, if `pool` reaches the server through a pooler in
   * transaction mode: directly, or through a pooler in session mode. One connection is enough. The host closes it.
   */
  readonly listenPool?: PostgresPool
  /**
   * A pool of a streaming replica, for `admin.reports.spend` and `spendReport`, which says how far it is behind. Everything
   * else runs on the first pool. One connection is enough. The host closes it.
   */
  readonly reportsPool?: PostgresPool
}

const MAX_COMMANDS = 1_000
/** The default of a pool of `pg`. */
const DEFAULT_CONNECTIONS = 10
/** Two for the ledger, and one each for the listener, a report and kept calls. */
const OTHER_CONNECTIONS = 5
const MAX_CALLS = 500
const PATIENCE_MS = 10_000
const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,39}$/

const SCHEMA = '1 to 40 characters of a-z, 0-9 and _, not starting with a digit'
const poolSchema = withMethods<PostgresPool>('connect')
const storesSchema = optionsSchema<PostgresStoresOptions>({
  schema: z.string(mustBe(SCHEMA)).regex(SCHEMA_PATTERN, `must be ${SCHEMA}`).optional(),
  listenPool: poolSchema.optional(),
  reportsPool: poolSchema.optional(),
  ...durableSchemas,
})

/**
 * Creates all stores in one PostgreSQL schema, for any number of processes and machines. `pool` is a `Pool` of `pg`, or
 * any object with its `connect`. The host closes it. Two connections are reserved for the ledger, one listens for
 * changes while there are watches, one runs reports, and one writes kept calls. Look-ups and admin functions share the
 * others. In a pool of fewer than six, they take turns with kept calls, and of fewer than five, with the ledger. The
 * pool needs at least two connections, or three with reports.
 */
export function postgresStores(pool: PostgresPool, given: PostgresStoresOptions = {}): DurableStores {
  return createPostgresStores(pool, given)
}

/**
 * Like {@link postgresStores}. For tests, `pollMs` shortens the time after which a process counts as dead, and `foldMs` that
 * between two rounds of adding to the totals; null for no rounds.
 */
export function createPostgresStores(
  pool: PostgresPool,
  given: PostgresStoresOptions,
  pollMs?: number,
  foldMs: number | null = FOLD_MS,
): DurableStores {
  readOptions(poolSchema, pool, 'postgresStores', { field: 'pool' })
  const {
    schema = 'compat_router',
    listenPool = pool,
    reportsPool = pool,
    ...options
  } = readOptions(storesSchema, given, 'postgresStores')
  const stopHearing = [...new Set([pool, listenPool, reportsPool])].map(hearNewConnections)
  // However many look-ups there are, a connection is left for the ledger.
  const { rows, calls: callGate } = createGates(pool)
  const queries = createQueries(pool, schema, rows)
  const ledgerQueries = createQueries(pool, schema)
  const report = reporter(options)
  const listener = createListener({
    pool: listenPool,
    queries: ledgerQueries,
    onLost: (why) => report({ type: 'watch-lost', why }),
    onRestored: (afterMs) => report({ type: 'watch-restored', afterMs }),
  })
  let migrated: Promise<void> | undefined
  let isClosed = false

  async function ready(): Promise<void> {
    if (isClosed) throw new Error('The store is closed')
    if (migrated === undefined) {
      const attempt = migrate(queries)
      migrated = attempt
      attempt.catch(() => {
        migrated = undefined
      })
    }
    return migrated
  }

  const replica = reportsPool === pool ? undefined : createQueries(reportsPool, schema)
  const database = createPostgresDatabase(queries, listener, ready, replica)
  const ledgerDatabase = createPostgresDatabase(ledgerQueries, listener, ready)
  const processes = createProcesses({
    database: ledgerDatabase,
    async clear(id, beat) {
      await ready()
      const [row] = await ledgerQueries.transaction((run) =>
        run({ text: 'select * from {clear_process_1}(?1, ?2)', parameters: [id, beat ?? null] }),
      )
      return row && { holds: readNumber(row, 'holds'), leases: readNumber(row, 'leases') }
    },
    onCleared: clearReporter(options),
    pollMs,
  })
  const groupCommit = createRowQueues<LedgerCommand, LedgerOutcome>({
    async apply(commands, awaited) {
      await ready()
      const process = await processes.current()
      const batch = toLedgerBatch(commands, process, awaited)
      try {
        const outcomes = batch.read(await ledgerQueries.run(batch.statement))
        if (batch.hasSettlements) folder.wrote()
        return outcomes
      } catch (error) {
        if (process !== undefined && isProcessGone(error)) processes.gone(process)
        throw error
      }
    },
    faultOf: postgresFault,
    rowsOf,
    conflicts: {
      keysOf: (command) =>
        command.kind === 'hold' && command.replaces !== null
          ? [command.holdId, command.replaces]
          : [command.holdId],
      // Holds run in order within a batch. Any other two commands on one hold need separate batches.
      alike: (first, second) => first.kind === 'hold' && second.kind === 'hold',
    },
    maxCommands: MAX_COMMANDS,
    patienceMs: PATIENCE_MS,
  })
  const callQueries = createQueries(pool, schema, callGate)
  const folder = createTotalsFolder({
    // Steps that take seconds take turns with reports.
    database: {
      ...database,
      all: (statement) => (statement.isReport ? database.all(statement) : callQueries.run(statement)),
    },
    onBehind: behindReporter(options),
    everyMs: foldMs,
  })
  const ledger = createSqlLedger({
    database,
    settlementReads: ledgerDatabase,
    groupCommit,
    async expire(limit) {
      await ready()
      return ledgerQueries.transaction((run) =>
        run({ text: 'select * from {expire_holds_1}(?1)', parameters: [BigInt(limit)] }),
      )
    },
    keepHolds: processes.keep,
  })
  const calls = createSqlCalls({
    database,
    connection: createCallsConnection(callQueries, ready),
    faultOf: callFault,
    keepMs: options.keepCallsMs ?? KEEP_CALLS_MS,
    maxRows: MAX_CALLS,
  })
  return createDurableStores({
    options,
    calls,
    database,
    ledger,
    ready,
    processes,
    async close() {
      await Promise.all([groupCommit.close(), calls.close()])
      await folder.close()
      await processes.close()
      isClosed = true
      await listener.close()
      for (const stop of stopHearing) stop()
    },
  })
}

/** Limits the connections of look-ups and admin functions, and of kept calls. In a small pool, they take turns. */
function createGates(pool: PostgresPool): { readonly rows: Gate; readonly calls: Gate } {
  const { max = DEFAULT_CONNECTIONS } = pool.options ?? {}
  const rows = createGate(Math.max(1, max - OTHER_CONNECTIONS))
  return { rows, calls: max > OTHER_CONNECTIONS ? createGate(1) : rows }
}

/** A lock on the table is a passing fault, since none of its rows is locked for long. */
function callFault(error: unknown): FaultKind {
  const kind = postgresFault(error)
  return kind === 'locked' ? 'transient' : kind
}

/** Writes calls on a connection that no other statement waits for. */
function createCallsConnection(queries: Queries, ready: () => Promise<void>): CallsConnection {
  return {
    async insert({ table, types, onConflict, columns }) {
      await ready()
      const names = Object.keys(types)
      const arrays = names.map((name, index) =>
        types[name] === 'json' ? fromLines(`?${index + 1}`) : `?${index + 1}::${types[name]}[]`,
      )
      await queries.run({
        text: `insert into {${table}} as known (${names.join(', ')})
          select * from unnest(${arrays.join(', ')}) ${onConflict}`,
        parameters: names.map((name, index) =>
          types[name] === 'json' ? toLines(columns[index]!) : toArray(columns[index]!),
        ),
      })
    },
    async run(statement) {
      await ready()
      return (await queries.run(statement)).length
    },
  }
}
