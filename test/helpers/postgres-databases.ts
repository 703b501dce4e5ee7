import { randomBytes } from 'node:crypto'
import pg from 'pg'

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

export function dropDatabase(server: string, name: string): Promise<void> {
  return runOnce(server, `drop database if exists ${name} with (force)`)
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
