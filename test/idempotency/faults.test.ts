import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import type { CallFacts, IdempotencyStore } from '../../src/contracts/index.js'
import { DEFAULTS, memoryIdempotency } from '../../src/index.js'
import { finishChunk, type Script, sse, textChunk } from '../helpers/scripted-upstream.js'
import { Bench, type BenchOptions, COST, deferred, JSON_REPLY, MODEL, USAGE_CHUNK } from './bench.js'

let bench: Bench

async function start(options: BenchOptions = {}): Promise<void> {
  bench = await Bench.start(options)
  bench.upstream.script(JSON_REPLY)
}
afterEach(() => bench.finish())

const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const
const END = [{ write: `${sse([finishChunk(), USAGE_CHUNK])}data: [DONE]\n\n` }, 'end'] as const
const errorOf = (body: string) => JSON.parse(body).error
const CONTEXT = { requestId: 'test', signal: new AbortController().signal }
const LEASE_MS = (900 + 60 + 60 + 60) * 1_000
const unreachable = async (): Promise<never> => {
  throw new Error('The store cannot be reached.')
}
const silent = () => new Promise<never>(() => undefined)

/** A store in memory with some methods replaced until it is healed. */
function broken(parts: (real: IdempotencyStore) => Partial<IdempotencyStore>) {
  const state = { healed: false, real: undefined as IdempotencyStore | undefined }
  const store: NonNullable<BenchOptions['store']> = (clock) => {
    const real = memoryIdempotency({ clock })
    state.real = real
    const bad = parts(real)
    const pick = () => (state.healed ? real : { ...real, ...bad })
    return {
      claim: (...request) => pick().claim(...request),
      complete: (...request) => pick().complete(...request),
      abandon: (...request) => pick().abandon(...request),
    }
  }
  return { state, store }
}

/** The scope of a key, computed independently of the code under test. */
function claimOf(key: string): string {
  const sha = (text: string) => createHash('sha256').update(text).digest('hex')
  return sha(JSON.stringify(['alice', null, sha('alice').slice(0, 16), key]))
}

const FACTS: CallFacts = { requestId: 'dead', account: 'alice', credentialId: 'c', model: MODEL }

