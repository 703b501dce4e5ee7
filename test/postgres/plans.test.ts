import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { type PostgresPool, postgresStores } from '../../src/postgres/index.js'
import { ENTRY_COLUMNS } from '../../src/sql/entry-rows.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { createPool, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'

const entries = Number(process.env.LEDGER_ENTRIES ?? 50_000)

describe(`PostgreSQL with ${entries} entries`, () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
    await postgresStores(database.pool).ready()
    const names = ENTRY_COLUMNS.join(', ')
    // Not analyzed: the planner has no statistics of these rows, as after a night of load or a restore.
    await database.pool.query(`
      alter table compat_router.entries set (autovacuum_enabled = off);
      alter table compat_router.holds set (autovacuum_enabled = off);
      insert into compat_router.accounts (id, posted, created_at)
        select 'account-' || g, 1000000000000, 0 from generate_series(0, 999) g;
      insert into compat_router.entries (at, kind, ${names})
        select g, 'charge', md5(g::text), 'account-' || g % 1000, 'key-' || g % 5000, 'model-' || g % 20, 'app-' || g % 50,
          'session-' || g % 10000, 'openai', 7, 7, 0, 11, 0, 0, 7, 0, -7, '[]', '{"facts":{},"basis":"reported","byok":false}',
          null, null, null, null
        from generate_series(1, ${entries}) g;
      insert into compat_router.postings (account, at, entry_id, amount)
        select 'account-' || id % 1000, at, id, -7 from compat_router.entries
        union all select 'platform', at, id, 7 from compat_router.entries;
      insert into compat_router.holds (id, account, amount, state, expires_at, ended_at, entry_id)
        select md5(g::text), 'account-' || g % 1000, 7, 2, g, g, g from generate_series(1, ${entries}) g`)
  }, 300_000)
  afterAll(() => database.drop())

  /** Returns the plans of all statements that `body` runs, including those inside functions. */
  async function plansOf(body: (pool: PostgresPool) => Promise<unknown>): Promise<readonly string[]> {
    const pool = createPool(database.url, 1)
    const plans: string[] = []
    const client = await pool.connect()
    client.on('notice', ({ message = '' }) => {
      if (message.includes('plan:')) plans.push(message)
    })
    await client.query("load 'auto_explain'")
    await client.query(`set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
      set client_min_messages = log`)
    client.release()
    await body(pool)
    await pool.end()
    return plans
  }

  /** Returns the scans of whole tables that grow. */
  const wholeScans = (plans: readonly string[]) =>
    plans.flatMap(
      (plan) =>
        plan.match(/Seq Scan on (?:compat_router\.)?(accounts|holds|entries|postings|claims)\b.*/g) ?? [],
    )

  it('finds every row of a batch by an index', async () => {
    const plans = await plansOf(async (pool) => {
      const stores = postgresStores(pool)
      const { ledger } = stores
      await ledger.keepHolds!(context)
      const hold = createHold('account-1', 5n)
      const claimed = createHold('account-2', 5n, { claim: 'c' })
      await Promise.all([
        ledger.hold(hold, context),
        ledger.hold(claimed, context),
        ledger.hold(createHold('nobody', 5n), context),
      ])
      await Promise.all([
        ledger.settle(createSettle(hold.holdId, 'account-1', 5n), context),
        ledger.settle(createSettle(claimed.holdId, 'account-2', 5n, { claim: 'c' }), context),
        ledger.release({ holdId: 'late', account: 'account-3' }, context),
        ledger.hold(createHold('account-2', 6n, { replaces: claimed.holdId }), context),
      ])
      await ledger.expireHolds(100, context)
      await ledger.balance('account-1', context)
      // Clears its own process.
      await stores.close()
    })
    expect(plans.length).toBeGreaterThan(15)
    // A batch with holds keeps its process from being cleared.
    expect(
      plans.filter((plan) => /for key share[\s\S]*LockRows[\s\S]*processes_pkey/i.test(plan)),
    ).not.toEqual([])
    expect(wholeScans(plans)).toEqual([])
  })

  it('finds a page of entries by an index, whichever filters it has', async () => {
    await database.pool.query('analyze')
    const plans = await plansOf(async (pool) => {
      const admin = createAdmin(postgresStores(pool))
      for (const query of [
        {},
        { account: 'account-5' },
        { account: 'platform', from: 1_000, to: 2_000 },
        { appId: 'app-7' },
        { model: 'model-3' },
        { sessionId: 'session-9' },
        { from: 100, to: 200 },
      ]) {
        const page = await admin.entries.list({ ...query, limit: 2 })
        expect(page.entries.length).toBe(2)
        await admin.entries.list({ ...query, limit: 2, after: page.next! })
      }
      await admin.reports.spend({ by: 'day', account: 'account-5', from: 1, to: 5_000 })
      await admin.reports.spend({ by: 'model', from: 1, to: 2_000 })
    })
    expect(plans.length).toBeGreaterThan(15)
    expect(wholeScans(plans)).toEqual([])
  })
})
