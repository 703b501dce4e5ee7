import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { createPostgresStores } from '../../src/postgres/stores.js'
import { context, createSettle } from '../helpers/ledger-requests.js'
import { createMigratedDatabase, createPool } from '../helpers/postgres.js'
import { startPostgresServer } from '../helpers/postgres-server.js'

const FLAGS = ['-c', 'fsync=off', '-c', 'max_connections=30']

/** A server, and one that replicates it. */
async function startReplicated() {
  const home = mkdtempSync(join(tmpdir(), 'compat-router-replicated-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  execFileSync('chmod', ['755', home])
  const [first, second] = [join(home, 'first'), join(home, 'second')]
  await (await startPostgresServer(FLAGS, first)).stop()
  execFileSync('cp', ['-a', first, second])
  execFileSync('touch', [join(second, 'data', 'standby.signal')])
  const primary = await startPostgresServer(FLAGS, first)
  onTestFinished(() => primary.stop())
  const { port } = new URL(primary.url())
  const from = ['-c', `primary_conninfo=host=127.0.0.1 port=${port} user=postgres`]
  const standby = await startPostgresServer([...FLAGS, ...from], second)
  onTestFinished(() => standby.stop())
  return [primary, standby].map(({ url }) => {
    const pool = createPool(url(), 6)
    onTestFinished(() => pool.end())
    return pool
  })
}

it('a replica answers reports of spend and says how far it is behind, and nothing else', async () => {
  const [pool, reportsPool] = await startReplicated()
  const stores = createPostgresStores(pool!, { reportsPool: reportsPool! }, undefined, null)
  onTestFinished(() => stores.close())
  const { accounts, maintenance, reports } = createAdmin(stores)
  await accounts.credit({ account: 'alice', amount: '1' })
  const settle = (holdId: string) => stores.ledger.settle(createSettle(holdId, 'alice', 10n), context)
  const callsOf = async () => (await reports.spendReport({ by: 'model' })).total.calls
  await settle('h1')
  await expect.poll(callsOf).toBe(1)
  await expect.poll(async () => (await reports.spendReport({ by: 'day' })).behindMs).toBe(0)

  await reportsPool!.query('select pg_wal_replay_pause()')
  await settle('h2')
  await expect.poll(async () => (await reports.spendReport({ by: 'key' })).behindMs).toBeGreaterThan(0)
  expect(await callsOf()).toBe(1)
  expect(await reports.spend({ by: 'account' })).toMatchObject([{ key: 'alice', calls: 1 }])
  expect(await accounts.statement('alice')).toMatchObject({ spent: 20n, posted: 999_999_980n })
  expect(await accounts.balance('alice')).toMatchObject({ posted: 999_999_980n })
  expect(await stores.ledger.spent({ account: 'alice' }, context)).toMatchObject({ total: 20n })
  expect(await maintenance.verify()).toEqual([])

  await reportsPool!.query('select pg_wal_replay_resume()')
  await expect.poll(callsOf).toBe(2)
  await expect.poll(async () => (await reports.spendReport({ by: 'day' })).behindMs).toBe(0)
}, 120_000)

it('a pool for reports that is no replica is never behind, and without one, no report speaks of it', async () => {
  const { pool, drop } = await createMigratedDatabase()
  onTestFinished(drop)
  for (const reportsPool of [createPool(`${pool.options.connectionString}`, 1), pool]) {
    const stores = createPostgresStores(pool, { reportsPool }, undefined, null)
    const report = await createAdmin(stores).reports.spendReport({ by: 'day' })
    expect(report.behindMs).toBe(reportsPool === pool ? undefined : 0)
    await stores.close()
    if (reportsPool !== pool) await reportsPool.end()
  }
})
