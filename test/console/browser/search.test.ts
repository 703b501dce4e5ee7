import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Findable, makeFindable } from '../findable.js'
import { openVisit, type Visit } from './visit.js'

let visit: Visit
let ofAlice: Findable
let ofDev: Findable

beforeAll(async () => {
  visit = await openVisit()
  ofAlice = await makeFindable(visit.stage, 'alice')
  ofDev = await makeFindable(visit.stage, 'dev')
}, 180_000)

afterAll(() => visit?.close())

const searchOf = (page: Page) => page.getByRole('dialog', { name: 'Search' })

const placeOf = (page: Page) => page.evaluate<string>('decodeURIComponent(location.hash)')

/** Pastes a text into the search and opens the first result. Returns the address. */
async function goTo(page: Page, text: string): Promise<string> {
  await page.keyboard.press('Control+k')
  const input = searchOf(page).getByRole('combobox')
  await input.fill(text)
  await searchOf(page).getByRole('option').first().waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('#page:not(:has(.loading))').waitFor()
  return placeOf(page)
}

/** The page that shows each thing, and a text there that only this thing has. */
const placesOf = (of: Findable): Readonly<Record<keyof Findable, readonly [string, string]>> => ({
  account: [`#/accounts?account=${of.account}`, of.account],
  key: [`#/keys?key=${of.key}&shown=all`, `Laptop of ${of.account}`],
  label: [`#/keys?key=${of.key}&shown=all`, `Laptop of ${of.account}`],
  page: [`#/keys?key=${of.page}&shown=all`, of.page],
  connected: [`#/connected-apps?connected=${of.connected}&shown=all`, of.app],
  app: [`#/apps?app=${of.app}`, of.app],
  hold: [`#/live?hold=${of.hold}`, 'On hold elsewhere: 1'],
  settled: [`#/calls?entry=${of.entry}`, of.request],
  released: [`#/live?hold=${of.released}`, 'This hold is no longer open.'],
  entry: [`#/calls?entry=${of.entry}`, of.request],
  reference: ['', 'credit'],
  session: [`#/calls?sessionId=${of.session}&account=${of.account}`, 'acme/fast'],
  reply: [`#/calls?view=all&id=${of.reply}`, of.request],
  request: [`#/calls?view=all&id=${of.reply}`, of.request],
})

describe("the console's search", { timeout: 240_000 }, () => {
  it('leads an operator from any page to the page that shows the thing, with its filter in the address', async () => {
    const page = await visit.open('operator', 'playground')
    for (const [what, [place, text]] of Object.entries(placesOf(ofAlice))) {
      const came = await goTo(page, ofAlice[what as keyof Findable])
      if (what === 'reference') expect(came).toMatch(/^#\/calls\?entry=\d+$/)
      else expect(came, what).toBe(place)
      await page.getByRole('main').getByText(text).filter({ visible: true }).first().waitFor()
    }
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })

  it('leads a user to its own things alone, and to the page of its own apps', async () => {
    const page = await visit.open('dev', 'spend')
    expect(await goTo(page, ofDev.app)).toBe(`#/own-apps?app=${ofDev.app}`)
    await page.getByRole('main').getByText(ofDev.app).waitFor()
    expect(await goTo(page, ofDev.reply)).toBe(`#/calls?view=all&id=${ofDev.reply}`)
    await page.getByRole('main').getByText(ofDev.request).first().waitFor()
    await page.keyboard.press('Control+k')
    for (const [what, text] of Object.entries(ofAlice)) {
      await searchOf(page).getByRole('combobox').fill(text)
      await page.getByText('Nothing that you may see has this id').waitFor()
      expect(await searchOf(page).getByRole('option').count(), what).toBe(0)
      await searchOf(page).getByRole('combobox').fill('')
      await page.getByText('Nothing that you may see has this id').waitFor({ state: 'detached' })
    }
    await page.context().close()
  })

  it('groups results by kind, and is used by keys alone', async () => {
    const page = await visit.open('operator', 'models')
    await page.getByRole('button', { name: /^Search/ }).click()
    const input = searchOf(page).getByRole('combobox')
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('combobox')
    await input.fill('a')
    await page.getByRole('group', { name: 'Accounts' }).getByRole('option').first().waitFor()
    await input.fill('scribbles')
    const apps = page.getByRole('group', { name: 'Apps', exact: true })
    await apps.getByRole('option').nth(1).waitFor()
    const chosen = page.locator('[aria-selected=true]')
    const first = await chosen.textContent()
    await page.keyboard.press('ArrowDown')
    expect(await chosen.textContent()).not.toBe(first)
    expect(await input.getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'))
    await page.keyboard.press('ArrowDown')
    expect(await chosen.textContent()).toBe(first)
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await placeOf(page)).toBe('#/models')
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Search/)
    await page.context().close()
  })

  it('shows a failure with another try, and does not replace a dialog that is open', async () => {
    const page = await visit.open('operator', 'accounts')
    await page.getByRole('button', { name: 'Open an account' }).click()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Open an account' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(1)
    await page.keyboard.press('Escape')
    await page.route('**/api/find*', (route) => route.abort(), { times: 1 })
    await page.keyboard.press('Meta+k')
    await searchOf(page).getByRole('combobox').fill('alice')
    await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click()
    await searchOf(page).getByRole('option').first().waitFor()
    await page.context().close()
  })

  it.each([360, 1280])('fits a screen of %i px', async (width) => {
    const page = await visit.open('operator', 'calls', { viewport: { width, height: 740 } })
    await page.getByRole('button', { name: /^Search/ }).click()
    await searchOf(page).getByRole('combobox').fill('l')
    await searchOf(page).getByRole('option').first().waitFor()
    const isWide =
      '[...document.querySelectorAll("dialog, dialog *")].some((e) => e.scrollWidth > innerWidth)'
    expect(await page.evaluate(isWide)).toBe(false)
    await page.context().close()
  })
})
