import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatCredits, parseCredits } from '../../src/base/money.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

/** A generator with a seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const CALLS = 400
const parse = (text: string) => (text.startsWith('-') ? -parseCredits(text.slice(1)) : parseCredits(text))

let bench: Bench
/** The cost of each payer's calls, as reported to its client. */
const reported = new Map<string, bigint>()

beforeAll(async () => {
  const random = createRandom(7)
  bench = await startBench({
    usage: () => ({
      prompt: 1 + Math.floor(random() * 5_000),
      completion: Math.floor(random() * 900),
      more: { cached: Math.floor(random() * 300), reasoning: Math.floor(random() * 50) },
    }),
    router: { byokFee: { flat: '0.000123456' } },
  })
  const tokens = await furnish(bench)
  await bench.admin.accounts.correct({ account: 'alice', amount: '-1.000000001', reference: 'c1' })
  await bench.admin.accounts.correct({ account: 'dev', amount: '0.5', reference: 'c2' })
  const names = Object.keys(tokens) as (keyof typeof tokens)[]
  const envelope = await bench.sealFor('alice')
  for (let turn = 0; turn < CALLS; turn++) {
    const name = names[Math.floor(random() * names.length)]!
    const model = random() < 0.5 ? 'acme/fast' : 'acme/smart'
    const own = name === 'alice' && random() < 0.3 ? { provider: 'fake', provider_key: envelope } : {}
    const { status, json } = await bench.call(tokens[name], { model, ...own })
    expect(status).toBe(200)
    const payer = name.replace(/(Notes|House)$/, '')
    const cost = parseCredits((json.usage as { cost: number }).cost.toFixed(9))
    reported.set(payer, (reported.get(payer) ?? 0n) + cost)
  }
}, 120_000)

afterAll(() => bench.close())

const filters: readonly Readonly<Record<string, string>>[] = [
  {},
  { account: 'alice' },
  { account: 'bob' },
  { account: 'dev' },
  { account: 'platform' },
  { appId: 'notes' },
  { appId: 'house' },
  { model: 'acme/fast' },
  { account: 'platform', appId: 'house' },
]

describe("the console's spend report", () => {
  it.each(['day', 'model', 'app', 'key', 'provider'])(
    'by %s adds up to what was posted to the payers',
    async (by) => {
      for (const filter of filters) {
        const query = new URLSearchParams({ by, ...filter })
        const { status, json } = await bench
          .as(operator)
          .get<ReplyOf<'reports/spend'>>(`api/reports/spend?${query}`)
        expect(status).toBe(200)
        const { rows, total, books } = json
        const sum = (name: 'cost' | 'base' | 'markup') =>
          formatCredits(rows.reduce((all, row) => all + parseCredits(row[name]), 0n))
        expect(total).toMatchObject({ cost: sum('cost'), base: sum('base'), markup: sum('markup') })
        expect(parse(total.base) + parse(total.markup)).toBe(parse(total.cost))
        expect(parse(books.debited) + parse(books.kept)).toBe(parse(books.paid))
        expect(books).toMatchObject({ paid: total.cost, isEqual: true })
        expect(total.calls).toBeGreaterThan(0)
        expect(total.usage.cached).toBeGreaterThan(0)
        expect(total.usage.reasoning).toBeGreaterThan(0)
      }
    },
  )

  it.each(['', 'model', 'app', 'key', 'account', 'provider'])(
    'over time, split by "%s", adds up to the same report in every zone and range',
    async (by) => {
      for (const range of ['hour', 'day', 'week', 'month', 'quarter', 'year']) {
        for (const filter of filters.slice(0, 2)) {
          const query = new URLSearchParams({ range, zone: 'Asia/Kathmandu', ...filter, ...(by && { by }) })
          const { json } = await bench
            .as(operator)
            .get<ReplyOf<'reports/spend-over-time'>>(`api/reports/spend-over-time?${query}`)
          const { books, parts, steps, total } = json
          const whole = await bench
            .as(operator)
            .get<ReplyOf<'reports/spend'>>(
              `api/reports/spend?${new URLSearchParams({ by: 'model', ...filter })}`,
            )
          expect(total, String(query)).toEqual(whole.json.total)
          const sum = (rows: readonly { readonly cost: string }[]) =>
            formatCredits(rows.reduce((all, row) => all + parseCredits(row.cost), 0n))
          expect(sum(steps)).toBe(total.cost)
          expect(sum(parts)).toBe(by === '' ? '0' : total.cost)
          expect(books).toMatchObject({ paid: total.cost, isEqual: true })
        }
      }
    },
  )

  it('of every account equals the costs reported to its clients', async () => {
    for (const [account, cost] of reported) {
      const { json } = await bench
        .as(operator)
        .get<ReplyOf<'reports/spend'>>(`api/reports/spend?by=day&account=${account}`)
      expect(json.total.cost).toBe(formatCredits(cost))
    }
    const { json } = await bench.as(operator).get<ReplyOf<'reports/spend'>>('api/reports/spend?by=day')
    expect(json.total.calls).toBe(CALLS)
    expect(json.total.cost).toBe(formatCredits([...reported.values()].reduce((all, cost) => all + cost, 0n)))
  })

  it('reports the sum that payers kept because they earn it themselves', async () => {
    const of = async (filter: string) =>
      (await bench.as(operator).get<ReplyOf<'reports/spend'>>(`api/reports/spend?by=day&${filter}`)).json
    // The platform pays itself: nothing is debited for its own key, nor for an app that earns the markup for it.
    const house = await of('account=platform&appId=house')
    expect(house.books).toMatchObject({ debited: '0', kept: house.total.cost, isEqual: true })
    const throughNotes = await of('account=platform&appId=notes')
    expect(throughNotes.books).toMatchObject({
      debited: throughNotes.total.markup,
      kept: throughNotes.total.base,
    })
    const developer = await of('account=dev&appId=notes')
    expect(developer.books).toMatchObject({ debited: developer.total.base, kept: developer.total.markup })
    expect((await of('account=alice')).books).toMatchObject({ kept: '0' })
  })

  it('shows the names of keys and apps', async () => {
    const { json } = await bench.as(operator).get<ReplyOf<'reports/spend'>>('api/reports/spend?by=app')
    const { rows } = json
    expect(rows.find(({ key }) => key === 'notes')).toMatchObject({ name: 'Notes' })
    expect(rows.some((row) => !('key' in row))).toBe(true)
  })

  it('is not reported as equal if somebody has edited the database by hand', async () => {
    const changed = await startBench()
    try {
      const { alice: token } = await furnish(changed)
      await changed.call(token)
      const isEqual = async () =>
        (await changed.as(operator).get<ReplyOf<'reports/spend'>>('api/reports/spend?by=day')).json.books
          .isEqual
      expect(await isEqual()).toBe(true)
      const run = (text: string) => changed.stores.database.all({ text })
      await run("update {entries} set posted = posted - 1 where kind = 'charge'")
      expect(await isEqual()).toBe(false)
      await run("update {entries} set posted = posted + 1 where kind = 'charge'")
      await run("update {entries} set cost = cost + 1 where kind = 'charge'")
      expect(await isEqual()).toBe(false)
      await run("update {entries} set cost = cost - 1 where kind = 'charge'")
      expect(await isEqual()).toBe(true)
      await run("delete from {postings} where account = 'alice' and amount < 0")
      expect((await changed.admin.maintenance.verify()).map(({ what }) => what)).toContain('cost')
    } finally {
      await changed.close()
    }
  })
})

