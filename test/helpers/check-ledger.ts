import { expect } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { foldAll } from './engines.js'
import { context } from './ledger-requests.js'

/**
 * Checks that every acknowledged settlement is present exactly once, every balance is the sum of its
 * postings, no credits are lost, reports have every charge, and holds are released when they expire.
 */
export async function checkLedger(
  stores: DurableStores,
  acknowledged: Iterable<string>,
  granted: bigint,
): Promise<void> {
  const admin = createAdmin(stores)
  /** The verification compares totals with entries, and a report has what the totals lack. */
  const checkReports = async () => {
    expect(await admin.maintenance.verify()).toEqual([])
    const [row] = await stores.database.all({
      text: "select count(*) as calls from {entries} where kind = 'charge'",
    })
    for (const by of ['model', 'key'] as const) {
      const { total, books } = await admin.reports.spendReport({ by })
      expect(total.calls).toBe(Number(row!.calls))
      expect(books.isEqual).toBe(true)
    }
  }
  const settled = new Map<string, number>()
  let after: string | undefined
  do {
    const page = await admin.entries.list({ limit: 1_000, ...(after === undefined ? {} : { after }) })
    for (const { holdId } of page.entries) {
      if (holdId !== undefined) settled.set(holdId, (settled.get(holdId) ?? 0) + 1)
    }
    after = page.next
  } while (after !== undefined)
  expect([...acknowledged].filter((holdId) => !settled.has(holdId))).toEqual([])
  expect([...settled].filter(([, count]) => count !== 1)).toEqual([])
  await checkReports()

  const accounts = await admin.accounts.list({ limit: 10_000 })
  expect(accounts.reduce((sum, { balance }) => sum + balance.posted, 0n)).toBe(granted)
  const isFree = async () => {
    await stores.ledger.expireHolds(10_000, context)
    const rows = await stores.database.all({ text: 'select 1 from {holds} where state = 0 limit 1' })
    return rows.length === 0
  }
  await expect.poll(isFree, { timeout: 15_000, interval: 50 }).toBe(true)
  for (const { balance } of await admin.accounts.list({ limit: 10_000 })) expect(balance.held).toBe(0n)
  await checkReports()
  // Those of a killed process are added by the next one.
  await foldAll(stores)
  await checkReports()
}
