import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStores } from '../../src/postgres/index.js'
import { checkLedger } from '../helpers/check-ledger.js'
import { createDeferred } from '../helpers/deferred.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { startLoad } from '../helpers/load-process.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { type PostgresServer, startPostgresServer } from '../helpers/postgres-server.js'

const rounds = Number(process.env.KILL_ROUNDS ?? 2)
const CREDIT = 1_000_000n * 10n ** 9n

describe('a PostgreSQL ledger whose process is killed', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  it(`neither loses nor repeats acknowledged settlements, ${rounds} times over`, {
    timeout: 120_000 * rounds,
  }, async () => {
    const stores = postgresStores(database.pool)
    await openAccounts(stores.database, { alice: '1000000', bob: '1000000' })
    const acknowledged = new Set<string>()
    for (let round = 1; round <= rounds; round++) {
      const loads = await Promise.all(
        [1, 2].map(() =>
          startLoad({
            engine: 'PostgreSQL',
            place: database.url,
            accounts: ['alice', 'bob'],
            callers: 50,
            cost: 7,
            ttlMs: 1_000,
          }),
        ),
      )
      await loads[0]!.until(100 + ((round * 37) % 400))
      await Promise.all(loads.map((load) => load.kill()))
      for (const load of loads) for (const holdId of load.acknowledged) acknowledged.add(holdId)
      await checkLedger(stores, acknowledged, 2n * CREDIT)
    }
    expect(acknowledged.size).toBeGreaterThan(100 * rounds)
    await stores.close()
  })

  it('is never overspent by four processes with 200 callers each', { timeout: 120_000 }, async () => {
    const stores = postgresStores(database.pool)
    await openAccounts(stores.database, { carol: '0.000002', dave: '0.000001' })
    const loads = await Promise.all(
      [1, 2, 3, 4].map(() =>
        startLoad({
          engine: 'PostgreSQL',
          place: database.url,
          accounts: ['carol', 'dave'],
          callers: 200,
          cost: 1,
          ttlMs: 60_000,
        }),
      ),
    )
    await Promise.all(loads.map((load) => load.ended))
    expect(loads.reduce((sum, load) => sum + load.acknowledged.size, 0)).toBe(3_000)
    for (const account of ['carol', 'dave']) {
      expect(await stores.ledger.balance(account, context)).toEqual({ posted: 0n, held: 0n, available: 0n })
    }
    await checkLedger(
      stores,
      loads.flatMap((load) => [...load.acknowledged]),
      2n * CREDIT + 3_000n,
    )
    await stores.close()
  })
})

describe('a PostgreSQL server that is killed under load', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgresServer()
  })
  afterAll(() => server.stop())

  it(`restarts with every acknowledged settlement once, ${rounds} times over`, {
    timeout: 120_000 * rounds,
  }, async () => {
    const pool = createPool(server.url())
    const stores = postgresStores(pool)
    await openAccounts(stores.database, { alice: '1000000' })
    const acknowledged: string[] = []
    for (let round = 1; round <= rounds; round++) {
      let isStopping = false
      const target = acknowledged.length + 100 + ((round * 37) % 300)
      const reached = createDeferred()
      const call = async () => {
        while (!isStopping) {
          const hold = createHold('alice', 7n, { ttlMs: 1_000 })
          try {
            const held = await stores.ledger.hold(hold, context)
            if (!held.ok) continue
            await stores.ledger.settle(createSettle(hold.holdId, 'alice', 7n), context)
            acknowledged.push(hold.holdId)
          } catch {
            // The outcome of this one is unknown; the check counts only acknowledged settlements.
          }
          if (acknowledged.length >= target) reached.resolve()
        }
      }
      const callers = Array.from({ length: 50 }, call)
      await reached.promise
      await server.kill()
      const before = acknowledged.length
      await server.restart()
      await expect.poll(() => acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(before + 50)
      isStopping = true
      await Promise.all(callers)
      await checkLedger(stores, acknowledged, CREDIT)
    }
    await stores.close()
    await pool.end()
  })
})
