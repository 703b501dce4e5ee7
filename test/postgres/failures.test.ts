import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { Model } from '../../src/contracts/index.js'
import { type PostgresClient, type PostgresPool, postgresStores } from '../../src/postgres/index.js'
import { toLedgerBatch } from '../../src/postgres/ledger-batch.js'
import { PLACEHOLDERS } from '../../src/postgres/ledger-parameters.js'
import { createQueries } from '../../src/postgres/query.js'
import { toHoldCommand } from '../../src/sql/ledger-commands.js'
import { hear } from '../helpers/hear.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { connectTo, createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'

/** A pool whose queries fail before or after they reach the server, as a test chooses. */
function createFaultyPool(pool: pg.Pool) {
  const faults: { match: string | RegExp; when: 'before' | 'after'; error: Error }[] = []
  const faulty: PostgresPool = {
    async connect() {
      const client = (await pool.connect()) as pg.PoolClient
      const wrapped: PostgresClient = {
        on: client.on.bind(client) as PostgresClient['on'],
        removeListener: client.removeListener.bind(client) as PostgresClient['removeListener'],
        release: client.release.bind(client),
        async query(query) {
          const index = faults.findIndex(({ match }) => query.text.search(match) >= 0)
          const [fault] = index < 0 ? [] : faults.splice(index, 1)
          if (fault?.when === 'before') throw fault.error
          const result = await client.query(query as pg.QueryConfig)
          if (fault?.when === 'after') throw fault.error
          return result
        },
      }
      return wrapped
    },
  }
  const fail = (match: string | RegExp, when: 'before' | 'after', code: string, message = code) =>
    faults.push({ match, when, error: Object.assign(new Error(message), { code }) })
  return { faulty, fail, left: () => faults.length }
}

