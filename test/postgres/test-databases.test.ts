import { randomBytes } from 'node:crypto'
import { expect, inject, it, onTestFinished } from 'vitest'
import { askDatabases } from '../helpers/ask-databases.js'
import { createMigratedDatabase, createPool, findTemplate } from '../helpers/postgres.js'
import { mayCreateDatabases } from '../helpers/postgres-databases.js'

/** The address of the shared server for a new role, which ends with the test. */
async function createRole(rights: string): Promise<string> {
  const server = await askDatabases(inject('databases'), '/postgres')
  const name = `compat_test_role_${randomBytes(6).toString('hex')}`
  const pool = createPool(server, 1)
  await pool.query(`create role ${name} login password 'test' ${rights}`)
  onTestFinished(async () => {
    await pool.query(`drop role ${name}`)
    await pool.end()
  })
  const url = new URL(server)
  url.username = name
  url.password = 'test'
  return url.href
}

it('a database for tests is migrated if its role may not copy the one that was migrated', async () => {
  const { pool, drop } = await createMigratedDatabase(await createRole('createdb'))
  onTestFinished(drop)
  const { rows } = await pool.query("select to_regclass('compat_router.accounts') is not null as has")
  expect(rows).toEqual([{ has: true }])
})

it('a database for tests has the tables of the package, and is not the one that was migrated', async () => {
  const { pool, drop } = await createMigratedDatabase()
  onTestFinished(drop)
  const { rows } = await pool.query(
    "select current_database() <> $1 as is_other, to_regclass('compat_router.accounts') is not null as has",
    [await findTemplate()],
  )
  expect(rows).toEqual([{ is_other: true, has: true }])
})

it('tests notice whether a role may create databases', async () => {
  expect(await mayCreateDatabases(await createRole('createdb'))).toBe(true)
  expect(await mayCreateDatabases(await createRole('nocreatedb'))).toBe(false)
  expect(await mayCreateDatabases(await askDatabases(inject('databases'), '/postgres'))).toBe(true)
})
