import { strict as assert } from 'node:assert'
import { assertCharge, assertGranted, type LedgerCase, ledgerCase } from './bench.js'

function times<Result>(count: number, run: (number: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, number) => run(number)))
}

/** Concurrent operations. */
export const concurrencyCases: readonly LedgerCase[] = [
  ledgerCase(
    'parallel-holds',
    'of 1,000 concurrent holds exactly as many are granted as the credit covers',
    async (bench) => {
      const results = await times(1_000, (number) => bench.hold(`h${number}`, 1n))
      assert.equal(results.filter(({ ok }) => ok).length, 100)
      for (const result of results) if (!result.ok) assert.equal(result.reason, 'insufficient')
      assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
    },
  ),
  ledgerCase('parallel-same-hold', 'concurrent repeats of a hold count once', async (bench) => {
    for (const result of await times(50, () => bench.hold('h', 30n))) assertGranted(result)
    assert.deepEqual(await bench.balance(), [100n, 30n, 70n])
  }),
  ledgerCase('parallel-same-settle', 'concurrent repeats of a settlement post once', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    const results = await times(50, (number) => bench.settle('h', BigInt(10 + number)))
    const posted = results.filter(({ repeated }) => !repeated)
    assert.equal(posted.length, 1)
    const { charge } = posted[0]!
    for (const result of results) assertCharge(result.charge, charge)
    assert.deepEqual(await bench.balance(), [100n - charge.cost, 0n, 100n - charge.cost])
    assert.deepEqual(await bench.balance('platform'), [charge.cost, 0n, charge.cost])
  }),
  ledgerCase('parallel-settle-release', 'a settlement counts despite concurrent releases', async (bench) => {
    assertGranted(await bench.hold('other', 20n))
    assertGranted(await bench.hold('h', 30n))
    await Promise.all([
      times(10, () => bench.release('h')),
      bench.settle('h', 12n),
      times(10, () => bench.release('h')),
    ])
    assert.deepEqual(await bench.balance(), [88n, 20n, 68n])
  }),
  ledgerCase(
    'parallel-release-hold',
    'concurrent holds and releases leave nothing on hold in the end',
    async (bench) => {
      await times(40, async (number) =>
        Promise.all([bench.hold(`h${number}`, 1n), bench.release(`h${number}`)]),
      )
      await times(40, (number) => bench.release(`h${number}`))
      assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
    },
  ),
  ledgerCase(
    'parallel-claims',
    'of many concurrent holds of one claim exactly one is granted',
    async (bench) => {
      const results = await times(50, (number) => bench.hold(`h${number}`, 1n, { claim: 'c' }))
      assert.equal(results.filter(({ ok }) => ok).length, 1)
      for (const result of results) if (!result.ok) assert.equal(result.reason, 'claimed')
      assert.deepEqual(await bench.balance(), [100n, 1n, 99n])
    },
  ),
  ledgerCase(
    'parallel-swaps',
    'of many concurrent replacements of one hold one gets its credit',
    async (bench) => {
      assertGranted(await bench.hold('old', 60n))
      const results = await times(20, (number) => bench.hold(`new${number}`, 60n, { replaces: 'old' }))
      assert.equal(results.filter(({ ok }) => ok).length, 1)
      assert.deepEqual(await bench.balance(), [100n, 60n, 40n])
    },
  ),
  ledgerCase(
    'parallel-life',
    'balances add up after many concurrent calls',
    async (bench) => {
      const costs = await times(200, async (number) => {
        const account = number % 2 === 0 ? 'alice' : 'bob'
        const held = await bench.hold(`h${number}`, 5n, { account })
        if (!held.ok) return 0n
        if (number % 5 === 0) {
          await bench.release(`h${number}`)
          return 0n
        }
        const { charge } = await bench.settle(`h${number}`, BigInt(number % 7), { account, base: 0n })
        return charge.cost
      })
      const total = costs.reduce((sum, cost) => sum + cost, 0n)
      const balances = await Promise.all(
        ['alice', 'bob', 'app', 'platform'].map((account) => bench.balance(account)),
      )
      assert.deepEqual(balances[2], [total, 0n, total])
      assert.equal(
        balances.reduce((sum, [posted]) => sum + posted, 0n),
        200n,
      )
      for (const [, held] of balances) assert.equal(held, 0n)
    },
    { accounts: { alice: '0.0000001', bob: '0.0000001' } },
  ),
]
