import http, { type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryIdempotency } from '../../src/index.js'
import { finishChunk, type Script, sse, textChunk } from '../helpers/scripted-upstream.js'
import { textOf } from '../helpers/stream-text.js'
import { Bench, type BenchOptions, COST, deferred, JSON_REPLY, USAGE_CHUNK } from './bench.js'

let bench: Bench

async function start(options: BenchOptions = {}): Promise<void> {
  bench = await Bench.start(options)
}
afterEach(() => bench.finish())

const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const
const END = [{ write: `${sse([finishChunk(), USAGE_CHUNK])}data: [DONE]\n\n` }, 'end'] as const
const say = (words: string) => ({ write: sse([textChunk(words)]) })
const errorOf = (body: string) => JSON.parse(body).error

describe('a repeat while the first call runs', () => {
  it('gets the same stream from its start, and follows it live', async () => {
    await start()
    const [gate, last] = [deferred(), deferred()]
    bench.upstream.script([
      HEAD,
      say('one '),
      { wait: gate.promise },
      say('two '),
      { wait: last.promise },
      ...END,
    ])
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one ')
    const second = bench.call({ key: 'k', stream: true })
    await second.client.receives('one ')
    gate.open()
    await Promise.all([first.client.receives('two '), second.client.receives('two ')])
    expect([first.client.complete, second.client.complete]).toEqual([false, false])
    last.open()
    const [end, replayed] = await Promise.all([bench.end(first), bench.end(second)])
    await Promise.all([first.client.over, second.client.over])
    expect(second.client.text).toBe(first.client.text)
    expect(textOf(second.client.text)).toBe('one two ')
    expect(first.client.headers['idempotent-replayed']).toBeUndefined()
    expect(second.client.headers['idempotent-replayed']).toBe('true')
    expect(second.client.headers['x-should-retry']).toBe('false')
    expect([end.charge?.cost, end.replayed]).toEqual([1_200_000n, undefined])
    expect([replayed.charge, replayed.replayed, replayed.outcome]).toEqual([undefined, true, 'completed'])
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('gets the same JSON once it arrives', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([{ wait: gate.promise }, ...(JSON_REPLY as readonly object[])] as Script)
    const calls = [1, 2, 3].map(() => bench.call({ key: 'k' }))
    await bench.inFlight(3)
    gate.open()
    await Promise.all(calls.map(({ client }) => client.over))
    const texts = new Set(calls.map(({ client }) => client.text))
    expect(texts.size).toBe(1)
    const marked = calls.filter(({ client }) => client.headers['idempotent-replayed'] === 'true')
    expect(marked).toHaveLength(2)
    await Promise.all(calls.map((call) => bench.end(call)))
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('is refused with 422 if its body differs, and does not affect the first call', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([HEAD, say('one'), { wait: gate.promise }, ...END])
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one')
    const other = await bench.ask({ key: 'k', stream: true, body: { top_p: 1 } })
    expect([other.status, errorOf(other.text).code]).toEqual([422, 'idempotency_mismatch'])
    gate.open()
    await bench.end(first)
    await first.client.over
    expect(first.client.text).toContain('[DONE]')
  })

  it('joins even while the claim is pending, and the claim is requested once', async () => {
    const gate = deferred()
    let claims = 0
    await start({
      store: (clock) => {
        const store = memoryIdempotency({ clock })
        return {
          ...store,
          async claim(...request) {
            claims++
            await gate.promise
            return store.claim(...request)
          },
        }
      },
    })
    bench.upstream.script(JSON_REPLY)
    const calls = Array.from({ length: 20 }, () => bench.call({ key: 'k' }))
    await bench.inFlight(20)
    gate.open()
    await Promise.all(calls.map((call) => bench.end(call)))
    await Promise.all(calls.map(({ client }) => client.over))
    expect(new Set(calls.map(({ client }) => client.text)).size).toBe(1)
    expect([claims, bench.charges, bench.dispatched]).toEqual([1, 1, 1])
  })

  it("gets the first call's failure if nothing was charged, without a replay mark, and so does its event", async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([{ wait: gate.promise }, 'hang-up'])
    const calls = [1, 2].map(() => bench.call({ key: 'k' }))
    await bench.inFlight(2)
    gate.open()
    const ends = await Promise.all(calls.map((call) => bench.end(call)))
    await Promise.all(calls.map(({ client }) => client.over))
    for (const { client } of calls) {
      expect([client.status, errorOf(client.text).code]).toEqual([502, 'provider_error'])
      expect(client.headers['idempotent-replayed']).toBeUndefined()
    }
    for (const end of ends) {
      expect([end.outcome, end.status, end.replayed]).toEqual(['provider_error', 502, undefined])
    }
    expect(bench.charges).toBe(0)
  })

  it('gets the same broken stream with its charge, and so does its event', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([
      HEAD,
      say('half'),
      { wait: gate.promise },
      { write: sse([{ ...finishChunk(), usage: USAGE_CHUNK.usage }, { error: { message: 'fell over' } }]) },
      'hang-up',
    ])
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('half')
    const second = bench.call({ key: 'k', stream: true })
    await second.client.receives('half')
    gate.open()
    const ends = await Promise.all([bench.end(first), bench.end(second)])
    await Promise.all([first.client.over, second.client.over])
    expect(second.client.text).toBe(first.client.text)
    expect(second.client.text).toContain(`"cost":${COST}`)
    expect(ends.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['provider_error', 200],
      ['provider_error', 200],
    ])
  })

  it('gets the comments that keep a silent stream alive', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([HEAD, say('one'), { wait: gate.promise }, ...END])
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one')
    const second = bench.call({ key: 'k', stream: true })
    await second.client.receives('one')
    await bench.clock.elapse(15_001)
    await Promise.all([first.client.receives(': keep-alive'), second.client.receives(': keep-alive')])
    gate.open()
    await Promise.all([bench.end(first), bench.end(second)])
  })
})

