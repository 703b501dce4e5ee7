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

/** A hold in place of another, in one step. */
export const replaceCases: readonly LedgerCase[] = [
  ledgerCase('replace-dearer', 'a swap counts the old hold as free', async (bench) => {
    assertGranted(await bench.hold('old', 80n))
    assertGranted(await bench.hold('new', 100n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
  }),
  ledgerCase('replace-cheaper', 'a swap for less frees the difference', async (bench) => {
    assertGranted(await bench.hold('old', 80n))
    assertGranted(await bench.hold('new', 5n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 5n, 95n])
  }),
  ledgerCase('replace-refused', 'a refused swap leaves the old hold as it stands', async (bench) => {
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
    'the old hold is over: it cannot be held again, and its release frees nothing',
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
    'a settlement of the old hold posts and frees nothing of the new',
    async (bench) => {
      assertGranted(await bench.hold('old', 30n))
      assertGranted(await bench.hold('new', 40n, { replaces: 'old' }))
      assertPosted(await bench.settle('old', 12n), chargeOf(12n))
      assert.deepEqual(await bench.balance(), [88n, 40n, 48n])
    },
  ),
  ledgerCase('replace-again', 'the same swap again has the same answer and counts once', async (bench) => {
    assertGranted(await bench.hold('old', 80n, { claim: 'c' }))
    assertGranted(await bench.hold('new', 90n, { replaces: 'old' }))
    assertGranted(await bench.hold('new', 90n, { replaces: 'old' }))
    assertRefused(await bench.hold('new', 91n, { replaces: 'old' }), 'conflict')
    assert.deepEqual(await bench.balance(), [100n, 90n, 10n])
  }),
  ledgerCase('replace-chain', 'a swapped hold can be swapped again', async (bench) => {
    assertGranted(await bench.hold('one', 50n, { claim: 'c' }))
    assertGranted(await bench.hold('two', 70n, { replaces: 'one' }))
    assertGranted(await bench.hold('three', 90n, { replaces: 'two' }))
    assert.deepEqual(await bench.balance(), [100n, 90n, 10n])
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
  }),
  ledgerCase('replace-carries-claim', 'a swap carries the claim over', async (bench) => {
    assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    assertGranted(await bench.hold('new', 40n, { replaces: 'old' }))
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
    await bench.release('old')
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
    await bench.release('new')
    assertGranted(await bench.hold('other', 1n, { claim: 'c' }))
  }),
  ledgerCase(
    'replace-own-claim',
    'a swap that names the claim of the old hold is not told claimed',
    async (bench) => {
      assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
      assertGranted(await bench.hold('new', 40n, { replaces: 'old', claim: 'c' }))
      const settled = await bench.settle('new', 12n, { claim: 'c' })
      assert.ok(!settled.claimLost, 'claimLost is set, and the claim was its own')
      assertClaimed(await bench.hold('other', 1n, { claim: 'c' }), chargeOf(12n))
    },
  ),
  ledgerCase('replace-refused-claim', 'a refused swap leaves the claim with the old hold', async (bench) => {
    assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    assertRefused(await bench.hold('new', 101n, { replaces: 'old', claim: 'c' }), 'insufficient')
    assertClaimed(await bench.hold('other', 1n, { claim: 'c' }))
    await bench.release('old')
    assertGranted(await bench.hold('other', 1n, { claim: 'c' }))
  }),
  ledgerCase(
    'replace-claimed',
    'a swap whose claim another hold has is told so, and leaves the old hold as it stands',
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
    'a swap for a hold of another account frees it there, and adds nothing to what this one has',
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
  ledgerCase('replace-unknown', 'a swap for an unknown hold is an ordinary hold', async (bench) => {
    assertGranted(await bench.hold('new', 60n, { replaces: 'nothing' }))
    assertRefused(await bench.hold('next', 41n, { replaces: 'nothing' }), 'insufficient')
    assert.deepEqual(await bench.balance(), [100n, 60n, 40n])
  }),
  ledgerCase('replace-released', 'a swap for a released hold is an ordinary hold', async (bench) => {
    assertGranted(await bench.hold('other', 40n))
    assertGranted(await bench.hold('old', 30n))
    await bench.release('old')
    assertRefused(await bench.hold('new', 61n, { replaces: 'old' }), 'insufficient')
    assertGranted(await bench.hold('new', 60n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
  }),
  ledgerCase('replace-expired', 'a swap for an expired hold is an ordinary hold', async (bench) => {
    assertGranted(await bench.hold('other', 40n))
    await bench.holdAndLapse('old', 30n)
    assertRefused(await bench.hold('new', 61n, { replaces: 'old' }), 'insufficient')
    assertGranted(await bench.hold('new', 60n, { replaces: 'old' }))
    assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
  }),
  ledgerCase('replace-settled', 'a swap for a settled hold is closed and holds nothing', async (bench) => {
    assertGranted(await bench.hold('old', 30n, { claim: 'c' }))
    await bench.settle('old', 12n, { claim: 'c' })
    assertRefused(await bench.hold('new', 40n, { replaces: 'old' }), 'closed')
    assertRefused(await bench.hold('new', 40n, { replaces: 'old', claim: 'c' }), 'closed')
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
  }),
]
