import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresStores } from '../../src/postgres/index.js'

/**
 * A pool that survives the loss of its idle connections. It must do so even after it has ended: it reports
 * the end before its connections are closed, and then the database is dropped.
 */
export function createPool(url: string, max = 10, options?: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, options, idleTimeoutMillis: 2_000 })
  pool.on('error', () => undefined)
  return pool
}

/** A new database on the server, with the options of `create database`. */
export async function createDatabase(
  server: string,
  options = '',
): Promise<{ readonly name: string; readonly url: string }> {
  const name = `compat_test_${randomBytes(6).toString('hex')}`
  await runOnce(server, `create database ${name} ${options}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { name, url: url.href }
}

export async function dropDatabase(server: string, name: string): Promise<void> {
  await runOnce(server, `drop database if exists ${name} with (force)`)
}

/** Makes the package's tables. */
export async function migrate(pool: pg.Pool): Promise<void> {
  const stores = postgresStores(pool)
  await stores.ready()
  await stores.close()
}

/** Whether the role of this address may create databases. */
export async function mayCreateDatabases(server: string): Promise<boolean> {
  const { rows } = await runOnce(
    server,
    'select rolcreatedb or rolsuper as may from pg_catalog.pg_roles where rolname = current_user',
  )
  return rows[0]?.may === true
}

/** Whether the server does not let a role copy this database, or not while others are connected to it. */
export function isRefusedCopy(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '42501' || error.code === '55006')
}

async function runOnce(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}
