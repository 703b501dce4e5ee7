import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { sessionHandler } from '../../src/admin/index.js'
import { FAST, openStage, type Stage } from '../console/browser/stage.js'
import { askDatabases } from '../helpers/ask-databases.js'
import { bundleForBrowser } from '../helpers/bundle-for-browser.js'
import { connectToChromium } from '../helpers/chromium.js'
import { createDeferred } from '../helpers/deferred.js'
import {
  answerEvents,
  finishChunk,
  type ScriptedUpstream,
  sse,
  startScriptedUpstream,
  textChunk,
} from '../helpers/scripted-upstream.js'
import type { kit } from './kit.js'

const SLOW_MS = 180_000
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const ENDING = [finishChunk(), { choices: [], usage: USAGE }]
/** 10 tokens at 0.15 and 5 at 0.60 credits a million. */
const COST = 4_500n

type Kit = { kit: typeof kit }

let browser: Browser
let upstream: ScriptedUpstream
let stage: Stage
let script: Buffer
let app: Site
let evil: Site
let page: Page
let session: (req: IncomingMessage, res: ServerResponse) => void
let sessionCalls = 0

interface Site {
  readonly origin: string
  readonly server: Server
}

/** A page with the kit, at an origin of its own. */
async function openSite(hostname: string): Promise<Site> {
  const server = createServer((req, res) => {
    if (req.url === '/kit.js') res.setHeader('content-type', 'text/javascript').end(script)
    else if (req.url === '/session' && hostname === '127.0.0.1') {
      sessionCalls++
      session(req, res)
    } else {
      res.setHeader('content-type', 'text/html')
      res.end('<!doctype html><title>Page</title><script type="module" src="/kit.js"></script>')
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://${hostname}:${(server.address() as AddressInfo).port}` }
}

async function visit({ origin }: Site): Promise<Page> {
  const context = await browser.newContext()
  await context.addCookies([{ name: 'user', value: 'alice', url: app.origin }])
  const visited = await context.newPage()
  await visited.goto(origin)
  await visited.waitForFunction(() => 'kit' in globalThis)
  return visited
}

beforeAll(async () => {
  script = await bundleForBrowser('test/browser/kit.ts')
  upstream = await startScriptedUpstream()
  stage = await openStage({ baseUrl: upstream.baseUrl, apiKey: 'sk-upstream' })
  app = await openSite('127.0.0.1')
  evil = await openSite('localhost')
  session = sessionHandler({
    admin: stage.admin,
    origins: [app.origin],
    authenticate: ({ headers }) =>
      headers.cookie?.includes('user=alice') ? { account: 'alice' } : undefined,
  })
  browser = await connectToChromium(await askDatabases(inject('databases'), '/chromium'))
}, SLOW_MS)

afterAll(async () => {
  await browser?.close()
  for (const site of [app, evil]) {
    site?.server.closeAllConnections()
    site?.server.close()
  }
  await stage?.close()
  await upstream?.close()
})

beforeEach(async () => {
  await page?.context().close()
  page = await visit(app)
  await page.evaluate(
    ([baseURL]) => {
      const { browserSession, OpenAI } = (globalThis as unknown as Kit).kit
      const { fetch } = browserSession({ refresh: '/session' })
      const client = new OpenAI({ baseURL, apiKey: 'session', fetch, dangerouslyAllowBrowser: true })
      const state = { text: '' }
      Object.assign(globalThis, {
        state,
        async say(model: string) {
          state.text = ''
          const stream = await client.chat.completions.create({
            model,
            messages: [{ role: 'user', content: 'Say hello.' }],
            stream: true,
          })
          for await (const chunk of stream) state.text += chunk.choices[0]?.delta.content ?? ''
          return state.text
        },
      })
    },
    [`${stage.origin}/compat/v1`] as const,
  )
  sessionCalls = 0
})

type Scripts = { say(model: string): Promise<string>; state: { text: string } }
const say = () => page.evaluate((model) => (globalThis as unknown as Scripts).say(model), FAST)
const said = () => page.evaluate(() => (globalThis as unknown as Scripts).state.text)

async function spentBy(calls: () => Promise<unknown>): Promise<bigint> {
  const before = await stage.admin.accounts.balance('alice')
  await calls()
  await expect.poll(async () => (await stage.admin.accounts.balance('alice'))?.held).toBe(0n)
  return before!.posted - (await stage.admin.accounts.balance('alice'))!.posted
}

/** Calls the router from a page with a token, through the client of OpenAI. */
function callWith(visited: Page, token: string) {
  return visited.evaluate(
    async ([baseURL, apiKey, model]) => {
      const { OpenAI } = (globalThis as unknown as Kit).kit
      const client = new OpenAI({ baseURL, apiKey, dangerouslyAllowBrowser: true })
      try {
        await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi' }] })
        return 'answered'
      } catch (error) {
        const { code, requestID, status } = error as { code?: string; requestID?: string; status?: number }
        return { code, status, hasRequestId: typeof requestID === 'string' }
      }
    },
    [`${stage.origin}/compat/v1`, token, FAST] as const,
  )
}

describe("a page on an allowed origin other than the router's", () => {
  test('streams with the OpenAI client and a token of its own, and is charged', async () => {
    upstream.script(answerEvents([textChunk('Hello, '), textChunk('page!'), ...ENDING]))
    expect(await spentBy(async () => expect(await say()).toBe('Hello, page!'))).toBe(COST)
    await say()
    expect(sessionCalls).toBe(1)
  })

  test('reads its stream to the end although its token expires midway', async () => {
    const more = createDeferred()
    upstream.scriptOnce([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Before, ')]) },
      { wait: more.promise },
      { write: `${sse([textChunk('after.'), ...ENDING])}data: [DONE]\n\n` },
      'end',
    ])
    const spent = await spentBy(async () => {
      const whole = say()
      await expect.poll(said).toBe('Before, ')
      await endTokens()
      more.resolve()
      expect(await whole).toBe('Before, after.')
    })
    expect(spent).toBe(COST)
    // The next call finds out, and gets another token by itself.
    upstream.script(answerEvents([textChunk('Again.'), ...ENDING]))
    expect(await say()).toBe('Again.')
    expect(sessionCalls).toBe(2)
  })

  test('can read why a call was refused', async () => {
    const { token } = await stage.admin.sessions.issue({
      account: 'alice',
      origins: [app.origin],
      budget: { amount: '0' },
    })
    expect(await callWith(page, token)).toEqual({ code: 'budget_exceeded', status: 402, hasRequestId: true })
  })
})

describe('a page on a foreign origin', () => {
  test('is refused with a stolen token, and can read why', async () => {
    const { token } = await stage.admin.sessions.issue({ account: 'alice', origins: [app.origin] })
    const visited = await visit(evil)
    const asked = upstream.requests.length
    const spent = await spentBy(async () =>
      expect(await callWith(visited, token)).toEqual({
        code: 'origin_not_allowed',
        status: 403,
        hasRequestId: true,
      }),
    )
    expect([spent, upstream.requests.length]).toEqual([0n, asked])
    await visited.context().close()
  })

  test("gets no token with the user's cookie", async () => {
    const visited = await visit(evil)
    const outcome = await visited.evaluate(async (url) => {
      const attempts = [
        { headers: { 'content-type': 'application/json' } },
        { headers: { 'content-type': 'text/plain' } },
      ].map((init) => fetch(url, { method: 'POST', credentials: 'include', body: '{}', ...init }))
      return (await Promise.allSettled(attempts)).map(({ status }) => status)
    }, `${app.origin}/session`)
    expect(outcome).toEqual(['rejected', 'rejected'])
    await visited.context().close()
  })

  test('cannot read replies to an API key', async () => {
    const { token } = await stage.admin.keys.issue({ account: 'bob' })
    upstream.script(answerEvents([textChunk('Hello'), ...ENDING]))
    const visited = await visit(evil)
    const outcome = await visited.evaluate(
      async ([url, key]) =>
        fetch(`${url}/compat/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(
          () => 'read',
          () => 'not read',
        ),
      [stage.origin, token] as const,
    )
    expect(outcome).toBe('not read')
    await visited.context().close()
  })
})

/** As time would: every token of a session has expired. */
async function endTokens(): Promise<void> {
  const { database } = stage.stores
  await database.batch([
    { text: 'update {tokens} set expires_at = 1000000000001 where expires_at is not null' },
  ])
}
