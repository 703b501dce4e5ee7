import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { type PostgresStoresOptions, postgresStores } from '../../src/postgres/index.js'
import type { StoresEvent } from '../../src/sql/stores.js'
import { checkLedger } from '../helpers/check-ledger.js'
import { hear } from '../helpers/hear.js'
import { startLoad } from '../helpers/load-process.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createPool } from '../helpers/postgres.js'
import { createDatabase } from '../helpers/postgres-databases.js'
import { type PostgresServer, startPostgresServer } from '../helpers/postgres-server.js'
import { type Pooler, type PoolMode, startPooler } from './pooler.js'

const CREDIT = 1_000_000n * 10n ** 9n
const CALLS_BETWEEN_RESTARTS = 200

/** A pooler for a file's `describe`. */
function usePooler(mode: PoolMode) {
  let server: PostgresServer
  let pooler: Pooler
  beforeAll(async () => {
    server = await startPostgresServer()
    pooler = await startPooler(server.url(), mode)
  })
  afterAll(async () => {
    await pooler.stop()
    await server.stop()
  })

  /** Stores of an empty database. With `direct`, they listen at the server itself. */
  async function open(listens: 'direct' | 'pooled' = 'pooled') {
    const { name } = await createDatabase(server.url())
    const url = pooler.url(name)
    const pool = createPool(url)
    const direct = createPool(server.url(name), 1)
    const events: StoresEvent[] = []
    const options: PostgresStoresOptions = { onEvent: (event) => void events.push(event) }
    const stores = postgresStores(pool, listens === 'direct' ? { ...options, listenPool: direct } : options)
    onTestFinished(async () => {
      await stores.close()
      await pool.end()
      await direct.end()
    })
    return { url, stores, events, admin: createAdmin(stores) }
  }

  return { open, restart: (signal: 'SIGKILL' | 'SIGTERM') => pooler.restart(signal) }
}

describe.each([
  ['session', 'pooled'],
  ['transaction', 'direct'],
] as const)('stores behind PgBouncer in %s mode', (mode, listens) => {
  const { open, restart } = usePooler(mode)

  it('hear the changes of another process, also after the pooler was killed', async () => {
    const { stores, admin } = await open(listens)
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    const keys = await Promise.all([1, 2].map(() => admin.keys.issue({ account: 'alice' })))
    const heard = await hear(stores.credentials.watch!)
    onTestFinished(heard.end)
    await admin.keys.revoke(keys[0]!.credentialId)
    expect(await heard.next()).toBe(keys[0]!.credentialId)

    await restart('SIGKILL')
    const revoked = () =>
      admin.keys.revoke(keys[1]!.credentialId).then(
        () => true,
        () => false,
      )
    await expect.poll(revoked).toBe(true)
    // Once it listens again, everything counts as changed.
    const second = keys[1]!.credentialId
    let next = await heard.next()
    while (next !== second && next !== undefined) next = await heard.next()
  })

  it('neither lose nor repeat a settlement if the pooler restarts under load', async () => {
    const { url, stores } = await open(listens)
    await openAccounts(stores.database, { alice: '1000000', bob: '1000000' })
    const loads = await Promise.all(
      [1, 2].map(() =>
        startLoad({
          engine: 'PostgreSQL',
          place: url,
          accounts: ['alice', 'bob'],
          callers: 30,
          cost: 7,
          ttlMs: 5_000,
        }),
      ),
    )
    const more = () =>
      Promise.all(loads.map((load) => load.until(load.acknowledged.size + CALLS_BETWEEN_RESTARTS)))
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
      await more()
      await restart(signal)
    }
    await more()
    await Promise.all(loads.map((load) => load.kill()))
    const acknowledged = loads.flatMap((load) => [...load.acknowledged])
    expect(acknowledged.length).toBeGreaterThanOrEqual(10 * CALLS_BETWEEN_RESTARTS)
    await checkLedger(stores, acknowledged, 2n * CREDIT)
  })
})

describe('without what they need, stores behind PgBouncer', () => {
  const transaction = usePooler('transaction')
  const statement = usePooler('statement')

  it('in transaction mode report a lost watch, and which option they need, within seconds', async () => {
    const { stores, events } = await transaction.open()
    await stores.ready()
    const startedAt = performance.now()
    onTestFinished(stores.credentials.watch!(() => undefined))
    await expect.poll(() => events.length).toBe(1)
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    expect(events[0]).toMatchObject({ type: 'watch-lost', why: expect.stringContaining('`listenPool`') })
  })

  it('in statement mode are not ready, and say why', async () => {
    const { stores } = await statement.open()
    await expect(stores.ready()).rejects.toThrow('transaction blocks not allowed in statement pooling mode')
  })
})
