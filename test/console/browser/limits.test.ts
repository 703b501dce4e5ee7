import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, say, streamOf, type Visit, violations } from './visit.js'

let visit: Visit
let page: Page
let credentialId: string

beforeAll(async () => {
  visit = await openVisit()
  visit.upstream.script(streamOf(['All ', 'is well.']))
  credentialId = (await visit.stage.admin.keys.issue({ account: 'alice', label: 'limited' })).credentialId
  page = await visit.open('operator', 'keys')
}, 180_000)

afterAll(() => visit?.close())

const dialog = (name: string | RegExp): Locator => page.getByRole('dialog', { name })
const message = (text: string) => page.locator('.message', { hasText: text }).waitFor()
const limitsNow = () => visit.stage.admin.limits.list({ ownerId: credentialId })

async function save(form: Locator, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await form.getByLabel(label).first().fill(value)
  await form.getByRole('button', { name: 'Save' }).click()
}

describe("on the console's limits page, an operator", { timeout: 120_000 }, () => {
  it("sets, changes and removes a key's monthly budget, and sees its use as a bar", async () => {
    await page.getByRole('button', { name: 'Set a limit for limited' }).click()
    await save(dialog('Limit limited'), { 'Name of the limit': 'alice-budget', 'At most': 'twenty' })
    await dialog('Limit limited').locator('[name="amount"][aria-invalid="true"]:focus').waitFor()
    await save(dialog('Limit limited'), { 'At most': '20', 'Time zone': 'Asia/Tokyo' })
    await message('Saved the limit alice-budget.')
    expect(await limitsNow()).toMatchObject([
      { id: 'alice-budget', unit: 'credits', amount: 20_000_000_000n, per: 'month', zone: 'Asia/Tokyo' },
    ])
    await page.getByRole('button', { name: 'Set a limit for limited' }).click()
    await save(dialog('Limit limited'), { 'Name of the limit': 'alice-budget', 'At most': '5' })
    await dialog('Limit limited').locator('[name="id"][aria-invalid="true"]:focus').waitFor()
    await page.keyboard.press('Escape')
    const row = page.getByRole('row', { name: /limited/ })
    await row.getByRole('meter', { name: 'Use of the limit alice-budget' }).waitFor()
    await expect
      .poll(() => row.locator('.limit-figures').textContent())
      .toMatch(/^0 of 20 credits used per month, 20 left until 01 \w+ \d{4}, 00:00:00 \(Asia\/Tokyo\)$/)
    expect(await violations(page)).toEqual([])
    await row.getByRole('button', { name: 'Change the limit alice-budget' }).click()
    await save(dialog('Change the limit alice-budget'), { 'At most': '30.5' })
    await message('Saved the limit alice-budget.')
    expect(await limitsNow()).toMatchObject([{ amount: 30_500_000_000n, zone: 'Asia/Tokyo' }])
    await row.getByRole('button', { name: 'Remove the limit alice-budget' }).click()
    await dialog('Remove the limit alice-budget?').getByRole('button', { name: 'Remove it' }).click()
    await message('Removed the limit alice-budget.')
    expect(await limitsNow()).toEqual([])
  })

  it.each([
    ['accounts', 'account', 'alice'],
    ['apps', 'app', 'metered'],
  ] as const)('sets a limit on the page of %s', async (path, of, ownerId) => {
    await visit.stage.admin.apps.put({ id: 'metered', markup: { basisPoints: 0 }, allowedModels: [] })
    await page.goto(`${visit.stage.consoleUrl}#/${path}`)
    await page.getByRole('button', { name: `Set a limit for ${ownerId}` }).click()
    const form = dialog(`Limit ${ownerId}`)
    await form.getByLabel('Of what').selectOption('requests')
    await form.getByLabel('In which period').selectOption('in total')
    await save(form, { 'Name of the limit': `limit-of-${of}`, 'At most': '1000' })
    await message(`Saved the limit limit-of-${of}.`)
    expect(await visit.stage.admin.limits.list({ of })).toMatchObject([
      { id: `limit-of-${of}`, ownerId, unit: 'requests', amount: 1_000n, per: 'total' },
    ])
    expect(await page.locator('.limit-figures').textContent()).toBe(
      '0 of 1000 requests used in total, 1000 left',
    )
  })

  it('creates a key with a budget and a rate in one dialog', async () => {
    await page.goto(`${visit.stage.consoleUrl}#/keys`)
    await page.getByRole('button', { name: 'New API key' }).click()
    const form = dialog('New API key')
    await form.getByLabel('Account that pays').fill('alice')
    await form.getByLabel('Label').fill('bounded')
    await form.getByLabel('Credits a month').fill('twenty')
    await form.getByLabel('Calls a minute').fill('60')
    await form.getByRole('button', { name: 'Make the key' }).click()
    await form.getByText('Must be credits, such as 20 or 0.5.').waitFor()
    await form.getByLabel('Credits a month').fill('20')
    await form.getByRole('button', { name: 'Make the key' }).click()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const keys = await visit.stage.admin.keys.list({ account: 'alice' })
    const made = keys.filter(({ label }) => label === 'bounded')
    expect(made).toHaveLength(1)
    expect(await visit.stage.admin.limits.list({ ownerId: made[0]!.credentialId })).toMatchObject([
      { unit: 'credits', amount: 20_000_000_000n, per: 'month' },
      { unit: 'requests', amount: 60n, per: 'minute' },
    ])
  })

  it('creates a key for some models, and sees which', async () => {
    await page.goto(`${visit.stage.consoleUrl}#/keys`)
    const [model] = await visit.stage.admin.models.list()
    await page.getByRole('button', { name: 'New API key' }).click()
    const form = dialog('New API key')
    await form.getByLabel('Account that pays').fill('alice')
    await form.getByLabel('Label').fill('one model')
    await form.getByLabel(model!.id, { exact: true }).check()
    await form.getByRole('button', { name: 'Make the key' }).click()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await page
      .getByRole('row', { name: /one model/ })
      .getByText(`API key for ${model!.id}`)
      .waitFor()
    const keys = await visit.stage.admin.keys.list({ account: 'alice' })
    expect(keys.find(({ label }) => label === 'one model')?.allowedModels).toEqual([model!.id])
  })

  it('refunds part of a charge, and then the rest', async () => {
    await page.goto(`${visit.stage.consoleUrl}#/playground`)
    await page.getByLabel('Account that pays').selectOption('alice')
    await say(page, 'Hello')
    await page.locator('[data-cost]').waitFor()
    const [charge] = (await visit.stage.admin.entries.list({ payer: 'alice' })).entries
    const { cost } = charge!.charge!
    await page.goto(`${visit.stage.consoleUrl}#/calls`)
    const refund = async (amount: string) => {
      const explain = page.getByRole('button', { name: `Explain ${charge!.id}`, exact: true })
      if (await explain.isVisible()) await explain.click()
      await page.getByRole('button', { name: `Refund of ${charge!.id}`, exact: true }).click()
      const form = dialog(`Refund the charge ${charge!.id}`)
      await form.getByLabel('Credits').fill(amount)
      await form.getByRole('button', { name: 'Refund', exact: true }).click()
      return form
    }
    await page.getByRole('button', { name: `Explain ${charge!.id}`, exact: true }).waitFor()
    await refund('0.000000001')
    await message('Refunded 0.000000001 credits. alice has')
    await refund('')
    await expect
      .poll(async () =>
        (await visit.stage.admin.entries.list({ payer: 'alice' })).entries.map(({ kind }) => kind),
      )
      .toEqual(['refund', 'refund', 'charge'])
    const { entries } = await visit.stage.admin.entries.list({ payer: 'alice', limit: 2 })
    expect(entries.map((entry) => entry.refund)).toEqual([
      { of: charge!.id, amount: cost - 1n },
      { of: charge!.id, amount: 1n },
    ])
    const refused = await refund('')
    await refused.getByText('has been refunded already').waitFor()
    await refused.getByRole('button', { name: 'Cancel' }).click()
    expect(await violations(page)).toEqual([])
  })
})

describe("on the console's limits page, a user", { timeout: 120_000 }, () => {
  it('sees its own limits but cannot change them', async () => {
    await visit.stage.admin.limits.put({
      ...{ id: 'shown', of: 'credential', ownerId: credentialId },
      ...{ unit: 'tokens', amount: '100000', per: 'minute' },
    })
    const own = await visit.open('alice', 'keys', { viewport: { width: 360, height: 800 } })
    await own.getByRole('meter', { name: 'Use of the limit shown' }).waitFor()
    expect(await own.getByRole('button', { name: /^(Set|Change|Remove) / }).count()).toBe(0)
    expect(await violations(own)).toEqual([])
    await own.goto(`${visit.stage.consoleUrl}#/accounts`)
    await own.getByText('1 of 1000 requests used in total, 999 left').waitFor()
    await own.context().close()
    expect(visit.complaints).toEqual([])
  })
})
