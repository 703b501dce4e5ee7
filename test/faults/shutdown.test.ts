import { describe, expect, it, onTestFinished } from 'vitest'
import * as library from '../../src/index.js'
import { memoryIdempotency } from '../../src/index.js'
import { assertOneCharge } from '../helpers/charge-assertions.js'
import { createDeferred } from '../helpers/deferred.js'
import { turns } from '../helpers/stepped-clock.js'
import { RawClient } from '../http/fixture.js'
import { APP_TOKEN, Bench, type BenchCall, type BenchOptions } from './bench.js'
import { REPORTED, send, takeOver } from './fault.js'
import { DONE, FINISH, HEAD, TOKENS, USAGE } from './upstream-scripts.js'

const GRACE_MS = 1_000
const WHOLE_REPLY = [HEAD, TOKENS, FINISH, USAGE, DONE, 'end'] as const

/** A store that is asked during a call, and answers when the test says so. */
class Gate {
  readonly asked = createDeferred()
  private readonly opened = createDeferred()

  async pass<T>(answer: () => T | Promise<T>): Promise<T> {
    this.asked.resolve()
    await this.opened.promise
    return answer()
  }

  open(): void {
    this.opened.resolve()
  }
}

interface Phase {
  readonly name: string
  wrap(gate: Gate): BenchOptions['wrap']
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly byok?: 'only'
}

const phases: readonly Phase[] = [
  {
    name: 'the host’s limiter is asked',
    wrap: (gate) => (options) => ({ ...options, admit: () => gate.pass(() => ({ ok: true })) }),
  },
  {
    name: 'the model is looked up',
    wrap: (gate) => (options) => ({
      ...options,
      catalogue: { ...options.catalogue, get: (...args) => gate.pass(() => options.catalogue.get(...args)) },
    }),
  },
  {
    name: 'the Idempotency-Key is looked up',
    headers: { 'idempotency-key': 'key-1' },
    wrap: (gate) => (options, clock) => {
      const store = memoryIdempotency({ clock })
      const claim: typeof store.claim = (...args) => gate.pass(() => store.claim(...args))
      return { ...options, idempotency: { store: { ...store, claim } } }
    },
  },
  {
    name: 'the routes are looked up',
    wrap: (gate) => (options) => ({
      ...options,
      providers: {
        ...options.providers,
        routes: (...args) => gate.pass(() => options.providers.routes(...args)),
      },
    }),
  },
  {
    name: 'the envelope is opened',
    byok: 'only',
    body: { provider: 'p0', provider_key: 'v1.header..nonce.text.tag' },
    wrap: (gate) => (options) => ({
      ...options,
      envelopes: { open: () => gate.pass(() => ({ ok: true, secret: { reveal: () => 'key' } })) },
    }),
  },
  {
    name: 'the hold is taken',
    wrap: (gate) => (options) => ({
      ...options,
      ledger: { ...options.ledger, hold: (...args) => gate.pass(() => options.ledger.hold(...args)) },
    }),
  },
]

async function start(options: BenchOptions = {}): Promise<Bench> {
  const bench = await Bench.start(library, options)
  onTestFinished(() => bench.finish())
  return bench
}

async function charged(bench: Bench, { client, id }: BenchCall): Promise<string> {
  await client.over
  const end = await bench.event('request-end')
  return assertOneCharge({ requestId: id, wire: client.text, end, ledger: bench.ledger })
}

describe.each(phases)('closing the router while $name', ({ byok, wrap, body, headers }) => {
  it.each([true, false])(
    'refuses the call after the grace period, without calling a provider (stream: %s)',
    async (stream) => {
      const gate = new Gate()
      const bench = await start({ routes: [byok === undefined ? {} : { byok }], wrap: wrap(gate) })
      const call = bench.call(stream, body, headers)
      await gate.asked.promise
      const closing = bench.router.close({ graceMs: GRACE_MS })
      await bench.clock.elapse(GRACE_MS)
      gate.open()
      expect(await charged(bench, call)).toBe('0')
      expect([call.client.status, JSON.parse(call.client.text).error.code]).toEqual([503, 'shutting_down'])
      expect(await closing).toEqual({ drained: 0, aborted: 1 })
      expect(bench.upstream.requests).toEqual([])
    },
  )

  it('lets the call continue if there is time', async () => {
    const gate = new Gate()
    const bench = await start({
      routes: [byok === undefined ? {} : { byok }],
      wrap: wrap(gate),
      router: { byokFee: { flat: '0.00125' } },
    })
    bench.upstream.script(WHOLE_REPLY)
    const call = bench.call(true, body, headers)
    await gate.asked.promise
    const closing = bench.router.close({ graceMs: GRACE_MS })
    gate.open()
    expect(await charged(bench, call)).toBe(REPORTED)
    expect(await closing).toEqual({ drained: 1, aborted: 0 })
  })
})

