import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, vi } from 'vitest'
import { createApp } from '../../examples/server/app.js'
import { openPage, submit, UserAgent } from '../connect/user-agent.js'
import { listen, openBrowser, violations } from '../console/browser/visit.js'
import { createTestFile } from '../helpers/sqlite.js'

it("in the Connect example, a user connects the demo app, asks it, sees the cost, reconnects after an operator's revocation, and disconnects", {
  timeout: 120_000,
}, async () => {
  const { file, remove } = await createTestFile()
  const [host, app] = [createServer(), createServer()]
  const origin = await originOf(host)
  const lines: string[] = []
  const example = await createApp({
    database: { kind: 'sqlite', file },
    tokenDelayMs: 0,
    origin,
    log: (line) => lines.push(line),
  })
  host.on('request', example.app)
  app.on('request', example.notes!)
  const notes = await originOf(app)
  const browser = await openBrowser()
  const complaints: string[] = []
  try {
    const page = await browser.newPage()
    listen(page, complaints)
    await page.goto(notes)
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('button', { name: 'Sign in as bob' }).click()
    await page.getByRole('heading', { name: 'Connect Notes?' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('Not connected').waitFor()

    await page.getByRole('button', { name: 'Connect' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('button', { name: 'Ask' }).click()
    const cost = await page.getByText(/\(cost [\d.]+ credits\)/).textContent()
    expect(Number(/cost ([\d.]+)/.exec(cost!)![1])).toBeGreaterThan(0)
    expect(new URL(page.url()).origin).toBe(notes)

    const operator = await browser.newPage()
    await operator.goto(example.signInLink(origin))
    await operator.getByRole('link', { name: 'Connected apps' }).click()
    await operator.getByRole('button', { name: 'Disconnect Notes' }).click()
    await operator.getByRole('button', { name: 'Disconnect it' }).click()
    await operator.getByText('Disconnected Notes.').waitFor()
    // It takes up to a second.
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Ask' }).click()
        return page.getByText('Refused: This credential has been revoked.').count()
      })
      .toBe(1)
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByRole('button', { name: 'Allow' }).click()

    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('button', { name: 'Connect', exact: true }).waitFor()
    expect(lines.some((line) => line.startsWith('connection-ended'))).toBe(true)
    expect(complaints).toEqual([])
  } finally {
    await browser.close()
    await example.close()
    for (const server of [host, app]) {
      server.close()
      server.closeAllConnections()
    }
    remove()
  }
})

it.each([
  [403, { origin: 'https://evil.example' }],
  [403, { origin: 'null' }],
  [403, { 'sec-fetch-site': 'cross-site' }],
  [403, { 'sec-fetch-site': 'same-site' }],
  [303, { 'sec-fetch-site': 'same-origin' }],
  [303, {}],
])(
  'the forms of the Connect example and of Notes answer %i to a request with %j',
  async (status, headers) => {
    const { file, remove } = await createTestFile()
    const [host, app] = [createServer(), createServer()]
    const [origin, appOrigin] = [await originOf(host), await originOf(app)]
    const example = await createApp({ database: { kind: 'sqlite', file }, tokenDelayMs: 0, origin })
    host.on('request', example.app)
    app.on('request', example.notes!)
    try {
      for (const address of [`${origin}/login?to=/`, `${appOrigin}/disconnect`]) {
        const response = await fetch(address, {
          method: 'POST',
          redirect: 'manual',
          headers: new Headers(headers),
        })
        expect(response.status).toBe(status)
        expect(response.headers.get('set-cookie') === null).toBe(
          status === 403 || address.endsWith('/disconnect'),
        )
      }
    } finally {
      await example.close()
      for (const server of [host, app]) {
        server.close()
        server.closeAllConnections()
      }
      remove()
    }
  },
)

it('the forms of the Connect example and of Notes refuse a page whose name was pointed at this machine', async () => {
  const { file, remove } = await createTestFile()
  const [host, app] = [createServer(), createServer()]
  const [origin, appOrigin] = [await originOf(host), await originOf(app)]
  const example = await createApp({ database: { kind: 'sqlite', file }, tokenDelayMs: 0, origin })
  host.on('request', example.app)
  app.on('request', example.notes!)
  try {
    for (const address of [`${origin}/login?to=/`, `${appOrigin}/connect`]) {
      const { port } = new URL(address)
      for (const name of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`]) {
        const headers = { host: name, origin: `http://${name}`, 'sec-fetch-site': 'same-origin' }
        const asked = request(address, { method: 'POST', headers }).end()
        const [reply] = (await once(asked, 'response')) as [IncomingMessage]
        reply.resume()
        expect([name, reply.statusCode, reply.headers['set-cookie']]).toEqual([name, 403, undefined])
      }
    }
  } finally {
    await example.close()
    for (const server of [host, app]) {
      server.close()
      server.closeAllConnections()
    }
    remove()
  }
})

it('the login of the Connect example redirects only to Connect', async () => {
  const { file, remove } = await createTestFile()
  const host = createServer()
  const origin = await originOf(host)
  const example = await createApp({ database: { kind: 'sqlite', file }, tokenDelayMs: 0, origin })
  host.on('request', example.app)
  try {
    for (const [to, location] of [
      ['https://evil.example/', '/'],
      ['//evil.example/connect/', '/'],
      ['/connect/../api/me', '/'],
      ['/connect/\\evil.example', '/'],
      ['/connect/authorize?client_id=notes', '/connect/authorize?client_id=notes'],
    ] as const) {
      const address = `${origin}/login?to=${encodeURIComponent(to)}`
      const response = await fetch(address, { method: 'POST', redirect: 'manual' })
      expect(response.headers.get('location')).toBe(location)
    }
  } finally {
    await example.close()
    host.close()
    host.closeAllConnections()
    remove()
  }
})

it('Notes presents a code once, keeps little of strangers, and shows nobody a stack trace', async () => {
  const { file, remove } = await createTestFile()
  const [host, app] = [createServer(), createServer()]
  const [origin, notes] = [await originOf(host), await originOf(app)]
  const lines: string[] = []
  const example = await createApp({
    database: { kind: 'sqlite', file },
    tokenDelayMs: 0,
    origin,
    log: (line) => lines.push(line),
  })
  // The host is away at first.
  host.on('request', (_req, res) => res.writeHead(503).end())
  app.on('request', example.notes!)
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const visitor = new UserAgent(notes)
  const post = (path: string, body = '', more: Record<string, string> = {}) =>
    visitor.visit(path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...more },
    })
  const page = async () => (await visitor.visit('/')).text()
  try {
    const away = await post('/connect')
    expect([away.status, await away.text()]).toEqual([502, 'The host cannot be reached.'])
    expect(printed).toHaveBeenCalledOnce()
    host.removeAllListeners('request').on('request', example.app)
    const { location } = Object.fromEntries((await post('/connect')).headers)

    for (const [body, more] of [
      [`text=${'x'.repeat(200_000)}`, {}],
      ['a=1&'.repeat(2_000), {}],
      ['text=x', { 'content-type': 'application/x-www-form-urlencoded; charset=none' }],
    ] as const) {
      const refused = await post('/ask', body, more)
      expect([refused.status, await refused.text()]).toEqual([400, 'This cannot be read.'])
    }

    const before = await page()
    for (const query of ['', '?code=x&state=wrong', '?error=access_denied', '?state=', '?state=a&state=b']) {
      expect((await visitor.visit(`/callback${query}`)).status).toBe(303)
    }
    expect(await page()).toBe(before)

    const user = new UserAgent(origin)
    await user.visit('/login?to=/', { method: 'POST' })
    const place = { origin, issuer: `${origin}/connect`, routerUrl: `${origin}/compat/v1` }
    const answered = await submit(user, place, await openPage(user, location!))
    const callback = answered.headers.get('location')!
    for (let visit = 0; visit < 3; visit++) expect((await visitor.visit(callback)).status).toBe(303)
    for (let asked = 0; asked < 30; asked++) expect((await post('/ask', 'text=Hi')).status).toBe(303)
    expect((await page()).match(/\(cost [\d.]+ credits\)/g)).toHaveLength(20)
    expect(lines.filter((line) => line.startsWith('token-reused'))).toEqual([])

    for (let stranger = 0; stranger < 1_000; stranger++) {
      await (await fetch(`${notes}/connect`, { method: 'POST', redirect: 'manual' })).text()
    }
    expect(await page()).not.toContain('credits)')
  } finally {
    vi.restoreAllMocks()
    await example.close()
    for (const server of [host, app]) {
      server.close()
      server.closeAllConnections()
    }
    remove()
  }
})

async function originOf(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
