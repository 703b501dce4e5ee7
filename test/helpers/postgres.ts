import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { askDatabases } from './ask-databases.js'
import { createDatabase, createPool, dropDatabase, isRefusedCopy, migrate } from './postgres-databases.js'

export { createPool }

/** A separate database on the server that all tests share. */
export interface TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  /** Closes the pool and drops the database. */
  drop(): Promise<void>
}

export async function createTestDatabase(options?: string): Promise<TestDatabase> {
  return createOn(await findServer(), options)
}

function findServer(): Promise<string> {
  return askDatabases(inject('databases'), '/postgres')
}

async function createOn(server: string, options?: string): Promise<TestDatabase> {
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

/** A database that has the package's tables already. If the server refuses to copy them, they are made by a migration. */
export async function createMigratedDatabase(server?: string): Promise<TestDatabase> {
  const template = await findTemplate()
  const place = server ?? (await findServer())
  // Copying files ends in a checkpoint, which is slow on a server that waits for its disk.
  const strategy = process.env.DATABASE_URL ? '' : 'strategy file_copy'
  try {
    return await createOn(place, `template ${template} ${strategy}`)
  } catch (error) {
    if (!isRefusedCopy(error)) throw error
    const database = await createOn(place)
    await migrate(database.pool)
    return database
  }
}

/** A connection for one test, which ends with the test in any case. */
export async function connectTo({ url }: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  onTestFinished(() => client.end())
  await client.connect()
  return client
}
