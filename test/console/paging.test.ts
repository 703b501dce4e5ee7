import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CredentialsReply, SpendReply } from '../../src/console/protocol.js'
import { parseCredits } from '../../src/money.js'
import { alice, type Bench, furnish, operator, startBench } from './console-bench.js'

const CALLING_KEYS = 120
const IDLE_KEYS = 130

let bench: Bench
const calling: string[] = []

beforeAll(async () => {
  bench = await startBench()
  await furnish(bench)
  await bench.admin.grant({ account: 'carol', amount: '100' })
  for (let number = 0; number < CALLING_KEYS; number++) {
    const { credentialId, token } = await bench.admin.issueKey({ account: 'carol', label: `key ${number}` })
    calling.push(credentialId)
    expect(await bench.call(token, { max_tokens: 10 })).toMatchObject({ status: 200 })
  }
}, 60_000)

afterAll(() => bench.close())

/** All pages of an answer, one after the other. */
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

describe('spend by key', () => {
  it('comes in pages of fifty, each with the sums of all', async () => {
    const found = await pages<SpendReply>('api/spend', { by: 'key', account: 'carol' })
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

  it('is in the file as a whole', async () => {
    const { text } = await bench.as(operator).get('api/spend.csv?by=key&account=carol')
    expect(text.trimEnd().split('\n')).toHaveLength(CALLING_KEYS + 1)
  })

  it.each(['-1', 'x', '1.5'])('refuses to read on after %s', async (after) => {
    const { status, json } = await bench.as(operator).get(`api/spend?by=key&after=${after}`)
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining('next of an earlier page')])
  })
})

describe('keys', () => {
  it('come in pages, the newest first, and to a user its own alone', async () => {
    const made: string[] = []
    for (let number = 0; number < IDLE_KEYS; number++) {
      made.push((await bench.admin.issueKey({ account: 'alice' })).credentialId)
    }
    const found = await pages<CredentialsReply>('api/credentials', {}, alice)
    const credentials = found.flatMap((page) => page.credentials)
    expect(found[0]!.credentials).toHaveLength(50)
    expect(credentials.slice(0, IDLE_KEYS).map(({ credentialId }) => credentialId)).toEqual(
      made.toSorted().reverse(),
    )
    expect(new Set(credentials.map(({ account }) => account))).toEqual(new Set(['alice']))
  })

  it('in use leave out what is revoked, has expired, or is of the playground', async () => {
    const issue = async (label: string, expiresAt?: number): Promise<string> => {
      const request = { account: 'dave', label, ...(expiresAt !== undefined && { expiresAt }) }
      return (await bench.admin.issueKey(request)).credentialId
    }
    await bench.admin.grant({ account: 'dave', amount: '1' })
    await issue('kept')
    await bench.admin.revoke(await issue('revoked'))
    await issue('expired', 1_000)
    const own = await bench.as(operator).post('api/credentials/playground', { account: 'dave' })
    expect(own.status).toBe(200)
    const labels = async (shown: string) => {
      const found = await pages<CredentialsReply>('api/credentials', { account: 'dave', shown })
      return found.flatMap(({ credentials }) => credentials.map(({ label }) => label))
    }
    expect(await labels('in-use')).toEqual(['kept'])
    expect(await labels('playground')).toEqual(['Playground'])
    expect((await labels('all')).toSorted()).toEqual(['Playground', 'expired', 'kept', 'revoked'])
  })

  it('are found behind any number of others that are not shown', async () => {
    const wanted = await bench.admin.issueKey({ account: 'erin', label: 'wanted' })
    for (let number = 0; number < 600; number++) {
      await bench.as(operator).post('api/credentials/playground', { account: 'alice' })
    }
    const [first] = await pages<CredentialsReply>('api/credentials', { shown: 'in-use' })
    expect(first!.credentials[0]?.credentialId).toBe(wanted.credentialId)
  }, 60_000)
})
