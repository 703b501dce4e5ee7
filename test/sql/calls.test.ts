import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { KeptCall } from '../../src/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { type CallsConnection, createSqlCalls } from '../../src/sql/calls.js'
import type { SqlDatabase } from '../../src/sql/database.js'
import type { FaultKind } from '../../src/sql/group-commit.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { openConnection } from '../../src/sqlite/connection.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import type { DroppedCalls } from '../../src/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { startLoad } from '../helpers/load-process.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { fails, startService } from '../routing/service.js'

const MINUTE_MS = 60_000
const SLOW_MS = 2_000

/** A call that failed, of this key. */
function failedCall(name: string, more: Partial<KeptCall> = {}): KeptCall {
  return {
    id: name,
    requestId: `request-of-${name}`,
    operation: 'chat',
    at: Date.now(),
    durationMs: 5,
    outcome: 'provider_error',
    status: 502,
    caller: { account: 'alice', credentialId: 'key-of-alice' },
    ...more,
  }
}

/** Waits until the database contains this many calls. */
async function written({ calls }: Pick<DurableStores, 'calls'>, count: number): Promise<readonly KeptCall[]> {
  return expect
    .poll(async () => (await calls.list()).calls)
    .toHaveLength(count)
    .then(async () => (await calls.list()).calls)
}

describe.each(engineNames)('kept calls in %s', (name) => {
  const engine = useEngine(name)

  it('survive the end of their process, and close writes those that wait', async () => {
    const first = engine.open('closed')
    first.calls.record(failedCall('one'))
    first.calls.record(failedCall('two'))
    await first.close()
    const second = engine.open('closed')
    const { calls } = await second.calls.list({ outcome: 'provider_error' })
    expect(calls.map(({ id }) => id)).toEqual(['two', 'one'])
    expect(await second.calls.find('alice', 'request-of-one')).toEqual(
      failedCall('one', { at: calls[1]!.at }),
    )
  })

  it('older than keepCallsMs are deleted', async () => {
    const stores = engine.open('old', { keepCallsMs: 50 })
    const kept = engine.open('old')
    for (let index = 0; index < 1_200; index++) {
      stores.calls.record(failedCall(`old-${index}`, { at: Date.now() - MINUTE_MS }))
    }
    stores.calls.record(failedCall('future', { at: Date.now() + MINUTE_MS }))
    await expect.poll(() => kept.calls.find(undefined, 'future')).toBeDefined()
    await expect.poll(async () => (await kept.calls.list()).calls.map(({ id }) => id)).toEqual(['future'])
  })

  it('show when a key was last used, to the minute, but refused keys do not count as used', async () => {
    const stores = engine.open('used')
    const admin = createAdmin(stores)
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    const lastUsedAt = async () => (await admin.keys.list({ credentialId }))[0]!.lastUsedAt
    expect(await lastUsedAt()).toBeUndefined()
    const owner = { caller: { account: 'alice', credentialId } }
    const at = 1_800_000_000_000 + 12_345
    stores.calls.record(failedCall('refused', { ...owner, at, status: 401 }))
    stores.calls.record(failedCall('used', { ...owner, at: at - MINUTE_MS }))
    await written(stores, 2)
    await expect.poll(lastUsedAt).toBe(1_800_000_000_000 - MINUTE_MS)
    stores.calls.record(failedCall('later', { ...owner, at }))
    stores.calls.record(failedCall('earlier', { ...owner, at: at - 5 * MINUTE_MS }))
    await expect.poll(lastUsedAt).toBe(1_800_000_000_000)
    const other = engine.open('used')
    other.calls.record(failedCall('late', { ...owner, at: at - 2 * MINUTE_MS }))
    await written(stores, 5)
    await other.close()
    expect(await lastUsedAt()).toBe(1_800_000_000_000)
  })

  it('that a database cannot store are dropped individually, and reported with the others', async () => {
    const stores = engine.open('odd')
    const dropped = createDeferred<DroppedCalls>()
    stores.calls.watchDropped!(dropped.resolve)
    stores.calls.record(failedCall('good'))
    stores.calls.record(failedCall('odd', { caller: { account: 'a\0b', credentialId: 'k' } }))
    await written(stores, 1)
    await stores.close()
    expect(await dropped.promise).toMatchObject({ count: 1, error: { name: 'TypeError' } })
  })

  it('refuse an impossible time', () => {
    for (const keepCallsMs of [0, -1, 1.5, Number.NaN]) {
      expect(() => engine.open('never', { keepCallsMs })).toThrow(
        /keepCallsMs must be (?:at least 1|a whole number); got /,
      )
    }
  })
})