describe('the followers of a running call', () => {
  it('may leave one by one, and the last one gets everything', async () => {
    await start({ onDisconnect: 'abort' })
    const gate = deferred()
    bench.upstream.script([HEAD, say('one '), { wait: gate.promise }, say('two'), ...END])
    const calls = [1, 2, 3].map(() => bench.call({ key: 'k', stream: true }))
    for (const { client } of calls) await client.receives('one ')
    const first = await firstOf(calls)
    const [other, last] = calls.filter((call) => call !== first)
    await bench.leave(first)
    await bench.leave(other!)
    // A drain would be over here.
    await bench.clock.elapse(61_000)
    gate.open()
    await last!.client.over
    expect(textOf(last!.client.text)).toBe('one two')
    expect(last!.client.text).toContain('[DONE]')
    const ends = await Promise.all(calls.map((call) => bench.end(call)))
    expect(ends.filter(({ charge }) => charge !== undefined)).toHaveLength(1)
    expect((await bench.end(first)).outcome).toBe('client-left')
    expect((await bench.end(first)).charge?.cost).toBe(1_200_000n)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('that are slow block a stream of more than 4 MiB, and newcomers must try later', async () => {
    await start({ timeouts: { clientStallMs: 1_000_000, idleMs: 2_000_000 } })
    const large = sendLarge()
    const slow = await read({ key: 'k', stream: true })
    const fast = bench.call({ key: 'k', stream: true })
    await fast.client.answers()
    large.begin()
    await large.stopped()
    expect(large.sent).toBeLessThan(PIECES)
    const late = await bench.ask({ key: 'k', stream: true })
    expect([late.status, errorOf(late.text).code]).toEqual([409, 'idempotency_in_flight'])
    expect(late.headers['retry-after']).toBe('1')
    const whole = await text(slow)
    await fast.client.over
    expect(whole === fast.client.text).toBe(true)
    expect(textOf(whole)).toHaveLength(PIECES * PIECE.length)
    await bench.end(fast)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('that stop reading are dropped, and the others continue', async () => {
    await start({ timeouts: { clientStallMs: 1_000 } })
    const large = sendLarge()
    const stuck = await read({ key: 'k', stream: true })
    const broken = new Promise((resolve) => stuck.once('error', resolve))
    const fast = bench.call({ key: 'k', stream: true })
    await fast.client.answers()
    large.begin()
    await large.stopped()
    await bench.clock.elapse(1_001)
    await fast.client.over
    expect([fast.client.complete, fast.client.text.endsWith('data: [DONE]\n\n')]).toEqual([true, true])
    stuck.resume()
    await broken
    await bench.until(() => bench.of('request-end').length === 2)
    expect(
      bench
        .of('request-end')
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['client-left', 'completed'])
    expect(bench.charges).toBe(1)
  })

  it('count as calls in progress', async () => {
    await start({ concurrency: { inFlightPerAccount: 2 } })
    const gate = deferred()
    bench.upstream.script([HEAD, say('one'), { wait: gate.promise }, ...END])
    const calls = [1, 2].map(() => bench.call({ key: 'k', stream: true }))
    for (const { client } of calls) await client.receives('one')
    expect((await bench.ask({ key: 'k', stream: true })).status).toBe(429)
    gate.open()
    for (const call of calls) await bench.end(call)
  })
})

describe('a shutdown during a call with an Idempotency-Key', () => {
  it('ends the call for all its followers, with its charge, and keeps the reply', async () => {
    await start()
    bench.upstream.script([HEAD, say('twenty bytes of text'), 'stall'])
    const calls = [1, 2].map(() => bench.call({ key: 'k', stream: true }))
    for (const { client } of calls) await client.receives('twenty')
    const closed = bench.routers[0]!.close({ graceMs: 1_000 })
    await bench.clock.elapse(1_000)
    expect(await closed).toEqual({ drained: 0, aborted: 2 })
    for (const { client } of calls) {
      await client.over
      expect(client.text).toContain('"code":"shutting_down"')
      expect(client.text).toContain(
        'Try again shortly. The part that arrived was charged. Use a new Idempotency-Key',
      )
      expect(client.text).not.toContain('[DONE]')
    }
    expect(calls[0]!.client.text).toBe(calls[1]!.client.text)
    expect(bench.charges).toBe(1)
  })

  it('waits for no follower that stopped reading', async () => {
    await start({ timeouts: { clientStallMs: 1_000_000 } })
    const large = sendLarge()
    const stuck = await read({ key: 'k', stream: true })
    stuck.on('error', () => undefined)
    large.begin()
    await large.stopped()
    const closed = bench.routers[0]!.close({ graceMs: 0 })
    await bench.clock.elapse(0)
    expect(await closed).toEqual({ drained: 0, aborted: 1 })
    stuck.destroy()
    expect(bench.charges).toBe(1)
  })

  it('sends no call whose claim is still pending', async () => {
    const gate = deferred()
    await start({
      store: (clock) => {
        const store = memoryIdempotency({ clock })
        return {
          ...store,
          claim: async (...request) => {
            await gate.promise
            return store.claim(...request)
          },
        }
      },
    })
    const call = bench.call({ key: 'k' })
    await bench.inFlight(1)
    const closed = bench.routers[0]!.close({ graceMs: 0 })
    await bench.clock.elapse(0)
    gate.open()
    await closed
    await call.client.over
    expect([call.client.status, errorOf(call.client.text).code]).toEqual([503, 'shutting_down'])
    expect([bench.dispatched, bench.charges]).toEqual([0, 0])
  })
})

/** A reply that is not read until the test says so. */
async function read(ask: { key: string; stream: boolean }): Promise<IncomingMessage> {
  const { url, headers, body } = bench.request(ask)
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent: false, method: 'POST', headers }, resolve)
    request.on('error', reject)
    request.end(body)
  })
}

