import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../../test/helpers/axe.js'
import { launchChromium, unpackChromium } from '../../test/helpers/chromium.js'
import { type Site, serveSite } from './serve-site.js'

const output = fileURLToPath(new URL('../.vitepress/dist', import.meta.url))
const names = readdirSync(output, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.html'),
)
const pages = names.filter((name) => name !== '404.html' && !name.startsWith('api/'))
const apiPages = [
  ...['api/index.html', 'api/envelope.html', 'api/admin.html'],
  ...['api/createCompatRouter.html', 'api/openaiCompatible.html'],
]

/** Rules that the search box of VitePress breaks: its results are options that contain links. */
const OF_THE_SEARCH_BOX = ['nested-interactive', 'label-content-name-mismatch']

const RESULTS = '.VPLocalSearchBox a.result'

let folder: string
let browser: Browser
let site: Site
const complaints: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compat-router-docs-'))
  await unpackChromium(folder)
  browser = await launchChromium(folder)
  site = await serveSite(output)
})

afterAll(async () => {
  await browser?.close()
  await site?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${page.url()}: ${message.text()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${page.url()}: ${response.status()} ${response.url()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(site.url) && !request.url().startsWith('data:')) {
      complaints.push(`${page.url()}: loads ${request.url()}`)
    }
  })
  await go(page, path)
  return page
}

async function go(page: Page, path: string): Promise<void> {
  await page.goto(`${site.url}/${path}`)
  await page.locator('h1').first().waitFor()
}

const hrefs = (page: Page, selector: string): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('${selector}')].map((link) => link.getAttribute('href'))`)

/** Types words into the search box. */
async function search(page: Page, words: string): Promise<void> {
  const button = page.getByRole('button', { name: /search/i })
  await button.first().click()
  await page.locator('#localsearch-input').fill(words)
}

/** Types words into the search box, and returns the addresses of what it finds. */
async function found(page: Page, words: string): Promise<string[]> {
  await search(page, words)
  await page.locator(RESULTS).first().waitFor()
  return hrefs(page, RESULTS)
}

describe('search', () => {
  const cases = [
    ['budget', 'limits.html'],
    ['rate limit', 'limits.html'],
    ['refund', 'top-ups.html'],
    ['fallback', 'routes.html'],
    ['top-up', 'top-ups.html'],
    ['virtual key', 'migrate-from-litellm.html'],
    ['idempotency', 'idempotency.html'],
    ['fastify', 'api/fastify.html'],
    ['backup', 'stores.html'],
    ['streaming', 'features.html'],
    ['vision', 'features.html'],
    ['tool calling', 'features.html'],
    ['structured output', 'features.html'],
    ['azure', 'providers.html'],
    ['ollama', 'providers.html'],
    ['bedrock', 'providers.html'],
    ['vertex', 'providers.html'],
    ['docker', 'deploy.html'],
    ['environment variables', 'deploy.html'],
    ['logging', 'deploy.html'],
    ['windows', 'deploy.html'],
    ['subscription', 'plans.html'],
    ['free trial', 'plans.html'],
    ['team', 'plans.html'],
    ['bun', 'frameworks.html'],
    ['deno', 'frameworks.html'],
    ['memoryCatalogue', 'models.html'],
    ['memoryCatalogue', 'api/memoryCatalogue.html'],
    ['parseCredits', 'api/parseCredits.html'],
    ['insufficient_credits', 'errors.html'],
    ['OAuth', 'connect.html'],
  ]

  it.each(cases)('finds %s on %s', async (words, expected) => {
    const page = await open('')
    const links = await found(page, words)
    expect(links.slice(0, 5).map((link) => link.split('#')[0])).toContain(`/${expected}`)
    await page.locator(RESULTS).first().click()
    await page.locator('h1').first().waitFor()
    await page.context().close()
  })

  it('finds guides before the pages of the API, but first the page of a function by its name', async () => {
    const isFirstOfApi = async (words: string) => {
      const page = await open('')
      const [first] = await found(page, words)
      await page.context().close()
      return first?.startsWith('/api/')
    }
    expect(await isFirstOfApi('credentials')).toBe(false)
    expect(await isFirstOfApi('createCompatRouter')).toBe(true)
    expect(await isFirstOfApi('StoredRouterOptions')).toBe(true)
  })
})

describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
  it('axe finds no violation on any page', async () => {
    const page = await open('', { colorScheme })
    expect(await page.evaluate('document.documentElement.classList.contains("dark")')).toBe(
      colorScheme === 'dark',
    )
    const found: string[] = []
    for (const path of [...pages, ...apiPages]) {
      await go(page, path)
      found.push(...(await violations(page)).map((violation) => `${path}: ${violation}`))
    }
    expect(found).toEqual([])
    await page.context().close()
  })

  it('axe finds no violation in the search or in the menu of a narrow screen', async () => {
    const page = await open('', { colorScheme, viewport: { width: 360, height: 740 } })
    await page.locator('.VPNavBarHamburger').click()
    expect(await violations(page)).toEqual([])
    await page.locator('.VPNavBarHamburger').click()
    await found(page, 'budget')
    const breaches = await violations(page)
    expect(
      breaches.filter((violation) => !OF_THE_SEARCH_BOX.some((rule) => violation.startsWith(rule))),
    ).toEqual([])
    await page.context().close()
  })
})

it('no page needs sideways scrolling at 360 px', async () => {
  const page = await open('', { viewport: { width: 360, height: 740 } })
  const wide: string[] = []
  for (const path of [...pages, ...apiPages]) {
    await go(page, path)
    if ((await page.evaluate<number>('document.documentElement.scrollWidth')) > 360) wide.push(path)
  }
  expect(wide).toEqual([])
  await page.context().close()
})

it('each page is in the sidebar', async () => {
  const page = await open('try.html', { viewport: { width: 1280, height: 900 } })
  const links = await hrefs(page, '.VPSidebar a')
  const listed = new Set(links.map((link) => link.slice(1)))
  expect(pages.filter((name) => name !== 'index.html' && !listed.has(name))).toEqual([])
  await page.context().close()
})

it('llms.txt lists each page as Markdown, which is there', async () => {
  const text = await readFile(join(output, 'llms.txt'), 'utf8')
  const links = [...text.matchAll(/\]\((\/[^)]+)\)/g)].map(([, link]) => link!)
  expect(links.length).toBeGreaterThan(30)
  expect(links.filter((link) => !existsSync(join(output, link)))).toEqual([])
  const unlisted = pages.filter(
    (name) => name !== 'index.html' && !links.includes(`/${name.replace('.html', '.md')}`),
  )
  expect(unlisted).toEqual([])
})

it('no page failed to load anything, threw, or loaded anything from elsewhere', () => {
  expect(complaints).toEqual([])
})
