import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, type Visit } from './visit.js'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await openVisit()
  page = await visit.open('operator', 'accounts')
}, 180_000)

afterAll(() => visit?.close())

const dialog = () => page.getByRole('dialog')

async function go(path: string): Promise<void> {
  await page.goto(`${visit.stage.consoleUrl}#/${path}`)
  await page.locator('.listing').waitFor()
}

/** Browsers let a page prevent only the first press. */
async function pressEscapeThrice(): Promise<void> {
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
}

describe('a dialog of the console', { timeout: 120_000 }, () => {
  it('with a token stays open, however often Escape is pressed, until its button is', async () => {
    await go('keys')
    await page.getByRole('button', { name: 'New API key' }).click()
    await dialog().getByLabel('Account that pays').fill('alice')
    await dialog().getByRole('button', { name: 'Make the key' }).click()
    const token = await page.locator('[data-secret]').textContent()
    await pressEscapeThrice()
    await page.locator('[data-secret]').waitFor()
    expect(await page.locator('[data-secret]').textContent()).toBe(token)
    await dialog().getByRole('button', { name: 'I have saved it' }).click()
    await dialog().waitFor({ state: 'detached' })
  })

  it('whose action is running stays open until the result is known', async () => {
    await go('accounts')
    let answer: () => void = () => undefined
    const asked = new Promise<void>((isAsked) => {
      const held = new Promise<void>((release) => {
        answer = release
      })
      void page.route(
        '**/api/accounts/credit',
        async (route) => {
          isAsked()
          await held
          await route.continue()
        },
        { times: 1 },
      )
    })
    await page.getByRole('button', { name: 'Credit to alice' }).click()
    await dialog().getByLabel('Credits').fill('0')
    await dialog().getByRole('button', { name: 'Credit' }).click()
    await asked
    await pressEscapeThrice()
    answer()
    await dialog().getByText('must be above 0').waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  it('announces each action, even if the text is the same again', async () => {
    await go('models')
    const said = page.locator('.message')
    const change = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Change acme/fast' }).click()
      await dialog().getByRole('button', { name: 'Save' }).click()
      await dialog().waitFor({ state: 'detached' })
    }
    await change()
    await page.getByText('Saved the model acme/fast.').waitFor()
    const first = await said.elementHandle()
    await change()
    // A new element: it is read out again, and its animation starts again.
    expect(await said.textContent()).toBe('Saved the model acme/fast.')
    expect(await first?.evaluate((element) => element.isConnected)).toBe(false)
    expect(visit.complaints).toEqual([])
  })
})
