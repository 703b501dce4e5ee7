import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createQueries } from '../../src/postgres/query.js'
import type { Row } from '../../src/sql/database.js'
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

  /** Fulfilled when a statement waits for the lock that somebody else has. */
  async function waiting(other: pg.Client): Promise<void> {
    const text = `select 1 from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await expect.poll(async () => (await other.query(text)).rows).toHaveLength(1)
  }

  it.each(['statement', 'transaction'])(
    'go on over another connection where a %s was not answered in time',
    async (kind) => {
      const other = await connectTo(database)
      await other.query('select pg_advisory_lock(7)')
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => {
        vi.useRealTimers()
      })
      const pool = createPool(database.url, 1)
      const { run, transaction } = createQueries(pool, 'compat_router')
      const [before] = await run(CONNECTION)
      const asked = kind === 'statement' ? run(LOCK) : transaction((inside) => inside(LOCK))
      const refused = expect(asked).rejects.toThrow('PostgreSQL did not answer within 15000 ms')
      await waiting(other)
      vi.advanceTimersByTime(15_000)
      await refused
      await other.query('select pg_advisory_unlock(7)')
      const [after] = await run(CONNECTION)
      expect(after!.pid).not.toBe(before!.pid)
      await pool.end()
    },
  )

  it('go again as a whole where a transaction lost a deadlock', async () => {
    const { transaction } = createQueries(database.pool, 'compat_router')
    let arrived = 0
    let meet = (): void => {}
    const bothHaveOne = new Promise<void>((resolve) => {
      meet = resolve
    })
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
          if (++arrived === 2) meet()
          await bothHaveOne
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