describe('failures of three killed processes', () => {
  let file: TestFile
  let database: TestDatabase
  beforeAll(async () => {
    file = await createTestFile()
    database = await createTestDatabase()
  })
  afterAll(async () => {
    file.remove()
    await database.drop()
  })

  it.each(engineNames)(
    'are still there after a restart, in %s',
    async (engine) => {
      const place = engine === 'SQLite' ? file.file : database.url
      const open = () => (engine === 'SQLite' ? sqliteStores({ file: place }) : postgresStores(database.pool))
      const before = open()
      await openAccounts(before.database, { alice: '1' })
      await before.close()
      const processes = await Promise.all(
        [1, 2, 3].map(() => startLoad({ engine, place }, 'kept-calls-load.ts')),
      )
      await Promise.all(processes.map((one) => one.until(3)))
      await Promise.all(processes.map((one) => one.kill()))
      const after = open()
      onTestFinished(() => after.close())
      const { calls } = await after.calls.list()
      const requestIds = processes.flatMap(({ acknowledged }) => [...acknowledged])
      expect(calls.map(({ requestId }) => requestId).sort()).toEqual(requestIds.sort())
      const codes = calls.map(({ outcome, status }) => `${status} ${outcome}`)
      expect(codes.sort()).toEqual([
        ...Array.from({ length: 3 }, () => '401 invalid_api_key'),
        ...Array.from({ length: 3 }, () => '404 model_not_found'),
        ...Array.from({ length: 3 }, () => '502 provider_error'),
      ])
      const [failed] = (await after.calls.list({ status: 502 })).calls
      expect(failed).toMatchObject({
        facts: { account: 'alice', credentialId: 'key', model: 'acme/fast', provider: 'dead' },
        routing: { chosenBy: 'only-route', attempts: [{ outcome: 'provider_error' }] },
      })
    },
    60_000,
  )
})

describe('a call does not take longer', () => {
  it('if the table of PostgreSQL takes two seconds for each batch', async () => {
    const database = await createTestDatabase()
    const stores = postgresStores(database.pool)
    await openAccounts(stores.database, { alice: '1' })
    await database.pool.query(`
      create function compat_router.slow() returns trigger language plpgsql
        as $$ begin perform pg_sleep(${SLOW_MS / 1_000}); return null; end $$;
      create trigger slow before insert on compat_router.calls execute function compat_router.slow()`)
    const service = await startService({ router: { ledger: stores.ledger, calls: stores.calls } })
    onTestFinished(async () => {
      await service.close()
      await stores.close()
      await database.drop()
    })
    for (let call = 0; call < 30; call++) {
      const answer = await service.ask()
      expect(answer.status).toBe(200)
      expect((await service.end(answer)).durationMs).toBeLessThan(SLOW_MS / 2)
      // It is found at once, although it is not written yet.
      expect(await stores.calls.find('alice', answer.id)).toMatchObject({ requestId: answer.id })
    }
    await expect.poll(async () => (await stores.calls.list()).calls.length).toBe(30)
  })

  it('if the file of SQLite is locked for two seconds', async () => {
    const place = await createTestFile()
    const stores = sqliteStores({ file: place.file })
    await stores.ready()
    const other = openConnection(place.file)
    const service = await startService({ router: { calls: stores.calls } })
    onTestFinished(async () => {
      await service.close()
      await stores.close()
      other.close()
      place.remove()
    })
    const unlock = createDeferred()
    setTimeout(unlock.resolve, SLOW_MS)
    other.exec('begin immediate')
    service.upstreams[0]!.script(fails(503))
    for (let call = 0; call < 30; call++) {
      const end = await service.end(await service.ask())
      expect(end.durationMs).toBeLessThan(SLOW_MS / 2)
    }
    expect((await stores.calls.list()).calls).toEqual([])
    await unlock.promise
    other.exec('rollback')
    await written(stores, 30)
  })
})

