import { describe, expect, it, onTestFinished } from 'vitest'
import { createToken } from '../../src/base/tokens.js'
import { postgresStores } from '../../src/postgres/index.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { connectTo, createPool, createTestDatabase } from '../helpers/postgres.js'

describe('the ledger on PostgreSQL', () => {
  it.each([
    [4, 2],
    [10, 7],
  ])(
    'keeps running while look-ups of all kinds and kept calls hang, with a pool of %i',
    async (max, hanging) => {
      const database = await createTestDatabase()
      const pool = createPool(database.url, max)
      const stores = postgresStores(pool)
      const other = await connectTo(database)
      onTestFinished(async () => {
        await other.end()
        await stores.close()
        await pool.end()
        await database.drop()
      })
      await stores.ready()
      const endWatch = stores.catalogue.watch!(() => undefined)
      onTestFinished(endWatch)
      await other.query(
        'begin; lock table compat_router.tokens, compat_router.models, compat_router.entries, compat_router.calls in access exclusive mode',
      )
      stores.calls.record({
        ...{ id: 'call', requestId: 'request', operation: 'chat', at: 1_800_000_000_000, durationMs: 1 },
        ...{ outcome: 'provider_error', status: 502 },
      })
      const settled: string[] = []
      const hang = [
        ...Array.from({ length: 50 }, () => stores.credentials.resolve(createToken('api-key'), context)),
        ...Array.from({ length: 50 }, () => stores.catalogue.get('acme/fast', context)),
        ...Array.from({ length: 5 }, () =>
          stores.ledger.entries({ account: 'alice', model: 'a', appId: 'b' }, context),
        ),
      ].map((asked) => Promise.resolve(asked).then(() => settled.push('answered'), String))
      const text = 'select count(*)::int as count from pg_locks where not granted'
      const waiting = async () => (await other.query(text)).rows[0].count
      await expect.poll(waiting).toBeGreaterThanOrEqual(hanging)
      for (let round = 0; round < 5; round++) {
        const hold = createHold('alice', 0n)
        expect(await stores.ledger.hold(hold, context)).toEqual({ ok: true })
        expect(await stores.ledger.release({ holdId: hold.holdId, account: 'alice' }, context)).toEqual({
          state: 'released',
        })
      }
      expect(settled).toEqual([])
      await other.query('rollback')
      await Promise.all(hang)
      expect(settled).toHaveLength(105)
      await expect.poll(async () => (await stores.calls.list()).calls).toHaveLength(1)
      const settle = createSettle('late', 'alice', 1n)
      expect(await stores.ledger.settle(settle, context)).toMatchObject({ repeated: false })
      expect(await stores.ledger.settle(settle, context)).toMatchObject({ repeated: true })
    },
  )
})
