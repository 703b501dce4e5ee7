import { strict as assert } from 'node:assert'
import type { HoldLimit, HoldResult, HoldSteps } from '../../contracts/index.js'
import {
  assertClaimed,
  assertGranted,
  assertInsufficient,
  assertRefused,
  type LedgerBench,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

/** The last millisecond that a `Date` can represent. */
const FOREVER_MS = 8_640_000_000_000_000
/** Steps of 2 credits, of which 10 are usual. */
const STEPS: HoldSteps = { amount: 2n, usual: 10, most: 1_000 }

/** A budget of 100 credits in total, for a hold of 4 with {@link STEPS}. */
function budget(more: Partial<HoldLimit> = {}): HoldLimit {
  return { bucket: 'budget', unit: 'credits', limit: 100n, amount: 4n, step: 2n, ...always(), ...more }
}

/** A limit of 100 tokens in total, for a hold of 4 with one more for each step. */
function tokens(more: Partial<HoldLimit> = {}): HoldLimit {
  return { bucket: 'tokens', unit: 'tokens', limit: 100n, amount: 4n, step: 1n, ...always(), ...more }
}

function always(): Pick<HoldLimit, 'windows'> {
  return { windows: [[0, FOREVER_MS]] }
}

/** Asserts that a hold was granted with this many steps, and that this many limits were answered. */
function assertSteps(result: HoldResult, steps: number, limits = 0): void {
  assertGranted(result)
  if (!result.ok) return
  assert.equal(result.steps, steps, 'steps')
  assert.equal(result.limits?.length ?? 0, limits, 'limits')
}

async function assertHeld(bench: LedgerBench, held: bigint, account?: string): Promise<void> {
  assert.equal((await bench.balance(account))[1], held, 'held')
}

/** Returns what is left of a bucket, without changing anything. */
async function leftOf(bench: LedgerBench, { bucket, unit }: HoldLimit): Promise<bigint> {
  const limit: HoldLimit = { bucket, unit, limit: 100n, amount: 1_000n, ...always() }
  const result = await bench.hold('probe', 0n, { limits: [limit] })
  assertRefused(result, 'limited')
  return !result.ok && result.reason === 'limited' ? result.left : -1n
}

const rich = { accounts: { alice: '0.000001' } }

/** Holds whose size the ledger chooses. */
export const stepCases: readonly LedgerCase[] = [
  ledgerCase('steps-usual', 'a hold takes its usual steps even if a quarter pays fewer', async (bench) => {
    assertSteps(await bench.hold('h', 4n, { steps: STEPS }), 10)
    assert.deepEqual(await bench.balance(), [100n, 24n, 76n])
  }),
  ledgerCase(
    'steps-quarter',
    'a hold takes the steps that a quarter of the free balance pays',
    async (bench) => {
      assertGranted(await bench.hold('other', 99n))
      // (901 - 4 x 4) / 8 is 110.6, and (677 - 4 x 4) / 8 is 82.6.
      assertSteps(await bench.hold('one', 4n, { steps: STEPS }), 110)
      assertSteps(await bench.hold('two', 4n, { steps: STEPS }), 82)
      await assertHeld(bench, 99n + 224n + 168n)
    },
    rich,
  ),
  ledgerCase('steps-most', 'a hold takes no more than its most steps', async (bench) => {
    assertSteps(await bench.hold('one', 4n, { steps: { ...STEPS, most: 7 } }), 7)
    assertSteps(await bench.hold('two', 4n, { steps: { ...STEPS, most: 0 } }), 0)
    await assertHeld(bench, 18n + 4n)
  }),
  ledgerCase(
    'steps-leave-room',
    'a hold leaves room for three of its least amount, or for as many as there is room for',
    async (bench) => {
      // A quarter of 100 covers 24; 76 is 3 x 20 + 16, and 40 is 2 x 20.
      assertSteps(await bench.hold('one', 20n, { steps: { ...STEPS, usual: 1 } }), 2)
      assertSteps(await bench.hold('two', 20n, { steps: { ...STEPS, usual: 100 } }), 8)
      assertSteps(await bench.hold('three', 20n, { steps: STEPS }), 0)
      assertSteps(await bench.hold('four', 20n, { steps: STEPS }), 0)
      await assertHeld(bench, 24n + 36n + 20n + 20n)
    },
  ),
  ledgerCase('steps-refused', 'a hold is refused if its least amount does not fit', async (bench) => {
    assertGranted(await bench.hold('other', 40n))
    assertInsufficient(await bench.hold('h', 61n, { steps: STEPS }), 100n, 60n)
    assertSteps(await bench.hold('h', 60n, { steps: STEPS }), 0)
  }),
  ledgerCase('steps-free', 'steps of 0 credits are limited by nothing but their number', async (bench) => {
    assertSteps(await bench.hold('h', 0n, { steps: { ...STEPS, amount: 0n } }), 1_000)
    await assertHeld(bench, 0n)
  }),
  ledgerCase(
    'steps-limits',
    'the part that allows the fewest steps decides: balance, credits or tokens',
    async (bench) => {
      // A quarter of 100 covers (100 - 16) / 8 steps of credits, or (100 - 16) / 4 of tokens.
      const steps = { ...STEPS, usual: 0 }
      const limits = [budget(), tokens()]
      assertSteps(await bench.hold('one', 4n, { steps, limits }), 10, 2)
      assert.equal(await leftOf(bench, budget()), 76n)
      assert.equal(await leftOf(bench, tokens()), 86n)
      const few = tokens({ limit: 40n })
      // (40 - 14 - 16) / 4
      assertSteps(await bench.hold('two', 4n, { steps, limits: [budget(), few] }), 2, 2)
      assert.equal(await leftOf(bench, tokens()), 80n)
      await assertHeld(bench, 24n + 8n)
    },
    rich,
  ),
  ledgerCase(
    'steps-settled',
    'a settlement frees the credits and tokens of all steps',
    async (bench) => {
      const limits = [budget(), tokens()]
      assertSteps(await bench.hold('h', 4n, { steps: STEPS, limits }), 10, 2)
      await bench.settle('h', 5n, {
        limits: [
          { bucket: 'budget', unit: 'credits', from: 0, used: 5n },
          { bucket: 'tokens', unit: 'tokens', from: 0, used: 6n },
        ],
      })
      assert.deepEqual(await bench.balance(), [995n, 0n, 995n])
      assert.equal(await leftOf(bench, budget()), 95n)
      assert.equal(await leftOf(bench, tokens()), 94n)
    },
    rich,
  ),
  ledgerCase('steps-released', 'a release frees the credits and tokens of all steps', async (bench) => {
    assertSteps(await bench.hold('h', 4n, { steps: STEPS, limits: [budget(), tokens()] }), 10, 2)
    await bench.release('h')
    await assertHeld(bench, 0n)
    assert.equal(await leftOf(bench, budget()), 100n)
    assert.equal(await leftOf(bench, tokens()), 100n)
  }),
  ledgerCase('steps-expired', 'an expired hold frees all its steps', async (bench) => {
    await bench.holdAndLapse('h', 4n, { steps: STEPS, limits: [budget()] })
    assertGranted(await bench.hold('next', 100n, { limits: [budget({ amount: 100n, step: 0n })] }))
  }),
  ledgerCase(
    'steps-again',
    'a repeat is answered with the first number of steps, whatever is free now',
    async (bench) => {
      const more = { steps: STEPS, limits: [budget(), tokens()] }
      assertSteps(await bench.hold('h', 4n, more), 10, 2)
      assertGranted(await bench.hold('other', 70n))
      assertSteps(await bench.hold('h', 4n, more), 10, 2)
      await assertHeld(bench, 94n)
      assertRefused(await bench.hold('h', 5n, more), 'conflict')
      assertRefused(await bench.hold('h', 24n, { limits: more.limits }), 'conflict')
      assertRefused(await bench.hold('h', 4n, { ...more, steps: { ...STEPS, amount: 3n } }), 'conflict')
      assertGranted(await bench.hold('plain', 4n))
      assertRefused(await bench.hold('plain', 4n, { steps: { ...STEPS, most: 0 } }), 'conflict')
    },
  ),
  ledgerCase(
    'steps-replace',
    'a replacement chooses its steps from the credit and the limits with those of the old hold',
    async (bench) => {
      const more = { steps: STEPS, limits: [budget()], claim: 'c' }
      assertSteps(await bench.hold('old', 4n, more), 10, 1)
      const dearer = { amount: 6n, usual: 10, most: 10 }
      const limits = [budget({ amount: 12n, step: 6n })]
      // (100 - 4 x 12) / 6
      assertSteps(await bench.hold('new', 12n, { steps: dearer, limits, replaces: 'old' }), 8, 1)
      await assertHeld(bench, 60n)
      assert.equal(await leftOf(bench, budget()), 40n)
      assertClaimed(await bench.hold('third', 1n, { claim: 'c' }))
      assertSteps(await bench.hold('new', 12n, { steps: dearer, limits, replaces: 'old' }), 8, 1)
      await bench.release('new')
      await assertHeld(bench, 0n)
      assert.equal(await leftOf(bench, budget()), 100n)
    },
  ),
  ledgerCase(
    'steps-replace-refused',
    'a refused replacement leaves the steps of the old hold',
    async (bench) => {
      assertSteps(await bench.hold('old', 4n, { steps: STEPS }), 10)
      assertRefused(await bench.hold('new', 101n, { steps: STEPS, replaces: 'old' }), 'insufficient')
      assertSteps(await bench.hold('old', 4n, { steps: STEPS }), 10)
      await assertHeld(bench, 24n)
    },
  ),
  ledgerCase(
    'steps-hidden-balance',
    'the number of steps does not depend on a hidden balance, which refuses them all or none',
    async (bench) => {
      const steps = { ...STEPS, usual: 0, hidesBalance: true }
      const limits = [budget({ limit: 1_000n })]
      // (1,000 - 4 x 4) / 8 is 123.
      const result = await bench.hold('one', 4n, { steps, limits })
      assertInsufficient(result, 100n, 100n)
      assert.equal(!result.ok && result.reason === 'insufficient' && result.steps, 123)
      assertSteps(await bench.hold('one', 4n, { steps, limits: [budget({ limit: 400n })] }), 48, 1)
      await assertHeld(bench, 100n)
    },
  ),
  ledgerCase(
    'steps-hidden-limit',
    'the number of steps does not depend on a hidden limit, which refuses them all or none',
    async (bench) => {
      const hidden = budget({ bucket: 'hidden', limit: 30n, hidden: true })
      const result = await bench.hold('one', 4n, { steps: STEPS, limits: [hidden, budget({ limit: 200n })] })
      // (200 - 4 x 4) / 8 is 23: 50 credits.
      assertRefused(result, 'limited')
      if (!result.ok && result.reason === 'limited') {
        assert.deepEqual([result.bucket, result.left, result.steps], ['hidden', 30n, 23])
      }
      const wide = budget({ bucket: 'hidden', limit: 50n, hidden: true })
      assertSteps(
        await bench.hold('one', 4n, { steps: STEPS, limits: [wide, budget({ limit: 200n })] }),
        23,
        2,
      )
      await assertHeld(bench, 50n)
    },
    rich,
  ),
  ledgerCase(
    'limit-before-balance',
    'limits before the balance are tested first, and the others after it',
    async (bench) => {
      const [first, second] = [
        budget({ bucket: 'first', amount: 101n, step: 0n }),
        budget({ bucket: 'second', amount: 101n, step: 0n }),
      ]
      const limits = [first, second]
      const bucketOf = (result: HoldResult) =>
        !result.ok && result.reason === 'limited' ? result.bucket : result.ok || result.reason
      assert.equal(bucketOf(await bench.hold('h', 101n, { limits })), 'insufficient')
      assert.equal(bucketOf(await bench.hold('h', 101n, { limits, beforeBalance: 1 })), 'first')
      const wide = { ...first, limit: 101n }
      const order = [wide, second]
      assert.equal(bucketOf(await bench.hold('h', 101n, { limits: order, beforeBalance: 1 })), 'insufficient')
      assert.equal(bucketOf(await bench.hold('h', 1n, { limits: order, beforeBalance: 1 })), 'second')
      const granted = await bench.hold('h', 1n, {
        limits: [wide, { ...second, limit: 101n }],
        beforeBalance: 1,
      })
      assert.deepEqual(granted.ok && granted.limits?.map(({ bucket }) => bucket), ['first', 'second'])
    },
  ),
  ledgerCase(
    'parallel-steps',
    'four concurrent holds fit in four times their least amount, whatever they would like to have',
    async (bench) => {
      const limits = [budget({ amount: 25n })]
      const results = await Promise.all(
        Array.from({ length: 4 }, (_, number) => bench.hold(`h${number}`, 25n, { steps: STEPS, limits })),
      )
      for (const result of results) assertSteps(result, 0, 1)
      await assertHeld(bench, 100n)
    },
  ),
  ledgerCase(
    'parallel-many-steps',
    'concurrent holds with steps never reserve more than there is',
    async (bench) => {
      const limits = [budget({ limit: 500n }), tokens({ limit: 400n })]
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, number) => bench.hold(`h${number}`, 4n, { steps: STEPS, limits })),
      )
      let held = 0n
      for (const result of results) {
        if (!result.ok) continue
        assert.ok(typeof result.steps === 'number', 'a granted hold must answer its steps')
        held += 4n + 2n * BigInt(result.steps)
      }
      await assertHeld(bench, held)
      assert.ok(held <= 500n && held > 490n, `${held} of 500 are held`)
    },
    rich,
  ),
]