describe('an idempotency store that fails', () => {
  it('to take the claim causes a 503, nothing is sent, and the key works once the store is back', async () => {
    const { state, store } = broken(() => ({ claim: unreachable }))
    await start({ store })
    const refused = await bench.ask({ key: 'k' })
    expect([refused.status, errorOf(refused.text).code]).toEqual([503, 'idempotency_store_unavailable'])
    expect(refused.headers['retry-after']).toBe('5')
    expect(bench.of('store-fault')).toMatchObject([{ store: 'idempotency', requestId: 'call-1' }])
    expect(bench.of('request-end')[0]).toMatchObject({
      outcome: 'idempotency_store_unavailable',
      status: 503,
    })
    expect([bench.dispatched, bench.charges]).toEqual([0, 0])
    state.healed = true
    expect((await bench.ask({ key: 'k' })).status).toBe(200)
  })

  it('does not affect calls without a key', async () => {
    await start({ store: broken(() => ({ claim: unreachable })).store })
    expect((await bench.ask()).status).toBe(200)
  })

  it('to answer in time causes a 503, and a claim that arrives too late is released', async () => {
    const late = deferred()
    const { state, store } = broken((real) => ({
      async claim(...request) {
        await late.promise
        return real.claim(...request)
      },
    }))
    await start({ store })
    const call = bench.call({ key: 'k' })
    await bench.inFlight(1)
    await bench.clock.elapse(5_000)
    await bench.end(call)
    await call.client.over
    expect([call.client.status, bench.dispatched]).toEqual([503, 0])
    late.open()
    state.healed = true
    await bench.inFlight(0)
    expect((await bench.ask({ key: 'k' })).status).toBe(200)
  })

  it.each([
    ['throws', unreachable],
    ['hangs', silent],
  ])(
    'to keep the reply does not stop the reply, and a repeat gets its charge (%s)',
    async (_how, complete) => {
      await start({ store: broken(() => ({ complete })).store })
      const first = bench.call({ key: 'k' })
      await first.client.over
      expect(first.client.status).toBe(200)
      await bench.inFlight(complete === silent ? 1 : 0)
      await bench.clock.elapse(5_000)
      await bench.end(first)
      expect(bench.of('store-fault')).toMatchObject([{ store: 'idempotency', requestId: 'call-1' }])
      const again = await bench.ask({ key: 'k' })
      expect([again.status, errorOf(again.text).code]).toEqual([409, 'idempotency_completed'])
      expect(errorOf(again.text).metadata.usage.cost).toBe(COST)
      expect([bench.charges, bench.dispatched]).toEqual([1, 1])
    },
  )

  it('by hanging while it keeps the reply does not stop later clients from getting the reply', async () => {
    await start({ store: broken(() => ({ complete: silent })).store })
    const first = bench.call({ key: 'k' })
    await first.client.over
    await bench.inFlight(1)
    const again = await bench.ask({ key: 'k' })
    expect(again.text).toBe(first.client.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    await bench.clock.elapse(5_000)
    await bench.end(first)
  })

  it('to free a key causes an event, and the lease frees the key', async () => {
    await start({ store: broken(() => ({ abandon: unreachable })).store })
    bench.upstream.scriptOnce(['hang-up'])
    expect((await bench.ask({ key: 'k' })).status).toBe(502)
    expect(bench.of('store-fault')).toMatchObject([{ store: 'idempotency' }])
    const waiting = await bench.ask({ key: 'k' })
    expect([waiting.status, errorOf(waiting.text).code]).toEqual([409, 'idempotency_in_flight'])
    await bench.clock.elapse(LEASE_MS + 1)
    expect((await bench.ask({ key: 'k' })).status).toBe(200)
  })
})

describe('two processes with one Idempotency-Key', () => {
  const gated = (gate: Promise<unknown>): Script => [
    HEAD,
    { write: sse([textChunk('one ')]) },
    { wait: gate },
    ...END,
  ]

  it('that share a store: the second learns that the call is running, and replays it afterwards', async () => {
    await start({ routers: 2, store: (clock) => memoryIdempotency({ clock }) })
    const gate = deferred()
    bench.upstream.script(gated(gate.promise))
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one ')
    const meanwhile = await bench.ask({ key: 'k', stream: true, router: 1 })
    expect([meanwhile.status, errorOf(meanwhile.text).code]).toEqual([409, 'idempotency_in_flight'])
    expect(meanwhile.headers['retry-after']).toBe('1')
    expect(meanwhile.headers['idempotent-replayed']).toBeUndefined()
    const other = await bench.ask({ key: 'k', stream: true, router: 1, body: { top_p: 1 } })
    expect(other.status).toBe(422)
    gate.open()
    await bench.end(first)
    await first.client.over
    const after = await bench.ask({ key: 'k', stream: true, router: 1 })
    expect(after.text).toBe(first.client.text)
    expect(after.headers['idempotent-replayed']).toBe('true')
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('that share only the ledger send the call once, and the other gets the charge afterwards', async () => {
    await start({ routers: 2 })
    const gate = deferred()
    bench.upstream.script(gated(gate.promise))
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one ')
    const meanwhile = await bench.ask({ key: 'k', stream: true, router: 1 })
    expect([meanwhile.status, errorOf(meanwhile.text).code]).toEqual([409, 'idempotency_in_flight'])
    expect(meanwhile.headers['retry-after']).toBe('1')
    gate.open()
    await bench.end(first)
    const after = await bench.ask({ key: 'k', stream: true, router: 1 })
    expect([after.status, errorOf(after.text).code]).toEqual([409, 'idempotency_completed'])
    expect(errorOf(after.text).metadata.usage.cost).toBe(COST)
    expect(after.headers['x-should-retry']).toBe('false')
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('that are called at the same moment send the call once', async () => {
    await start({ routers: 3 })
    const calls = Array.from({ length: 30 }, (_, number) => bench.call({ key: 'k', router: number % 3 }))
    await Promise.all(calls.map((call) => bench.end(call)))
    await Promise.all(calls.map(({ client }) => client.over))
    const statuses = calls.map(({ client }) => client.status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1)
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('both send the call if the first failed without a charge', async () => {
    await start({ routers: 2, store: (clock) => memoryIdempotency({ clock }) })
    bench.upstream.scriptOnce(['hang-up'])
    expect((await bench.ask({ key: 'k' })).status).toBe(502)
    expect((await bench.ask({ key: 'k', router: 1 })).status).toBe(200)
    expect(bench.charges).toBe(1)
  })
})

describe('a process that died during a call with an Idempotency-Key', () => {
  it('before it settled blocks the call by its claim in the ledger until the hold expires', async () => {
    await start()
    const dead = { holdId: 'dead', account: 'alice', amount: 1n, ttlMs: 60_000, facts: FACTS }
    expect(await bench.ledger.hold({ ...dead, claim: claimOf('k') }, CONTEXT)).toEqual({ ok: true })
    const refused = await bench.ask({ key: 'k' })
    expect([refused.status, errorOf(refused.text).code]).toEqual([409, 'idempotency_in_flight'])
    expect(bench.dispatched).toBe(0)
    await bench.clock.elapse(60_000)
    expect((await bench.ask({ key: 'k' })).status).toBe(200)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('between settlement and keeping the reply causes no second payment, with or without a lease', async () => {
    const { state, store } = broken(() => ({ complete: unreachable, abandon: unreachable }))
    await start({ routers: 2, store })
    await bench.ask({ key: 'k' })
    state.healed = true
    const leased = await bench.ask({ key: 'k', router: 1 })
    expect([leased.status, errorOf(leased.text).code]).toEqual([409, 'idempotency_in_flight'])
    await bench.clock.elapse(LEASE_MS + 1)
    const free = await bench.ask({ key: 'k', router: 1 })
    expect([free.status, errorOf(free.text).code]).toEqual([409, 'idempotency_completed'])
    expect(errorOf(free.text).metadata.usage.cost).toBe(COST)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })
})

describe("an Idempotency-Key's claim in the ledger", () => {
  it('is the scope of the key', async () => {
    await start()
    await bench.ask({ key: 'k' })
    expect(bench.audit.holds.map(({ request }) => request.claim)).toEqual([claimOf('k')])
    expect([...bench.audit.settlements.values()].map(({ claim }) => claim)).toEqual([claimOf('k')])
  })

  it('is absent without a key', async () => {
    await start()
    await bench.ask()
    expect(bench.audit.holds.map(({ request }) => request.claim)).toEqual([undefined])
  })

  it("that another call has taken over is reported, and the reply does not replace the other's", async () => {
    let completed = 0
    await start({
      store: broken((real) => ({
        complete: async (...request) => {
          completed++
          await real.complete(...request)
        },
      })).store,
    })
    bench.plan.next('settle', { answers: (real: object) => ({ ...real, claimLost: true }) } as never)
    const first = await bench.ask({ key: 'k' })
    expect(first.status).toBe(200)
    expect(bench.of('claim-lost')).toMatchObject([{ requestId: 'call-1' }])
    expect(completed).toBe(0)
    expect(bench.charges).toBe(1)
  })

  it('prevents a second payment if the ledger answered the settlement too late', async () => {
    await start()
    const late = deferred()
    bench.plan.next('settle', { when: late.promise })
    const first = bench.call({ key: 'k' })
    await bench.plan.asked('settle')
    await bench.clock.elapse(2_000)
    await first.client.over
    expect(first.client.status).toBe(200)
    await bench.end(first)
    const again = await bench.ask({ key: 'k' })
    expect(again.text).toBe(first.client.text)
    late.open()
    await bench.inFlight(0)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('has a lease in the store that outlasts any call', async () => {
    let leaseMs = 0
    const noting = broken((real) => ({
      claim: (request, context) => {
        leaseMs = request.leaseMs
        return real.claim(request, context)
      },
    }))
    await start({ store: noting.store })
    await bench.ask({ key: 'k' })
    const { settleMs, totalMs } = DEFAULTS.timeouts
    expect(leaseMs).toBeGreaterThan(totalMs + settleMs)
  })

  it('is free again if the hold failed', async () => {
    await start()
    bench.plan.next('hold', 'answer-lost')
    const refused = await bench.ask({ key: 'k' })
    expect([refused.status, errorOf(refused.text).code]).toEqual([503, 'ledger_unavailable'])
    expect((await bench.ask({ key: 'k' })).status).toBe(200)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })
})
