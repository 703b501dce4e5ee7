import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createConsole, oneTimeSignIn } from 'compat-router/console'
import express from 'express'
import type { Browser } from 'playwright-core'
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

describe('a one-time link', { timeout: 120_000 }, () => {
  it.each([
    ['where the console is', '/console'],
    ['where a proxy has put the console', '/ops'],
    ['where a proxy has put the console deep down', '/tools/of/ops'],
  ])('signs in and out %s', async (_, seen) => {
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
      await page.getByRole('heading', { name: 'Playground' }).waitFor()
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

describe('a page that is looked at again', { timeout: 120_000 }, () => {
  const lookAgain = "document.dispatchEvent(new Event('visibilitychange'))"

  it('keeps what is on it where the viewer is the same, and nothing for another', async () => {
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
