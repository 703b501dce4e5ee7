import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FAST, LOOPBACK_REDIRECT, MARKUP, NOTES, openStage, SMART, type Stage } from './stage.js'
import {
  authorizeUrl,
  call,
  connectApp,
  createPkce,
  getCode,
  openPage,
  submit,
  UserAgent,
} from './user-agent.js'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({
    connect: { cap: { suggested: '5', max: '50' }, markup: { max: { basisPoints: 5_000, flat: '1' } } },
  })
})
afterAll(() => stage.close())
afterEach(() => stage.resetApp())

let users = 0
const newUser = (): UserAgent => new UserAgent(stage.origin, `user${++users}`)
const account = (): string => `user${users}`
const pkce = createPkce()
const textOf = (page: { text: string }): string =>
  page.text
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll('&#39;', "'")
const queryOf = (response: Response) =>
  Object.fromEntries(new URL(response.headers.get('location')!).searchParams)

describe('the consent page', () => {
  it('says who asks, for what, what it costs, and where the user will be sent', async () => {
    const page = await openPage(newUser(), authorizeUrl(stage, pkce, { scope: 'models.run credits.read' }))
    expect(page.response.status).toBe(200)
    const text = textOf(page)
    for (const words of [
      'Connect Notes?',
      `Signed in as User${users}`,
      'You will be sent to notes.example .',
      'use models and spend your credits',
      'see your balance and what its calls cost',
      'Fast',
      'Smart',
      'Notes adds 20 % and 0.001 credits per call to the price.',
      // 1,000 x 2.5 and 500 x 10 millionths, 0.001 for the request; then 20 % and 0.001.
      'A typical call of Smart, 1,000 tokens in and 500 out, costs you 0.0112 credits: 0.0085 for Acme and 0.0027 for Notes.',
      'Spent this month: 0.',
      'At most 50.',
    ]) {
      expect(text).toContain(words)
    }
    expect(page.text).toContain(
      '<a href="https://notes.example/" rel="noreferrer noopener">notes.example</a>',
    )
    expect(page.text).toMatch(/<input id="cap" [^>]*value="5"/)
    expect(page.text).not.toMatch(/<script|javascript:|style="|onclick/i)
  })

  it('cannot be framed, sniffed, cached or scripted, and its form can submit only to the router and the app', async () => {
    const page = await openPage(newUser(), authorizeUrl(stage, pkce))
    expect(Object.fromEntries(page.response.headers)).toMatchObject({
      'content-security-policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https://notes.example",
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    })
  })

  it("shows the port of a redirect that does not go to the user's own machine", async () => {
    await stage.changeApp({ redirectUris: [...NOTES.redirectUris!, 'https://notes.example:8443/cb'] })
    const open = (redirect_uri: string) => openPage(newUser(), authorizeUrl(stage, pkce, { redirect_uri }))
    expect(textOf(await open('https://notes.example:8443/cb'))).toContain('sent to notes.example:8443 .')
    expect(textOf(await open('http://127.0.0.1:8443/cb'))).toContain('your own computer, at 127.0.0.1 .')
    await stage.changeApp({ redirectUris: NOTES.redirectUris! })
  })

  it('escapes everything that an app or a user can name', async () => {
    await stage.changeApp({ name: 'A&B "Notes"' })
    const agent = new UserAgent(stage.origin, '<b>eve</b>')
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    expect(page.text).toContain('<h1>Connect A&amp;B &quot;Notes&quot;?</h1>')
    expect(page.text).not.toContain('<b>')
  })

  it("fills in the smaller of the app's requested cap and the host's suggestion", async () => {
    await stage.changeApp({ suggestedCap: '2.5' })
    expect((await openPage(newUser(), authorizeUrl(stage, pkce))).text).toMatch(
      /<input id="cap" [^>]*value="2.5"/,
    )
    await stage.changeApp({ suggestedCap: '30' })
    expect((await openPage(newUser(), authorizeUrl(stage, pkce))).text).toMatch(
      /<input id="cap" [^>]*value="5"/,
    )
  })

  it('says if an app adds no markup, and never shows more than the host allows', async () => {
    await stage.changeApp({ markup: { basisPoints: 0 } })
    const free = textOf(await openPage(newUser(), authorizeUrl(stage, pkce)))
    expect(free).toContain('Notes adds nothing to the price.')
    expect(free).toContain('costs you 0.0085 credits.')
    await stage.changeApp({ markup: { basisPoints: 90_000, flat: '3' } })
    const dear = textOf(await openPage(newUser(), authorizeUrl(stage, pkce)))
    expect(dear).toContain('Notes adds 50 % and 1 credits per call')
  })

  it('is shown only to testers while an app is in test mode', async () => {
    await stage.changeApp({ state: 'test', owner: 'owner1', testers: ['tester1'] })
    for (const name of ['owner1', 'tester1']) {
      const page = await openPage(new UserAgent(stage.origin, name), authorizeUrl(stage, pkce))
      expect(textOf(page)).toContain('Not reviewed by Acme.')
      expect(textOf(page)).toContain('Notes by owner1')
    }
    const other = await openPage(newUser(), authorizeUrl(stage, pkce))
    expect([other.response.status, textOf(other)]).toEqual([403, expect.stringContaining('access_denied')])
  })
})

describe("a user's answer on the consent page", () => {
  it('is kept: scopes, models, markup, cap, expiry and the device', async () => {
    const started = Date.now()
    await getCode(stage, newUser(), {
      parameters: { scope: 'credits.read models.run' },
      answers: { cap: '2.25', days: '30' },
    })
    const grant = await stage.stores.connect.findConnectedApp(account(), 'notes')
    expect(grant).toMatchObject({
      scopes: ['models.run', 'credits.read'],
      models: [FAST, SMART],
      markup: MARKUP,
      cap: { amount: 2_250_000_000n, per: 'month' },
      capRule: { required: true, per: 'month', max: 50_000_000_000n },
    })
    await expect(stage.admin.connectedApps.setCap(grant!.id, null, { account: account() })).rejects.toThrow(
      'needs a cap',
    )
    const days = (grant!.endsAt! - started) / 86_400_000
    expect(Math.abs(days - 30)).toBeLessThan(0.01)
    expect(stage.events.at(-1)).toMatchObject({
      type: 'app-connected',
      account: account(),
      appId: 'notes',
      credentialId: grant!.id,
      asked: true,
    })
  })

  it.each([
    ['', 'Say how much it may spend in a month.'],
    ['much', 'Write an amount of credits in digits'],
    ['1,5', 'Write an amount of credits in digits'],
    ['-1', 'Write an amount of credits in digits'],
    ['0', 'It must be more than 0.'],
    ['50.000000001', 'It must be at most 50.'],
    ['1e3', 'Write an amount of credits in digits'],
  ])('with the cap %j shows the page again with the entered values', async (cap, fault) => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const response = await submit(agent, stage, page, { cap, days: '7' })
    expect(response.status).toBe(400)
    const text = await response.text()
    expect(textOf({ text })).toContain(fault)
    expect(text).toContain('aria-invalid="true"')
    expect(text).toContain(`value="${cap}"`)
    expect(text).toContain('<option value="7" selected>')
    expect(await stage.stores.connect.findConnectedApp(account(), 'notes')).toBeUndefined()
  })

  it('with an expiry that was not offered shows the page again', async () => {
    const agent = newUser()
    const response = await submit(agent, stage, await openPage(agent, authorizeUrl(stage, pkce)), {
      days: '99999',
    })
    expect(response.status).toBe(400)
    expect(await stage.stores.connect.findConnectedApp(account(), 'notes')).toBeUndefined()
  })

  it('may decline: the app is told, nothing is stored, and earlier connections of the app remain', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const denied = await submit(agent, stage, page, { answer: 'deny' })
    expect(queryOf(denied)).toEqual({
      error: 'access_denied',
      error_description: 'the user denied the request',
      state: 'state-1',
      iss: stage.issuer,
    })
    expect(await stage.stores.connect.findConnectedApp(account(), 'notes')).toBeUndefined()
    expect(stage.events.some((event) => event.type === 'app-denied' && event.account === account())).toBe(
      true,
    )
    const tokens = await connectApp(stage, agent)
    const again = await openPage(agent, authorizeUrl(stage, pkce, { prompt: 'consent' }))
    await submit(agent, stage, again, { answer: 'deny' })
    expect((await call(stage, tokens.access_token)).status).not.toBe(401)
  })

  it('counts once, and then the page is used up', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const first = await submit(agent, stage, page)
    expect(queryOf(first).code).toBeDefined()
    const second = await submit(agent, stage, page)
    expect([second.status, textOf({ text: await second.text() })]).toEqual([
      400,
      expect.stringContaining('expired'),
    ])
  })

  it('counts once if it is sent several times concurrently', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const submitted = await Promise.all(
      ['1', '2', '3', '4'].map((cap) => {
        const tab = new UserAgent(stage.origin)
        tab.cookies.push(...agent.cookies)
        return submit(tab, stage, page, { cap })
      }),
    )
    const codes = submitted.filter(({ headers }) => headers.get('location')?.includes('code='))
    expect(codes).toHaveLength(1)
    const [grant] = await stage.admin.connectedApps.list({ account: account() })
    // The app has not exchanged its code.
    expect(grant?.devices).toEqual([])
    const history = await stage.admin.connectedApps.listHistory(grant!.id)
    expect(history.map(({ kind }) => kind)).toEqual(['connected'])
    const connections = await stage.stores.database.all({
      text: 'select id from {connections} where credential_id = ?1',
      parameters: [grant!.id],
    })
    expect(connections).toHaveLength(1)
  })

  it('is refused after 10 in a minute', async () => {
    const agent = newUser()
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    const statuses: number[] = []
    for (let tries = 0; tries < 11; tries++)
      statuses.push((await submit(agent, stage, page, { cap: '0' })).status)
    expect(statuses).toEqual([...new Array(10).fill(400), 429])
  })
})

