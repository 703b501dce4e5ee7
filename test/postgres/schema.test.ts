import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { type PostgresStoresOptions, postgresStores } from '../../src/postgres/index.js'
import { LEDGER_PARAMETERS } from '../../src/postgres/ledger-parameters.js'
import { migrate, postgresMigrations } from '../../src/postgres/migrations.js'
import { createQueries } from '../../src/postgres/query.js'
import { context, createCharge, createHold, createSettle } from '../helpers/ledger-requests.js'
import { createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'

/** Grants, holds, settles, sweeps, stores a model and a reply, and reads everything again. */
async function use(pool: pg.Pool, options: PostgresStoresOptions): Promise<void> {
  const stores = postgresStores(pool, options)
  const admin = createAdmin(stores)
  await admin.accounts.credit({ account: 'alice', amount: '1' })
  await admin.models.put({ id: 'acme/fast', prices: { input: '1', output: '1' } })
  await admin.keys.issue({ account: 'alice' })
  const hold = createHold('alice', 5n)
  expect(await stores.ledger.hold(hold, context)).toMatchObject({ ok: true })
  await stores.ledger.settle(createSettle(hold.holdId, 'alice', 5n), context)
  expect(await stores.ledger.expireHolds(10, context)).toEqual([])
  const claim = { claim: 'claim', account: 'alice', digest: 'digest', leaseMs: 60_000 }
  expect(await stores.idempotency.claim(claim, context)).toEqual({ state: 'mine' })
  const reply = { mode: 'json', status: 200, bytes: '{}', charge: createCharge(5n) } as const
  await stores.idempotency.complete('claim', reply, 60_000, context)
  expect(await admin.accounts.balance('alice')).toMatchObject({ posted: 10n ** 9n - 5n })
  expect(await admin.maintenance.verify()).toEqual([])
  await stores.close()
}

describe('a PostgreSQL schema', () => {
  let database: TestDatabase
  let role: string
  let ownPool: pg.Pool
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())
  beforeEach(async () => {
    role = `compat_role_${randomBytes(6).toString('hex')}`
    await database.pool.query(`create role ${role} login password 'hunter2'`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'hunter2'
    ownPool = createPool(url.href, 4)
  })
  afterEach(async () => {
    await ownPool.end()
    await database.pool.query(`drop owned by ${role} cascade; drop role ${role}`)
  })

  it('may have a reserved word of SQL as its name', async () => {
    await use(database.pool, { schema: 'user' })
  })

  it('has a ledger function that takes the parameters that batches pass, in their order', async () => {
    await postgresStores(database.pool, { schema: 'parameters' }).ready()
    const { rows } = await database.pool.query(
      `select pg_get_function_identity_arguments('parameters.apply_ledger_1'::regproc) as declared`,
    )
    const passed = Object.entries({ ...LEDGER_PARAMETERS, process: 'json' }).map(([name, type]) => {
      const element = type === 'int' ? 'integer' : type
      return `p_${name} ${type === 'json' ? 'text' : `${element}[]`}`
    })
    expect(rows[0].declared.split(', ')).toEqual(passed)
  })

  it('is filled by a role that may not create schemas, if it was created for that role', async () => {
    const options = { schema: 'prepared' }
    await expect(postgresStores(ownPool, options).ready()).rejects.toThrow('permission denied for database')
    await database.pool.query(`create schema prepared authorization ${role}`)
    await use(ownPool, options)
  })

  it('serves a role with only the rights that docs/stores.md lists', async () => {
    const options = { schema: 'served' }
    await postgresStores(database.pool, options).ready()
    await database.pool.query(`
      revoke execute on all functions in schema served from public;
      grant usage on schema served to ${role};
      grant usage on all sequences in schema served to ${role};
      grant select, insert, update, delete on all tables in schema served to ${role};
      grant execute on all functions in schema served to ${role}`)
    await use(ownPool, options)
  })

  it('that needs a migration tells a role that may not create tables to use another role', async () => {
    await postgresStores(database.pool, { schema: 'earlier' }).ready()
    await database.pool.query(`
      grant usage on schema earlier to ${role};
      grant select, insert, update, delete on all tables in schema earlier to ${role}`)
    const second = { version: 2, name: 'notes', statements: ['create table {notes} (id bigint)'] }
    const migrated = migrate(createQueries(ownPool, 'earlier'), [...postgresMigrations, second])
    await expect(migrated).rejects.toMatchObject({
      code: '42501',
      message:
        'This role may not migrate the schema earlier (permission denied for schema earlier): run compat-router maintenance migrate with a role that may',
    })
  })
})
