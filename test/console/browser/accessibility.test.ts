import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { simulateCalls, spreadOverDays } from './simulated-calls.js'
import { isOpen, openVisit, say, streamOf, type Visit, violations } from './visit.js'

const OPERATOR_PAGES = [
  'home',
  'playground',
  'spend',
  'spend?by=model',
  'spend?by=account',
  'spend?by=model&range=hour&measure=tokens',
  'spend?model=none',
  'calls',
  'calls?view=payments',
  'calls?view=events',
  'calls?view=all',
  'calls?view=problems',
  'live',
  'keys?shown=all',
  'accounts',
  'connected-apps?shown=all',
  'apps',
  'models',
  'routes',
  'books',
  'audit',
  'nowhere',
]
const USER_PAGES = [
  'home',
  'playground',
  'spend',
  'calls',
  'live',
  'keys',
  'accounts',
  'connected-apps',
  'apps',
  'models',
  'books',
]
const LONG = 'a-very-long-name-that-nobody-would-choose-but-some-machine-does-'.repeat(2)

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
  const { admin, stores } = visit.stage
  await admin.accounts.open(LONG)
  const key = await admin.keys.issue({ account: 'alice', label: LONG })
  await admin.keys.revoke((await admin.keys.issue({ account: LONG })).credentialId)
  await simulateCalls(stores, { count: 90, seed: 3, credentialIds: [key.credentialId] })
  await spreadOverDays(stores, 12)
  visit.upstream.script(streamOf([`${LONG}${LONG}`]))
}, 180_000)

afterAll(() => visit?.close())

async function go(page: Page, path: string): Promise<void> {
  await page.goto(`${visit.stage.consoleUrl}#/${path}`)
  await isOpen(page)
  await page.locator('#page:not(:has(.loading))').waitFor()
}

describe.each(['light', 'dark'] as const)('in %s mode, the console', (colorScheme) => {
  it.each([
    ['operator', OPERATOR_PAGES],
    ['alice', USER_PAGES],
  ] as const)('has no axe violation on any page of %s', { timeout: 240_000 }, async (viewer, paths) => {
    const page = await visit.open(viewer, 'playground', { colorScheme })
    for (const path of paths) {
      await go(page, path)
      if (path === 'calls')
        await page
          .getByRole('button', { name: /^Explain/ })
          .first()
          .click()
      if (path === 'playground') {
        if (viewer === 'operator') await page.getByLabel('Account that pays').selectOption('alice')
        await say(page, 'Hello')
        await page.locator('[data-cost]').waitFor()
      }
      expect(await violations(page), path).toEqual([])
    }
    await page.context().close()
  })

  it('has no axe violation in dialogs or in the menu of a narrow screen', {
    timeout: 120_000,
  }, async () => {
    const page = await visit.open('operator', 'routes', {
      colorScheme,
      viewport: { width: 360, height: 740 },
    })
    await page.getByRole('button', { name: 'Add a route' }).click()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('dialog').getByRole('combobox').fill('a')
    await page.getByRole('dialog').getByRole('option').first().waitFor()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('button', { name: 'Menu' }).click()
    expect(await violations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'New API key' }).click()
    await page.getByRole('dialog').getByLabel('Account that pays').fill('alice')
    await page.getByRole('button', { name: 'Make the key' }).click()
    await page.locator('[data-secret]').waitFor()
    expect(await violations(page)).toEqual([])
    await page.context().close()
  })
})

it.each([360, 768, 1280])(
  'no console page scrolls sideways at %i px',
  { timeout: 120_000 },
  async (width) => {
    const page = await visit.open('operator', 'playground', { viewport: { width, height: 740 } })
    for (const path of OPERATOR_PAGES) {
      await go(page, path)
      if (path === 'calls')
        await page
          .getByRole('button', { name: /^Explain/ })
          .first()
          .click()
      if (path === 'playground') {
        await page.getByLabel('Account that pays').selectOption('alice')
        await say(page, LONG)
        await page.locator('[data-cost]').waitFor()
      }
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(width)
    }
    await page.context().close()
  },
)

it("the console's chart explains its colours, even if the reader overrides the page's colours", {
  timeout: 120_000,
}, async () => {
  const colourOf = (tone: string): string =>
    `getComputedStyle(document.querySelector('figcaption .${tone}')).backgroundColor`
  const coloursAt = async (forcedColors: 'active' | 'none') => {
    const page = await visit.open('operator', 'spend', { forcedColors })
    await page.locator('figcaption .tone-1').waitFor()
    const found = [await page.evaluate(colourOf('tone-0')), await page.evaluate(colourOf('tone-1'))]
    await page.context().close()
    return found
  }
  expect(await coloursAt('active')).toEqual(await coloursAt('none'))
})

describe('by keyboard alone in the console,', { timeout: 120_000 }, () => {
  const focused = (page: Page): Promise<string> =>
    page.evaluate('(document.activeElement.textContent || document.activeElement.name).trim()')

  /** Presses Tab until the element has the focus, and checks that the focus is visible at each step. */
  async function tabTo(page: Page, name: string | RegExp): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      const text = await focused(page)
      if (text !== '') expect(outline, text).not.toBe('none')
      if (typeof name === 'string' ? text === name : name.test(text)) return
    }
    throw new Error(`Tab never came to ${name}`)
  }

  it('people can skip to the page content, go to another page, fill in a form, and return to the same place', async () => {
    const page = await visit.open('operator', 'spend')
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to the page')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('page')
    await page.reload()
    await isOpen(page)
    await tabTo(page, 'Accounts')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Accounts', level: 1 }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('page-title')
    await page.getByRole('button', { name: 'Open an account' }).waitFor()
    await tabTo(page, 'Open an account')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Open an account' })
    await dialog.waitFor()
    const outside =
      'document.activeElement !== document.body && document.activeElement.closest("dialog") === null'
    for (let presses = 0; presses < 8; presses++) {
      expect(await page.evaluate(outside)).toBe(false)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await focused(page)).toBe('Open an account')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Name').waitFor()
    await page.keyboard.type('dave')
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /dave/ }).waitFor()
    expect(await focused(page)).toBe('Open an account')
    await page.context().close()
  })

  it('the focus moves to a new page at once, and not again away from an element already in use', async () => {
    const page = await visit.open('operator', 'calls')
    // Work that the console schedules for after a paint never runs.
    await page.evaluate('globalThis.requestAnimationFrame = globalThis.setTimeout = () => 0')
    await page.evaluate("location.hash = '#/keys'")
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('page-title')
    await page.context().close()
  })

  it('the focus moves to the heading when a list shows another page', async () => {
    const page = await visit.open('operator', 'calls')
    for (const [name, number] of [
      ['Next', 2],
      ['Previous', 1],
    ] as const) {
      await page.getByRole('button', { name, exact: true }).press('Enter')
      await page.getByText(`Page ${number}`, { exact: true }).waitFor()
      expect(await page.evaluate('document.activeElement.id')).toBe('page-title')
    }
    await page.context().close()
  })

  it('people can talk to a model and stop it', async () => {
    visit.upstream.scriptOnce(['stall'])
    const page = await visit.open('alice', 'playground')
    await page.getByLabel('Message').focus()
    await page.keyboard.type('Hello')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await tabTo(page, 'Stop')
    await page.keyboard.press('Enter')
    await page.getByText(/^Stopped/).waitFor()
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })
})
