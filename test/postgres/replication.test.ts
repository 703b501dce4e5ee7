import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { checkLedger } from '../helpers/check-ledger.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { createPool } from '../helpers/postgres.js'
import { type PostgresServer, startPostgresServer } from '../helpers/postgres-server.js'

const CREDIT = 10n ** 9n

describe('stores on a PostgreSQL primary that was told to stop waiting for its synchronous standby', () => {
  let server: PostgresServer
  let control: pg.Client
  beforeAll(async () => {
    server = await startPostgresServer()
    control = new pg.Client({ connectionString: server.url() })
    await control.connect()
  })
  afterAll(async () => {
    await control.end()
    await server.stop()
  })

  /** With `true`, each commit waits for a standby, which never comes. */
  async function waitForStandby(waits: boolean): Promise<void> {
    await control.query(`alter system set synchronous_standby_names = '${waits ? 'nobody' : ''}'`)
    await control.query('select pg_reload_conf()')
    await expect
      .poll(async () => (await control.query('show synchronous_standby_names')).rows[0])
      .toEqual({ synchronous_standby_names: waits ? 'nobody' : '' })
  }

  /** Does so whenever a commit waits, until that ends. */
  function cancelWaits(): () => Promise<void> {
    let isOver = false
    const ended = (async () => {
      while (!isOver) {
        await control.query(
          "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and pid <> pg_backend_pid()",
        )
      }
    })()
    return async () => {
      isOver = true
      await ended
    }
  }

  const count = async (table: string) =>
    (await control.query(`select count(*)::int as found from compat_router.${table}`)).rows[0].found

  it('acknowledge no hold, settlement or credit until a repeat was replicated, and post each once', async () => {
    const pool = createPool(server.url())
    const stores = postgresStores(pool)
    const admin = createAdmin(stores)
    await openAccounts(stores.database, { alice: '1' })
    const hold = createHold('alice', 7n)
    const entries = await count('entries')

    /** Starts a write while no standby answers. Its commit is seen by others, but must not be acknowledged. */
    async function commitAlone<Answer>(
      write: () => Answer | Promise<Answer>,
      table: string,
    ): Promise<Answer> {
      const before = await count(table)
      await waitForStandby(true)
      const endCancelling = cancelWaits()
      let isAcknowledged = false
      const answer = Promise.resolve(write()).then((value) => {
        isAcknowledged = true
        return value
      })
      await expect.poll(() => count(table)).toBe(before + 1)
      await control.query('select pg_sleep(1)')
      expect(isAcknowledged).toBe(false)
      await endCancelling()
      await waitForStandby(false)
      return answer
    }

    expect(await commitAlone(() => stores.ledger.hold(hold, context), 'holds')).toMatchObject({ ok: true })
    await commitAlone(() => stores.ledger.settle(createSettle(hold.holdId, 'alice', 7n), context), 'entries')
    await waitForStandby(true)
    const endCancelling = cancelWaits()
    const credit = { account: 'alice', amount: '1', reference: 'invoice-1' }
    await expect(admin.accounts.credit(credit)).rejects.toThrow(/a failover may lose this commit/)
    await endCancelling()
    await waitForStandby(false)
    await admin.accounts.credit(credit)
    expect(await count('entries')).toBe(entries + 2)
    await checkLedger(stores, [hold.holdId], 2n * CREDIT)
    await stores.close()
    await pool.end()
  })
})
