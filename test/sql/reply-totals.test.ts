import { describe, expect, it } from 'vitest'
import type { StoredReply } from '../../src/contracts/index.js'
import { migrate as migratePostgres } from '../../src/postgres/migrations.js'
import { createQueries } from '../../src/postgres/query.js'
import type { SqlDatabase, Statement } from '../../src/sql/database.js'
import { createSqlIdempotency } from '../../src/sql/idempotency.js'
import { openConnection } from '../../src/sqlite/connection.js'
import { migrate as migrateSqlite } from '../../src/sqlite/migrations.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge } from '../helpers/ledger-requests.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { createTestFile } from '../helpers/sqlite.js'

const replyOf = (bytes: number): StoredReply => ({
  mode: 'json',
  status: 200,
  bytes: 'x'.repeat(bytes),
  charge: createCharge(1n),
})
const requestOf = (claim: string, account = 'alice', leaseMs = 60_000) => ({
  claim,
  account,
  digest: 'd',
  leaseMs,
})
const NO_PROCESSES = { current: async () => undefined, forLease: async () => undefined }
const keep = `insert into {replies} (claim, account, digest, done, expires_at, size_bytes) values`

/** Returns the totals by account, after checking them against the sums of the replies. */
async function totalsOf(database: SqlDatabase): Promise<Record<string, number>> {
  const read = async (text: string) => {
    const rows = await database.all({ text })
    return Object.fromEntries(rows.map((row) => [row.account, Number(row.size_bytes)]))
  }
  const totals = await read('select account, size_bytes from {reply_totals} where size_bytes <> 0')
  const sums = await read(
    'select account, sum(size_bytes) as size_bytes from {replies} where size_bytes > 0 group by account',
  )
  expect(totals).toEqual(sums)
  return totals
}

describe.each(engineNames)('the totals of replies in %s', (name) => {
  const engine = useEngine(name)

  it('follow replies that are stored, replaced, taken over, abandoned and deleted', async () => {
    const { idempotency, database } = engine.open('totals')
    await idempotency.claim(requestOf('a'), context)
    expect(await totalsOf(database)).toEqual({})
    await idempotency.complete('a', replyOf(100), 60_000, context)
    await idempotency.complete('a', replyOf(70), 60_000, context)
    expect(await totalsOf(database)).toEqual({ alice: 70 })
    await idempotency.claim(requestOf('b'), context)
    await idempotency.complete('b', replyOf(5), 60_000, context)
    await idempotency.complete('nobody', replyOf(9), 60_000, context)
    await idempotency.claim(requestOf('c'), context)
    await idempotency.abandon('b', context)
    await idempotency.abandon('c', context)
    expect(await totalsOf(database)).toEqual({ alice: 75 })
    await idempotency.complete('a', replyOf(70), 0, context)
    expect(await totalsOf(database)).toEqual({ alice: 5 })
    await idempotency.claim(requestOf('d', 'alice', 0), context)
    await database.all({ text: "update {replies} set size_bytes = 11 where claim = 'd'" })
    expect(await idempotency.claim(requestOf('d', 'bob'), context)).toEqual({ state: 'mine' })
    expect(await totalsOf(database)).toEqual({ alice: 5 })
    await idempotency.complete('d', replyOf(40), 60_000, context)
    expect(await totalsOf(database)).toEqual({ alice: 5, bob: 40 })
  })

  it('are right after many concurrent calls of two accounts in two processes', async () => {
    const stores = [engine.open('busy'), engine.open('busy')]
    const { database } = stores[0]!
    for (const claim of ['v', 'w', 'x', 'y', 'z']) {
      const account = claim < 'x' ? 'alice' : 'bob'
      await database.all({ text: `${keep} ('${claim}', '${account}', 'd', 1, 0, 1000)` })
    }
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const { idempotency } = stores[index % 2]!
        const claim = `claim-${index}`
        await idempotency.claim(requestOf(claim, index % 3 === 0 ? 'alice' : 'bob'), context)
        await idempotency.complete(claim, replyOf(7), index % 5 === 0 ? 0 : 60_000, context)
        await idempotency.claim(requestOf(claim, 'carol'), context)
      }),
    )
    // Two more delete the expired replies.
    for (const claim of ['last', 'least']) {
      await stores[0]!.idempotency.claim(requestOf(claim), context)
      await stores[0]!.idempotency.complete(claim, replyOf(0), 60_000, context)
    }
    const kept = (account: string) =>
      Array.from({ length: 60 }, (_, index) => index).filter(
        (index) => index % 5 !== 0 && (index % 3 === 0) === (account === 'alice'),
      ).length
    expect(await totalsOf(database)).toEqual({ alice: 7 * kept('alice'), bob: 7 * kept('bob') })
  })

  it('limit an account to 256 MiB, and let a body replace another', async () => {
    const { idempotency, database } = engine.open('room')
    const free = 100
    await database.all({
      text: `${keep} ('large', 'alice', 'd', 1, 9999999999999, ${256 * 1024 * 1024 - free})`,
    })
    await idempotency.claim(requestOf('a'), context)
    for (const bytes of [60, free, free + 1]) {
      await idempotency.complete('a', replyOf(bytes), 60_000, context)
      const state = await idempotency.claim(requestOf('a'), context)
      expect(state.state === 'done' ? state.reply.bytes?.length : 0).toBe(bytes > free ? undefined : bytes)
    }
    await idempotency.claim(requestOf('b', 'bob'), context)
    await idempotency.complete('b', replyOf(4 * 1024 * 1024 + 1), 60_000, context)
    expect(await totalsOf(database)).not.toHaveProperty('bob')
    await idempotency.complete('b', replyOf(500), 60_000, context)
    expect(await idempotency.claim(requestOf('b', 'bob'), context)).toMatchObject({ state: 'done' })
  })
})

