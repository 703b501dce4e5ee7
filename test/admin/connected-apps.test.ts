import { describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { createToken } from '../../src/base/tokens.js'
import type { Cap, Consent } from '../../src/contracts/index.js'
import {
  cachedCredentials,
  createCompatRouter,
  memoryCatalogue,
  memoryProviders,
  openaiCompatible,
  parseCredits,
} from '../../src/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { createDeferred } from '../helpers/deferred.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createFacts, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { RouterHarness } from '../helpers/router-harness.js'
import { answerJson, type Script, startScriptedUpstream, textChunk } from '../helpers/scripted-upstream.js'

const MODEL = 'acme/fast'
/** Credits per million tokens. A call of 10 and 10 tokens costs 0.01 before the markup. */
const PRICES = { input: '500', output: '500' }
const USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
const REPLY = {
  id: 'up-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: USAGE,
}
const BASE = parseCredits('0.01')
/** 20 % and 0.001: a call costs 0.013. */
const MARKUP = { basisPoints: 2_000, flat: '0.001' }
const MARKUP_COST = parseCredits('0.003')
const COST = BASE + MARKUP_COST
const HOUR_MS = 3_600_000

const notes = {
  id: 'notes',
  name: 'Notes',
  markup: MARKUP,
  allowedModels: [MODEL],
  account: 'notes-inc',
  redirectUris: ['https://notes.example/cb'],
}

describe.each(engineNames)('connected apps in %s', (name) => {
  const engine = useEngine(name)
  let count = 0

  async function open() {
    const database = `connected_${count++}`
    const stores = engine.open(database)
    onTestFinished(() => stores.close())
    const admin = createAdmin(stores)
    await openAccounts(stores.database, { alice: '100', bob: '100' })
    await admin.apps.put(notes)
    return { database, stores, admin, consent: (terms = {}) => consent(stores, terms) }
  }

  it('are listed with their cap, its spend, their devices and their last use', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({ cap: capOf('5'), endsAt: Date.now() + HOUR_MS })
    await addDevice(stores, 'phone')
    await addDevice(stores, 'laptop')
    const service = await serve(stores)
    expect((await service.call(await addDevice(stores, 'phone'))).status).toBe(200)
    await consent({ account: 'bob' })
    const [grant, ...others] = await admin.connectedApps.list({ account: 'alice' })
    expect(others).toEqual([])
    expect(grant).toMatchObject({
      id: grantId,
      account: 'alice',
      appId: 'notes',
      appName: 'Notes',
      scopes: ['models.run'],
      models: [MODEL],
      markup: MARKUP,
      cap: capOf('5'),
      spent: COST,
    })
    expect(grant?.devices.map(({ label }) => label).sort()).toEqual(['laptop', 'phone'])
    expect(await stores.connect.spentInPeriod('alice', 'notes', capOf('5'))).toBe(COST)
    expect((await admin.connectedApps.list({ appId: 'notes' })).map(({ account }) => account).sort()).toEqual(
      ['alice', 'bob'],
    )
    expect(await admin.connectedApps.list({ appId: 'notes', limit: 1 })).toHaveLength(1)
    expect(await admin.keys.list({ account: 'alice' })).toEqual([])
    expect(await admin.keys.list({ credentialId: grantId })).toMatchObject([
      { credentialId: grantId, source: 'connect', prefix: '', lastFour: '' },
    ])
  })

  it('show the spend of the period even without a cap', async () => {
    const { admin, stores, consent } = await open()
    await consent({ cap: undefined })
    expect(await stores.connect.spentInPeriod('alice', 'notes', { per: 'month' })).toBe(0n)
    const facts = createFacts('alice', { appId: 'notes' })
    await stores.ledger.settle(createSettle('h-1', 'alice', 700n, { facts }), context)
    const { entries } = await admin.entries.list({ account: 'alice', appId: 'notes' })
    await stores.ledger.settle(createSettle('h-2', 'alice', 5n), context)
    await admin.entries.refund(entries[0]!.id, '0.0000002')
    for (const per of ['month', 'week', 'day'] as const) {
      expect(await stores.connect.spentInPeriod('alice', 'notes', { per })).toBe(500n)
    }
    expect(await stores.connect.spentInPeriod('bob', 'notes', { per: 'month' })).toBe(0n)
  })

  it('share one cap between their devices, markup included, and never exceed it', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({ cap: capOf('0.5') })
    const tokens = [await addDevice(stores, 'phone'), await addDevice(stores, 'laptop')]
    const service = await serve(stores)
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, index) => service.call(tokens[index % 2]!)),
    )
    // 429 if the cap has room once the calls in flight are settled, for they hold more than they cost.
    while ((await service.call(tokens[0]!)).status === 200);
    expect(replies.filter(({ status }) => status !== 200 && status !== 402 && status !== 429)).toEqual([])
    expect(replies.some(({ status }) => status === 200)).toBe(true)
    const [spent] = await admin.reports.spend({ by: 'app', account: 'alice' })
    expect(spent?.cost).toBeLessThanOrEqual(parseCredits('0.5'))
    expect((await admin.connectedApps.list({ account: 'alice' }))[0]?.spent).toBe(spent?.cost)
    expect(spent!.cost % COST).toBe(0n)

    // Connecting again in the same period goes on counting.
    await admin.connectedApps.revoke(grantId)
    const again = await consent({ cap: capOf('0.5') })
    expect(again.connectedAppId).not.toBe(grantId)
    expect((await service.call(await addDevice(stores, 'phone again'))).status).toBe(402)
    expect((await admin.connectedApps.list({ connectedAppIds: [again.connectedAppId] }))[0]?.spent).toBe(
      spent?.cost,
    )
    expect((await admin.connectedApps.list({ connectedAppIds: [grantId] }))[0]?.cap).toBeUndefined()
  })

  it('apply a new cap from the next call, and keep the spend', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({ cap: capOf('0.3') })
    const token = await addDevice(stores, 'phone')
    const service = await serve(stores)
    while ((await service.call(token)).status === 200);
    await admin.connectedApps.setCap(grantId, { amount: '0.6', per: 'month' })
    await service.until(token, 200)
    await admin.connectedApps.setCap(grantId, { amount: '0.01', per: 'month' }, { account: 'alice' })
    await service.until(token, 402)
    await admin.connectedApps.setCap(grantId, null)
    await service.until(token, 200)
    const history = await admin.connectedApps.listHistory(grantId)
    expect(history.filter(({ kind }) => kind === 'cap-changed').map(({ by, terms }) => [by, terms])).toEqual([
      ['operator', { cap: null }],
      ['alice', { cap: { amount: '0.01', per: 'month' } }],
      ['operator', { cap: { amount: '0.6', per: 'month' } }],
    ])
  })

  it.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago'])(
    'keep the time zone of their cap, %s, and the spend with it',
    async (zone) => {
      const { stores, admin, consent } = await open()
      const { connectedAppId: grantId } = await consent({
        cap: { ...capOf('0.3'), zone },
        capRule: { required: false, per: 'month', zone },
      })
      const token = await addDevice(stores, 'phone')
      const service = await serve(stores)
      while ((await service.call(token)).status === 200);
      const capAndSpend = async () => {
        const [grant] = await admin.connectedApps.list({ connectedAppIds: [grantId] })
        return [grant?.cap, grant?.spent]
      }
      const [, spent] = await capAndSpend()
      expect(spent).toBeGreaterThan(0n)
      await admin.connectedApps.setCap(grantId, { amount: '0.2', per: 'month' }, { account: 'alice' })
      expect(await capAndSpend()).toEqual([{ ...capOf('0.2'), zone }, spent])
      await admin.connectedApps.setCap(grantId, { amount: '0.14', per: 'month' })
      expect(await capAndSpend()).toEqual([{ ...capOf('0.14'), zone }, spent])
      await service.until(token, 402)
      // The zone of the host is known also if there was no cap in between.
      await admin.connectedApps.setCap(grantId, null, { account: 'alice' })
      await admin.connectedApps.setCap(grantId, { amount: '0.14', per: 'month' }, { account: 'alice' })
      expect(await capAndSpend()).toEqual([{ ...capOf('0.14'), zone }, spent])
      await admin.connectedApps.setCap(grantId, { amount: '0.14', per: 'month', zone: 'UTC' })
      expect(await capAndSpend()).toEqual([{ ...capOf('0.14'), zone: 'UTC' }, 0n])
    },
  )

  it('keep a cap that the host requires, up to its maximum, unless the operator changes it', async () => {
    const { admin, consent } = await open()
    const rule = { required: true, per: 'month', max: parseCredits('62') } as const
    const { connectedAppId: grantId } = await consent({ cap: capOf('5'), capRule: rule })
    const alice = { account: 'alice' }
    await expect(admin.connectedApps.setCap(grantId, null, alice)).rejects.toThrow('The app needs a cap')
    await expect(
      admin.connectedApps.setCap(grantId, { amount: '62.1', per: 'month' }, alice),
    ).rejects.toThrow('cap.amount: must be at most 62 per month')
    for (const per of ['day', 'week'] as const) {
      await expect(admin.connectedApps.setCap(grantId, { amount: '2', per }, alice)).rejects.toThrow(
        'cap.per: must be month, as the maximum is per month',
      )
    }
    for (const zone of ['Asia/Tokyo', 'America/New_York']) {
      await expect(
        admin.connectedApps.setCap(grantId, { amount: '62', per: 'month', zone }, alice),
      ).rejects.toThrow('cap.zone: must be UTC, in which the maximum counts')
    }
    const cap = async () => (await admin.connectedApps.list(alice))[0]?.cap
    expect(await cap()).toEqual(capOf('5'))
    await admin.connectedApps.setCap(grantId, { amount: '61', per: 'month', zone: 'UTC' }, alice)
    expect(await cap()).toEqual({ ...capOf('61'), zone: 'UTC' })
    await admin.connectedApps.setCap(grantId, { amount: '62', per: 'month' }, alice)
    expect(await cap()).toEqual({ ...capOf('62'), zone: 'UTC' })
    await admin.connectedApps.setCap(grantId, { amount: '100', per: 'month' })
    await admin.connectedApps.setCap(grantId, null)
    expect(await cap()).toBeUndefined()
    await consent({ capRule: { required: false, per: 'month' } })
    await admin.connectedApps.setCap(grantId, { amount: '1', per: 'month' }, alice)
    await admin.connectedApps.setCap(grantId, null, alice)
    expect(await cap()).toBeUndefined()
  })

  it('pay the old terms after the app has raised its markup, until the user consents again', async () => {
    const { stores, admin, consent } = await open()
    await consent({})
    const token = await addDevice(stores, 'phone')
    const service = await serve(stores)
    const charge = async () => {
      const { status, body } = await service.call(token)
      expect(status).toBe(200)
      return parseCredits(String(body.usage!.cost))
    }
    expect(await charge()).toBe(COST)
    await admin.apps.put({ ...notes, markup: { basisPoints: 90_000, flat: '1' } })
    expect(await charge()).toBe(COST)
    await admin.apps.put({ ...notes, markup: { basisPoints: 1_000 } })
    await until(async () => (await charge()) === parseCredits('0.011'))
    await admin.apps.put({ ...notes, markup: { basisPoints: 90_000, flat: '1' } })
    await until(async () => (await charge()) === COST)
    await consent({ markup: { basisPoints: 90_000, flat: '1' } })
    await until(async () => (await charge()) === parseCredits('1.1'))
  })

  it('are refused within a second in another process once revoked, and the running stream is settled', async () => {
    const { database, stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({ cap: capOf('5') })
    const token = await addDevice(stores, 'phone')
    const other = engine.open(database)
    onTestFinished(() => other.close())
    const release = createDeferred<void>()
    const service = await serve(other, async (reply) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(`data: ${JSON.stringify(textChunk('Hel'))}\n\n`)
      await release.promise
      const last = { ...textChunk('lo'), usage: USAGE }
      await reply.write(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`)
      reply.end()
    })
    const stream = await service.post(token, { stream: true })
    const reader = stream.body!.getReader()
    await reader.read()
    expect(await admin.connectedApps.revoke(grantId, { account: 'alice' })).toBe(true)
    await until(async () => {
      const headers = { authorization: `Bearer ${token}` }
      const answer = await fetch(`${service.address}/models`, { headers })
      await answer.arrayBuffer()
      return answer.status === 401
    })
    release.resolve()
    while (!(await reader.read()).done);
    await service.ended(stream.headers.get('x-request-id')!)
    expect(await admin.accounts.balance('alice')).toMatchObject({
      posted: parseCredits('100') - COST,
      held: 0n,
    })
    expect((await admin.connectedApps.list({ connectedAppIds: [grantId] }))[0]?.revokedAt).toEqual(
      expect.any(Number),
    )
  })

  it('can lose one device and keep the others', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({})
    const [phone, laptop] = [await addDevice(stores, 'phone'), await addDevice(stores, 'laptop')]
    const service = await serve(stores)
    const [grant] = await admin.connectedApps.list({ account: 'alice' })
    const device = grant!.devices.find(({ label }) => label === 'phone')!
    expect(await admin.connectedApps.removeDevice(grantId, device.connectionId, { account: 'bob' })).toBe(
      false,
    )
    expect(await admin.connectedApps.removeDevice('none', device.connectionId)).toBe(false)
    expect(await admin.connectedApps.removeDevice(grantId, device.connectionId, { account: 'alice' })).toBe(
      true,
    )
    expect(await admin.connectedApps.removeDevice(grantId, device.connectionId, { account: 'alice' })).toBe(
      false,
    )
    await service.until(phone, 401)
    expect((await service.call(laptop)).status).toBe(200)
    expect((await admin.connectedApps.list({ account: 'alice' }))[0]?.devices).toMatchObject([
      { label: 'laptop' },
    ])
  })

  it('have no device once all have ended, until another device is connected or the connection is revoked', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({})
    await addDevice(stores, 'phone')
    const devices = async () =>
      (await admin.connectedApps.list({ account: 'alice' }))[0]!.devices.map(({ label }) => label)
    expect(await devices()).toEqual(['phone'])
    await consent({ endsAt: Date.now() - HOUR_MS })
    expect(await devices()).toEqual([])
    await consent({})
    expect(await devices()).toEqual([])
    await addDevice(stores, 'laptop')
    expect(await devices()).toEqual(['laptop'])
    await admin.connectedApps.revoke(grantId)
    expect(await devices()).toEqual([])
  })

  it('cannot be seen or changed by anybody but their user', async () => {
    const { admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({})
    const mallory = { account: 'mallory' }
    expect(await admin.connectedApps.revoke(grantId, mallory)).toBe(false)
    await expect(admin.connectedApps.setCap(grantId, null, mallory)).rejects.toThrow(
      'There is no connected app',
    )
    expect(await admin.connectedApps.listHistory(grantId, mallory)).toEqual([])
    expect(await admin.connectedApps.list(mallory)).toEqual([])
    expect(await admin.connectedApps.list({ account: 'alice', inUse: true })).toHaveLength(1)
    const { credentialId: key } = await admin.keys.issue({ account: 'alice' })
    expect(await admin.connectedApps.revoke(key)).toBe(false)
  })

  it('keep a history of the terms as shown, of devices, and of who revoked them', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({ cap: capOf('5'), endsAt: 4_000_000_000_000 })
    await addDevice(stores, 'phone')
    await consent({ models: [] })
    await stores.connect.endConnection('phone', 'replayed')
    await admin.connectedApps.revoke(grantId, { account: 'alice' })
    expect(await admin.connectedApps.revoke(grantId)).toBe(false)
    const history = await admin.connectedApps.listHistory(grantId, { account: 'alice' })
    expect(new Set(history.map(({ kind, by, terms }) => ({ kind, by, ...(terms && { terms }) })))).toEqual(
      new Set([
        { kind: 'revoked', by: 'alice' },
        { kind: 'device-removed', by: 'app', terms: { connectionId: 'phone', reason: 'replayed' } },
        { kind: 'consented', by: 'alice', terms: { ...shown, models: [] } },
        { kind: 'device-added', by: 'alice', terms: { connectionId: 'phone', label: 'phone' } },
        {
          kind: 'connected',
          by: 'alice',
          terms: { ...shown, cap: { amount: '5', per: 'month' }, endsAt: 4_000_000_000_000 },
        },
      ]),
    )
    await expect(admin.connectedApps.setCap(grantId, null)).rejects.toThrow('is revoked')
  })

  it('distinguish in their history an account named "operator" from the operator, however the connection is revoked', async () => {
    const { stores, admin, consent } = await open()
    const by = async (grantId: string) => {
      const history = await admin.connectedApps.listHistory(grantId)
      return history.filter(({ kind }) => kind === 'revoked').map(({ by, byKind }) => [by, byKind])
    }
    const account = 'operator'
    const revokeAll = [
      (id: string) => admin.keys.revoke(id, { account }),
      (id: string) => admin.connectedApps.revoke(id, { account }),
    ]
    for (const revoke of revokeAll) {
      const { connectedAppId: grantId } = await consent({ account })
      expect(await admin.keys.revoke(grantId, { account: 'mallory' })).toBe(false)
      expect(await revoke(grantId)).toBe(true)
      expect(await by(grantId)).toEqual([['operator', 'account']])
    }
    const { connectedAppId: grantId } = await consent({ account })
    expect(await admin.keys.revoke(grantId)).toBe(true)
    expect(await by(grantId)).toEqual([['operator', 'operator']])
    const { connectedAppId: ofApp } = await consent({ account: 'app' })
    await addDevice(stores, 'phone', 'app')
    await stores.connect.endConnection('phone', 'revoked')
    // Sorted, since events of one millisecond have no order.
    const history = (await admin.connectedApps.listHistory(ofApp)).map((event) => [
      event.kind,
      event.by,
      event.byKind,
    ])
    expect(history.sort()).toEqual([
      ['connected', 'app', 'account'],
      ['device-added', 'app', 'account'],
      ['device-removed', 'app', 'app'],
    ])
  })

  it('have a device once it has a token, and a connection without one is removed after an hour', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({})
    const { connect, database } = stores
    for (const id of ['one', 'two']) {
      expect(await connect.addConnection({ id, account: 'alice', appId: 'notes', label: id })).toBe(true)
    }
    const devices = async () =>
      (await admin.connectedApps.list({ account: 'alice' }))[0]!.devices.map(({ label }) => label)
    const kinds = async () => (await admin.connectedApps.listHistory(grantId)).map(({ kind }) => kind)
    expect([await devices(), await kinds()]).toEqual([[], ['connected']])
    const token = { connectionId: 'one', scopes: ['models.run'], expiresAt: Date.now() + HOUR_MS }
    for (let time = 0; time < 2; time++)
      await connect.saveToken({ ...token, token: createToken('access-token') })
    expect([await devices(), await kinds()]).toEqual([['one'], ['device-added', 'connected']])
    expect(await connect.sweep(10)).toBe(0)
    await database.all({ text: 'update {connections} set created_at = created_at - 3600001', parameters: [] })
    expect(await connect.sweep(10)).toBe(1)
    expect(await connect.findConnection('two')).toBeUndefined()
    expect(await connect.findConnection('one')).toBeDefined()
    expect(await devices()).toEqual(['one'])
  })

  it('can be revoked like a key but not reissued', async () => {
    const { stores, admin, consent } = await open()
    const { connectedAppId: grantId } = await consent({})
    await addDevice(stores, 'phone')
    await expect(admin.keys.reissue(grantId)).rejects.toThrow('cannot be reissued')
    expect(await admin.keys.revoke(grantId)).toBe(true)
    expect((await admin.connectedApps.listHistory(grantId))[0]).toMatchObject({
      kind: 'revoked',
      by: 'operator',
    })
    expect(await stores.connect.findConnectedApp('alice', 'notes')).toBeUndefined()
  })

  it('show their owner figures that equal the ledger, including refunds', async () => {
    const { stores, admin, consent } = await open()
    await openAccounts(stores.database, { 'notes-inc': '100' })
    for (const account of ['alice', 'bob', 'notes-inc']) await consent({ account })
    const service = await serve(stores)
    for (const account of ['alice', 'bob', 'bob', 'notes-inc']) {
      expect((await service.call(await addDevice(stores, createToken('api-key'), account))).status).toBe(200)
    }
    const [charge] = (await admin.entries.list({ payer: 'alice' })).entries
    await admin.entries.refund(charge!.id, '0.007', { reference: 'refund-1' })
    const figures = await admin.reports.appFigures({ appId: 'notes' })
    const { entries } = await admin.entries.list({ account: 'notes-inc', appId: 'notes' })
    const posted = entries
      .filter(({ facts }) => facts?.account !== 'notes-inc')
      .flatMap(({ postings }) => postings)
      .filter(({ account }) => account === 'notes-inc')
      .reduce((sum, { amount }) => sum + amount, 0n)
    expect(figures).toEqual({ users: 3, calls: 4, earned: posted })
    expect(posted).toBeGreaterThan(2n * MARKUP_COST)
    expect(posted).toBeLessThan(3n * MARKUP_COST)
    expect(await admin.reports.appFigures({ appId: 'notes', from: Date.now() + HOUR_MS })).toEqual({
      users: 3,
      calls: 0,
      earned: 0n,
    })
    expect(await admin.reports.appFigures({ appId: 'nobody' })).toBeUndefined()
  })
})

const shown = {
  appName: 'Notes',
  redirectHost: 'notes.example',
  scopes: ['models.run'],
  models: [MODEL],
  markup: MARKUP,
}

/** Waits for a change that other processes know of within a second, whenever they answer what they are asked later. */
async function until(isDone: () => Promise<boolean>) {
  const since = performance.now()
  for (;;) {
    const askedAt = performance.now()
    if (await isDone()) return
    expect(askedAt - since).toBeLessThan(1_000)
  }
}

function capOf(amount: string): Cap {
  return { amount: parseCredits(amount), per: 'month' }
}

async function consent(stores: DurableStores, terms: Partial<Consent>) {
  const answer = await stores.connect.consent({ account: 'alice', appId: 'notes', ...shown, ...terms })
  return answer!
}

/** Adds a device, unless there is one, and returns a token of it. */
async function addDevice(stores: DurableStores, id: string, account = 'alice'): Promise<string> {
  await stores.connect.addConnection({ id, account, appId: 'notes', label: id })
  const token = createToken('access-token')
  const saved = { token, connectionId: id, scopes: ['models.run'], expiresAt: Date.now() + HOUR_MS }
  expect(await stores.connect.saveToken(saved)).toBe(true)
  return token
}

/** The part of a reply that the tests read. A refusal has no usage. */
interface Body {
  readonly usage?: { readonly cost: number }
}

/** A router over these stores, as one of a host's processes. */
async function serve(stores: DurableStores, script: Script = answerJson(REPLY)) {
  const upstream = await startScriptedUpstream()
  upstream.script(script)
  const adapter = openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: 'sk-upstream' })
  const credentials = cachedCredentials(stores.credentials)
  const harness = new RouterHarness()
  const router = createCompatRouter({
    stores: {
      credentials,
      catalogue: memoryCatalogue([{ id: MODEL, prices: PRICES }]),
      providers: memoryProviders([{ id: 'p', models: { [MODEL]: 'm' }, adapter }]),
      ledger: stores.ledger,
      calls: stores.calls,
    },
    onEvent: harness.take,
  })
  const { baseUrl: address } = await harness.serve(router)
  onTestFinished(async () => {
    await router.close({ graceMs: 1_000 })
    credentials.close()
    await adapter.close?.()
    await upstream.close()
    await harness.close()
  })
  const post = (token: string, more = {}) =>
    fetch(`${address}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: 'Hi' }],
        max_tokens: 10,
        ...more,
      }),
    })
  return {
    address,
    post,
    async call(token: string) {
      const response = await post(token)
      return { status: response.status, body: (await response.json()) as Body }
    },
    /** Calls until the status is this one. */
    async until(token: string, status: number) {
      await until(async () => (await this.call(token)).status === status)
    },
    /** Resolves when a request has ended, and thus has been settled. */
    ended: (requestId: string) => harness.event('request-end', requestId),
  }
}