describe('a second visit to the consent page', () => {
  const visit = async (agent: UserAgent, more: Record<string, string | undefined> = {}): Promise<Response> =>
    agent.follow(authorizeUrl(stage, pkce, more))

  it('is skipped, even silently, if nothing new is requested', async () => {
    const agent = newUser()
    await getCode(stage, agent)
    const grant = await stage.stores.connect.findConnectedApp(account(), 'notes')
    for (const more of [{}, { prompt: 'none' }]) {
      const response = await visit(agent, more)
      expect(queryOf(response).code).toBeDefined()
      expect(stage.events.at(-1)).toMatchObject({
        type: 'app-connected',
        credentialId: grant!.id,
        asked: false,
      })
    }
  })

  it.each([
    ['a higher share', { markup: { ...MARKUP, basisPoints: 2_001 } }],
    ['a higher price per call', { markup: { ...MARKUP, flat: '0.002' } }],
    ['another model', { allowedModels: [FAST, SMART, 'acme/new'] }],
  ])('shows the page again for %s, and fails if the app asked for silence', async (_, fields) => {
    const agent = newUser()
    await getCode(stage, agent)
    await stage.changeApp(fields)
    expect(queryOf(await visit(agent, { prompt: 'none' })).error).toBe('consent_required')
    const page = await openPage(agent, authorizeUrl(stage, pkce))
    expect(textOf(page)).toContain(
      'It asks for more than you agreed to. Until you agree, it goes on as before.',
    )
  })

  it('shows the page again for another scope, and keeps the earlier one', async () => {
    const agent = newUser()
    await getCode(stage, agent)
    const page = await openPage(agent, authorizeUrl(stage, pkce, { scope: 'credits.read' }))
    expect(page.seal).not.toBe('')
    await submit(agent, stage, page)
    const grant = await stage.stores.connect.findConnectedApp(account(), 'notes')
    expect(grant?.scopes).toEqual(['models.run', 'credits.read'])
  })

  it('is skipped if less is requested: a lower markup, fewer models', async () => {
    const agent = newUser()
    await getCode(stage, agent)
    await stage.changeApp({ markup: { basisPoints: 100 }, allowedModels: [FAST] })
    expect(queryOf(await visit(agent)).code).toBeDefined()
  })

  it('shows the page if the app asks for that', async () => {
    const agent = newUser()
    await getCode(stage, agent)
    const page = await openPage(agent, authorizeUrl(stage, pkce, { prompt: 'consent' }))
    expect(page.response.status).toBe(200)
    expect(textOf(page)).toContain('You have connected Notes before.')
  })

  it("shows the page every time for a program on the user's machine, with the earlier answers filled in", async () => {
    const agent = newUser()
    const parameters = { redirect_uri: `${LOOPBACK_REDIRECT.replace('/cb', ':5005/cb')}` }
    await getCode(stage, agent, { parameters, answers: { cap: '3.5', days: 'none' } })
    const page = await openPage(agent, authorizeUrl(stage, pkce, parameters))
    expect(page.text).toMatch(/<input id="cap" [^>]*value="3.5"/)
    expect(page.text).toContain('<option value="none" selected>')
    expect(textOf(page)).toContain('You will be sent to a program on your own computer, at 127.0.0.1 .')
    expect(page.response.headers.get('content-security-policy')).toContain(
      "form-action 'self' http://127.0.0.1:5005",
    )
    expect(queryOf(await visit(agent, { ...parameters, prompt: 'none' })).error).toBe('consent_required')
  })

  it('fills in the current expiry, never a later one, and none once it has passed', async () => {
    const agent = newUser()
    const endOf = async () => (await stage.stores.connect.findConnectedApp(account(), 'notes'))?.endsAt
    const open = () => openPage(agent, authorizeUrl(stage, pkce, { prompt: 'consent' }))
    await getCode(stage, agent, { answers: { days: '30' } })
    const first = await endOf()
    const page = await open()
    const [, chosen = '', label = ''] = /<option value="([^"]*)" selected>([^<]*)</.exec(page.text) ?? []
    expect(chosen).toBe(`until-${first}`)
    const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(first)
    expect(label).toBe(`on ${day}, as before`)
    await submit(agent, stage, page, { days: chosen })
    expect(await endOf()).toBe(first)
    // The same answer, once the end is another one, is none.
    const stale = await open()
    await submit(agent, stage, await open(), { days: '7' })
    expect((await submit(agent, stage, stale, { days: chosen })).status).toBe(400)
    const renewed = await open()
    await submit(agent, stage, renewed, { days: '365' })
    expect(await endOf()).toBeGreaterThan(first!)

    await stage.stores.database.batch([
      {
        text: "update {credentials} set ends_at = 1 where account = ?1 and source = 'connect'",
        parameters: [account()],
      },
    ])
    const ended = await open()
    expect(ended.text).toContain('<option value="" selected>choose when</option>')
    expect(ended.text).not.toContain('as before')
    const unanswered = await submit(agent, stage, ended, { days: '' })
    expect([unanswered.status, await unanswered.text()]).toEqual([
      400,
      expect.stringContaining('Choose when the access ends.'),
    ])
  })

  it('shows the page after the connected app has ended, and after the user has disconnected it', async () => {
    const agent = newUser()
    await getCode(stage, agent)
    await stage.stores.database.batch([
      {
        text: "update {credentials} set ends_at = 1 where account = ?1 and source = 'connect'",
        parameters: [account()],
      },
    ])
    expect((await openPage(agent, authorizeUrl(stage, pkce))).seal).not.toBe('')
    await connectApp(stage, agent)
    expect(queryOf(await visit(agent)).code).toBeDefined()
    await stage.stores.connect.disconnectApp(account(), 'notes', { kind: 'account', name: account() })
    expect((await openPage(agent, authorizeUrl(stage, pkce))).seal).not.toBe('')
  })
})

