import { strict as assert } from 'node:assert'
import type { Awaitable, CallPage, CallQuery, CallStore, KeptCall } from '../contracts/index.js'
import {
  asOpened,
  type ConformanceCase,
  checkAnswer,
  createIds,
  isObject,
  type Opened,
  until,
} from './base/case.js'

/** Opens your store of calls for the cases. */
export interface CallHarness {
  /** Opens an empty store. */
  open(): Awaitable<CallStore | Opened<CallStore>>
}

export type CallCase = ConformanceCase<CallHarness>

/** Calls of the current day, since a store may delete older ones. */
const DAY_MS = 86_400_000
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS

/** The requirements for every store of calls. */
export const callCases: readonly CallCase[] = Object.freeze([
  callCase('calls-find', 'a recorded call is found at once by its id, unchanged', async (bench) => {
    const charged = bench.charged('charged')
    const refused = bench.refused('refused')
    bench.record(charged)
    bench.record(refused)
    assertCall(await bench.find('alice', charged.id), charged)
    assertCall(await bench.find(undefined, refused.id), refused)
    await bench.written(2)
    assertCall(await bench.find('alice', charged.id), charged)
    assertCall(await bench.find(undefined, refused.id), refused)
  }),
  callCase('calls-find-account', 'an account finds only its own calls', async (bench) => {
    const call = bench.charged('one')
    const stranger = bench.refused('two')
    bench.record(call)
    bench.record(stranger)
    for (const wait of [async () => undefined, () => bench.written(2)]) {
      await wait()
      assert.equal(await bench.find('bob', call.id), undefined)
      assert.equal(await bench.find('alice', stranger.id), undefined)
      assertCall(await bench.find(undefined, call.id), call)
      assert.equal(await bench.find(undefined, 'unknown'), undefined)
    }
  }),
  callCase('calls-find-request', 'a request id finds its newest call of the account', async (bench) => {
    const own = sharing(bench.charged('own'))
    const newer = sharing(bench.charged('newer', 2))
    const other = bench.of('bob', sharing(bench.charged('other', 3)))
    for (const call of [own, newer, other]) bench.record(call)
    for (const wait of [async () => undefined, () => bench.written(3)]) {
      await wait()
      assertCall(await bench.find('alice', 'shared'), newer)
      assertCall(await bench.find(undefined, 'shared'), other)
    }
  }),
  callCase('calls-pages', 'pages contain each call once, newest first', async (bench) => {
    const calls = Array.from({ length: 25 }, (_, index) => bench.charged(`call-${index}`, index))
    // Two calls may end in the same millisecond.
    for (const call of calls) bench.record({ ...call, at: START + Math.floor(call.at / 2 - START / 2) })
    await bench.written(25)
    const found: string[] = []
    let page: CallPage | undefined
    do {
      page = await bench.list({ limit: 10, ...(page?.next !== undefined && { after: page.next }) })
      assert.ok(page.calls.length <= 10, 'a page has at most as many calls as asked for')
      found.push(...page.calls.map(({ id }) => id))
    } while (page.next !== undefined)
    assert.deepEqual(found, calls.map(({ id }) => id).reverse())
    const last = await bench.list({ limit: 25 })
    assert.deepEqual([last.calls.length, last.next], [25, undefined])
  }),
  callCase('calls-filters', 'each filter returns exactly its calls', async (bench) => {
    const charged = bench.charged('charged', 1)
    const embedded: KeptCall = { ...bench.charged('embedded', 2), operation: 'embeddings' }
    const bobs = bench.of('bob', bench.charged('bobs', 3))
    const refused = bench.refused('refused', 4)
    const free = bench.uncharged('free', 5)
    const failed: KeptCall = { ...bench.uncharged('failed', 6), outcome: 'provider_error', status: 502 }
    for (const call of [charged, embedded, bobs, refused, free, failed]) bench.record(call)
    await bench.written(6)
    const expectations: readonly (readonly [CallQuery, readonly KeptCall[]])[] = [
      [{ account: 'alice' }, [failed, free, embedded, charged]],
      [{ account: 'bob' }, [bobs]],
      [{ account: 'nobody' }, []],
      [{ credentialId: 'key-of-bob' }, [bobs]],
      [{ appId: 'app-of-bob' }, [bobs]],
      [{ model: 'acme/unknown' }, [refused]],
      [{ requestId: free.requestId }, [free]],
      [{ status: 404 }, [refused]],
      [{ status: 200, account: 'bob' }, [bobs]],
      [{ outcome: 'provider_error' }, [failed]],
      [{ outcome: 'completed', model: 'acme/fast' }, [free, bobs, embedded, charged]],
      [{ problems: true }, [failed, free, refused]],
      [{ problems: true, account: 'alice' }, [failed, free]],
      [{ problems: false }, [failed, free, refused, bobs, embedded, charged]],
      [{ from: START + 5 }, [failed, free]],
      [{ to: START + 2 }, [charged]],
      [{ from: START + 2, to: START + 4, account: 'alice' }, [embedded]],
    ]
    for (const [query, expected] of expectations) {
      const { calls } = await bench.list(query)
      assert.deepEqual(
        calls.map(({ id }) => id),
        expected.map(({ id }) => id),
        `the calls of ${JSON.stringify(query)}`,
      )
    }
  }),
  callCase('calls-invalid', 'an impossible limit or page is refused', async (bench) => {
    for (const limit of [0, -1, 1.5, 1_001, Number.NaN]) {
      await assert.rejects(() => bench.list({ limit }), RangeError)
    }
    await assert.rejects(() => bench.list({ after: 'nonsense' }), TypeError)
  }),
])

