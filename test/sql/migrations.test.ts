import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { migrate as migratePostgres, postgresMigrations } from '../../src/postgres/migrations.js'
import { createQueries, type Queries } from '../../src/postgres/query.js'
import type { Row } from '../../src/sql/database.js'
import type { Migration } from '../../src/sql/migrations.js'
import { type Connection, openConnection } from '../../src/sqlite/connection.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { migrate as migrateSqlite, sqliteMigrations } from '../../src/sqlite/migrations.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { programFile } from '../helpers/program.js'
import { createTestFile } from '../helpers/sqlite.js'

const APPLIED = 'select version, name from {migrations} order by version'

/** A later migration: it adds a column with a value for existing rows. */
const SECOND: Migration = {
  version: 2,
  name: 'nicknames',
  statements: [
    "alter table {accounts} add column nickname text not null default 'nobody'",
    "update {accounts} set nickname = 'friend of ' || id",
  ],
}
const NICKNAMES = 'select id, nickname from {accounts} order by id'

/** A later migration that fails after its first statement. */
const BROKEN: Migration = {
  version: 2,
  name: 'broken',
  statements: ['create table {halves} (id text)', 'insert into {halves} select id from {nothing}'],
}

async function useFile(): Promise<{ file: string; connect(): Connection }> {
  const place = await createTestFile()
  onTestFinished(() => place.remove())
  return {
    file: place.file,
    connect() {
      const connection = openConnection(place.file)
      onTestFinished(() => connection.close())
      return connection
    },
  }
}

async function useSchema() {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  return { ...database, queries: createQueries(database.pool, 'compat_router') }
}

/** Everything that a SQLite file defines. */
function definitionsOf(connection: Connection): readonly Row[] {
  return connection.prepare('select type, name, sql from sqlite_master order by type, name').rows([])
}

/** All tables, indexes, sequences and functions of a PostgreSQL schema. */
async function objectsOf({ run }: Queries): Promise<readonly Row[]> {
  return run({
    text: `select c.relname as name from pg_catalog.pg_class c where c.relnamespace = 'compat_router'::regnamespace
      union all select p.proname from pg_catalog.pg_proc p where p.pronamespace = 'compat_router'::regnamespace
      order by 1`,
  })
}

it('a second migration of SQLite runs once after the first, and keeps the rows', async () => {
  const { file, connect } = await useFile()
  const stores = sqliteStores({ file })
  await createAdmin(stores).accounts.credit({ account: 'alice', amount: '1' })
  await stores.close()
  const connection = connect()
  const migrations = [...sqliteMigrations, SECOND]
  migrateSqlite(connection, file, migrations)
  migrateSqlite(connect(), file, migrations)
  expect(connection.prepare(APPLIED).rows([])).toEqual([
    { version: 1n, name: 'initial schema' },
    { version: 2n, name: 'nicknames' },
  ])
  expect(connection.prepare(NICKNAMES).rows([])).toContainEqual({ id: 'alice', nickname: 'friend of alice' })
  expect(() => migrateSqlite(connection, file)).toThrow(
    `The SQLite file ${file} has schema version 2, and this release of compat-router knows up to 1: upgrade compat-router`,
  )
})

it('a second migration of PostgreSQL runs once after the first, and keeps the rows', async () => {
  const { pool, queries } = await useSchema()
  const stores = postgresStores(pool)
  await createAdmin(stores).accounts.credit({ account: 'alice', amount: '1' })
  await stores.close()
  const migrations = [...postgresMigrations, SECOND]
  await migratePostgres(queries, migrations)
  await migratePostgres(queries, migrations)
  expect(await queries.run({ text: APPLIED })).toEqual([
    { version: '1', name: 'initial schema' },
    { version: '2', name: 'nicknames' },
  ])
  expect(await queries.run({ text: NICKNAMES })).toContainEqual({ id: 'alice', nickname: 'friend of alice' })
  await expect(migratePostgres(queries)).rejects.toThrow(
    'The schema compat_router has schema version 2, and this release of compat-router knows up to 1: upgrade compat-router',
  )
})

