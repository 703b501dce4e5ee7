import { describe, expect, it, vi } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'

const LIMIT = 2n ** 63n - 1n

describe.each(engineNames)('the ledger in %s', (name) => {
  const engine = useEngine(name)

  it('fails only the call whose text a database cannot store', async () => {
    const { ledger, database } = engine.open('text')
    await openAccounts(database, { alice: '1' })
    const bad = ['a\u0000b', '\ud800', 'x\udc00y']
    const results = await Promise.allSettled([
      ledger.hold(createHold('alice', 1n), context),
      ...bad.map((account) => ledger.hold(createHold(account, 0n), context)),
      ...bad.map((text) =>
        ledger.settle(
          createSettle('h', 'alice', 1n, { facts: createFacts('alice', { model: text }) }),
          context,
        ),
      ),
      ...bad.map((holdId) => ledger.release({ holdId, account: 'alice' }, context)),
      ledger.hold(createHold('alice', 1n), context),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      ...new Array(9).fill('rejected'),
      'fulfilled',
    ])
    expect(await ledger.balance('alice', context)).toMatchObject({ held: 2n })
  })

  it('has no page after the last one, even if that is full', async () => {
    const { ledger } = engine.open('pages')
    for (const holdId of ['one', 'two']) await ledger.settle(createSettle(holdId, 'alice', 1n), context)
    const first = await ledger.entries({ limit: 1 }, context)
    const last = await ledger.entries({ limit: 1, after: first.next! }, context)
    expect([first, last].map(({ entries }) => entries[0]?.holdId)).toEqual(['two', 'one'])
    expect(last).not.toHaveProperty('next')
    expect(await ledger.entries({ limit: 2 }, context)).not.toHaveProperty('next')
  })

  it('stores all other text unchanged', async () => {
    const { ledger, database } = engine.open('unicode')
    const account = `ünï "quoted" \\ {brace},NULL '; drop table -- 日本 🎈`
    await openAccounts(database, { [account]: '1' })
    const facts = createFacts(account, { model: '{"a",\\b}', sessionId: '\n\u0001', user: 'NULL', appId: '' })
    await ledger.settle(createSettle('h"\\', account, 5n, { facts }), context)
    const { entries } = await ledger.entries({ account, limit: 1 }, context)
    expect(entries[0]).toMatchObject({ holdId: 'h"\\', facts, kind: 'charge' })
    expect(entries[0]?.facts).toEqual(facts)
  })

  it('fails only the call that would exceed 64 bits, which changes nothing', async () => {
    const { ledger, database } = engine.open('bounds')
    const admin = createAdmin({ ledger, database, secrets: {} as never })
    await admin.accounts.credit({ account: 'rich', amount: '9223372036.854775806' })
    await openAccounts(database, { alice: '1' })
    const toRich = (holdId: string, amount: bigint) =>
      createSettle(holdId, 'alice', amount, {
        postings: [
          { account: 'alice', amount: -amount },
          { account: 'rich', amount },
        ],
      })
    const results = await Promise.allSettled([
      ledger.settle(toRich('one', 1n), context),
      ledger.settle(toRich('two', 1n), context),
      ledger.settle(createSettle('three', 'alice', 1n), context),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await ledger.balance('rich', context)).toMatchObject({ posted: LIMIT })
    await expect(admin.accounts.credit({ account: 'rich', amount: '0.000000001' })).rejects.toThrow()
    await expect(ledger.hold(createHold('alice', LIMIT + 1n), context)).rejects.toThrow('beyond 64 bits')
    await expect(ledger.hold(createHold('alice', -1n), context)).rejects.toThrow('zero or more')
    await expect(ledger.hold(createHold('alice', 1n, { ttlMs: Number.NaN }), context)).rejects.toThrow(
      'ttlMs',
    )
    expect(await ledger.hold(createHold('alice', LIMIT), context)).toMatchObject({ reason: 'insufficient' })
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('takes the holds of an account with too little credit in order', async () => {
    const { ledger, database } = engine.open('short')
    await openAccounts(database, { alice: '0.00000001' })
    const amounts = [4n, 8n, 3n, 3n, 0n, 1n]
    const results = await Promise.all(
      amounts.map((amount) => ledger.hold(createHold('alice', amount), context)),
    )
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true, true, true, false])
    expect(results[1]).toEqual({ ok: false, reason: 'insufficient', posted: 10n, available: 6n })
  })

  it('reports an overdraft even for a charge of zero', async () => {
    const { ledger } = engine.open('debt')
    await ledger.settle(createSettle('first', 'alice', 5n), context)
    const settled = await ledger.settle(createSettle('second', 'alice', 0n, { postings: [] }), context)
    expect(settled).toMatchObject({ repeated: false, overdraft: 5n })
  })

  it('posts once if many callers settle the same holds at once, whether open, ended or unknown', async () => {
    const { ledger, database } = engine.open('many')
    const admin = createAdmin({ ledger, database, secrets: {} as never })
    await openAccounts(database, { alice: '1' })
    const holds = Array.from({ length: 40 }, () => createHold('alice', 3n))
    await Promise.all(holds.slice(0, 30).map((hold) => ledger.hold(hold, context)))
    await Promise.all(
      holds.slice(0, 10).map(({ holdId }) => ledger.release({ holdId, account: 'alice' }, context)),
    )
    const settle = () => holds.map(({ holdId }) => ledger.settle(createSettle(holdId, 'alice', 2n), context))
    const results = await Promise.all([...settle(), ...settle()])
    expect(results.filter(({ repeated }) => !repeated).length).toBe(40)
    expect(await ledger.balance('alice', context)).toMatchObject({ posted: 1_000_000_000n - 80n, held: 0n })
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('does not count overdue holds, swept or not', async () => {
    const { ledger, database } = engine.open('overdue')
    await openAccounts(database, { alice: '0.00000001' })
    await ledger.hold(createHold('alice', 10n, { ttlMs: 0 }), context)
    await ledger.hold(createHold('alice', 0n, { ttlMs: 0, claim: 'c' }), context)
    expect(await ledger.balance('alice', context)).toEqual({ posted: 10n, held: 0n, available: 10n })
    expect(await ledger.hold(createHold('alice', 10n, { claim: 'c' }), context)).toEqual({ ok: true })
    expect(await ledger.hold(createHold('alice', 1n), context)).toMatchObject({ available: 0n })
    expect((await ledger.expireHolds(10, context)).length).toBe(2)
    expect(await ledger.balance('alice', context)).toEqual({ posted: 10n, held: 10n, available: 0n })
  })

  it('never runs a hold whose call was aborted', async () => {
    const { ledger, database } = engine.open('gone')
    await openAccounts(database, { alice: '1' })
    const controller = new AbortController()
    const gone = ledger.hold(createHold('alice', 5n), { requestId: 'r', signal: controller.signal })
    controller.abort(new Error('deadline'))
    await expect(gone).rejects.toThrow('deadline')
    expect(await ledger.balance('alice', context)).toMatchObject({ held: 0n })
  })

  it('posts a credit once for each reference', async () => {
    const { ledger, database } = engine.open('credits')
    const admin = createAdmin({ ledger, database, secrets: {} as never })
    const grants = await Promise.all(
      [1, 2, 3].map(() =>
        admin.accounts.credit({ account: 'alice', amount: '5', reference: 'invoice-1', memo: 'paid' }),
      ),
    )
    expect(new Set(grants.map(({ id }) => id)).size).toBe(1)
    expect(grants[0]).toMatchObject({ kind: 'credit', memo: 'paid' })
    await expect(
      admin.accounts.credit({ account: 'alice', amount: '6', reference: 'invoice-1' }),
    ).rejects.toThrow('names another posting')
    await expect(
      admin.accounts.correct({ account: 'alice', amount: '5', reference: 'invoice-1' }),
    ).rejects.toThrow('names another posting')
    await admin.accounts.correct({ account: 'alice', amount: '-1.5' })
    await expect(admin.accounts.credit({ account: 'alice', amount: '-1' })).rejects.toThrow(
      'make a correction',
    )
    expect(await admin.accounts.balance('alice')).toMatchObject({ posted: 3_500_000_000n })
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('sums the spending by day, model, app, key and provider', async () => {
    const { ledger, database } = engine.open('spend')
    const admin = createAdmin({ ledger, database, secrets: {} as never })
    const settle = (id: string, account: string, cost: bigint, rest: object) =>
      ledger.settle(createSettle(id, account, cost, { facts: createFacts(account, rest) }), context)
    await Promise.all([
      settle('1', 'alice', 5n, { model: 'a', provider: 'p', appId: 'app' }),
      settle('2', 'alice', 7n, { model: 'b', credentialId: 'other', claimedAppId: 'app' }),
      settle('3', 'bob', 11n, { model: 'b', provider: 'q' }),
    ])
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    const sums = async (query: Parameters<typeof admin.reports.spend>[0]) =>
      (await admin.reports.spend(query)).map(({ key, calls, cost }) => [key, calls, cost])
    // One day, even if the test runs at midnight.
    await database.all({ text: 'update {entries} set at = ?1', parameters: [Date.UTC(2026, 4, 5, 12)] })
    const day = '2026-05-05'
    expect(await sums({ by: 'model' })).toEqual([
      ['b', 2, 18n],
      ['a', 1, 5n],
    ])
    expect(await sums({ by: 'app' })).toEqual([
      [undefined, 2, 18n],
      ['app', 1, 5n],
    ])
    expect(await sums({ by: 'key', account: 'alice' })).toEqual([
      ['other', 1, 7n],
      ['credential-1', 1, 5n],
    ])
    expect(await sums({ by: 'provider', account: 'platform' })).toEqual([])
    expect(await sums({ by: 'day', model: 'b' })).toEqual([[day, 2, 18n]])
    expect(await sums({ by: 'day', appId: 'app', from: 0, to: Date.now() + 86_400_000 })).toEqual([
      [day, 1, 5n],
    ])
    expect(await sums({ by: 'day', to: 1 })).toEqual([])
    const [row] = await admin.reports.spend({ by: 'model', model: 'a' })
    expect(row?.usage).toEqual(createCharge(5n).usage)
  })

  it('finds a balance that does not add up', async () => {
    const { ledger, database } = engine.open('verify')
    const admin = createAdmin({ ledger, database, secrets: {} as never })
    await openAccounts(database, { alice: '0.00000001' })
    await ledger.hold(createHold('alice', 3n), context)
    await ledger.settle(createSettle('h', 'alice', 2n), context)
    expect(await admin.maintenance.verify()).toEqual([])
    await database.all({ text: "update {accounts} set posted = 9, held = 4 where id = 'alice'" })
    await database.all({ text: "update {postings} set amount = 1 where account = 'platform'" })
    expect(await admin.maintenance.verify()).toMatchObject([
      { what: 'balance', id: 'alice', found: 9n, expected: 8n },
      { what: 'balance', id: 'platform', found: 2n, expected: 1n },
      { what: 'entry', id: expect.any(String), found: -1n, expected: 0n },
      { what: 'held', id: 'alice', found: 4n, expected: 3n },
    ])
  })

  it('leaves nothing on hold if a hold and its settlement arrive at the same time', async () => {
    const stores = engine.open('moment')
    const { ledger, database } = stores
    await openAccounts(database, { alice: '1' })
    const hold = createHold('alice', 5n)
    await Promise.all([
      ledger.hold(hold, context),
      ledger.settle(createSettle(hold.holdId, 'alice', 2n), context),
    ])
    expect(await ledger.balance('alice', context)).toMatchObject({ posted: 999_999_998n, held: 0n })
    expect(await createAdmin(stores).maintenance.verify()).toEqual([])
  })

  it('creates the accounts of many concurrent calls, and keeps existing ones', async () => {
    const stores = engine.open('many_accounts')
    const { ledger, database } = stores
    await openAccounts(database, { known: '0.000000007' })
    const payers = ['known', ...Array.from({ length: 20 }, (_, index) => `new-${index}`)]
    await Promise.all(payers.map((payer) => ledger.settle(createSettle(`of-${payer}`, payer, 5n), context)))
    const balances = await Promise.all(payers.map((payer) => ledger.balance(payer, context)))
    expect(balances.map((balance) => balance?.posted)).toEqual([2n, ...Array(20).fill(-5n)])
    expect(await ledger.balance('platform', context)).toMatchObject({ posted: 105n, held: 0n })
    expect(await createAdmin(stores).maintenance.verify()).toEqual([])
  })

  it('shows every entry once across pages, even entries of the same time', async () => {
    const { ledger, database } = engine.open('one_moment')
    const ids = ['h1', 'h2', 'h3', 'h4', 'h5']
    for (const id of ids) {
      const facts = createFacts('alice', { sessionId: 's', appId: 'app' })
      await ledger.settle(createSettle(id, 'alice', 1n, { facts }), context)
    }
    for (const table of ['entries', 'postings']) {
      await database.all({ text: `update {${table}} set at = 1` })
    }
    for (const query of [{}, { account: 'alice' }, { sessionId: 's' }, { appId: 'app' }]) {
      const shown: unknown[] = []
      let after: string | undefined
      do {
        const page = await ledger.entries({ ...query, limit: 2, ...(after && { after }) }, context)
        shown.push(...page.entries.map(({ holdId }) => holdId))
        after = page.next
      } while (after !== undefined)
      expect(shown).toEqual(ids.toReversed())
    }
  })

  it('prunes all holds that ended long enough ago, however many there are', async () => {
    const { database, ...stores } = engine.open('pruned')
    await database.all({
      text: `with recursive numbers(number) as (select 1 union all select number + 1 from numbers where number < 5001)
        insert into {holds} (id, account, amount, state, expires_at, ended_at)
        select 'hold-' || number, 'alice', 0, 1, 0, 0 from numbers`,
    })
    expect(await createAdmin({ database, ...stores }).maintenance.pruneHolds(30)).toBe(5_001)
    expect(await database.all({ text: 'select id from {holds}' })).toEqual([])
  })

  it('prunes only holds that ended long enough ago', async () => {
    const { ledger, database } = engine.open('prune')
    const admin = createAdmin({ ledger, database, secrets: {} as never })
    await openAccounts(database, { alice: '1' })
    const old = createHold('alice', 1n, { claim: 'old' })
    const open = createHold('alice', 1n, { claim: 'open' })
    const recent = createHold('alice', 1n, { claim: 'recent' })
    for (const hold of [old, open, recent]) await ledger.hold(hold, context)
    for (const hold of [old, recent]) {
      await ledger.settle(createSettle(hold.holdId, 'alice', 1n, { claim: hold.claim! }), context)
    }
    await database.all({
      text: 'update {holds} set ended_at = ended_at - 2678400000 where id = ?1',
      parameters: [old.holdId],
    })
    for (const days of [29, Number.NaN]) {
      await expect(admin.maintenance.pruneHolds(days)).rejects.toThrow('at least 30 days')
    }
    expect(await admin.maintenance.pruneHolds(Number.POSITIVE_INFINITY)).toBe(0)
    // A wrong clock on the caller's machine prunes nothing too soon.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 90 * 86_400_000 })
    try {
      expect(await admin.maintenance.pruneHolds(60)).toBe(0)
    } finally {
      vi.useRealTimers()
    }
    expect(await admin.maintenance.pruneHolds(30)).toBe(1)
    const left = await database.all({ text: 'select id from {holds} order by id' })
    expect(left.map((row) => row.id)).toEqual([open.holdId, recent.holdId].sort())
    expect(await database.all({ text: 'select hold_id from {claims}' })).toHaveLength(2)
    expect(await ledger.hold(createHold('alice', 1n, { claim: 'old' }), context)).toEqual({ ok: true })
    expect((await ledger.hold(createHold('alice', 1n, { claim: 'recent' }), context)).ok).toBe(false)
    expect(await admin.maintenance.verify()).toEqual([])
  })
})
