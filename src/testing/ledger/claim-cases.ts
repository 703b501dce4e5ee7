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

/** At most one hold with the same claim is open or settled. */
export const claimCases: readonly LedgerCase[] = [
  ledgerCase('claim-open', 'a second hold of an open claim is refused and holds nothing', async (bench) => {
    assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
    assertClaimed(await bench.hold('second', 20n, { claim: 'c' }))
    assert.deepEqual(await bench.balance(), [100n, 30n, 70n])
  }),
  ledgerCase('claim-settled', 'a hold of a settled claim returns its charge', async (bench) => {
    assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
    await bench.settle('first', 12n, { base: 10n, claim: 'c' })
    assertClaimed(await bench.hold('second', 20n, { claim: 'c' }), chargeOf(12n, 10n))
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
  }),
  ledgerCase('claim-before-credit', 'a taken claim is reported before a lack of credit', async (bench) => {
    assertGranted(await bench.hold('first', 100n, { claim: 'c' }))
    assertClaimed(await bench.hold('second', 100n, { claim: 'c' }))
    await bench.settle('first', 100n, { claim: 'c' })
    assertClaimed(await bench.hold('third', 100n, { claim: 'c' }), chargeOf(100n))
  }),
  ledgerCase('claim-zero', 'a hold of 0 takes its claim too', async (bench) => {
    assertGranted(await bench.hold('first', 0n, { claim: 'c' }))
    assertClaimed(await bench.hold('second', 0n, { claim: 'c' }))
  }),
  ledgerCase('claim-same-hold', 'a repeated hold does not conflict with its own claim', async (bench) => {
    assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
    assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
    assert.deepEqual(await bench.balance(), [100n, 30n, 70n])
  }),
  ledgerCase('claim-refused', 'a hold refused for credit takes no claim', async (bench) => {
    assertRefused(await bench.hold('first', 101n, { claim: 'c' }), 'insufficient')
    assertGranted(await bench.hold('second', 30n, { claim: 'c' }))
  }),
  ledgerCase('claim-release', 'a release frees the claim', async (bench) => {
    assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
    await bench.release('first')
    assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
    assertClaimed(await bench.hold('third', 20n, { claim: 'c' }))
  }),
  ledgerCase(
    'claim-late-release',
    'a late release does not free the claim of the next hold',
    async (bench) => {
      assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
      await bench.release('first')
      assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
      await bench.release('first')
      assertClaimed(await bench.hold('third', 20n, { claim: 'c' }))
    },
  ),
  ledgerCase(
    'claim-expiry',
    'expiry frees the claim, with or without a call of expireHolds',
    async (bench) => {
      await bench.holdAndLapse('first', 30n, { claim: 'c' })
      assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
      await bench.store.expireHolds(100, bench.context)
      assertClaimed(await bench.hold('third', 20n, { claim: 'c' }))
    },
  ),
  ledgerCase('claim-expiry-swept', 'a hold that expireHolds has marked has no claim', async (bench) => {
    await bench.holdAndLapse('first', 30n, { claim: 'c' })
    await bench.store.expireHolds(100, bench.context)
    assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
  }),
  ledgerCase('claim-apart', 'a claim does not affect other claims, or holds without one', async (bench) => {
    assertGranted(await bench.hold('first', 10n, { claim: 'c' }))
    assertGranted(await bench.hold('second', 10n, { claim: 'd' }))
    assertGranted(await bench.hold('third', 10n))
    assertGranted(await bench.hold('fourth', 10n))
    assert.deepEqual(await bench.balance(), [100n, 40n, 60n])
  }),
  ledgerCase('claim-without-hold', 'a settlement without a hold takes its claim', async (bench) => {
    assertPosted(await bench.settle('first', 12n, { claim: 'c' }), chargeOf(12n))
    assertClaimed(await bench.hold('second', 20n, { claim: 'c' }), chargeOf(12n))
  }),
  ledgerCase(
    'claim-unnamed',
    'a settlement that does not name the claim of its hold keeps it',
    async (bench) => {
      assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
      assertPosted(await bench.settle('first', 12n), chargeOf(12n))
      assertClaimed(await bench.hold('second', 20n, { claim: 'c' }), chargeOf(12n))
    },
  ),
  ledgerCase(
    'claim-taken-back',
    'a settlement after a release takes its claim back if it is free',
    async (bench) => {
      assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
      await bench.release('first')
      const settled = await bench.settle('first', 12n, { claim: 'c' })
      assertPosted(settled, chargeOf(12n))
      assert.ok(!settled.claimLost, 'claimLost is set, but the claim was free')
      assertClaimed(await bench.hold('second', 20n, { claim: 'c' }), chargeOf(12n))
    },
  ),
  ledgerCase(
    'claim-lost',
    'a settlement posts without its claim if another hold has taken it, and reports that',
    async (bench) => {
      assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
      await bench.release('first')
      assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
      const late = await bench.settle('first', 12n, { claim: 'c' })
      assertPosted(late, chargeOf(12n))
      assert.equal(late.claimLost, true, 'claimLost')
      assert.deepEqual(await bench.balance(), [88n, 20n, 68n])
      assertClaimed(await bench.hold('third', 1n, { claim: 'c' }))
      const second = await bench.settle('second', 7n, { claim: 'c' })
      assertPosted(second, chargeOf(7n))
      assert.ok(!second.claimLost, 'claimLost of the hold that has the claim')
      assertClaimed(await bench.hold('third', 1n, { claim: 'c' }), chargeOf(7n))
      assert.deepEqual(await bench.balance(), [81n, 0n, 81n])
    },
  ),
  ledgerCase(
    'claim-lost-to-settled',
    'a settlement posts without its claim if another hold settled it',
    async (bench) => {
      await bench.holdAndLapse('first', 30n, { claim: 'c' })
      assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
      await bench.settle('second', 7n, { claim: 'c' })
      assert.equal((await bench.settle('first', 12n, { claim: 'c' })).claimLost, true)
      assert.deepEqual(await bench.balance(), [81n, 0n, 81n])
      assertClaimed(await bench.hold('third', 1n, { claim: 'c' }), chargeOf(7n))
    },
  ),
]
