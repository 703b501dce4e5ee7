import { strict as assert } from 'node:assert'
import { assertGranted, factsOf, type LedgerCase, ledgerCase } from './bench.js'

const FIVE = ['a', 'b', 'c', 'd', 'e']

/** Expired holds. */
export const expiryCases: readonly LedgerCase[] = [
  ledgerCase(
    'expiry-frees',
    'an expired hold no longer counts, and its credit can be held again',
    async (bench) => {
      await bench.holdAndLapse('h', 100n)
      assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
      assertGranted(await bench.hold('next', 100n))
      assert.deepEqual(await bench.balance(), [100n, 100n, 0n])
    },
  ),
  ledgerCase('expiry-reported', 'an expired hold is reported once, with all its fields', async (bench) => {
    await bench.holdAndLapse('h', 30n, { facts: { sessionId: 's', appId: 'app-1' } })
    const expired = await bench.store.expireHolds(100, bench.context)
    assert.equal(expired.length, 1)
    const { holdId, account, amount, facts } = expired[0]!
    assert.deepEqual([holdId, account, amount], [bench.holdId('h'), 'alice', 30n])
    const { requestId, credentialId, model, sessionId, appId } = facts
    assert.deepEqual(
      { requestId, account: facts.account, credentialId, model, sessionId, appId },
      factsOf('alice', { sessionId: 's', appId: 'app-1' }),
    )
    assert.equal((await bench.store.expireHolds(100, bench.context)).length, 0)
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase('expiry-only-overdue', 'a hold does not expire early, or after it has ended', async (bench) => {
    assertGranted(await bench.hold('open', 10n))
    assertGranted(await bench.hold('released', 10n))
    assertGranted(await bench.hold('settled', 10n))
    await bench.release('released')
    await bench.settle('settled', 5n)
    await bench.holdAndLapse('h', 30n)
    const expired = await bench.store.expireHolds(100, bench.context)
    assert.deepEqual(
      expired.map(({ holdId }) => holdId),
      [bench.holdId('h')],
    )
    assert.deepEqual(await bench.balance(), [95n, 10n, 85n])
  }),
  ledgerCase(
    'expiry-settled-late',
    'a hold that was settled after its expiry is not reported as expired',
    async (bench) => {
      await bench.holdAndLapse('h', 30n)
      await bench.settle('h', 12n)
      assert.equal((await bench.store.expireHolds(100, bench.context)).length, 0)
    },
  ),
  ledgerCase('expiry-limit', 'one call reports at most `limit` holds', async (bench) => {
    await bench.holdAndLapse(FIVE, 5n)
    const seen: string[] = []
    for (const limit of [2, 2, 2]) {
      const expired = await bench.store.expireHolds(limit, bench.context)
      assert.ok(expired.length <= limit)
      seen.push(...expired.map(({ holdId }) => holdId))
    }
    assert.deepEqual(seen.sort(), FIVE.map(bench.holdId).sort())
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase(
    'expiry-one-caller',
    'each expired hold is reported to one of several concurrent callers',
    async (bench) => {
      await bench.holdAndLapse(FIVE, 5n)
      const calls = Array.from({ length: 8 }, async () => bench.store.expireHolds(2, bench.context))
      const answers = await Promise.all(calls)
      const seen = answers.flatMap((expired) => expired.map(({ holdId }) => holdId))
      seen.push(...(await bench.store.expireHolds(100, bench.context)).map(({ holdId }) => holdId))
      assert.deepEqual(seen.sort(), FIVE.map(bench.holdId).sort())
    },
  ),
]
