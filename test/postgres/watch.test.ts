import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import {
  type PostgresClient,
  type PostgresPool,
  type PostgresStoresOptions,
  postgresStores,
} from '../../src/postgres/index.js'
import { hear } from '../helpers/hear.js'
import { context } from '../helpers/ledger-requests.js'
import { connectTo, createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'

// biome-ignore lint/suspicious/noExplicitAny: the listeners of all events
type Listener = (message: any) => void
type Events = Parameters<NonNullable<PostgresStoresOptions['onEvent']>>[0][]

/** A pool behind a pooler that gives no notifications to its clients, or refuses to send them, while a test wants that. */
function createPooler(pool: pg.Pool) {
  let send = (): void => undefined
  const sent = new Promise<void>((resolve) => {
    send = resolve
  })
  const pooler = { isDeaf: false, refusal: undefined as Error | undefined, sent }
  const connect = async (): Promise<PostgresClient> => {
    const client = (await pool.connect()) as pg.PoolClient
    const heard = new Map<Listener, Listener>()
    return {
      on: (event: string, listener: Listener) => {
        const passed =
          event === 'notification' ? (message: unknown) => pooler.isDeaf || listener(message) : listener
        heard.set(listener, passed)
        return client.on(event as 'notification', passed)
      },
      removeListener: (event: string, listener: Listener) =>
        client.removeListener(event as 'notification', heard.get(listener)!),
      release: client.release.bind(client),
      async query(query) {
        const notifies = query.text.includes('pg_notify')
        if (notifies && pooler.refusal !== undefined) throw pooler.refusal
        const answer = await client.query(query as pg.QueryConfig)
        if (notifies) send()
        return answer
      },
    }
  }
  return Object.assign(pooler, { pool: { connect } satisfies PostgresPool })
}

describe('a change watch in PostgreSQL', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  async function open(schema: string) {
    const own = createPool(database.url)
    const pooler = createPooler(own)
    const events: Events = []
    const stores = postgresStores(pooler.pool, {
      schema,
      onEvent: (event) => events.push(event),
      adapters: { test: () => ({ chat: () => Promise.reject(new Error('never called')) }) },
    })
    onTestFinished(async () => {
      await stores.close()
      await own.end()
    })
    await stores.ready()
    return { pooler, stores, events }
  }

  it('counts as lost, once, if a pooler keeps the notifications, and everything is read until they arrive', async () => {
    const { events, pooler, stores } = await open('pooled')
    const other = await open('pooled')
    const admin = createAdmin(other.stores)
    const route = { id: 'r1', model: 'acme/fast', provider: 'acme', adapter: 'test', settings: {} }
    await admin.models.put({ id: 'acme/fast' })
    await admin.routes.put({ ...route, upstreamModel: 'one' })
    const routes = async () => {
      const found = await stores.providers.routes({ id: 'acme/fast', created: 0, ownedBy: 'acme' }, context)
      return found.map(({ upstreamModel }) => upstreamModel)
    }
    const heard = await hear(stores.providers.watch!)
    onTestFinished(heard.end)
    expect(await routes()).toEqual(['one'])

    pooler.isDeaf = true
    expect(await heard.connection()).toBe(false)
    expect(events).toEqual([
      {
        type: 'watch-lost',
        why: expect.stringMatching(/sent but not received: .*pooler in transaction mode/),
      },
    ])
    await admin.routes.put({ ...route, upstreamModel: 'two' })
    expect(await routes()).toEqual(['two'])
    await admin.routes.put({ ...route, upstreamModel: 'three' })
    expect(await routes()).toEqual(['three'])

    pooler.isDeaf = false
    expect(await heard.connection()).toBe(true)
    expect(events).toHaveLength(2)
    expect(events[1]).toEqual({ type: 'watch-restored', afterMs: expect.any(Number) })
  })

  it('does not count as connected if it ends while it waits for its first notification', async () => {
    const { events, pooler, stores } = await open('ended')
    pooler.isDeaf = true
    const states: boolean[] = []
    const end = stores.credentials.watch!(
      () => undefined,
      (isConnected) => states.push(isConnected),
    )
    await pooler.sent
    await stores.close()
    end()
    expect([states, events]).toEqual([[false], []])
  })

  it('counts as lost if the server is read-only, as a former primary', async () => {
    const former = await createTestDatabase()
    const pool = createPool(former.url)
    const events: Events = []
    const stores = postgresStores(pool, { onEvent: (event) => events.push(event) })
    const control = await connectTo(database)
    onTestFinished(async () => {
      await control.end()
      await stores.close()
      await pool.end()
      await former.drop()
    })
    await stores.ready()
    const heard = await hear(stores.credentials.watch!)
    onTestFinished(heard.end)
    const name = new URL(former.url).pathname.slice(1)
    await control.query(`alter database "${name}" set default_transaction_read_only = on`)
    // Only new sessions have the setting.
    await control.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    expect(await heard.connection()).toBe(false)
    await expect.poll(() => events.length).toBeGreaterThan(0)
    await control.query(`alter database "${name}" reset default_transaction_read_only`)
    await control.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    expect(await heard.connection()).toBe(true)
  })

  it.each([
    ['refuses them, as a standby', { code: '25006' }, 'the server is read-only, so it is not the primary'],
    ['gives no connection for them', { code: '53300' }, 'no notification could be sent'],
  ])('does not count as connected if the server %s', async (_, fault, why) => {
    const { events, pooler, stores } = await open('refused')
    pooler.refusal = Object.assign(new Error('refused'), fault)
    const states: boolean[] = []
    const end = stores.credentials.watch!(
      () => undefined,
      (isConnected) => states.push(isConnected),
    )
    onTestFinished(end)
    await expect.poll(() => events).toEqual([{ type: 'watch-lost', why: expect.stringContaining(why) }])
    expect(states).toEqual([false])
    pooler.refusal = undefined
    await expect.poll(() => states).toEqual([false, true])
  })
})