it('a migration of SQLite that fails leaves nothing behind', async () => {
  const { file, connect } = await useFile()
  const connection = connect()
  migrateSqlite(connection, file)
  const before = definitionsOf(connection)
  expect(() => migrateSqlite(connection, file, [...sqliteMigrations, BROKEN])).toThrow('nothing')
  expect(definitionsOf(connection)).toEqual(before)
  migrateSqlite(connection, file, [...sqliteMigrations, SECOND])
  expect(connection.prepare(APPLIED).rows([])).toHaveLength(2)
})

it('a migration of PostgreSQL that fails leaves nothing behind', async () => {
  const { queries } = await useSchema()
  await migratePostgres(queries)
  const before = await objectsOf(queries)
  await expect(migratePostgres(queries, [...postgresMigrations, BROKEN])).rejects.toThrow('nothing')
  expect(await objectsOf(queries)).toEqual(before)
  await migratePostgres(queries, [...postgresMigrations, SECOND])
  expect(await queries.run({ text: APPLIED })).toHaveLength(2)
})

/** The migrations of another history, as an unreleased build might have had them. */
const OTHERS: readonly Migration[] = [
  { version: 1, name: 'first', statements: ['create table {accounts} (id text primary key)'] },
  { version: 2, name: 'more', statements: ['alter table {accounts} add column more text'] },
]

it('a SQLite file with another history is refused, and stays as it was', async () => {
  const { file, connect } = await useFile()
  const connection = connect()
  migrateSqlite(connection, file, OTHERS)
  const before = definitionsOf(connection)
  const stores = sqliteStores({ file })
  await expect(stores.ready()).rejects.toThrow(
    `The SQLite file ${file} was created by an unreleased build of compat-router, whose tables differ: its migration 1 is "first" instead of "initial schema". Use a new database`,
  )
  await stores.close()
  expect(definitionsOf(connection)).toEqual(before)
  expect(connection.prepare(APPLIED).rows([])).toHaveLength(2)
})

it('a PostgreSQL schema with another history is refused, and stays as it was', async () => {
  const { pool, queries } = await useSchema()
  await migratePostgres(queries, OTHERS)
  const before = await objectsOf(queries)
  const stores = postgresStores(pool)
  await expect(stores.ready()).rejects.toThrow(
    'The schema compat_router was created by an unreleased build of compat-router, whose tables differ: its migration 1 is "first" instead of "initial schema". Use a new database',
  )
  await stores.close()
  expect(await objectsOf(queries)).toEqual(before)
  expect(await queries.run({ text: APPLIED })).toHaveLength(2)
})

/** Opens the stores in two processes at the same moment, and returns their exit codes. */
async function openInTwo(engine: 'sqlite' | 'postgres', place: string): Promise<readonly unknown[]> {
  const program = await programFile(new URL('../helpers/ready-process.ts', import.meta.url))
  const children = [0, 1].map(() => fork(program, [engine, place]))
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  await Promise.all(children.map((child) => once(child, 'message')))
  const ended = children.map((child) => once(child, 'exit'))
  for (const child of children) child.send('open')
  return (await Promise.all(ended)).map(([code]) => code)
}

it('two processes that open an empty SQLite file at once make one migration', async () => {
  const { file, connect } = await useFile()
  expect(await openInTwo('sqlite', file)).toEqual([0, 0])
  expect(connect().prepare(APPLIED).rows([])).toEqual([{ version: 1n, name: 'initial schema' }])
})

it('two processes that open an empty PostgreSQL database at once make one migration', async () => {
  const { url, queries } = await useSchema()
  expect(await openInTwo('postgres', url)).toEqual([0, 0])
  expect(await queries.run({ text: APPLIED })).toEqual([{ version: '1', name: 'initial schema' }])
})
