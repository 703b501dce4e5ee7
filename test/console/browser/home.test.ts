import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { allEntries } from '../../helpers/all-entries.js'
import { decimal } from '../../helpers/decimals.js'
import { midnightPast } from '../../helpers/noon.js'
import { simulateCalls } from './simulated-calls.js'
import { openVisit, say, streamOf, type Visit, violations } from './visit.js'

const LONG = 'an-account-with-a-name-that-is-far-too-long-for-any-column-'.repeat(2)

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
}, 180_000)

afterAll(() => visit?.close())

const main = (page: Page) => page.getByRole('main')
const isLoaded = (page: Page) => page.locator('.listing[aria-busy="false"]').waitFor()

/** Opens every link of the page, each of which must lead to a page that can be shown. */
async function followLinks(page: Page): Promise<readonly string[]> {
  const hrefs = await main(page)
    .getByRole('link')
    .evaluateAll((links) => [...new Set(links.map((link) => link.getAttribute('href') ?? ''))])
  for (const href of hrefs.filter((one) => one.startsWith('#'))) {
    await page.goto(`${visit.stage.consoleUrl}${href}`)
    await page.locator('#page:not(:has(.loading))').waitFor()
    const title = await page.getByRole('heading', { level: 1 }).textContent()
    expect(title, href).not.toMatch(/no such page/)
    const isEmptyAtFirst = /^#\/(live|calls\?view=problems)/.test(href)
    const bad = page.locator(isEmptyAtFirst ? '.notice.bad' : '.notice.bad, .empty')
    expect(await bad.allTextContents(), href).toEqual([])
  }
  return hrefs
}

describe("the console's home page before the first call", { timeout: 120_000 }, () => {
  it('lists the first steps that are missing, each with a link to its page', async () => {
    const page = await visit.open('operator', '')
    await main(page).getByRole('heading', { name: 'First steps' }).waitFor()
    const steps = await main(page).getByRole('listitem').allTextContents()
    expect(steps.map((text) => text.startsWith('done'))).toEqual([true, true, true, false, false])
    const hrefs = await main(page)
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    expect(hrefs).toEqual(['#/models', '#/routes', '#/accounts', '#/keys', '#/playground'])
    await main(page).getByRole('link', { name: 'Make a key for the account' }).click()
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.context().close()
  })

  it('shows a user its balance, and how to begin', async () => {
    const page = await visit.open('alice', 'home')
    await isLoaded(page)
    const add = page.getByRole('link', { name: 'Add credits' })
    expect(await add.getAttribute('href')).toBe('/top-up')
    await main(page).getByText('None yet. Send a message in the playground.').waitFor()
    await main(page).getByRole('link', { name: 'Make one' }).click()
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.context().close()
  })

  it('shows a user without an account that its first credit opens it', async () => {
    const page = await visit.open('carol', 'home')
    await page.getByText('This account has no credit yet.').waitFor()
    await page.context().close()
  })
})

describe("the console's home page", { timeout: 240_000 }, () => {
  beforeAll(async () => {
    await midnightPast()
    const { admin, stores } = visit.stage
    const keys = [
      await admin.keys.issue({ account: 'alice', label: LONG }),
      await admin.keys.issue({ account: 'bob', label: 'Batch' }),
    ]
    await simulateCalls(stores, {
      count: 300,
      seed: 8,
      credentialIds: keys.map(({ credentialId }) => credentialId),
    })
    const budget = { unit: 'credits', amount: '0.000000001', per: 'month' } as const
    await admin.limits.put({ ...budget, id: LONG, of: 'account', ownerId: 'alice' })
    await admin.accounts.credit({ account: LONG, amount: '1', memo: LONG })
    visit.upstream.script(streamOf(['Hello']))
    const page = await visit.open('bob', 'playground')
    await say(page, 'Hello')
    await page.locator('[data-cost]').waitFor()
    await page.context().close()
    await vi.waitFor(async () => expect((await admin.calls.list()).calls).not.toEqual([]), 10_000)
  }, 240_000)

  it('shows the same amounts as the ledger', async () => {
    const page = await visit.open('operator', 'home')
    await isLoaded(page)
    const charges = (await allEntries(visit.stage.admin)).flatMap(({ charge }) => charge ?? [])
    const cost = decimal(charges.reduce((sum, charge) => sum + charge.cost, 0n))
    const markup = decimal(charges.reduce((sum, charge) => sum + charge.markup, 0n))
    const shown = await main(page).locator('.figure dd > .amount').allTextContents()
    expect(shown).toEqual([cost, cost, markup])
    await main(page).getByText('charges equal the ledger to the last digit').waitFor()
    await page.context().close()
  })

  it.each(['operator', 'bob'])('leads %s from each figure to the page behind it', async (viewer) => {
    const page = await visit.open(viewer, 'home')
    await isLoaded(page)
    expect((await followLinks(page)).length).toBeGreaterThan(5)
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })

  it.each([
    ['operator', 'home'],
    ['alice', 'home/account'],
  ])('shows %s that it loads, and an error with another try', async (viewer, path) => {
    const page = await visit.open(viewer, 'playground')
    let release: (() => void) | undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(
      `**/api/${path}`,
      async (route) => {
        await released
        await route.abort()
      },
      { times: 1 },
    )
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /^ ?Loading/ })
      .waitFor()
    release!()
    await main(page).getByRole('button', { name: 'Try again' }).click()
    await isLoaded(page)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await isLoaded(page)
    await page.context().close()
  })

  it.each([360, 768, 1280])(
    'cuts nothing off at %i px, light or dark, and axe finds nothing',
    async (width) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const viewer of ['operator', 'alice']) {
          const page = await visit.open(viewer, 'home', { colorScheme, viewport: { width, height: 740 } })
          await isLoaded(page)
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
          const cut = await page.evaluate<string[]>(
            '[...document.querySelectorAll("main *:not(.unseen):not(.table-box)")].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).display !== "inline").map((e) => e.className + " " + e.textContent.slice(0, 60))',
          )
          expect(cut, `${viewer} ${colorScheme}`).toEqual([])
          expect(await violations(page), `${viewer} ${colorScheme}`).toEqual([])
          await page.context().close()
        }
      }
    },
  )
})
