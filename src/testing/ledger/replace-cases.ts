import { strict as assert } from 'node:assert'
import {
  assertClaimed,
  assertGranted,
  assertPosted,
  assertRefused,
  chargeOf,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

/** Holds that replace another hold in one atomic step. */
export const replaceCases: readonly LedgerCase[] = [
  ledgerCase('replace-dearer', 'a replacement may use the credit of the old hold', async (bench) => {
    assertGranted(await bench.hold('old', 80n))
    assertGranted(await bench.hold('new', 100n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
  }),
  ledgerCase('replace-cheaper', 'a smaller replacement frees the difference', async (bench) => {
    assertGranted(await bench.hold('old', 80n))
    assertGranted(await bench.hold('new', 5n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 5n, 95n])
  }),
  ledgerCase('replace-refused', 'a refused replacement leaves the old hold unchanged', async (bench) => {
    assertGranted(await bench.hold('other', 10n))
    assertGranted(await bench.hold('old', 80n))
    assertRefused(await bench.hold('new', 91n, { replaces: 'old' }), 'insufficient')
    assert.deepEqual(await bench.balance(), [100n, 90n, 10n])
    assertGranted(await bench.hold('old', 80n))
    assertPosted(await bench.settle('old', 12n), chargeOf(12n))
    assert.deepEqual(await bench.balance(), [88n, 10n, 78n])
  }),
  ledgerCase(
    'replace-ends-old',
    'a replaced hold has ended: it cannot be held again, and its release frees nothing',
    async (bench) => {
      assertGranted(await bench.hold('old', 30n))
      assertGranted(await bench.hold('new', 40n, { replaces: 'old' }))
      assertRefused(await bench.hold('old', 30n), 'closed')
      await bench.release('old')
      assert.deepEqual(await bench.balance(), [100n, 40n, 60n])
      await bench.settle('new', 12n)
      assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
    },
  ),
  ledgerCase(
    'replace-old-settles',
    'a settlement of the old hold posts but frees nothing of the new one',
    async (bench) => {
      assertGranted(await bench.hold('old', 30n))
      assertGranted(await bench.hold('new', 40n, { replaces: 'old' }))
      assertPosted(await bench.settle('old', 12n), chargeOf(12n))
      assert.deepEqual(await bench.balance(), [88n, 40n, 48n])
    },
  ),
  ledgerCase(
    'replace-again',
    'a repeated replacement returns the same result and counts once',
    async (bench) => {
      assertGranted(await bench.hold('old', 80n, { claim: 'c' }))
      assertGranted(await bench.hold('new', 90n, { replaces: 'old' }))
      assertGranted(await bench.hold('new', 90n, { replaces: 'old' }))
      assertRefused(await bench.hold('new', 91n, { replaces: 'old' }), 'conflict')
      assert.deepEqual(await bench.balance(), [100n, 90n, 10n])
    },
  ),
  ledgerCase('replace-chain', 'a replacement can be replaced again', async (bench) => {
    assertGranted(await bench.hold('one', 50n, { claim: 'c' }))
    assertGranted(await bench.hold('two', 70n, { replaces: 'one' }))
    assertGranted(await bench.hold('three', 90n, { replaces: 'two' }))
    assert.deepEqual(await bench.balance(), [100n, 90n, 10n])
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
  }),
  ledgerCase('replace-carries-claim', 'a replacement takes over the claim', async (bench) => {
    assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    assertGranted(await bench.hold('new', 40n, { replaces: 'old' }))
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
    await bench.release('old')
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
    await bench.release('new')
    assertGranted(await bench.hold('other', 1n, { claim: 'c' }))
  }),
  ledgerCase('replace-own-claim', 'a replacement may name the claim of the old hold', async (bench) => {
    assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    assertGranted(await bench.hold('new', 40n, { replaces: 'old', claim: 'c' }))
    const settled = await bench.settle('new', 12n, { claim: 'c' })
    assert.ok(!settled.claimLost, 'claimLost is set, but the claim was its own')
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }), chargeOf(12n))
  }),
  ledgerCase(
    'replace-refused-claim',
    'a refused replacement leaves the claim with the old hold',
    async (bench) => {
      assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
      assertRefused(await bench.hold('new', 101n, { replaces: 'old', claim: 'c' }), 'insufficient')
      assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
      await bench.release('old')
      assertGranted(await bench.hold('other', 1n, { claim: 'c' }))
    },
  ),
  ledgerCase(
    'replace-claimed',
    'a replacement is refused if another hold has its claim, and leaves the old hold unchanged',
    async (bench) => {
      assertGranted(await bench.hold('other', 10n, { claim: 'd' }))
      assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
      assertClaimed(await bench.hold('new', 40n, { replaces: 'old', claim: 'd' }))
      assert.deepEqual(await bench.balance(), [100n, 40n, 60n])
      assertClaimed(await bench.hold('third', 1n, { claim: 'c' }))
      assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    },
  ),
  ledgerCase(
    'replace-other-account',
    'a replacement of another account’s hold frees the credit there and adds none here',
    async (bench) => {
      assertGranted(await bench.hold('old', 80n))
      assertRefused(await bench.hold('new', 11n, { account: 'bob', replaces: 'old' }), 'insufficient')
      assert.deepEqual(await bench.balance(), [100n, 80n, 20n])
      assertGranted(await bench.hold('new', 10n, { account: 'bob', replaces: 'old' }))
      assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
      assert.deepEqual(await bench.balance('bob'), [10n, 10n, 0n])
    },
    { accounts: { alice: '0.0000001', bob: '0.00000001' } },
  ),
  ledgerCase('replace-unknown', 'a replacement of an unknown hold is an ordinary hold', async (bench) => {
    assertGranted(await bench.hold('new', 60n, { replaces: 'nothing' }))
    assertRefused(await bench.hold('next', 41n, { replaces: 'nothing' }), 'insufficient')
    assert.deepEqual(await bench.balance(), [100n, 60n, 40n])
  }),
  ledgerCase('replace-released', 'a replacement of a released hold is an ordinary hold', async (bench) => {
    assertGranted(await bench.hold('other', 40n))
    assertGranted(await bench.hold('old', 30n))
    await bench.release('old')
    assertRefused(await bench.hold('new', 61n, { replaces: 'old' }), 'insufficient')
    assertGranted(await bench.hold('new', 60n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
  }),
  ledgerCase('replace-expired', 'a replacement of an expired hold is an ordinary hold', async (bench) => {
    assertGranted(await bench.hold('other', 40n))
    await bench.holdAndLapse('old', 30n)
    assertRefused(await bench.hold('new', 61n, { replaces: 'old' }), 'insufficient')
    assertGranted(await bench.hold('new', 60n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
  }),
  ledgerCase('replace-settled', 'a replacement of a settled hold is refused as closed', async (bench) => {
    assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    await bench.settle('old', 12n, { claim: 'c' })
    assertRefused(await bench.hold('new', 40n, { replaces: 'old' }), 'closed')
    assertRefused(await bench.hold('new', 40n, { replaces: 'old', claim: 'c' }), 'closed')
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
  }),
]