describe('closing the router while a credential is looked up', () => {
  it.each([0, GRACE_MS])('refuses the call, which had not yet started (grace: %s)', async (graceMs) => {
    const gate = new Gate()
    const bench = await start({
      wrap: (options) => ({
        ...options,
        credentials: { resolve: (...args) => gate.pass(() => options.credentials.resolve(...args)) },
      }),
    })
    const call = bench.call(true)
    await gate.asked.promise
    expect(await bench.router.close({ graceMs })).toEqual({ drained: 0, aborted: 0 })
    gate.open()
    expect(await charged(bench, call)).toBe('0')
    expect([call.client.status, JSON.parse(call.client.text).error.code]).toEqual([503, 'shutting_down'])
    expect(bench.upstream.requests).toEqual([])
    expect(bench.plan.calls).toEqual([])
  })
})

describe('closing the router while a body is read', () => {
  it('refuses the call after the grace period', async () => {
    const bench = await start()
    const client = await RawClient.connect(bench.port)
    const head = `POST /chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${APP_TOKEN}\r\n`
    client.write(`${head}content-length: 100\r\n\r\n{"model":`)
    while (bench.router.inFlight === 0) await turns(1)
    const closing = bench.router.close({ graceMs: GRACE_MS })
    await bench.clock.elapse(GRACE_MS)
    await client.untilReceived('shutting_down')
    expect(client.received).toMatch(/^HTTP\/1.1 503 /)
    expect(await closing).toEqual({ drained: 0, aborted: 1 })
    await bench.event('request-end')
    client.socket.destroy()
  })
})

describe('closing the router while a charge is posted', () => {
  it.each([true, false])('waits until the charge is posted (stream: %s)', async (stream) => {
    const bench = await start()
    const gate = createDeferred()
    bench.plan.next('settle', { when: gate.promise })
    bench.upstream.script(WHOLE_REPLY)
    const call = bench.call(stream)
    await bench.plan.asked('settle')
    let closed = false
    const closing = bench.router.close({ graceMs: GRACE_MS }).then(() => {
      closed = true
    })
    await bench.clock.elapse(GRACE_MS)
    expect(closed).toBe(false)
    gate.resolve()
    expect(await charged(bench, call)).toBe(REPORTED)
    await closing
  })

  it('also waits for a charge whose reply was already sent', async () => {
    const bench = await start()
    bench.plan.next('settle', 'throws', 'throws', 'throws', 'throws', 'throws')
    bench.upstream.script(WHOLE_REPLY)
    const call = bench.call(true)
    await bench.plan.asked('settle')
    await bench.clock.elapse(2_000)
    await call.client.over
    let closed = false
    const closing = bench.router.close({ graceMs: 0 }).then(() => {
      closed = true
    })
    await bench.clock.elapse(0)
    expect([closed, bench.audit.settlements.size]).toEqual([false, 0])
    await bench.clock.elapse(5_000)
    await closing
    expect(await charged(bench, call)).toBe(REPORTED)
  })

  it('reports a charge that cannot be posted, and ends', async () => {
    const bench = await Bench.start(library)
    onTestFinished(() => bench.finish({ openHolds: 1 }))
    bench.plan.always('settle', 'throws')
    bench.upstream.script(WHOLE_REPLY)
    const call = bench.call(false)
    await bench.plan.asked('settle')
    const closing = bench.router.close({ graceMs: 0 })
    await bench.clock.elapse(60_000)
    await closing
    const { request } = await bench.event('charge-failed', call)
    expect(request.charge.cost).toBe(2_000_000n)
    expect(call.client.text).toContain('"cost":0.002')
  })
})

describe('a closed router', () => {
  it('refuses every request, chat completions and models alike', async () => {
    const bench = await start()
    await bench.router.close()
    const call = bench.call(true)
    await call.client.over
    expect([call.client.status, JSON.parse(call.client.text).error.code]).toEqual([503, 'shutting_down'])
    await bench.event('request-end')
  })

  it('drains some calls, aborts others, and reports both numbers', async () => {
    const bench = await start()
    const firstTaken = takeOver(bench)
    const first = bench.call(true)
    const firstReply = await firstTaken
    const secondTaken = takeOver(bench)
    const second = bench.call(true)
    const secondReply = await secondTaken
    await send(secondReply, HEAD, TOKENS)
    await bench.takes(1)
    const closing = bench.router.close({ graceMs: GRACE_MS })
    await send(firstReply, ...WHOLE_REPLY)
    await first.client.over
    await bench.clock.elapse(GRACE_MS)
    await second.client.over
    expect(await closing).toEqual({ drained: 1, aborted: 1 })
    expect(first.client.text).toContain('[DONE]')
    expect(second.client.text).toContain('shutting_down')
  })
})
