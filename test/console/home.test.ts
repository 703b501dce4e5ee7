import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Admin, createAdmin } from '../../src/admin/index.js'
import { systemClock } from '../../src/base/clock.js'
import { periodsAt } from '../../src/console/endpoints/home.js'
import { createConsole } from '../../src/console/index.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import type { Entry, Posting } from '../../src/contracts/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { allEntries } from '../helpers/all-entries.js'
import { decimal } from '../helpers/decimals.js'
import { engineNames, foldAll, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createHoldId, createSettle } from '../helpers/ledger-requests.js'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { moveLatestEntry } from '../helpers/move-entry.js'
import { useNoon } from '../helpers/noon.js'
import { createRandom } from '../helpers/random.js'
import {
  alice,
  type Bench,
  bob,
  furnish,
  operator,
  startBench,
  type Visitor,
  visitor,
} from './console-bench.js'

type Home = ReplyOf<'home'>
type OwnHome = ReplyOf<'home/account'>

const DAY_MS = 86_400_000

describe("the times that the console's home page compares", () => {
  const shown = (now: number) => {
    const { day, month } = periodsAt(now)
    const text = (at: number) => new Date(at).toISOString().slice(0, 23)
    return [day, month].map(({ from, before }) => [from, before.from, before.to].map(text))
  }

  it('are the day and the month so far, and the same part of those before', () => {
    expect(shown(Date.UTC(2026, 10, 29, 8, 3, 12, 345))).toEqual([
      ['2026-11-29T00:00:00.000', '2026-11-28T00:00:00.000', '2026-11-28T08:03:12.346'],
      ['2026-11-01T00:00:00.000', '2026-10-01T00:00:00.000', '2026-10-29T08:03:12.346'],
    ])
  })

  it('are never empty, and never reach into the next month', () => {
    expect(shown(Date.UTC(2026, 0, 1))).toEqual([
      ['2026-01-01T00:00:00.000', '2025-12-31T00:00:00.000', '2025-12-31T00:00:00.001'],
      ['2026-01-01T00:00:00.000', '2025-12-01T00:00:00.000', '2025-12-01T00:00:00.001'],
    ])
    expect(shown(Date.UTC(2026, 2, 30, 12))[1]).toEqual([
      '2026-03-01T00:00:00.000',
      '2026-02-01T00:00:00.000',
      '2026-03-01T00:00:00.000',
    ])
  })
})

interface Sums {
  readonly calls: number
  readonly cost: string
  readonly base: string
  readonly markup: string
  readonly prompt: number
  readonly completion: number
}

/** Added up here, entry by entry, without any code of the console. */
function sumsOf(entries: readonly Entry[], isMeant: (entry: Entry) => boolean = () => true): Sums {
  const charges = entries.filter((entry) => entry.charge !== undefined && isMeant(entry))
  const sum = (of: 'cost' | 'base' | 'markup') =>
    decimal(charges.reduce((total, { charge }) => total + charge![of], 0n))
  const count = (of: 'prompt' | 'completion') =>
    charges.reduce((total, { charge }) => total + charge!.usage[of], 0)
  return {
    calls: charges.length,
    ...{ cost: sum('cost'), base: sum('base'), markup: sum('markup') },
    ...{ prompt: count('prompt'), completion: count('completion') },
  }
}

/** The costs by a part of the entries, the highest first. */
function ranked(entries: readonly Entry[], from: number, keyOf: (entry: Entry) => string | undefined) {
  const costs = new Map<string, bigint>()
  for (const entry of entries) {
    const key = keyOf(entry)
    if (entry.charge === undefined || key === undefined || entry.at < from) continue
    costs.set(key, (costs.get(key) ?? 0n) + entry.charge.cost)
  }
  return [...costs]
    .sort(([, one], [, other]) => (one < other ? 1 : -1))
    .slice(0, 5)
    .map(([key, cost]) => [key, decimal(cost)])
}

const flat = ({ calls, cost, base, markup, usage }: Home['month']['total']): Sums => ({
  ...{ calls, cost, base, markup },
  ...{ prompt: usage.prompt, completion: usage.completion },
})

const costsOf = (rows: readonly { readonly key?: string; readonly cost: string }[]) =>
  rows.map(({ key, cost }) => [key, cost])

