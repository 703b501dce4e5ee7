import { strict as assert } from 'node:assert'
import type { HoldRequest, SettleRequest } from '../../contracts/index.js'
import {
  assertGranted,
  assertPosted,
  assertRepeated,
  chargeOf,
  factsOf,
  type LedgerBench,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

const payAllToSelf = [
  { account: 'alice', amount: -12n },
  { account: 'alice', amount: 10n },
  { account: 'alice', amount: 2n },
]

/** The postings of a settlement, and invalid requests. */
export const postingCases: readonly LedgerCase[] = [
  ledgerCase('posting-accounts-made', 'a settlement creates every account that it names', async (bench) => {
    await bench.settle('h', 12n, { base: 10n, account: 'newcomer' })
    assert.notEqual(await bench.store.balance('newcomer', bench.context), undefined)
    assert.deepEqual(await bench.balance('newcomer'), [-12n, 0n, -12n])
    assert.notEqual(await bench.store.balance('platform', bench.context), undefined)
    assert.deepEqual(await bench.balance('platform'), [10n, 0n, 10n])
    assert.notEqual(await bench.store.balance('app', bench.context), undefined)
    assert.deepEqual(await bench.balance('app'), [2n, 0n, 2n])
  }),
  ledgerCase('posting-one-account', 'payer, app and platform may be the same account', async (bench) => {
    assertGranted(await bench.hold('h', 12n))
    assertPosted(await bench.settle('h', 12n, { base: 10n, postings: payAllToSelf }), chargeOf(12n, 10n))
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase('posting-summed', 'postings to one account are summed', async (bench) => {
    await bench.settle('h', 12n, {
      base: 10n,
      postings: [
        { account: 'alice', amount: -12n },
        { account: 'platform', amount: 10n },
        { account: 'platform', amount: 2n },
      ],
    })
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
    assert.deepEqual(await bench.balance('platform'), [12n, 0n, 12n])
  }),
  ledgerCase('posting-app-pays', 'an app that pays for its own call gets its markup back', async (bench) => {
    assertGranted(await bench.hold('h', 12n))
    await bench.settle('h', 12n, {
      base: 10n,
      postings: [
        { account: 'alice', amount: -12n },
        { account: 'platform', amount: 10n },
        { account: 'alice', amount: 2n },
      ],
    })
    assert.deepEqual(await bench.balance(), [90n, 0n, 90n])
  }),
  ledgerCase('posting-adds-up', 'many settlements neither create nor lose credit', async (bench) => {
    for (let number = 0; number < 40; number++) {
      const cost = BigInt((number * 7) % 13)
      await bench.hold(`h${number}`, BigInt(number % 3))
      await bench.settle(`h${number}`, cost, { base: cost / 2n })
    }
    const posted = await Promise.all(['alice', 'platform', 'app'].map((account) => bench.balance(account)))
    assert.equal(
      posted.reduce((sum, [amount]) => sum + amount, 0n),
      100n,
    )
    assert.equal(posted[0]![1], 0n)
  }),
  ledgerCase('posting-negative-hold', 'a negative hold is rejected', async (bench) => {
    const request: HoldRequest = {
      holdId: bench.holdId('h'),
      account: 'alice',
      amount: -1n,
      ttlMs: 60_000,
      facts: factsOf('alice'),
    }
    await assert.rejects(async () => bench.store.hold(request, bench.context))
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase('posting-negative-charge', 'a negative cost, base or markup is rejected', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    await assertSettleRejected(bench, { charge: chargeOf(-1n, -1n), postings: pay(-1n, -1n) })
    await assertSettleRejected(bench, { charge: chargeOf(-1n, 0n, { markup: 0n }), postings: pay(0n, 0n) })
    await assertSettleRejected(bench, { charge: chargeOf(10n, -2n), postings: pay(10n, -2n) })
    await assertSettleRejected(bench, { charge: chargeOf(10n, 12n), postings: pay(10n, 12n) })
    assert.equal((await bench.settle('h', 12n)).repeated, false)
    assert.deepEqual(await bench.balance(), [88n, 0n, 88n])
  }),
  ledgerCase(
    'posting-unbalanced',
    'postings that do not add up to zero are rejected and change nothing',
    async (bench) => {
      assertGranted(await bench.hold('h', 30n))
      await assertSettleRejected(bench, {
        charge: chargeOf(12n),
        postings: [{ account: 'alice', amount: -12n }],
      })
      await assertSettleRejected(bench, {
        charge: chargeOf(12n),
        postings: [
          { account: 'alice', amount: -12n },
          { account: 'platform', amount: 13n },
        ],
      })
      assert.equal((await bench.settle('h', 12n)).repeated, false)
      assert.deepEqual(await bench.balance('platform'), [12n, 0n, 12n])
    },
  ),
  ledgerCase(
    'posting-overflow',
    'a settlement is rejected as a whole if a balance would exceed 64 bits',
    async (bench) => {
      assertGranted(await bench.hold('h', 30n))
      await assertSettleRejected(bench, { charge: chargeOf(12n), postings: pay(12n, 12n) })
      assert.deepEqual(await bench.balance('platform'), [MAX_CREDITS - 5n, 0n, MAX_CREDITS - 5n])
      assert.equal((await bench.settle('h', 5n)).repeated, false)
      assert.deepEqual(await bench.balance(), [95n, 0n, 95n])
      assert.deepEqual(await bench.balance('platform'), [MAX_CREDITS, 0n, MAX_CREDITS])
    },
    { accounts: { alice: '0.0000001', platform: '9223372036.854775802' } },
  ),
  ledgerCase(
    'posting-underflow',
    'a settlement is rejected as a whole if a debt would exceed 64 bits',
    async (bench) => {
      await bench.settle('first', MAX_CREDITS)
      const further = [
        { account: 'alice', amount: -102n },
        { account: 'app', amount: 102n },
      ]
      await assert.rejects(
        async () => bench.settle('second', 102n, { postings: further }),
        () => true,
        'a settlement that takes alice below -2^63 must be rejected',
      )
      assert.deepEqual(await bench.balance(), [100n - MAX_CREDITS, 0n, 100n - MAX_CREDITS])
      assert.deepEqual(await bench.balance('app'), [0n, 0n, 0n])
      assertPosted(
        await bench.settle('second', 12n, { postings: pay(12n, 0n) }),
        chargeOf(12n),
        MAX_CREDITS - 88n,
      )
    },
  ),
  ledgerCase(
    'posting-input-copied',
    'later changes to the usage of a charge do not affect the ledger',
    async (bench) => {
      const usage = { prompt: 11, cached: 3, cacheWrite: 2, completion: 7, reasoning: 5 }
      const charge = { ...chargeOf(12n), usage }
      await bench.settle('h', 12n, { charge })
      usage.completion = 1_000
      const first = await bench.settle('h', 12n)
      assert.equal(first.charge.usage.completion, 7)
      Reflect.set(first.charge.usage, 'completion', 2_000)
      assert.equal((await bench.settle('h', 12n)).charge.usage.completion, 7)
    },
  ),
  ledgerCase(
    'posting-charge-whole',
    'a repeat returns the first charge with all its fields',
    async (bench) => {
      const text = { prompt: 11, cached: 3, cacheWrite: 2, completion: 7, reasoning: 5 }
      const usage = { ...text, audioInput: 4, audioOutput: 2, imageInput: 6, imageOutput: 1 }
      const charge = {
        byok: true,
        basis: 'estimated',
        shortfall: 9n,
        priceVersion: '2026-11',
        usage,
      } as const
      await bench.settle('h', 12n, { base: 10n, charge })
      assertRepeated(await bench.settle('h', 1n), chargeOf(12n, 10n, charge))
    },
  ),
]

const MAX_CREDITS = 2n ** 63n - 1n

function pay(cost: bigint, base: bigint): SettleRequest['postings'] {
  return [
    { account: 'alice', amount: -cost },
    { account: 'platform', amount: base },
    { account: 'app', amount: cost - base },
  ]
}

/** Asserts that the settlement is rejected and the hold of 30 stays open. */
async function assertSettleRejected(
  bench: LedgerBench,
  { charge, postings }: Pick<SettleRequest, 'charge' | 'postings'>,
): Promise<void> {
  const request = { holdId: bench.holdId('h'), charge, postings, facts: factsOf('alice') }
  await assert.rejects(async () => bench.store.settle(request, bench.context))
  assert.deepEqual(await bench.balance(), [100n, 30n, 70n])
}