it('the consent page does not fill in a monthly cap as a daily one', async () => {
  const daily = await openStage({ connect: { cap: { suggested: '5', period: 'day' } } })
  try {
    const agent = new UserAgent(daily.origin, 'alice')
    await connectApp(daily, agent, { answers: { cap: '2' } })
    const open = () => openPage(agent, authorizeUrl(daily, pkce, { prompt: 'consent' }))
    expect((await open()).text).toContain('value="2"')
    const [grant] = await daily.admin.connectedApps.list({ account: 'alice' })
    await daily.admin.connectedApps.setCap(grant!.id, { amount: '40', per: 'month' })
    expect((await open()).text).toContain('value="5"')
    await daily.admin.connectedApps.setCap(grant!.id, { amount: '3', per: 'month' })
    expect((await open()).text).toContain('value="3"')
  } finally {
    await daily.close()
  }
})

it('the consent page of a host with weekly caps says so, and fills in no monthly one', async () => {
  const weekly = await openStage({ connect: { cap: { suggested: '5', period: 'week' } } })
  try {
    const agent = new UserAgent(weekly.origin, 'alice')
    const open = () => openPage(agent, authorizeUrl(weekly, pkce, { prompt: 'consent' }))
    expect(textOf(await open())).toContain('The most it may spend in a week')
    expect(textOf(await open())).toContain('Spent this week: 0.')
    await connectApp(weekly, agent, { answers: { cap: '4' } })
    const [grant] = await weekly.admin.connectedApps.list({ account: 'alice' })
    expect(grant?.cap).toMatchObject({ amount: 4_000_000_000n, per: 'week' })
    await weekly.admin.connectedApps.setCap(grant!.id, { amount: '2', per: 'day' })
    expect((await open()).text).toContain('value="2"')
    await weekly.admin.connectedApps.setCap(grant!.id, { amount: '40', per: 'month' })
    expect((await open()).text).toContain('value="5"')
  } finally {
    await weekly.close()
  }
})

