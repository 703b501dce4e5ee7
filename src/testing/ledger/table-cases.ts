import { strict as assert } from 'node:assert'
import {
  assertGranted,
  assertPosted,
  assertRefused,
  assertRepeated,
  chargeOf,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

/** Every operation in every state of a hold. */
export const tableCases: readonly LedgerCase[] = [
  ledgerCase('table-hold-unknown', 'a hold reserves its amount and posts nothing', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    assert.deepEqual(await bench.balance(), [100n, 30n, 70n])
  }),
  ledgerCase('table-hold-held', 'a repeated hold returns the same result and counts once', async (bench) => {
    assertGranted(await bench.hold('h', 60n))
    assertGranted(await bench.hold('h', 60n))
    assert.deepEqual(await bench.balance(), [100n, 60n, 40n])
  }),
  ledgerCase('table-hold-held-other', 'a hold id with another input is a conflict', async (bench) => {
    assertGranted(await bench.hold('h', 60n))
    assertRefused(await bench.hold('h', 61n), 'conflict')
    assertRefused(await bench.hold('h', 59n), 'conflict')
    assertRefused(await bench.hold('h', 60n, { account: 'bob' }), 'conflict')
    assertRefused(await bench.hold('h', 60n, { claim: 'c' }), 'conflict')
    assertRefused(await bench.hold('h', 60n, { replaces: 'other' }), 'conflict')
    assert.deepEqual(await bench.balance(), [100n, 60n, 40n])
  }),
  ledgerCase('table-hold-expired', 'an expired hold cannot be held again', async (bench) => {
    await bench.holdAndLapse('h', 30n)
    assertRefused(await bench.hold('h', 30n), 'closed')
    await bench.store.expireHolds(100, bench.context)
    assertRefused(await bench.hold('h', 30n), 'closed')
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase('table-hold-released', 'a released hold cannot be held again', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    await bench.release('h')
    assertRefused(await bench.hold('h', 30n), 'closed')
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase('table-hold-settled', 'a settled hold cannot be held again', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    await bench.settle('h', 12n)
    assertRefused(await bench.hold('h', 30n), 'closed')
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
  }),
  ledgerCase(
    'table-release-unknown',
    'after the release of an unknown hold, that hold is refused if it arrives late',
    async (bench) => {
      assert.equal((await bench.release('h')).state, 'released')
      assertRefused(await bench.hold('h', 30n), 'closed')
      assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
    },
  ),
  ledgerCase('table-release-held', 'a release frees the hold and posts nothing', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    assertGranted(await bench.hold('other', 20n))
    assert.equal((await bench.release('h')).state, 'released')
    assert.deepEqual(await bench.balance(), [100n, 20n, 80n])
  }),
  ledgerCase('table-release-expired', 'the release of an expired hold changes nothing', async (bench) => {
    assertGranted(await bench.hold('other', 20n))
    await bench.holdAndLapse('h', 30n)
    assert.equal((await bench.release('h')).state, 'released')
    assert.deepEqual(await bench.balance(), [100n, 20n, 80n])
  }),
  ledgerCase('table-release-released', 'a second release changes nothing', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    assertGranted(await bench.hold('other', 20n))
    await bench.release('h')
    assert.equal((await bench.release('h')).state, 'released')
    assert.deepEqual(await bench.balance(), [100n, 20n, 80n])
  }),
  ledgerCase('table-release-settled', 'the release of a settled hold changes nothing', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    await bench.settle('h', 12n)
    assert.equal((await bench.release('h')).state, 'settled')
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
  }),
  ledgerCase('table-settle-unknown', 'a settlement posts even if its hold is unknown', async (bench) => {
    assertPosted(await bench.settle('h', 12n, { base: 10n }), chargeOf(12n, 10n))
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
    assertRefused(await bench.hold('h', 30n), 'closed')
  }),
  ledgerCase('table-settle-held', 'a settlement posts and frees the whole hold', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    assertGranted(await bench.hold('other', 20n))
    assertPosted(await bench.settle('h', 12n, { base: 10n }), chargeOf(12n, 10n))
    assert.deepEqual(await bench.balance(), [88n, 20n, 68n])
    assert.deepEqual(await bench.balance('platform'), [10n, 0n, 10n])
    assert.deepEqual(await bench.balance('app'), [2n, 0n, 2n])
  }),
  ledgerCase(
    'table-settle-expired',
    'a settlement after expiry posts in full and frees no credit twice',
    async (bench) => {
      assertGranted(await bench.hold('other', 20n))
      await bench.holdAndLapse('h', 30n)
      assert.equal((await bench.settle('h', 45n)).repeated, false)
      assert.deepEqual(await bench.balance(), [55n, 20n, 35n])
    },
  ),
  ledgerCase(
    'table-settle-released',
    'a settlement after a release posts and frees no credit twice',
    async (bench) => {
      assertGranted(await bench.hold('other', 20n))
      assertGranted(await bench.hold('h', 30n))
      await bench.release('h')
      assert.equal((await bench.settle('h', 12n)).repeated, false)
      assert.deepEqual(await bench.balance(), [88n, 20n, 68n])
      assert.equal((await bench.settle('h', 12n)).repeated, true)
      assert.deepEqual(await bench.balance(), [88n, 20n, 68n])
    },
  ),
  ledgerCase(
    'table-settle-settled',
    'a second settlement posts nothing and returns the first charge',
    async (bench) => {
      assertGranted(await bench.hold('h', 30n))
      await bench.settle('h', 12n, { base: 10n })
      const again = await bench.settle('h', 20n, { base: 20n, charge: { basis: 'estimated' } })
      assertRepeated(again, chargeOf(12n, 10n))
      assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
      assert.deepEqual(await bench.balance('platform'), [10n, 0n, 10n])
      assert.deepEqual(await bench.balance('app'), [2n, 0n, 2n])
    },
  ),
  ledgerCase(
    'table-settle-unknown-again',
    'a repeated settlement without a hold posts once',
    async (bench) => {
      await bench.settle('h', 12n)
      const again = await bench.settle('h', 12n)
      assertRepeated(again, chargeOf(12n))
      assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
    },
  ),
  ledgerCase(
    'table-settle-tombstone',
    'a settlement after the release of an unknown hold posts',
    async (bench) => {
      await bench.release('h')
      assert.equal((await bench.settle('h', 12n)).repeated, false)
      assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
      assert.equal((await bench.release('h')).state, 'settled')
    },
  ),
]
