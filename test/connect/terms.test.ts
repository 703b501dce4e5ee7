import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { postgresStores } from '../../src/postgres/index.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { engineNames } from '../helpers/engines.js'
import { freePort } from '../helpers/free-port.js'
import { createTestDatabase } from '../helpers/postgres.js'
import { type ScriptedReply, sse, startScriptedUpstream, textChunk } from '../helpers/scripted-upstream.js'
import { createTestFile } from '../helpers/sqlite.js'
import { startHost } from './host-process.js'
import { FAST, furnish, MARKUP, NOTES, openStage, SMART, type Stage, USAGE } from './stage.js'
import {
  authorizeUrl,
  call,
  connectApp,
  createPkce,
  exchange,
  getCode,
  openPage,
  type Place,
  refresh,
  refusedWithinASecond,
  submit,
  type Tokens,
  UserAgent,
} from './user-agent.js'

interface Reply {
  readonly usage: { readonly cost: number }
}
const costOf = async (response: Response): Promise<number> => ((await response.json()) as Reply).usage.cost
/** A call whose prompt has as many tokens as the provider reports, so that its hold covers its charge. */
const HONEST = { max_tokens: 500, messages: [{ role: 'user', content: 'word '.repeat(1_000) }] }
/** 1,000 x 0.45 and 500 x 1.2 millionths. */
const BASE = 0.00105

describe('the calls of a connected app', () => {
  let stage: Stage
  let agent: UserAgent
  beforeEach(async () => {
    stage = await openStage()
    agent = new UserAgent(stage.origin, 'alice')
  })
  afterEach(() => stage.close())

  const earnings = async (): Promise<bigint> =>
    (await stage.admin.accounts.balance('notes-earnings'))?.posted ?? 0n

  it('cost what the consent page said, and earn the app its markup', async () => {
    const { access_token: token } = await connectApp(stage, agent)
    expect(await costOf(await call(stage, token))).toBe(0.00226)
    expect(await earnings()).toBe(1_210_000n)
  })

  it('keep the old terms if the app raises its markup, until the user consents again', async () => {
    const tokens = await connectApp(stage, agent)
    await stage.changeApp({ markup: { basisPoints: 9_000, flat: '0.5' } })
    expect(await costOf(await call(stage, tokens.access_token))).toBe(0.00226)
    const refreshed = (await (await refresh(stage, tokens.refresh_token)).json()) as Tokens
    expect(await costOf(await call(stage, refreshed.access_token))).toBe(0.00226)
    const page = await openPage(agent, authorizeUrl(stage, createPkce()))
    expect(page.text).toContain('Notes adds 90 % and 0.5 credits per call')
    await submit(agent, stage, page, { answer: 'deny' })
    expect(await costOf(await call(stage, refreshed.access_token))).toBe(0.00226)
    await submit(agent, stage, await openPage(agent, authorizeUrl(stage, createPkce())))
    expect(await costOf(await call(stage, refreshed.access_token))).toBe(0.501995)
  })

  it('get cheaper at once if the app lowers its markup, and the earlier consent stays valid', async () => {
    const { access_token: token } = await connectApp(stage, agent)
    await stage.changeApp({ markup: { basisPoints: 0 } })
    expect(await costOf(await call(stage, token))).toBe(BASE)
    await stage.changeApp({ markup: MARKUP })
    expect(await costOf(await call(stage, token))).toBe(0.00226)
  })

  it('are limited to the models that the user has seen and the app still has', async () => {
    await stage.changeApp({ allowedModels: [FAST] })
    const { access_token: token } = await connectApp(stage, agent)
    await stage.changeApp({ allowedModels: [FAST, SMART] })
    expect((await call(stage, token, { model: SMART })).status).toBe(403)
    await submit(agent, stage, await openPage(agent, authorizeUrl(stage, createPkce())))
    expect((await call(stage, token, { model: SMART })).status).toBe(200)
    await stage.changeApp({ allowedModels: [SMART] })
    expect((await call(stage, token)).status).toBe(403)
  })

  it('reach later models only if the user agreed to all, at the price of the catalogue and the agreed markup', async () => {
    const { access_token: token } = await connectApp(stage, agent)
    await stage.changeApp({ allowedModels: 'all', markup: { basisPoints: 9_000, flat: '0.5' } })
    await stage.admin.models.put({ id: 'acme/later', prices: { input: '4.5', output: '12' } })
    const route = { model: 'acme/later', provider: 'acme', adapter: 'openai', upstreamModel: 'up-later' }
    await stage.admin.routes.put({ id: 'later', ...route, settings: { baseUrl: stage.upstream.baseUrl } })
    const later = () => call(stage, token, { ...HONEST, model: 'acme/later' })
    expect((await later()).status).toBe(403)

    await stage.changeApp({ markup: MARKUP })
    const page = await openPage(agent, authorizeUrl(stage, createPkce()))
    expect(page.text).toContain('All models of Acme, later ones too. A later model may cost more.')
    expect(page.text).toContain('It asks for more than you agreed to.')
    await submit(agent, stage, page)
    await stage.changeApp({ markup: { basisPoints: 9_000, flat: '0.5' } })
    await expect.poll(async () => (await later()).status).toBe(200)
    // Ten times the price of the fast model, with 20 % and 0.001 for the app.
    expect(await costOf(await later())).toBeCloseTo(BASE * 10 * 1.2 + 0.001, 9)

    await stage.changeApp({ allowedModels: [FAST] })
    await expect.poll(async () => (await later()).status).toBe(403)
  })

  it('stop at the cap, without exceeding it with 50 concurrent calls, and work again once it is raised', async () => {
    const { access_token: token } = await connectApp(stage, agent, { answers: { cap: '0.05' } })
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await call(stage, token, HONEST)
        await response.arrayBuffer()
        return response.status
      }),
    )
    const passed = statuses.filter((status) => status === 200).length
    expect(passed).toBeGreaterThan(0)
    expect(passed).toBeLessThan(50)
    expect(statuses.filter((status) => ![200, 402, 429].includes(status))).toEqual([])
    // Then one after the other, until none fits.
    for (let calls = 0; calls < 50; calls++) {
      if ((await call(stage, token, HONEST)).status === 402) break
    }
    const spent = await stage.stores.connect.spentInPeriod('alice', 'notes', { per: 'month' })
    expect(spent).toBeLessThanOrEqual(50_000_000n)
    expect(spent).toBeGreaterThan(45_000_000n)
    const refused = await call(stage, token, HONEST)
    expect([refused.status, await refused.json()]).toMatchObject([
      402,
      { error: { code: 'budget_exceeded' } },
    ])

    const page = await openPage(agent, authorizeUrl(stage, createPkce(), { prompt: 'consent' }))
    expect(page.text).toContain('value="0.05"')
    expect(page.text).toMatch(/Spent this month: 0\.04\d+\./)
    await submit(agent, stage, page, { cap: '0.1' })
    expect((await call(stage, token, HONEST)).status).toBe(200)
  })

  it('share the cap between all devices, and an app connected anew in the same month starts with the amount already spent', async () => {
    const first = await connectApp(stage, agent, { answers: { cap: '0.005' } })
    const second = await connectApp(stage, agent, {
      parameters: { prompt: 'consent' },
      answers: { cap: '0.005' },
    })
    expect((await call(stage, first.access_token, HONEST)).status).toBe(200)
    await expect.poll(async () => (await stage.admin.accounts.balance('alice'))?.held).toBe(0n)
    await stage.stores.connect.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' })
    expect((await call(stage, second.access_token)).status).toBe(401)
    const page = await openPage(agent, authorizeUrl(stage, createPkce()))
    expect(page.text).toContain('Spent this month: 0.00226.')
    const third = await connectApp(stage, agent, { answers: { cap: '0.004' } })
    expect((await call(stage, third.access_token, HONEST)).status).toBe(402)
  })
})

