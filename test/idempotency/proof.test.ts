import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStores } from '../../src/postgres/index.js'
import { isLong } from '../helpers/long.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { OPENING, type ProofResult, prove } from './proof/proof.js'
import { ACCOUNT } from './proof/service.js'

const CALLS = 200
const PATIENCE_MS = 120_000

function expectOneChargeEach(result: ProofResult): void {
  expect(result.problems).toEqual([])
  expect([result.chargedOnce, result.dispatchedOnce]).toEqual([result.calls, result.calls])
  expect(result.answered + result.toldCharge).toBe(result.calls)
  const { none, ...lost } = result.cuts
  for (const count of Object.values(lost)) expect(count).toBeGreaterThan(0)
  expect(none).toBeGreaterThan(0)
}

describe('an OpenAI client that retries behind a proxy that loses replies', () => {
  it(
    'pays once per call and reads each reply completely, with everything in memory',
    async () => {
      const result = await prove({ name: 'memory', processes: 1 }, { calls: CALLS, seed: 11 })
      expectOneChargeEach(result)
      expect(result.answered).toBe(CALLS)
      expect(result.replayed).toBeGreaterThan(0)
    },
    PATIENCE_MS,
  )

  it.runIf(isLong)(
    'pays once per call with two routers that share only the ledger, and learns its charge',
    async () => {
      const result = await prove({ name: 'memory', processes: 2 }, { calls: CALLS, seed: 12 })
      expectOneChargeEach(result)
      expect(result.toldCharge).toBeGreaterThan(0)
    },
    PATIENCE_MS,
  )

  describe.runIf(isLong)('with two processes on one PostgreSQL database', () => {
    let database: TestDatabase

    beforeAll(async () => {
      database = await createTestDatabase()
    })
    afterAll(() => database.drop())

    it(
      'pays once per call and reads each reply completely',
      async () => {
        const stores = postgresStores(database.pool)
        await openAccounts(stores.database, { [ACCOUNT]: OPENING })
        const { ledger } = stores
        const setting = { name: 'PostgreSQL', processes: 2, database: { url: database.url, ledger } }
        const result = await prove(setting, { calls: CALLS, seed: 13 })
        await stores.close()
        expectOneChargeEach(result)
        expect(result.answered).toBe(CALLS)
        expect(result.replayed).toBeGreaterThan(0)
      },
      PATIENCE_MS,
    )
  })
})
