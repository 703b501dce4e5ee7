import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HoldLimit, HoldResult, LedgerStore, LimitState, LimitUse } from '../../src/contracts/index.js'
import { memoryLedger } from '../../src/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { HOLD_STATE } from '../../src/sql/hold-states.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { context, createFacts, createHold, createHoldId, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { connectTo, createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createRandom } from '../simulation/random.js'

const YEAR_MS = 365 * 86_400_000

/** A limit in a period that contains the present. `period` may be moved on, as if time had passed. */
function limitOf(
  bucket: string,
  unit: HoldLimit['unit'],
  limit: bigint,
  amount: bigint,
  period = 0,
): HoldLimit {
  const from = Date.now() - YEAR_MS + period
  const start = Math.floor(from / YEAR_MS) * YEAR_MS + period
  return {
    bucket,
    unit,
    limit,
    amount,
    windows: [
      [start - YEAR_MS, start],
      [start, start + 9 * YEAR_MS],
    ],
  }
}

interface BucketRow {
  readonly id: string
  readonly held: bigint
  readonly used: bigint
}

async function bucketsOf({ database }: DurableStores): Promise<readonly BucketRow[]> {
  const rows = await database.all({ text: 'select id, held, used from {limit_buckets} order by id' })
  return rows.map(({ id, held, used }) => ({ id: String(id), held: BigInt(held!), used: BigInt(used!) }))
}

const usesOf = (states: readonly LimitState[], limits: readonly HoldLimit[], used: bigint): LimitUse[] =>
  states.map(({ bucket, from }, index) => ({
    bucket,
    unit: limits[index]!.unit,
    from,
    used: limits[index]!.unit === 'requests' ? 1n : used,
  }))

describe('limits in a PostgreSQL ledger', () => {
  let database: TestDatabase
  let schemas = 0
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  async function open(accounts: Readonly<Record<string, string>>): Promise<DurableStores> {
    const stores = postgresStores(database.pool, { schema: `limits_${schemas++}` })
    await openAccounts(stores.database, accounts)
    return stores
  }

  it('are kept exactly as in memory, through random calls', { timeout: 120_000 }, async () => {
    const accounts = { alice: '0.000002', bob: '0.000001' }
    const stores = await open(accounts)
    const memory = memoryLedger(accounts)
    const random = createRandom('limits')
    const units = { a: 'credits', b: 'requests', c: 'tokens', d: 'credits' } as const
    const ids: string[] = []
    const states = new Map<string, { states: readonly LimitState[]; limits: readonly HoldLimit[] }>()
    let period = 0
    let hasOverdue = false
    const both = async <Answer>(ask: (ledger: LedgerStore) => Answer | Promise<Answer>) =>
      [await ask(memory), await ask(stores.ledger)] as const
    /** Without the figures that depend on the moment. */
    const plain = (answer: HoldResult) => {
      if (!answer.ok) return answer.reason === 'limited' ? { ...answer, resetMs: 0 } : answer
      return {
        ...answer,
        limits: answer.limits?.map((state) => ({ ...state, resetMs: 0, left: hasOverdue ? 0n : state.left })),
      }
    }
    const outcomes = new Map<string, number>()
    for (let step = 0; step < 1_500; step++) {
      const account = random.pick(['alice', 'bob'])
      const known = () => random.pick(ids)
      const what = random.weighted<'hold' | 'settle' | 'release' | 'later' | 'sweep'>([
        [10, 'hold'],
        [5, 'settle'],
        [2, 'release'],
        [0.3, 'later'],
        [1, 'sweep'],
      ])
      if (what === 'later') period += 1_000
      if (what === 'sweep') {
        const [expected, found] = await both((ledger) => ledger.expireHolds(100, context))
        expect(found.map(({ holdId }) => holdId).sort()).toEqual(expected.map(({ holdId }) => holdId).sort())
        hasOverdue = false
      }
      if (what === 'hold') {
        const limits = (['a', 'b', 'c', 'd'] as const)
          .filter(() => random.chance(0.7))
          .map((bucket) => {
            const amount = units[bucket] === 'requests' ? 1n : BigInt(random.int(0, 60))
            const limit = BigInt(units[bucket] === 'requests' ? random.int(5, 9) : random.int(100, 300))
            return limitOf(bucket, units[bucket], limit, amount, bucket === 'd' ? 0 : period)
          })
        const isShort = random.chance(0.1)
        const request = createHold(account, BigInt(random.int(0, 200)), {
          ...(limits.length > 0 && { limits }),
          ...(isShort && { ttlMs: 0 }),
          ...(ids.length > 0 && random.chance(0.3) && { replaces: known() }),
          ...(random.chance(0.2) && { claim: `claim-${random.int(0, 5)}` }),
          ...(ids.length > 0 && random.chance(0.05) && { holdId: known() }),
        })
        const [expected, found] = await both((ledger) => ledger.hold(request, context))
        // A hold without a time to live is overdue at once, or within the millisecond.
        if (isShort) {
          hasOverdue = true
          await delay(2)
        }
        expect(plain(found), `step ${step}`).toEqual(plain(expected))
        const outcome = found.ok ? 'granted' : found.reason
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        ids.push(request.holdId)
        if (ids.length > 12) ids.shift()
        if (found.ok && found.limits !== undefined && !states.has(request.holdId))
          states.set(request.holdId, { states: found.limits, limits })
        if (random.chance(0.2)) {
          const [again, repeated] = await both((ledger) => ledger.hold(request, context))
          expect(plain(repeated), `step ${step} again`).toEqual(plain(again))
        }
      }
      if (what === 'settle' && ids.length > 0) {
        const holdId = known()
        const cost = BigInt(random.int(0, 60))
        const known_ = states.get(holdId)
        const request = createSettle(holdId, account, cost, {
          ...(known_ !== undefined && { limits: usesOf(known_.states, known_.limits, cost) }),
        })
        const [expected, found] = await both((ledger) => ledger.settle(request, context))
        expect(found).toEqual(expected)
      }
      if (what === 'release' && ids.length > 0) {
        const request = { holdId: known(), account }
        const [expected, found] = await both((ledger) => ledger.release(request, context))
        expect(found).toEqual(expected)
      }
    }
    for (const outcome of ['granted', 'limited', 'insufficient', 'closed', 'claimed']) {
      expect(outcomes.get(outcome), outcome).toBeGreaterThan(10)
    }
    await stores.close()
  })

  it('answer each hold of a batch with what is left after it', async () => {
    const stores = await open({ alice: '1' })
    const limits = [limitOf('a', 'credits', 100n, 30n), limitOf('b', 'requests', 9n, 1n)]
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => stores.ledger.hold(createHold('alice', 30n, { limits }), context)),
    )
    expect(answers.map((answer) => answer.ok && answer.limits!.map(({ left }) => left))).toEqual([
      [70n, 8n],
      [40n, 7n],
      [10n, 6n],
    ])
    await stores.close()
  })

  it('admit exactly as many holds of a batch as fit, and those of other accounts beside them', async () => {
    const stores = await open({ alice: '1', bob: '1' })
    const tight = [limitOf('tight', 'requests', 3n, 1n), limitOf('wide', 'credits', 1_000n, 10n)]
    const wide = [limitOf('wide', 'credits', 1_000n, 10n)]
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () =>
        stores.ledger.hold(createHold('alice', 10n, { limits: tight }), context),
      ),
      ...Array.from({ length: 5 }, () =>
        stores.ledger.hold(createHold('bob', 10n, { limits: wide }), context),
      ),
    ])
    expect(answers.map((answer) => answer.ok)).toEqual([
      true,
      true,
      true,
      false,
      false,
      true,
      true,
      true,
      true,
      true,
    ])
    expect(answers[3]).toMatchObject({ reason: 'limited', bucket: 'tight', left: 0n, onlyHeld: false })
    expect(await bucketsOf(stores)).toEqual([
      { id: 'tight', held: 0n, used: 3n },
      { id: 'wide', held: 80n, used: 0n },
    ])
    await stores.close()
  })

  it("reject only the hold whose windows do not contain the database's time", async () => {
    const stores = await open({ alice: '1' })
    const wrong = { ...limitOf('a', 'requests', 9n, 1n), windows: [[0, 1_000]] } as const
    const right = limitOf('a', 'requests', 9n, 1n)
    const [first, second] = await Promise.allSettled([
      stores.ledger.hold(createHold('alice', 1n, { limits: [wrong] }), context),
      stores.ledger.hold(createHold('alice', 1n, { limits: [right] }), context),
    ])
    expect(first).toMatchObject({
      status: 'rejected',
      reason: {
        message: expect.stringMatching(/^No window of a contains the time of the store's clock, \d{13}$/),
      },
    })
    expect(second).toMatchObject({ status: 'fulfilled', value: { ok: true } })
    expect(await bucketsOf(stores)).toEqual([{ id: 'a', held: 0n, used: 1n }])
    await stores.close()
  })

  it('do not deadlock, whatever order the holds of several processes name them in', async () => {
    const schema = `limits_${schemas++}`
    const pools = [1, 2, 3].map(() => createPool(database.url, 4))
    const processes = pools.map((pool) => postgresStores(pool, { schema }))
    await openAccounts(processes[0]!.database, { alice: '1', bob: '1', carol: '1' })
    const random = createRandom('deadlocks')
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const call = async ({ ledger }: DurableStores): Promise<void> => {
      for (let turn = 0; turn < 12; turn++) {
        const account = random.pick(['alice', 'bob', 'carol'])
        const buckets = [...names].sort(() => random.next() - 0.5).slice(0, 3)
        const limits = buckets.map((bucket) => limitOf(`${bucket}${turn >> 2}`, 'tokens', 1_000_000n, 5n))
        const hold = createHold(account, 5n, { limits })
        const held = await ledger.hold(hold, context)
        if (!held.ok) throw new Error(held.reason)
        if (random.chance(0.5)) await ledger.release({ holdId: hold.holdId, account }, context)
        else
          await ledger.settle(
            createSettle(hold.holdId, account, 3n, { limits: usesOf(held.limits!, limits, 3n).reverse() }),
            context,
          )
      }
    }
    await Promise.all(processes.flatMap((stores) => Array.from({ length: 20 }, () => call(stores))))
    const { rows } = await database.pool.query(
      'select pg_stat_force_next_flush(), deadlocks from pg_stat_database where datname = current_database()',
    )
    expect(rows[0].deadlocks).toBe('0')
    expect((await bucketsOf(processes[0]!)).every(({ held }) => held === 0n)).toBe(true)
    await Promise.all(processes.map((stores) => stores.close()))
    await Promise.all(pools.map((pool) => pool.end()))
  })

  it('delay only the calls that need a bucket locked by another transaction', async () => {
    const stores = await open({ alice: '1', bob: '1' })
    const { schema } = { schema: `limits_${schemas - 1}` }
    const limits = (bucket: string) => [limitOf(bucket, 'requests', 9n, 1n)]
    await stores.ledger.hold(createHold('alice', 1n, { limits: limits('locked') }), context)
    const other = await connectTo(database)
    await other.query(`begin; select from ${schema}.limit_buckets where id = 'locked' for update`)
    const blocked = stores.ledger.hold(createHold('alice', 1n, { limits: limits('locked') }), context)
    const free = await stores.ledger.hold(createHold('bob', 1n, { limits: limits('free') }), context)
    expect(free.ok).toBe(true)
    await other.query('rollback')
    expect(await blocked).toMatchObject({ ok: true, limits: [{ left: 7n }] })
    await stores.close()
  })

  it('are deleted 60 days after the end of their period, except those in total', async () => {
    const stores = await open({ alice: '1' })
    const names = ['day', 'total']
    const limits = names.map((name) => limitOf(name, 'requests', 9n, 1n))
    await stores.ledger.hold(createHold('alice', 1n, { limits }), context)
    const days = (count: number) => Date.now() - count * 86_400_000
    const end = async (id: string, at: number) =>
      stores.database.all({
        text: 'update {limit_buckets} set ends_at = ?1 where id = ?2',
        parameters: [at, id],
      })
    await end('total', 8_640_000_000_000_000)
    await end('day', days(59))
    await stores.ledger.expireHolds(10, context)
    expect((await bucketsOf(stores)).map(({ id }) => id)).toEqual(names)
    await end('day', days(61))
    await stores.ledger.expireHolds(10, context)
    expect((await bucketsOf(stores)).map(({ id }) => id)).toEqual(['total'])
    await stores.close()
  })

  it('survive the settlement of a hold that the database does not know', async () => {
    const stores = await open({ alice: '1' })
    const limits = [limitOf('a', 'credits', 100n, 30n)]
    const held = await stores.ledger.hold(createHold('alice', 30n, { limits }), context)
    if (!held.ok) throw new Error(held.reason)
    const use = usesOf(held.limits!, limits, 7n)
    const unknown = { ...use[0]!, bucket: 'unknown' }
    const stranger = createSettle(createHoldId(), 'alice', 7n, { limits: [...use, unknown] })
    await stores.ledger.settle({ ...stranger, facts: createFacts('alice') }, context)
    expect(await bucketsOf(stores)).toEqual([{ id: 'a', held: 30n, used: 7n }])
    const rows = await stores.database.all({
      text: `select 1 from {holds} where state = ${HOLD_STATE.settled}`,
    })
    expect(rows).toHaveLength(1)
    await stores.close()
  })
})