it('storing a reply in SQLite reads one row and one total, however many there are', async () => {
  const place = await createTestFile()
  const connection = openConnection(place.file)
  migrateSqlite(connection, place.file)
  const texts: string[] = []
  const { complete } = createSqlIdempotency(
    {
      now: '0',
      batch: async (statements: Statement[]) => void texts.push(...statements.map(({ text }) => text)),
    } as never,
    NO_PROCESSES,
  )
  await complete('a', replyOf(1), 60_000, context)
  const plans = texts.map((text) =>
    connection
      .prepare(`explain query plan ${text}`)
      .rows([])
      .map((row) => String(row.detail)),
  )
  connection.close()
  place.remove()
  const found = plans[0]!.filter((detail) => /^(SCAN|SEARCH)/.test(detail))
  expect(new Set(found)).toEqual(
    new Set([
      'SEARCH r USING PRIMARY KEY (claim=?)',
      'SEARCH t USING INDEX sqlite_autoindex_compat_reply_totals_1 (account=?)',
    ]),
  )
})

it('storing a reply in PostgreSQL reads one row and one total, however many there are', async () => {
  const database = await createTestDatabase()
  const queries = createQueries(database.pool, 'many')
  await migratePostgres(queries)
  await database.pool.query(`insert into many.replies (claim, account, digest, done, expires_at, size_bytes)
    select 'claim-' || g, 'account-' || g % 20, 'd', 1, 9999999999999, 1 from generate_series(1, 20000) g`)
  await database.pool.query('vacuum analyze')
  const read: number[] = []
  const { complete } = createSqlIdempotency(
    {
      now: '0',
      batch: async ([statement]: Statement[]) => {
        const plan = await queries.run({ ...statement!, text: `explain (analyze) ${statement!.text}` })
        const scans = plan.map((row) =>
          /(?<!Bitmap Index )Scan .*on \w+ .*actual.* rows=(\d+)/.exec(String(row['QUERY PLAN'])),
        )
        read.push(scans.reduce((sum, scan) => sum + Number(scan?.[1] ?? 0), 0))
      },
    } as never,
    NO_PROCESSES,
  )
  await complete('claim-7', replyOf(3), 60_000, context)
  await database.drop()
  // The total is read for the body's size, and for the body.
  expect(read).toEqual([3, 0])
})
