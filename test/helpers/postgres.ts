import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { askDatabases } from './ask-databases.js'
import { createDatabase, createPool, dropDatabase } from './postgres-databases.js'

export { createPool }

/** A separate database on the server that all tests share. */
export interface TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  /** Closes the pool and drops the database. */
  drop(): Promise<void>
}

export async function createTestDatabase(options?: string): Promise<TestDatabase> {
  const server = await askDatabases(inject('databases'), '/postgres')
  const { name, url } = await createDatabase(server, options)
  const pool = createPool(url)
  return {
    url,
    pool,
    async drop() {
      if (!pool.ended) await pool.end()
      await dropDatabase(server, name)
    },
  }
}

/** Starts the server and migrates a database on it, unless another file has done so. Returns the name of that database. */
export function findTemplate(): Promise<string> {
  return askDatabases(inject('databases'), '/template')
}

/** A database that has the package's tables already. */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  const template = await findTemplate()
  // Copying files ends in a checkpoint, which is slow on a server that waits for its disk.
  const strategy = process.env.DATABASE_URL ? '' : 'strategy file_copy'
  return createTestDatabase(`template ${template} ${strategy}`)
}

/** A connection for one test, which ends with the test in any case. */
export async function connectTo({ url }: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  onTestFinished(() => client.end())
  await client.connect()
  return client
}
