import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createQueries } from '../../src/postgres/query.js'
import type { Row } from '../../src/sql/database.js'
import { createDeferred } from '../helpers/deferred.js'
import { connectTo, createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'

const LOCK = { text: 'select pg_advisory_xact_lock(7)' }
const CONNECTION = { text: 'select pg_backend_pid() as pid' }

describe('statements on PostgreSQL', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
    await database.pool.query(
      "create table counters (id text, count int); insert into counters values ('a', 0), ('b', 0)",
    )
  })
  afterAll(() => database.drop())

  /** Resolves when a statement waits for the lock. */
  async function waiting(other: pg.Client): Promise<void> {
    const text = `select 1 from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await expect.poll(async () => (await other.query(text)).rows).toHaveLength(1)
  }

  /** A pool of one connection, with its statements, on a stopped clock. */
  function openPool() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const pool = createPool(database.url, 1)
    onTestFinished(async () => {
      vi.useRealTimers()
      await pool.end()
    })
    return { pool, ...createQueries(pool, 'compat_router') }
  }

  /** Opens another connection, which takes the lock. */
  async function lock(): Promise<pg.Client> {
    const other = await connectTo(database)
    await other.query('select pg_advisory_lock(7)')
    return other
  }

  it.each(['statement', 'transaction'])(
    'use another connection after a %s that was not answered in time',
    async (kind) => {
      const other = await lock()
      const { run, transaction } = openPool()
      const [before] = await run(CONNECTION)
      const asked = kind === 'statement' ? run(LOCK) : transaction((inside) => inside(LOCK))
      const refused = expect(asked).rejects.toThrow('PostgreSQL did not answer within 15000 ms')
      await waiting(other)
      vi.advanceTimersByTime(15_000)
      await refused
      await other.query('select pg_advisory_unlock(7)')
      const [after] = await run(CONNECTION)
      expect(after!.pid).not.toBe(before!.pid)
    },
  )

  it('may take minutes instead of seconds if they are reports', async () => {
    const other = await lock()
    const { run } = openPool()
    const asked = run({ ...LOCK, isReport: true })
    await waiting(other)
    // `expect.poll` moves this clock, too.
    vi.advanceTimersByTime(500_000)
    await other.query('select pg_advisory_unlock(7)')
    expect(await asked).toHaveLength(1)
  })

  it('use one connection for all reports, so that reports never block other statements', async () => {
    const pool = createPool(database.url, 2)
    onTestFinished(() => pool.end())
    const other = await lock()
    const { run } = createQueries(pool, 'compat_router')
    const reports = [1, 2, 3].map(() => run({ ...LOCK, isReport: true }))
    await waiting(other)
    expect(await run(CONNECTION)).toHaveLength(1)
    await other.query('select pg_advisory_unlock(7)')
    expect(await Promise.all(reports)).toHaveLength(3)
  })

  it('compile no reports, which takes longer than most of them', async () => {
    const { pool, run } = openPool()
    await pool.query('set jit = on')
    const setting = { text: "select current_setting('jit') as jit, pg_backend_pid() as pid" }
    const [before] = await run(setting)
    expect(await run({ ...setting, isReport: true })).toEqual([{ ...before, jit: 'off' }])
    expect(await run(setting)).toEqual([before])
  })

  it('release a connection that arrives after its timeout', async () => {
    const { pool, run } = openPool()
    const only = await pool.connect()
    const refused = expect(run(CONNECTION)).rejects.toThrow('The pool gave no connection within 15000 ms')
    vi.advanceTimersByTime(15_000)
    await refused
    only.release()
    expect(await run(CONNECTION)).toHaveLength(1)
  })

  it('leave a connection unchanged, even if one of them is refused', async () => {
    const { pool, run, transaction } = openPool()
    const client = await pool.connect()
    const listeners = client.listenerCount('error')
    client.release()
    const [before] = await run(CONNECTION)
    const refused = { text: 'select 1 / 0' }
    await expect(run(refused)).rejects.toThrow('division by zero')
    await expect(transaction((inside) => inside(refused))).rejects.toThrow('division by zero')
    expect(await run(CONNECTION)).toEqual([before])
    const same = await pool.connect()
    expect([same === client, same.listenerCount('error')]).toEqual([true, listeners])
    same.release()
  })

  it('use another connection if the server of this one has become a standby', async () => {
    const { pool, run } = openPool()
    await pool.query('set default_transaction_read_only = on')
    const counting = { text: 'update counters set count = count where false' }
    await expect(run(counting)).rejects.toMatchObject({ code: '25006' })
    expect(await run(counting)).toEqual([])
  })

  it('are rejected, without other effects, if the connection is lost between two of them', async () => {
    const other = await connectTo(database)
    const { pool, transaction } = openPool()
    let client: pg.PoolClient | undefined
    pool.on('acquire', (acquired) => {
      client = acquired
    })
    const losing = transaction(async (run) => {
      const [found] = await run(CONNECTION)
      const ended = new Promise<void>((resolve) => client!.once('end', resolve))
      await other.query('select pg_terminate_backend($1)', [found!.pid])
      await ended
      return run(CONNECTION)
    })
    await expect(losing).rejects.toThrow(/not queryable|terminat/)
  })

  it('are all retried if their transaction lost a deadlock', async () => {
    const { transaction } = createQueries(database.pool, 'compat_router')
    let arrived = 0
    const bothHaveOne = createDeferred()
    let turns = 0
    const counting = [
      ['a', 'b'],
      ['b', 'a'],
    ].map((ids) =>
      transaction(async (run) => {
        turns++
        const rows: Row[] = []
        for (const id of ids) {
          const text = 'update counters set count = count + 1 where id = ?1 returning id'
          rows.push(...(await run({ text, parameters: [id] })))
          if (++arrived === 2) bothHaveOne.resolve()
          await bothHaveOne.promise
        }
        return rows.map((row) => row.id)
      }),
    )
    expect(await Promise.all(counting)).toEqual([
      ['a', 'b'],
      ['b', 'a'],
    ])
    expect(turns).toBeGreaterThan(2)
    const { rows } = await database.pool.query('select count from counters')
    expect(rows).toEqual([{ count: 2 }, { count: 2 }])
  })
})
