import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { type PostgresPool, type PostgresQuery, postgresStores } from '../../src/postgres/index.js'
import { createPostgresStores } from '../../src/postgres/stores.js'
import type { DurableStores, StoresEvent } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { connectTo, createTestDatabase } from '../helpers/postgres.js'

const POLL_MS = 20
const CREDIT = 10n ** 9n
const LEASE = { claim: 'key', account: 'alice', digest: 'd', leaseMs: 600_000 }

const keep = ({ ledger }: DurableStores) => ledger.keepHolds!(context)

/** So many polls, each late enough to count. */
async function poll(stores: DurableStores, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    await delay(POLL_MS + 2)
    await keep(stores)
  }
}

describe.each(engineNames)('the process registry on %s', (name) => {
  const engine = useEngine(name)

  /** Stores that are closed with the test. */
  function open(database: string, events: StoresEvent[] = [], pollMs = POLL_MS): DurableStores {
    const stores = engine.open(database, { onEvent: (event) => events.push(event) }, pollMs)
    onTestFinished(() => stores.close())
    return stores
  }

  /** Two processes, with an account of one credit. Events are those of the second. */
  async function openTwo(database: string) {
    const events: StoresEvent[] = []
    const first = open(database)
    const second = open(database, events)
    await openAccounts(first.database, { alice: '1' })
    const { holder } = await keep(first)
    await keep(second)
    return { first, second, events, holder }
  }

  it('frees the holds and keys of a process that is silent for nine polls, and not before', async () => {
    const { first, second, events, holder } = await openTwo('silent')
    const hold = createHold('alice', CREDIT, { ttlMs: 600_000 })
    expect(await first.ledger.hold(hold, context)).toMatchObject({ ok: true })
    await first.ledger.hold(createHold('alice', 0n, { ttlMs: 600_000, claim: 'key' }), context)
    expect(await first.idempotency.claim(LEASE, context)).toEqual({ state: 'mine' })
    await poll(second, 8)
    expect(await second.ledger.balance('alice', context)).toMatchObject({ held: CREDIT })
    expect(await second.idempotency.claim(LEASE, context)).toEqual({ state: 'in-flight' })
    expect(events).toEqual([])
    await poll(second, 1)
    expect(events).toEqual([{ type: 'process-cleared', process: holder, holds: 2, keys: 1 }])
    expect(await second.ledger.balance('alice', context)).toMatchObject({ held: 0n })
    expect(await second.idempotency.claim(LEASE, context)).toEqual({ state: 'mine' })
    const claimed = createHold('alice', CREDIT, { claim: 'key' })
    expect(await second.ledger.hold(claimed, context)).toMatchObject({ ok: true })
    expect((await second.ledger.expireHolds(10, context)).map(({ holdId }) => holdId)).toContain(hold.holdId)
    await poll(second, 1)
    expect(events.length).toBe(1)
    expect(await createAdmin(second).maintenance.verify()).toEqual([])
  })

  it('counts no poll that comes too early', async () => {
    const events: StoresEvent[] = []
    await keep(open('early'))
    const hasty = open('early', events, 60_000)
    for (let count = 0; count < 30; count++) await keep(hasty)
    expect(events).toEqual([])
  })

  it('counts the polls again from each beat', async () => {
    const { first, second, events } = await openTwo('beating')
    await poll(second, 5)
    for (let count = 0; count < 3; count++) {
      await keep(first)
      // The first of them sees the beat move.
      await poll(second, 9)
      expect(events).toEqual([])
    }
  })

  it('deletes a process once, although many polls find it silent at the same time', async () => {
    const { first, holder } = await openTwo('racing')
    const hold = createHold('alice', 5n, { ttlMs: 600_000 })
    await first.ledger.hold(hold, context)
    const events: StoresEvent[] = []
    const pollers = Array.from({ length: 5 }, () => open('racing', events))
    for (let count = 0; count < 12; count++) {
      await Promise.all(pollers.map((stores) => poll(stores, 1)))
    }
    expect(events.filter((event) => event.type === 'process-cleared' && event.process === holder)).toEqual([
      { type: 'process-cleared', process: holder, holds: 1, keys: 0 },
    ])
  })

  it('does not delete a process whose beat moves at the last moment', async () => {
    const { first, second, holder } = await openTwo('late')
    const hold = createHold('alice', 5n, { ttlMs: 600_000 })
    await first.ledger.hold(hold, context)
    await poll(second, 8)
    await delay(POLL_MS + 2)
    await Promise.all([keep(first), keep(second)])
    const [row] = await second.database.all({
      text: 'select count(*) as count from {processes} where id = ?1',
      parameters: [holder],
    })
    const { held } = (await second.ledger.balance('alice', context))!
    // Whichever came first, the row and its holds went together.
    expect(held).toBe(Number(row!.count) === 1 ? 5n : 0n)
  })

  it('lets a process that was cleared take holds under a new name, and its settlements post', async () => {
    const { first, second, holder } = await openTwo('woken')
    const hold = createHold('alice', CREDIT, { ttlMs: 600_000, claim: 'key' })
    await first.ledger.hold(hold, context)
    await first.idempotency.claim(LEASE, context)
    await poll(second, 9)
    // Without a call of keepHolds: a batch finds it.
    const other = createHold('alice', 5n, { ttlMs: 600_000 })
    expect(await first.ledger.hold(other, context)).toMatchObject({ ok: true })
    const kept = await keep(first)
    expect(kept.holder).not.toBe(holder)
    const rows = await second.database.all({ text: 'select id, process from {holds} order by id' })
    expect(Object.fromEntries(rows.map(({ id, process }) => [id, process]))).toEqual({
      [hold.holdId]: holder,
      [other.holdId]: kept.holder,
    })
    // Nobody had taken the key, so it has its lease again.
    expect(await second.idempotency.claim(LEASE, context)).toEqual({ state: 'in-flight' })
    const settled = await first.ledger.settle(
      createSettle(hold.holdId, 'alice', 7n, { claim: 'key' }),
      context,
    )
    expect(settled).toMatchObject({ repeated: false, overdraft: 0n })
    expect(settled).not.toHaveProperty('claimLost')
    expect(await second.ledger.balance('alice', context)).toMatchObject({ posted: CREDIT - 7n, held: 5n })
    expect(await createAdmin(second).maintenance.verify()).toEqual([])
  })

  it('leaves the key of a cleared process to the process that has taken it', async () => {
    const { first, second } = await openTwo('key')
    const hold = createHold('alice', 5n, { ttlMs: 600_000, claim: 'key' })
    await first.ledger.hold(hold, context)
    await first.idempotency.claim(LEASE, context)
    await poll(second, 9)
    expect(await second.idempotency.claim(LEASE, context)).toEqual({ state: 'mine' })
    const again = createHold('alice', 5n, { ttlMs: 600_000, claim: 'key' })
    expect(await second.ledger.hold(again, context)).toMatchObject({ ok: true })
    await keep(first)
    await first.idempotency.abandon('key', context)
    expect(await first.idempotency.claim(LEASE, context)).toEqual({ state: 'in-flight' })
    const retaken = createHold('alice', 5n, { claim: 'key', replaces: hold.holdId })
    expect(await first.ledger.hold(retaken, context)).toEqual({ ok: false, reason: 'claimed' })
    const settled = await first.ledger.settle(
      createSettle(hold.holdId, 'alice', 7n, { claim: 'key' }),
      context,
    )
    expect(settled).toMatchObject({ repeated: false, claimLost: true })
    await second.ledger.settle(createSettle(again.holdId, 'alice', 7n, { claim: 'key' }), context)
    expect(await second.ledger.balance('alice', context)).toMatchObject({ posted: CREDIT - 14n, held: 0n })
  })

  it('leaves the holds of a process that keeps none to their expiry', async () => {
    const { second, events } = await openTwo('unkept')
    const unkept = engine.open('unkept')
    await unkept.ledger.hold(createHold('alice', 5n, { ttlMs: 600_000 }), context)
    await poll(second, 12)
    expect(events.every((event) => event.type === 'process-cleared' && event.holds === 0)).toBe(true)
    expect(await second.ledger.balance('alice', context)).toMatchObject({ held: 5n })
    const rows = await second.database.all({ text: 'select process from {holds}' })
    expect(rows).toEqual([{ process: null }])
  })

  it('frees the rest at once when its stores are closed', async () => {
    const { first, second, events } = await openTwo('closed')
    await first.ledger.hold(createHold('alice', 5n, { ttlMs: 600_000 }), context)
    await first.close()
    expect(await second.ledger.balance('alice', context)).toMatchObject({ held: 0n })
    await poll(second, 12)
    expect(events).toEqual([])
  })

  it('adds no writes to a call beyond those of the ledger', async () => {
    const { first } = await openTwo('counted')
    const beat = async () => {
      const [row] = await first.database.all({
        text: 'select sum(beat) as beats, count(*) as rows from {processes}',
      })
      return row
    }
    const before = await beat()
    for (let count = 0; count < 20; count++) {
      const hold = createHold('alice', 5n)
      await first.ledger.hold(hold, context)
      await first.ledger.settle(createSettle(hold.holdId, 'alice', 5n), context)
    }
    expect(await beat()).toEqual(before)
  })
})

