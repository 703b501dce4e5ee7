import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startStandIn } from '../../../src/testing/stand-in/stand-in.js'
import { launchChromium, unpackChromium } from '../../helpers/chromium.js'
import { simulateCalls, spreadOverDays } from './simulated-calls.js'
import { openStage, type Stage, VIEWER_COOKIE } from './stage.js'

/** `npm run pictures` takes the pictures of the documents; with `--all FOLDER`, every page in three widths, light and dark. */
const DOCS_FOLDER = 'docs/pictures'
const DEMO_KEY = 'sk-demo-upstream'
const PAGES = [
  'home',
  'playground',
  'spend',
  'spend?by=model',
  'calls',
  'calls?view=problems',
  'live',
  'keys',
  'accounts',
  'apps',
  'models',
  'routes',
  'books',
  'audit',
]

const DIALOGS = [
  ['routes', 'Add a route'],
  ['keys', /^Revoke/],
  ['accounts', /^Statement/],
] as const

async function main([flag, folder]: readonly string[]): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'compat-router-pictures-'))
  await unpackChromium(work)
  const upstream = await startStandIn({ apiKey: DEMO_KEY, models: ['fast', 'smart'], tokenDelayMs: 1 })
  const stage = await openStage({
    baseUrl: upstream.baseUrl,
    apiKey: DEMO_KEY,
    upstreamModels: ['fast', 'smart'],
  })
  const browser = await launchChromium(work)
  const open = async (width: number, height: number, colorScheme: 'light' | 'dark', scale: number) => {
    const context = await browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: scale,
      colorScheme,
      locale: 'en-GB',
      reducedMotion: 'reduce',
    })
    await context.addCookies([{ name: VIEWER_COOKIE, value: 'operator', url: stage.origin }])
    const page = await context.newPage()
    page.on('pageerror', (error) => process.stderr.write(`${error.stack}\n`))
    page.on('console', (message) => process.stderr.write(`${message.text()}\n`))
    return page
  }
  try {
    await fill(stage)
    if (flag === '--all' && folder !== undefined) {
      await mkdir(folder, { recursive: true })
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const width of [360, 768, 1280]) {
          const page = await open(width, 800, colorScheme, 1)
          for (const path of PAGES) {
            await show(page, stage, path)
            const name = `${path.replace(/\W+/g, '-')}-${width}-${colorScheme}.png`
            await page.screenshot({ path: join(folder, name), fullPage: true })
          }
          for (const [path, button] of DIALOGS) {
            await show(page, stage, path)
            await page.getByRole('button', { name: button }).first().click()
            await page.getByRole('dialog').waitFor()
            const name = `dialog-${path}-${width}-${colorScheme}.png`
            await page.screenshot({ path: join(folder, name) })
          }
          await page.context().close()
        }
      }
    } else {
      await mkdir(DOCS_FOLDER, { recursive: true })
      const page = await open(1280, 760, 'light', 2)
      await show(page, stage, 'playground')
      await page.evaluate('scrollTo(0, 0)')
      await writeFile(join(DOCS_FOLDER, 'playground.webp'), await takeWebp(page))
      await show(page, stage, 'spend')
      await writeFile(join(DOCS_FOLDER, 'spend.webp'), await takeWebp(page))
    }
  } finally {
    await browser.close()
    await stage.close()
    await upstream.close()
    await rm(work, { recursive: true, force: true })
  }
}

/** The package carries these pictures, and a WebP has less than half of the bytes of a PNG. Chromium itself writes it. */
async function takeWebp(page: Page): Promise<Buffer> {
  const png = await page.screenshot()
  const encoder = await page.context().newPage()
  const base64 = await encoder.evaluate<string>(`(async () => {
    const source = await fetch('data:image/png;base64,${png.toString('base64')}')
    const picture = await createImageBitmap(await source.blob())
    const canvas = Object.assign(document.createElement('canvas'), { width: picture.width, height: picture.height })
    canvas.getContext('2d').drawImage(picture, 0, 0)
    return canvas.toDataURL('image/webp', 0.8).split(',')[1]
  })()`)
  await encoder.close()
  return Buffer.from(base64, 'base64')
}

async function fill({ admin, stores }: Stage): Promise<void> {
  const keys = [
    await admin.keys.issue({ account: 'alice', label: 'Website' }),
    await admin.keys.issue({ account: 'bob', label: 'Nightly batch' }),
    await admin.keys.issueToken({
      account: 'alice',
      appId: 'notes',
      scopes: ['models.run'],
      label: 'Notes on my phone',
    }),
  ]
  const lost = await admin.keys.issue({ account: 'bob', label: 'Old laptop' })
  await admin.keys.revoke(lost.credentialId)
  await simulateCalls(stores, {
    count: 420,
    seed: 11,
    credentialIds: keys.map(({ credentialId }) => credentialId),
  })
  await spreadOverDays(stores, 30)
}

async function show(page: Page, stage: Stage, path: string): Promise<void> {
  await page.goto(`${stage.consoleUrl}#/${path}`)
  await page.reload()
  await page.locator('h1').waitFor()
  await page.locator('#page:not(:has(.loading))').waitFor()
  if (path === 'playground') await talk(page)
  if (path === 'calls')
    await page
      .getByRole('button', { name: /^Explain/ })
      .first()
      .click()
  if (path === 'books') await page.getByRole('button', { name: 'Verify the books' }).click()
  await page.waitForLoadState('networkidle')
}

async function talk(page: Page): Promise<void> {
  await page.getByLabel('Acts through').selectOption('notes')
  await page.getByLabel('Message').fill('What does a call cost me here?')
  await page.getByLabel('Message').press('Enter')
  await page.locator('[data-cost]').waitFor()
  await page.getByRole('button', { name: 'curl' }).click()
}

await main(process.argv.slice(2))