describe.each(engineNames)("the figures of the console's home page on %s", (name) => {
  const NOW = Date.UTC(2026, 9, 30, 14, 37, 12, 345)
  const TODAY = Date.UTC(2026, 9, 30)
  const MONTH = Date.UTC(2026, 9, 1)
  const MONTH_BEFORE = Date.UTC(2026, 8, 1)
  const engine = useEngine(name)
  const random = createRandom(5)
  let stores: DurableStores
  let admin: Admin
  let host: MountedHost
  let entries: readonly Entry[]
  let home: Home

  /** Settles a call at a time. */
  async function charge(at: number): Promise<void> {
    const cost = BigInt(random(2_000_000_000))
    const account = `account-${random(9)}`
    const appId = [undefined, 'notes', 'house'][random(3)]
    const markup = appId === undefined ? 0n : cost / 7n
    const postings: Posting[] = [
      { account, amount: -cost },
      { account: 'platform', amount: cost - markup },
      { account: 'dev', amount: markup },
    ]
    const facts = createFacts(account, {
      model: `model-${random(8)}`,
      credentialId: `key-${random(12)}`,
      ...(appId !== undefined && { appId }),
    })
    const charged = createCharge(cost, { base: cost - markup, markup })
    await stores.ledger.settle(
      createSettle(createHoldId(), account, cost, { charge: charged, facts, postings }),
      context,
    )
    await moveLatestEntry(stores, at)
  }

  beforeAll(async () => {
    stores = engine.open('home')
    admin = createAdmin(stores)
    for (let number = 0; number < 9; number++) {
      await admin.accounts.credit({ account: `account-${number}`, amount: String(1 + number * 20) })
    }
    for (const at of [TODAY, NOW, NOW - DAY_MS, MONTH, MONTH_BEFORE]) {
      for (const around of [-1, 0, 1]) if (at + around <= NOW) await charge(at + around)
    }
    for (let count = 0; count < 60; count++) {
      await charge(NOW - random(70 * DAY_MS))
      await charge(NOW - random(2 * DAY_MS))
      // The rest is not among the totals.
      if (count === 40) await foldAll(stores)
    }
    entries = await allEntries(admin)
    const pages = createConsole({
      admin,
      authorise: (req) => JSON.parse(req.headers['x-viewer'] as string),
      clock: { ...systemClock, now: () => NOW },
    })
    host = await listenHttp(createServer(pages), '')
    home = (await as(operator).get<Home>('api/home')).json
  })
  afterAll(() => host?.close())

  const as = (viewer: typeof operator): Visitor => visitor(host.baseUrl, host.baseUrl, viewer)
  const between =
    (from: number, to: number) =>
    ({ at }: Entry) =>
      at >= from && at < to

  it('are those of the ledger, for today and for this month', () => {
    const { today, month, isEqual } = home
    expect(flat(today.total)).toEqual(sumsOf(entries, between(TODAY, NOW + 1)))
    expect(flat(today.before.total)).toEqual(sumsOf(entries, between(TODAY - DAY_MS, NOW + 1 - DAY_MS)))
    expect(flat(month.total)).toEqual(sumsOf(entries, between(MONTH, NOW + 1)))
    const partOfMonth = MONTH_BEFORE + (NOW + 1 - MONTH)
    expect(flat(month.before.total)).toEqual(sumsOf(entries, between(MONTH_BEFORE, partOfMonth)))
    expect(isEqual).toBe(true)
    expect(month.before.total.calls).toBeGreaterThan(5)
  })

  it('are those of the ledger, by day, model, app, account and key', () => {
    const { days, topModels, topApps, topAccounts, topKeys } = home
    const dayOf = ({ at }: Entry) => new Date(at).toISOString().slice(0, 10)
    for (const { key, cost } of days) {
      expect(cost, key).toBe(sumsOf(entries, (entry) => dayOf(entry) === key).cost)
    }
    expect(days.at(-1)!.key).toBe('2026-10-30')
    expect(days[0]!.key! >= '2026-10-01').toBe(true)
    expect(costsOf(topModels)).toEqual(ranked(entries, MONTH, ({ facts }) => facts?.model))
    expect(costsOf(topApps)).toEqual(ranked(entries, MONTH, ({ facts }) => facts?.appId))
    const yesterday = TODAY - DAY_MS
    expect(costsOf(topAccounts)).toEqual(ranked(entries, yesterday, ({ facts }) => facts?.account))
    expect(costsOf(topKeys)).toEqual(ranked(entries, yesterday, ({ facts }) => facts?.credentialId))
    const { calls } = sumsOf(entries, ({ at }) => at >= yesterday)
    expect(home.users).toEqual({ from: yesterday, calls })
  })

  it('are the balances of accounts that have less left than they spent since yesterday', async () => {
    const expected = (await admin.accounts.list())
      .map(({ id, balance }) => {
        const isOwn = ({ at, facts }: Entry) => facts?.account === id && at >= TODAY - DAY_MS
        const spent = entries.reduce((sum, entry) => sum + (isOwn(entry) ? entry.charge!.cost : 0n), 0n)
        return { id, available: balance.available, spent }
      })
      .filter(({ available, spent }) => available < spent)
      .sort((one, other) => (one.available < other.available ? -1 : 1))
    expect(expected.length).toBeGreaterThan(0)
    expect(expected.length).toBeLessThan(9)
    expect(home.nearZeroCount).toBe(expected.length)
    expect(home.nearZero).toMatchObject(
      expected
        .slice(0, 5)
        .map(({ id, available, spent }) => ({ id, available: decimal(available), spent: decimal(spent) })),
    )
  })

  it('are those of its own account for a user', async () => {
    const account = 'account-3'
    const { json } = await as({ kind: 'user', account }).get<OwnHome>('api/home/account')
    const isOwn = ({ facts }: Entry) => facts?.account === account
    const isOfMonth = between(MONTH, NOW + 1)
    expect(flat(json.month.total)).toEqual(sumsOf(entries, (entry) => isOwn(entry) && isOfMonth(entry)))
    const isBefore = between(MONTH_BEFORE, MONTH_BEFORE + (NOW + 1 - MONTH))
    expect(flat(json.month.before.total)).toEqual(sumsOf(entries, (entry) => isOwn(entry) && isBefore(entry)))
    const { posted } = (await admin.accounts.find(account))!.balance
    expect(json.balance).toMatchObject({ posted: decimal(posted), held: '0', available: decimal(posted) })
  })

  it('are of the newest payments, without the charges between them', () => {
    expect(home.payments.map(({ kind }) => kind)).toEqual(Array(5).fill('credit'))
    expect(home.payments[0]!.postings).toEqual([{ account: 'account-8', amount: '161' }])
  })
})

