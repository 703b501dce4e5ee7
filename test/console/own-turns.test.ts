import { describe, expect, it } from 'vitest'
import type { Admin } from '../../src/admin/index.js'
import { systemClock } from '../../src/base/clock.js'
import { createOwnTurns } from '../../src/console/own-turns.js'
import { adminWith } from '../helpers/admin-with.js'
import { createDeferred } from '../helpers/deferred.js'
import { alice, bob, operator, startBench } from './console-bench.js'

/** Administration whose replies a test gives one by one. */
function heldAdmin() {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const ask = (what: string) => async (): Promise<never> => {
    begun.push(what)
    const end = createDeferred<never>()
    ends.push(() => end.resolve(undefined as never))
    return end.promise
  }
  const adminFor = (who: string) =>
    adminWith({
      reports: { spendReport: ask(`spend of ${who}`) },
      accounts: { statement: ask(`statement of ${who}`), find: ask(`account of ${who}`) },
      entries: { list: ask(`entries of ${who}`) },
    })
  return { begun, ends, adminFor }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('console queries by users', () => {
  it('wait for those of the same account, and the reports of several accounts take turns', async () => {
    const { begun, ends, adminFor } = heldAdmin()
    const turns = createOwnTurns(systemClock)
    const [a, b] = ['alice', 'bob'].map((who) => turns.adminOf(who, adminFor(who)))
    const asked = [
      ...[1, 2, 3].map(() => a!.reports.spendReport({ by: 'day' })),
      a!.entries.list({ account: 'alice' }),
      b!.accounts.statement('bob'),
      b!.entries.list({ account: 'bob', requestId: 'r' }),
    ]
    void a!.accounts.find('alice')
    await turn()
    expect(begun).toEqual(['account of alice', 'spend of alice'])
    const order: string[] = []
    for (let done = 0; done < asked.length; done++) {
      ends.pop()!()
      await turn()
      await turn()
      order.push(...begun.slice(2 + order.length))
    }
    await Promise.all(asked)
    expect(order).toEqual([
      'statement of bob',
      'spend of alice',
      'entries of bob',
      'spend of alice',
      'entries of alice',
    ])
  })

  it.each([
    ['accounts', 'list'],
    ['apps', 'list'],
    ['apps', 'listEdits'],
    ['userApps', 'listReviews'],
    ['calls', 'list'],
    ['keys', 'list'],
    ['connectedApps', 'list'],
    ['connectedApps', 'listHistory'],
    ['limits', 'list'],
    ['models', 'list'],
    ['routes', 'list'],
    ['audit', 'list'],
  ] as const)('of %s.%s run one at a time for an account, beside those of another', async (group, list) => {
    const begun: string[] = []
    const ends: (() => void)[] = []
    const adminFor = (who: string) =>
      adminWith({
        [group]: {
          [list]: async (): Promise<readonly []> => {
            begun.push(who)
            const end = createDeferred<readonly []>()
            ends.push(() => end.resolve([]))
            return end.promise
          },
        },
      })
    const turns = createOwnTurns(systemClock)
    const ask = (who: string) =>
      (
        turns.adminOf(who, adminFor(who))[group] as unknown as Record<
          string,
          (query: string) => Promise<unknown>
        >
      )[list]!('')
    const asked = [ask('alice'), ask('alice'), ask('alice'), ask('bob')]
    await turn()
    expect(begun).toEqual(['alice', 'bob'])
    for (const expected of [
      ['alice', 'bob', 'alice'],
      ['alice', 'bob', 'alice', 'alice'],
    ]) {
      ends.shift()!()
      if (expected.length === 3) ends.shift()!()
      await turn()
      await turn()
      expect(begun).toEqual(expected)
    }
    for (const end of ends) end()
    expect(await Promise.all(asked)).toEqual([[], [], [], []])
  })

  it('take turns for every list of the admin API', async () => {
    const bench = await startBench()
    const lists = (admin: Admin) =>
      Object.entries(admin).flatMap(([group, functions]) =>
        Object.entries(functions)
          .filter(([name]) => name.startsWith('list'))
          .map(([name, list]) => [`${group}.${name}`, list] as const),
      )
    const own = new Map(lists(createOwnTurns(systemClock).adminOf('alice', bench.admin)))
    const all = lists(bench.admin)
    expect(all.filter(([name, list]) => own.get(name) === list)).toEqual([])
    expect(all.length).toBeGreaterThan(10)
    await bench.close()
  })

  it('continue after a failed one, and are refused while a hundred are waiting', async () => {
    const turns = createOwnTurns(systemClock)
    const admin = adminWith({ accounts: { statement: () => Promise.reject(new Error('locked')) } })
    const asked = Array.from({ length: 101 }, () =>
      turns.adminOf('alice', admin).accounts.statement('alice').catch(String),
    )
    const answers = await Promise.all(asked)
    expect(answers.slice(0, 100)).toEqual(Array(100).fill('Error: locked'))
    expect(answers[100]).toContain('Too many queries of this account')
    await expect(turns.adminOf('alice', admin).accounts.statement('alice')).rejects.toThrow('locked')
  })

  it("do not delay an operator's report", async () => {
    const bench = await startBench()
    const { database } = bench.stores
    const { all } = database
    const free = createDeferred<void>()
    let reports = 0
    database.all = async (statement) => {
      const account = statement.parameters?.includes('alice') === true
      if (statement.isReport) reports++
      if (statement.isReport && account) await free.promise
      return all(statement)
    }
    const path = 'api/reports/spend?by=day'
    const users = Array.from({ length: 40 }, () => bench.as(alice).get(path))
    while (reports < 1) await turn()
    expect((await bench.as(operator).get(path)).status).toBe(200)
    const others = bench.as(bob).get(path)
    free.resolve()
    for (const { status } of [...(await Promise.all(users)), await others]) expect(status).toBe(200)
    database.all = all
    await bench.close()
  })
})

describe('keys created by console users', () => {
  it('are limited to 200 within an hour, new tokens of old keys included, for each account by itself', async () => {
    let now = 50 * 60_000
    const turns = createOwnTurns({ ...systemClock, now: () => now })
    let made = 0
    const make = async (): Promise<never> => {
      made++
      return undefined as never
    }
    const admin = adminWith({ keys: { issue: make, issueToken: make, reissue: make } })
    const keysOf = (account: string) => turns.adminOf(account, admin).keys
    const token = { account: 'alice', appId: 'notes', scopes: ['models.run'] }
    for (let time = 0; time < 50; time++) {
      await keysOf('alice').issue({ account: 'alice' })
      await keysOf('alice').issueToken(token)
      await keysOf('alice').reissue('one')
      await keysOf('alice').reissue('two')
    }
    const refused = { status: 429, headers: { 'retry-after': '600' } }
    await expect(keysOf('alice').issue({ account: 'alice' })).rejects.toMatchObject(refused)
    await expect(keysOf('alice').issueToken(token)).rejects.toMatchObject(refused)
    await expect(keysOf('alice').reissue('one')).rejects.toMatchObject(refused)
    expect(made).toBe(200)
    await keysOf('bob').issue({ account: 'bob' })
    now += 10 * 60_000
    await keysOf('alice').issue({ account: 'alice' })
    expect(made).toBe(202)
  })

  it('are limited to 100 per account, even if hundreds are requested concurrently', async () => {
    const bench = await startBench()
    await bench.admin.accounts.open('alice')
    const issue = (account: string) => bench.as(alice).post('api/keys/issue', { account, label: 'flood' })
    const answers = await Promise.all(Array.from({ length: 150 }, () => issue('alice')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    const refused = answers.filter(({ status }) => status === 409)
    expect(refused).toHaveLength(50)
    expect(refused[0]!.json).toMatchObject({
      error: { message: expect.stringContaining('Revoke one first') },
    })
    await bench.close()
  })
})
