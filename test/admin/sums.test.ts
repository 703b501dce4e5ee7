import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { formatCredits, MAX_CREDITS } from '../../src/base/money.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createSettle } from '../helpers/ledger-requests.js'

const GROUPINGS = ['day', 'model', 'app', 'key', 'provider'] as const
/** Twice as much is beyond 64 bits. */
const LARGE = 6_000_000_000_123_456_789n
const PAYERS = ['alice', 'bob', 'carol'] as const

describe.each(engineNames)('sums beyond 64 bits on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin

  beforeAll(async () => {
    stores = engine.open('sums')
    admin = createAdmin(stores)
    for (const payer of PAYERS) {
      await charge(payer, `dev-${payer}`, { base: LARGE - 7n, markup: 7n })
    }
  })

  let charges = 0
  async function charge(
    account: string,
    earner: string,
    { base, markup }: { base: bigint; markup: bigint },
    model = 'large',
  ) {
    const cost = base + markup
    const facts = createFacts(account, { model, appId: 'app', provider: 'p' })
    const postings = [
      { account, amount: -cost },
      { account: earner, amount: cost },
    ]
    const request = { charge: createCharge(cost, { base, markup }), postings, facts }
    await stores.ledger.settle(createSettle(`h${charges++}`, account, cost, request), context)
  }

  const total = { calls: 3, cost: 3n * LARGE, base: 3n * (LARGE - 7n), markup: 21n }

  it.each(GROUPINGS)('are exact in spend by %s, in its report and on each of its pages', async (by) => {
    expect(await admin.reports.spend({ by, model: 'large' })).toMatchObject([total])
    expect(await admin.reports.spendReport({ by, model: 'large', limit: 1 })).toMatchObject({
      rows: [total],
      rowCount: 1,
      total,
      books: { debited: 3n * LARGE, kept: 0n, isEqual: true },
    })
    const beyond = await admin.reports.spendReport({ by, model: 'large', limit: 1, offset: 1 })
    expect(beyond).toMatchObject({ rows: [], rowCount: 1, total })
  })

  it('order groups and pages by cost, down to the last digit', async () => {
    const credit = 1_000_000_000n
    // Sorted by whole credits alone, or by the fractions alone, these would come in another order.
    await charge('dan', 'dev', { base: credit - 1n, markup: 0n }, 'b')
    await charge('dan', 'dev', { base: credit - 1n, markup: 0n }, 'b')
    await charge('dan', 'dev', { base: credit, markup: credit - 3n }, 'c')
    await charge('dan', 'dev', { base: credit, markup: credit - 2n }, 'd')
    await charge('dan', 'dev', { base: 2n * credit, markup: 0n }, 'e')
    await charge('dan', 'dev', { base: credit + 5n, markup: 0n }, 'a')
    const rows = await admin.reports.spend({ by: 'model' })
    expect(rows.map(({ key }) => key)).toEqual(['large', 'e', 'b', 'd', 'c', 'a'])
    const paged: unknown[] = []
    for (let offset = 0; offset < rows.length; offset += 2) {
      const page = await admin.reports.spendReport({ by: 'model', limit: 2, offset })
      expect(page.total.cost).toBe(3n * LARGE + 9n * credit - 2n)
      paged.push(...page.rows)
    }
    expect(paged).toEqual(rows)
  })

  it.each([
    [-1, 'spend.offset: must be at least 0'],
    [0.5, 'spend.offset: must be a whole number; got a fraction'],
    [Number.NaN, 'spend.offset: must be a whole number; got NaN'],
  ])('refuse an offset of %d with a clear message', async (offset, message) => {
    await expect(admin.reports.spendReport({ by: 'model', offset })).rejects.toThrow(message)
  })

  it('order groups of equal cost by name, so that no page repeats a group', async () => {
    const models = ['t4', 't1', 't6', 't3', 't5', 't2']
    for (const model of models) await charge('hal', 'dev', { base: 5n, markup: 0n }, model)
    const keys: unknown[] = []
    for (let offset = 0; offset < models.length; offset += 2) {
      const page = await admin.reports.spendReport({ by: 'model', account: 'hal', limit: 2, offset })
      keys.push(...page.rows.map(({ key }) => key))
    }
    expect(keys).toEqual([...models].sort())
    expect((await admin.reports.spend({ by: 'model', account: 'hal' })).map(({ key }) => key)).toEqual(keys)
  })

  it('are exact for the share that a payer kept', async () => {
    for (let time = 0; time < 2; time++) {
      await charge('erin', 'erin', { base: LARGE - 1n, markup: 1n }, 'own')
    }
    const { books } = await admin.reports.spendReport({ by: 'model', account: 'erin' })
    expect(books).toEqual({ debited: 0n, kept: 2n * LARGE, isEqual: true })
    expect(await admin.accounts.statement('erin')).toMatchObject({
      earned: 2n * LARGE,
      spent: 2n * LARGE,
      posted: 0n,
    })
  })

  it('are exact in a statement, whether positive or negative', async () => {
    const amount = formatCredits(MAX_CREDITS)
    for (const sign of ['', '-', '-', '', '', '-', '-']) {
      await admin.accounts.correct({ account: 'frank', amount: `${sign}${amount}` })
    }
    await admin.accounts.credit({ account: 'frank', amount })
    await charge('gina', 'frank', { base: 7n, markup: 0n })
    await admin.accounts.correct({ account: 'frank', amount: `-${amount}` })
    await charge('gina', 'frank', { base: LARGE, markup: 0n })
    expect(await admin.accounts.statement('frank')).toEqual({
      credited: MAX_CREDITS,
      corrected: -2n * MAX_CREDITS,
      refunded: 0n,
      earned: LARGE + 7n,
      spent: 0n,
      posted: LARGE + 7n - MAX_CREDITS,
      held: 0n,
    })
  })

  it('do not make correct books look wrong', async () => {
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('do not hide a charge that differs from its postings, or two whose differences cancel out', async () => {
    const changed = engine.open('changed')
    const books = async () => (await createAdmin(changed).reports.spendReport({ by: 'model' })).books.isEqual
    for (const holdId of ['one', 'two']) {
      await changed.ledger.settle(createSettle(holdId, 'alice', LARGE / 2n), context)
    }
    expect(await books()).toBe(true)
    const change = (holdId: string, by: bigint) =>
      changed.database.all({
        text: 'update {entries} set cost = cost + ?1 where hold_id = ?2',
        parameters: [by, holdId],
      })
    await change('one', 1n)
    expect(await books()).toBe(false)
    await change('two', -1n)
    expect(await books()).toBe(false)
  })
})
