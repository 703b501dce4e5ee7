import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createConsole } from 'compat-router/console'
import { expect, it, onTestFinished } from 'vitest'
import { isOpen, listen, openBrowser } from '../console/browser/visit.js'
import { createDeferred } from '../helpers/deferred.js'
import { freePort } from '../helpers/free-port.js'
import { type ScriptedReply, sse, textChunk } from '../helpers/scripted-upstream.js'
import { startHost } from './host-process.js'
import { openStage, type Stage, USAGE } from './stage.js'
import {
  authorizeUrl,
  call,
  createPkce,
  exchange,
  type Place,
  refusedWithinASecond,
  type Tokens,
} from './user-agent.js'
import { userOf } from './users.js'

/** A call whose prompt has as many tokens as the provider reports, so that its hold covers its charge. */
const HONEST = { max_tokens: 500, messages: [{ role: 'user', content: 'word '.repeat(1_000) }] }

/** Starts a server for the test, and returns its origin. */
async function originOf(handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An app with a server, which keeps the token, and a page: it connects, and asks as often as a form says. */
class NotesApp {
  token = ''
  origin = ''
  /** How often the page has asked. */
  asked = 0
  #pkce = createPkce()

  constructor(private readonly stage: Stage) {}

  async open(): Promise<void> {
    this.origin = await originOf((req, res) => {
      this.#answer(req).then(
        ({ location, text = '' }) => {
          if (location !== undefined) res.writeHead(303, { location }).end()
          else res.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(text, this.asked))
        },
        (error: Error) => res.writeHead(500).end(error.stack),
      )
    })
  }

  async #answer(req: IncomingMessage): Promise<{ location?: string; text?: string }> {
    const { pathname, searchParams } = new URL(req.url!, this.origin)
    const redirectUri = `${this.origin}/cb`
    if (pathname === '/connect') {
      this.#pkce = createPkce()
      return { location: authorizeUrl(this.stage, this.#pkce, { redirect_uri: redirectUri }) }
    }
    if (pathname === '/cb') {
      const code = searchParams.get('code')!
      const response = await exchange(this.stage, { code, pkce: this.#pkce, redirectUri })
      this.token = ((await response.json()) as Tokens).access_token
      return { text: 'Connected' }
    }
    return { text: pathname === '/ask' ? await this.#ask(Number(searchParams.get('calls'))) : 'Notes' }
  }

  /** Says how many calls had each status, and the cost of the last one that was answered. */
  async #ask(calls: number): Promise<string> {
    this.asked += 1
    const counts: Record<number, number> = {}
    let cost: number | undefined
    const replies = await Promise.all(
      Array.from({ length: calls }, () => call(this.stage, this.token, HONEST)),
    )
    for (const reply of replies) {
      counts[reply.status] = (counts[reply.status] ?? 0) + 1
      const { usage } = (await reply.json()) as { usage?: { cost: number } }
      cost = usage?.cost ?? cost
    }
    return JSON.stringify({ counts, cost })
  }
}

function pageOf(text: string, asked: number): string {
  const ask = (calls: number) =>
    `<form action="/ask"><input type="hidden" name="calls" value="${calls}"><button>Ask ${calls}</button></form>`
  return `<!doctype html><html lang="en"><title>Notes</title><p id="said-${asked}">${text}</p>
    <form action="/connect"><button>Connect</button></form>${ask(1)}${ask(50)}`
}

interface Said {
  readonly counts: Readonly<Record<number, number>>
  readonly cost?: number
}

it('a user connects an app with a cap, raises the cap, accepts a higher markup, and disconnects the app', {
  timeout: 180_000,
}, async () => {
  const stage = await openStage()
  onTestFinished(() => stage.close())
  const port = await freePort()
  const host = await startHost({ engine: 'SQLite', place: stage.file, port, origin: stage.origin })
  onTestFinished(() => host.kill())
  const other: Place = { ...stage, routerUrl: `http://127.0.0.1:${port}/compat/v1` }
  const app = new NotesApp(stage)
  await app.open()
  const pages = createConsole({
    admin: stage.admin,
    authorise: (req) => {
      const user = userOf(req)
      return user === undefined ? undefined : { kind: 'user', account: user.account }
    },
  })
  const consoleOrigin = await originOf((req, res) => pages(req, res))
  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  const complaints: string[] = []
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce' })
  const page = await context.newPage()
  listen(page, complaints)
  const ask = async (calls: 1 | 50): Promise<Said> => {
    const said = page.locator(`#said-${app.asked + 1}`)
    await page.getByRole('button', { name: `Ask ${calls}`, exact: true }).click()
    return JSON.parse((await said.textContent())!) as Said
  }
  const spent = () => stage.stores.connect.spentInPeriod('alice', 'notes', { per: 'month' })

  // Connects, with a cap.
  await page.goto(app.origin)
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByText('Notes adds 20 % and 0.001 credits per call').waitFor()
  await page.getByLabel('The most it may spend').fill('0.05')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('Connected').waitFor()

  // Calls until the cap refuses.
  const { counts, cost } = await ask(50)
  expect(cost).toBe(0.00226)
  expect(counts[200]).toBeGreaterThan(0)
  expect((counts[200] ?? 0) + (counts[402] ?? 0) + (counts[429] ?? 0)).toBe(50)
  for (let calls = 0; calls < 50; calls++) {
    if ((await ask(1)).counts[402] === 1) break
  }
  expect(await spent()).toBeLessThanOrEqual(50_000_000n)
  expect(await spent()).toBeGreaterThan(45_000_000n)
  expect(await ask(50)).toEqual({ counts: { 402: 50 } })

  // Raises the cap.
  const own = await context.newPage()
  listen(own, complaints)
  await own.goto(`${consoleOrigin}/#/connected-apps`)
  await isOpen(own)
  await own.getByRole('button', { name: 'Change the cap of Notes' }).click()
  const dialog = own.getByRole('dialog', { name: 'Cap of Notes' })
  await dialog.getByLabel('At most, credits').fill('0.1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await own.locator('.message', { hasText: 'Saved the cap of Notes.' }).waitFor()
  await expect.poll(() => ask(1)).toEqual({ counts: { 200: 1 }, cost: 0.00226 })

  // The app raises its markup: calls go on at the old terms until the user agrees.
  await stage.changeApp({ markup: { basisPoints: 9_000, flat: '0.002' } })
  expect(await ask(1)).toEqual({ counts: { 200: 1 }, cost: 0.00226 })
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByText('It asks for more than you agreed to.').waitFor()
  await page.getByText('Notes adds 90 % and 0.002 credits per call').waitFor()
  await page.goto(app.origin)
  expect(await ask(1)).toEqual({ counts: { 200: 1 }, cost: 0.00226 })
  await page.getByRole('button', { name: 'Connect' }).click()
  expect(await page.getByLabel('The most it may spend').inputValue()).toBe('0.1')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('Connected').waitFor()
  await expect.poll(() => ask(1)).toEqual({ counts: { 200: 1 }, cost: 0.003995 })

  // Disconnects it, while a stream runs in another process.
  const begun = createDeferred<ScriptedReply>()
  stage.upstream.scriptOnce(async (reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    await reply.write(sse([textChunk('Hello')]))
    begun.resolve(reply)
  })
  const stream = await call(other, app.token, { ...HONEST, stream: true })
  const upstream = await begun.promise
  await own.reload()
  await isOpen(own)
  await own.getByRole('button', { name: 'Disconnect Notes' }).click()
  await own.getByRole('button', { name: 'Disconnect it' }).click()
  await own.locator('.message', { hasText: 'Disconnected Notes.' }).waitFor()
  await refusedWithinASecond(other, app.token)
  await expect.poll(() => ask(1)).toEqual({ counts: { 401: 1 } })
  const before = (await stage.admin.accounts.balance('alice'))!
  expect(before.held).toBeGreaterThan(0n)
  await upstream.write(
    `${sse([textChunk(' again'), { ...textChunk(''), choices: [], usage: USAGE }])}data: [DONE]\n\n`,
  )
  upstream.end()
  expect(await stream.text()).toContain('data: [DONE]')
  await expect.poll(async () => (await stage.admin.accounts.balance('alice'))?.held).toBe(0n)
  expect(before.posted - (await stage.admin.accounts.balance('alice'))!.posted).toBe(3_995_000n)
  expect(await spent()).toBeLessThanOrEqual(100_000_000n)
  expect(await stage.admin.maintenance.verify()).toEqual([])
  expect(complaints).toEqual([])
})
