import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { askDatabases } from './ask-databases.js'

/** A separate database on the server that all tests share. */
export interface TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  /** Closes the pool and drops the database. */
  drop(): Promise<void>
}

export async function createTestDatabase(options = ''): Promise<TestDatabase> {
  const server = await askDatabases(inject('databases'), '/postgres')
  const name = `compat_test_${randomBytes(6).toString('hex')}`
  await runOnce(server, `create database ${name} ${options}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const pool = createPool(url.href)
  return {
    url: url.href,
    pool,
    async drop() {
      if (!pool.ended) await pool.end()
      await runOnce(server, `drop database if exists ${name} with (force)`)
    },
  }
}

/**
 * A pool that survives the loss of its idle connections. It must do so even after it has ended: it reports
 * the end before its connections are closed, and then the database is dropped.
 */
export function createPool(url: string, max = 10, options?: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, options })
  pool.on('error', () => undefined)
  return pool
}

/** A connection for one test, which ends with the test in any case. */
export async function connectTo({ url }: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  onTestFinished(() => client.end())
  await client.connect()
  return client
}

async function runOnce(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
