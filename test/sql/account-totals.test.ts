import { describe, expect, it } from 'vitest'
import {
  type AccountStatement,
  createAdmin,
  type SpendOverTimeQuery,
  type SpendQuery,
  type SpendRow,
} from '../../src/admin/index.js'
import type { Entry, Posting } from '../../src/contracts/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { foldAccounts, foldTotals } from '../../src/sql/totals.js'
import { allEntries } from '../helpers/all-entries.js'
import { engineNames, foldAll, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createSettle } from '../helpers/ledger-requests.js'
import { isLong } from '../helpers/long.js'
import { createRandom } from '../helpers/random.js'

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** So many times, so long after each other. */
const times = (from: number, count: number, ms: number) =>
  Array.from({ length: count }, (_, place) => from + place * ms)
/** The text of postings escapes the quote and the backslash. */
const ACCOUNTS = ['alice', 'b"o\\b', 'dev', 'platform'] as const
const KEYS = ['key-0', 'key-1', 'key-2'] as const
const GROUPS = ['day', 'model', 'app', 'provider', 'key', 'account'] as const
const SEEDS = isLong ? Array.from({ length: 20 }, (_, seed) => seed) : [1]

function isWithin(
  at: number,
  { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: { from?: number; to?: number },
) {
  return at >= from && at < to
}

/** The rows of a report, added up from the entries without SQL. */
function spendOf(entries: readonly Entry[], query: SpendQuery): readonly Omit<SpendRow, 'usage'>[] {
  const rows = new Map<string | undefined, Omit<SpendRow, 'usage'>>()
  for (const { at, charge, facts } of entries) {
    if (charge === undefined || facts === undefined || !isWithin(at, query)) continue
    const { account, appId, credentialId, model, provider } = facts
    if (query.account !== undefined && account !== query.account) continue
    if (query.appId !== undefined && appId !== query.appId) continue
    if (query.model !== undefined && model !== query.model) continue
    if (query.credentialIds?.includes(credentialId) === false) continue
    const day = new Date(at).toISOString().slice(0, 10)
    const key = { day, model, app: appId, provider, key: credentialId, account }[query.by]
    const row = rows.get(key) ?? { key, calls: 0, cost: 0n, base: 0n, markup: 0n }
    rows.set(key, {
      key,
      calls: row.calls + 1,
      cost: row.cost + charge.cost,
      base: row.base + charge.base,
      markup: row.markup + charge.markup,
    })
  }
  return [...rows.values()]
}

function statementOf(entries: readonly Entry[], account: string): Omit<AccountStatement, 'posted' | 'held'> {
  const sums = { credited: 0n, corrected: 0n, refunded: 0n, earned: 0n, spent: 0n }
  for (const { kind, charge, facts, postings } of entries) {
    const amount = postings.find((posting) => posting.account === account)?.amount ?? 0n
    if (kind === 'credit') sums.credited += amount
    if (kind === 'correction') sums.corrected += amount
    if (kind === 'refund') sums.refunded += amount
    if (charge === undefined) continue
    const isOwn = facts!.account === account
    if (isOwn) sums.spent += charge.cost
    sums.earned += isOwn ? amount + charge.cost : amount
  }
  return sums
}

/** What an account spent less its refunds, since a time. */
function spentOf(entries: readonly Entry[], account: string, key: string | undefined, since: number): bigint {
  let sum = 0n
  for (const { at, charge, facts, refund } of entries) {
    if (at < since || facts?.account !== account || (key !== undefined && facts.credentialId !== key))
      continue
    sum += (charge?.cost ?? 0n) - (refund?.amount ?? 0n)
  }
  return sum > 0n || since === 0 ? sum : 0n
}

const inOrder = <Row extends { readonly key: string | undefined }>(rows: readonly Row[]) =>
  [...rows].sort((one, other) => String(one.key).localeCompare(String(other.key)))

const TABLES = [
  ...['accounts', 'holds', 'claims', 'entries', 'postings'],
  ...['charge_totals', 'account_totals', 'key_totals', 'posting_totals'],
]
/** The entries that wait for totals, and the earnings of accounts. */
const QUEUES = { SQLite: ['summed'], PostgreSQL: ['unsummed', 'unkeyed', 'earned'] } as const

const at = <Item>(items: readonly Item[], place: number): Item => items[place % items.length]!

describe.each(engineNames)('the totals by account and key on %s', (name) => {
  const engine = useEngine(name)

  it.each(SEEDS)(
    'and what they lack are every entry once, whatever was added when, with seed %i',
    async (seed) => {
      const random = createRandom(seed)
      const one = <Item>(items: readonly Item[]): Item => at(items, random(items.length))
      const stores = engine.open(`accounts-${seed}`)
      const admin = createAdmin(stores)
      await admin.apps.put({
        id: 'notes',
        name: 'Notes',
        account: 'dev',
        markup: { basisPoints: 2_000 },
        allowedModels: [],
      })
      const now = Date.now()
      const today = now - (now % DAY_MS)
      /** In three months, often at a day's or a month's edge. */
      const anyTime = () =>
        one([
          today - random(100) * DAY_MS + one([0, -1, 1, random(DAY_MS)]),
          now - random(60_000),
          Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - random(3), 1) + one([0, -1]),
        ])

      async function charge(holdId: string): Promise<void> {
        const account = one(ACCOUNTS)
        const cost = BigInt(random(5_000))
        const markup = cost / 5n
        const app = one(['notes', 'other', undefined])
        const postings: Posting[] = [
          { account, amount: -cost },
          { account: 'platform', amount: app === 'notes' ? cost - markup : cost },
          ...(app === 'notes' ? [{ account: 'dev', amount: markup }] : []),
        ]
        const provider = one(['north', 'south', undefined])
        const facts = createFacts(account, {
          model: one(['fast', 'smart']),
          credentialId: one(KEYS),
          ...(app !== undefined && { appId: app }),
          ...(provider !== undefined && { provider }),
        })
        const charged = createCharge(cost, { base: cost - markup, markup })
        await stores.ledger.settle(
          createSettle(holdId, account, cost, { charge: charged, facts, postings }),
          context,
        )
      }

      /** Gives the latest entry another time, as one that was late or early. */
      async function move(time = anyTime()): Promise<void> {
        const tables: (readonly [string, string])[] = [
          ['entries', 'id = (select max(id) from {entries})'],
          ['postings', 'entry_id = (select max(id) from {entries})'],
          ...(name === 'PostgreSQL'
            ? [['unsummed', '(select max(id) from {entries}) = any (ids)'] as const]
            : []),
        ]
        for (const [table, condition] of tables) {
          await stores.database.all({
            text: `update {${table}} set at = ?1 where ${condition}`,
            parameters: [BigInt(time)],
          })
        }
      }

      async function step(place: number): Promise<void> {
        const what = random(20)
        if (what < 12) return charge(`h${place}`).then(() => move())
        if (what < 14) {
          await admin.accounts.credit({ account: one(ACCOUNTS), amount: '0.000002', reference: `c${place}` })
          return move()
        }
        if (what === 14) {
          await admin.accounts.correct({
            account: one(ACCOUNTS),
            amount: '-0.000001',
            reference: `d${place}`,
          })
          return move()
        }
        if (what === 15) {
          const [charged] = await stores.database.all({
            text: `select id from {entries} e where kind = 'charge' and cost > 10
              and not exists (select 1 from {entries} r where r.refund_of = e.id) order by id desc limit 1`,
          })
          if (charged === undefined) return
          await admin.entries.refund(String(charged.id), one(['0.000000007', undefined]))
          return move()
        }
        if (what === 16) await foldTotals(stores.database)
        if (what === 17) await foldAccounts(stores.database, 1 + random(8))
        if (what === 18) await foldAll(stores)
        if (what === 19 && random(10) === 0) await admin.maintenance.rebuildTotals()
      }

      async function compare(): Promise<void> {
        const entries = await allEntries(admin)
        const month = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - 1, 1)
        const periods = [
          {},
          { from: today - 40 * DAY_MS, to: today - 3 * DAY_MS },
          {
            from: month,
            to: Date.UTC(new Date(month).getUTCFullYear(), new Date(month).getUTCMonth() + 1, 1),
          },
          { from: month - DAY_MS - 5, to: now },
          { from: today - random(100) * DAY_MS - 1 },
          { to: today - random(90) * DAY_MS + 1 },
          { from: today + 5, to: today + 50 },
        ]
        const filters = [
          {},
          { account: 'alice' },
          { account: 'dev', model: 'fast' },
          { credentialIds: ['key-1'], appId: 'notes' },
        ]
        for (const by of GROUPS) {
          for (const period of periods) {
            const query = { by, ...period, ...one(filters) }
            const expected = inOrder(spendOf(entries, query))
            const plain = (rows: readonly SpendRow[]) => inOrder(rows).map(({ usage: _, ...row }) => row)
            expect(plain(await admin.reports.spend(query)), JSON.stringify(query)).toEqual(expected)
            const { rows, rowCount, total, books } = await admin.reports.spendReport(query)
            expect(plain(rows)).toEqual(expected)
            expect(rowCount).toBe(expected.length)
            expect(books).toEqual({ debited: expect.any(BigInt), kept: expect.any(BigInt), isEqual: true })
            expect(books.debited + books.kept).toBe(total.cost)
          }
        }
        for (const by of [undefined, ...GROUPS.slice(1)]) {
          const days = [...times(today - 60 * DAY_MS, 4, 20 * DAY_MS), today + DAY_MS]
          const quarters = times(today - 2 * DAY_MS, 9, 7 * QUARTER_MS)
          const minutes = times(today - 300_000, 24, 300_000)
          const isOfAccounts = by === 'key' || by === 'account'
          for (const steps of [days, minutes, ...(isOfAccounts ? [] : [quarters])]) {
            const filter = one([{}, ...(steps === quarters ? [] : [{ account: 'alice' }]), { model: 'fast' }])
            const query = { ...filter, times: steps, ...(by !== undefined && { by }) } as SpendOverTimeQuery
            const found = await admin.reports.spendOverTime(query)
            const of = (step: number) => ({ ...filter, from: steps[step]!, to: steps[step + 1]! })
            for (const step of steps.slice(1).keys()) {
              const isCharged = spendOf(entries, { by: 'day', ...of(step) }).length > 0
              expect(found.steps.some((row) => row.step === step)).toBe(isCharged)
              const parts = found.parts.filter((part) => part.step === step)
              const rows = parts.map(({ group, step: _, usage: __, ...row }) => ({
                key: found.groups[group!],
                ...row,
              }))
              const expected =
                by === undefined ? [] : spendOf(entries, { by: by as SpendQuery['by'], ...of(step) })
              expect(inOrder(rows), JSON.stringify(query)).toEqual(inOrder(expected))
            }
            const whole = { ...filter, from: steps[0]!, to: steps.at(-1)! }
            const expected = spendOf(entries, { by: 'day', ...whole }).reduce(
              (sum, { cost }) => sum + cost,
              0n,
            )
            expect(found.total.cost).toBe(expected)
            expect(found.steps.reduce((sum, { cost }) => sum + cost, 0n)).toBe(expected)
            expect(found.books.debited + found.books.kept).toBe(expected)
          }
        }
        const { from: since, to: until } = periods[3]!
        const ofApp = entries.filter(({ at, facts }) => facts?.appId === 'notes' && isWithin(at, periods[3]!))
        expect(await admin.reports.appFigures({ appId: 'notes', from: since!, to: until! })).toEqual({
          users: 0,
          calls: ofApp.filter(({ kind }) => kind === 'charge').length,
          earned: statementOf(
            ofApp
              .map((entry) => ({ ...entry, kind: 'credit' as const }))
              .filter(({ facts }) => facts!.account !== 'dev'),
            'dev',
          ).credited,
        })
        for (const account of ACCOUNTS) {
          expect((await admin.accounts.statement(account)) ?? {}).toMatchObject(statementOf(entries, account))
          for (const key of [undefined, ...KEYS]) {
            const query = { account, ...(key !== undefined && { credentialId: key }) }
            const week = today - ((today / DAY_MS + 3) % 7) * DAY_MS
            const since = (time: number) => spentOf(entries, account, key, time)
            expect(await stores.ledger.spent(query, context)).toMatchObject({
              total: since(0),
              today: since(today),
              week: since(week),
              month: since(Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth(), 1)),
            })
          }
        }
        expect(await admin.maintenance.verify()).toEqual([])
      }

      for (let place = 0; place < 160; place++) {
        await step(place)
        if (place % 40 === 39) await compare()
      }
      expect(await admin.maintenance.verifyDays()).toMatchObject({ discrepancies: [] })
      await foldAll(stores)
      await compare()
      expect(await admin.maintenance.verifyDays({ since: now - 110 * DAY_MS })).toMatchObject({
        discrepancies: [],
      })
    },
    240_000,
  )

  it('that are wrong are found, and right once all entries are added up again', async () => {
    const stores = engine.open('accounts-wrong')
    const { accounts, maintenance } = createAdmin(stores)
    await accounts.credit({ account: 'alice', amount: '1' })
    const charge = createCharge(1_000n, { base: 1_000n, markup: 0n })
    await stores.ledger.settle(createSettle('h1', 'alice', 1_000n, { charge }), context)
    await foldAll(stores)
    expect(await maintenance.verify()).toEqual([])
    await stores.database.all({ text: 'update {account_totals} set cost_low = cost_low + 5' })
    await stores.database.all({ text: 'update {key_totals} set refunded_low = refunded_low + 5' })
    const found = await maintenance.verify()
    expect(found.map(({ what, id }) => `${what} ${id.split(' ', 2).join(' ')}`).sort()).toEqual([
      'totals account_totals alice',
      'totals key_totals alice',
    ])
    await maintenance.rebuildTotals()
    expect(await maintenance.verify()).toEqual([])
    const rows = await stores.database.all({ text: 'select calls from {key_totals}' })
    expect(rows.map(({ calls }) => Number(calls))).toEqual([1])
  })

  it('take in each entry once, although four processes write and add entries at once', async () => {
    const processes = Array.from({ length: 4 }, () => engine.open('accounts-shared'))
    const admin = createAdmin(processes[0]!)
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    const CALLS = 60
    await Promise.all(
      processes.map(async ({ ledger, database }, place) => {
        for (let call = 0; call < CALLS; call++) {
          const facts = createFacts('alice', { credentialId: at(KEYS, call), model: `model-${call % 5}` })
          await ledger.settle(createSettle(`h${place}-${call}`, 'alice', 10n, { facts }), context)
          if (call % 7 === place) await foldTotals(database)
          if (call % 11 === place) await foldAccounts(database, 1 + call)
          if (place === 0 && call === 30) await admin.maintenance.rebuildTotals()
          if (call % 20 === place) expect(await admin.maintenance.verify()).toEqual([])
        }
      }),
    )
    const compare = async () => {
      expect(await admin.maintenance.verify()).toEqual([])
      const rows = await admin.reports.spend({ by: 'key' })
      expect(rows.reduce((sum, { calls }) => sum + calls, 0)).toBe(4 * CALLS)
      expect(await admin.accounts.statement('alice')).toMatchObject({ spent: 2_400n, posted: 999_997_600n })
    }
    await compare()
    await foldAll(processes[1]!)
    await compare()
  }, 120_000)

  it('have the entries of days that are over, by themselves', async () => {
    const [still, stores] = [engine.open('accounts-over'), engine.open('accounts-over', {}, undefined, 10)]
    const settle = async ({ ledger }: DurableStores, holdId: string) =>
      ledger.settle(createSettle(holdId, 'alice', 10n), context)
    await settle(still, 'h1')
    for (const table of ['entries', 'postings', ...(name === 'PostgreSQL' ? ['unsummed'] : [])])
      await still.database.all({ text: `update {${table}} set at = at - ${2 * DAY_MS}` })
    await settle(stores, 'h2')
    const callsOf = async (table: string) => {
      const [row] = await still.database.all({ text: `select sum(calls) as calls from {${table}}` })
      return Number(row!.calls)
    }
    await expect.poll(async () => callsOf('key_totals'), { timeout: 20_000 }).toBeGreaterThan(0)
    expect(await createAdmin(still).maintenance.verify()).toEqual([])
    await stores.close()
    expect([await callsOf('account_totals'), await callsOf('charge_totals')]).toEqual([2, 4])
  }, 30_000)

  it('contain or await each entry once in a copy of the tables, too', async () => {
    const [stores, copy] = [engine.open('accounts-dumped'), engine.open('accounts-restored')]
    const charge = async ({ ledger }: DurableStores, holdId: string) =>
      ledger.settle(createSettle(holdId, 'alice', 10n, { facts: createFacts('alice') }), context)
    // One entry in all totals, one that waits for those by account, and one that waits for all of them.
    await charge(stores, 'h1')
    await foldAll(stores)
    await charge(stores, 'h2')
    await foldTotals(stores.database)
    await charge(stores, 'h3')
    await copy.ready()
    for (const table of [...TABLES, ...QUEUES[name]]) {
      await copy.database.all({ text: `delete from {${table}}` })
      for (const row of await stores.database.all({ text: `select * from {${table}}` })) {
        const columns = Object.keys(row)
        await copy.database.all({
          text: `insert into {${table}} (${columns}) values (${columns.map((_, place) => `?${place + 1}`)})`,
          parameters: Object.values(row),
        })
      }
    }
    if (name === 'PostgreSQL')
      await copy.database.all({ text: "select setval('{entries_id_seq}', max(id)) from {entries}" })
    const admin = createAdmin(copy)
    const check = async (calls: number) => {
      expect(await admin.maintenance.verify()).toEqual([])
      for (const by of ['key', 'model'] as const)
        expect(await admin.reports.spend({ by })).toMatchObject([{ calls }])
    }
    await check(3)
    await charge(copy, 'h4')
    await check(4)
    await foldAll(copy)
    await check(4)
  })
})
