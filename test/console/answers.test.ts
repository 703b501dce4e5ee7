import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { openaiCompatible } from '../../src/index.js'
import { alice, type Bench, bob, furnish, operator, startBench } from './console-bench.js'

let bench: Bench
let key: { credentialId: string; token: string }
let other: { credentialId: string; token: string }

beforeAll(async () => {
  bench = await startBench({ adapters: { openai: openaiCompatible } })
  await furnish(bench)
  key = await bench.admin.keys.issue({ account: 'alice', label: 'Laptop of Alice' })
  other = await bench.admin.keys.issue({ account: 'alice' })
  for (const { token } of [key, other]) expect(await bench.call(token)).toMatchObject({ status: 200 })
  await vi.waitFor(
    async () => {
      expect((await calls('')).filter(({ kind }) => kind === 'charge')).toHaveLength(2)
    },
    { timeout: 60_000 },
  )
})

afterAll(() => bench.close())

async function calls(query: string, viewer = operator) {
  return (await bench.as(viewer).get<ReplyOf<'entries'>>(`api/entries${query}`)).json.entries
}

describe("a call in the console's API", () => {
  it.each([operator, alice])('has the label of its key and the current prices, for $kind', async (viewer) => {
    const currentPrices = {
      of: 'model',
      prices: { input: '3.333333333', output: '7.77' },
      priceVersion: 'v1',
    }
    const [entry] = await calls(`?key=${key.credentialId}`, viewer)
    expect(entry).toMatchObject({
      facts: { credentialId: key.credentialId, credentialLabel: 'Laptop of Alice' },
      charge: { priceVersion: 'v1', currentPrices },
    })
    const { json } = await bench.as(viewer).get<ReplyOf<'events'>>('api/events?account=alice')
    const event = json.events.find(({ facts }) => facts?.credentialId === key.credentialId)
    expect(event).toMatchObject({
      facts: { credentialLabel: 'Laptop of Alice' },
      charge: { currentPrices },
    })
  })

  it('has the prices of its route if the route has its own', async () => {
    const route = { model: 'acme/fast', provider: 'fake', adapter: 'fake', upstreamModel: 'x' }
    const prices = { input: '1', output: '2' }
    await bench.admin.routes.put({ ...route, id: 'r:acme/fast', prices })
    const [entry] = await calls(`?key=${key.credentialId}`)
    expect(entry?.charge?.currentPrices).toEqual({ of: 'route', prices, priceVersion: 'v1' })
    await bench.admin.routes.put({ ...route, id: 'r:acme/fast' })
  })

  it('has no label if its key has none', async () => {
    const [entry] = await calls(`?key=${other.credentialId}`)
    expect(entry?.facts).not.toHaveProperty('credentialLabel')
  })

  it('is found by its key, but only by the account that paid', async () => {
    expect(await calls(`?key=${key.credentialId}`)).toHaveLength(1)
    expect(await calls(`?key=${key.credentialId}`, alice)).toHaveLength(1)
    expect(await calls(`?key=${key.credentialId}`, bob)).toEqual([])
    expect(await calls('?key=none')).toEqual([])
  })

  it('has its outcome in a column of the CSV file', async () => {
    const { text } = await bench.as(operator).get(`api/entries.csv?key=${key.credentialId}`)
    const [header, row, ...rest] = text.split('\r\n')
    expect(header).toMatch(/,ended$/)
    expect(row).toMatch(/,completed$/)
    expect(rest).toEqual([''])
  })
})

describe("a hold in the console's API", () => {
  it('belongs to a call in this process or to a dead one, with the time of its release', async () => {
    const context = { requestId: 'gone', signal: new AbortController().signal }
    const expiresAt = Date.now() + 600_000
    const held = await bench.stores.ledger.hold(
      {
        holdId: 'gone-1',
        account: 'alice',
        amount: 5n,
        ttlMs: 600_000,
        facts: {
          requestId: 'gone-1',
          account: 'alice',
          credentialId: key.credentialId,
          model: 'acme/fast',
        },
      },
      context,
    )
    expect(held).toMatchObject({ ok: true })
    const release = bench.holdUp()
    const call = bench.call(key.token)
    const inFlight = async () => (await bench.as(operator).get<ReplyOf<'live'>>('api/live')).json.inFlight
    await expect.poll(async () => (await inFlight()).filter(({ holdAmount }) => holdAmount)).toHaveLength(2)
    const shown = await inFlight()
    const here = shown.find(({ requestId }) => requestId !== 'gone-1')
    expect(here).toMatchObject({ isHere: true, startedAt: expect.any(Number) })
    expect(here).not.toHaveProperty('freedAt')
    const gone = shown.find(({ requestId }) => requestId === 'gone-1')
    expect(gone).toMatchObject({ isHere: false, freedAt: expect.any(Number) })
    expect(Math.abs(gone!.freedAt! - expiresAt)).toBeLessThan(60_000)
    release()
    await call
  })
})

