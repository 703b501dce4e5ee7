import { describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { connectOnce, NOTES } from '../helpers/connect-once.js'
import { context } from '../helpers/ledger-requests.js'
import { startLoad } from '../helpers/load-process.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { createTestFile } from '../helpers/sqlite.js'

const rounds = Number(process.env.KILL_ROUNDS ?? 2)
const CALLERS = 10

describe("Connect's connected apps, connections, codes and refresh tokens", () => {
  it(`survive kill -9 of one process on SQLite, ${rounds} times over`, {
    timeout: 120_000 * rounds,
  }, async () => {
    const place = await createTestFile()
    onTestFinished(() => place.remove())
    const open = () => sqliteStores({ file: place.file })
    await survive(open, { engine: 'SQLite', place: place.file, callers: CALLERS }, 1)
  })

  it(`survive kill -9 of two processes on PostgreSQL, ${rounds} times over`, {
    timeout: 120_000 * rounds,
  }, async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    const open = () => postgresStores(database.pool)
    await survive(open, { engine: 'PostgreSQL', place: database.url, callers: CALLERS }, 2)
  })
})

async function survive(open: () => DurableStores, load: object, processes: number): Promise<void> {
  const first = open()
  await createAdmin(first).apps.put(NOTES)
  const token = await connectOnce(first.connect, 'alice')
  await first.close()
  const accounts = new Set(['alice'])
  for (let round = 1; round <= rounds; round++) {
    const loads = await Promise.all(
      Array.from({ length: processes }, () => startLoad(load, 'connect-load.ts')),
    )
    await Promise.all(loads.map((one) => one.until(30 + ((round * 37) % 50))))
    await Promise.all(loads.map((one) => one.kill()))
    for (const one of loads) for (const account of one.acknowledged) accounts.add(account)
  }
  expect(accounts.size).toBeGreaterThan(30 * rounds)

  const stores = open()
  onTestFinished(() => stores.close())
  const { connect } = stores
  for (const account of accounts) {
    const grant = await connect.findConnectedApp(account, NOTES.id)
    expect(grant).toMatchObject({ scopes: ['models.run'], cap: { amount: 5_000_000_000n } })
    expect(await connect.findConnection(account)).toMatchObject({ account, appId: NOTES.id })
    expect(await connect.findOauth('Interaction', account)).toMatchObject({ payload: { account } })
    expect(await connect.findOauth('RefreshToken', account)).toMatchObject({ payload: { account } })
    // A code that was exchanged before the process was killed stays used.
    expect(await connect.consumeOauth('AuthorizationCode', account)).toMatchObject({ first: false })
  }
  expect(await stores.credentials.resolve(token, context)).toMatchObject({ ok: true })
  // A process that was killed in the middle of a consent has left none of it, or all.
  const torn = await stores.database.all({
    text: `select c.id from {credentials} c
      left join {consents} h on h.credential_id = c.id and h.kind = 'connected'
      left join {limits} l on l.owner_id = c.id
      where h.id is null or l.id is null`,
  })
  expect(torn).toEqual([])
}
