import { afterEach, describe, expect, it } from 'vitest'
import { memoryIdempotency } from '../../src/index.js'
import { finishChunk, type Script, sse, textChunk } from '../helpers/scripted-upstream.js'
import { textOf } from '../helpers/stream-text.js'
import { Bench, type BenchOptions, COST, deferred, JSON_REPLY, USAGE_CHUNK } from './bench.js'

let bench: Bench

async function start(options: BenchOptions = {}): Promise<void> {
  bench = await Bench.start({ onDisconnect: 'abort', ...options })
}
afterEach(() => bench.finish())

const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const
const END = [{ write: `${sse([finishChunk(), USAGE_CHUNK])}data: [DONE]\n\n` }, 'end'] as const
const say = (words: string) => ({ write: sse([textChunk(words)]) })

describe('a client that left and returns with its Idempotency-Key', () => {
  it.each(['abort', 'drain'] as const)(
    'gets the whole stream after its end, for one charge, on a route that would %s',
    async (onDisconnect) => {
      await start({ onDisconnect })
      const gate = deferred()
      bench.upstream.script([HEAD, say('one '), { wait: gate.promise }, say('two'), ...END])
      const first = bench.call({ key: 'k', stream: true })
      await first.client.receives('one ')
      await bench.leave(first)
      gate.open()
      const end = await bench.end(first)
      expect([end.outcome, end.charge?.cost, end.charge?.basis]).toEqual([
        'client-left',
        1_200_000n,
        'reported',
      ])
      const back = await bench.ask({ key: 'k', stream: true })
      expect(textOf(back.text)).toBe('one two')
      expect(back.text).toMatch(/"cost":0\.0012.*\n\ndata: \[DONE\]\n\n$/s)
      expect([bench.charges, bench.dispatched]).toEqual([1, 1])
      expect(bench.of('call-abandoned')).toEqual([])
    },
  )

  it('gets the whole JSON even if it left before the first byte', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([{ wait: gate.promise }, ...(JSON_REPLY as readonly object[])] as Script)
    const first = bench.call({ key: 'k' })
    await bench.upstream.nextRequest()
    await bench.leave(first)
    gate.open()
    await bench.end(first)
    const back = await bench.ask({ key: 'k' })
    expect([back.status, back.headers['idempotent-replayed']]).toEqual([200, 'true'])
    expect(JSON.parse(back.text).usage.cost).toBe(COST)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('gets the whole answer even if it left before anything was sent', async () => {
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
    bench.upstream.script(JSON_REPLY)
    const first = bench.call({ key: 'k' })
    await bench.inFlight(1)
    await bench.leave(first)
    const back = bench.call({ key: 'k' })
    await bench.inFlight(2)
    gate.open()
    await bench.end(back)
    await back.client.over
    expect(back.client.status).toBe(200)
    await bench.end(first)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('joins a call in progress from its start', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([HEAD, say('one '), { wait: gate.promise }, say('two'), ...END])
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one ')
    await bench.leave(first)
    await bench.clock.elapse(59_000)
    const back = bench.call({ key: 'k', stream: true })
    await back.client.receives('one ')
    await bench.clock.elapse(30_000)
    gate.open()
    await back.client.over
    expect(textOf(back.client.text)).toBe('one two')
    expect(back.client.text).toContain('[DONE]')
    await bench.end(back)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('has its call continued if it leaves again, to the same end as otherwise', async () => {
    await start()
    const gate = deferred()
    bench.upstream.script([HEAD, say('one '), { wait: gate.promise }, say('two '), 'stall'])
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one ')
    await bench.leave(first)
    await bench.clock.elapse(50_000)
    const back = bench.call({ key: 'k', stream: true })
    await back.client.receives('one ')
    gate.open()
    await back.client.receives('two ')
    await bench.leave(back)
    await bench.clock.elapse(119_999)
    expect(bench.routers[0]!.inFlight).toBe(1)
    await bench.clock.elapse(2)
    await bench.end(first)
    // The provider fell silent: nobody pays an estimate for that.
    expect(bench.charges).toBe(0)
  })

  it('gets the same outcome as all others if it left last and nothing ever arrived', async () => {
    await start()
    bench.upstream.scriptOnce(['stall'])
    bench.upstream.script(JSON_REPLY)
    const request = bench.upstream.nextRequest()
    const first = bench.call({ key: 'k' })
    const { closed } = await request
    await bench.leave(first)
    await bench.clock.elapse(900_001)
    await closed
    await bench.end(first)
    expect(bench.charges).toBe(0)
    const back = await bench.ask({ key: 'k' })
    expect([back.status, back.headers['idempotent-replayed']]).toEqual([200, undefined])
    expect([bench.charges, bench.dispatched]).toEqual([1, 2])
  })
})

describe('an abandoned call with an Idempotency-Key is limited', () => {
  const script = (gate: Promise<unknown>): Script => [
    HEAD,
    say('twenty bytes of text'),
    { wait: gate },
    'stall',
  ]

  it('in time: the provider request is aborted, and the output so far is charged and kept', async () => {
    await start({ timeouts: { totalMs: 60_000 } })
    bench.upstream.script(script(Promise.resolve()))
    const request = bench.upstream.nextRequest()
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('twenty')
    await bench.leave(first)
    await bench.clock.elapse(59_999)
    expect(bench.routers[0]!.inFlight).toBe(1)
    await bench.clock.elapse(2)
    await (await request).closed
    const end = await bench.end(first)
    expect(end.charge?.basis).toBe('estimated')
    const back = await bench.ask({ key: 'k', stream: true })
    expect(back.status).toBe(200)
    expect(back.headers['idempotent-replayed']).toBe('true')
    expect(textOf(back.text)).toBe('twenty bytes of text')
    expect(back.text).not.toContain('[DONE]')
    const [, frame] = /data: (\{"error".*\})\n\n$/.exec(back.text) ?? []
    const told = JSON.parse(frame!).error.metadata.usage
    expect(told.charge.basis).toBe('estimated')
    expect(BigInt(Math.round(told.cost * 1e9))).toBe(end.charge?.cost)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('in bytes', async () => {
    await start({ sizes: { replyBytes: 1_500 } })
    const gate = deferred()
    bench.upstream.script([
      HEAD,
      say('one '),
      { wait: gate.promise },
      say('x'.repeat(600)),
      say('y'.repeat(600)),
      'stall',
    ])
    const request = bench.upstream.nextRequest()
    const first = bench.call({ key: 'k', stream: true })
    await first.client.receives('one ')
    await bench.leave(first)
    gate.open()
    await (await request).closed
    const end = await bench.end(first)
    expect(end.charge?.basis).toBe('estimated')
    expect(bench.charges).toBe(1)
  })

  it('by its route if it has no key: an abort route aborts it at once', async () => {
    await start()
    bench.upstream.script(script(Promise.resolve()))
    const request = bench.upstream.nextRequest()
    const first = bench.call({ stream: true })
    await first.client.receives('twenty')
    await bench.leave(first)
    await (await request).closed
    expect((await bench.end(first)).charge?.basis).toBe('estimated')
  })
})
