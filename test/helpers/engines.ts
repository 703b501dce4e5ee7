import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import type { PostgresPool } from '../../src/postgres/index.js'
import { createPostgresStores } from '../../src/postgres/stores.js'
import type { DurableStores, DurableStoresOptions } from '../../src/sql/stores.js'
import { foldAccounts, foldTotals } from '../../src/sql/totals.js'
import { createSqliteStores } from '../../src/sqlite/stores.js'
import { createMigratedDatabase, createPool, findTemplate, type TestDatabase } from './postgres.js'
import { createTestFile, type TestFile } from './sqlite.js'

/** One of the durable engines, with a location for databases. */
export interface Engine {
  readonly name: 'SQLite' | 'PostgreSQL'
  /**
   * Stores of an unused database. The same `database` again gives the view of another process. `pollMs` shortens the time
   * after which a process counts as dead. Nothing is added to the totals but by {@link foldAll}, so that a test may change
   * rows, unless `foldMs` is the time between two rounds.
   */
  open(database: string, options?: DurableStoresOptions, pollMs?: number, foldMs?: number): DurableStores
  /** Stores of an empty database that no open stores use, for a file with very many. */
  openEmpty(options?: DurableStoresOptions): Promise<DurableStores>
}

export const engineNames = ['SQLite', 'PostgreSQL'] as const

/** Adds all entries to the totals, as soon as no other process does. */
export async function foldAll({ database }: DurableStores): Promise<void> {
  for (const fold of [async () => (await foldTotals(database)).state, () => foldAccounts(database)]) {
    let state = await fold()
    while (state !== 'done') {
      if (state === 'busy') await delay(10)
      state = await fold()
    }
  }
}

/** As long as a busy machine may need to drop the databases of a file. */
const DROPPING_MS = 300_000

/** Removes all rows of the package's tables. */
const EMPTY = `do $$
  declare
    v_table text;
  begin
    for v_table in
      select format('%I.%I', schemaname, tablename) from pg_catalog.pg_tables
      where schemaname = 'compat_router' and tablename <> 'migrations'
    loop
      execute 'delete from ' || v_table;
    end loop;
  end
$$`

/** Sets up an engine for a test file's `describe`, and removes it afterwards. */
export function useEngine(name: Engine['name']): Engine {
  let file: TestFile
  const databases = new Map<string, Promise<TestDatabase>>()
  const listenPools = new Map<string, pg.Pool>()
  const opened: DurableStores[] = []
  /** Databases of PostgreSQL whose stores are closed. */
  const emptied: string[] = []
  let made = 0

  beforeAll(async () => {
    if (name === 'SQLite') file = await createTestFile()
    // A store waits less long for its pool than a busy machine may need to start a server.
    else await findTemplate()
  })
  afterAll(async () => {
    await Promise.all(opened.map((stores) => stores.close()))
    if (name === 'SQLite') file.remove()
    for (const pool of listenPools.values()) await pool.end()
    for (const database of databases.values()) await (await database).drop()
  }, DROPPING_MS)

  /** Connects to the database as soon as it has been made. */
  function poolOf(database: string): PostgresPool {
    const made = databases.get(database) ?? createMigratedDatabase()
    databases.set(database, made)
    made.catch(() => undefined)
    return { connect: async () => (await made).pool.connect() }
  }

  /** Reaches the server itself, if a pooler in transaction mode is in front of it. */
  function listeningTo(database: string): { readonly listenPool?: PostgresPool } {
    const server = inject('direct')
    if (server === undefined) return {}
    async function connect() {
      const url = new URL(server!)
      url.pathname = new URL((await databases.get(database))!.url).pathname
      const pool = listenPools.get(database) ?? createPool(url.href)
      listenPools.set(database, pool)
      return pool.connect()
    }
    return { listenPool: { connect } }
  }

  function open(
    database: string,
    options: DurableStoresOptions = {},
    pollMs?: number,
    foldMs: number | null = null,
  ): DurableStores {
    const stores =
      name === 'SQLite'
        ? createSqliteStores({ file: `${file.file}-${database}`, ...options }, pollMs, foldMs)
        : createPostgresStores(poolOf(database), { ...options, ...listeningTo(database) }, pollMs, foldMs)
    opened.push(stores)
    return stores
  }

  async function openEmpty(options?: DurableStoresOptions): Promise<DurableStores> {
    const used = emptied.pop()
    const database = used ?? `empty_${made++}`
    if (used !== undefined) await (await databases.get(used))?.pool.query(EMPTY)
    const stores = open(database, options)
    async function close(): Promise<void> {
      await stores.close()
      if (name === 'PostgreSQL') emptied.push(database)
    }
    return { ...stores, close }
  }

  return { name, open, openEmpty }
}
