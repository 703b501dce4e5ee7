import { setTimeout as delay } from 'node:timers/promises'
import Database from 'libsql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { engineNames } from '../helpers/engines.js'
import { isLong } from '../helpers/long.js'
import { createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { startPostgresServer } from '../helpers/postgres-server.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { type RouterProcess, startRouter } from '../helpers/start-router.js'

/** With `KILL_ROUNDS`, so many rounds with the real times. Otherwise one, with shorter ones. */
const isReal = process.env.KILL_ROUNDS !== undefined
const rounds = Number(process.env.KILL_ROUNDS ?? 1)
const POLL_MS = isReal ? 5_000 : 400
const DEADLINE_MS = 12 * POLL_MS
/** A busy machine may be late by this much in a test with short times. */
const LATE_MS = isReal ? 0 : 20_000
const PATIENCE_MS = 240_000
const OPEN_CALLS = 3
const CREDIT = 10n ** 9n
const COST = 30_000n

interface Place {
  readonly place: string
  readonly stores: DurableStores
  readonly admin: Admin
}

describe.runIf(isLong || isReal).each(engineNames)('router processes on %s', (name) => {
  let file: TestFile
  const databases: TestDatabase[] = []
  let files = 0
  beforeAll(async () => {
    if (name === 'SQLite') file = await createTestFile()
  })
  afterAll(async () => {
    if (name === 'SQLite') file.remove()
    await Promise.all(databases.map((database) => database.drop()))
  })

  async function createPlace(): Promise<string> {
    if (name === 'SQLite') return `${file.file}-${files++}`
    const database = await createTestDatabase()
    databases.push(database)
    return database.url
  }

  async function openPlace(url?: string): Promise<Place> {
    const place = url ?? (await createPlace())
    const stores = name === 'SQLite' ? sqliteStores({ file: place }) : postgresStores(createPool(place, 4))
    await stores.ready()
    return { place, stores, admin: createAdmin(stores) }
  }

  const start = ({ place }: Place) =>
    startRouter({ engine: name, place, pollMs: isReal ? undefined : POLL_MS })

  /** A key of an account of its own, with one credit. */
  async function issue({ admin }: Place, account: string): Promise<string> {
    await admin.accounts.credit({ account, amount: '1', reference: `opened:${account}` })
    return (await admin.keys.issue({ account })).token
  }

  const heldBy = async ({ admin }: Place, account: string) => (await admin.accounts.balance(account))!.held
  const clearedBy = (processes: readonly RouterProcess[]) =>
    processes.flatMap(({ events }) => events.filter(({ type }) => type === 'process-cleared'))
  const openCalls = (router: RouterProcess, token: string, keyPrefix?: string) =>
    Promise.all(
      Array.from({ length: OPEN_CALLS }, (_, index) =>
        router.open(token, keyPrefix === undefined ? undefined : `${keyPrefix}-${index}`),
      ),
    )

  it(`clear the one of four that is killed under load, and no other, ${rounds} times over`, {
    timeout: PATIENCE_MS * (rounds + 1),
  }, async () => {
    const world = await openPlace()
    const routers = await Promise.all([1, 2, 3, 4].map(() => start(world)))
    const busy = await issue(world, `busy-${name}`)
    let isOver = false
    const load = routers.map(async (_, index) => {
      while (!isOver) await routers[index]!.call(busy).catch(() => delay(10))
    })
    for (let round = 0; round < rounds; round++) {
      const [killed, kept] = [`killed-${name}-${round}`, `kept-${name}-${round}`]
      const [killedKey, keptKey] = [await issue(world, killed), await issue(world, kept)]
      const victim = round % 4
      const others = routers.filter((_, index) => index !== victim)
      await openCalls(routers[victim]!, killedKey, 'key')
      await Promise.all(others.map((router) => router.open(keptKey)))
      const [lost, safe] = [await heldBy(world, killed), await heldBy(world, kept)]
      expect([lost > 0n, safe > 0n]).toEqual([true, true])
      expect(await others[0]!.repeat(killedKey, 'key-0')).toContain('idempotency_in_flight')

      const before = clearedBy(others).length
      const killedAt = performance.now()
      routers[victim]!.signal('SIGKILL')
      await routers[victim]!.ended
      await expect.poll(() => heldBy(world, killed), { timeout: PATIENCE_MS, interval: 100 }).toBe(0n)
      await others[0]!.open(killedKey, 'key-1')
      expect(performance.now() - killedAt).toBeLessThan(DEADLINE_MS + LATE_MS)
      expect(await heldBy(world, kept)).toBe(safe)
      await expect.poll(() => clearedBy(others).slice(before).length).toBe(1)
      const [event] = clearedBy(others).slice(before)
      // Those of the load, and of earlier rounds, come on top.
      expect(Number(event!.keys)).toBeGreaterThanOrEqual(OPEN_CALLS)
      expect(Number(event!.holds)).toBeGreaterThanOrEqual(OPEN_CALLS)
      routers[victim] = await start(world)
    }
    isOver = true
    await Promise.all(load)
    expect(await world.admin.maintenance.verify()).toEqual([])
    await world.stores.close()
  })

  it('lose nothing if one of them is suspended for two thirds of the time, and continued', {
    timeout: PATIENCE_MS,
  }, async () => {
    const world = await openPlace()
    const account = `stopped-${name}`
    const token = await issue(world, account)
    const [router, other] = [await start(world), await start(world)]
    const calls = await openCalls(router, token, 'key')
    const held = await heldBy(world, account)
    router.signal('SIGSTOP')
    await delay(6 * POLL_MS)
    expect(await heldBy(world, account)).toBe(held)
    router.signal('SIGCONT')
    await delay(4 * POLL_MS)
    expect(await heldBy(world, account)).toBe(held)
    expect(await other.repeat(token, 'key-0')).toContain('idempotency_in_flight')
    router.finish()
    for (const { text } of calls) expect(await text).toContain('[DONE]')
    await expect.poll(() => heldBy(world, account)).toBe(0n)
    expect(await world.admin.accounts.balance(account)).toMatchObject({
      posted: CREDIT - COST * BigInt(OPEN_CALLS),
    })
    expect(clearedBy([router, other])).toEqual([])
    expect(await world.admin.maintenance.verify()).toEqual([])
    await world.stores.close()
  })

  it('let one that wakes after it was cleared take its holds again, and settle', {
    timeout: PATIENCE_MS,
  }, async () => {
    const world = await openPlace()
    const account = `woken-${name}`
    const token = await issue(world, account)
    const [router, other] = [await start(world), await start(world)]
    const calls = await openCalls(router, token, 'key')
    const held = await heldBy(world, account)
    router.signal('SIGSTOP')
    await expect.poll(() => heldBy(world, account), { timeout: PATIENCE_MS }).toBe(0n)
    router.signal('SIGCONT')
    await expect.poll(() => heldBy(world, account), { timeout: PATIENCE_MS }).toBe(held)
    expect(await other.repeat(token, 'key-0')).toContain('idempotency_in_flight')
    router.finish()
    for (const { text } of calls) expect(await text).toContain('[DONE]')
    await expect.poll(() => heldBy(world, account)).toBe(0n)
    expect(await world.admin.accounts.balance(account)).toMatchObject({
      posted: CREDIT - COST * BigInt(OPEN_CALLS),
    })
    expect(clearedBy([other])).toMatchObject([{ holds: OPEN_CALLS, keys: OPEN_CALLS }])
    // Its replies were kept under their keys.
    await expect.poll(() => other.repeat(token, 'key-0'), { timeout: 10_000 }).toContain('[DONE]')
    expect(await world.admin.accounts.balance(account)).toMatchObject({
      posted: CREDIT - COST * BigInt(OPEN_CALLS),
    })
    expect(await world.admin.maintenance.verify()).toEqual([])
    await world.stores.close()
  })

  it('free nothing while the database is gone', { timeout: PATIENCE_MS }, async () => {
    const server = name === 'PostgreSQL' ? await startPostgresServer() : undefined
    const world = await openPlace(server?.url())
    const account = `gone-${name}`
    const token = await issue(world, account)
    const routers = [await start(world), await start(world)]
    const calls = await openCalls(routers[0]!, token)
    const held = await heldBy(world, account)
    if (server === undefined) {
      const locking = new Database(world.place)
      locking.exec('begin immediate')
      await delay(13 * POLL_MS)
      locking.exec('rollback')
      locking.close()
    } else {
      await server.kill()
      await delay(13 * POLL_MS)
      await server.restart()
    }
    await delay(4 * POLL_MS)
    expect(await heldBy(world, account)).toBe(held)
    expect(clearedBy(routers)).toEqual([])
    routers[0]!.finish()
    for (const { text } of calls) expect(await text).toContain('[DONE]')
    await expect.poll(() => heldBy(world, account), { timeout: 60_000 }).toBe(0n)
    expect(await world.admin.accounts.balance(account)).toMatchObject({
      posted: CREDIT - COST * BigInt(OPEN_CALLS),
    })
    expect(await world.admin.maintenance.verify()).toEqual([])
    await world.stores.close()
    if (server !== undefined) {
      for (const router of routers) router.signal('SIGKILL')
      await Promise.all(routers.map(({ ended }) => ended))
      await server.stop()
    }
  })
})
