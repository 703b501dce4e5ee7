import { afterAll, beforeAll } from 'vitest'
import { createPostgresStores } from '../../src/postgres/stores.js'
import type { DurableStores, DurableStoresOptions } from '../../src/sql/stores.js'
import { createSqliteStores } from '../../src/sqlite/stores.js'
import { createTestDatabase, type TestDatabase } from './postgres.js'
import { createTestFile, type TestFile } from './sqlite.js'

/** One of the durable engines, with a location for databases. */
export interface Engine {
  readonly name: 'SQLite' | 'PostgreSQL'
  /**
   * Stores of an unused database. The same `database` again gives the view of another process. `pollMs` shortens the time
   * after which a process counts as dead.
   */
  open(database: string, options?: DurableStoresOptions, pollMs?: number): DurableStores
}

export const engineNames = ['SQLite', 'PostgreSQL'] as const

/** Sets up an engine for a test file's `describe`, and removes it afterwards. */
export function useEngine(name: Engine['name']): Engine {
  let file: TestFile
  let server: TestDatabase
  const opened: DurableStores[] = []

  beforeAll(async () => {
    if (name === 'SQLite') file = await createTestFile()
    else server = await createTestDatabase()
  })
  afterAll(async () => {
    await Promise.all(opened.map((stores) => stores.close()))
    if (name === 'SQLite') file.remove()
    else await server.drop()
  })
  return {
    name,
    open(database, options = {}, pollMs) {
      const stores =
        name === 'SQLite'
          ? createSqliteStores({ file: `${file.file}-${database}`, ...options }, pollMs)
          : createPostgresStores(server.pool, { schema: database, ...options }, pollMs)
      opened.push(stores)
      return stores
    },
  }
}
