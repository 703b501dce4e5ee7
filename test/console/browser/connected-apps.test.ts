import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatCredits } from '../../../src/index.js'
import { connectOnce, NOTES } from '../../helpers/connect-once.js'
import { FAST } from './stage.js'
import { openVisit, streamOf, type Visit, violations } from './visit.js'

/** A whole PNG picture of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

let visit: Visit
let tokenOfAlice: string

beforeAll(async () => {
  visit = await openVisit()
  visit.upstream.script(streamOf(['All ', 'is well.']))
  const { admin, stores } = visit.stage
  await admin.apps.put(NOTES)
  tokenOfAlice = await connectOnce(stores.connect, 'alice')
  await connectOnce(stores.connect, 'bob')
}, 180_000)

afterAll(() => visit?.close())

const widthOf = (image: unknown): number => (image as { readonly naturalWidth: number }).naturalWidth
const dialog = (page: Page, name: string | RegExp): Locator => page.getByRole('dialog', { name })
const message = (page: Page, text: string) => page.locator('.message', { hasText: text }).waitFor()

/** Makes a call that is charged. */
async function callAs(token: string): Promise<void> {
  const response = await fetch(`${visit.stage.origin}/compat/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: FAST,
      stream: true,
      messages: [{ role: 'user', content: 'How is everything?' }],
    }),
  })
  expect(await response.text()).toContain('is well.')
}

describe('on the connected apps page, a user', { timeout: 120_000 }, () => {
  it('sees the apps it has connected, changes a cap, and disconnects an app', async () => {
    const { admin } = visit.stage
    const page = await visit.open('alice', 'connected-apps')
    const row = page.getByRole('row', { name: /Notes/ })
    await row.getByText('of 5 this month').waitFor()
    await row.getByText('20 %').waitFor()
    expect(await page.getByText('bob').count()).toBe(0)
    await row.getByRole('button', { name: 'Details of Notes', exact: true }).click()
    await page.getByRole('button', { name: /^Remove device/ }).waitFor()
    await page.getByText('connected by the account alice').waitFor()
    await page
      .getByText(/^adds 20 %, at most 5 per month, no end, models acme\/fast, scopes models\.run/)
      .waitFor()
    expect(await violations(page)).toEqual([])
    await row.getByRole('button', { name: 'Change the cap of Notes' }).click()
    await dialog(page, 'Cap of Notes').getByLabel('At most, credits').fill('lots')
    await dialog(page, 'Cap of Notes').getByRole('button', { name: 'Save' }).click()
    await dialog(page, 'Cap of Notes').locator('[name="amount"][aria-invalid="true"]:focus').waitFor()
    await dialog(page, 'Cap of Notes').getByLabel('At most, credits').fill('7.5')
    await dialog(page, 'Cap of Notes').getByRole('button', { name: 'Save' }).click()
    await message(page, 'Saved the cap of Notes.')
    await row.getByText('of 7.5 this month').waitFor()
    await page.getByText('cap changed by the account alice').waitFor()
    await page.getByText('at most 7.5 per month', { exact: true }).waitFor()
    await callAs(tokenOfAlice)
    const spend = () => admin.reports.spend({ by: 'key', account: 'alice' })
    await expect.poll(spend).toHaveLength(1)
    const [spent] = await spend()
    await row.getByRole('button', { name: 'Change the cap of Notes' }).click()
    await dialog(page, 'Cap of Notes').getByLabel('At most, credits').fill('')
    await dialog(page, 'Cap of Notes').getByRole('button', { name: 'Save' }).click()
    await message(page, 'Notes has no cap now.')
    await row.getByText(`${formatCredits(spent!.cost)} in all, no cap`).waitFor()
    await page.getByRole('button', { name: /^Remove device/ }).click()
    await dialog(page, /^Remove device/)
      .getByRole('button', { name: 'Remove it' })
      .click()
    await page.getByText('device removed by the account alice').waitFor()
    await page.getByText('device alice: removed by hand').waitFor()
    await row.getByRole('button', { name: 'Disconnect Notes' }).click()
    await dialog(page, 'Disconnect Notes?').getByRole('button', { name: 'Disconnect it' }).click()
    await message(page, 'Disconnected Notes.')
    await page.getByText('No app is connected.').waitFor()
    expect(await admin.connectedApps.list({ account: 'alice', inUse: true })).toEqual([])
    expect(await admin.connectedApps.list({ account: 'bob', inUse: true })).toHaveLength(1)
    await page.context().close()
  })

  it('keeps a cap that is required, and none above the highest one that the host allows', async () => {
    const { admin, stores } = visit.stage
    await admin.accounts.open('dora')
    const capRule = { required: true, per: 'month', max: 10_000_000_000n } as const
    await connectOnce(stores.connect, 'dora', { capRule })
    const capNow = async () => (await admin.connectedApps.list({ account: 'dora' }))[0]!.cap
    const page = await visit.open('dora', 'connected-apps')
    const open = () => page.getByRole('button', { name: 'Change the cap of Notes' }).click()
    await open()
    const form = dialog(page, 'Cap of Notes')
    const amount = form.getByLabel('At most, credits per month (required)')
    await amount.fill('')
    // Another period or zone would count from 0.
    expect(await form.locator('[name="per"], [name="zone"]').count()).toBe(0)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.locator('[name="amount"]:invalid:focus').waitFor()
    await amount.fill('10.000000001')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.locator('[name="amount"][aria-invalid="true"]:focus').waitFor()
    await form.getByText('amount must be at most 10 per month').waitFor()
    expect(await capNow()).toMatchObject({ amount: 5_000_000_000n })
    await amount.fill('10')
    await form.getByRole('button', { name: 'Save' }).click()
    await message(page, 'Saved the cap of Notes.')
    expect(await capNow()).toMatchObject({ amount: 10_000_000_000n })
    await page.context().close()
  })
})

describe('on the connected apps page, an operator', { timeout: 120_000 }, () => {
  it('removes a cap that is required of the user', async () => {
    const page = await visit.open('operator', 'connected-apps?account=dora')
    await page.getByRole('button', { name: 'Change the cap of Notes for dora' }).click()
    const form = dialog(page, 'Cap of Notes')
    await form.getByText('Without a cap, the app may spend everything that the account has.').waitFor()
    await form.getByLabel('At most, credits').fill('')
    await form.getByRole('button', { name: 'Save' }).click()
    await message(page, 'Notes has no cap now.')
    expect((await visit.stage.admin.connectedApps.list({ account: 'dora' }))[0]!.cap).toBeUndefined()
    await page.context().close()
  })
})

describe("on the console's pages, an account that publishes", { timeout: 120_000 }, () => {
  it('publishes an app, gives it a logo, asks for review, and is live once an operator accepts', async () => {
    const { admin } = visit.stage
    const page = await visit.open('dev', 'own-apps')
    await page.getByRole('button', { name: 'Publish an app' }).click()
    const form = dialog(page, 'Publish an app')
    await form.getByLabel('Id').fill('quill')
    await form.getByLabel('Name').fill('Quill')
    await form.getByLabel('Markup, percent of the base').fill('12.5')
    await form.getByLabel('Redirect URIs').fill('http://quill.example/cb')
    await form.getByRole('button', { name: 'Publish it' }).click()
    await form.locator('[name="redirectUris"][aria-invalid="true"]:focus').waitFor()
    await form.getByLabel('Redirect URIs').fill('https://quill.example/cb')
    await form.getByRole('button', { name: 'Publish it' }).click()
    await message(page, 'Saved the app.')
    const row = page.getByRole('row', { name: /Quill/ })
    await row.getByText('in test').waitFor()
    await row.getByRole('button', { name: 'Logo of Quill' }).click()
    await dialog(page, 'Logo of Quill')
      .getByLabel('Picture')
      .setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: PIXEL })
    await dialog(page, 'Logo of Quill').getByRole('button', { name: 'Save' }).click()
    await message(page, 'Saved the logo.')
    expect((await admin.apps.list({ appIds: ['quill'] }))[0]!.logo?.type).toBe('image/png')
    await row.getByRole('button', { name: 'Ask for review of Quill' }).click()
    await dialog(page, 'Ask to make Quill live?').getByRole('button', { name: 'Ask' }).click()
    await row.getByText('waits for review: to become live').waitFor()
    expect(await violations(page)).toEqual([])

    const operator = await visit.open('operator', 'apps')
    await operator.getByRole('button', { name: 'Accept the changes of quill' }).click()
    const decision = dialog(operator, 'Accept the changes of quill?')
    await decision.getByText('name: Quill').waitFor()
    await decision.getByText('redirect URIs: https://quill.example/cb').waitFor()
    const logo = decision.getByRole('img', { name: /^Logo/ })
    await expect.poll(() => logo.evaluate(widthOf)).toBe(1)
    await decision.getByRole('button', { name: 'Accept them' }).click()
    await message(operator, 'Accepted the changes of quill.')
    expect(await violations(operator)).toEqual([])
    expect((await admin.apps.list({ appIds: ['quill'] }))[0]!.state).toBeUndefined()

    await page.reload()
    await page.getByRole('row', { name: /Quill/ }).getByText('live').waitFor()
    await page.getByRole('button', { name: 'Remove Quill' }).click()
    await dialog(page, 'Remove Quill?').getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('You have no app yet.').waitFor()
    await page.context().close()
    await operator.context().close()
  })

  it('has a page that other users do not have', async () => {
    const page = await visit.open('alice', 'own-apps')
    await page.getByText('This page is for accounts that publish apps.').waitFor()
    expect(await page.getByRole('link', { name: 'My apps' }).count()).toBe(0)
    await page.context().close()
  })
})