it('the ledger on PostgreSQL takes and settles a hold in one statement each, whether or not its process is registered', async () => {
  const database = await createTestDatabase()
  const texts: string[] = []
  const counting: PostgresPool = {
    async connect() {
      const client = await database.pool.connect()
      const query = (asked: PostgresQuery) => {
        texts.push(asked.text)
        return client.query(asked as never)
      }
      return new Proxy(client, {
        get(_, member) {
          if (member === 'query') return query
          const value: unknown = Reflect.get(client, member)
          return typeof value === 'function' ? value.bind(client) : value
        },
      }) as never
    },
  }
  const stores = postgresStores(counting)
  await openAccounts(stores.database, { alice: '1' })
  await keep(stores)
  texts.length = 0
  const hold = createHold('alice', 5n)
  await stores.ledger.hold(hold, context)
  await stores.ledger.settle(createSettle(hold.holdId, 'alice', 5n), context)
  expect(texts).toEqual([expect.stringContaining('apply_ledger'), expect.stringContaining('apply_ledger')])
  await stores.close()
  await database.drop()
})

it("on PostgreSQL, the deletion of a process waits for its last batch, and expires that batch's holds too", async () => {
  const database = await createTestDatabase()
  const events: StoresEvent[] = []
  const open = () => createPostgresStores(database.pool, { onEvent: (event) => events.push(event) }, POLL_MS)
  const [first, second] = [open(), open()]
  const { holder } = await keep(first)
  await keep(second)
  // As a batch does it.
  const batch = await connectTo(database)
  await batch.query('begin')
  await batch.query('select from compat_router.processes where id = $1 for key share', [holder])
  await batch.query(
    `insert into compat_router.holds (id, account, amount, state, expires_at, process)
     values ('late', 'alice', 0, 0, 9999999999999, $1)`,
    [holder],
  )
  const polled = poll(second, 9)
  const isWaiting = async () =>
    (
      await database.pool.query(
        "select from pg_stat_activity where datname = current_database() and query like '%clear_process%' and wait_event_type = 'Lock'",
      )
    ).rowCount
  await expect.poll(isWaiting, { timeout: 20_000, interval: 10 }).toBe(1)
  await batch.query('commit')
  await polled
  await poll(second, 1)
  expect(events).toEqual([{ type: 'process-cleared', process: holder, holds: 1, keys: 0 }])
  await first.close()
  await second.close()
  await batch.end()
  await database.drop()
})
