import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { inject } from 'vitest'
import { askDatabases } from '../../helpers/ask-databases.js'
import { connectToChromium } from '../../helpers/chromium.js'
import {
  answerEvents,
  finishChunk,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { openStage, type Stage, VIEWER_COOKIE } from './stage.js'

export { violations } from '../../helpers/axe.js'

export interface Visit {
  readonly stage: Stage
  readonly upstream: ScriptedUpstream
  /** Opens a separate page for a viewer: `operator`, an account, or nobody. */
  open(viewer: string | undefined, path: string, options?: BrowserContextOptions): Promise<Page>
  /** The errors of all pages so far: script errors and violations of their policy. */
  readonly complaints: string[]
  close(): Promise<void>
}

/** Connects to the browser that all files of this run share. */
export async function openBrowser(): Promise<Browser> {
  await askDatabases(inject('databases'), '/console')
  return connectToChromium(await askDatabases(inject('databases'), '/chromium'))
}

/** Starts a browser session, one server and one scripted provider for a test file. */
export async function openVisit(): Promise<Visit> {
  await askDatabases(inject('databases'), '/worker')
  const browser = await openBrowser()
  const upstream = await startScriptedUpstream()
  const stage = await openStage({ baseUrl: upstream.baseUrl })
  const complaints: string[] = []
  return {
    stage,
    upstream,
    complaints,
    async open(viewer, path, options = {}) {
      const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
      if (viewer !== undefined) {
        await context.addCookies([{ name: VIEWER_COOKIE, value: viewer, url: stage.origin }])
      }
      const page = await context.newPage()
      listen(page, complaints)
      await page.goto(`${stage.consoleUrl}#/${path}`)
      await isOpen(page)
      return page
    },
    async close() {
      await browser.close()
      await stage.close()
      await upstream.close()
    },
  }
}

/** Waits until the console knows its viewer. Before that, the page has only a heading. */
export async function isOpen(page: Page): Promise<void> {
  await page.locator('h1').waitFor()
  await page.getByText('Loading the console').waitFor({ state: 'detached' })
}

/** Shows the filters that fold away. */
export async function unfoldFilters(page: Page): Promise<void> {
  await page.getByText('More filters').click()
}

/** Collects script errors and violations of the page's policy. Tests check error replies themselves. */
export function listen(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) complaints.push(text)
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog of the browser: ${dialog.message()}`)
    dialog.dismiss().catch(() => undefined)
  })
}

/** Scripts a stream of a provider: text in pieces, and usage. */
export function streamOf(pieces: readonly string[]): Script {
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
  return answerEvents([
    ...pieces.map((piece) => textChunk(piece)),
    finishChunk(),
    { ...textChunk(''), choices: [], usage },
  ])
}

export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}
