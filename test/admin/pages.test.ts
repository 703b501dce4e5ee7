import { beforeAll, describe, expect, it, vi } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import type { Statement } from '../../src/sql/database.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { createSettle } from '../helpers/ledger-requests.js'

const context = { requestId: 'r', signal: new AbortController().signal }

describe.each(engineNames)('admin lists on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin

  beforeAll(async () => {
    stores = engine.open('pages')
    admin = createAdmin(stores)
    for (const number of [1, 2, 3]) {
      await admin.models.put({ id: `m${number}` })
      const provider = { provider: 'p', adapter: 'a', upstreamModel: 'x' }
      await admin.routes.put({ id: `r${number}`, model: `m${number}`, ...provider })
      await admin.apps.put({ id: `a${number}`, markup: { basisPoints: 0 }, allowedModels: [] })
    }
  })

  /** Returns the statements that `body` sends to the database. */
  async function statementsOf(body: () => Promise<unknown>): Promise<readonly Statement[]> {
    const all = vi.spyOn(stores.database, 'all')
    await body()
    const asked = all.mock.calls.map(([statement]) => statement)
    all.mockRestore()
    return asked
  }

  it('contain only the requested ids, and nothing if no ids are requested', async () => {
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
    expect(ids(await admin.models.list({ modelIds: ['m3', 'none', 'm1'] }))).toEqual(['m1', 'm3'])
    expect(ids(await admin.routes.list({ routeIds: ['r3', 'none', 'r1'] }))).toEqual(['r1', 'r3'])
    expect(ids(await admin.routes.list({ routeIds: ['r3', 'r1'], model: 'm1' }))).toEqual(['r1'])
    expect(ids(await admin.apps.list({ appIds: ['a3', 'none', 'a1'] }))).toEqual(['a1', 'a3'])
    expect(await admin.models.list({ modelIds: [] })).toEqual([])
    expect(await admin.routes.list({ routeIds: [] })).toEqual([])
    expect(await admin.apps.list({ appIds: [] })).toEqual([])
    expect(ids(await admin.models.list())).toEqual(['m1', 'm2', 'm3'])
  })

  it('contain every account once, ordered by id, a hundred per page', async () => {
    await stores.database.all({
      text: `with recursive numbers(number) as (select 1000 union all select number + 1 from numbers where number < 1100)
        insert into {accounts} (id, created_at) select 'account-' || number, 0 from numbers order by number desc`,
    })
    const page = await admin.accounts.list({ after: 'account' })
    const names = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => `account-${from + index}`)
    expect(page.map(({ id }) => id)).toEqual(names(1_000, 1_100))
    const rest = await admin.accounts.list({ after: 'account-1097', limit: 2 })
    expect(rest.map(({ id }) => id)).toEqual(names(1_098, 1_100))
    expect(await admin.accounts.list({ limit: 1 })).toMatchObject([{ id: 'account-1000', createdAt: 0 }])
  })

  it('contain the entries of a session, even for one account that paid or earned', async () => {
    const settle = async (holdId: string, account: string, sessionId: string) => {
      const facts = { requestId: 'r', account, credentialId: 'k', model: 'm1', sessionId }
      await stores.ledger.settle(createSettle(holdId, account, 5n, { facts }), context)
    }
    await settle('h1', 'alice', 's1')
    await settle('h2', 'bob', 's1')
    await settle('h3', 'alice', 's2')
    const holdsOf = async (query: object) =>
      (await admin.entries.list({ sessionId: 's1', ...query })).entries.map(({ holdId }) => holdId)
    expect(await holdsOf({})).toEqual(['h2', 'h1'])
    expect(await holdsOf({ account: 'alice' })).toEqual(['h1'])
    expect(await holdsOf({ account: 'platform' })).toEqual(['h2', 'h1'])
    expect(await holdsOf({ account: 'nobody' })).toEqual([])
    const first = await admin.entries.list({ sessionId: 's1', account: 'platform', limit: 1 })
    expect(await holdsOf({ account: 'platform', after: first.next! })).toEqual(['h1'])
  })

  it('run as a report that delays no look-up if no index leads to the entries', async () => {
    const isReport = async (query: object) =>
      (await statementsOf(() => admin.entries.list(query))).map((statement) => statement.isReport === true)
    for (const query of [
      {},
      { account: 'a' },
      { model: 'm' },
      { appId: 'a' },
      { sessionId: 's' },
      { payments: true },
    ]) {
      expect(await isReport(query)).toEqual([false])
    }
    for (const query of [
      { credentialId: 'k' },
      { requestId: 'r' },
      { account: 'a', model: 'm' },
      { appId: 'a', model: 'm' },
      { account: 'a', payments: true },
    ]) {
      expect(await isReport(query)).toEqual([true])
    }
  })

  if (name === 'SQLite') {
    it('read only one page of keys, of the entries of a session, or of payments', async () => {
      const asked = await statementsOf(async () => {
        for (const query of [{}, { account: 'a' }, { inUse: true }, { after: 'x' }]) {
          await admin.keys.list({ ...query, limit: 50 })
        }
        await admin.entries.list({ account: 'a', sessionId: 's' })
        await admin.entries.list({ payments: true })
      })
      for (const { text, parameters = [] } of asked) {
        const plan = await stores.database.all({ text: `explain query plan ${text}`, parameters })
        // What is cut at its size is sorted once more, but it is one page already.
        const cut = plan.find(({ detail }) => detail === 'SCAN sized')?.parent
        const isPageSorted = (row: (typeof plan)[number]) =>
          row.parent === cut && row.detail === 'USE TEMP B-TREE FOR ORDER BY'
        const steps = plan.filter((row) => !isPageSorted(row)).map(({ detail }) => String(detail))
        expect(steps.filter((step) => /TEMP B-TREE|SCAN t/.test(step))).toEqual([])
        if (text.includes('session_id')) expect(steps[0]).toContain('compat_entries_session')
        if (text.includes('kind')) expect(steps[0]).toContain('compat_entries_payments')
      }
      expect(asked).toHaveLength(6)
    })
  }
})
