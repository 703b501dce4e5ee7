import { strict as assert } from 'node:assert'
import type { Entry, EntryQuery } from '../../contracts/index.js'
import { momentSchema } from '../../rules/schemas.js'
import {
  assertCharge,
  assertGranted,
  chargeOf,
  type LedgerBench,
  type LedgerCase,
  ledgerCase,
} from './bench.js'

/** Reading entries. The entries may include credits or not: the cases look at charges only. */
export const entryCases: readonly LedgerCase[] = [
  entryCase('entries-charge', 'a charge is an entry with all its fields', async (bench) => {
    await bench.settle('h', 12n, { base: 10n, facts: { appId: 'app-1', sessionId: 's', user: 'u' } })
    const [entry] = await charges(bench, { account: 'alice' })
    assert.equal(entry?.holdId, bench.holdId('h'))
    assertCharge(entry?.charge, chargeOf(12n, 10n))
    const { account, model, requestId, appId, sessionId, user } = entry!.facts!
    assert.deepEqual(
      [account, model, requestId, appId, sessionId, user],
      ['alice', 'acme/fast', 'request-1', 'app-1', 's', 'u'],
    )
    assert.deepEqual(sumsOf(entry!), { alice: -12n, platform: 10n, app: 2n })
    const isTime = momentSchema.safeParse(entry!.at).success
    assert.ok(isTime, `at must be a time in milliseconds since the Unix epoch; got ${entry!.at}`)
  }),
  entryCase('entries-once', 'repeats, holds and releases are not entries', async (bench) => {
    assertGranted(await bench.hold('h', 30n))
    assertGranted(await bench.hold('other', 30n))
    await bench.release('other')
    await bench.settle('h', 12n)
    await bench.settle('h', 12n)
    assert.equal((await charges(bench, { account: 'alice' })).length, 1)
  }),
  entryCase('entries-zero', 'a charge of 0 is an entry too', async (bench) => {
    await bench.settle('h', 0n)
    assert.equal((await charges(bench, {})).length, 1)
  }),
  entryCase('entries-account', 'entries are found by every account that they post to', async (bench) => {
    await bench.settle('a', 12n, { base: 10n })
    await bench.settle('b', 7n, { account: 'bob' })
    assert.deepEqual(await namesOf(bench, { account: 'alice' }), ['a'])
    assert.deepEqual(await namesOf(bench, { account: 'bob' }), ['b'])
    assert.deepEqual(await namesOf(bench, { account: 'platform' }), ['b', 'a'])
    assert.deepEqual(await namesOf(bench, { account: 'nobody' }), [])
  }),
  entryCase(
    'entries-facts',
    'entries are found by app, model and session, each as a whole string',
    async (bench) => {
      await bench.settle('a', 1n, { facts: { appId: 'app-1', model: 'acme/fast', sessionId: 's1' } })
      await bench.settle('b', 1n, { facts: { appId: 'app-2', model: 'acme/fast', sessionId: 's2' } })
      await bench.settle('c', 1n, { facts: { claimedAppId: 'app-1', model: 'acme/slow' } })
      assert.deepEqual(await namesOf(bench, { appId: 'app-1' }), ['a'])
      assert.deepEqual(await namesOf(bench, { model: 'acme/fast' }), ['b', 'a'])
      assert.deepEqual(await namesOf(bench, { model: 'acme' }), [])
      assert.deepEqual(await namesOf(bench, { sessionId: 's2' }), ['b'])
      assert.deepEqual(await namesOf(bench, { appId: 'app-1', sessionId: 's2' }), [])
      assert.deepEqual(await namesOf(bench, {}), ['c', 'b', 'a'])
    },
  ),
  entryCase('entries-time', '`from` is inclusive and `to` exclusive', async (bench) => {
    await bench.settle('a', 1n)
    const { at } = (await charges(bench, {}))[0]!
    assert.deepEqual(await namesOf(bench, { from: at }), ['a'])
    assert.deepEqual(await namesOf(bench, { from: at + 1 }), [])
    assert.deepEqual(await namesOf(bench, { to: at }), [])
    assert.deepEqual(await namesOf(bench, { to: at + 1 }), ['a'])
  }),
  entryCase(
    'entries-pages',
    'pages go from newest to oldest and show each entry once, even while more are posted',
    async (bench) => {
      for (let number = 0; number < 7; number++) await bench.settle(`h${number}`, 1n)
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await read(bench, { account: 'app', limit: 3, ...(after !== undefined && { after }) })
        assert.ok(page.entries.length <= 3)
        seen.push(...page.entries.map(({ holdId }) => holdId!))
        assert.ok(
          seen.length <= 7,
          'a page has entries of an earlier page, or entries posted after the first page',
        )
        assert.ok(page.entries.length > 0 || page.next === undefined, 'an empty page must have no next')
        after = page.next
        await bench.settle(`later${seen.length}`, 1n)
      } while (after !== undefined)
      assert.deepEqual(
        seen,
        [6, 5, 4, 3, 2, 1, 0].map((number) => bench.holdId(`h${number}`)),
      )
    },
  ),
  entryCase('entries-limit', 'a page has at most `limit` entries, 100 by default', async (bench) => {
    for (let number = 0; number < 101; number++) await bench.settle(`h${number}`, 1n)
    const byDefault = await read(bench, { account: 'app' })
    assert.equal(byDefault.entries.length, 100)
    assert.notEqual(byDefault.next, undefined, 'a page must have a next if entries are left')
    const all = await read(bench, { account: 'app', limit: 1_000 })
    assert.equal(all.entries.length, 101)
    assert.equal(all.next, undefined, 'the last page must have no next')
  }),
  entryCase('entries-ids', 'every entry has a unique id', async (bench) => {
    for (let number = 0; number < 5; number++) await bench.settle(`h${number}`, 1n)
    const ids = (await charges(bench, {})).map(({ id }) => id)
    assert.equal(new Set(ids).size, 5)
  }),
  entryCase('entries-lost-claim', 'a settlement that lost its claim is an entry', async (bench) => {
    assertGranted(await bench.hold('first', 30n, { claim: 'c' }))
    await bench.release('first')
    assertGranted(await bench.hold('second', 20n, { claim: 'c' }))
    await bench.settle('first', 12n, { claim: 'c' })
    assert.deepEqual(await namesOf(bench, { account: 'alice' }), ['first'])
  }),
]

function entryCase(id: string, name: string, check: (bench: LedgerBench) => Promise<void>): LedgerCase {
  return ledgerCase(id, name, check, { needs: ['entries'] })
}

async function read(
  bench: LedgerBench,
  query: EntryQuery,
): Promise<{ entries: readonly Entry[]; next?: string }> {
  assert.ok(bench.store.entries, 'this case needs a ledger with `entries`; skip it if yours has none')
  return bench.store.entries(query, bench.context)
}

async function charges(bench: LedgerBench, query: EntryQuery): Promise<readonly Entry[]> {
  return (await read(bench, query)).entries.filter(({ kind }) => kind === 'charge')
}

/** Returns the short names of the holds. */
async function namesOf(bench: LedgerBench, query: EntryQuery): Promise<readonly string[]> {
  const names = new Map(['a', 'b', 'c', 'first', 'second'].map((name) => [bench.holdId(name), name]))
  return (await charges(bench, query)).map(({ holdId }) => names.get(holdId!) ?? 'another')
}

function sumsOf({ postings }: Entry): Readonly<Record<string, bigint>> {
  const sums = new Map<string, bigint>()
  for (const { account, amount } of postings) sums.set(account, (sums.get(account) ?? 0n) + amount)
  return Object.fromEntries(sums)
}
