import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin, type PayerQuery, type SpendQuery } from '../../src/admin/index.js'
import type { CallFacts, Charge, Posting } from '../../src/contracts/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { moveLatestEntry } from '../helpers/move-entry.js'

const context = { requestId: 'r', signal: new AbortController().signal }
let holds = 0

function settle(
  { ledger }: DurableStores,
  payer: string,
  [base, markup]: readonly [bigint, bigint],
  earner: string,
  facts: Partial<CallFacts> = {},
) {
  const cost = base + markup
  const charge: Charge = {
    cost,
    base,
    markup,
    basis: 'reported',
    byok: false,
    usage: { prompt: 10, cached: 4, cacheWrite: 1, completion: 5, reasoning: 2 },
  }
  const postings: Posting[] = [
    { account: payer, amount: -cost },
    { account: 'platform', amount: base },
    { account: earner, amount: markup },
  ]
  const request = {
    holdId: `h${holds++}`,
    charge,
    postings,
    facts: { requestId: 'r', account: payer, credentialId: 'k', model: 'm', ...facts },
  }
  return ledger.settle(request, context)
}

/** A request id, and a user label that looks like another request's id. */
const named = { requestId: 'R"1\\', user: '"requestId":"r-2"' }

describe.each(engineNames)('admin reports on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin

  beforeAll(async () => {
    stores = engine.open('reports')
    admin = createAdmin(stores)
    await admin.accounts.credit({ account: 'alice', amount: '0.000001' })
    await admin.accounts.correct({ account: 'alice', amount: '-0.0000001' })
    await settle(stores, 'alice', [100n, 20n], 'dev')
    await settle(stores, 'alice', [50n, 0n], 'platform', { model: 'n', ...named })
    await settle(stores, 'alice', [0n, 0n], 'dev')
    await settle(stores, 'platform', [30n, 7n], 'dev')
    await settle(stores, 'platform', [40n, 8n], 'platform')
    await settle(stores, 'dev', [60n, 9n], 'dev')
    await settle(stores, 'dev', [60n, 9n], 'platform', { sessionId: 's' })
  })

  it('compare the cost of calls with their postings, for every payer', async () => {
    const of = (query: object) => admin.reports.spendReport({ by: 'model', ...query })
    expect((await of({})).total).toEqual({
      calls: 7,
      cost: 393n,
      base: 340n,
      markup: 53n,
      usage: { prompt: 70, cached: 28, cacheWrite: 7, completion: 35, reasoning: 14 },
    })
    expect((await of({})).books).toEqual({
      debited: 170n + 7n + 60n + 69n,
      kept: 30n + 48n + 9n,
      isEqual: true,
    })
    expect((await of({ account: 'alice' })).books).toEqual({ debited: 170n, kept: 0n, isEqual: true })
    expect((await of({ account: 'platform' })).books).toEqual({ debited: 7n, kept: 78n, isEqual: true })
    expect((await of({ account: 'dev' })).books).toEqual({ debited: 129n, kept: 9n, isEqual: true })
    expect(await of({ account: 'nobody' })).toMatchObject({
      rows: [],
      total: { calls: 0, cost: 0n },
      books: { isEqual: true },
    })
  })

  it('over time name the seven largest groups, and add up all others', async () => {
    const stores = engine.open('many-groups')
    const { spendOverTime } = createAdmin(stores).reports
    const midnight = Date.UTC(2026, 4, 1)
    for (let model = 1; model <= 9; model++) {
      for (const at of [midnight, midnight + 86_400_000]) {
        await settle(stores, 'alice', [BigInt(model), 0n], 'dev', { model: `m${model}` })
        await moveLatestEntry(stores, at)
      }
    }
    await settle(stores, 'alice', [1n, 0n], 'dev', { model: 'm1' })
    await moveLatestEntry(stores, midnight)
    const times = [midnight, midnight + 86_400_000, midnight + 2 * 86_400_000]
    const byCost = await spendOverTime({ times, by: 'model' })
    expect(byCost.groups).toEqual(['m9', 'm8', 'm7', 'm6', 'm5', 'm4', 'm3'])
    const costs = (step: number) => byCost.parts.filter((part) => part.step === step).map(({ cost }) => cost)
    expect(costs(0)).toEqual([9n, 8n, 7n, 6n, 5n, 4n, 3n, 4n])
    expect(costs(1)).toEqual([9n, 8n, 7n, 6n, 5n, 4n, 3n, 3n])
    expect(byCost.steps.map(({ step, cost }) => [step, cost])).toEqual([
      [0, 46n],
      [1, 45n],
    ])
    expect((await spendOverTime({ times, by: 'model', rank: 'calls' })).groups[0]).toBe('m1')
  })

  it('over time refuse steps for which charges would be read one by one for more than two days', async () => {
    const { spendOverTime } = admin.reports
    const hour = 3_600_000
    const midnight = Date.UTC(2026, 4, 1)
    const three = [midnight, midnight + 25 * hour, midnight + 50 * hour]
    await expect(spendOverTime({ times: three, by: 'key' })).resolves.toBeDefined()
    const late = three.map((time) => time + hour)
    await expect(spendOverTime({ times: late, by: 'model' })).resolves.toBeDefined()
    await expect(spendOverTime({ times: late, by: 'key' })).rejects.toThrow(
      'spendOverTime.times: must be midnights in UTC by key or account, or span at most two days',
    )
    await expect(spendOverTime({ times: [midnight, midnight] })).rejects.toThrow('must be in order')
  })

  it('filter by app and by model, and group by provider', async () => {
    const stores = engine.open('narrowed')
    const { spend } = createAdmin(stores).reports
    await settle(stores, 'alice', [1n, 0n], 'dev', { appId: 'writer', model: 'n', provider: 'p' })
    await settle(stores, 'alice', [2n, 0n], 'dev', { appId: 'editor', model: 'n', provider: 'q' })
    await settle(stores, 'alice', [4n, 0n], 'dev', { appId: 'writer' })
    const costs = async (query: SpendQuery) => (await spend(query)).map(({ key, cost }) => `${key}: ${cost}`)
    expect(await costs({ by: 'app' })).toEqual(['writer: 5', 'editor: 2'])
    expect(await costs({ by: 'app', model: 'n' })).toEqual(['editor: 2', 'writer: 1'])
    expect(await costs({ by: 'model', appId: 'writer' })).toEqual(['m: 4', 'n: 1'])
    expect(await costs({ by: 'provider' })).toEqual(['undefined: 4', 'q: 2', 'p: 1'])
  })

  it('include charges at `from` but not at `to`', async () => {
    const stores = engine.open('times')
    const { spend, spendReport } = createAdmin(stores).reports
    const midnight = Date.UTC(1997, 4, 19)
    // From this day on, the day number has five digits: as text, the days would sort the other way round.
    for (const [at, cost] of [
      [midnight, 3n],
      [midnight - 1, 2n],
      [midnight + 86_400_000, 1n],
    ] as const) {
      await settle(stores, 'alice', [cost, 0n], 'dev')
      await moveLatestEntry(stores, at)
    }
    const costs = async (query: object) =>
      (await spend({ by: 'day', ...query })).map(({ key, cost }) => `${key}: ${cost}`)
    const days = ['1997-05-18: 2', '1997-05-19: 3', '1997-05-20: 1']
    for (const query of [{}, { account: 'alice' }]) {
      expect(await costs(query)).toEqual(days)
      expect(await costs({ ...query, from: midnight })).toEqual(days.slice(1))
      expect(await costs({ ...query, from: midnight - 1 })).toEqual(days)
      expect(await costs({ ...query, to: midnight })).toEqual(days.slice(0, 1))
      expect(await costs({ ...query, to: midnight + 1 })).toEqual(days.slice(0, 2))
      expect(await costs({ ...query, from: midnight - 0.5 })).toEqual(days.slice(1))
      expect(await costs({ ...query, to: midnight - 0.5 })).toEqual(days.slice(0, 1))
    }
    for (const ask of [spend, spendReport]) {
      await expect(ask({ by: 'day', from: midnight, to: midnight })).rejects.toThrow(RangeError)
    }
  })

  it('keep charges of the same millisecond apart', async () => {
    const stores = engine.open('moment')
    const { maintenance, reports } = createAdmin(stores)
    await Promise.all([1n, 2n, 4n].map((cost) => settle(stores, 'alice', [cost, 0n], 'dev')))
    await stores.database.all({ text: 'update {postings} set at = 1' })
    await stores.database.all({ text: 'update {entries} set at = 1' })
    expect(await reports.spendReport({ by: 'model' })).toMatchObject({
      total: { calls: 3, cost: 7n },
      books: { debited: 7n, kept: 0n, isEqual: true },
    })
    expect(await maintenance.verify()).toEqual([])
  })

  it('read only the newest charges if asked to, and filter these', async () => {
    const newest = (most: number, query: object = {}) =>
      admin.reports.spendReport({ by: 'account', newest: most, ...query })
    const { entries } = await admin.entries.list()
    const times = entries.filter(({ kind }) => kind === 'charge').map(({ at }) => at)
    const report = await newest(3)
    expect(report.rows.map(({ key, cost }) => [key, cost])).toEqual([
      ['dev', 138n],
      ['platform', 48n],
    ])
    expect(report).toMatchObject({ total: { calls: 3, cost: 186n }, since: times[2] })
    expect((await newest(3, { account: 'dev' })).total).toMatchObject({ calls: 2, cost: 138n })
    expect(await newest(3, { account: 'alice' })).toMatchObject({ rows: [], total: { calls: 0 } })
    expect(await newest(3, { account: 'alice' })).not.toHaveProperty('since')
    expect(await newest(100)).toMatchObject({ total: { calls: 7, cost: 393n }, since: times[6] })
    expect((await newest(100)).rows).toEqual((await admin.reports.spendReport({ by: 'account' })).rows)
    expect(await admin.reports.spendReport({ by: 'account' })).not.toHaveProperty('since')
    expect(await newest(100, { from: Date.now() + 60_000 })).toMatchObject({ rows: [] })
  })

  it('have the same rows as `spend`', async () => {
    for (const by of ['day', 'model', 'app', 'key', 'provider'] as const) {
      for (const query of [{ by }, { by, account: 'dev' }]) {
        expect((await admin.reports.spendReport(query)).rows).toEqual(await admin.reports.spend(query))
      }
    }
  })

  it('show where a balance came from', async () => {
    expect(await admin.accounts.statement('alice')).toEqual({
      credited: 1_000n,
      corrected: -100n,
      refunded: 0n,
      earned: 0n,
      spent: 170n,
      posted: 730n,
      held: 0n,
    })
    expect(await admin.accounts.statement('platform')).toEqual({
      credited: 0n,
      corrected: 0n,
      refunded: 0n,
      earned: 340n + 8n + 9n,
      spent: 85n,
      posted: 272n,
      held: 0n,
    })
    expect(await admin.accounts.statement('dev')).toMatchObject({
      earned: 20n + 7n + 9n,
      spent: 138n,
      posted: -102n,
    })
    expect(await admin.accounts.statement('nobody')).toBeUndefined()
    await expect(admin.accounts.statement('')).rejects.toThrow(TypeError)
  })

  it('are zero for an account without postings', async () => {
    for (const account of ['empty', 'alice']) await admin.accounts.open(account)
    expect(await admin.accounts.balance('alice')).toMatchObject({ posted: 730n })
    expect(await admin.accounts.statement('empty')).toEqual({
      credited: 0n,
      corrected: 0n,
      refunded: 0n,
      earned: 0n,
      spent: 0n,
      posted: 0n,
      held: 0n,
    })
    expect(await admin.accounts.find('empty')).toMatchObject({ id: 'empty', balance: { posted: 0n } })
    expect(await admin.accounts.find('nobody')).toBeUndefined()
  })

  it('find the charges that an account paid, but not those it earned from', async () => {
    const { entries } = await admin.entries.list({ account: 'dev', payer: 'dev' })
    expect(entries.map(({ charge }) => charge!.cost)).toEqual([69n, 69n])
    expect((await admin.entries.list({ account: 'dev' })).entries).toHaveLength(5)
    expect((await admin.entries.list({ account: 'dev', payer: 'dev', sessionId: 's' })).entries).toHaveLength(
      1,
    )
    expect((await admin.entries.list({ payer: 'alice' })).entries).toHaveLength(3)
  })

  it('find the charges of a request by its full id, and those of a credential', async () => {
    const costs = async (query: object) =>
      (await admin.entries.list(query)).entries.map(({ charge }) => charge!.cost)
    expect(await costs({ requestId: named.requestId })).toEqual([50n])
    expect(await costs({ requestId: 'r', account: 'alice' })).toEqual([0n, 120n])
    expect(await costs({ requestId: 'r', limit: 2 })).toEqual([69n, 69n])
    for (const requestId of ['R', 'r-2', 'R"1', '%']) expect(await costs({ requestId })).toEqual([])
    expect(await costs({ requestId: 'r', credentialId: 'k' })).toHaveLength(6)
    expect(await costs({ credentialId: 'none' })).toEqual([])
  })

  it('list the calls in flight, but no hold that has ended or expired', async () => {
    const hold = (holdId: string, account: string, ttlMs = 60_000) =>
      stores.ledger.hold(
        {
          holdId,
          account,
          amount: 10n,
          ttlMs,
          facts: { requestId: `r-${holdId}`, account, credentialId: 'k', model: 'm' },
        },
        context,
      )
    await Promise.all([
      hold('open', 'alice'),
      hold('other', 'bob', 60_000),
      hold('freed', 'alice'),
      hold('over', 'alice', 0),
    ])
    await stores.ledger.release({ holdId: 'freed', account: 'alice' }, context)
    await hold('sooner', 'alice', 30_000)
    await hold('later', 'alice', 90_000)
    expect((await admin.maintenance.openHolds()).map(({ holdId }) => holdId)).toEqual([
      'later',
      'open',
      'sooner',
    ])
    for (const holdId of ['sooner', 'later'])
      await stores.ledger.release({ holdId, account: 'alice' }, context)
    const open = await admin.maintenance.openHolds()
    expect(open).toEqual([
      {
        holdId: 'open',
        account: 'alice',
        amount: 10n,
        expiresAt: expect.any(Number),
        facts: { requestId: 'r-open', account: 'alice', credentialId: 'k', model: 'm' },
      },
    ])
    expect(await admin.maintenance.openHolds({ account: 'bob' })).toEqual([])
    expect(await admin.maintenance.openHolds({ account: 'alice', limit: 1 })).toHaveLength(1)
    expect((await admin.accounts.statement('alice'))!.held).toBe(10n)
    expect(await admin.accounts.balance('platform')).toMatchObject({ held: 0n, available: 272n })
  })

  it('find exactly one credential by its id', async () => {
    const { credentialId } = await admin.keys.issue({ account: 'alice' })
    await admin.keys.issue({ account: 'alice' })
    expect(await admin.keys.list({ credentialId })).toMatchObject([{ credentialId, account: 'alice' }])
    expect(await admin.keys.list({ credentialId, account: 'bob' })).toEqual([])
  })

  it('list credits, corrections and refunds apart from charges, in pages', async () => {
    const admin = createAdmin(engine.open('payments'))
    const { id } = await admin.accounts.credit({ account: 'alice', amount: '1' })
    const stores = engine.open('payments')
    await settle(stores, 'alice', [100n, 20n], 'dev')
    const { entries } = await admin.entries.list({ payer: 'alice' })
    const refund = await admin.entries.refund(entries[0]!.id)
    await settle(stores, 'alice', [100n, 20n], 'dev')
    const correction = await admin.accounts.correct({ account: 'bob', amount: '-1' })
    const listed = async (query: PayerQuery) =>
      (await admin.entries.list({ payments: true, ...query })).entries.map((entry) => entry.id)
    expect(await listed({})).toEqual([correction.id, refund.id, id])
    expect(await listed({ account: 'alice' })).toEqual([refund.id, id])
    const { next } = await admin.entries.list({ payments: true, limit: 2 })
    expect(await listed({ limit: 2, after: next! })).toEqual([id])
    expect((await admin.entries.list({ payments: false })).entries).toHaveLength(5)
  })

  it('list the accounts with these ids', async () => {
    const list = async (accountIds: readonly string[]) =>
      (await admin.accounts.list({ accountIds })).map((row) => row.id)
    expect(await list(['dev', 'alice', 'nobody'])).toEqual(['alice', 'dev'])
    expect(await list([])).toEqual([])
  })

  it('list the one entry with a reference, whatever else is asked', async () => {
    for (const account of ['ref-1', 'ref-2'])
      await admin.accounts.credit({ account, amount: '1', reference: `invoice ${account}` })
    const referencesOf = async (query: PayerQuery) =>
      (await admin.entries.list(query)).entries.map(({ reference }) => reference)
    expect(await referencesOf({ reference: 'invoice ref-1' })).toEqual(['invoice ref-1'])
    expect(await referencesOf({ reference: 'invoice ref-1', account: 'ref-1' })).toEqual(['invoice ref-1'])
    expect(await referencesOf({ reference: 'invoice ref-1', account: 'ref-2' })).toEqual([])
    expect(await referencesOf({ reference: 'invoice ref' })).toEqual([])
  })

  it('list keys by their metadata, exactly as it was written', async () => {
    const issue = async (metadata: Record<string, string>) =>
      (await admin.keys.issue({ account: 'tagged', metadata })).credentialId
    const blue = await issue({ team: 'blue', plan: 'gold' })
    const green = await issue({ team: 'green', plan: 'gold' })
    const odd = await issue({ team: '"plan":"gold"', 'a"b\\': 'ü\n' })
    await admin.keys.issue({ account: 'tagged' })
    const idsOf = async (metadata: Record<string, string>) =>
      (await admin.keys.list({ account: 'tagged', metadata })).map(({ credentialId }) => credentialId)
    expect(await idsOf({ plan: 'gold' })).toEqual([green, blue])
    expect(await idsOf({ team: 'blue', plan: 'gold' })).toEqual([blue])
    expect(await idsOf({ team: '"plan":"gold"' })).toEqual([odd])
    expect(await idsOf({ 'a"b\\': 'ü\n' })).toEqual([odd])
    for (const none of [
      ['team', 'BLUE'],
      ['team', 'blu'],
      ['eam', 'blue'],
      ['team', ''],
    ] as const)
      expect(await idsOf({ [none[0]]: none[1] })).toEqual([])
    await expect(admin.keys.list({ metadata: { team: 5 as never } })).rejects.toThrow(TypeError)
  })

  it('reject with a Refusal if rows are missing or in conflict', async () => {
    const refusal = (reason: string) => ({ name: 'Refusal', reason })
    await expect(admin.keys.reissue('none')).rejects.toMatchObject(refusal('not-found'))
    await expect(
      admin.keys.issueToken({ account: 'alice', appId: 'none', scopes: [] }),
    ).rejects.toMatchObject(refusal('not-found'))
    await admin.accounts.credit({ account: 'alice', amount: '1', reference: 'one' })
    await expect(
      admin.accounts.credit({ account: 'alice', amount: '2', reference: 'one' }),
    ).rejects.toMatchObject(refusal('conflict'))
  })
})