interface CallBench {
  /** A completed call of Alice's that ended this many milliseconds after the first. */
  charged(name: string, ms?: number): KeptCall
  /** A completed call of Alice's for which nothing was charged. */
  uncharged(name: string, ms?: number): KeptCall
  /** A refused call without an owner. */
  refused(name: string, ms?: number): KeptCall
  /** The same call by another account, through its app. */
  of(account: string, call: KeptCall): KeptCall
  record(call: KeptCall): void
  find(account: string | undefined, id: string): Promise<KeptCall | undefined>
  list(query: CallQuery): Promise<CallPage>
  /** Waits until the store lists this many calls. */
  written(count: number): Promise<void>
}

function callCase(id: string, name: string, check: (bench: CallBench) => Promise<void>): CallCase {
  return {
    id,
    name,
    needs: [],
    async run(harness) {
      const opened = asOpened<CallStore, Opened<CallStore>>(await harness.open(), 'record')
      try {
        await check(createBench(opened.store, id))
      } finally {
        await opened.close?.()
      }
    },
  }
}

function createBench(store: CallStore, seed: string): CallBench {
  const idOf = createIds(seed)

  async function list(query: CallQuery): Promise<CallPage> {
    const page = await store.list(query)
    checkAnswer('list', page, isObject(page) && Array.isArray(page.calls), '{ calls, next? }')
    return page
  }

  function uncharged(name: string, ms = 0): KeptCall {
    return {
      id: `chatcmpl-${idOf(name)}`,
      requestId: idOf(`${name}:request`),
      operation: 'chat',
      at: START + ms,
      durationMs: 70,
      outcome: 'completed',
      status: 200,
      facts: {
        requestId: idOf(`${name}:request`),
        account: 'alice',
        credentialId: 'key-of-alice',
        model: 'acme/fast',
        sessionId: 'ünï — 日本',
        provider: 'acme',
        routeId: 'acme:fast',
        completionId: `chatcmpl-${idOf(name)}`,
      },
      stream: true,
      routing: {
        considered: ['acme:fast', 'other:fast'],
        excluded: [{ routeId: 'third:fast', why: 'disabled' }],
        chosenBy: 'price',
        attempts: [{ routeId: 'acme:fast', outcome: 'finished' }],
      },
      providerMs: 60.5,
      firstTokenMs: 20.25,
      finishReason: 'stop',
    }
  }

  return {
    uncharged,
    charged: (name, ms) => ({
      ...uncharged(name, ms),
      charge: {
        cost: 9_007_199_254_740_993n,
        base: 9_007_199_254_740_991n,
        markup: 2n,
        basis: 'estimated',
        byok: true,
        usage: { prompt: 11, cached: 3, cacheWrite: 2, completion: 7, reasoning: 5, audioInput: 1 },
        priceVersion: 'v1',
        shortfall: 4n,
      },
      holdId: idOf(`${name}:hold`),
      holdAmount: 9_007_199_254_740_995n,
      overdraft: 5n,
    }),
    refused: (name, ms = 0) => ({
      id: idOf(name),
      requestId: idOf(`${name}:request`),
      operation: 'chat',
      at: START + ms,
      durationMs: 2,
      outcome: 'model_not_found',
      status: 404,
      askedModel: 'acme/unknown',
      field: 'model',
      limit: { id: 'limit', bucket: 'bucket', unit: 'credits' },
    }),
    of: (account, call) => ({
      ...call,
      facts: { ...call.facts!, account, credentialId: `key-of-${account}`, appId: `app-of-${account}` },
    }),
    record(call) {
      const answer: unknown = store.record(call)
      checkAnswer('record', answer, answer === undefined, 'nothing')
    },
    async find(account, id) {
      const found = await store.find(account, id)
      checkAnswer('find', found, found === undefined || isObject(found), 'a call or undefined')
      return found
    },
    list,
    async written(count) {
      const isWritten = await until(async () => (await list({ limit: 1_000 })).calls.length >= count)
      assert.ok(isWritten, 'the store did not list its calls within ten seconds')
    },
  }
}

/** Returns the same call with a request id that several calls share. */
function sharing(call: KeptCall): KeptCall {
  return { ...call, requestId: 'shared', facts: { ...call.facts!, requestId: 'shared' } }
}

function assertCall(found: KeptCall | undefined, expected: KeptCall): void {
  assert.deepEqual(withoutUndefined(found), withoutUndefined(expected))
}

/** A member that is undefined counts as absent. */
function withoutUndefined(call: KeptCall | undefined): object {
  return Object.fromEntries(Object.entries(call ?? {}).filter(([, value]) => value !== undefined))
}
