import type { Locator, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, say, streamOf, unfoldFilters, type Visit } from './visit.js'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await openVisit()
  visit.upstream.script(streamOf(['All ', 'is well.']))
  page = await visit.open('operator', 'accounts')
}, 180_000)

afterAll(() => visit?.close())

const dialog = (name: string | RegExp): Locator => page.getByRole('dialog', { name })
const message = (text: string | RegExp) => page.locator('.message', { hasText: text }).waitFor()

async function fill(form: Locator, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await form.getByLabel(label).first().fill(value)
}

async function visitPage(name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Starts a destructive action, checks the text of its dialog, cancels once, and then confirms. */
async function confirm(button: Locator, title: string | RegExp, says: string, action: string): Promise<void> {
  await button.click()
  const asked = dialog(title)
  await expect.poll(() => asked.textContent()).toContain(says)
  await asked.getByRole('button', { name: 'Cancel' }).click()
  await asked.waitFor({ state: 'detached' })
  await button.click()
  await dialog(title).getByRole('button', { name: action }).click()
  await dialog(title).waitFor({ state: 'detached' })
}

describe('in the console, an operator', { timeout: 120_000 }, () => {
  it('opens an account and adds credits to it', async () => {
    await page.getByRole('button', { name: 'Open an account' }).click()
    await fill(dialog('Open an account'), { Name: 'carol' })
    await dialog('Open an account').getByRole('button', { name: 'Open it' }).click()
    await message('The account carol is open.')
    await page.getByRole('button', { name: 'Credit to carol' }).click()
    const form = dialog('Add credits to carol')
    await fill(form, { Credits: 'two' })
    await form.getByRole('button', { name: 'Credit', exact: true }).click()
    await form.locator('.complaint, .notice.bad').waitFor()
    await fill(form, { Credits: '2.5', Reference: 'invoice 7', Memo: 'Paid by card' })
    await form.getByRole('button', { name: 'Credit', exact: true }).click()
    await message('carol has 2.5 credits now')
    expect((await visit.stage.admin.accounts.balance('carol'))?.posted).toBe(2_500_000_000n)
  })

  it.each([
    ['Credit to fay', 'Credit', '2.5'],
    ['Correct fay', 'Correct', '-2.5'],
  ])('%s: is told if the reference was already posted', async (button, action, amount) => {
    await visit.stage.admin.accounts.open('fay')
    await page.reload()
    const messages: string[] = []
    for (const start of ['Posted. fay has', 'Nothing was posted: this reference was already posted at']) {
      await page.getByRole('button', { name: button }).click()
      await fill(page.getByRole('dialog'), { Credits: amount, Reference: `invoice ${action}` })
      await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
      await message(start)
      messages.push((await page.locator('.message').textContent())!.replace(/^.* fay has/, ''))
    }
    expect(messages[1]).toBe(messages[0])
  })

  it.each([
    ['Credit to dora', 'Credit', 'credit', '100', '100'],
    ['Correct dora', 'Correct', 'correct', '-40', '60'],
  ])(
    '%s: posts once if the reply was lost and the operator tries again',
    async (button, action, path, amount, left) => {
      await visit.stage.admin.accounts.open('dora')
      await page.reload()
      const url = `**/api/accounts/${path}`
      const loseAnswer = async (route: Route) => {
        await route.fetch()
        await route.abort('connectionreset')
      }
      await page.route(url, loseAnswer, { times: 1 })
      await page.getByRole('button', { name: button }).click()
      const form = page.getByRole('dialog')
      await fill(form, { Credits: amount })
      await form.getByRole('button', { name: action, exact: true }).click()
      await form.getByText('The server cannot be reached.').waitFor()
      await fill(form, { Credits: '7' })
      await form.getByRole('button', { name: action, exact: true }).click()
      await form.getByText('was already posted').waitFor()
      await fill(form, { Credits: amount })
      await form.getByRole('button', { name: action, exact: true }).click()
      await message(`Posted. dora has ${left} credits now`)
      expect((await visit.stage.admin.accounts.balance('dora'))?.posted).toBe(BigInt(left) * 1_000_000_000n)
    },
  )

  it('sees in the statement that the postings add up to the balance', async () => {
    await page.getByRole('button', { name: 'Statement of carol' }).click()
    await expect.poll(() => dialog('Statement of carol').textContent()).toContain('to the last digit')
    await dialog('Statement of carol').getByRole('button', { name: 'Close' }).click()
  })

  it('adds a model and a route, and chats with the model', async () => {
    await visitPage('Models')
    await page.getByRole('button', { name: 'Add a model' }).click()
    const form = dialog('Add a model')
    await fill(form, { Id: 'acme/new', 'Input price': '1', 'Output price': '2' })
    await form.getByRole('button', { name: 'Add it' }).click()
    await message('Saved the model acme/new.')
    await visitPage('Routes')
    await page.getByRole('button', { name: 'Add a route' }).click()
    const route = dialog('Add a route')
    await fill(route, {
      Id: 'new-route',
      Model: 'acme/new',
      Provider: 'acme',
      Adapter: 'openai',
      "The provider's name for the model": 'new',
      "The provider's key": 'sk-of-the-provider',
      Settings: JSON.stringify({ baseUrl: visit.upstream.baseUrl }),
    })
    await route.getByRole('button', { name: 'Add it' }).click()
    await message('Saved the route new-route.')
    expect(await page.content()).not.toContain('sk-of-the-provider')
    await visitPage('Playground')
    await page.getByLabel('Model', { exact: true }).selectOption('acme/new')
    await page.getByLabel('Account that pays').selectOption('carol')
    await say(page, 'Hello')
    await page.locator('[data-cost="0.000025"]').waitFor()
    const [request] = visit.upstream.requests.slice(-1)
    expect(request?.headers.authorization).toBe('Bearer sk-of-the-provider')
  })

  it('registers an app, acts through it, and sees the markup separately', async () => {
    await visitPage('Apps')
    await page.getByRole('button', { name: 'Register an app' }).click()
    const form = dialog('Register an app')
    await fill(form, { Id: 'mail', Name: 'Mail', 'Markup, percent of the base': '12.5' })
    await form.getByRole('button', { name: 'Register it' }).click()
    await message('Saved the app mail.')
    const apps = await visit.stage.admin.apps.list()
    expect(apps.find(({ id }) => id === 'mail')).toMatchObject({ markup: { basisPoints: 1_250 } })
    await page.goto(`${visit.stage.consoleUrl}#/playground?model=acme/new&account=carol&app=mail`)
    await say(page, 'Hello')
    await page.locator('[data-cost="0.000028125"]').waitFor()
    const text = await page.locator('.cost').last().textContent()
    expect(text).toContain('base 0.000025')
    expect(text).toContain('markup 0.000003125')
  })

  it('suspends an account after a dialog that explains the effect, and resumes it', async () => {
    await visitPage('Accounts')
    const button = page.getByRole('button', { name: 'Suspend carol' })
    await confirm(button, 'Suspend carol?', 'Within a second, every key and access token', 'Suspend it')
    await page.getByRole('row', { name: /carol/ }).getByText('suspended').waitFor()
    const resume = page.getByRole('button', { name: 'Resume carol' })
    await confirm(resume, 'Resume carol?', 'work again', 'Resume it')
    await page.getByRole('button', { name: 'Suspend carol' }).waitFor()
  })

  it('revokes a key after a dialog that names it', async () => {
    const { token } = await visit.stage.admin.keys.issue({ account: 'carol', label: 'Lost phone' })
    await visitPage('Keys')
    const button = page.getByRole('button', { name: 'Revoke Lost phone' })
    await confirm(button, 'Revoke Lost phone?', 'for the account carol', 'Revoke it')
    await message('Revoked Lost phone.')
    const status = async () =>
      (
        await fetch(`${visit.stage.origin}/compat/v1/models`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).status
    await expect.poll(status, { timeout: 10_000 }).toBe(401)
  })

  it('sees the owner of a refused key', async () => {
    const { admin, origin, consoleUrl } = visit.stage
    const { token, credentialId } = await admin.keys.issue({ account: 'carol', label: 'Old laptop' })
    await admin.keys.revoke(credentialId)
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'with-a-revoked-key' }
    await fetch(`${origin}/compat/v1/chat/completions`, { method: 'POST', headers })
    await page.goto(`${consoleUrl}#/calls?view=problems&call=with-a-revoked-key`)
    const caller = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Request' }) })
    await expect.poll(() => caller.textContent()).toContain('carol')
    await caller.getByRole('link', { name: 'Old laptop' }).waitFor()
    expect(await caller.textContent()).toContain(credentialId.slice(0, 8))
    expect(await caller.textContent()).toContain('with-a-revoked-key')
    await page
      .getByRole('row', { name: /revoked_credential, 401.*carol/ })
      .first()
      .waitFor()
  })

  it('finds calls by their status, and sees their latency, key and app', async () => {
    const { admin, origin, consoleUrl } = visit.stage
    const { token } = await admin.keys.issue({ account: 'carol', label: 'Night job' })
    await fetch(`${origin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/none', messages: [{ role: 'user', content: 'Hi' }] }),
    })
    await expect.poll(async () => (await admin.calls.list({ status: 404 })).calls.length).toBeGreaterThan(0)
    await page.goto(`${consoleUrl}#/calls?view=problems`)
    const row = page.getByRole('row', { name: /model_not_found, 404.*acme\/none.*carol.*Night job.* ms/ })
    await row.first().waitFor()
    await unfoldFilters(page)
    await page.getByLabel('Status').fill('418')
    await page.getByLabel('Status').press('Enter')
    await page.getByText('No call matches these filters.').waitFor()
    await page.getByLabel('Status').fill('404')
    await page.getByLabel('Status').press('Enter')
    await row.first().waitFor()
    const csv = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')
    expect(csv).toBe('api/calls.csv?status=404&problems=true')
    await page.goto(`${consoleUrl}#/keys?account=carol&shown=all`)
    await page.getByRole('row', { name: /Night job.*carol.*\d\d:\d\d:00.*0.*in use/ }).waitFor()
  })

  it('pages through many keys', async () => {
    for (let number = 0; number < 51; number++) {
      await visit.stage.admin.keys.issue({ account: 'carol', label: `Till ${number}` })
    }
    await page.goto(`${visit.stage.consoleUrl}#/keys?account=carol`)
    const rows = page.getByRole('table').getByText(/^Till \d+/)
    await expect.poll(() => rows.count()).toBe(50)
    const first = await rows.allTextContents()
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => rows.count()).toBe(1)
    expect(first).not.toContain(await rows.first().textContent())
    await page.getByRole('button', { name: 'Previous' }).click()
    await expect.poll(() => rows.allTextContents()).toEqual(first)
  })

  it('removes a model after a dialog that names it', async () => {
    await visitPage('Models')
    const button = page.getByRole('button', { name: 'Remove acme/new' })
    await confirm(button, /Remove acme\/new from the catalogue/, 'answered with 404', 'Remove it')
    await message('Removed acme/new.')
    expect((await visit.stage.admin.models.list()).map(({ id }) => id)).not.toContain('acme/new')
  })

  it('verifies the books', async () => {
    await visitPage('Books')
    await page.getByRole('button', { name: 'Verify the books' }).click()
    await page.getByText('The books are sound.').waitFor()
    expect(visit.complaints).toEqual([])
  })
})
