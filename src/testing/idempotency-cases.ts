import { strict as assert } from 'node:assert'
import type { Awaitable, IdempotencyState, IdempotencyStore, StoredReply } from '../contracts/index.js'
import {
  asOpened,
  type ConformanceCase,
  checkAnswer,
  createContext,
  createIds,
  isObject,
  type Opened,
  until,
} from './base/case.js'

/** Opens your idempotency store for the cases. */
export interface IdempotencyHarness {
  /** Opens an empty store. */
  open(): Awaitable<IdempotencyStore | Opened<IdempotencyStore>>
}

export type IdempotencyCase = ConformanceCase<IdempotencyHarness>

const LONG_MS = 600_000
const SHORT_MS = 40

const reply: StoredReply = {
  mode: 'json',
  status: 200,
  bytes: '{"content":"ünï — 日本"}',
  charge: {
    cost: 9_007_199_254_740_993n,
    base: 9_007_199_254_740_991n,
    markup: 2n,
    basis: 'estimated',
    byok: true,
    usage: { prompt: 11, cached: 3, cacheWrite: 2, completion: 7, reasoning: 5 },
    priceVersion: 'v1',
    shortfall: 4n,
  },
}

/** A recorded stream that contains every byte value once. */
const stream: StoredReply = {
  mode: 'stream',
  bytes: Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join(''),
  charge: { ...reply.charge, basis: 'reported' },
}

/** The requirements for every idempotency store. */
export const idempotencyCases: readonly IdempotencyCase[] = Object.freeze([
  idempotencyCase(
    'idempotency-first',
    'the first caller gets the claim, and the next learns that it is in flight',
    async (bench) => {
      assert.equal((await bench.claim('c')).state, 'mine')
      assert.equal((await bench.claim('c')).state, 'in-flight')
      assert.equal((await bench.claim('d')).state, 'mine')
    },
  ),
  idempotencyCase(
    'idempotency-mismatch',
    'another request under a claim is a mismatch, before and after its completion',
    async (bench) => {
      await bench.claim('c', 'one')
      assert.equal((await bench.claim('c', 'two')).state, 'mismatch')
      await bench.complete('c', reply)
      assert.equal((await bench.claim('c', 'two')).state, 'mismatch')
      assertDone(await bench.claim('c', 'one'), reply)
    },
  ),
  idempotencyCase('idempotency-done', 'a completed claim returns its reply unchanged', async (bench) => {
    await bench.claim('c')
    await bench.complete('c', reply)
    assertDone(await bench.claim('c'), reply)
    assertDone(await bench.claim('c'), reply)
  }),
  idempotencyCase('idempotency-stream', 'the bytes of a stream are returned unchanged', async (bench) => {
    await bench.claim('c')
    await bench.complete('c', stream)
    assertDone(await bench.claim('c'), stream)
  }),
  idempotencyCase(
    'idempotency-charge-only',
    'a reply stored without a body is returned without one',
    async (bench) => {
      const { bytes: _, ...bare } = reply
      await bench.claim('c')
      await bench.complete('c', bare)
      assertDone(await bench.claim('c'), bare)
    },
  ),
  idempotencyCase('idempotency-abandon', 'an abandoned claim is free', async (bench) => {
    await bench.claim('c', 'one')
    await bench.abandon('c')
    assert.equal((await bench.claim('c', 'two')).state, 'mine')
    await bench.abandon('nothing')
  }),
  idempotencyCase('idempotency-abandon-done', 'a completed claim cannot be abandoned', async (bench) => {
    await bench.claim('c')
    await bench.complete('c', reply)
    await bench.abandon('c')
    assertDone(await bench.claim('c'), reply)
  }),
  idempotencyCase(
    'idempotency-complete-unknown',
    'completing an unknown claim is not an error',
    async (bench) => {
      await bench.complete('nothing', reply)
    },
  ),
  idempotencyCase(
    'idempotency-parallel',
    'of many concurrent callers exactly one gets the claim',
    async (bench) => {
      const states = await Promise.all(Array.from({ length: 100 }, () => bench.claim('c')))
      assert.equal(states.filter(({ state }) => state === 'mine').length, 1)
      assert.equal(states.filter(({ state }) => state === 'in-flight').length, 99)
    },
  ),
  idempotencyCase('idempotency-lease', 'a claim is free after its lease', async (bench) => {
    await bench.claim('c', 'one', SHORT_MS)
    await bench.lapse(async () => (await bench.claim('c', 'two')).state === 'mine')
    assert.equal((await bench.claim('c', 'two')).state, 'in-flight')
  }),
  idempotencyCase('idempotency-ttl', 'a reply is gone after its time to live', async (bench) => {
    await bench.claim('c', 'one')
    await bench.complete('c', reply, SHORT_MS)
    await bench.lapse(async () => (await bench.claim('c', 'two')).state === 'mine')
    assert.equal((await bench.claim('c', 'two')).state, 'in-flight')
  }),
  idempotencyCase(
    'idempotency-ttl-outlives-lease',
    'a reply lives for its own time to live, not for the lease of its claim',
    async (bench) => {
      await bench.claim('lease', 'one', SHORT_MS)
      await bench.complete('lease', reply)
      await bench.claim('other', 'one', SHORT_MS)
      await bench.lapse(async () => (await bench.claim('other')).state === 'mine')
      assertDone(await bench.claim('lease', 'one'), reply)
    },
  ),
  idempotencyCase('idempotency-copied', 'changes to a result do not affect the next one', async (bench) => {
    const mine = structuredClone(reply)
    await bench.claim('c')
    await bench.complete('c', mine)
    Reflect.set(mine.charge, 'cost', 0n)
    const first = await bench.claim('c')
    assertDone(first, reply)
    if (first.state === 'done') Reflect.set(first.reply.charge.usage, 'prompt', 0)
    assertDone(await bench.claim('c'), reply)
  }),
])