it("the consent page fills in an expiry within the host's limit, even if the current expiry is beyond it", async () => {
  const strict = await openStage({ connect: { end: { maxDays: 60, suggestedDays: 14 } } })
  try {
    const agent = new UserAgent(strict.origin, 'alice')
    const selected = async () =>
      /<option value="([^"]*)" selected>/.exec(
        (await openPage(agent, authorizeUrl(strict, pkce, { prompt: 'consent' }))).text,
      )?.[1]
    await connectApp(strict, agent, { answers: { days: '60' } })
    const [grant] = await strict.admin.connectedApps.list({ account: 'alice' })
    expect(await selected()).toBe(`until-${grant?.endsAt}`)
    await strict.stores.database.all({
      text: "update {credentials} set ends_at = ends_at + 86400000 where source = 'connect'",
      parameters: [],
    })
    expect(await selected()).toBe('14')
  } finally {
    await strict.close()
  }
})

it("on the consent page, a user may choose no cap if the host allows that, and no expiry beyond the host's limit", async () => {
  const lax = await openStage({
    connect: {
      cap: { suggested: '5', required: false, period: 'day' },
      end: { maxDays: 60, suggestedDays: 14 },
    },
  })
  try {
    const agent = new UserAgent(lax.origin, 'alice')
    const page = await openPage(agent, authorizeUrl(lax, pkce))
    expect(textOf(page)).toContain('Leave it empty for no limit.')
    expect(textOf(page)).toContain('Spent today: 0.')
    const choices = [...page.text.matchAll(/<option value="(\w+)"( selected)?/g)].map(
      ([, value, selected]) => (selected === undefined ? value : `${value}!`),
    )
    expect(choices).toEqual(['1', '7', '14!', '30', '60'])
    const none = await submit(agent, lax, page, { cap: '', days: 'none' })
    expect(none.status).toBe(400)
    await submit(agent, lax, page, { cap: ' ', days: '60' })
    expect((await lax.stores.connect.findConnectedApp('alice', 'notes'))?.cap).toBeUndefined()
  } finally {
    await lax.close()
  }
})
