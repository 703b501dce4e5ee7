import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sqliteStores } from '../../src/sqlite/index.js'
import { checkLedger } from '../helpers/check-ledger.js'
import { startLoad } from '../helpers/load-process.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

const rounds = Number(process.env.KILL_ROUNDS ?? 2)
const CREDIT = 1_000_000n * 10n ** 9n

describe('a SQLite ledger whose process is killed', () => {
  let place: TestFile
  beforeAll(async () => {
    place = await createTestFile()
  })
  afterAll(() => place.remove())

  it(`neither loses nor repeats acknowledged settlements, ${rounds} times over`, {
    timeout: 120_000 * rounds,
  }, async () => {
    const first = sqliteStores({ file: place.file })
    await openAccounts(first.database, { alice: '1000000', bob: '1000000' })
    await first.close()
    const acknowledged = new Set<string>()
    for (let round = 1; round <= rounds; round++) {
      const load = await startLoad({
        engine: 'SQLite',
        place: place.file,
        accounts: ['alice', 'bob'],
        callers: 50,
        cost: 7,
        ttlMs: 1_000,
      })
      await load.until(100 + ((round * 37) % 400))
      await load.kill()
      for (const holdId of load.acknowledged) acknowledged.add(holdId)
      const stores = sqliteStores({ file: place.file })
      await checkLedger(stores, acknowledged, 2n * CREDIT)
      await stores.close()
    }
    expect(acknowledged.size).toBeGreaterThan(100 * rounds)
  })

  it('is shared by two processes that never overspend', async () => {
    const file = `${place.file}-shared`
    const stores = sqliteStores({ file })
    await openAccounts(stores.database, { alice: '0.0000015' })
    const loads = await Promise.all(
      [1, 2].map(() =>
        startLoad({
          engine: 'SQLite',
          place: file,
          accounts: ['alice'],
          callers: 50,
          cost: 1,
          ttlMs: 60_000,
        }),
      ),
    )
    await Promise.all(loads.map((load) => load.ended))
    const acknowledged = loads.flatMap((load) => [...load.acknowledged])
    expect(acknowledged.length).toBe(1_500)
    await checkLedger(stores, acknowledged, 1_500n)
    await stores.close()
  })
})
