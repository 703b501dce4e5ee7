import { strict as assert } from 'node:assert'
import type { HoldLimit, HoldResult, LimitState, LimitUnit, LimitUse } from '../../contracts/index.js'
import { assertGranted, assertRefused, type LedgerBench, type LedgerCase, ledgerCase } from './bench.js'

/** The last millisecond that a `Date` can represent. */
const FOREVER_MS = 8_640_000_000_000_000
const LONG_MS = 600_000

/** Returns a limit of 100 in total, as a hold tests it. */
function limitOf(unit: LimitUnit, amount: bigint, more: Partial<HoldLimit> = {}): HoldLimit {
  return { bucket: `limit-${unit}`, unit, limit: 100n, amount, windows: [[0, FOREVER_MS]], ...more }
}

/** Returns what a settlement counts for a hold of {@link limitOf}. */
function useOf(unit: LimitUnit, used: bigint, more: Partial<LimitUse> = {}): LimitUse {
  return { bucket: `limit-${unit}`, unit, from: 0, used, ...more }
}

/** Asserts that a hold was granted, with one limit. Returns the state of its bucket. */
function stateOf(result: HoldResult): LimitState {
  assertGranted(result)
  const state = result.ok ? result.limits?.[0] : undefined
  assert.ok(state !== undefined, 'a granted hold must answer its limits')
  return state
}

function assertLeft(result: HoldResult, left: bigint): void {
  assert.equal(stateOf(result).left, left, 'left')
}

function assertLimited(result: HoldResult, bucket: string, left: bigint, onlyHeld: boolean): void {
  assertRefused(result, 'limited')
  if (result.ok || result.reason !== 'limited') return
  assert.deepEqual([result.bucket, result.left, result.onlyHeld], [bucket, left, onlyHeld])
  assert.ok(result.resetMs >= 0, 'resetMs must be 0 or more')
}

/** Returns what is left of the bucket of {@link limitOf}, without changing anything. */
async function leftOf(bench: LedgerBench, unit: LimitUnit, more: Partial<HoldLimit> = {}): Promise<bigint> {
  const result = await bench.hold('probe', 0n, { limits: [limitOf(unit, 1_000n, more)] })
  assertRefused(result, 'limited')
  return !result.ok && result.reason === 'limited' ? result.left : -1n
}

/** Returns periods around the store's clock, which is read from an answer: two past ones, the current one and the next. */
async function periodsOf(bench: LedgerBench): Promise<{
  readonly earlier: HoldLimit['windows']
  readonly later: HoldLimit['windows']
  readonly laterFrom: number
}> {
  const probe = limitOf('tokens', 0n, { bucket: 'clock' })
  const now = FOREVER_MS - stateOf(await bench.hold('clock', 0n, { limits: [probe] })).resetMs
  const laterFrom = now - LONG_MS
  return {
    earlier: [
      [0, now + LONG_MS],
      [now + LONG_MS, FOREVER_MS],
    ],
    later: [
      [0, laterFrom],
      [laterFrom, FOREVER_MS],
    ],
    laterFrom,
  }
}

const UNITS: readonly LimitUnit[] = ['credits', 'requests', 'tokens']