const PIECE = 'x'.repeat(64 * 1_024)
const PIECES = 850

/** Makes the provider send 53 MiB, more than all sockets on the way buffer, when the test says so. */
function sendLarge() {
  const gate = deferred()
  const state = {
    sent: 0,
    begin: gate.open,
    /** Waits until nothing has been sent for many turns because somebody stopped reading. */
    async stopped(): Promise<void> {
      for (let last = -1, same = 0; same < 500; ) {
        await new Promise((resolve) => setImmediate(resolve))
        same = state.sent === last && last > 64 ? same + 1 : 0
        last = state.sent
      }
    },
  }
  bench.upstream.script(async (reply) => {
    reply.head(200, HEAD.headers)
    await reply.write(sse([textChunk(PIECE)]))
    await gate.promise
    for (state.sent = 1; state.sent < PIECES && reply.open; state.sent++) {
      await reply.write(sse([textChunk(PIECE)]))
    }
    await reply.write(`${sse([finishChunk(), USAGE_CHUNK])}data: [DONE]\n\n`)
    reply.end()
  })
  return state
}

/** The call that the others follow. */
async function firstOf<Call extends { client: { headers: Readonly<Record<string, unknown>> } }>(
  calls: readonly Call[],
): Promise<Call> {
  return calls.find(({ client }) => client.headers['idempotent-replayed'] === undefined)!
}
