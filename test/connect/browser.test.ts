import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen, openBrowser, violations } from '../console/browser/visit.js'
import { NOTES, openStage, type Stage } from './stage.js'
import { authorizeUrl, createPkce, exchange, type Tokens } from './user-agent.js'

let browser: Browser
let stage: Stage
/** The app: a page on a port of its own, which shows what it was sent. */
let app: Server
let callback = ''
const complaints: string[] = []

/** A picture of one pixel. */
const LOGO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

beforeAll(async () => {
  browser = await openBrowser()
  stage = await openStage({
    connect: {
      host: { name: 'Acme', logo: LOGO, home: 'https://acme.example/', support: 'https://acme.example/help' },
      cap: { suggested: '5', max: '50' },
    },
  })
  app = createServer((req, res) => {
    res.writeHead(200, { 'content-type': 'text/html' })
    res.end(
      `<!doctype html><html lang="en"><title>Notes</title><p id="sent">${req.url!.replace(/[<&]/g, '')}</p>`,
    )
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  callback = `http://127.0.0.1:${(app.address() as AddressInfo).port}/cb`
  await stage.admin.apps.putLogo(NOTES.id, LOGO)
})
afterAll(async () => {
  await browser?.close()
  app?.close()
  await stage?.close()
  expect(complaints).toEqual([])
})

async function open(address: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  const page = await context.newPage()
  listen(page, complaints)
  await page.goto(address)
  return page
}

const askFor = (pkce = createPkce(), more: Record<string, string | undefined> = {}): string =>
  authorizeUrl(stage, pkce, { redirect_uri: callback, ...more })

describe('in a browser, Connect', { timeout: 120_000 }, () => {
  const modes = [360, 1280].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
  )

  it.each(modes)(
    'has pages without axe violations: $width px, $colorScheme',
    async ({ width, colorScheme }) => {
      const page = await open(askFor(), { viewport: { width, height: 740 }, colorScheme })
      await page.getByRole('heading', { name: 'Connect Notes?' }).waitFor()
      expect(await violations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      const pictures = await page.evaluate('[...document.images].map((image) => image.naturalWidth)')
      expect(pictures).toEqual([1, 1])
      await page.getByLabel('The most it may spend').fill('none')
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByText('Write an amount of credits in digits').waitFor()
      expect(await violations(page)).toEqual([])
      await page.goto(askFor(createPkce(), { client_id: 'nobody' }))
      await page.getByRole('heading', { name: 'Unknown app' }).waitFor()
      expect(await violations(page)).toEqual([])
      await page.context().close()
    },
  )

  it('lets a user sign in, set a cap by keyboard, allow the app, and return to it', async () => {
    const pkce = createPkce()
    const page = await open(askFor(pkce))
    await page.getByText('Signed in as Alice').waitFor()
    await page.getByLabel('The most it may spend').focus()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('2.5')
    await page.keyboard.press('Tab')
    await page.keyboard.type('in 30')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Allow')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${callback}?**`)
    const sent = new URL(page.url()).searchParams
    expect(sent.get('iss')).toBe(stage.issuer)
    const response = await exchange(stage, { code: sent.get('code')!, pkce, redirectUri: callback })
    expect(((await response.json()) as Tokens).access_token).toMatch(/^at-cr-/)
    const grant = await stage.stores.connect.findConnectedApp('alice', 'notes')
    expect(grant?.cap?.amount).toBe(2_500_000_000n)
    expect((grant!.endsAt! - Date.now()) / 86_400_000).toBeCloseTo(30, 1)
    await page.context().close()
  })

  it('works without scripts, and lets the user decline', async () => {
    const page = await open(askFor(), { javaScriptEnabled: false })
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.waitForURL(`${callback}?**`)
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied')
    await page.goto(askFor())
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`${callback}?**`)
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/^[\w-]{43}$/)
    await page.context().close()
  })

  it('redirects freely to an https page of the app, and skips the consent page on the second visit', async () => {
    const page = await open(authorizeUrl(stage, createPkce(), { prompt: 'consent' }))
    // There is no such page: the browser only has to ask for it.
    const asked = page.waitForRequest((request) => request.url().startsWith('https://notes.example/cb?code='))
    await page.getByRole('button', { name: 'Allow' }).click()
    await asked
    const straight = page.waitForRequest((request) =>
      request.url().startsWith('https://notes.example/cb?code='),
    )
    await page.goto(authorizeUrl(stage, createPkce())).catch(() => undefined)
    await straight
    await page.context().close()
  })

  it('also redirects freely to a program that listens on IPv6', async (context) => {
    const program = createServer((_, res) => res.end('Done')).listen(0, '::1')
    const [failed] = await Promise.race([
      once(program, 'listening').then(() => [undefined]),
      once(program, 'error') as Promise<Error[]>,
    ])
    if (failed !== undefined) context.skip('This machine has no IPv6.')
    const target = `http://[::1]:${(program.address() as AddressInfo).port}/cb`
    await stage.changeApp({ redirectUris: [...NOTES.redirectUris!, 'http://[::1]/cb'] })
    const page = await open(askFor(createPkce(), { redirect_uri: target }))
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`${target}?**`)
    await page.context().close()
    program.closeAllConnections()
    program.close()
  })

  it('does not let another page frame the consent page', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(callback)
    const framed = page.waitForResponse((response) => response.url().includes('/connect/'))
    await page.evaluate(`(() => {
      const frame = document.createElement('iframe')
      frame.src = ${JSON.stringify(`${stage.issuer}/ask/x`)}
      document.body.append(frame)
    })()`)
    await framed
    await expect.poll(() => page.frames().at(-1)?.url()).toMatch(/^chrome-error:/)
    await context.close()
  })
})
