import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openVisit, say, streamOf, unfoldFilters, type Visit } from './visit.js'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await openVisit()
  page = await visit.open('operator', 'playground', {
    timezoneId: 'Pacific/Auckland',
    viewport: { width: 1280, height: 620 },
  })
}, 180_000)

afterAll(() => visit?.close())

const visitPage = async (name: string): Promise<void> => {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Goes through another page: if the page is shown already, nothing reveals when its link was followed. */
async function openPlayground(): Promise<void> {
  await visitPage('Spend')
  await visitPage('Playground')
}

const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent')

/** Fills in the form of a route; its one request is answered with an error. */
async function putRoute(status: number, error: object): Promise<void> {
  await page.route('**/api/routes/put', (route) => route.fulfill({ status, json: { error } }), { times: 1 })
  await page.getByRole('button', { name: 'Add a route' }).click()
  const form = page.getByRole('dialog')
  expect(await form.getByLabel('Settings, as JSON').inputValue()).toBe('')
  for (const label of ['Id', 'Model', 'Provider', "The provider's name for the model"]) {
    await form.getByLabel(`${label} (required)`, { exact: true }).fill('acme')
  }
  await form.getByRole('button', { name: 'Add it' }).click()
}

/** Whether the element is visible without scrolling. */
const isInView = (selector: string): Promise<boolean> =>
  page.evaluate(
    `(() => { const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return top >= 0 && bottom <= innerHeight })()`,
  )

describe('a dialog with a problem in the console', { timeout: 120_000 }, () => {
  it('brings a general problem into view and focuses it', async () => {
    await visitPage('Routes')
    await putRoute(500, { message: 'The database is away' })
    await page.getByRole('alert').getByText('The database is away').waitFor()
    await expect.poll(() => isInView('dialog .notice')).toBe(true)
    expect(await focused()).toContain('The database is away')
    await page.keyboard.press('Escape')
  })

  it('focuses the field at fault, even if the error names a member of it', async () => {
    await putRoute(400, { message: 'Not a URL', field: 'settings.baseUrl' })
    const field = page.getByRole('dialog').getByLabel('Settings, as JSON')
    await page.getByRole('dialog').getByText('Not a URL').waitFor()
    await expect.poll(() => field.evaluate((element) => element.matches(':focus'))).toBe(true)
    expect(await isInView('dialog [aria-invalid=true]')).toBe(true)
    await page.keyboard.press('Escape')
  })
})

describe('the playground page', { timeout: 120_000 }, () => {
  it('shows neither account nor balance for a pasted token, whose account only the router knows', async () => {
    const { token, credentialId } = await visit.stage.admin.keys.issue({
      account: 'bob',
      label: 'Laptop of Bob',
    })
    await visitPage('Playground')
    await page.getByText('Balance of alice').waitFor()
    await page.getByLabel('Acts through').selectOption('a token that I paste')
    await page.getByText("The token's account pays").waitFor()
    expect(await page.getByLabel('Account that pays').count()).toBe(0)
    expect(await page.getByText(/^Balance of/).count()).toBe(0)
    await page.getByLabel('Token', { exact: true }).fill(token)
    visit.upstream.scriptOnce(streamOf(['Hello, Bob.']))
    await say(page, 'Hello')
    await page.getByRole('link', { name: 'Find it in Calls' }).click()
    await page.getByRole('heading', { name: 'Calls', level: 1 }).waitFor()
    const opened = page.locator('tr.is-open')
    await opened.getByRole('cell', { name: 'bob', exact: true }).waitFor()
    expect(await page.getByLabel('Account', { exact: true }).inputValue()).toBe('')
    await page.getByRole('link', { name: 'Laptop of Bob' }).waitFor()
    await page.getByText('Unit prices').waitFor()
    await page.getByRole('link', { name: 'Calls with this key' }).click()
    await expect.poll(() => page.getByLabel('Key id').inputValue()).toBe(credentialId)
    await expect.poll(() => page.locator('tbody > tr[data-row]').count()).toBe(1)
  })

  it('shows that a call failed, and shows the error once', async () => {
    await visitPage('Playground')
    await page.getByLabel('Acts through').selectOption('a token that I paste')
    await page.getByLabel('Token', { exact: true }).fill('sk-unknown')
    await say(page, 'Hello')
    const turn = page.locator('.turn').last()
    await turn.getByRole('heading', { name: 'The call failed' }).waitFor()
    expect(await turn.getByRole('heading', { name: 'Model' }).count()).toBe(0)
    expect(await turn.getByText('invalid_api_key').count()).toBe(1)
  })

  it('explains why Enter sends nothing if there is no account to pay', async () => {
    await openPlayground()
    await page.getByLabel('Acts through').selectOption('a token that I paste')
    await page.getByLabel('Token', { exact: true }).fill('')
    await page.getByLabel('Message').fill('Hello')
    await page.getByLabel('Message').press('Enter')
    await page.getByRole('alert').getByText('In token: Paste a token first.').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('Hello')
  })

  it('sends nothing with an abbreviated token that was copied from a list', async () => {
    await openPlayground()
    await page.getByLabel('Acts through').selectOption('a token that I paste')
    await page.getByLabel('Token', { exact: true }).fill('sk-cr-abcd…wxyz')
    const turns = await page.locator('.turn').count()
    await say(page, 'Hello')
    await page.getByRole('alert').getByText('This is not a complete token').waitFor()
    expect(await page.locator('.turn').count()).toBe(turns)
  })

  it('says in its samples that an app needs an access token', async () => {
    await openPlayground()
    await page.getByLabel('Acts through').selectOption('the app Notes (notes)')
    for (const name of ['curl', 'TypeScript', 'Python']) {
      await page.getByRole('button', { name, exact: true }).click()
      const sample = page.getByRole('textbox', { name: /^The call as/ })
      await expect
        .poll(() => sample.inputValue())
        .toContain('COMPAT_API_KEY is an access token for the app Notes\n')
    }
  })

  it('shows the full text of the credential choice that the call uses', async () => {
    await page.goto(`${visit.stage.consoleUrl}#/playground`)
    const select = page.getByLabel('Acts through')
    await select.selectOption('an API key of the account')
    const wanted: number = await page.evaluate(`(() => {
      const select = document.querySelector('.roles select[name=app]')
      const free = select.cloneNode(true)
      Object.assign(free.style, { position: 'absolute', width: 'auto' })
      select.parentElement.append(free)
      const { width } = free.getBoundingClientRect()
      free.remove()
      return width
    })()`)
    expect((await select.boundingBox())!.width).toBeGreaterThanOrEqual(wanted)
  })

  it('does not change a disabled button under the mouse', async () => {
    await page.getByLabel('Message').fill('')
    const send = page.getByRole('button', { name: 'Send', exact: true })
    const look = () =>
      page.evaluate(`(() => {
      const { color, backgroundColor } = getComputedStyle(document.querySelector('.composer [type=submit]'))
      return [color, backgroundColor]
    })()`)
    const before = await look()
    await send.hover({ force: true })
    expect(await send.evaluate((element) => element.matches(':hover:disabled'))).toBe(true)
    expect(await look()).toEqual(before)
  })

  it('marks a suspended account and does not offer it first', async () => {
    await visit.stage.admin.accounts.suspend('alice')
    await openPlayground()
    await page.getByText('Balance of bob').waitFor()
    await page.getByRole('option', { name: 'alice (suspended)' }).waitFor({ state: 'attached' })
    await visit.stage.admin.accounts.resume('alice')
  })
})

describe("the console's pages", { timeout: 120_000 }, () => {
  it('show times in UTC wherever the reader is, like the days of filters', async () => {
    await visitPage('Calls')
    await page.getByText('Times and days are in UTC').waitFor()
    const time = page.locator('tbody time').first()
    const [iso, text] = [await time.getAttribute('datetime'), await time.textContent()]
    expect(text).toContain(iso!.slice(11, 19))
  })

  it.each([
    { name: 'Models', label: 'Model', part: 'FAST', row: 'acme/fast' },
    { name: 'Apps', label: 'App', part: 'ote', row: 'notes' },
  ])('find a row of $name by part of its name or id', async ({ name, label, part, row }) => {
    await visitPage(name)
    const filter = page.getByLabel(label, { exact: true })
    await filter.fill(part)
    await filter.press('Enter')
    // Waits until it is applied: text that is typed before would be replaced with the value in the address.
    await page.getByRole('button', { name: 'Clear filters' }).waitFor()
    await expect.poll(() => page.locator('tbody > tr[data-row]').count()).toBe(1)
    expect(await page.locator('tbody > tr').getAttribute('data-row')).toBe(row)
    await filter.fill('no such one')
    await filter.press('Enter')
    await page.getByText(`No ${label.toLowerCase()} matches this filter.`).waitFor()
  })

  it('link to a call that is no longer on the first page', async () => {
    const { token } = await visit.stage.admin.keys.issue({ account: 'bob' })
    for (let number = 0; number < 60; number++) {
      visit.upstream.scriptOnce(streamOf(['Hello']))
      const sent = await fetch(`${visit.stage.origin}/compat/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'x-request-id': `call-${number}`,
        },
        body: JSON.stringify({
          model: 'acme/fast',
          stream: true,
          messages: [{ role: 'user', content: 'Hi' }],
        }),
      })
      await sent.text()
    }
    await visitPage('Calls')
    await unfoldFilters(page)
    const request = page.getByLabel('Request id')
    await request.fill('call-3')
    await request.press('Enter')
    await page.locator('tr.is-open').waitFor()
    expect(await page.locator('.facts').getByText('call-3', { exact: true }).count()).toBe(1)
    expect(await page.locator('tbody > tr[data-row]').count()).toBe(1)
    await page.getByRole('button', { name: 'Recent events' }).click()
    await page.getByRole('table', { name: /^Events/ }).waitFor()
    expect(await page.locator('tbody > tr[data-row]').count()).toBe(1)
    await page.getByRole('button', { name: 'Ledger', exact: true }).click()
    await page.getByRole('table', { name: /^Entries/ }).waitFor()
    await request.fill('call-')
    await request.press('Enter')
    await page.getByText('Nothing was charged for this request').waitFor()
    await page.getByRole('link', { name: 'how it went' }).click()
    await page.getByText('No call matches these filters.').waitFor()
  })

  it('draw commas between thousands, and copy the exact digits', async () => {
    await visit.stage.admin.accounts.credit({ account: 'rich', amount: '9223372.0365' })
    await visitPage('Accounts')
    const row = page.getByRole('row', { name: /^rich/ })
    expect(await row.getByRole('cell').first().textContent()).toBe('9223372.036500')
    expect(await row.getByRole('cell').first().locator('.amount-thousand').count()).toBe(2)
  })

  it('move the focus to the next row when a row is removed, and to the heading after the last', async () => {
    const account = 'rows'
    await visit.stage.admin.accounts.credit({ account, amount: '1' })
    for (const label of ['Third', 'Second', 'First']) await visit.stage.admin.keys.issue({ account, label })
    await page.goto(`${visit.stage.consoleUrl}#/keys?account=${account}`)
    const revoke = async (label: string): Promise<void> => {
      await page.getByRole('button', { name: `Revoke ${label}` }).press('Enter')
      await page.getByRole('button', { name: 'Revoke it' }).press('Enter')
      await page.getByRole('button', { name: `Revoke ${label}` }).waitFor({ state: 'detached' })
    }
    await page.getByRole('button', { name: 'Revoke Third' }).waitFor()
    const labels = await page.getByRole('button', { name: /^Revoke / }).allTextContents()
    expect(labels).toHaveLength(3)
    const names = labels.map((text) => text.replace('Revoke ', ''))
    await revoke(names[1]!)
    await expect.poll(focused).toBe(`Set a limit for ${names[2]}`)
    await revoke(names[2]!)
    await expect.poll(focused).toBe(`Set a limit for ${names[0]}`)
    await revoke(names[0]!)
    await expect.poll(focused).toBe('Keys')
    expect(visit.complaints).toEqual([])
  })

  it('distinguish holds of calls elsewhere from calls in flight here', async () => {
    const freedAt = Date.UTC(2026, 0, 31, 12, 30)
    const inFlight = [
      { requestId: 'here', startedAt: freedAt - 1_000, isHere: true, account: 'alice' },
      { requestId: 'elsewhere', isHere: false, account: 'bob', holdAmount: '0.5', freedAt },
    ]
    await page.route('**/api/live', (route) =>
      route.fulfill({ json: { at: freedAt, inFlight, isCut: false, routes: [] } }),
    )
    await visitPage('Live')
    await page.getByRole('heading', { name: 'In flight here: 1' }).waitFor()
    const held = page.getByRole('table', { name: /^Held by calls in other processes/ }).locator('tbody tr')
    expect(await held.allTextContents()).toEqual(['elsewherebob–0.50000031 Jan 2026, 12:30:00'])
    await page.unroute('**/api/live')
  })

  it('show beside a route why it cannot be used', async () => {
    const [route] = await visit.stage.admin.routes.list()
    const cannotBeUsed = 'Its adapter is not one of the host.'
    await page.route('**/api/routes', (asked) =>
      asked.fulfill({ json: { routes: [{ ...route, settings: {}, cannotBeUsed }] } }),
    )
    await visitPage('Routes')
    await page.getByText(cannotBeUsed).waitFor()
    await page.getByText('cannot be used', { exact: true }).waitFor()
    await page.unroute('**/api/routes')
  })

  it('keep an error in its own cell on a narrow screen', async () => {
    await fetch(`${visit.stage.origin}/compat/v1/chat/completions`, { method: 'POST' })
    const narrow = await visit.open('operator', 'calls?view=problems', {
      viewport: { width: 360, height: 700 },
    })
    const badge = narrow.locator('td .badge.bad').first()
    await badge.waitFor()
    const inner = (await badge.boundingBox())!
    const outer = (await narrow.locator('td:has(.badge.bad)').first().boundingBox())!
    expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width)
    await narrow.context().close()
  })

  it('show how to sign in as information, without a status', async () => {
    const stranger = await visit.open(undefined, 'spend')
    await stranger.getByText('You are not signed in.').waitFor()
    await stranger.getByText('Sign in to this service, then open the console again.').waitFor()
    expect(await stranger.getByText(/sign-in link/).count()).toBe(0)
    expect(await stranger.getByText(/Status 401/).count()).toBe(0)
    expect(await stranger.getByRole('alert').count()).toBe(0)
    await stranger.context().close()
  })
})

describe('console data that is still loading', { timeout: 120_000 }, () => {
  /** Delays the replies of one path until the returned function is called. */
  async function holdBack(held: Page, path: string): Promise<() => void> {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await held.route(`**/${path}`, async (route) => {
      await released
      await route.continue()
    })
    return release
  }

  it('cannot be missing from an app: its form opens once the models are known', async () => {
    const waiting = await visit.open('operator', 'spend')
    const release = await holdBack(waiting, 'api/models')
    await waiting.getByRole('link', { name: 'Apps', exact: true }).click()
    await waiting.getByRole('table', { name: 'Apps' }).waitFor()
    const register = waiting.getByRole('button', { name: 'Register an app' })
    expect(await register.isDisabled()).toBe(true)
    expect(await waiting.getByRole('button', { name: 'Change Notes' }).isDisabled()).toBe(true)
    release()
    await register.click()
    const models = waiting.getByRole('dialog').getByRole('checkbox')
    expect(await models.count()).toBeGreaterThan(0)
    expect(await Promise.all((await models.all()).map((model) => model.isChecked()))).not.toContain(false)
    await waiting.context().close()
  })

  it('cannot be missing from a route: its form opens once the adapters are known', async () => {
    const waiting = await visit.open('operator', 'spend')
    const release = await holdBack(waiting, 'api/routes')
    await waiting.getByRole('link', { name: 'Routes', exact: true }).click()
    const add = waiting.getByRole('button', { name: 'Add a route' })
    expect(await add.isDisabled()).toBe(true)
    release()
    await add.click()
    expect(await waiting.getByRole('dialog').locator('[name=adapter]').inputValue()).toBe('openai')
    await waiting.context().close()
  })

  it('cannot change who pays: no call is sent through an app before the apps are known', async () => {
    const waiting = await visit.open('operator', 'spend')
    const release = await holdBack(waiting, 'api/apps?*')
    await waiting.goto(`${visit.stage.consoleUrl}#/playground?account=alice&app=notes`)
    await waiting.getByLabel('Message').fill('Hello')
    const send = waiting.getByRole('button', { name: 'Send', exact: true })
    expect(await send.isDisabled()).toBe(true)
    visit.upstream.script(streamOf(['Hi']))
    release()
    await send.click()
    await waiting.locator('[data-cost]').waitFor()
    expect(await waiting.locator('.cost').textContent()).toContain('markup')
    await waiting.context().close()
  })

  it('leads to an error if the apps cannot be loaded, and calls can be sent once they are', async () => {
    const failing = await visit.open('operator', 'spend')
    await failing.route('**/api/apps?*', (route) =>
      route.fulfill({ status: 500, json: { error: { message: 'The database is away' } } }),
    )
    await failing.goto(`${visit.stage.consoleUrl}#/playground?account=alice&app=notes`)
    await failing.getByLabel('Message').fill('Hello')
    await failing.getByRole('alert').getByText('The database is away').waitFor()
    const send = failing.getByRole('button', { name: 'Send', exact: true })
    expect(await send.isDisabled()).toBe(true)
    await failing.unroute('**/api/apps?*')
    await failing.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => send.isDisabled()).toBe(false)
    await failing.context().close()
  })

  it("leads to an error if an app's models cannot be loaded", async () => {
    const failing = await visit.open('operator', 'spend')
    await failing.route('**/api/models', (route) =>
      route.fulfill({ status: 500, json: { error: { message: 'The database is away' } } }),
    )
    await failing.getByRole('link', { name: 'Apps', exact: true }).click()
    await failing.getByRole('alert').getByText('The database is away').waitFor()
    await failing.unroute('**/api/models')
    await failing.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => failing.getByRole('button', { name: 'Register an app' }).isDisabled()).toBe(false)
    await failing.context().close()
  })
})

