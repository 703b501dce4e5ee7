import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { Charge } from '../../src/contracts/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { toLedgerBatch } from '../../src/postgres/ledger-batch.js'
import { migrate as migratePostgres, postgresMigrations } from '../../src/postgres/migrations.js'
import { createQueries } from '../../src/postgres/query.js'
import { toSettleCommand } from '../../src/sql/ledger-commands.js'
import { openConnection } from '../../src/sqlite/connection.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { migrate as migrateSqlite, sqliteMigrations } from '../../src/sqlite/migrations.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge, createHold, createSettle } from '../helpers/ledger-requests.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { createTestFile } from '../helpers/sqlite.js'

const TEXT = { prompt: 11, cached: 1, cacheWrite: 2, completion: 7, reasoning: 3 }
const HEARD = { ...TEXT, audioInput: 4, audioOutput: 5 }
const SEEN = { ...TEXT, imageInput: 6, imageOutput: 1, audioInput: 2 }
const PRICES = {
  input: '1',
  output: '2',
  audioInput: '3',
  audioOutput: '4.000000001',
  imageInput: '0',
  imageOutput: '5',
  tiers: [{ above: 1_000, input: '2', output: '4', audioInput: '6' }],
}

describe.each(engineNames)('audio and image tokens in %s', (name) => {
  const engine = useEngine(name)

  it('are in entries, in repeated settlements and in sums, and only if there are any', async () => {
    const stores = engine.open('entries')
    const { ledger } = stores
    const admin = createAdmin(stores)
    await admin.grant({ account: 'alice', amount: '1' })
    const settle = async (usage: Charge['usage'], model: string) => {
      const hold = createHold('alice', 9n)
      await ledger.hold(hold, context)
      const request = createSettle(hold.holdId, 'alice', 9n, { charge: createCharge(9n, { usage }) })
      const facts = { ...request.facts, model }
      await ledger.settle({ ...request, facts }, context)
      const repeated = await ledger.settle({ ...request, facts, charge: createCharge(1n) }, context)
      expect(repeated).toMatchObject({ repeated: true })
      expect(repeated.charge.usage).toStrictEqual(usage)
    }
    for (const [usage, model] of [
      [HEARD, 'mixed'],
      [SEEN, 'mixed'],
      [TEXT, 'text'],
    ] as const) {
      await settle(usage, model)
    }
    const { entries } = await admin.entries({})
    const kept = entries.filter(({ kind }) => kind === 'charge').map(({ charge }) => charge!.usage)
    expect(kept).toStrictEqual([TEXT, SEEN, HEARD])

    const { rows, total } = await admin.spendReport({ by: 'model' })
    const twice = { prompt: 22, cached: 2, cacheWrite: 4, completion: 14, reasoning: 6 }
    const mixed = { ...twice, audioInput: 6, audioOutput: 5, imageInput: 6, imageOutput: 1 }
    expect(rows.map(({ key, usage }) => [key, usage])).toStrictEqual([
      ['mixed', mixed],
      ['text', TEXT],
    ])
    expect(await admin.spend({ by: 'model', model: 'mixed' })).toMatchObject([{ usage: mixed }])
    expect(total.usage).toMatchObject({ prompt: 33, audioInput: 6, imageOutput: 1 })
    expect((await admin.spendReport({ by: 'day', model: 'none' })).total.usage).toStrictEqual({
      prompt: 0,
      cached: 0,
      cacheWrite: 0,
      completion: 0,
      reasoning: 0,
    })
  })

  it('have prices in the catalogue, which are checked', async () => {
    const stores = engine.open('catalogue')
    const admin = createAdmin(stores)
    await admin.putModel({ id: 'acme/live', prices: PRICES })
    expect(await stores.catalogue.get('acme/live', context)).toMatchObject({ prices: PRICES })
    for (const price of ['audioInput', 'audioOutput', 'imageInput', 'imageOutput']) {
      const wrong = { input: '1', output: '1', [price]: '-1' }
      await expect(admin.putModel({ id: 'acme/live', prices: wrong })).rejects.toThrow(price)
      const huge = { input: '1', output: '1', [price]: '9'.repeat(30) }
      await expect(admin.putModel({ id: 'acme/live', prices: huge })).rejects.toThrow(price)
    }
  })
})

/** Where the ledger function has the parameters that its first version lacks. */
const MEDIA_PLACE = 21
/** Its last parameters were added later still: 17 arrays of limits, two of rows to wait for, and the process. */
const LATER_PARAMETERS = 20

describe('a database without the columns of audio and image tokens', () => {
  const entry = `insert into {entries} (at, kind, hold_id, account, credential_id, model, cost, base, markup,
      prompt, cached, cache_write, completion, reasoning, postings, details)
    values (1, 'charge', 'h', 'alice', 'k', 'm', 9, 9, 0, 11, 1, 2, 7, 3, '[]',
      '{"facts":{"requestId":"r"},"basis":"reported","byok":false}')`

  it('gets them, and keeps its entries, in SQLite', async () => {
    const place = await createTestFile()
    const connection = openConnection(place.file)
    migrateSqlite(connection, place.file, sqliteMigrations.slice(0, 2))
    connection.exec(entry)
    connection.close()
    const stores = sqliteStores({ file: place.file })
    const { entries } = await createAdmin(stores).entries({})
    await stores.close()
    place.remove()
    expect(entries.map(({ charge }) => charge?.usage)).toStrictEqual([TEXT])
  })

  it('gets them, keeps its entries, and still serves an earlier release, in PostgreSQL', async () => {
    const database = await createTestDatabase()
    const queries = createQueries(database.pool, 'before')
    await migratePostgres(queries, postgresMigrations.slice(0, 3))
    await queries.run({ text: entry })
    const stores = postgresStores(database.pool, { schema: 'before' })
    await stores.ready()
    const settlement = toSettleCommand(createSettle('h2', 'alice', 5n))
    const { parameters = [] } = toLedgerBatch([settlement]).statement
    const earlier = parameters.toSpliced(MEDIA_PLACE, 4).slice(0, -LATER_PARAMETERS)
    const places = earlier.map((_, index) => `?${index + 1}`).join(', ')
    await queries.run({ text: `select * from {apply_ledger_1}(${places})`, parameters: earlier })
    const { entries } = await createAdmin(stores).entries({})
    await stores.close()
    await database.drop()
    expect(entries.map(({ charge, holdId }) => [holdId, charge?.usage])).toStrictEqual([
      ['h2', TEXT],
      ['h', TEXT],
    ])
  })
})
