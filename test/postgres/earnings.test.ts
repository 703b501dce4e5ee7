import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { connectTo, createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createRandom } from '../simulation/random.js'

describe('the accounts of a PostgreSQL ledger', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  /** Stores with a pool each, as of several processes. */
  async function openProcesses(count: number, schema: string): Promise<readonly DurableStores[]> {
    const pools = Array.from({ length: count }, () => createPool(database.url, 4))
    const processes = pools.map((pool) => postgresStores(pool, { schema }))
    onTestFinished(async () => {
      for (const stores of processes) await stores.close()
      for (const pool of pools) await pool.end()
    })
    await processes[0]!.ready()
    return processes
  }

  const pay = (holdId: string, from: string, to: string, amount: bigint) =>
    createSettle(holdId, from, amount, {
      postings: [
        { account: from, amount: -amount },
        { account: to, amount },
      ],
    })

  const slotsOf = async (schema: string) => {
    const { rows } = await database.pool.query(
      `select account, slot, amount from ${schema}.earned order by account, slot`,
    )
    return rows
  }

  it('add earnings to a slot that no other batch uses, and can spend those of all slots', async () => {
    const schema = 'slots'
    const [stores] = await openProcesses(1, schema)
    const { ledger } = stores!
    const admin = createAdmin(stores!)
    await openAccounts(stores!.database, { alice: '1', bob: '0.000000001' })
    const other = await connectTo(database)
    await ledger.settle(pay('first', 'alice', 'bob', 20n), context)
    await other.query(`begin; select pg_advisory_xact_lock(hashtext('"${schema}".earned'), 0)`)
    await ledger.settle(pay('second', 'alice', 'bob', 30n), context)
    await other.query('rollback')
    expect(await slotsOf(schema)).toEqual([
      { account: 'bob', slot: 0, amount: '20' },
      { account: 'bob', slot: 1, amount: '30' },
    ])
    expect(await ledger.balance('bob', context)).toEqual({ posted: 51n, held: 0n, available: 51n })
    expect((await admin.accounts.list()).map(({ id, balance }) => [id, balance.posted])).toEqual([
      ['alice', 10n ** 9n - 50n],
      ['bob', 51n],
    ])
    expect(await admin.accounts.statement('bob')).toMatchObject({
      credited: 1n,
      earned: 50n,
      spent: 0n,
      posted: 51n,
    })
    expect(await ledger.spent({ account: 'bob' }, context)).toMatchObject({ balance: { posted: 51n } })

    // Together, one by one, and with a claim.
    expect(await ledger.hold(createHold('bob', 52n), context)).toEqual({
      ok: false,
      reason: 'insufficient',
      posted: 51n,
      available: 51n,
    })
    const holds = [createHold('bob', 20n), createHold('bob', 30n)]
    expect(await Promise.all(holds.map((hold) => ledger.hold(hold, context)))).toEqual([
      { ok: true },
      { ok: true },
    ])
    expect(await ledger.hold(createHold('bob', 2n, { claim: 'c' }), context)).toMatchObject({
      ok: false,
      available: 1n,
    })
    expect(await ledger.hold(createHold('bob', 1n, { claim: 'd' }), context)).toEqual({ ok: true })
    expect(await ledger.settle(pay(holds[0]!.holdId, 'bob', 'carol', 20n), context)).toMatchObject({
      overdraft: 0n,
    })
    // More than its hold: below zero by 9.
    expect(await ledger.settle(pay(holds[1]!.holdId, 'bob', 'carol', 40n), context)).toMatchObject({
      overdraft: 9n,
    })
    expect(await admin.maintenance.verify()).toEqual([])
    await stores!.database.all({ text: "update {earned} set amount = amount + 1 where account = 'carol'" })
    expect(await admin.maintenance.verify()).toMatchObject([
      { what: 'balance', id: 'carol', found: 61n, expected: 60n },
    ])
  })

  it('are exact if several processes earn and spend on the same accounts concurrently', {
    timeout: 120_000,
  }, async () => {
    const processes = await openProcesses(4, 'circle')
    const names = ['alice', 'bob', 'carol', 'dave', 'erin']
    await openAccounts(processes[0]!.database, Object.fromEntries(names.map((name) => [name, '0.000001'])))
    const random = createRandom('circle')
    const counts = { granted: 0, insufficient: 0 }
    const call = async (stores: DurableStores, hasRefunds: boolean) => {
      for (let round = 0; round < 20; round++) {
        const from = random.pick(names)
        const to = random.pick(names.filter((name) => name !== from))
        const amount = BigInt(random.int(1, 400))
        const hold = createHold(
          from,
          amount,
          random.chance(0.2) ? { claim: `claim-${random.int(0, 1e9)}` } : {},
        )
        const held = await stores.ledger.hold(hold, context)
        if (!held.ok) {
          expect(held.reason).toBe('insufficient')
          counts.insufficient++
          continue
        }
        counts.granted++
        if (random.chance(0.1)) await stores.ledger.release({ holdId: hold.holdId, account: from }, context)
        else {
          const settled = await stores.ledger.settle(pay(hold.holdId, from, to, amount), context)
          expect(settled.repeated).toBe(false)
          // A refund also takes earnings back that are on hold or spent.
          if (!hasRefunds) expect(settled.overdraft).toBe(0n)
          if (hasRefunds && random.chance(0.05)) {
            const { entries } = await stores.ledger.entries({ account: from, limit: 1 }, context)
            if (entries[0]?.charge !== undefined)
              await createAdmin(stores)
                .entries.refund(entries[0].id)
                .catch(() => {})
          }
        }
      }
    }
    for (const hasRefunds of [false, true]) {
      await Promise.all(
        processes.flatMap((stores) => Array.from({ length: 25 }, () => call(stores, hasRefunds))),
      )
    }
    expect(counts.granted).toBeGreaterThan(1_000)
    expect(counts.insufficient).toBeGreaterThan(50)
    const admin = createAdmin(processes[0]!)
    expect(await admin.maintenance.verify()).toEqual([])
    const accounts = await admin.accounts.list()
    expect(accounts.reduce((sum, { balance }) => sum + balance.posted, 0n)).toBe(5_000n)
    expect(accounts.filter(({ balance }) => balance.held !== 0n)).toEqual([])
    expect((await slotsOf('circle')).some(({ slot }) => slot > 0)).toBe(true)
    const { rows } = await database.pool.query(
      'select pg_stat_force_next_flush(), deadlocks from pg_stat_database where datname = current_database()',
    )
    expect(rows[0].deadlocks).toBe('0')
  })

  it('slow only their own calls while one of them is locked', async () => {
    const processes = await openProcesses(2, 'still')
    const others = Array.from({ length: 200 }, (_, index) => `other-${index}`)
    await openAccounts(
      processes[0]!.database,
      Object.fromEntries(['locked', ...others].map((name) => [name, '1'])),
    )
    const random = createRandom('still')
    const timesOf = async (until: () => boolean): Promise<readonly number[]> => {
      const times: number[] = []
      const call = async ({ ledger }: DurableStores) => {
        while (!until()) {
          const start = performance.now()
          const account = random.pick(others)
          const hold = createHold(account, 5n)
          expect(await ledger.hold(hold, context)).toEqual({ ok: true })
          await ledger.settle(createSettle(hold.holdId, account, 5n), context)
          times.push((performance.now() - start) / 2)
        }
      }
      await Promise.all(processes.flatMap((stores) => Array.from({ length: 10 }, () => call(stores))))
      return times.sort((one, other) => one - other)
    }
    const p99 = (times: readonly number[]) => times[Math.floor(times.length * 0.99)]!
    const start = performance.now()
    const usual = await timesOf(() => performance.now() > start + 2_000)

    const other = await connectTo(database)
    await other.query("begin; select from still.accounts where id = 'locked' for update")
    let isLocked = true
    const waiting = processes.flatMap(({ ledger }) => [
      ledger.hold(createHold('locked', 5n), context),
      ledger.settle(createSettle('h', 'locked', 5n), context),
      ledger.settle(createSettle('h', 'locked', 5n), context),
      ledger.release({ holdId: 'i', account: 'locked' }, context),
    ])
    const [slowed] = await Promise.all([
      timesOf(() => !isLocked),
      delay(3_000).then(() => {
        isLocked = false
      }),
    ])
    await other.query('rollback')
    const answers = await Promise.all(waiting)
    expect(answers.filter((answer) => 'repeated' in answer && !answer.repeated)).toHaveLength(1)
    expect(p99(slowed)).toBeLessThan(Math.max(500, 2 * p99(usual)))
    expect(await createAdmin(processes[0]!).maintenance.verify()).toEqual([])
  })
})