/** The packet of a server that accepts a connection, is ready, and then ends all connections. */
const READY_AND_SHUT_DOWN = Buffer.concat([
  toMessage('R', '\0\0\0\0'),
  toMessage('Z', 'I'),
  toMessage('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
])

function toMessage(type: string, body: string): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

describe('a PostgreSQL store in trouble', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  it.each([
    ['a lost connection', 'ECONNRESET'],
    ['a server that shuts down', '57P01'],
    ['a server that starts up', '57P03'],
    ['a server that has become a standby', '25006'],
    ['a deadlock', '40P01'],
    ['too many connections', '53300'],
    ['a query timeout of the pool', 'Query read timeout'],
  ])('charges once through %s, whether or not the commit had happened', async (_, code) => {
    const { faulty, fail, left } = createFaultyPool(database.pool)
    const schema = `faults_${code.toLowerCase().replaceAll(' ', '_')}`
    const stores = postgresStores(faulty, { schema })
    await openAccounts(stores.database, { alice: '0.00000001' })
    for (const when of ['before', 'after'] as const) {
      const hold = createHold('alice', 5n)
      fail('apply_ledger', when, code)
      fail('apply_ledger', when, code)
      expect(await stores.ledger.hold(hold, context)).toEqual({ ok: true })
      fail('apply_ledger', when, code)
      const settled = await stores.ledger.settle(createSettle(hold.holdId, 'alice', 5n), context)
      expect(settled.charge.cost).toBe(5n)
    }
    expect(left()).toBe(0)
    expect(await stores.ledger.balance('alice', context)).toEqual({ posted: 0n, held: 0n, available: 0n })
    expect(await createAdmin(stores).maintenance.verify()).toEqual([])
    await stores.close()
  })

  it('frees a key within seconds whose claim or return had no answer, and no other call’s', async () => {
    const { faulty, fail, left } = createFaultyPool(database.pool)
    const [stores, other] = [faulty, database.pool].map((pool) => postgresStores(pool, { schema: 'keys' }))
    await stores!.ready()
    const claim = (of: typeof stores, name: string) =>
      of!.idempotency.claim({ claim: name, account: 'alice', digest: 'd', leaseMs: 600_000 }, context)
    const stateOf = async (name: string) => (await claim(other, name)).state

    // The claim was committed, and the connection lost with its answer.
    fail(/^commit$/, 'after', 'ECONNRESET')
    await expect(claim(stores, 'claimed')).rejects.toThrow('ECONNRESET')
    await expect.poll(() => stateOf('claimed')).toBe('mine')

    // The key is given back once the database answers again.
    expect(await claim(stores, 'returned')).toEqual({ state: 'mine' })
    for (let times = 0; times < 3; times++) fail('delete from "keys".replies', 'before', 'ECONNRESET')
    await expect(stores!.idempotency.abandon('returned', context)).rejects.toThrow('ECONNRESET')
    expect(await stateOf('returned')).toBe('in-flight')
    await expect.poll(() => stateOf('returned')).toBe('mine')
    expect(left()).toBe(0)

    // The return was committed without an answer, and another call has the key by now.
    expect(await claim(stores, 'taken')).toEqual({ state: 'mine' })
    fail(/^commit$/, 'after', 'ECONNRESET')
    await expect(stores!.idempotency.abandon('taken', context)).rejects.toThrow('ECONNRESET')
    expect(await stateOf('taken')).toBe('mine')
    expect(await claim(stores, 'last')).toEqual({ state: 'mine' })
    fail(/^commit$/, 'before', 'ECONNRESET')
    await expect(stores!.idempotency.abandon('last', context)).rejects.toThrow('ECONNRESET')
    await expect.poll(() => stateOf('last')).toBe('mine')
    expect(await stateOf('taken')).toBe('in-flight')
    await Promise.all([stores!.close(), other!.close()])
  })

  it('fails only the call whose text the server cannot encode', async () => {
    const latin = await createTestDatabase("encoding 'LATIN1' locale 'C' template template0")
    const stores = postgresStores(latin.pool)
    await openAccounts(stores.database, { alice: '1' })
    const results = await Promise.allSettled([
      stores.ledger.hold(createHold('alice', 1n), context),
      stores.ledger.hold(createHold('日本', 0n), context),
      stores.ledger.settle(createSettle('h', 'alice', 1n), context),
      stores.ledger.settle(createSettle('i', '🎈', 1n), context),
      stores.ledger.release({ holdId: '日', account: 'alice' }, context),
      stores.ledger.hold(createHold('ünï', 0n), context),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(await stores.ledger.balance('alice', context)).toMatchObject({ posted: 10n ** 9n - 1n, held: 1n })
    await stores.close()
    await latin.drop()
  })

  it('fails only the call whose account has a name too long for an index', async () => {
    const stores = postgresStores(database.pool, { schema: 'too_long' })
    await openAccounts(stores.database, { alice: '1' })
    // Random, because PostgreSQL compresses text.
    const long = randomBytes(6_000).toString('hex')
    const results = await Promise.allSettled([
      stores.ledger.settle(createSettle('h', 'alice', 1n), context),
      stores.ledger.settle(createSettle('i', long, 1n), context),
      stores.ledger.hold(createHold('alice', 1n), context),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await stores.ledger.balance('alice', context)).toMatchObject({ posted: 10n ** 9n - 1n, held: 1n })
    await stores.close()
  })

  it('runs all other calls while one account stays locked', async () => {
    const stores = postgresStores(database.pool, { schema: 'frozen' })
    await openAccounts(stores.database, { alice: '1', bob: '1', carol: '1' })
    const other = await connectTo(database)
    await other.query("begin; update frozen.accounts set posted = posted where id = 'bob'")
    let waiting = 3
    const waits = [
      stores.ledger.hold(createHold('bob', 1n), context),
      stores.ledger.settle(createSettle('h', 'bob', 1n), context),
      stores.ledger.release({ holdId: 'i', account: 'bob' }, context),
    ].map((call) => Promise.resolve<unknown>(call).finally(() => waiting--))
    const goOn = [...waits.keys(), 3, 4, 5].flatMap((index) => [
      stores.ledger.hold(createHold('alice', 1n), context),
      stores.ledger.settle(createSettle(`alice-${index}`, 'alice', 1n), context),
      stores.ledger.settle(createSettle(`carol-${index}`, 'carol', 1n), context),
    ])
    await Promise.all(goOn)
    const hold = createHold('carol', 1n)
    expect(await stores.ledger.hold(hold, context)).toEqual({ ok: true })
    expect(waiting).toBe(3)
    await other.query('rollback')
    expect(await Promise.all(waits)).toMatchObject([{ ok: true }, { repeated: false }, { state: 'released' }])
    expect(await createAdmin(stores).maintenance.verify()).toEqual([])
    await stores.close()
  })

  it('runs all other calls if the host limits the wait for a locked account to a second', async () => {
    const before = postgresStores(database.pool, { schema: 'hasty' })
    await openAccounts(before.database, { alice: '1', bob: '1' })
    const pool = createPool(database.url, 4, '-c statement_timeout=1000')
    const stores = postgresStores(pool, { schema: 'hasty' })
    await stores.ready()
    const other = await connectTo(database)
    await other.query('alter function hasty.apply_ledger_1 set lock_timeout = 0')
    await other.query("begin; update hasty.accounts set posted = posted where id = 'bob'")
    const waits = Promise.allSettled([stores.ledger.hold(createHold('bob', 1n), context)])
    const goesOn = await Promise.allSettled([stores.ledger.hold(createHold('alice', 1n), context)])
    await other.query('rollback')
    expect([goesOn, await waits]).toEqual(Array(2).fill([{ status: 'fulfilled', value: { ok: true } }]))
    expect(await createAdmin(stores).maintenance.verify()).toEqual([])
    for (const open of [stores, before]) await open.close()
    await pool.end()
  })

  it('survives the loss of all its connections', async () => {
    // One for the watch and one for everything else, so no idle connection can be found dead later.
    const pool = createPool(database.url, 2)
    const stores = postgresStores(pool, { schema: 'terminated' })
    await openAccounts(stores.database, { alice: '1' })
    const heard = await hear(stores.catalogue.watch!)
    const admin = createAdmin(stores)
    const control = await connectTo(database)
    const calls = Array.from({ length: 200 }, async (_, index) => {
      const hold = createHold('alice', 1n)
      await stores.ledger.hold(hold, context)
      if (index === 100) {
        await control.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
      }
      await stores.ledger.settle(createSettle(hold.holdId, 'alice', 1n), context)
    })
    await Promise.all(calls)
    expect(await stores.ledger.balance('alice', context)).toMatchObject({
      posted: 10n ** 9n - 200n,
      held: 0n,
    })
    // The watch reports the lost connection, then that everything may have changed, and works again.
    expect(await heard.connection()).toBe(false)
    expect(await heard.connection()).toBe(true)
    expect(await heard.next()).toBeUndefined()
    await admin.models.put({ id: 'acme/new' })
    // The watch's first new connection may have been lost, too.
    while ((await heard.next()) !== 'acme/new') await Promise.resolve()
    heard.end()
    await stores.close()
    await pool.end()
  })

  it('detects that a silent connection is dead', async () => {
    const { hostname, port, pathname } = new URL(database.url)
    let isSilent = false
    const sockets = new Set<Socket>()
    const proxy = createServer((client) => {
      const upstream = connectSocket(Number(port || 5432), hostname)
      sockets.add(client).add(upstream)
      client.on('data', (bytes) => isSilent || upstream.write(bytes))
      upstream.on('data', (bytes) => isSilent || client.write(bytes))
      for (const socket of [client, upstream]) socket.on('error', () => undefined)
      client.on('close', () => upstream.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const proxied = new URL(database.url)
    proxied.hostname = '127.0.0.1'
    proxied.port = String((proxy.address() as { port: number }).port)
    proxied.pathname = pathname
    const pool = createPool(proxied.href)
    const stores = postgresStores(pool, { schema: 'silent' })
    const heard = await hear(stores.credentials.watch!)
    isSilent = true
    expect(await heard.connection()).toBe(false)
    isSilent = false
    expect(await heard.connection()).toBe(true)
    heard.end()
    await stores.close()
    await pool.end()
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })

  it('survives connections that end in the packet that opens them', async () => {
    const { hostname, port } = new URL(database.url)
    let ended = 0
    const proxy = createServer((client) => {
      client.on('error', () => undefined)
      if (ended < 4) {
        ended += 1
        client.once('data', () => client.end(READY_AND_SHUT_DOWN))
        return
      }
      const upstream = connectSocket(Number(port || 5432), hostname)
      upstream.on('error', () => undefined)
      client.pipe(upstream).pipe(client)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const proxied = new URL(database.url)
    proxied.hostname = '127.0.0.1'
    proxied.port = String((proxy.address() as { port: number }).port)
    const pool = createPool(proxied.href)
    const stores = postgresStores(pool, { schema: 'short_lived' })
    const [heard, held] = await Promise.all([
      hear(stores.credentials.watch!),
      stores.ledger.hold(createHold('alice', 0n), context),
    ])
    expect(held).toEqual({ ok: true })
    expect(ended).toBe(4)
    heard.end()
    await stores.close()
    expect(pool.listenerCount('connect')).toBe(0)
    await pool.end()
    proxy.close()
  })

  it('is migrated once by several processes that start at the same time', async () => {
    const pools = Array.from({ length: 5 }, () => createPool(database.url, 2))
    const all = pools.map((pool) => postgresStores(pool, { schema: 'race' }))
    await Promise.all(all.map((stores) => stores.ready()))
    expect(await all[0]!.database.all({ text: 'select version from {migrations}' })).toEqual([
      { version: '1' },
    ])
    for (const stores of all) await stores.close()
    for (const pool of pools) await pool.end()
  })

  it('is refused if a later release created its schema', async () => {
    const first = postgresStores(database.pool, { schema: 'newer' })
    await first.database.all({
      text: "insert into {migrations} (version, name, applied_at) values (999, 'later', 0)",
    })
    const stores = postgresStores(database.pool, { schema: 'newer' })
    const message =
      'The schema newer has schema version 999, and this release of compat-router knows up to 1: upgrade compat-router'
    await expect(stores.ready()).rejects.toThrow(message)
    await expect(stores.ledger.hold(createHold('alice', 1n), context)).rejects.toThrow(message)
  })

  it('retries its migration if the first attempt failed', async () => {
    const { faulty, fail } = createFaultyPool(database.pool)
    const stores = postgresStores(faulty, { schema: 'again' })
    fail('pg_advisory_xact_lock', 'before', 'XX000', 'broken')
    await expect(stores.ready()).rejects.toThrow('broken')
    await stores.ready()
    expect(await stores.ledger.balance('alice', context)).toBeUndefined()
  })

  it('reads 64-bit amounts exactly, whichever parsers the host has set', async () => {
    const int8 = 20
    const parser = pg.types.getTypeParser(int8)
    pg.types.setTypeParser(int8, Number)
    try {
      const stores = postgresStores(database.pool, { schema: 'parsers' })
      await openAccounts(stores.database, { alice: '9223372036.854775807' })
      expect(await stores.ledger.balance('alice', context)).toMatchObject({ posted: 2n ** 63n - 1n })
    } finally {
      pg.types.setTypeParser(int8, parser)
    }
  })

  it('waits for the disk even if the host has turned that off for its sessions', async () => {
    const pool = createPool(database.url, 1, '-c synchronous_commit=off')
    const stores = postgresStores(pool, { schema: 'durable' })
    await openAccounts(stores.database, { alice: '1' })
    const client = await pool.connect()
    await client.query('begin')
    await client.query(`select * from durable.apply_ledger_1(${PLACEHOLDERS.replace(/\?\d+/g, "'{}'")})`)
    expect((await client.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }])
    await client.query('commit')
    expect((await client.query('show synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }])
    client.release()
    await stores.close()
    await pool.end()
  })

  it('sweeps during other changes even if the host’s sessions are serializable', async () => {
    const pool = createPool(database.url, 4, '-c default_transaction_isolation=serializable')
    const stores = postgresStores(pool, { schema: 'swept' })
    await openAccounts(stores.database, { alice: '1' })
    const hold = createHold('alice', 5n, { ttlMs: 0 })
    await stores.ledger.hold(hold, context)
    const other = await connectTo(database)
    await other.query('alter function swept.expire_holds_1 set lock_timeout = 0')
    await other.query('begin; update swept.accounts set posted = posted + 1')
    const swept = stores.ledger.expireHolds(10, context)
    await expect
      .poll(async () => {
        const { rows } = await database.pool.query(
          `select 1 from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock' and query like '%expire_holds_1%'`,
        )
        return rows.length
      })
      .toBe(1)
    await other.query('commit')
    expect((await swept).map(({ holdId }) => holdId)).toEqual([hold.holdId])
    await other.end()
    await stores.close()
    await pool.end()
  })

  it('waits for the disk when it opens an account, too', async () => {
    const pool = createPool(database.url, 1, '-c synchronous_commit=off')
    const stores = postgresStores(pool, { schema: 'opened' })
    await stores.ready()
    await pool.query(`create table opened.seen (durable text);
      create function opened.see() returns trigger language plpgsql as
        $$ begin insert into opened.seen values (current_setting('synchronous_commit')); return null; end $$;
      create trigger see after insert on opened.accounts execute function opened.see()`)
    await createAdmin(stores).accounts.open('alice')
    expect((await pool.query('select durable from opened.seen')).rows).toEqual([{ durable: 'on' }])
    await stores.close()
    await pool.end()
  })

  it('opens no connection after it was closed, so that the pool can end', async () => {
    const pool = createPool(database.url)
    const stores = postgresStores(pool, { schema: 'closed' })
    await stores.providers.routes({ id: 'acme/fast' } as Model, context)
    await stores.close()
    await expect(stores.providers.routes({ id: 'acme/fast' } as Model, context)).rejects.toThrow(
      'The store is closed',
    )
    await expect(stores.ledger.balance('alice', context)).rejects.toThrow('The store is closed')
    await expect(stores.database.batch([])).rejects.toThrow('The store is closed')
    await expect(stores.ready()).rejects.toThrow('The store is closed')
    const connect = vi.spyOn(pool, 'connect')
    const states: boolean[] = []
    const end = stores.catalogue.watch!(
      () => undefined,
      (isConnected) => states.push(isConnected),
    )
    // Who listens asks for a connection within this turn.
    await setImmediate()
    end()
    expect(connect).not.toHaveBeenCalled()
    expect(states).toEqual([false])
    await pool.end()
  })

  it('releases a connection that arrives after the watch has ended', async () => {
    const pool = createPool(database.url, 1)
    const stores = postgresStores(pool)
    const only = await pool.connect()
    const end = stores.catalogue.watch!(() => undefined)
    // Who listens asks for a connection within this turn.
    await setImmediate()
    expect(pool.waitingCount).toBe(1)
    end()
    await stores.close()
    only.release()
    await pool.query('select 1')
    await pool.end()
  })

  it('trusts missing rows only if every command is counted', () => {
    const { read } = toLedgerBatch([toHoldCommand(createHold('alice', 1n))])
    for (const rows of [[], [{ kind: 'done', place: 0n }], [{ kind: 'done', place: 2n }]]) {
      expect(() => read(rows)).toThrow(/^The database answered -?\d of 1 commands$/)
    }
    expect(read([{ kind: 'done', place: 1n }])).toEqual([{ kind: 'granted' }])
  })

  it('sets its transactions’ options, whatever the host has set for its sessions', async () => {
    const options = '-c synchronous_commit=off -c default_transaction_isolation=serializable'
    const pool = createPool(database.url, 1, options)
    const { transaction, run } = createQueries(pool, 'compat_router')
    const settings = {
      text: `select current_setting('synchronous_commit') as durable, current_setting('transaction_isolation') as isolation,
        current_setting('statement_timeout') as longest, current_setting('idle_in_transaction_session_timeout') as idle`,
    }
    expect(await transaction((inside) => inside(settings))).toEqual([
      { durable: 'on', isolation: 'read committed', longest: '15s', idle: '5s' },
    ])
    expect(await run(settings)).toEqual([
      { durable: 'off', isolation: 'serializable', longest: '0', idle: '0' },
    ])
    await pool.query('set synchronous_commit = local')
    expect(await transaction((inside) => inside(settings))).toMatchObject([{ durable: 'local' }])
    await pool.end()
  })

  it.each(['serializable', 'repeatable read'])(
    'is migrated once, and grants under load, if the host’s sessions are %s',
    async (isolation) => {
      const options = `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`
      const pools = Array.from({ length: 4 }, () => createPool(database.url, 3, options))
      const schema = isolation.replace(' ', '_')
      const all = pools.map((pool) => postgresStores(pool, { schema }))
      await Promise.all(all.map((stores) => stores.ready()))
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          createAdmin(all[index % 4]!).accounts.credit({
            account: 'alice',
            amount: '1',
            reference: `invoice-${index}`,
          }),
        ),
      )
      expect(await all[0]!.ledger.balance('alice', context)).toMatchObject({ posted: 60n * 10n ** 9n })
      for (const stores of all) await stores.close()
      for (const pool of pools) await pool.end()
    },
  )

  it('explains invalid arguments', () => {
    expect(() => postgresStores({} as never)).toThrow('postgresStores: pool has no method connect()')
    expect(() => postgresStores(database.pool, { schema: 'a"; drop' })).toThrow('schema must be')
  })
})