it('a revoked connection is refused in another process within a second, and its running stream is settled', {
  timeout: 60_000,
}, async () => {
  const stage = await openStage()
  const port = await freePort()
  const host = await startHost({ engine: 'SQLite', place: stage.file, port, origin: stage.origin })
  try {
    const other: Place = { ...stage, routerUrl: `http://127.0.0.1:${port}/compat/v1` }
    const agent = new UserAgent(stage.origin, 'alice')
    const { access_token: token } = await connectApp(stage, agent)
    expect((await call(other, token)).status).toBe(200)
    const begun = createDeferred<ScriptedReply>()
    stage.upstream.scriptOnce(async (reply) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('Hello')]))
      begun.resolve(reply)
    })
    const stream = await call(other, token, { stream: true, stream_options: { include_usage: true } })
    const upstream = await begun.promise
    await stage.stores.connect.disconnectApp('alice', 'notes', { kind: 'account', name: 'alice' })
    await refusedWithinASecond(other, token)
    expect((await call(stage, token)).status).toBe(401)
    const before = (await stage.admin.accounts.balance('alice'))!.posted

    await upstream.write(
      `${sse([textChunk(' again'), { ...textChunk(''), choices: [], usage: USAGE }])}data: [DONE]\n\n`,
    )
    upstream.end()
    const text = await stream.text()
    expect(text).toContain('Hello')
    expect(text).toContain('data: [DONE]')
    await expect.poll(async () => (await stage.admin.accounts.balance('alice'))?.held).toBe(0n)
    expect(before - (await stage.admin.accounts.balance('alice'))!.posted).toBe(2_260_000n)
  } finally {
    await host.kill()
    await stage.close()
  }
})

it.each(engineNames)(
  'on %s, codes, connected apps and refresh tokens survive the death of a process',
  {
    timeout: 120_000,
  },
  async (engine) => {
    const file = engine === 'SQLite' ? await createTestFile() : undefined
    const database = engine === 'SQLite' ? undefined : await createTestDatabase()
    const place = file?.file ?? database!.url
    const stores = file === undefined ? postgresStores(database!.pool) : sqliteStores({ file: place })
    const upstream = await startScriptedUpstream()
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const here: Place = { origin, issuer: `${origin}/connect`, routerUrl: `${origin}/compat/v1` }
    const settings = { engine, place, port, origin }
    try {
      await stores.ready()
      const admin = createAdmin(stores)
      await furnish(admin, upstream.baseUrl)
      await admin.apps.put(NOTES)
      const agent = new UserAgent(origin, 'alice')
      let host = await startHost(settings)
      const page = await openPage(agent, authorizeUrl(here, createPkce()))
      const ready = await getCode(here, new UserAgent(origin, 'bob'))
      await host.kill()

      host = await startHost(settings)
      const answered = await submit(agent, here, page)
      expect(answered.headers.get('location')).toContain('code=')
      const tokens = (await (await exchange(here, ready)).json()) as Tokens
      expect(tokens.refresh_token).toMatch(/^rt-cr-/)
      await host.kill()

      host = await startHost(settings)
      const refreshed = (await (await refresh(here, tokens.refresh_token)).json()) as Tokens
      expect(refreshed.access_token).toMatch(/^at-cr-/)
      expect((await exchange(here, ready)).status).toBe(400)
      expect((await refresh(here, refreshed.refresh_token)).status).toBe(400)
      await host.kill()
    } finally {
      await stores.close()
      await upstream.close()
      file?.remove()
      await database?.drop()
    }
  },
)
