import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { createOwnTurns } from '../../src/console/own-turns.js'
import type { ReadPath, ReplyOf } from '../../src/console/protocol.js'
import { adminWith } from '../helpers/admin-with.js'
import { createDeferred } from '../helpers/deferred.js'
import { alice, type Bench, bob, operator, startBench, type Visitor } from './console-bench.js'
import { type Findable, makeFindable } from './findable.js'

let bench: Bench
let ofAlice: Findable
let ofBob: Findable

beforeAll(async () => {
  bench = await startBench({ console: { publish: () => true } })
  ofAlice = await makeFindable(bench, 'alice')
  ofBob = await makeFindable(bench, 'bob')
})

afterAll(() => bench.close())

const find = async (visitor: Visitor, text: string) =>
  (await visitor.get<ReplyOf<'find'>>(`api/find?${new URLSearchParams({ text })}`)).json.found

describe("the console's search", () => {
  it('finds each kind of thing for its user and for an operator, and says what it is', async () => {
    const kinds: Record<string, string> = {}
    for (const [what, text] of Object.entries(ofAlice)) {
      const found = await find(bench.as(alice), text)
      expect(found, what).toHaveLength(1)
      expect(await find(bench.as(operator), text), what).toEqual(found)
      const { kind, source, entryId } = found[0]!
      kinds[what] = [kind, source, entryId === ofAlice.entry ? 'with its entry' : entryId]
        .filter(Boolean)
        .join(' ')
    }
    expect(kinds).toEqual({
      account: 'account',
      key: 'credential',
      label: 'credential',
      page: 'credential session',
      connected: 'credential connect',
      app: 'app',
      hold: 'hold',
      settled: 'hold with its entry',
      released: 'hold',
      entry: 'entry',
      reference: 'entry',
      session: 'session',
      reply: 'call',
      request: 'call',
    })
  })

  it('finds nothing of another account for a user, by any id or the beginning of any name', async () => {
    for (const [what, text] of Object.entries(ofBob))
      expect(await find(bench.as(alice), text), what).toEqual([])
    for (const text of ['b', 'bo', 'l', 's', 'scribbles', 'laptop']) {
      for (const { account } of await find(bench.as(alice), text)) expect(account, text).toBe('alice')
    }
  })

  it('takes turns with the other queries of its user', async () => {
    const begun: string[] = []
    const end = createDeferred<never>()
    const admin = adminWith({ calls: { list: () => end.promise } })
    const own = createOwnTurns(systemClock).adminOf('alice', {
      ...admin,
      find: async (text, options) => {
        begun.push(`${text} of ${options?.account}`)
        return []
      },
    })
    const listed = own.calls.list()
    const found = own.find('invoice', { account: 'bob' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(begun).toEqual([])
    end.resolve(undefined as never)
    await Promise.all([listed, found])
    expect(begun).toEqual(['invoice of alice'])
  })
})

/** The page to which each result leads, by its query: whether it shows the thing, and nothing else. */
const pages: Readonly<Record<string, (of: Findable) => readonly [ReadPath, string, string]>> = {
  accounts: ({ account }) => ['accounts', `account=${account}`, 'accounts'],
  keys: ({ key }) => ['keys', `credentialId=${key}`, 'credentials'],
  'sessions of pages': ({ page }) => ['keys', `credentialId=${page}`, 'credentials'],
  'connected apps': ({ connected }) => ['connected-apps', `connectedAppId=${connected}`, 'connectedApps'],
  'own apps': ({ app }) => ['user-apps', `id=${app}`, 'ownApps'],
  calls: ({ reply }) => ['calls', `id=${reply}`, 'calls'],
  entries: ({ entry }) => ['entries', `entryId=${entry}`, 'entries'],
  holds: ({ hold }) => ['live', `holdId=${hold}`, 'inFlight'],
  sessions: ({ session }) => ['entries', `sessionId=${session}`, 'entries'],
}

describe.each(Object.entries(pages))("the console's list of %s", (_, queryOf) => {
  const rows = async (visitor: Visitor, of: Findable) => {
    const [path, query, member] = queryOf(of)
    const { status, json } = await visitor.get<Record<string, readonly unknown[]>>(`api/${path}?${query}`)
    return status === 200 ? json[member]! : status
  }

  it('shows one thing by its id, to its user alone', async () => {
    const isOfUsers = queryOf(ofAlice)[0] === 'user-apps'
    expect(await rows(bench.as(alice), ofAlice)).toHaveLength(1)
    if (!isOfUsers) expect(await rows(bench.as(operator), ofAlice)).toHaveLength(1)
    const ofOthers = await rows(bench.as(bob), ofAlice)
    expect(ofOthers === 404 || (ofOthers as readonly unknown[]).length === 0).toBe(true)
  })
})

it('the console shows no entry, call or hold if the id of one is something else', async () => {
  const { json } = await bench.as(operator).get<ReplyOf<'entries'>>('api/entries?entryId=invoice-alice')
  expect(json.entries).toEqual([])
  const calls = await bench.as(operator).get<ReplyOf<'calls'>>('api/calls?id=request-alice')
  expect(calls.json.calls).toEqual([])
  const live = await bench.as(operator).get<ReplyOf<'live'>>(`api/live?holdId=${ofAlice.released}`)
  expect(live.json.inFlight).toEqual([])
})
