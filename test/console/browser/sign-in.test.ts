import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createConsole, oneTimeSignIn } from 'compat-router/console'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VIEWER_COOKIE } from './stage.js'
import { isOpen, openBrowser, openVisit, say, streamOf, type Visit } from './visit.js'

let visit: Visit
let browser: Browser

beforeAll(async () => {
  visit = await openVisit()
  browser = await openBrowser()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await visit?.close()
})

describe('a one-time link of the console', { timeout: 120_000 }, () => {
  it.each([
    ['the path of the console', '/console'],
    ['another path behind a proxy', '/ops'],
    ['a deeper path behind a proxy', '/tools/of/ops'],
  ])('signs in and out at %s', async (_, seen) => {
    const signIn = oneTimeSignIn()
    const { authorise } = signIn
    const app = express().use('/console', signIn, createConsole({ admin: visit.stage.admin, authorise }))
    const server = createServer((req, res) => {
      req.url = req.url!.replace(seen, '/console')
      app(req, res)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${seen}`
      const page = await (await browser.newContext()).newPage()
      await page.goto(signIn.link(address))
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      await page.reload()
      await isOpen(page)
      const cookies = async () => (await page.context().cookies()).map(({ path }) => path)
      expect(await cookies()).toEqual([seen])
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('You have signed out').waitFor()
      expect(await cookies()).toEqual([])
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})

const lookAgain = "document.dispatchEvent(new Event('visibilitychange'))"

describe('a console page that becomes visible again', { timeout: 120_000 }, () => {
  it('keeps its content for the same viewer, but for nobody else', async () => {
    const page = await visit.open('alice', 'playground')
    visit.upstream.scriptOnce(streamOf(['Hello, Alice.']))
    await say(page, 'Hello')
    const reply = page.locator('.said').filter({ hasText: 'Hello, Alice.' })
    await reply.waitFor()
    const asked = page.waitForResponse('**/api/me')
    await page.evaluate(lookAgain)
    await (await asked).finished()
    expect(await reply.count()).toBe(1)
    await page.context().addCookies([{ name: VIEWER_COOKIE, value: 'bob', url: visit.stage.origin }])
    await page.evaluate(lookAgain)
    await page.getByText('account bob').waitFor()
    await page.getByText('Balance of bob').waitFor()
    expect(await page.getByText(/Alice/i).count()).toBe(0)
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })
})

describe('a console session that ends while a page is open', { timeout: 120_000 }, () => {
  const ended = 'Your session has ended'
  const signIn = (page: Page, viewer: string) =>
    page.context().addCookies([{ name: VIEWER_COOKIE, value: viewer, url: visit.stage.origin }])

  /** Fills in a form and submits it after the session has ended. */
  async function sendTooLate(): Promise<Page> {
    const page = await visit.open('operator', 'keys')
    await page.getByRole('button', { name: 'New API key' }).click()
    const form = page.getByRole('dialog', { name: 'New API key' })
    // What the field suggests is asked for before the session ends.
    const suggested = page.waitForResponse(
      (response) => response.url().includes('api/accounts?') && response.url().includes('alice'),
    )
    await form.locator('[name=account]').fill('alice')
    await (await suggested).finished()
    await form.locator('[name=label]').fill('typed with care')
    await page.context().clearCookies()
    await form.getByRole('button', { name: 'Make the key' }).click()
    await page.getByRole('dialog', { name: ended }).getByText('Sign in to this service').waitFor()
    expect(await form.isVisible()).toBe(false)
    expect(await page.getByRole('heading', { name: 'Keys' }).isVisible()).toBe(false)
    return page
  }

  it('keeps a filled-in form, hidden until its viewer is back', async () => {
    const page = await sendTooLate()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('You are not signed in.').waitFor()
    await signIn(page, 'operator')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('dialog', { name: ended }).waitFor({ state: 'detached' })
    const form = page.getByRole('dialog', { name: 'New API key' })
    await form.getByRole('alert').getByText('nothing was read or changed').waitFor()
    expect(await form.locator('[name=label]').inputValue()).toBe('typed with care')
    await form.getByRole('button', { name: 'Make the key' }).click()
    await page.locator('[data-secret]').waitFor()
    expect(visit.complaints).toEqual([])
    await page.context().close()
  })

  it('shows nothing of the form to another viewer', async () => {
    const page = await sendTooLate()
    await signIn(page, 'bob')
    await page.evaluate(lookAgain)
    await page.getByText('account bob').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.context().close()
  })

  it('keeps a conversation, including the reply after which the balance could not be read', async () => {
    const page = await visit.open('alice', 'playground')
    visit.upstream.scriptOnce(streamOf(['The first.']))
    await page.getByText('Balance of alice').waitFor()
    const balanceAfter = page.waitForResponse('**/api/accounts?account=alice')
    await say(page, 'Hello')
    await page.locator('[data-cost]').waitFor()
    await balanceAfter
    await page.context().clearCookies()
    visit.upstream.scriptOnce(streamOf(['The second.']))
    await say(page, 'Go on')
    await page.getByRole('dialog', { name: ended }).waitFor()
    await signIn(page, 'alice')
    await page.evaluate(lookAgain)
    await page.getByText('The second.').waitFor()
    expect(await page.getByText('The first.').isVisible()).toBe(true)
    await page.context().close()
  })
})
