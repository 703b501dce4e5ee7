import { afterEach, describe, expect, it } from 'vitest'
import type { IdempotencyStore } from '../../src/contracts/index.js'
import { memoryIdempotency } from '../../src/index.js'
import { answerJson, finishChunk, type Script, sse, textChunk } from '../helpers/scripted-upstream.js'
import { Bench, type BenchOptions, COST, JSON_REPLY, STREAM_REPLY, USAGE_CHUNK } from './bench.js'

let bench: Bench

async function start(options: BenchOptions = {}, script: Script = JSON_REPLY): Promise<void> {
  bench = await Bench.start(options)
  bench.upstream.script(script)
}
afterEach(() => bench.finish())

const errorOf = (text: string) => JSON.parse(text).error
const lastFrame = (text: string) => JSON.parse(text.slice(text.lastIndexOf('data: ') + 'data: '.length))
/** Without the headers that belong to a single answer. */
const headersOf = ({ headers }: { headers: Readonly<Record<string, unknown>> }) => {
  const { date: _, 'x-request-id': __, ...rest } = headers
  return rest
}

describe('a repeat after the call has ended', () => {
  it('gets the same JSON byte for byte, is marked, and costs nothing', async () => {
    await start()
    const first = await bench.ask({ key: 'k' })
    const again = await bench.ask({ key: 'k' })
    expect(again.text).toBe(first.text)
    expect(headersOf(again)).toEqual({ ...headersOf(first), 'idempotent-replayed': 'true' })
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
    expect(JSON.parse(again.text).usage.cost).toBe(COST)
  })

  it('gets the same stream byte for byte, is marked, and costs nothing', async () => {
    await start({}, STREAM_REPLY)
    const first = await bench.ask({ key: 'k', stream: true })
    const again = await bench.ask({ key: 'k', stream: true })
    expect(again.text).toBe(first.text)
    expect(again.text).toMatch(/"cost":0\.0012.*\n\ndata: \[DONE\]\n\n$/s)
    const { 'transfer-encoding': _, ...head } = headersOf(first)
    expect(headersOf(again)).toMatchObject({ ...head, 'idempotent-replayed': 'true' })
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('has an x-request-id of its own', async () => {
    await start()
    const [one, two] = [await bench.ask({ key: 'k' }), await bench.ask({ key: 'k' })]
    expect(one.headers['x-request-id']).not.toBe(two.headers['x-request-id'])
  })

  it("is reported as replayed, without a charge, with its client's own retry count", async () => {
    await start()
    await bench.ask({ key: 'k' })
    await bench.ask({ key: 'k', headers: { 'x-stainless-retry-count': '2' } })
    const [first, again] = bench.of('request-end')
    expect(first).toMatchObject({ outcome: 'completed', status: 200 })
    expect(first?.charge?.cost).toBe(1_200_000n)
    expect(first?.replayed).toBeUndefined()
    expect(again).toMatchObject({ outcome: 'completed', status: 200, replayed: true, clientRetry: 2 })
    expect(again?.charge).toBeUndefined()
  })

  it('without a key is recognised only by x-stainless-retry-count, with no further effect', async () => {
    await start()
    await bench.ask({ headers: { 'x-stainless-retry-count': '1' } })
    expect(bench.of('request-end')[0]).toMatchObject({ clientRetry: 1, outcome: 'completed' })
    expect(bench.of('request-end')[0]?.replayed).toBeUndefined()
    expect(bench.charges).toBe(1)
  })

  it('is refused with 422 if its body differs, whatever the first outcome, and the first answer stays', async () => {
    await start()
    const first = await bench.ask({ key: 'k' })
    const other = await bench.ask({ key: 'k', body: { top_p: 1 } })
    expect([other.status, errorOf(other.text).code]).toEqual([422, 'idempotency_mismatch'])
    expect(errorOf(other.text).type).toBe('invalid_request_error')
    expect((await bench.ask({ key: 'k' })).text).toBe(first.text)
    expect(bench.of('request-end')[1]?.replayed).toBeUndefined()
    expect(bench.charges).toBe(1)
  })

  it('gets the charge if bodies are not kept', async () => {
    await start({ idempotency: { keepBodies: false } })
    const first = await bench.ask({ key: 'k' })
    const again = await bench.ask({ key: 'k' })
    expect([again.status, errorOf(again.text).code]).toEqual([409, 'idempotency_completed'])
    expect(errorOf(again.text).metadata.usage).toEqual(JSON.parse(first.text).usage)
    expect(again.headers['x-should-retry']).toBe('false')
    expect(again.headers['idempotent-replayed']).toBeUndefined()
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('gets the charge if the store has forgotten the reply, and is not sent to a provider', async () => {
    await start({ idempotency: { ttlMs: 1_000 } })
    const first = await bench.ask({ key: 'k' })
    await bench.clock.elapse(999)
    expect((await bench.ask({ key: 'k' })).text).toBe(first.text)
    await bench.clock.elapse(2)
    const again = await bench.ask({ key: 'k' })
    expect([again.status, errorOf(again.text).code]).toEqual([409, 'idempotency_completed'])
    expect(errorOf(again.text).metadata.usage).toEqual(JSON.parse(first.text).usage)
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('is replayed for 24 hours by default', async () => {
    await start()
    const first = await bench.ask({ key: 'k' })
    await bench.clock.elapse(24 * 60 * 60 * 1_000 - 1)
    expect((await bench.ask({ key: 'k' })).text).toBe(first.text)
    await bench.clock.elapse(2)
    expect((await bench.ask({ key: 'k' })).status).toBe(409)
  })

  it('is not paid twice after the reply was evicted', async () => {
    await start({ store: (clock) => memoryIdempotency({ clock, maxBytes: 10_240 }) })
    await bench.ask({ key: 'k0' })
    for (let number = 1; number <= 12; number++) await bench.ask({ key: `k${number}` })
    const again = await bench.ask({ key: 'k0' })
    expect([again.status, errorOf(again.text).code]).toEqual([409, 'idempotency_completed'])
    expect([bench.charges, bench.dispatched]).toEqual([13, 13])
  })

  it.each(['json', 'stream'] as const)(
    'gets no body of more than 4 MiB, but its charge (%s)',
    async (mode) => {
      const text = 'x'.repeat(4 * 1_024 * 1_024)
      const json = answerJson({ ...replyOf(text), usage: USAGE_CHUNK.usage })
      const pieces = Array.from({ length: 5 }, () => textChunk(text.slice(0, 1_024 * 1_024)))
      const stream: Script = [
        { head: 200, headers: { 'content-type': 'text/event-stream' } },
        { write: `${sse([...pieces, finishChunk(), USAGE_CHUNK])}data: [DONE]\n\n` },
        'end',
      ]
      await start({}, mode === 'json' ? json : stream)
      const first = await bench.ask({ key: 'k', stream: mode === 'stream' })
      expect([first.status, first.complete]).toEqual([200, true])
      expect(first.text.length).toBeGreaterThan(text.length)
      const again = await bench.ask({ key: 'k', stream: mode === 'stream' })
      expect([again.status, errorOf(again.text).code]).toEqual([409, 'idempotency_completed'])
      expect(errorOf(again.text).metadata.usage.cost).toBe(COST)
      expect(bench.charges).toBe(1)
    },
  )
})

describe('an error with a charge under an Idempotency-Key', () => {
  it.each<[string, boolean, Script]>([
    ['JSON', false, JSON_REPLY],
    ['a stream', true, STREAM_REPLY],
    ['a stream that breaks after its usage', true, broken()],
  ])('says not to retry, first and replayed: %s', async (_name, stream, script) => {
    await start({}, script)
    for (const _turn of [1, 2]) {
      const { headers } = await bench.ask({ key: 'k', stream })
      expect(headers['x-should-retry']).toBe('false')
    }
    expect(bench.charges).toBe(1)
  })
})

describe('a call with an Idempotency-Key that broke off', () => {
  it('is replayed broken, with its charge, if something was captured', async () => {
    await start({}, broken())
    const first = await bench.ask({ key: 'k', stream: true })
    const again = await bench.ask({ key: 'k', stream: true })
    expect(first.text).toContain('"error":')
    expect(first.text).toContain(`"cost":${COST}`)
    expect(first.text).not.toContain('[DONE]')
    expect(again.text).toBe(first.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect([bench.charges, bench.dispatched]).toEqual([1, 1])
  })

  it('is reported as broken, first and replayed, even to clients that arrive at the same time', async () => {
    await start({}, broken())
    await bench.ask({ key: 'k', stream: true })
    await Promise.all([bench.ask({ key: 'k', stream: true }), bench.ask({ key: 'k', stream: true })])
    const ends = bench.of('request-end')
    const told = ends.map(({ outcome, replayed, status }) => ({ outcome, replayed, status }))
    const broke = { outcome: 'provider_error', status: 200 }
    expect(told).toEqual([broke, { ...broke, replayed: true }, { ...broke, replayed: true }])
  })

  it('says that another attempt needs a new key, if it was charged', async () => {
    await start({}, broken())
    const { text } = await bench.ask({ key: 'k', stream: true })
    expect(lastFrame(text).error).toMatchObject({
      message: expect.stringMatching(
        /\. The part that arrived was charged\. Use a new Idempotency-Key to try again\.$/,
      ),
      code: 'provider_error',
      source: 'provider',
      metadata: { usage: { cost: COST } },
    })
  })

  it.each<[string, string | undefined, Script, object]>([
    ['it has no key', undefined, broken(), {}],
    ['nothing was charged', 'k', [HEAD, { write: sse([textChunk('half')]) }, 'hang-up'], {}],
    ['another call has taken it over', 'k', broken(), { claimLost: true }],
  ])('does not mention its key if %s', async (_, key, script, settled) => {
    await start({}, script)
    bench.plan.next('settle', { answers: (real: object) => ({ ...real, ...settled }) } as never)
    const { text } = await bench.ask({ ...(key && { key }), stream: true })
    const { error } = lastFrame(text)
    expect(error.message).toMatch(/\.$/)
    expect(error.message).not.toContain('Idempotency-Key')
  })

  it.each<[string, boolean, Script, number]>([
    ['a provider that refuses', false, answerJson({ error: { message: 'no' } }, 400), 400],
    ['a provider that fails', false, answerJson({ error: { message: 'no' } }, 500), 502],
    ['a provider that closes the connection', true, ['hang-up'], 502],
  ])('frees its key if nothing was charged: %s', async (_name, stream, failure, status) => {
    await start({}, stream ? STREAM_REPLY : JSON_REPLY)
    bench.upstream.scriptOnce(failure)
    const first = await bench.ask({ key: 'k', stream })
    expect(first.status).toBe(status)
    const again = await bench.ask({ key: 'k', stream })
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, undefined])
    expect([bench.charges, bench.dispatched]).toEqual([1, 2])
  })

  it('frees its key even for another body', async () => {
    await start()
    bench.upstream.scriptOnce(answerJson({ error: { message: 'no' } }, 400))
    await bench.ask({ key: 'k', body: { top_p: 7 } })
    expect((await bench.ask({ key: 'k' })).status).toBe(200)
  })

  it('frees its key if the stream broke after tokens that nobody pays for', async () => {
    await start({}, STREAM_REPLY)
    bench.upstream.scriptOnce([HEAD, { write: sse([textChunk('half')]) }, 'hang-up'])
    const first = await bench.ask({ key: 'k', stream: true })
    expect(first.text).toContain('"cost":0')
    const again = await bench.ask({ key: 'k', stream: true })
    expect(again.text).toContain('[DONE]')
    expect([bench.charges, bench.dispatched]).toEqual([1, 2])
  })

  it('frees its key if there was not enough credit', async () => {
    await start()
    const refused = await bench.ask({ key: 'k', body: { max_tokens: 1_000_000 } })
    expect([refused.status, errorOf(refused.text).code]).toEqual([402, 'insufficient_credits'])
    expect(bench.dispatched).toBe(0)
    expect((await bench.ask({ key: 'k', body: { max_tokens: 10 } })).status).toBe(200)
  })
})

describe("the answer of a host's idempotency store", () => {
  const answering =
    (state: unknown): (() => IdempotencyStore) =>
    () => ({
      claim: async () => state as never,
      complete: async () => undefined,
      abandon: async () => undefined,
    })

  it.each([
    ['nothing', undefined],
    ['an unknown state', { state: 'yours' }],
    ['no reply', { state: 'done' }],
  ])('is checked, and nothing is sent if it is wrong: %s', async (_name, state) => {
    await start({ store: answering(state) })
    const { status, text } = await bench.ask({ key: 'k' })
    expect([status, errorOf(text).code]).toEqual([500, 'internal_error'])
    expect(bench.of('store-fault')).toMatchObject([{ store: 'idempotency' }])
    expect(bench.dispatched).toBe(0)
  })
})

const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const

/** Breaks after its usage has been reported, so that it is charged. */
function broken(): Script {
  return [
    HEAD,
    { write: sse([textChunk('half'), { ...finishChunk(), usage: USAGE_CHUNK.usage }]) },
    { write: sse([{ error: { message: 'fell over' } }]) },
    'hang-up',
  ]
}

function replyOf(content: string): object {
  return {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  }
}