describe("the console's statement", () => {
  it.each(['alice', 'bob', 'dev', 'platform'])(
    'of %s explains its balance to the last digit',
    async (account) => {
      const { json } = await bench
        .as(operator)
        .get<ReplyOf<'reports/statement'>>(`api/reports/statement?account=${account}`)
      const balance = await bench.admin.accounts.balance(account)
      expect(json).toMatchObject({
        account,
        credited: '100',
        corrected: { alice: '-1.000000001', dev: '0.5' }[account] ?? '0',
        refunded: '0',
        spent: formatCredits(reported.get(account)!),
        posted: formatCredits(balance!.posted),
        held: '0',
        sum: formatCredits(balance!.posted),
        isEqual: true,
      })
      const { credited, corrected, earned, spent, posted } = json
      expect(parse(credited) + parse(corrected) + parse(earned) - parse(spent)).toBe(parse(posted))
      expect(earned === '0').toBe(account === 'alice' || account === 'bob')
    },
  )

  it('of all accounts together adds up to the credits and corrections', async () => {
    let posted = 0n
    for (const account of ['alice', 'bob', 'dev', 'platform']) {
      posted += parse(
        (
          await bench
            .as(operator)
            .get<ReplyOf<'reports/statement'>>(`api/reports/statement?account=${account}`)
        ).json.posted,
      )
    }
    expect(formatCredits(posted)).toBe('399.499999999')
  })

  it('does not report a balance as equal if its postings do not explain it', async () => {
    const changed = await startBench()
    try {
      await furnish(changed)
      await changed.stores.database.all({
        text: "update {accounts} set posted = posted + 1 where id = 'alice'",
      })
      const { json } = await changed.as(alice).get<ReplyOf<'reports/statement'>>('api/reports/statement')
      expect(json).toMatchObject({ sum: '100', posted: '100.000000001', isEqual: false })
    } finally {
      await changed.close()
    }
  })
})

describe("the console's books", () => {
  it('are correct after calls', async () => {
    const { json } = await bench.as(operator).post('api/maintenance/verify')
    expect(json).toEqual({ isSound: true, discrepancies: [] })
  })

  it('list the discrepancies', async () => {
    const changed = await startBench()
    try {
      await furnish(changed)
      await changed.stores.database.all({
        text: "update {accounts} set posted = posted + 1 where id = 'alice'",
      })
      const { json } = await changed.as(operator).post('api/maintenance/verify')
      expect(json).toEqual({
        isSound: false,
        discrepancies: [
          {
            what: 'balance',
            id: 'alice',
            found: '100.000000001',
            expected: '100',
            message: expect.stringContaining('"alice" has a balance of 100.000000001'),
          },
        ],
      })
    } finally {
      await changed.close()
    }
  })
})

describe("the console's CSV file of calls", () => {
  it('has every entry, page after page, and its charges add up to the total', async () => {
    const { text } = await bench.as(operator).get('api/entries.csv')
    const lines = text.trimEnd().split('\r\n')
    const names = lines[0]!.split(',')
    const rows = lines
      .slice(1)
      .map((line) => Object.fromEntries(line.split(',').map((cell, at) => [names[at], cell])))
    expect(rows).toHaveLength(CALLS + 6)
    const cost = rows.reduce((sum, row) => sum + (row.cost ? parseCredits(row.cost) : 0n), 0n)
    const { json } = await bench.as(operator).get<ReplyOf<'reports/spend'>>('api/reports/spend?by=day')
    expect(formatCredits(cost)).toBe(json.total.cost)
  })
})