describe('the console form that replaces a token', { timeout: 120_000 }, () => {
  it.each([
    ['alice', 'Not later than that of the previous token.'],
    ['operator', 'Never expires if this is empty.'],
  ])('tells %s when the new token expires', async (viewer, hint) => {
    const expiresAt = Date.now() + 3_600_000
    await visit.stage.admin.keys.issue({ account: 'alice', label: `trial of ${viewer}`, expiresAt })
    const keys = await visit.open(viewer, 'keys')
    await keys.getByRole('button', { name: `Replace trial of ${viewer}` }).click()
    await keys.getByRole('dialog').getByText(hint).waitFor()
    await keys.context().close()
  })
})

describe('a reply that does not come from this console', { timeout: 120_000 }, () => {
  const elsewhere = 'Something other than the console answered'

  it.each([
    ['me', 'spend', '{}', elsewhere],
    ['me', 'spend', 'null', elsewhere],
    ['me', 'spend', '{ "viewer": null }', "This page cannot show the server's reply."],
    ['reports/spend-over-time', 'spend', '[]', elsewhere],
    ['entries', 'calls', '{ "error": "sign in" }', elsewhere],
    ['entries', 'calls', '{ "entries": {} }', "This page cannot show the server's reply."],
    ['keys', 'keys', '"up"', elsewhere],
    ['live', 'live', '{ "inFlight": null }', "This page cannot show the server's reply."],
    ['models', 'models', '7', elsewhere],
  ])('is recognised: api/%s on the page %s, %s', async (path, name, body, said) => {
    const page = await visit.open('operator', 'keys')
    await page.route(`**/api/${path}**`, (route) => route.fulfill({ contentType: 'application/json', body }))
    await page.goto(`${visit.stage.consoleUrl}#/${name}`)
    await page.reload()
    await page.getByRole('alert').getByText(said).waitFor()
    expect(await page.getByRole('progressbar').count()).toBe(0)
    await page.unroute(`**/api/${path}**`)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { level: 1, name, exact: false }).waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.context().close()
  })

  it('leaves a form unchanged, and is not reported as success', async () => {
    const page = await visit.open('operator', 'accounts')
    await page.route('**/api/accounts/credit', (route) => route.fulfill({ json: {} }))
    await page.getByRole('button', { name: 'Credit to alice' }).click()
    const form = page.getByRole('dialog')
    await form.locator('[name=amount]').fill('3')
    await form.locator('[type=submit]').click()
    await form.getByText(elsewhere).waitFor()
    expect(await form.locator('[name=amount]').inputValue()).toBe('3')
    await page.context().close()
  })
})

describe('a new access token in the console', { timeout: 120_000 }, () => {
  it('is for a chosen app, which can be told from another with the same name', async () => {
    const { admin } = visit.stage
    await admin.apps.put({ id: 'notes-2', name: 'Notes', markup: { basisPoints: 9_000 }, allowedModels: [] })
    await visitPage('Keys')
    await page.getByRole('button', { name: 'New access token' }).click()
    const form = page.getByRole('dialog')
    const app = form.getByLabel('App (required)')
    await expect
      .poll(() => app.locator('option').allTextContents())
      .toEqual(['Choose one', 'Notes (notes)', 'Notes (notes-2)'])
    await form.getByLabel('Account that pays (required)').fill('bob')
    await form.getByLabel('Label').fill('Chosen')
    await form.getByRole('button', { name: 'Make the token' }).click()
    await expect.poll(() => app.evaluate((element) => element.matches(':focus:invalid'))).toBe(true)
    await app.selectOption('Notes (notes)')
    await form.getByRole('button', { name: 'Make the token' }).click()
    await page.locator('[data-secret]').waitFor()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const made = await admin.keys.list({ account: 'bob' })
    expect(made.filter(({ label }) => label === 'Chosen')).toMatchObject([{ appId: 'notes' }])
  })
})
