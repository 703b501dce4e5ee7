import { afterEach, describe, expect, it } from 'vitest'
import type { RouteHealth } from '../../src/index.js'
import { ChatClient } from '../helpers/chat-client.js'
import { sse, textChunk } from '../helpers/scripted-upstream.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'
import {
  ALICE,
  answers,
  contentOf,
  fails,
  MODEL,
  type Service,
  type ServiceOptions,
  startService,
} from './service.js'

let service: Service
let clock: SteppedClock
afterEach(() => service.close())

async function start({ router, ...options }: ServiceOptions): Promise<Service> {
  clock = createSteppedClock()
  service = await startService({ ...options, router: { clock, ...router } })
  return service
}

const of = (routes: readonly RouteHealth[], provider: string) =>
  routes.find((route) => route.provider === provider)

const counts = () => service.upstreams.map(({ requests }) => requests.length)

describe('the route health that a host can read', () => {
  it('is empty before the first call, and then has the averages of each route that was called', async () => {
    const { ask, router } = await start({ routes: [{}, {}] })
    expect(router.routes()).toEqual([])
    await ask({ stream: true })
    expect(router.routes()).toEqual([
      { routeId: `p0:${MODEL}`, provider: 'p0', state: 'closed', firstTokenMs: 0, failureRate: 0 },
    ])
  })

  it('measures the first token and the throughput of the whole call', async () => {
    const { router, upstreams } = await start({ routes: [{}] })
    let arrived = () => {}
    const begun = new Promise<void>((resolve) => {
      arrived = resolve
    })
    upstreams[0]!.script(async (reply) => {
      arrived()
      await clock.elapse(400)
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('x'.repeat(400))]))
      await seen
      await clock.elapse(600)
      await reply.write(
        `${sse([{ ...textChunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }])}data: [DONE]\n\n`,
      )
      reply.end()
    })
    const client = new ChatClient({
      url: `${service.url}/chat/completions`,
      headers: { authorization: `Bearer ${ALICE}` },
      body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true },
    })
    const seen = client.receives('xxx')
    await begun
    await client.over
    expect(router.routes()).toEqual([
      {
        routeId: `p0:${MODEL}`,
        provider: 'p0',
        state: 'closed',
        firstTokenMs: 400,
        tokensPerSecond: 100,
        failureRate: 0,
      },
    ])
  })
})

describe('a route that fails', () => {
  it('moves behind the others once its breaker is open, and gets one probe among many calls when half-open', async () => {
    const { ask, end, ledger, router, upstreams } = await start({ routes: [{}, {}], balance: '10' })
    upstreams[0]!.script(fails(500))
    for (let call = 0; call < 3; call++) expect(contentOf(await ask())).toBe('I am p1')
    expect(counts()).toEqual([3, 3])
    expect(of(router.routes(), 'p0')).toMatchObject({ state: 'open' })
    const avoided = await ask()
    expect(counts()).toEqual([3, 4])
    expect((await end(avoided)).routing).toEqual({
      considered: [`p1:${MODEL}`, `p0:${MODEL}`],
      excluded: [],
      behind: [{ routeId: `p0:${MODEL}`, why: 'breaker open' }],
      chosenBy: 'price',
      attempts: [{ routeId: `p1:${MODEL}`, outcome: 'finished' }],
    })

    await clock.elapse(5_000)
    expect(of(router.routes(), 'p0')).toMatchObject({ state: 'half-open' })
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    upstreams[0]!.script(async (reply) => {
      await held
      reply.head(500)
      reply.end()
    })
    // All calls have chosen the half-open route before the first one calls it.
    const hold = ledger.hold
    let asked = 0
    let open = () => {}
    const allAsked = new Promise<void>((resolve) => {
      open = resolve
    })
    Object.assign(ledger, {
      hold: async (...[request, context]: Parameters<typeof hold>) => {
        if (++asked === 20) open()
        await allAsked
        return hold.call(ledger, request, context)
      },
    })
    const dialled = upstreams[0]!.nextRequest()
    let answered = 0
    const together = Array.from({ length: 20 }, async () => {
      expect(contentOf(await ask())).toBe('I am p1')
      if (++answered === 19) answer()
    })
    await dialled
    await Promise.all(together)
    expect(counts()).toEqual([4, 24])

    await clock.elapse(10_000)
    upstreams[0]!.script(answers('I am well'))
    expect(contentOf(await ask())).toBe('I am well')
    expect(of(router.routes(), 'p0')).toMatchObject({ state: 'closed' })
  })

  it('is still tried if it is the last, whatever its breaker or retry-after', async () => {
    const { ask, upstreams } = await start({ routes: [{}] })
    upstreams[0]!.script(fails(429, { 'retry-after': '30' }))
    for (let call = 0; call < 10; call++) expect((await ask()).status).toBe(429)
    upstreams[0]!.script(answers('I am back'))
    expect(contentOf(await ask())).toBe('I am back')
    expect(counts()).toEqual([11])
  })

  it('with a retry-after is avoided until then, after a single call', async () => {
    const { ask, end, upstreams } = await start({ routes: [{}, {}] })
    upstreams[0]!.scriptOnce(fails(429, { 'retry-after': '30' }))
    expect(contentOf(await ask())).toBe('I am p1')
    const avoided = await ask()
    expect(contentOf(avoided)).toBe('I am p1')
    expect((await end(avoided)).routing?.behind).toEqual([{ routeId: `p0:${MODEL}`, why: 'retry-after' }])
    await clock.elapse(29_999)
    expect(contentOf(await ask())).toBe('I am p1')
    await clock.elapse(1)
    expect(contentOf(await ask())).toBe('I am p0')
    expect(counts()).toEqual([2, 3])
  })

  it('with a retry-after is still a fallback', async () => {
    const { ask, upstreams } = await start({ routes: [{}, {}] })
    upstreams[0]!.scriptOnce(fails(429, { 'retry-after': '30' }))
    await ask()
    upstreams[1]!.script(fails(500))
    expect(contentOf(await ask())).toBe('I am p0')
  })
})

