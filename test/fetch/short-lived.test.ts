import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { isLong } from '../helpers/long.js'
import { createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import type { RouterStart } from '../helpers/router-process.js'
import { startRouter } from '../helpers/start-router.js'

/** Nine polls of silence, and a process counts as dead. */
const POLL_MS = 300
const CREDIT = 10n ** 9n
/** Of a whole reply. */
const COST = 30_000n

describe('a process that serves the fetch handler on PostgreSQL', () => {
  let database: TestDatabase
  let stores: DurableStores
  let admin: Admin
  let token: string
  beforeEach(async () => {
    database = await createTestDatabase()
    stores = postgresStores(createPool(database.url, 2))
    admin = createAdmin(stores)
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    token = (await admin.keys.issue({ account: 'alice' })).token
  })
  afterEach(async () => {
    expect(await admin.maintenance.verify()).toEqual([])
    await stores.close()
    await database.drop()
  })

  const start = (ends: RouterStart['ends']) =>
    startRouter({ engine: 'PostgreSQL', place: database.url, pollMs: POLL_MS, ends })
  const held = async () => (await admin.accounts.balance('alice'))!.held
  const spent = async () => CREDIT - (await admin.accounts.balance('alice'))!.posted

  it('has charged a reply before it has sent its last byte, and may end with it', async () => {
    const router = await start('with the first reply')
    expect(await router.call(token)).toContain('[DONE]')
    await router.ended
    expect([await spent(), await held()]).toEqual([COST, 0n])
  })

  it('charges a client that left, if it lives until waitUntil says so', async () => {
    const router = await start('once it is charged')
    const call = await router.open(token)
    await call.leave()
    await router.ended
    expect(await held()).toBe(0n)
    expect(await spent()).toBeGreaterThan(0n)
    expect(await spent()).toBeLessThan(COST)
  })

  it('leaves a hold if it ends when a client leaves, which the next process frees without a charge', async () => {
    const router = await start('with the first reply')
    const call = await router.open(token)
    await call.leave()
    await router.ended
    expect(await held()).toBeGreaterThan(0n)
    const next = await start('never')
    await expect.poll(held).toBe(0n)
    expect(await spent()).toBe(0n)
    await expect.poll(() => next.events).toMatchObject([{ type: 'process-cleared', holds: 1 }])
    expect(await next.call(token)).toContain('[DONE]')
    expect(await spent()).toBe(COST)
  })

  it('charges a call with an idempotency key once, if it ended with the reply and another gets the repeat', async () => {
    const first = await start('with the first reply')
    first.finish()
    expect(await first.repeat(token, 'key')).toContain('[DONE]')
    await first.ended
    const next = await start('never')
    next.finish()
    await expect.poll(() => next.repeat(token, 'key')).not.toContain('idempotency_in_flight')
    expect([await spent(), await held()]).toEqual([COST, 0n])
  })

  it.runIf(isLong)(
    'goes on with a reply that was frozen until its hold had been freed, and charges it once',
    async () => {
      const [frozen, other] = [await start('never'), await start('never')]
      const call = await frozen.open(token)
      const before = await held()
      frozen.signal('SIGSTOP')
      await expect.poll(held).toBe(0n)
      expect(await other.call(token)).toContain('[DONE]')
      frozen.signal('SIGCONT')
      await expect.poll(held).toBe(before)
      frozen.finish()
      expect(await call.text).toContain('[DONE]')
      expect([await spent(), await held()]).toEqual([COST * 2n, 0n])
    },
  )

  it.runIf(isLong)('charges a client that left while it was frozen, when it goes on', async () => {
    const frozen = await start('never')
    await start('never')
    const call = await frozen.open(token)
    frozen.signal('SIGSTOP')
    await call.leave()
    await expect.poll(held).toBe(0n)
    expect(await spent()).toBe(0n)
    frozen.signal('SIGCONT')
    await expect.poll(spent).toBeGreaterThan(0n)
    expect(await spent()).toBeLessThan(COST)
    await expect.poll(held).toBe(0n)
  })

  it('serves the next call after it was frozen with none', async () => {
    const [frozen, other] = [await start('never'), await start('never')]
    expect(await frozen.call(token)).toContain('[DONE]')
    frozen.signal('SIGSTOP')
    await expect.poll(() => other.events).toMatchObject([{ type: 'process-cleared', holds: 0 }])
    frozen.signal('SIGCONT')
    expect(await frozen.call(token)).toContain('[DONE]')
    expect([await spent(), await held()]).toEqual([COST * 2n, 0n])
  })
})
