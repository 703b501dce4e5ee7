import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, foldAll, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createSettle } from '../helpers/ledger-requests.js'

const DAY_MS = 86_400_000

describe.each(engineNames)('the verification of single days on %s', (name) => {
  const engine = useEngine(name)
  let opened = 0

  /** Books with a call on each of the five days before today, and on today. */
  async function openBooks() {
    const stores = engine.open(`days_${opened++}`)
    const admin = createAdmin(stores)
    const change = (text: string) => stores.database.all({ text })
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
    const waiting = name === 'PostgreSQL' ? ['unsummed'] : []
    async function move(days: number): Promise<void> {
      const last = '(select max(id) from {entries})'
      await change(`update {postings} set at = at - ${days * DAY_MS} where entry_id = ${last}`)
      for (const table of waiting)
        await change(`update {${table}} set at = at - ${days * DAY_MS} where ${last} = any (ids)`)
      await change(`update {entries} set at = at - ${days * DAY_MS} where id = ${last}`)
    }
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    await move(5)
    for (const days of [5, 4, 3, 2, 1, 0]) {
      const facts = createFacts('alice', { appId: 'notes', provider: 'north' })
      const charge = createCharge(10n, { base: 8n, markup: 2n })
      const postings = [
        { account: 'alice', amount: -10n },
        { account: 'platform', amount: 8n },
        { account: 'dev', amount: 2n },
      ]
      await stores.ledger.settle(createSettle(`h${days}`, 'alice', 10n, { charge, facts, postings }), context)
      await move(days)
    }
    const { verifyDays } = admin.maintenance
    /** The kinds of differences, and the number of verified days. */
    const found = async (query: Parameters<typeof verifyDays>[0] = {}) => {
      const { days, discrepancies } = await verifyDays(query)
      return [days, ...discrepancies.map(({ what }) => what).sort()]
    }
    const idOf = (days: number) => `(select id from {entries} where hold_id = 'h${days}')`
    return { stores, admin, change, today, found, idOf }
  }

  it('takes each day once, however many of its calls are in the totals', async () => {
    const { stores, admin, today } = await openBooks()
    // Within the first hour of a day, the one before is not taken yet.
    const { days, until } = await admin.maintenance.verifyDays()
    expect(until === today ? days : days + 1).toBe(5)
    expect(await admin.maintenance.verifyDays()).toEqual({ days: 0, until, discrepancies: [] })
    await foldAll(stores)
    expect(await admin.maintenance.verifyDays({ since: today - 5 * DAY_MS })).toEqual({
      days,
      until,
      discrepancies: [],
    })
  })

  it('goes on after the last day, if it was stopped', async () => {
    const { admin, found, today } = await openBooks()
    let isAborted = 0
    // It asks before each day.
    const signal = new AbortController().signal
    Object.defineProperty(signal, 'aborted', { get: () => isAborted++ >= 2 })
    expect(await admin.maintenance.verifyDays({ signal })).toEqual({
      days: 2,
      until: today - 3 * DAY_MS,
      discrepancies: [],
    })
    const [days] = await found()
    expect([1, 2, 3]).toContain(days)
  })

  it.each([
    [
      'a posting of an earner',
      'entry',
      (id: string) => `update {postings} set amount = 3 where entry_id = ${id} and account = 'dev'`,
    ],
    [
      'a missing posting of a payer',
      'cost',
      (id: string) => `delete from {postings} where entry_id = ${id} and account = 'alice'`,
    ],
    ['a missing entry', 'missing-entry', (id: string) => `delete from {entries} where id = ${id}`],
    ['a cost', 'cost', (id: string) => `update {entries} set cost = 11 where id = ${id}`],
    ['the total of a model', 'totals', () => 'update {charge_totals} set cost_low = cost_low + 1'],
    ['the total of a key', 'totals', () => 'update {account_totals} set calls = calls + 1'],
    ['the total of an earner', 'totals', () => 'update {posting_totals} set earned_low = earned_low + 1'],
  ])('finds %s on its day, and verifies that day again until it is right', async (_, what, edit) => {
    const { admin, stores, change, found, idOf, today } = await openBooks()
    await foldAll(stores)
    await change(edit(idOf(3)))
    const wrong = await admin.maintenance.verifyDays()
    expect(wrong.discrepancies.map((one) => one.what)).toContain(what)
    expect(wrong.until).toBeLessThanOrEqual(today - 3 * DAY_MS)
    expect(await found()).toContain(what)
  })

  it('finds nothing new on a day that was verified, unless asked to verify it again', async () => {
    const { admin, change, found, idOf, today } = await openBooks()
    await admin.maintenance.verifyDays()
    await change(`update {postings} set amount = 3 where entry_id = ${idOf(3)} and account = 'dev'`)
    expect(await found()).toEqual([0])
    const again = await admin.maintenance.verifyDays({ since: today - 4 * DAY_MS })
    expect(again.discrepancies.map(({ what }) => what)).toEqual(['entry'])
    expect(again.until).toBe(today - 3 * DAY_MS)
  })

  it('compares every balance with the totals and the calls that they lack', async () => {
    const { stores, change, found } = await openBooks()
    await found()
    await change("update {accounts} set posted = posted + 1 where id = 'alice'")
    await change("insert into {accounts} (id, posted, created_at) values ('eve', 5, 0)")
    expect(await found()).toEqual([0, 'balance', 'balance'])
    await foldAll(stores)
    expect(await found()).toEqual([0, 'balance', 'balance'])
    await change("update {accounts} set posted = posted - 1 where id = 'alice'")
    await change("delete from {accounts} where id = 'eve'")
    expect(await found()).toEqual([0])
    await change("update {accounts} set held = 4 where id = 'dev'")
    expect(await found()).toEqual([0, 'held'])
  })
})
