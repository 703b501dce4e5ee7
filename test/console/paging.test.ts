import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { parseCredits } from '../../src/base/money.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

const CALLING_KEYS = 120
const IDLE_KEYS = 130

let bench: Bench
let aheadMs = 0
const calling: string[] = []

beforeAll(async () => {
  bench = await startBench({
    keysPerAccount: 1_000,
    console: { clock: { ...systemClock, now: () => Date.now() + aheadMs } },
  })
  await furnish(bench)
  await bench.admin.accounts.credit({ account: 'carol', amount: '100' })
  for (let number = 0; number < CALLING_KEYS; number++) {
    const { credentialId, token } = await bench.admin.keys.issue({ account: 'carol', label: `key ${number}` })
    calling.push(credentialId)
    expect(await bench.call(token, { max_tokens: 10 })).toMatchObject({ status: 200 })
  }
})

afterAll(() => bench.close())

/** Reads all pages of a list, one after the other. */
async function pages<Reply extends { readonly next?: string }>(
  path: string,
  query: object,
  viewer = operator,
) {
  const found: Reply[] = []
  for (let after: string | undefined; ; after = found.at(-1)!.next) {
    const asked = new URLSearchParams({ ...query, ...(after !== undefined && { after }) })
    const { json, status } = await bench.as(viewer).get<Reply>(`${path}?${asked}`)
    expect(status).toBe(200)
    found.push(json)
    if (json.next === undefined) return found
  }
}

/** Counts the rows and the statements that a reply needs. */
async function costOf(body: () => Promise<unknown>) {
  const all = vi.spyOn(bench.stores.database, 'all')
  await body()
  const results = await Promise.all(all.mock.results.map(({ value }) => value as Promise<readonly object[]>))
  const cost = { statements: results.length, rows: results.flat().length }
  all.mockRestore()
  return cost
}

describe("the console's page of calls", () => {
  it('reads only the rows that it shows, however many models and routes there are', async () => {
    for (let number = 0; number < 100; number++) {
      await bench.admin.models.put({ id: `idle/${number}`, prices: { input: '1', output: '1' } })
      const route = { id: `idle-${number}`, model: `idle/${number}`, upstreamModel: 'x' }
      await bench.admin.routes.put({ ...route, provider: 'fake', adapter: 'fake' })
    }
    for (const path of ['api/entries?limit=2', 'api/events?limit=2']) {
      const { rows } = await costOf(() => bench.as(operator).get(path))
      // Entries, the one after the page, keys, one model, its route, and the calls if they are written by now.
      expect(rows).toBeLessThanOrEqual(9)
    }
    const { json } = await bench.as(operator).get<ReplyOf<'entries'>>('api/entries?limit=1')
    expect(json.entries[0]!.charge!.currentPrices).toMatchObject({ of: 'model', priceVersion: 'v1' })
  })

  it('of a key is found among the calls of its account, for a user among its own', async () => {
    const [key] = calling
    const holdsOf = async (query: object, viewer = operator) => {
      const { json } = await bench
        .as(viewer)
        .get<ReplyOf<'entries'>>(`api/entries?${new URLSearchParams({ ...query })}`)
      return json.entries.map(({ facts, amount }) => [facts?.credentialId, amount !== undefined])
    }
    expect(await holdsOf({ key })).toEqual([[key, false]])
    expect(await holdsOf({ key, account: 'carol' })).toEqual([[key, true]])
    expect(await holdsOf({ key, account: 'platform' })).toEqual([[key, true]])
    expect(await holdsOf({ key }, alice)).toEqual([])
    expect(await holdsOf({ key: 'none' })).toEqual([])
    const entries = vi.spyOn(bench.stores.database, 'all')
    await holdsOf({ key })
    const asked = entries.mock.calls.map(([statement]) => statement.text)
    entries.mockRestore()
    expect(asked.filter((text) => text.includes('{entries}'))).toEqual([
      expect.stringContaining('{postings}'),
    ])
  })
})

