import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { simulateCalls, spreadOverDays } from './simulated-calls.js'
import { openVisit, unfoldFilters, type Visit, violations } from './visit.js'

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
  const { admin, stores } = visit.stage
  for (const [account, amount] of [
    ['carol', '1200.5'],
    ['dave', '0.0000004'],
    ['erin', '12.0000005'],
    ['frank-with-a-name-that-is-much-longer-than-any-column', '99'],
  ] as const)
    await admin.accounts.credit({ account, amount })
  const key = await admin.keys.issue({
    account: 'alice',
    label: 'A label that is much longer than any column',
  })
  await simulateCalls(stores, { count: 60, seed: 8, credentialIds: [key.credentialId] })
  await spreadOverDays(stores, 20)
}, 180_000)

afterAll(() => visit?.close())

const firstCells = (table: Locator): Promise<string[]> => table.locator('tbody th').allTextContents()
const cellsOf = (table: Locator, head: string): Promise<string[]> =>
  table.locator(`tbody td[data-head="${head}"]`).allTextContents()

async function openAt(path: string, width = 1_280): Promise<Page> {
  const page = await visit.open('operator', path, { viewport: { width, height: 800 } })
  await page.getByRole('table').first().waitFor()
  return page
}

describe('a table of the console', { timeout: 120_000 }, () => {
  it('sorts exact amounts, first the largest, then the smallest, then as before', async () => {
    const page = await openAt('accounts')
    const table = page.getByRole('table', { name: 'Accounts' })
    const before = await firstCells(table)
    const head = table.getByRole('columnheader', { name: 'Posted' })
    await head.getByRole('button').click()
    expect(await head.getAttribute('aria-sort')).toBe('descending')
    const down = await firstCells(table)
    expect(down[0]).toBe('carol')
    expect(down.indexOf('erin')).toBeLessThan(down.indexOf('dave'))
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Enter')
    expect(await head.getAttribute('aria-sort')).toBe('ascending')
    expect(await firstCells(table)).toEqual(down.toReversed())
    await page.keyboard.press('Enter')
    expect(await head.getAttribute('aria-sort')).toBe(null)
    expect(await firstCells(table)).toEqual(before)
    await page.context().close()
  })

  it('rounds amounts so that they align, and shows the exact one at the pointer', async () => {
    const page = await openAt('accounts')
    const row = (name: string) => page.getByRole('row', { name }).locator('td[data-head="Posted"]')
    for (const [account, shown, exact] of [
      ['carol', '1200.500000', '1200.5 credits'],
      ['dave', '< 0.000001', '0.0000004 credits'],
      ['erin', '12.000001', '12.0000005 credits'],
    ] as const) {
      expect(await row(account).textContent()).toBe(shown)
      expect(await row(account).locator('.amount').getAttribute('title')).toBe(exact)
    }
    await page.context().close()
  })

  it('does not sort one page of many, whose rows would seem to be the first of all', async () => {
    const page = await openAt('calls')
    await page.getByRole('button', { name: 'Next' }).waitFor()
    expect(await page.getByRole('columnheader').getByRole('button').count()).toBe(0)
    await page.context().close()
  })

  it.each(['calls', 'spend?by=key', 'spend?by=model&range=quarter'])(
    'shows each row of %s in one line, and no column is cut off',
    async (path) => {
      const page = await openAt(path)
      const tables = page.locator('.table-box')
      await tables.last().waitFor()
      const sizes = await tables.evaluateAll((boxes) =>
        boxes.map((box) => ({
          excess: box.scrollWidth - box.clientWidth,
          heights: [...box.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect().height),
        })),
      )
      for (const { excess, heights } of sizes) {
        expect(excess).toBeLessThanOrEqual(0)
        expect(Math.max(...heights)).toBeLessThan(48)
      }
      await page.context().close()
    },
  )

  it('shows limits completely on a narrow screen', async () => {
    const owner = { of: 'account', ownerId: 'carol' } as const
    await visit.stage.admin.limits.put({ id: 'l', ...owner, unit: 'credits', amount: '20', per: 'month' })
    const page = await openAt('accounts?account=carol', 360)
    await page.locator('.limit').waitFor()
    const excess = await page.locator('.table-box').evaluate((box) => box.scrollWidth - box.clientWidth)
    expect(excess).toBeLessThanOrEqual(0)
    await page.context().close()
  })

  it('folds all but four of many filters away, and shows those that are set', async () => {
    const page = await openAt('calls')
    const session = page.getByLabel('Session', { exact: true })
    expect(await session.isVisible()).toBe(false)
    await unfoldFilters(page)
    const { entries } = await visit.stage.admin.entries.list({ limit: 200 })
    const { sessionId } = entries.find(({ facts }) => facts?.sessionId !== undefined)!.facts!
    await session.fill(sessionId!)
    await session.press('Enter')
    await expect.poll(() => page.evaluate('location.hash')).toContain(`sessionId=${sessionId}`)
    await page.reload()
    await session.waitFor()
    expect(await session.inputValue()).toBe(sessionId)
    expect(await violations(page)).toEqual([])
    await page.getByRole('table').waitFor()
    expect((await cellsOf(page.getByRole('table'), 'Charge')).length).toBeGreaterThan(0)
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })
})