interface IdempotencyBench {
  claim(name: string, digest?: string, leaseMs?: number): Promise<IdempotencyState>
  complete(name: string, reply: StoredReply, ttlMs?: number): Promise<void>
  abandon(name: string): Promise<void>
  /** Lets the short time pass, then asks until the condition holds. */
  lapse(isSo: () => Promise<boolean>): Promise<void>
}

function idempotencyCase(
  id: string,
  name: string,
  check: (bench: IdempotencyBench) => Promise<void>,
): IdempotencyCase {
  return {
    id,
    name,
    needs: [],
    async run(harness) {
      const opened = asOpened<IdempotencyStore, Opened<IdempotencyStore>>(await harness.open(), 'claim')
      try {
        await check(createBench(opened, id))
      } finally {
        await opened.close?.()
      }
    },
  }
}

function createBench({ store, advance }: Opened<IdempotencyStore>, seed: string): IdempotencyBench {
  const context = createContext()
  const digestOf = createIds(seed)
  const idOf = (name: string): string => digestOf(name) + digestOf(`${name}:rest`)
  return {
    async claim(name, digest = 'digest', leaseMs = LONG_MS) {
      const state = await store.claim(
        { claim: idOf(name), account: 'alice', digest: idOf(`digest:${digest}`), leaseMs },
        context,
      )
      const isState = isObject(state) && (state.state === 'done' ? isObject(state.reply?.charge) : true)
      checkAnswer('claim', state, isState, "{ state }, and if it is 'done' also the reply with its charge")
      return state
    },
    complete: async (name, stored, ttlMs = LONG_MS) => store.complete(idOf(name), stored, ttlMs, context),
    abandon: async (name) => store.abandon(idOf(name), context),
    async lapse(isSo) {
      if (advance !== undefined) {
        await advance(SHORT_MS + 1)
        assert.ok(await isSo(), 'its time must be over')
        return
      }
      assert.ok(await until(isSo), 'its time must be over')
    },
  }
}

function assertDone(state: IdempotencyState, expected: StoredReply): void {
  assert.equal(state.state, 'done')
  if (state.state !== 'done') return
  const { mode, status, bytes, charge } = state.reply
  assert.deepEqual(
    { mode, status, bytes, charge: { ...charge, usage: { ...charge.usage } } },
    { mode: expected.mode, status: expected.status, bytes: expected.bytes, charge: expected.charge },
  )
}