describe("the console's spend by key", () => {
  it('comes in pages of fifty, each with the sums of all pages', async () => {
    const found = await pages<ReplyOf<'reports/spend'>>('api/reports/spend', { by: 'key', account: 'carol' })
    expect(found.map(({ rows }) => rows.length)).toEqual([50, 50, 20])
    const rows = found.flatMap((page) => page.rows)
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(calling))
    expect(rows.every(({ name }) => name?.startsWith('key '))).toBe(true)
    const sum = rows.reduce((all, { cost }) => all + parseCredits(cost), 0n)
    for (const { rowCount, total, books } of found) {
      expect(rowCount).toBe(CALLING_KEYS)
      expect(parseCredits(total.cost)).toBe(sum)
      expect(books.isEqual).toBe(true)
    }
  })

  it('reads the rows of one page and one row of sums', async () => {
    const ask = () => bench.as(operator).get('api/reports/spend?by=key&account=carol&after=50')
    // And the labels of the keys on it.
    expect(await costOf(ask)).toEqual({ statements: 2, rows: 51 + 50 })
    const { json } = await bench
      .as(operator)
      .get<ReplyOf<'reports/spend'>>('api/reports/spend?by=key&account=carol&after=500')
    expect(json).toMatchObject({ rows: [], rowCount: CALLING_KEYS, total: { calls: CALLING_KEYS } })
  })

  it('is complete in the CSV file', async () => {
    const { text } = await bench.as(operator).get('api/reports/spend.csv?by=key&account=carol')
    expect(text.trimEnd().split('\n')).toHaveLength(CALLING_KEYS + 1)
  })

  it.each(['-1', 'x', '1.5'])('refuses to continue after %s', async (after) => {
    const { status, json } = await bench.as(operator).get(`api/reports/spend?by=key&after=${after}`)
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining('next of an earlier page')])
  })
})

describe("the console's list of keys", () => {
  it("comes in pages, newest first, and contains only a user's own keys for a user", async () => {
    const made: string[] = []
    for (let number = 0; number < IDLE_KEYS; number++) {
      made.push((await bench.admin.keys.issue({ account: 'alice' })).credentialId)
    }
    const found = await pages<ReplyOf<'keys'>>('api/keys', {}, alice)
    const credentials = found.flatMap((page) => page.credentials)
    expect(found[0]!.credentials).toHaveLength(50)
    expect(credentials.slice(0, IDLE_KEYS).map(({ credentialId }) => credentialId)).toEqual(
      made.toSorted().reverse(),
    )
    expect(new Set(credentials.map(({ account }) => account))).toEqual(new Set(['alice']))
  })

  it('in use excludes revoked, expired and playground keys', async () => {
    const issue = async (label: string, expiresAt?: number): Promise<string> => {
      const request = { account: 'dave', label, ...(expiresAt !== undefined && { expiresAt }) }
      return (await bench.admin.keys.issue(request)).credentialId
    }
    await bench.admin.accounts.credit({ account: 'dave', amount: '1' })
    await issue('kept')
    await bench.admin.keys.revoke(await issue('revoked'))
    await issue('expired', 1_000)
    const own = await bench.as(operator).post('api/keys/playground', { account: 'dave' })
    expect(own.status).toBe(200)
    const labels = async (shown: string) => {
      const found = await pages<ReplyOf<'keys'>>('api/keys', { account: 'dave', shown })
      return found.flatMap(({ credentials }) => credentials.map(({ label }) => label))
    }
    expect(await labels('in-use')).toEqual(['kept'])
    expect(await labels('playground')).toEqual(['Playground'])
    expect((await labels('all')).toSorted()).toEqual(['Playground', 'expired', 'kept', 'revoked'])
  })

  it('recognises playground keys if its clock is ahead of the database', async () => {
    aheadMs = 30_000
    await bench.admin.accounts.credit({ account: 'frank', amount: '1' })
    const made = await bench.as(operator).post('api/keys/playground', { account: 'frank' })
    aheadMs = 0
    expect(made.status).toBe(200)
    const [page] = await pages<ReplyOf<'keys'>>('api/keys', { account: 'frank', shown: 'playground' })
    expect(page!.credentials).toHaveLength(1)
  })

  it('is found after any number of keys that are not shown', async () => {
    const wanted = await bench.admin.keys.issue({ account: 'erin', label: 'wanted' })
    for (let number = 0; number < 600; number++) {
      await bench.as(operator).post('api/keys/playground', { account: 'alice' })
    }
    const [first] = await pages<ReplyOf<'keys'>>('api/keys', { shown: 'in-use' })
    expect(first!.credentials[0]?.credentialId).toBe(wanted.credentialId)
  })

  it('does not search older keys for playground keys, which expire after an hour', async () => {
    for (let number = 0; number < 510; number++) await bench.admin.keys.issue({ account: 'zoe' })
    const ask = () => pages('api/keys', { shown: 'playground', account: 'zoe' })
    // 500 rows, 10, and none: only an empty page is the last.
    expect((await costOf(ask)).statements).toBe(3)
    aheadMs = 7_200_000
    expect((await costOf(ask)).statements).toBe(1)
    aheadMs = 0
  })
})
