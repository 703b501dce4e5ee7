import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createApp, type ExampleApp } from '../../../examples/server/app.js'
import { askDatabases } from '../../helpers/ask-databases.js'
import { nanos } from '../../helpers/decimals.js'
import { listen, openBrowser, say } from './visit.js'

let folder: string
let example: ExampleApp
let server: Server
let origin: string
let browser: Browser
let page: Page
const complaints: string[] = []

beforeAll(async () => {
  await askDatabases(inject('databases'), '/worker')
  folder = await mkdtemp(join(tmpdir(), 'compat-router-first-minutes-'))
  example = await createApp({ database: { kind: 'sqlite', file: join(folder, 'test.db') }, tokenDelayMs: 0 })
  server = createServer(example.app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  browser = await openBrowser()
  const permissions = ['clipboard-read', 'clipboard-write']
  page = await (await browser.newContext({ locale: 'en-GB', permissions })).newPage()
  listen(page, complaints)
}, 180_000)

afterAll(async () => {
  await browser?.close()
  server?.close()
  server?.closeAllConnections()
  await example?.close()
  await rm(folder, { recursive: true, force: true })
})

const attributeOf = async (selector: string, name: string): Promise<string> =>
  (await page.locator(selector).last().getAttribute(name)) ?? ''

function transpile(text: string): string {
  const compilerOptions = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 }
  return transpileModule(text, { compilerOptions }).outputText
}

describe("a new user's first five minutes in the console", { timeout: 120_000 }, () => {
  let charged: string
  let key: string
  let requestId: string
  const run = (program: string, args: readonly string[]) =>
    promisify(execFile)(program, args, { env: { ...process.env, COMPAT_API_KEY: key } })

  it('begin with the link that the server printed', async () => {
    await page.goto(example.signInLink(origin))
    await page.getByRole('link', { name: 'Make a first call in the playground' }).click()
    await page.getByRole('heading', { name: 'Playground' }).waitFor()
    expect(page.url()).not.toContain('sign-in')
  })

  it("continue with a model's reply and its cost", async () => {
    await page.getByLabel('Account that pays').selectOption('alice')
    await page.locator('[data-balance]').waitFor()
    const before = await attributeOf('[data-balance]', 'data-balance')
    await say(page, 'Hello there!')
    await page.locator('[data-cost]').waitFor()
    expect(await page.locator('.turn.assistant .said').textContent()).toContain('You wrote: "Hello there!"')
    charged = await attributeOf('[data-cost]', 'data-cost')
    const after = (nanos(before) - nanos(charged)).toString()
    await expect
      .poll(async () => nanos(await attributeOf('[data-balance]', 'data-balance')).toString())
      .toBe(after)
  })

  it('show the frames as they arrived, and the same call as code', async () => {
    await page.getByRole('button', { name: 'Frames', exact: true }).click()
    const frames = await page.getByLabel('Frames of the last reply').inputValue()
    expect(frames).toMatch(/^HTTP 200 · text\/event-stream/)
    expect(frames).toMatch(/data: \[DONE\]$/)
    for (const [button, needle] of [
      ['curl', `${origin}/compat/v1/chat/completions`],
      ['TypeScript', "import OpenAI from 'openai'"],
      ['Python', 'from openai import OpenAI'],
    ] as const) {
      await page.getByRole('button', { name: button, exact: true }).click()
      expect(await page.getByLabel(`The call as ${button.toLowerCase()}`).inputValue()).toContain(needle)
    }
  })

  it('include creating a key, which is shown once', async () => {
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('button', { name: 'New API key' }).click()
    const form = page.getByRole('dialog', { name: 'New API key' })
    await form.getByLabel('Account that pays').fill('alice')
    await form.getByLabel('Label').fill('My first key')
    await form.getByRole('button', { name: 'Make the key' }).click()
    const shown = page.getByRole('dialog', { name: 'The new API key' })
    key = (await shown.locator('[data-secret]').textContent()) ?? ''
    expect(key).toMatch(/^sk-/)
    await shown.getByRole('button', { name: 'Copy the token' }).click()
    await page.locator('.message', { hasText: 'Copied the token.' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key)
    await page.keyboard.press('Escape')
    await shown.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('row', { name: /My first key/ }).waitFor()
    expect(await page.content()).not.toContain(key)
  })

  it("include using the key with exactly the playground's curl command", async () => {
    await page.getByRole('link', { name: 'Playground', exact: true }).click()
    await page.getByLabel('Message').fill("It's mine")
    await page.getByRole('button', { name: 'curl', exact: true }).click()
    const command = await page.getByLabel('The call as curl').inputValue()
    const { stdout } = await run('sh', ['-c', command.replace('curl ', 'curl -si ')])
    requestId = /^x-request-id: (\S+)/im.exec(stdout)?.[1] ?? ''
    expect(stdout).toContain('[DONE]')
    expect(requestId).not.toBe('')
  })

  it("include using the key with exactly the playground's TypeScript, whose Python is valid too", async () => {
    await page.getByRole('button', { name: 'TypeScript', exact: true }).click()
    const typescript = await page.getByLabel('The call as typescript').inputValue()
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', transpile(typescript)])
    expect(stdout).toContain('You wrote: "It\'s mine"')
    expect(stdout).toMatch(/cost [\d.e-]+\n$/)
    await page.getByRole('button', { name: 'Python', exact: true }).click()
    const python = await page.getByLabel('The call as python').inputValue()
    const read = 'import ast, sys; ast.parse(sys.argv[1])'
    await run('python3', ['-c', read, python]).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  })

  it('include finding and understanding that call on the Calls page', async () => {
    await page.goto(`${origin}/#/calls?account=alice&call=${requestId}`)
    const detail = page.locator('.detail')
    await detail.waitFor()
    const text = await detail.textContent()
    expect(text).toContain(requestId)
    expect(text).toContain('because it is the only one')
    expect(text).toContain('were put on hold')
  })

  it('end with its cost on the Spend page, under the key, equal to the ledger', async () => {
    await page.goto(`${origin}/#/spend?account=alice&by=key`)
    await page.getByRole('row', { name: /My first key/ }).waitFor()
    await page.locator('[data-books="equal"]').waitFor()
    const total = (await page.locator('[data-figure="cost"]').textContent()) ?? ''
    const { posted } = (await example.balances()).apiKey
    expect(nanos(total)).toBe(5_000_000_000n - posted)
    expect(complaints).toEqual([])
  })
})
