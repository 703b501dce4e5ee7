import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, type Visit, violations } from './visit.js'

const LONG = 'W'.repeat(250)

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
  const { admin, stores } = visit.stage
  const fields = {
    provider: LONG,
    adapter: 'openai',
    upstreamModel: LONG,
    settings: { baseUrl: 'https://example.com/v1' },
  }
  await admin.models.put({ id: LONG, prices: { input: '1', output: '2' } })
  await admin.routes.put({ id: LONG, model: LONG, ...fields })
  await admin.apps.put({ id: LONG, markup: { basisPoints: 0 }, allowedModels: [LONG], account: LONG })
  await admin.accounts.open(LONG)
  await admin.accounts.credit({ account: LONG, amount: '9000000000.000000001' })
  const [base, markup] = [6_666_666_666_123_456_789n, 1_111_111_111_123_456_789n]
  const usage = { prompt: 2e9, cached: 2e9, cacheWrite: 0, completion: 2e9, reasoning: 2e9 }
  await stores.ledger.settle(
    {
      holdId: LONG,
      charge: { cost: base + markup, base, markup, basis: 'reported', byok: false, usage },
      postings: [
        { account: LONG, amount: -base - markup },
        { account: 'platform', amount: base + markup },
      ],
      facts: { requestId: LONG, account: LONG, credentialId: LONG, model: LONG, completionId: LONG },
    },
    { requestId: LONG, signal: new AbortController().signal },
  )
  await admin.keys.issue({ account: LONG, label: LONG.slice(0, 100) })
}, 180_000)

afterAll(() => visit?.close())

/** The number of pixels by which it is too wide. */
const excess = (of: string) =>
  `{ const { scrollWidth, clientWidth } = document.querySelector(${JSON.stringify(of)}); scrollWidth - clientWidth }`

describe.each([360, 1280])(
  'with names of the maximum length, at %i px, the console',
  { timeout: 120_000 },
  (width) => {
    it.each([
      ['accounts', 'Credit to'],
      ['keys', 'Revoke'],
      ['apps', 'Change'],
      ['models', 'Remove'],
      ['routes', 'Remove'],
    ])('keeps %s and its dialog within the width of the screen', async (path, button) => {
      const page = await visit.open('operator', path, { viewport: { width, height: 740 } })
      await page.getByRole('button', { name: `${button} W` }).click()
      await page.getByRole('dialog').waitFor()
      expect(await page.evaluate(excess('dialog'))).toBe(0)
      await page.keyboard.press('Escape')
      expect(await page.evaluate(excess('html'))).toBe(0)
      await page.context().close()
    })

    it.each([
      ['accounts', 'Statement of'],
      ['calls', 'Explain'],
      ['spend', undefined],
    ])('shows every figure under %s completely', async (path, button) => {
      const page = await visit.open('operator', `${path}?account=${LONG}`, {
        viewport: { width, height: 740 },
      })
      if (button !== undefined) await page.getByRole('button', { name: button }).first().click()
      const figures = page.locator('.facts > div, .figure dd')
      await figures.first().waitFor()
      const cutOff = await figures.evaluateAll((rows) =>
        rows
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
          .map((row) => row.textContent),
      )
      expect(cutOff).toEqual([])
      await page.context().close()
    })
  },
)

it('a console table that is too wide can be scrolled by keyboard alone', {
  timeout: 120_000,
}, async () => {
  const page = await visit.open('operator', 'spend', { viewport: { width: 1_280, height: 740 } })
  await page.locator('.table-box').waitFor()
  expect(await page.evaluate(excess('.table-box'))).toBeGreaterThan(0)
  expect(await violations(page)).toEqual([])
  await page.context().close()
})