describe('a database that cannot keep up with kept calls', () => {
  const database = { all: async () => [] } as unknown as SqlDatabase

  /** Calls on a connection that writes with this function. */
  function openCalls(insert: CallsConnection['insert'], faultOf: () => FaultKind = () => 'permanent') {
    const calls = createSqlCalls({
      database,
      connection: { insert, run: async () => 0 },
      faultOf,
      keepMs: MINUTE_MS,
      maxRows: 100,
    })
    const reports: DroppedCalls[] = []
    const end = calls.watchDropped!((dropped) => reports.push(dropped))
    return { calls, reports, end }
  }

  it('gets at most 10,000 calls, and one report says how many others were dropped', async () => {
    const written = createDeferred()
    const { calls, reports } = openCalls(() => written.promise)
    for (let index = 0; index < 10_250; index++) calls.record(failedCall(`call-${index}`))
    await expect.poll(() => reports).toEqual([{ count: 250 }])
    expect(await calls.find(undefined, 'call-9999')).toBeDefined()
    expect(await calls.find(undefined, 'call-10000')).toBeUndefined()
    written.resolve()
    await calls.close()
    expect(reports).toHaveLength(1)
  })

  it('that has failed loses its calls, with one report of its error', async () => {
    const { calls, end, reports } = openCalls(async () => {
      throw new Error('the disk is full')
    })
    for (let index = 0; index < 300; index++) calls.record(failedCall(`call-${index}`))
    await calls.close()
    expect(reports).toEqual([{ count: 300, error: new Error('the disk is full') }])
    end()
  })
  it('gets the calls again that a passing fault has kept from it, with those that came meanwhile', async () => {
    const batches: string[][] = []
    const failed = createDeferred()
    const { calls, reports } = openCalls(
      async ({ columns, table }) => {
        if (table === 'calls') batches.push(columns[0] as string[])
        if (batches.length > 1) return
        failed.resolve()
        throw new Error('the connection was lost')
      },
      () => 'transient',
    )
    calls.record(failedCall('first'))
    await failed.promise
    for (let index = 0; index < 120; index++) calls.record(failedCall(`later-${index}`))
    await expect.poll(() => batches.map((ids) => ids.length)).toEqual([1, 1, 100, 20])
    expect(new Set(batches.flat()).size).toBe(121)
    await calls.close()
    expect(reports).toEqual([])
  })

  it('that refuses one call gets all others, and each is found until then', async () => {
    const written = new Set<string>()
    const refused = createDeferred()
    const { calls, reports } = openCalls(
      async ({ columns, table }) => {
        if (table !== 'calls') return
        const ids = columns[0] as string[]
        if (ids.includes('bad')) {
          await refused.promise
          throw new Error('a name is too long')
        }
        for (const id of ids) written.add(id)
      },
      () => 'one-command',
    )
    for (let index = 0; index < 99; index++) calls.record(failedCall(`call-${index}`))
    calls.record(failedCall('bad'))
    for (let index = 100; index < 130; index++) calls.record(failedCall(`call-${index}`))
    for (const id of ['call-0', 'call-98', 'call-129']) {
      expect(await calls.find('alice', id)).toMatchObject({ id })
      expect(await calls.find('alice', `request-of-${id}`)).toMatchObject({ id })
      expect(await calls.find('bob', id)).toBeUndefined()
    }
    refused.resolve()
    await calls.close()
    expect(written.size).toBe(129)
    expect(reports).toEqual([{ count: 1, error: new Error('a name is too long') }])
  })
})
