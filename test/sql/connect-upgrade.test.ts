import { expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { createToken, digestToken } from '../../src/base/tokens.js'
import { postgresStores } from '../../src/postgres/index.js'
import { migrate as migratePostgres, postgresMigrations } from '../../src/postgres/migrations.js'
import { createQueries } from '../../src/postgres/query.js'
import type { Migration } from '../../src/sql/migrations.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { openConnection } from '../../src/sqlite/connection.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { migrate as migrateSqlite, sqliteMigrations } from '../../src/sqlite/migrations.js'
import { connectOnce, NOTES } from '../helpers/connect-once.js'
import { context } from '../helpers/ledger-requests.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { createTestFile } from '../helpers/sqlite.js'

const [token, key] = [createToken('access-token'), createToken('api-key')]
const { redirectUris, ...app } = NOTES

/** An app, a key and an operator's access token, as the release before Connect stored them. */
const OLD_ROWS = [
  `insert into {apps} (id, definition, created_at) values ('notes', '${JSON.stringify(app)}', 1)`,
  `insert into {credentials} (id, kind, account, app_id, scopes, created_at)
    values ('grant-1', 'access-token', 'alice', 'notes', '["models.run"]', 1), ('key-1', 'api-key', 'alice', null, null, 1)`,
  `insert into {tokens} (digest, credential_id, prefix, last_four, created_at)
    values ('${digestToken(token)}', 'grant-1', 'at-cr-', 'abcd', 1), ('${digestToken(key)}', 'key-1', 'sk-cr-', 'abcd', 1)`,
]

function beforeConnect(migrations: readonly Migration[]): readonly Migration[] {
  return migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'connect'),
  )
}

async function expectUpgraded(stores: DurableStores): Promise<void> {
  const admin = createAdmin(stores)
  expect(await stores.credentials.resolve(token, context)).toEqual({
    ok: true,
    principal: {
      kind: 'access-token',
      credentialId: 'grant-1',
      account: 'alice',
      scopes: ['models.run'],
      app,
    },
  })
  expect(await stores.credentials.resolve(key, context)).toMatchObject({ ok: true })
  expect(await admin.listApps()).toEqual([app])
  expect((await admin.listCredentials()).map(({ credentialId }) => credentialId)).toEqual([
    'key-1',
    'grant-1',
  ])
  expect(await admin.listGrants()).toEqual([])
  // An operator's token of an app is no grant of Connect, and both may exist.
  await admin.putApp(NOTES)
  const users = await connectOnce(stores.connect, 'alice')
  expect(await stores.credentials.resolve(users, context)).toMatchObject({ ok: true })
  expect(await stores.credentials.resolve(token, context)).toMatchObject({ ok: true })
}

it('keys, tokens and apps of a SQLite file from before Connect go on as they were', async () => {
  const place = await createTestFile()
  onTestFinished(() => place.remove())
  const connection = openConnection(place.file)
  migrateSqlite(connection, place.file, beforeConnect(sqliteMigrations))
  for (const text of OLD_ROWS) connection.exec(text)
  connection.close()
  const stores = sqliteStores({ file: place.file })
  onTestFinished(() => stores.close())
  await expectUpgraded(stores)
})

it('keys, tokens and apps of a PostgreSQL schema from before Connect go on as they were', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const queries = createQueries(database.pool, 'compat_router')
  await migratePostgres(queries, beforeConnect(postgresMigrations))
  for (const text of OLD_ROWS) await queries.run({ text })
  const stores = postgresStores(database.pool)
  onTestFinished(() => stores.close())
  await expectUpgraded(stores)
})