describe("keys in the console's API", () => {
  it('are listed newest first', async () => {
    const { json } = await bench.as(alice).get<ReplyOf<'keys'>>('api/keys')
    const ids = json.credentials.map(({ credentialId }) => credentialId)
    expect(ids).toEqual(ids.toSorted().reverse())
    // Keys made within the same millisecond may come in either order.
    expect(ids.slice(0, 2).toSorted()).toEqual([key.credentialId, other.credentialId].toSorted())
  })

  it.each([
    ['issue', () => ({ account: 'alice' })],
    ['issue-token', () => ({ account: 'alice', appId: 'notes' })],
    ['reissue', () => ({ credentialId: other.credentialId })],
  ])('cannot be created with an expiry in the past: %s', async (path, body) => {
    const expiresAt = Date.now() - 1_000
    const answer = await bench.as(alice).post(`api/keys/${path}`, { ...body(), expiresAt })
    expect(answer).toMatchObject({
      status: 400,
      json: {
        error: { field: 'expiresAt', message: expect.stringMatching(/^expiresAt must be in the future/) },
      },
    })
  })
})

describe("a route in the console's API", () => {
  const route = { id: 'mine', model: 'acme/fast', provider: 'p', adapter: 'openai', upstreamModel: 'u' }
  const settings = { baseUrl: 'https://api.example.com/v1' }

  it.each([
    ['no address', {}, 'settings.baseUrl', /^settings\.baseUrl is missing; it must be an absolute URL/],
    [
      'an address with a query',
      { baseUrl: 'https://a.example/?q' },
      'settings.baseUrl',
      /must not have a query/,
    ],
    ['headers of numbers', { ...settings, headers: { a: 5 } }, undefined, /^settings/],
  ])('is refused if its adapter cannot be created: %s', async (_, given, field, message) => {
    const answer = await bench.as(operator).post('api/routes/put', { ...route, settings: given })
    expect(answer).toMatchObject({
      status: 400,
      json: {
        error: {
          field: field ?? expect.stringMatching(/^settings/),
          message: expect.stringMatching(message),
        },
      },
    })
    expect((await bench.admin.routes.list()).map(({ id }) => id)).not.toContain('mine')
  })

  it('for a missing model is stored with a warning, and listed with the reason why it is unusable', async () => {
    const body = { ...route, model: 'acme/none', settings }
    const { status, json } = await bench.as(operator).post<ReplyOf<'routes/put'>>('api/routes/put', body)
    expect([status, json]).toEqual([
      200,
      { done: true, warnings: [expect.stringMatching(/^There is no model "acme\/none" in the catalogue/)] },
    ])
    expect(await whyNot('mine')).toMatch(/^There is no model "acme\/none"/)
    const [was] = await bench.admin.routes.list({ routeIds: [body.id] })
    const changed = { ...body, model: 'acme/fast', was }
    expect((await bench.as(operator).post('api/routes/put', changed)).json).toEqual({ done: true })
    expect(await whyNot('mine')).toBeUndefined()
  })

  it('stored by another program is listed with the reason why it is unusable', async () => {
    const { adapters: _, ...stores } = bench.stores
    const elsewhere = createAdmin(stores)
    await elsewhere.routes.put({ ...route, id: 'strange', adapter: 'nonsense' })
    await elsewhere.routes.put({ ...route, id: 'empty' })
    expect(await whyNot('strange')).toMatch(
      /^adapter must be one of the adapters given to the stores: .*"openai"/,
    )
    expect(await whyNot('empty')).toMatch(/^settings\.baseUrl is missing; it must be an absolute URL/)
    expect(await whyNot('r:acme/fast')).toBeUndefined()
  })

  async function whyNot(id: string): Promise<string | undefined> {
    const { json } = await bench.as(operator).get<ReplyOf<'routes'>>('api/routes')
    return json.routes.find((listed) => listed.id === id)!.cannotBeUsed
  }
})
