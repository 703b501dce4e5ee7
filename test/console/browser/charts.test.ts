import type { Entry } from 'compat-router/stores'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allEntries } from '../../helpers/all-entries.js'
import { decimal } from '../../helpers/decimals.js'
import { simulateCalls, spreadOverDays } from './simulated-calls.js'
import { openVisit, type Visit, violations } from './visit.js'

const ZONE = 'America/St_Johns'
const DAY_MS = 86_400_000

let visit: Visit
let entries: readonly Entry[]

beforeAll(async () => {
  visit = await openVisit()
  const { admin, stores } = visit.stage
  const key = await admin.keys.issue({ account: 'alice', label: 'Website' })
  await simulateCalls(stores, { count: 400, seed: 5, credentialIds: [key.credentialId] })
  await spreadOverDays(stores, 50)
  entries = (await allEntries(admin)).filter(({ kind }) => kind === 'charge')
}, 180_000)

afterAll(() => visit?.close())

/** The day of a time, as the reader's clock has it. */
const dayIn = (zone: string, at: number): string =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: zone,
  }).format(at)

/** Summed here, entry by entry. */
function costOf(day: string, zone: string, model?: string): string {
  const sum = entries
    .filter(({ at, facts }) => dayIn(zone, at) === day && (model === undefined || facts!.model === model))
    .reduce((all, { charge }) => all + charge!.cost, 0n)
  return decimal(sum)
}

async function openChart(query: string): Promise<{ page: Page; plot: Locator; tip: Locator }> {
  const page = await visit.open('operator', `spend?${query}`, {
    timezoneId: ZONE,
    viewport: { width: 1_280, height: 900 },
  })
  const plot = page.getByRole('slider')
  await plot.locator('svg').waitFor()
  return { page, plot, tip: page.locator('.chart-tip') }
}

/** The figures beside a step, by their names. */
async function figuresOf(tip: Locator): Promise<ReadonlyMap<string, string>> {
  const rows = await tip.locator('li').evaluateAll((lines) =>
    lines.map((line) => {
      const figure = line.querySelector('.tip-figure')?.textContent ?? ''
      return [(line.textContent ?? '').replace(figure, '').trim(), figure] as const
    }),
  )
  return new Map(rows)
}

describe("the console's chart of spend", { timeout: 120_000 }, () => {
  it("shows the exact figures of the reader's own day at the pointer", async () => {
    const { page, plot, tip } = await openChart('by=model')
    const box = (await plot.boundingBox())!
    // The tenth of thirty days.
    await plot.hover({ position: { x: 58 + (9.5 * (box.width - 66)) / 30, y: 100 } })
    const day = dayIn(ZONE, Date.now() - 20 * DAY_MS)
    expect(await tip.locator('strong').textContent()).toBe(day)
    const figures = await figuresOf(tip)
    expect(figures.get('Total')).toBe(`${costOf(day, ZONE)} credits`)
    for (const model of ['acme/fast', 'acme/smart'])
      expect(figures.get(model), model).toBe(`${costOf(day, ZONE, model)} credits`)
    expect(figures.has('Period before')).toBe(true)
    await page.mouse.move(0, 0)
    await tip.waitFor({ state: 'detached' })
    await page.context().close()
  })

  it('reads its steps to the keyboard, and counts days in UTC if asked to', async () => {
    const { page, plot } = await openChart('zone=UTC')
    await plot.focus()
    const text = () => plot.getAttribute('aria-valuetext')
    const yesterday = dayIn('UTC', Date.now() - DAY_MS)
    await plot.press('ArrowLeft')
    await expect.poll(text).toContain(`${yesterday}: Total ${costOf(yesterday, 'UTC')},`)
    await plot.press('Home')
    const first = dayIn('UTC', Date.now() - 29 * DAY_MS)
    await expect.poll(text).toContain(`${first}: Total ${costOf(first, 'UTC')},`)
    expect(await violations(page)).toEqual([])
    await plot.press('Escape')
    await page.locator('.chart-tip').waitFor({ state: 'detached' })
    await page.context().close()
  })

  it('shows calls and tokens instead of credits, of an hour or of a year', async () => {
    const { page, plot } = await openChart('zone=UTC')
    const newest = async () => {
      await plot.press('End')
      return plot.getAttribute('aria-valuetext')
    }
    await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'Calls' }).click()
    await page.getByRole('button', { name: '12 months' }).click()
    const month = new Date().toISOString().slice(0, 7)
    const ofMonth = entries.filter(({ at }) => new Date(at).toISOString().startsWith(month))
    await expect.poll(newest).toContain(`: Calls ${ofMonth.length}`)
    await page.getByRole('button', { name: 'Tokens', exact: true }).click()
    const tokens = ofMonth.reduce((sum, { charge }) => sum + charge!.usage.prompt, 0)
    await expect.poll(newest).toContain(`In ${tokens.toLocaleString('en')}`)
    await page.getByRole('button', { name: 'Hour', exact: true }).click()
    await expect.poll(() => plot.getAttribute('aria-valuemax').catch(() => '11')).toBe('11')
    await page.context().close()
  })

  it('has a table of the same figures, newest first, and its file', async () => {
    const { page } = await openChart('by=model&zone=UTC')
    const rows = page.getByRole('table', { name: 'Spend by day and model, in credits' }).locator('tbody tr')
    const cells = await rows.evaluateAll((found) =>
      found.map((row) =>
        [...row.children].map(
          (cell) =>
            // The title of an amount is exact.
            cell.querySelector('.amount')?.getAttribute('title')?.replace(' credits', '') ??
            cell.textContent ??
            '',
        ),
      ),
    )
    expect(cells.map(([day]) => day)).toEqual(
      Array.from({ length: 30 }, (_, day) => dayIn('UTC', Date.now() - day * DAY_MS)),
    )
    for (const [day = '', total] of cells) expect(total, day).toBe(costOf(day, 'UTC'))
    const link = page.getByRole('link', { name: 'Download CSV By day and model', exact: true })
    const href = await link.getAttribute('href')
    const file = await page.evaluate<string>(`fetch(${JSON.stringify(href)}).then((reply) => reply.text())`)
    const yesterday = dayIn('UTC', Date.now() - DAY_MS)
    expect(file).toContain(`,${costOf(yesterday, 'UTC', 'acme/fast')},`)
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })

  it('shortens large amounts beside it, and says that sums by key are of days in UTC', async () => {
    const { page } = await openChart('by=key')
    await page.getByText('by account and by key are kept for days in UTC').waitFor()
    await page.route('**/api/reports/spend-over-time?*', async (route) => {
      const reply = await (await route.fetch()).json()
      const steps = reply.steps.map((step: object) => ({ ...step, base: '4000000000', markup: '0' }))
      await route.fulfill({ json: { ...reply, steps } })
    })
    await page.getByRole('button', { name: 'All calls' }).click()
    await page.locator('.tick').getByText('4B', { exact: true }).waitFor()
    await page.context().close()
  })
})
