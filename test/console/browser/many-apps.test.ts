import type { AppRequest } from 'compat-router/admin'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, type Visit } from './visit.js'

const APPS = 230

let visit: Visit

const appOf = (index: number): AppRequest => ({
  id: `app-${1_000 + index}`,
  name: `Number ${index}`,
  markup: { basisPoints: index },
  allowedModels: ['acme/fast'],
  redirectUris: [`https://app-${index}.example/cb`],
  owner: 'dev',
  ...(index < 60 ? { state: 'test' } : {}),
})

beforeAll(async () => {
  visit = await openVisit()
  for (let index = 0; index < APPS; index++) {
    await visit.stage.admin.apps.put(appOf(index))
  }
}, 180_000)

afterAll(() => visit?.close())

describe("an app beyond the console's first page of apps", { timeout: 120_000 }, () => {
  it('is found by name in the token form, with the terms that were shown', async () => {
    const page = await visit.open('operator', 'keys')
    await page.getByRole('button', { name: 'New access token' }).click()
    const form = page.getByRole('dialog')
    const app = form.getByLabel('App (required)')
    await form.getByRole('searchbox', { name: 'Search: App' }).fill('number 229')
    await form.getByRole('searchbox', { name: 'Search: App' }).press('Enter')
    await app.selectOption('Number 229 (app-1229)')
    await form.getByRole('searchbox', { name: 'Search: App' }).fill('number 228')
    await app.getByRole('option', { name: 'Number 228' }).waitFor({ state: 'attached' })
    expect(await app.inputValue()).toBe('app-1229')
    await form.getByLabel('Account that pays (required)').fill('bob')
    await visit.stage.admin.apps.put({ ...appOf(229), markup: { basisPoints: 9_000 } })
    await form.getByRole('button', { name: 'Make the token' }).click()
    await form.getByText('has changed its models or its markup since you opened this').waitFor()
    await visit.stage.admin.apps.put(appOf(229))
    await form.getByRole('button', { name: 'Make the token' }).click()
    await page.locator('[data-secret]').waitFor()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const [made] = await visit.stage.admin.keys.list({ account: 'bob' })
    expect(made).toMatchObject({ appId: 'app-1229' })
    await page.context().close()
  })

  it('is found by name in the playground, and acts there', async () => {
    const page = await visit.open('operator', 'playground')
    await page.getByRole('searchbox', { name: 'Search: Acts through' }).fill('number 217')
    const through = page.getByLabel('Acts through', { exact: true })
    await through.selectOption('the app Number 217 (app-1217)')
    await page.getByText('Number 217 adds 2.17 %').waitFor()
    await page.goto(`${visit.stage.consoleUrl}#/playground?app=app-1216`)
    await page.getByText('Number 216 adds 2.16 %').waitFor()
    expect(await through.inputValue()).toBe('app-1216')
    await page.context().close()
  })

  it('is found by name on the apps page, and suggested in filters', async () => {
    const page = await visit.open('operator', 'apps')
    await page.getByLabel('App', { exact: true }).fill('number 229')
    await page.getByLabel('App', { exact: true }).press('Enter')
    await page.locator('tr[data-row="app-1229"]').waitFor()
    expect(await page.locator('tbody > tr[data-row]').count()).toBe(1)
    await page.goto(`${visit.stage.consoleUrl}#/calls`)
    const filter = page.getByLabel('App', { exact: true })
    await filter.pressSequentially('number 228')
    await page.locator('datalist option[value="app-1228"]').waitFor({ state: 'attached' })
    expect(await page.locator('datalist option[value="app-1000"]').count()).toBe(0)
    await page.context().close()
  })
})

describe('reviews of apps in the console', { timeout: 120_000 }, () => {
  it('are paged separately from the apps', async () => {
    for (let index = 0; index < 60; index++) {
      await visit.stage.admin.userApps.askForReview('dev', `app-${1_000 + index}`)
    }
    const page = await visit.open('operator', 'apps')
    const reviews = page.locator('section.reviews')
    await expect.poll(() => reviews.locator('tbody > tr[data-row]').count()).toBe(50)
    // That of the console, of the reviews and, once they are loaded, of the apps.
    const lists = page.getByRole('navigation', { name: 'Pages' })
    await expect.poll(() => lists.count()).toBe(3)
    await lists.last().getByRole('button', { name: 'Next' }).click()
    await page.locator('tr[data-row="app-1150"]').waitFor()
    await reviews.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => reviews.locator('tbody > tr[data-row]').count()).toBe(10)
    await page.locator('tr[data-row="app-1150"]').waitFor()
    await page.context().close()
  })
})