/** Budgets and rate limits, tested with each hold. */
export const limitCases: readonly LedgerCase[] = [
  ledgerCase('limit-answered', 'a granted hold answers its limits, in order', async (bench) => {
    const limits = [limitOf('tokens', 30n), limitOf('requests', 1n), limitOf('credits', 20n)]
    const result = await bench.hold('h', 20n, { limits })
    assertGranted(result)
    const states = result.ok ? (result.limits ?? []) : []
    assert.deepEqual(
      states.map(({ bucket, from, left }) => [bucket, from, left]),
      [
        ['limit-tokens', 0, 70n],
        ['limit-requests', 0, 99n],
        ['limit-credits', 0, 80n],
      ],
    )
    assert.ok(states.every(({ resetMs }) => resetMs > 0 && resetMs < FOREVER_MS))
  }),
  ...UNITS.map((unit) =>
    ledgerCase(`limit-${unit}`, `a limit of ${unit} allows all of its amount and no more`, async (bench) => {
      const limit = unit === 'requests' ? 2n : 100n
      const [first, second] = unit === 'requests' ? [1n, 1n] : [70n, 30n]
      const hold = (name: string, amount: bigint) =>
        bench.hold(name, 1n, { limits: [limitOf(unit, amount, { limit })] })
      assertLeft(await hold('one', first), limit - first)
      assertLeft(await hold('two', second), 0n)
      assertLimited(await hold('three', 1n), `limit-${unit}`, 0n, unit !== 'requests')
      assert.deepEqual((await bench.balance())[1], 2n, 'a refused hold must reserve nothing')
    }),
  ),
  ledgerCase('limit-refused', 'a refused hold changes no bucket, and leaves its id free', async (bench) => {
    assertGranted(await bench.hold('h', 60n, { limits: [limitOf('credits', 60n)] }))
    const both = [limitOf('requests', 1n), limitOf('credits', 41n)]
    assertLimited(await bench.hold('i', 40n, { limits: both }), 'limit-credits', 40n, true)
    assert.equal(await leftOf(bench, 'requests'), 100n)
    assertGranted(await bench.hold('i', 40n, { limits: [limitOf('credits', 40n)] }))
  }),
  ledgerCase('limit-balance-first', 'the balance is tested before the limits', async (bench) => {
    const limits = [limitOf('credits', 101n)]
    assertRefused(await bench.hold('h', 101n, { limits }), 'insufficient')
  }),
  ledgerCase('limit-zero', 'an amount of 0 passes a limit of credits but no other', async (bench) => {
    const none = { limit: 0n }
    assertLeft(await bench.hold('h', 0n, { limits: [limitOf('credits', 0n, none)] }), 0n)
    const counted = await bench.hold('i', 0n, { limits: [limitOf('requests', 1n, none)] })
    assertLimited(counted, 'limit-requests', 0n, false)
  }),
  ledgerCase('limit-settled', 'a settlement replaces what was held by what was used', async (bench) => {
    const limits = [limitOf('tokens', 60n), limitOf('requests', 1n)]
    assertGranted(await bench.hold('h', 1n, { limits }))
    const uses = [useOf('tokens', 75n), useOf('requests', 1n)]
    await bench.settle('h', 1n, { limits: uses })
    assert.equal(await leftOf(bench, 'tokens'), 25n)
    assert.equal(await leftOf(bench, 'requests'), 99n)
    await bench.settle('h', 1n, { limits: uses })
    assert.equal(await leftOf(bench, 'tokens'), 25n, 'left after the settlement is repeated')
    const next = await bench.hold('i', 1n, { limits: [limitOf('tokens', 26n)] })
    assertLimited(next, 'limit-tokens', 25n, false)
  }),
  ledgerCase('limit-passed', 'a use beyond the limit counts, and leaves 0', async (bench) => {
    assertGranted(await bench.hold('h', 1n, { limits: [limitOf('tokens', 60n)] }))
    await bench.settle('h', 1n, { limits: [useOf('tokens', 140n)] })
    assert.equal(await leftOf(bench, 'tokens'), 0n)
    const raised = await bench.hold('i', 1n, { limits: [limitOf('tokens', 60n, { limit: 200n })] })
    assertLeft(raised, 0n)
  }),
  ledgerCase('limit-released', 'a release gives back all but the request', async (bench) => {
    const limits = [limitOf('tokens', 60n), limitOf('requests', 1n)]
    assertGranted(await bench.hold('h', 1n, { limits }))
    await bench.release('h')
    await bench.release('h')
    assert.equal(await leftOf(bench, 'tokens'), 100n)
    assert.equal(await leftOf(bench, 'requests'), 99n)
  }),
  ledgerCase('limit-expired', 'an expiry gives back all but the request, swept or not', async (bench) => {
    const limits = [limitOf('tokens', 60n), limitOf('requests', 1n)]
    await bench.holdAndLapse('h', 1n, { limits })
    assert.equal(await leftOf(bench, 'tokens'), 100n)
    assertGranted(await bench.hold('i', 1n, { limits: [limitOf('tokens', 50n)] }))
    await bench.store.expireHolds(100, bench.context)
    assert.equal(await leftOf(bench, 'tokens'), 50n)
    await bench.settle('h', 1n, { limits: [useOf('tokens', 10n)] })
    assert.equal(await leftOf(bench, 'tokens'), 40n, 'left after the late settlement')
    assert.equal(await leftOf(bench, 'requests'), 99n)
  }),
  ledgerCase('limit-unknown-hold', 'a settlement of an unknown hold counts its use', async (bench) => {
    assertGranted(await bench.hold('h', 1n, { limits: [limitOf('tokens', 60n)] }))
    await bench.settle('unknown', 1n, { limits: [useOf('tokens', 10n)] })
    assert.equal(await leftOf(bench, 'tokens'), 30n)
  }),
  ledgerCase('limit-unknown-bucket', 'a settlement creates no bucket', async (bench) => {
    await bench.settle('h', 1n, { limits: [useOf('tokens', 10n)] })
    assert.equal(await leftOf(bench, 'tokens'), 100n)
  }),
  ledgerCase('limit-repeated', 'a repeated hold returns the same answer and counts once', async (bench) => {
    const limits = [limitOf('requests', 1n), limitOf('tokens', 60n)]
    const first = await bench.hold('h', 1n, { limits })
    const again = await bench.hold('h', 1n, { limits })
    assert.equal(stateOf(first).left, stateOf(again).left)
    assert.equal(await leftOf(bench, 'tokens'), 40n)
    const others = [limitOf('requests', 1n), limitOf('tokens', 61n)]
    assertRefused(await bench.hold('h', 1n, { limits: others }), 'conflict')
    assertRefused(await bench.hold('h', 1n), 'conflict')
  }),
  ledgerCase('limit-repeated-late', 'a hold may be repeated after its periods have ended', async (bench) => {
    assertGranted(await bench.hold('h', 1n, { limits: [limitOf('tokens', 60n)] }))
    const ended = { windows: [[0, 1]] } as const
    const again = stateOf(await bench.hold('h', 1n, { limits: [limitOf('tokens', 60n, ended)] }))
    assert.deepEqual([again.from, again.left], [0, 40n])
    const others = [limitOf('tokens', 61n, ended)]
    assertRefused(await bench.hold('h', 1n, { limits: others }), 'conflict')
    await bench.release('h')
    assertRefused(await bench.hold('h', 1n, { limits: [limitOf('tokens', 60n, ended)] }), 'closed')
    assert.equal(await leftOf(bench, 'tokens'), 100n)
  }),
  ledgerCase('limit-claimed', 'a hold whose claim is taken counts nothing', async (bench) => {
    assertGranted(await bench.hold('h', 1n, { claim: 'c' }))
    const limits = [limitOf('requests', 1n)]
    assertRefused(await bench.hold('i', 1n, { claim: 'c', limits }), 'claimed')
    assert.equal(await leftOf(bench, 'requests'), 100n)
  }),
  ledgerCase('limit-replaced', 'a replacement is tested without the part of the old hold', async (bench) => {
    assertGranted(await bench.hold('other', 1n, { limits: [limitOf('tokens', 20n)] }))
    assertGranted(await bench.hold('old', 1n, { limits: [limitOf('tokens', 60n)] }))
    const dearer = await bench.hold('new', 1n, { replaces: 'old', limits: [limitOf('tokens', 81n)] })
    assertLimited(dearer, 'limit-tokens', 80n, true)
    assert.equal(await leftOf(bench, 'tokens'), 20n)
    assertLeft(await bench.hold('new', 1n, { replaces: 'old', limits: [limitOf('tokens', 80n)] }), 0n)
    await bench.release('new')
    assert.equal(await leftOf(bench, 'tokens'), 80n)
  }),
  ledgerCase('limit-replaced-request', 'a replacement is no second request', async (bench) => {
    const limits = [limitOf('requests', 1n, { limit: 1n })]
    assertGranted(await bench.hold('one', 1n, { limits }))
    assertLeft(await bench.hold('two', 1n, { replaces: 'one', limits }), 0n)
    assertLeft(await bench.hold('three', 1n, { replaces: 'two', limits }), 0n)
    assertLimited(await bench.hold('four', 1n, { limits }), 'limit-requests', 0n, false)
  }),
  ledgerCase('limit-later-period', 'a hold in a later period starts its bucket again', async (bench) => {
    const { earlier, later, laterFrom } = await periodsOf(bench)
    assert.equal(
      stateOf(await bench.hold('h', 1n, { limits: [limitOf('tokens', 60n, { windows: earlier })] })).from,
      0,
    )
    const state = stateOf(await bench.hold('i', 1n, { limits: [limitOf('tokens', 70n, { windows: later })] }))
    assert.deepEqual([state.from, state.left], [laterFrom, 30n])
    await bench.settle('h', 1n, { limits: [useOf('tokens', 50n)] })
    assert.equal(await leftOf(bench, 'tokens', { windows: later }), 30n, 'left after the earlier settlement')
    await bench.settle('i', 1n, { limits: [useOf('tokens', 10n, { from: laterFrom })] })
    assert.equal(await leftOf(bench, 'tokens', { windows: later }), 90n)
  }),
  ledgerCase('limit-earlier-release', 'a release in a later period gives nothing back', async (bench) => {
    const { earlier, later } = await periodsOf(bench)
    const inPeriod = (windows: HoldLimit['windows']) => ({ limits: [limitOf('tokens', 60n, { windows })] })
    assertGranted(await bench.hold('h', 1n, inPeriod(earlier)))
    assertGranted(await bench.hold('i', 1n, inPeriod(later)))
    await bench.release('h')
    assert.equal(await leftOf(bench, 'tokens', { windows: later }), 40n)
  }),
  ledgerCase('limit-never-back', 'the period of a bucket never goes back', async (bench) => {
    const { earlier, later, laterFrom } = await periodsOf(bench)
    const inPeriod = (windows: HoldLimit['windows']) => ({ limits: [limitOf('tokens', 60n, { windows })] })
    assertGranted(await bench.hold('h', 1n, inPeriod(later)))
    assertLimited(await bench.hold('i', 1n, inPeriod(earlier)), 'limit-tokens', 40n, true)
    const fits = { limits: [limitOf('tokens', 40n, { windows: earlier })] }
    assert.equal(stateOf(await bench.hold('i', 1n, fits)).from, laterFrom)
  }),
  ledgerCase(
    'limit-replaced-over-end',
    'a replacement keeps the period of the first hold, as long as its bucket does',
    async (bench) => {
      const { earlier, later, laterFrom } = await periodsOf(bench)
      const limitsIn = (windows: HoldLimit['windows'], tokens: bigint) => ({
        limits: [limitOf('tokens', tokens, { windows }), limitOf('requests', 1n, { windows })],
      })
      const statesOf = (result: HoldResult) => {
        assertGranted(result)
        return result.ok ? result.limits?.map(({ from, left }) => [from, left]) : []
      }
      assertGranted(await bench.hold('one', 1n, limitsIn(earlier, 60n)))
      const kept = await bench.hold('two', 1n, { replaces: 'one', ...limitsIn(later, 70n) })
      assert.deepEqual(statesOf(kept), [
        [0, 30n],
        [0, 99n],
      ])
      assertGranted(await bench.hold('other', 1n, limitsIn(later, 50n)))
      const tooDear = await bench.hold('three', 1n, { replaces: 'two', ...limitsIn(later, 51n) })
      assertLimited(tooDear, 'limit-tokens', 50n, true)
      const moved = await bench.hold('three', 1n, { replaces: 'two', ...limitsIn(later, 50n) })
      assert.deepEqual(statesOf(moved), [
        [laterFrom, 0n],
        [0, 99n],
      ])
    },
  ),
  ledgerCase(
    'limit-longest',
    'of several limits, the refusal names the one that ends last',
    async (bench) => {
      const { later } = await periodsOf(bench)
      const now = later[0]![1] + LONG_MS
      const limits = [
        limitOf('tokens', 101n, { bucket: 'short', windows: [[0, now + LONG_MS]] }),
        limitOf('tokens', 101n, { bucket: 'long', windows: [[0, now + 2 * LONG_MS]] }),
        limitOf('tokens', 101n, { bucket: 'middle', windows: [[0, now + 1.5 * LONG_MS]] }),
      ]
      assertLimited(await bench.hold('h', 1n, { limits }), 'long', 100n, false)
    },
  ),
  ledgerCase(
    'limit-outside',
    'a hold whose periods do not contain the present time is rejected',
    async (bench) => {
      const limits = [limitOf('tokens', 1n, { windows: [[0, 1]] })]
      await assert.rejects(async () => bench.hold('h', 1n, { limits }))
      assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
    },
  ),
  ledgerCase('limit-impossible', 'impossible limits are rejected and change nothing', async (bench) => {
    const twice = [limitOf('tokens', 1n), limitOf('tokens', 1n)]
    await assert.rejects(async () => bench.hold('h', 1n, { limits: twice }))
    await assert.rejects(async () => bench.hold('h', 1n, { limits: [limitOf('tokens', -1n)] }))
    await assert.rejects(async () => bench.settle('h', 1n, { limits: [useOf('tokens', -1n)] }))
    assert.equal(await leftOf(bench, 'tokens'), 100n)
    assert.deepEqual(await bench.balance(), [100n, 0n, 100n])
  }),
  ledgerCase('limit-parallel', 'of holds made at the same time, no more pass than fit', async (bench) => {
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        bench.hold(`h-${index}`, 1n, {
          limits: [limitOf('tokens', 10n), limitOf('requests', 1n, { limit: 20n })],
        }),
      ),
    )
    assert.equal(results.filter(({ ok }) => ok).length, 10)
    assert.equal(await leftOf(bench, 'requests', { limit: 20n }), 10n)
  }),
  ledgerCase(
    'limit-entry',
    'an entry contains the use of each limit',
    async (bench) => {
      const uses = [useOf('tokens', 10n, { from: 5 }), useOf('requests', 1n)]
      await bench.settle('h', 1n, { limits: uses })
      await bench.settle('i', 1n)
      const { entries } = await bench.store.entries!({ account: 'alice', limit: 2 }, bench.context)
      const limitsOf = (name: string) => entries.find(({ holdId }) => holdId === bench.holdId(name))?.limits
      assert.deepEqual(limitsOf('h'), uses)
      assert.equal(limitsOf('i'), undefined)
    },
    { needs: ['entries'] },
  ),
]