describe("the console's home page", () => {
  useNoon()
  let bench: Bench
  let tokens: Awaited<ReturnType<typeof furnish>>
  const homeOf = async () => (await bench.as(operator).get<Home>('api/home')).json
  const ownOf = async (viewer: typeof alice) => (await bench.as(viewer).get<OwnHome>('api/home/account')).json

  beforeAll(async () => {
    bench = await startBench({ console: { topUpUrl: 'https://shop.example/credits' } })
  })
  afterAll(() => bench.close())

  it('lists what a first call needs, as long as there was none', async () => {
    const none = { model: false, route: false, credit: false, key: false }
    expect(await homeOf()).toMatchObject({ firstSteps: none, today: { total: { calls: 0, cost: '0' } } })
    tokens = await furnish(bench)
    const all = { model: true, route: true, credit: true, key: true }
    expect((await homeOf()).firstSteps).toEqual(all)
    expect((await bench.call(tokens.alice)).status).toBe(200)
    await vi.waitFor(async () => expect(await homeOf()).not.toHaveProperty('firstSteps'), 10_000)
  })

  it('counts the failures of kept calls by their cause', async () => {
    for (const model of ['acme/none', 'acme/none', 'acme/fast']) {
      await bench.call(model === 'acme/fast' ? 'sk-wrong' : tokens.bob, { model })
    }
    await vi.waitFor(async () => {
      const { failures } = await homeOf()
      expect(failures).toMatchObject({
        count: 3,
        isCut: false,
        causes: [
          { outcome: 'model_not_found', count: 2 },
          { outcome: 'invalid_api_key', count: 1 },
        ],
        before: { count: 0, isCut: false },
      })
    }, 10_000)
  })

  it('has the wait for the first token, and the routes', async () => {
    const { firstToken, routes } = await homeOf()
    expect(firstToken.calls).toBe(4)
    expect(firstToken.since).toBeLessThanOrEqual(Date.now())
    expect(routes).toMatchObject({ count: 2, failing: 0 })
    expect(routes.shown[0]).toMatchObject({
      id: 'r:acme/fast',
      model: 'acme/fast',
      health: { state: 'closed' },
    })
  })

  it('shows a route that cannot be used first, and none that is off', async () => {
    const route = { model: 'acme/fast', provider: 'fake', upstreamModel: 'x' }
    // A program that does not know the adapters may store any.
    const { adapters: _, ...stores } = bench.stores
    await createAdmin(stores).routes.put({ ...route, id: 'odd', adapter: 'nonsense' })
    await bench.admin.routes.put({ ...route, id: 'off', adapter: 'fake', enabled: false })
    const { routes } = await homeOf()
    expect(routes).toMatchObject({ count: 3, failing: 1 })
    expect(routes.shown[0]).toMatchObject({ id: 'odd', cannotBeUsed: expect.stringContaining('adapter') })
    for (const id of ['odd', 'off']) await bench.admin.routes.remove(id)
  })

  it('shows budgets of which at most a fifth is left, those with the least left first', async () => {
    const keys = await bench.admin.keys.list({ account: 'alice' })
    const key = keys.find(({ kind }) => kind === 'api-key')
    const budget = { unit: 'credits', per: 'month' } as const
    await bench.admin.limits.put({ ...budget, id: 'wide', amount: '50', of: 'account', ownerId: 'alice' })
    await bench.admin.limits.put({ ...budget, id: 'none', amount: '0', of: 'account', ownerId: 'bob' })
    const owner = { of: 'credential', ownerId: key!.credentialId } as const
    await bench.admin.limits.put({ ...budget, id: 'narrow', amount: '0.1', ...owner })
    // Limits apply to other processes and to calls within a second.
    await vi.waitFor(async () => {
      await bench.call(tokens.alice, { max_tokens: 10 })
      const used = (await bench.admin.limits.list({ of: 'credential' }))[0]!.used
      expect(used).toBeGreaterThan(0n)
    }, 10_000)
    const { used } = (await bench.admin.limits.list({ of: 'credential' }))[0]!
    await bench.admin.limits.put({ ...budget, id: 'narrow', amount: decimal((used * 5n) / 4n), ...owner })
    const { nearEnd, nearEndCount } = await homeOf()
    expect(nearEnd.map(({ id, ownerId }) => [id, ownerId])).toEqual([['narrow', key!.credentialId]])
    expect(nearEndCount).toBe(1)
    const own = await ownOf(alice)
    expect(own.budgets.map(({ id }) => id)).toEqual(['narrow', 'wide'])
    for (const id of ['wide', 'none', 'narrow']) await bench.admin.limits.remove(id)
  })

  it('shows users their balance, calls and keys, and where they add credits', async () => {
    const own = await ownOf(alice)
    expect(own).toMatchObject({ account: 'alice', topUpUrl: 'https://shop.example/credits', keyCount: 2 })
    const balance = (await bench.admin.accounts.find('alice'))!.balance
    expect(own.balance).toMatchObject({ available: decimal(balance.available) })
    expect(own.calls.every((call) => call.account === 'alice')).toBe(true)
    const spent = await bench.admin.reports.spend({ by: 'key', account: 'alice' })
    for (const { credentialId, cost } of own.keys) {
      expect(cost).toBe(decimal(spent.find(({ key }) => key === credentialId)?.cost ?? 0n))
    }
    expect(await ownOf({ kind: 'user', account: 'stranger' })).not.toHaveProperty('balance')
    expect((await ownOf(bob)).calls.map(({ askedModel }) => askedModel)).toEqual(['acme/none', 'acme/none'])
  })

  it('reads a bounded number of rows, however many accounts and keys there are', async () => {
    for (let number = 0; number < 300; number++) {
      const account = `many-${number}`
      const facts = createFacts(account, { credentialId: `key-of-${account}` })
      await bench.stores.ledger.settle(createSettle(createHoldId(), account, 5n, { facts }), context)
    }
    const all = vi.spyOn(bench.stores.database, 'all')
    const home = await homeOf()
    const results = await Promise.all(
      all.mock.results.map(({ value }) => value as Promise<readonly object[]>),
    )
    all.mockRestore()
    expect(home.users.calls).toBeGreaterThan(300)
    // Of three reports, at most 200 owners each, and the balances of 200 of them.
    expect(results.flat().length).toBeLessThan(4 * 201 + 100)
    expect(results.length).toBeLessThan(40)
  })
})
