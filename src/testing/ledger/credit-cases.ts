import { strict as assert } from 'node:assert'
import {
  assertGranted,
  assertInsufficient,
  assertRefused,
  assertRepeated,
  chargeOf,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

/** Grants of holds, and overdrafts. */
export const creditCases: readonly LedgerCase[] = [
  ledgerCase(
    'credit-exact',
    'a hold of the whole available balance is granted, and one more is not',
    async (bench) => {
      assertGranted(await bench.hold('h', 100n))
      assertRefused(await bench.hold('one-more', 1n), 'insufficient')
      assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
    },
  ),
  ledgerCase(
    'credit-insufficient',
    'a refused hold returns the posted and the available balance',
    async (bench) => {
      assertGranted(await bench.hold('h', 70n))
      assertInsufficient(await bench.hold('big', 31n), 100n, 30n)
      assert.deepEqual(await bench.balance(), [100n, 70n, 30n])
    },
  ),
  ledgerCase('credit-refused-leaves-nothing', 'a refused hold may be retried', async (bench) => {
    assertGranted(await bench.hold('h', 70n))
    assertRefused(await bench.hold('late', 50n), 'insufficient')
    await bench.release('h')
    assertGranted(await bench.hold('late', 50n))
    assert.deepEqual(await bench.balance(), [100n, 50n, 50n])
  }),
  ledgerCase('credit-unknown-account', 'an unknown account has no balance and no credit', async (bench) => {
    assert.equal(await bench.store.balance('nobody', bench.context), undefined)
    assertInsufficient(await bench.hold('h', 1n, { account: 'nobody' }), 0n, 0n)
  }),
  ledgerCase(
    'credit-prototype-names',
    'accounts such as __proto__ and constructor are unknown',
    async (bench) => {
      for (const account of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
        assert.equal(await bench.store.balance(account, bench.context), undefined, account)
        assertRefused(await bench.hold(`h-${account}`, 1n, { account }), 'insufficient')
        await bench.settle(`h-${account}`, 3n, { account })
        assert.deepEqual(await bench.balance(account), [-3n, 0n, -3n], account)
      }
    },
  ),
  ledgerCase('credit-zero', 'a hold of 0 is granted at any balance', async (bench) => {
    assertGranted(await bench.hold('rich', 0n))
    assertGranted(await bench.hold('unknown', 0n, { account: 'nobody' }))
    await bench.settle('debt', 150n)
    assertGranted(await bench.hold('indebted', 0n))
    assert.deepEqual(await bench.balance(), [-50n, 0n, -50n])
  }),
  ledgerCase('credit-zero-charge', 'a charge of 0 settles its hold', async (bench) => {
    assertGranted(await bench.hold('h', 40n))
    assert.equal((await bench.settle('h', 0n)).repeated, false)
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
    assert.equal((await bench.settle('h', 5n)).repeated, true)
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase(
    'credit-overdraft',
    'a charge above the balance is posted in full, as an overdraft',
    async (bench) => {
      assertGranted(await bench.hold('h', 100n))
      const settled = await bench.settle('h', 130n)
      assert.equal(settled.overdraft, 30n)
      assert.deepEqual(await bench.balance(), [-30n, 0n, -30n])
      assertInsufficient(await bench.hold('next', 1n), -30n, -30n)
      const further = await bench.settle('further', 5n)
      assert.equal(further.overdraft, 35n)
      assert.equal((await bench.settle('h', 130n)).overdraft, 35n, 'a repeat returns the current overdraft')
    },
  ),
  ledgerCase(
    'credit-above-hold',
    'a charge above its hold also takes credit that other holds reserve',
    async (bench) => {
      assertGranted(await bench.hold('h', 10n))
      assertGranted(await bench.hold('other', 80n))
      assert.equal((await bench.settle('h', 50n)).overdraft, 0n)
      assert.deepEqual(await bench.balance(), [50n, 80n, -30n])
    },
  ),
  ledgerCase(
    'credit-accounts-apart',
    'a hold on one account does not affect another',
    async (bench) => {
      assertGranted(await bench.hold('h', 100n))
      assertGranted(await bench.hold('b', 7n, { account: 'bob' }))
      assert.deepEqual(await bench.balance('bob'), [7n, 7n, 0n])
      assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
    },
    { accounts: { alice: '0.0000001', bob: '0.000000007' } },
  ),
  ledgerCase(
    'credit-case-matters',
    'account names are case-sensitive and compared as a whole',
    async (bench) => {
      assert.equal(await bench.store.balance('Alice', bench.context), undefined)
      assert.equal(await bench.store.balance('alice ', bench.context), undefined)
      await bench.settle('h', 1n, { account: 'Alice' })
      assert.deepEqual(await bench.balance('Alice'), [-1n, 0n, -1n])
      assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
    },
  ),
  ledgerCase(
    'credit-huge',
    'amounts are exact beyond the precision of a double',
    async (bench) => {
      assertGranted(await bench.hold('h', 9_000_000_000_000_000_000n))
      assert.deepEqual(await bench.balance(), [9_000_000_000_000_000_001n, 9_000_000_000_000_000_000n, 1n])
      const exact = chargeOf(9_007_199_254_740_993n, 9_007_199_254_740_991n)
      await bench.settle('h', exact.cost, { base: exact.base })
      assertRepeated(await bench.settle('h', 1n), exact)
      const left = 9_000_000_000_000_000_001n - 9_007_199_254_740_993n
      assert.deepEqual(await bench.balance(), [left, 0n, left])
      assert.deepEqual(await bench.balance('platform'), [9_007_199_254_740_991n, 0n, 9_007_199_254_740_991n])
      assert.deepEqual(await bench.balance('app'), [2n, 0n, 2n])
    },
    { accounts: { alice: '9000000000.000000001' } },
  ),
]