describe('an outcome that does not affect the health of a route', () => {
  it.each([400, 403, 404, 405, 409, 413, 418, 422, 451])('is status %s', async (status) => {
    const { ask, router, upstreams } = await start({ routes: [{}] })
    upstreams[0]!.script(fails(status, { 'retry-after': '30' }))
    for (let call = 0; call < 5; call++) await ask()
    expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
  })

  it.each([408, 429, 500, 503, 529])('is not status %s', async (status) => {
    const { ask, router, upstreams } = await start({ routes: [{}] })
    upstreams[0]!.script(fails(status))
    for (let call = 0; call < 3; call++) await ask()
    expect(router.routes()).toMatchObject([{ state: 'open' }])
  })

  it.each(['abort', 'drain'] as const)(
    'is a caller that leaves, on a route with onDisconnect %s',
    async (onDisconnect) => {
      const { end, router, upstreams } = await start({
        routes: [{ onDisconnect }],
        router: { timeouts: { totalMs: 1_000 } },
      })
      upstreams[0]!.script(['stall'])
      for (let call = 0; call < 5; call++) {
        const id = `leaving-${call}`
        const dialled = upstreams[0]!.nextRequest()
        const client = new ChatClient({
          url: `${service.url}/chat/completions`,
          headers: { authorization: `Bearer ${ALICE}`, 'x-request-id': id },
          body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: call % 2 === 0 },
        })
        const { closed } = await dialled
        client.leave()
        await client.over
        const left = end({ id })
        if (onDisconnect === 'drain') {
          // The router notices when its own socket closes.
          while (!(await Promise.race([left.then(() => true), clock.elapse(1_000).then(() => false)])));
        }
        expect((await left).outcome).toBe('client-left')
        await closed
      }
      expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
    },
  )

  it('is a long reply that ends at totalMs', async () => {
    const { router, upstreams } = await start({
      routes: [{}],
      router: { timeouts: { totalMs: 10_000 } },
    })
    upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('and then')]) },
      'stall',
    ])
    const client = new ChatClient({
      url: `${service.url}/chat/completions`,
      headers: { authorization: `Bearer ${ALICE}` },
      body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true },
    })
    await client.receives('and then')
    await clock.elapse(10_000)
    await client.over
    expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
  })
})

describe("a session's route", () => {
  const SESSIONS = Array.from({ length: 30 }, (_, number) => `session-${number}`)
  const places = async ({ ask }: Service) => {
    const found = new Map<string, string>()
    for (const session of SESSIONS) found.set(session, contentOf(await ask({ session_id: session })))
    return found
  }

  it('stays the same in another router, with the header and with the field alike', async () => {
    const { ask } = await start({ routes: [{}, {}, {}] })
    const first = await places(service)
    expect(new Set(first.values()).size).toBe(3)
    const other = await startService({ routes: [{}, {}, {}] })
    try {
      expect(await places(other)).toEqual(first)
    } finally {
      await other.close()
    }
    for (const [session, place] of [...first].slice(0, 5)) {
      expect(contentOf(await ask({}, { 'x-session-id': session }))).toBe(place)
    }
  })

  it('changes if it fails, other sessions stay, and all return after it recovers', async () => {
    const { upstreams } = await start({ routes: [{}, {}, {}] })
    const before = await places(service)
    upstreams[1]!.script(fails(503))
    const during = await places(service)
    for (const [session, place] of before) {
      if (place === 'I am p1') expect(during.get(session)).not.toBe(place)
      else expect(during.get(session)).toBe(place)
    }
    // The route that each session used first, and keeps.
    expect(await places(service)).toEqual(during)
    upstreams[1]!.script(answers('I am p1'))
    await clock.elapse(60_000)
    expect(await places(service)).toEqual(before)
  })

  it('follows weights', async () => {
    await start({ routes: [{ weight: 0 }, { weight: 1 }] })
    expect(new Set((await places(service)).values())).toEqual(new Set(['I am p1']))
  })
})
