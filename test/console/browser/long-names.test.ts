import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, type Visit } from './visit.js'

const LONG = 'W'.repeat(250)

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
  const { admin } = visit.stage
  const fields = { provider: LONG, adapter: 'unknown', upstreamModel: LONG, settings: {} }
  await admin.putModel({ id: LONG, prices: { input: '1', output: '2' } })
  await admin.putRoute({ id: LONG, model: LONG, ...fields })
  await admin.putApp({ id: LONG, markup: { basisPoints: 0 }, allowedModels: [LONG], account: LONG })
  await admin.openAccount(LONG)
  await admin.grant({ account: LONG, amount: '9000000000.000000001' })
  await admin.issueKey({ account: LONG, label: LONG.slice(0, 100) })
}, 180_000)

afterAll(() => visit?.close())

/** By how many pixels it is wider than it may be. */
const excess = (of: string) =>
  `{ const { scrollWidth, clientWidth } = document.querySelector(${JSON.stringify(of)}); scrollWidth - clientWidth }`

describe.each([360, 1280])(
  'with names as long as they can be, %i pixels wide',
  { timeout: 120_000 },
  (width) => {
    it.each([
      ['accounts', 'Grant to'],
      ['keys', 'Revoke'],
      ['apps', 'Change'],
      ['models', 'Remove'],
      ['routes', 'Remove'],
    ])('neither %s nor a dialog of it goes beyond the screen', async (path, button) => {
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
    ])('every figure under %s is seen whole', async (path, button) => {
      const page = await visit.open('operator', `${path}?account=${LONG}`, {
        viewport: { width, height: 740 },
      })
      await page.getByRole('button', { name: button }).click()
      await page.locator('.facts').first().waitFor()
      const cutOff = await page
        .locator('.facts > div')
        .evaluateAll((rows) =>
          rows
            .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
            .map((row) => row.textContent),
        )
      expect(cutOff).toEqual([])
      await page.context().close()
    })
  },
)
