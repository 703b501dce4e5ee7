import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin, type SpendQuery, type SpendRow } from '../../src/admin/index.js'
import type { Entry, Posting } from '../../src/contracts/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { foldTotals } from '../../src/sql/totals.js'
import { allEntries } from '../helpers/all-entries.js'
import { engineNames, foldAll, useEngine } from '../helpers/engines.js'
import { context, createCharge, createFacts, createSettle } from '../helpers/ledger-requests.js'
import { moveLatestEntry } from '../helpers/move-entry.js'
import { createRandom } from '../helpers/random.js'

const QUARTER_MS = 900_000
const DAY_MS = 86_400_000
const START = Date.UTC(2026, 2, 28, 22)
const GROUPS = ['day', 'model', 'app', 'provider', 'key'] as const

/** The rows of a report, added up from the entries without SQL. */
function spendOf(entries: readonly Entry[], { by, from, to, model, appId }: SpendQuery): readonly SpendRow[] {
  const rows = new Map<string | undefined, { calls: number; cost: bigint; base: bigint; prompt: number }>()
  for (const { at, charge, facts } of entries) {
    if (charge === undefined || facts === undefined) continue
    if ((from !== undefined && at < from) || (to !== undefined && at >= to)) continue
    if ((model !== undefined && facts.model !== model) || (appId !== undefined && facts.appId !== appId))
      continue
    const key = {
      day: new Date(at).toISOString().slice(0, 10),
      model: facts.model,
      app: facts.appId,
      provider: facts.provider,
      key: facts.credentialId,
      account: facts.account,
    }[by]
    const row = rows.get(key) ?? { calls: 0, cost: 0n, base: 0n, prompt: 0 }
    rows.set(key, {
      calls: row.calls + 1,
      cost: row.cost + charge.cost,
      base: row.base + charge.base,
      prompt: row.prompt + charge.usage.prompt,
    })
  }
  return [...rows].map(([key, { calls, cost, base, prompt }]) => ({
    key,
    calls,
    cost,
    base,
    markup: cost - base,
    usage: { prompt, cached: calls, cacheWrite: 2 * calls, completion: 7 * calls, reasoning: 3 * calls },
  }))
}

const inOrder = (rows: readonly SpendRow[]) =>
  [...rows].sort((one, other) => String(one.key).localeCompare(String(other.key)))

