import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, unfoldFilters, type Visit } from './visit.js'

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
}, 180_000)

afterAll(() => visit?.close())

describe('a filter in the console', { timeout: 120_000 }, () => {
  it('causes no error and does not apply to another page if its page closes while somebody types', async () => {
    const page = await visit.open('operator', 'calls')
    for (const [field, next, title] of [
      ['Session', 'keys', 'Keys'],
      ['App', 'calls', 'Calls'],
      ['Session', 'calls?view=events', 'Calls'],
      ['Model', 'models', 'Models'],
    ] as const) {
      if (field === 'Session') await unfoldFilters(page)
      await page.getByLabel(field, { exact: true }).focus()
      await page.keyboard.type('half')
      await page.evaluate(`location.hash = '#/${next}'`)
      await page.getByLabel(field, { exact: true }).and(page.locator(':focus')).waitFor({ state: 'detached' })
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      expect(await page.evaluate('location.hash')).toBe(`#/${next}`)
    }
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })

  it.each(['keys', 'calls?view=events'])(
    'does not apply to %s if its page closes just before that opens',
    async (next) => {
      const page = await visit.open('operator', 'calls')
      const field = page.getByLabel('Session', { exact: true })
      await unfoldFilters(page)
      await field.focus()
      await page.keyboard.type('half')
      await page.evaluate(`location.hash = '#/${next}'; document.activeElement.blur()`)
      await field.waitFor({ state: 'detached' })
      expect(await page.evaluate('location.hash')).toBe(`#/${next}`)
      await page.context().close()
    },
  )

  it('keeps the typed text while the page cannot learn who is signed in', async () => {
    const page = await visit.open('operator', 'calls')
    const field = page.getByLabel('Session', { exact: true })
    await unfoldFilters(page)
    await field.focus()
    await page.keyboard.type('half')
    await page.route('**/api/me', (route) => route.abort())
    const failed = page.waitForEvent('requestfailed')
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await failed
    await page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))',
    )
    expect(await field.inputValue()).toBe('half')
    await page.context().close()
  })

  it('of a day sends no refused request while it is typed', async () => {
    const page = await visit.open('operator', 'spend')
    await page.getByLabel('From', { exact: true }).focus()
    const asked: URL[] = []
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.url().includes('api/reports/spend')) asked.push(new URL(response.url()))
      if (!response.ok()) refused.push(response.url())
    })
    const isLast = (url: URL) => url.searchParams.get('fromDay') === '2026-05-05'
    // The keys fit either order of day and month. The page handles each digit before the next.
    for (const key of '05052026') {
      await page.keyboard.press(key)
      await page.evaluate('new Promise((done) => requestAnimationFrame(done))')
    }
    await expect.poll(() => asked.some(isLast)).toBe(true)
    expect(refused).toEqual([])
    await page.context().close()
  })
})
