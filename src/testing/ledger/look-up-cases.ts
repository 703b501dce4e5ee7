import { strict as assert } from 'node:assert'
import type { LedgerCall, SpentQuery } from '../../contracts/index.js'
import {
  assertCharge,
  assertGranted,
  chargeOf,
  type LedgerBench,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

const LONG_MS = 600_000

/** Finds a call by the short names of its holds. */
function find({ context, holdId, store }: LedgerBench, names: readonly string[], account = 'alice') {
  return store.findCall!({ account, holdIds: names.map(holdId) }, context)
}

function assertState(call: LedgerCall | undefined, state: LedgerCall['state']): void {
  assert.equal(call?.state, state)
}

/** Returns what was spent in total, today, this week and this month. */
async function spentBy({ context, store }: LedgerBench, query: SpentQuery = { account: 'alice' }) {
  const { month, today, total, week } = await store.spent!(query, context)
  return [total, today, week, month]
}

/** The look-ups for callers. */
export const lookUpCases: readonly LedgerCase[] = [
  lookUpCase('find-held', 'a call is found by its open hold', async (bench) => {
    assertGranted(await bench.hold('h', 10n, { facts: { completionId: 'reply-1' } }))
    const call = await find(bench, ['other', 'h'])
    assertState(call, 'held')
    assert.ok(call?.state === 'held' && call.facts.completionId === 'reply-1' && call.holdAmount === 10n)
    assert.ok(call.expiresAt > 0, 'expiresAt must be a time')
  }),
  lookUpCase('find-settled', 'a call is found with its charge as soon as it is settled', async (bench) => {
    assertGranted(await bench.hold('h', 10n))
    await bench.settle('h', 7n, { base: 5n, facts: { completionId: 'reply-1' } })
    const call = await find(bench, ['h'])
    assertState(call, 'settled')
    assert.ok(call?.state === 'settled' && call.entry.facts?.completionId === 'reply-1')
    assertCharge(call.entry.charge, chargeOf(7n, 5n))
    assert.equal(call.refunded, 0n, 'refunded')
  }),
  lookUpCase(
    'find-replaced',
    'of the holds of a call, the one that replaced the others counts',
    async (bench) => {
      assertGranted(await bench.hold('h', 10n))
      assertGranted(await bench.hold('i', 20n, { replaces: 'h' }))
      assertState(await find(bench, ['h', 'i']), 'held')
      await bench.settle('i', 7n)
      assertState(await find(bench, ['h', 'i']), 'settled')
    },
  ),
  lookUpCase('find-released', 'a call that was released has ended', async (bench) => {
    assertGranted(await bench.hold('h', 10n, { facts: { completionId: 'reply-1' } }))
    await bench.release('h')
    const call = await find(bench, ['h'])
    assertState(call, 'ended')
    assert.ok(call?.state === 'ended' && call.facts.completionId === 'reply-1' && call.at > 0)
  }),
  lookUpCase(
    'find-expired',
    'a call whose hold has expired has ended, until it is settled',
    async (bench) => {
      await bench.holdAndLapse('h', 10n)
      assertState(await find(bench, ['h']), 'ended')
      await bench.settle('h', 7n)
      assertState(await find(bench, ['h']), 'settled')
    },
  ),
  lookUpCase(
    'find-nothing',
    'no call of another account is found, and none that took no hold',
    async (bench) => {
      assertGranted(await bench.hold('held', 10n))
      assertGranted(await bench.hold('settled', 10n))
      await bench.settle('settled', 7n)
      assertGranted(await bench.hold('released', 10n))
      await bench.release('released')
      for (const name of ['held', 'settled', 'released'])
        assert.equal(await find(bench, [name], 'bob'), undefined)
      await bench.release('unknown')
      assert.equal(await find(bench, ['unknown', 'never']), undefined)
    },
  ),
  lookUpCase(
    'spent',
    'what was spent is the sum of the charges, of all credentials or of one',
    async (bench) => {
      assert.deepEqual(await spentBy(bench), [0n, 0n, 0n, 0n])
      await bench.settle('a', 7n)
      await bench.settle('a', 7n)
      await bench.settle('b', 5n, { facts: { credentialId: 'credential-2' } })
      await bench.settle('c', 3n, { account: 'bob' })
      assert.deepEqual(await spentBy(bench), [12n, 12n, 12n, 12n])
      const one = { account: 'alice', credentialId: 'credential-2' }
      assert.deepEqual(await spentBy(bench, one), [5n, 5n, 5n, 5n])
      assert.deepEqual(await spentBy(bench, { account: 'bob', credentialId: 'credential-2' }), [
        0n,
        0n,
        0n,
        0n,
      ])
      assert.deepEqual(await spentBy(bench, { account: 'nobody' }), [0n, 0n, 0n, 0n])
    },
  ),
  lookUpCase('spent-balance', 'what was spent comes with the balance of the account', async (bench) => {
    await bench.settle('a', 7n)
    assertGranted(await bench.hold('h', 10n))
    const query = { account: 'alice', credentialId: 'credential-2' }
    const { balance } = await bench.store.spent!(query, bench.context)
    assert.deepEqual({ ...balance }, { posted: 93n, held: 10n, available: 83n })
    const nobody = await bench.store.spent!({ account: 'nobody' }, bench.context)
    assert.deepEqual({ ...nobody.balance }, { posted: 0n, held: 0n, available: 0n })
  }),
  lookUpCase(
    'limit-counts',
    'the counts of limits are those of their present periods, in order',
    async (bench) => {
      const unit = 'tokens'
      const windows = [[0, 8_640_000_000_000_000]] as const
      const held = { bucket: 'held', unit, limit: 100n, amount: 30n, windows } as const
      const used = { bucket: 'used', unit, limit: 100n, amount: 40n, windows } as const
      const count = async (
        name: string,
        limit = 100n,
        within: typeof windows | readonly [number, number][] = windows,
      ) => {
        const [answer] = await bench.store.limitCounts!(
          [{ bucket: name, limit, windows: within }],
          bench.context,
        )
        return [answer?.bucket, answer?.used, answer?.held, answer?.left]
      }
      assertGranted(await bench.hold('h', 1n, { limits: [held] }))
      assertGranted(await bench.hold('u', 1n, { limits: [used] }))
      await bench.settle('u', 1n, { limits: [{ bucket: 'used', unit, from: 0, used: 50n }] })
      assert.deepEqual(await count('held'), ['held', 0n, 30n, 70n])
      assert.deepEqual(await count('used'), ['used', 50n, 0n, 50n])
      assert.deepEqual(await count('used', 20n), ['used', 50n, 0n, 0n])
      assert.deepEqual(await count('none'), ['none', 0n, 0n, 100n])
      const both = [used, held].map(({ bucket, limit }) => ({ bucket, limit, windows }))
      const counts = await bench.store.limitCounts!(both, bench.context)
      assert.deepEqual(
        counts.map(({ bucket }) => bucket),
        ['used', 'held'],
      )
      assert.ok(counts.every(({ resetMs }) => resetMs > 0))
      const now = 8_640_000_000_000_000 - counts[0]!.resetMs
      const later = [
        [0, now - LONG_MS],
        [now - LONG_MS, 8_640_000_000_000_000],
      ] as [number, number][]
      assert.deepEqual(await count('used', 100n, later), ['used', 0n, 0n, 100n], 'in the next period')
    },
  ),
]

function lookUpCase(id: string, name: string, check: (bench: LedgerBench) => Promise<void>): LedgerCase {
  return ledgerCase(id, name, check, { needs: ['lookUps'] })
}