describe.each(engineNames)('the kept totals on %s', (name) => {
  const engine = useEngine(name)
  let stores: DurableStores
  let admin: Admin

  const random = createRandom(11)
  let holds = 0

  /** Settles a call, and gives it another time before it can be added to the totals. */
  async function charge(at?: number, cost = BigInt(random(5_000))): Promise<void> {
    const account = ['alice', 'bob', 'dev', 'platform'][random(4)]!
    const markup = cost / 5n
    const postings: Posting[] = [
      { account, amount: -cost },
      { account: 'platform', amount: cost - markup },
      { account: 'dev', amount: markup },
    ]
    const model = ['fast', 'smart'][random(2)]!
    const app = ['notes', undefined][random(2)]
    const provider = ['north', 'south', undefined][random(3)]
    const facts = createFacts(account, {
      model,
      credentialId: `key-${random(3)}`,
      ...(app !== undefined && { appId: app }),
      ...(provider !== undefined && { provider }),
    })
    const holdId = `h${holds++}`
    const charged = createCharge(cost, { base: cost - markup, markup })
    await stores.ledger.settle(
      createSettle(holdId, account, cost, { charge: charged, facts, postings }),
      context,
    )
    if (at !== undefined) await moveLatestEntry(stores, at)
  }

  async function compareReports(): Promise<void> {
    const entries = await allEntries(admin)
    const periods = [
      {},
      { from: START + QUARTER_MS },
      { from: START + QUARTER_MS + 7, to: START + 30 * 3_600_000 + 7 },
      { to: START + DAY_MS - 1 },
      { from: START + 1, to: START + DAY_MS + 1 },
      { from: START + 3 * QUARTER_MS, to: START + 3 * QUARTER_MS + 1 },
      { from: START + 10, to: START + QUARTER_MS - 10 },
      { from: START + QUARTER_MS, to: START + 2 * QUARTER_MS },
      { from: START + QUARTER_MS - 1, to: START + 2 * QUARTER_MS + 1 },
    ]
    for (const by of GROUPS) {
      for (const period of periods) {
        for (const filter of [{}, { model: 'fast' }, { appId: 'notes' }]) {
          const query = { by, ...period, ...filter }
          const expected = inOrder(spendOf(entries, query))
          expect(inOrder(await admin.reports.spend(query)), JSON.stringify(query)).toEqual(expected)
          const report = await admin.reports.spendReport(query)
          expect(inOrder(report.rows)).toEqual(expected)
          expect(report.books.isEqual).toBe(true)
          expect(report.books.debited + report.books.kept).toBe(report.total.cost)
        }
      }
    }
  }

  beforeAll(async () => {
    stores = engine.open('totals')
    admin = createAdmin(stores)
    await admin.accounts.credit({ account: 'alice', amount: '0.00002' })
    await admin.accounts.correct({ account: 'bob', amount: '-0.00001' })
  })

  it('and the entries that they lack are every entry once, in every report', async () => {
    for (let round = 0; round < 4; round++) {
      for (let call = 0; call < 12; call++) {
        const quarter = START + random(110) * QUARTER_MS
        await charge(quarter + [0, 1, QUARTER_MS - 1, random(QUARTER_MS)][random(4)]!)
      }
      const charged = (await allEntries(admin)).filter(
        ({ kind, charge }) => kind === 'charge' && charge!.cost > 2n,
      )
      await admin.entries.refund(charged[random(charged.length)]!.id, '0.000000001')
      await moveLatestEntry(stores, START + random(110) * QUARTER_MS - 1)
      // Some are added, and the rest of the last round is not.
      if (round < 3) await foldAll(stores)
      if (round === 1 || round === 3) await compareReports()
      expect(await admin.maintenance.verify()).toEqual([])
    }
  }, 120_000)

  it('that are wrong are found, and right once all entries are added up again', async () => {
    await foldAll(stores)
    const { database } = stores
    await database.all({
      text: "update {charge_totals} set cost_low = cost_low + 5 where model = 'fast' and span = 900000 and starts_at = (select max(starts_at) from {charge_totals} where model = 'fast' and span = 900000)",
    })
    const found = await admin.maintenance.verify()
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ what: 'totals', id: expect.stringContaining(' fast ') })
    expect(found[0]!.found - found[0]!.expected).toBe(5n)
    await database.all({ text: 'update {charge_totals} set prompt = prompt + 1' })
    expect((await admin.maintenance.verify()).length).toBeGreaterThan(10)
    await admin.maintenance.rebuildTotals()
    expect(await admin.maintenance.verify()).toEqual([])
  })

  it('stay exact if they are added up again while calls are settled', async () => {
    let isOver = false
    const settling = (async () => {
      while (!isOver) await charge()
    })()
    for (let turn = 0; turn < 3; turn++) await admin.maintenance.rebuildTotals()
    isOver = true
    await settling
    expect(await admin.maintenance.verify()).toEqual([])
    await compareReports()
  }, 120_000)

  it.runIf(name === 'PostgreSQL')(
    'leave young entries for a larger step, unless the last process ends',
    async () => {
      await foldAll(stores)
      await charge()
      expect(await foldTotals(stores.database, 600_000)).toMatchObject({ state: 'soon' })
      expect(await foldTotals(stores.database)).toMatchObject({ state: 'done' })
      expect(await foldTotals(stores.database, 600_000)).toMatchObject({ state: 'done' })
      await charge()
      await moveLatestEntry(stores, Date.now() - 700_000)
      expect(await foldTotals(stores.database, 600_000)).toMatchObject({ state: 'done' })
      expect(await foldTotals(stores.database, 600_000)).toMatchObject({ state: 'done' })
      expect(await admin.maintenance.verify()).toEqual([])
    },
  )

  it('take in each entry once, however many processes add them', async () => {
    for (let call = 0; call < 20; call++) await charge(START)
    const states = await Promise.all(Array.from({ length: 4 }, () => foldTotals(stores.database)))
    expect(states.map(({ state }) => state)).toContain('done')
    expect(await admin.maintenance.verify()).toEqual([])
  })
})
