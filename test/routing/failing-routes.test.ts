import { afterEach, describe, expect, it } from 'vitest'
import { sealProviderKey } from '../../src/envelope/seal.js'
import { generateEnvelopeKey, keyring, memoryCredentials, memoryLedger } from '../../src/index.js'
import { ChatClient } from '../helpers/chat-client.js'
import { createDeferred } from '../helpers/deferred.js'
import { finishChunk, sse, textChunk } from '../helpers/scripted-upstream.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'
import {
  ALICE,
  type Answer,
  answers,
  contentOf,
  errorOf,
  fails,
  MODEL,
  type Service,
  type ServiceOptions,
  startService,
} from './service.js'

const BOB = 'token-of-bob'
const CAROL = 'token-of-carol'
const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const

let service: Service
let clock: SteppedClock
let holds: number
afterEach(() => service.close())

/** A service on a stepped clock, with two accounts and an empty one. Counts the holds. */
async function start({ router, ...options }: ServiceOptions = {}): Promise<Service> {
  clock = createSteppedClock()
  holds = 0
  const ledger = memoryLedger({ alice: '100', bob: '100', carol: '0' })
  service = await startService({
    ...options,
    router: {
      clock,
      credentials: memoryCredentials({
        [ALICE]: { kind: 'api-key', account: 'alice' },
        [BOB]: { kind: 'api-key', account: 'bob' },
        [CAROL]: { kind: 'api-key', account: 'carol' },
      }),
      ledger: {
        ...ledger,
        hold: (...call) => {
          holds++
          return ledger.hold(...call)
        },
      },
      ...router,
    },
  })
  return service
}

const as = (token: string) => ({ authorization: `Bearer ${token}` })

/** Has every route fail, for two accounts. */
async function breakDown({ ask, upstreams }: Service): Promise<void> {
  for (const upstream of upstreams) upstream.script(fails(503))
  for (const token of [ALICE, BOB, ALICE]) await ask({}, as(token))
}

const counts = () => service.upstreams.map(({ requests }) => requests.length)

async function expectRefused(answer: Answer, retryAfter: string, why: string): Promise<void> {
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, retryAfter])
  expect(errorOf(answer)).toMatchObject({ code: 'no_route_available', source: 'gateway' })
  const end = await service.end(answer)
  expect(end).toMatchObject({ outcome: 'no_route_available', status: 503 })
  expect(end.charge).toBeUndefined()
  expect(end.holdId).toBeUndefined()
  expect(end.routing?.attempts.at(-1)).toEqual({ routeId: `p0:${MODEL}`, outcome: 'no_route_available', why })
}

/** Starts a call that stalls until the provider hangs up, and waits until the provider has it. */
async function stall({ upstreams, url }: Service, headers: object = {}) {
  const { promise: mayHangUp, resolve: hangUp } = createDeferred()
  upstreams[0]!.scriptOnce(async (reply) => {
    await mayHangUp
    reply.hangUp()
  })
  const dialled = upstreams[0]!.nextRequest()
  const client = new ChatClient({
    url: `${url}/chat/completions`,
    headers: { authorization: `Bearer ${ALICE}`, ...headers },
    body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] },
  })
  await dialled
  return { client, hangUp }
}

describe('a client that retries at once, with a model whose only provider answers 503,', () => {
  it('reaches the provider once per interval, and the model soon after the provider recovers', async () => {
    const { ask, upstreams } = await start({ balance: '100' })
    upstreams[0]!.script(fails(503))
    const refusals: string[] = []
    const hammer = async (calls: number): Promise<void> => {
      let left = calls
      const send = async (stream: boolean): Promise<void> => {
        while (left-- > 0) {
          const answer = await ask({ stream })
          expect(answer.status).toBe(503)
          if (errorOf(answer).code === 'no_route_available') refusals.push(answer.headers['retry-after']!)
        }
      }
      await Promise.all(Array.from({ length: 8 }, (_, sender) => send(sender % 2 === 0)))
    }
    await hammer(1_000)
    // All eight may have asked before the first failure.
    const atFirst = upstreams[0]!.requests.length
    expect(atFirst).toBeLessThanOrEqual(10)
    let probes = 0
    for (const seconds of [5, 10, 20, 40, 60, 60]) {
      await clock.elapse(seconds * 1_000)
      await hammer(200)
      expect(upstreams[0]!.requests).toHaveLength(atFirst + ++probes)
    }
    expect(refusals).toHaveLength(2_200 - atFirst - probes)
    expect(new Set(refusals)).toEqual(new Set(['5', '10', '20', '40', '59']))
    expect(holds).toBe(atFirst + probes)
    expect(await service.posted('alice')).toBe(100_000_000_000n)

    upstreams[0]!.script(answers('I am back'))
    await clock.elapse(60_000)
    for (let call = 0; call < 3; call++) expect(contentOf(await ask())).toBe('I am back')
  })
})

describe('a route whose provider is down', () => {
  it.each([false, true])(
    "refuses a call (stream: %s) at once if it is the model's last route",
    async (stream) => {
      await start()
      await breakDown(service)
      const before = holds
      const refused = await service.ask({ stream })
      await expectRefused(refused, '5', 'breaker open')
      expect(errorOf(refused).message).toBe(
        `No provider serves the model '${MODEL}' just now. Its providers are failing. Try again when retry-after is over.`,
      )
      expect((await service.end(refused)).routing?.behind).toEqual([
        { routeId: `p0:${MODEL}`, why: 'breaker open' },
      ])
      await clock.elapse(4_500)
      await expectRefused(await service.ask({ stream }), '1', 'breaker open')
      expect([counts(), holds]).toEqual([[3], before])
      await clock.elapse(500)
      expect(errorOf(await service.ask({ stream })).code).toBe('provider_overloaded')
      await expectRefused(await service.ask({ stream }), '10', 'breaker open')
      expect(counts()).toEqual([4])
    },
  )

  it.each([
    ['that cannot be reached', { dead: true }, undefined],
    ['that answers 500', {}, fails(500)],
    ['that answers 408', {}, fails(408)],
  ])('refuses calls: one %s', async (_, route, script) => {
    await start({ routes: [route] })
    await breakDown(service)
    if (script !== undefined) service.upstreams[0]!.script(script)
    await expectRefused(await service.ask(), '5', 'breaker open')
  })

  it('is not called after the working routes have failed', async () => {
    const { ask, end, upstreams } = await start({ routes: [{}, {}] })
    await breakDown(service)
    await clock.elapse(5_000)
    upstreams[1]!.script(answers('I am p1'))
    expect(contentOf(await ask())).toBe('I am p1')
    upstreams[1]!.script(fails(500))
    const failed = await ask()
    expect([failed.status, errorOf(failed).code]).toEqual([502, 'provider_error'])
    expect((await end(failed)).routing?.attempts).toMatchObject([
      { routeId: `p1:${MODEL}`, outcome: 'provider_error' },
      { routeId: `p0:${MODEL}`, outcome: 'no_route_available', why: 'breaker open' },
    ])
    expect(counts()).toEqual([4, 5])
  })

  it('refuses a call whose preferences leave no other route', async () => {
    const { ask, upstreams } = await start({ routes: [{}, {}] })
    upstreams[0]!.script(fails(503))
    for (const token of [ALICE, BOB, ALICE]) expect(contentOf(await ask({}, as(token)))).toBe('I am p1')
    await expectRefused(await ask({ routing: { only: ['p0'] } }), '5', 'breaker open')
    expect(contentOf(await ask())).toBe('I am p1')
  })

  it("accepts calls with a caller's own key, which do not close it", async () => {
    const envelopes = keyring([await generateEnvelopeKey('2026-11')])
    const { ask, upstreams } = await start({
      routes: [{ apiKey: 'host-key-of-p0', byok: 'yes' }],
      router: { envelopes },
    })
    await breakDown(service)
    upstreams[0]!.script(answers('I am p0'))
    const sealing = { key: 'sk-callers-own-0123456789', provider: 'p0', account: 'alice' }
    const sealed = await sealProviderKey(sealing, envelopes.publicKeys().keys[0]!)
    expect(contentOf(await ask({ provider: 'p0', provider_key: sealed }))).toBe('I am p0')
    await expectRefused(await ask(), '5', 'breaker open')
  })

  it('frees the Idempotency-Key of a call that it refuses', async () => {
    const { ask, end, upstreams } = await start()
    await breakDown(service)
    const key = { 'idempotency-key': 'once' }
    await expectRefused(await ask({}, key), '5', 'breaker open')
    upstreams[0]!.script(answers('I am back'))
    await clock.elapse(5_000)
    const served = await ask({}, key)
    expect(contentOf(served)).toBe('I am back')
    expect((await end(served)).replayed).toBeUndefined()
  })

  it('releases the hold of a call that had it before the route opened', async () => {
    const { promise: mayHold, resolve: letHold } = createDeferred()
    const { promise: asked, resolve: hasAsked } = createDeferred()
    const ledger = memoryLedger({ alice: '1', bob: '1' })
    const { ask, upstreams } = await start({
      router: {
        ledger: {
          ...ledger,
          hold: async (request, context) => {
            const isLate = context.requestId === 'late'
            if (isLate) hasAsked()
            if (isLate) await mayHold
            return ledger.hold(request, context)
          },
        },
      },
    })
    upstreams[0]!.script(fails(503))
    const late = ask({}, { 'x-request-id': 'late' })
    await asked
    for (const token of [ALICE, BOB, ALICE]) await ask({}, as(token))
    letHold()
    const answer = await late
    await expectRefused({ ...answer, id: 'late' }, '5', 'breaker open')
    expect(counts()).toEqual([3])
    expect(service.router.openHolds).toBe(0)
  })

  it('refuses only the account whose calls fail, as long as those of others succeed', async () => {
    const { ask, upstreams } = await start()
    upstreams[0]!.script(fails(500))
    for (let call = 0; call < 3; call++) await ask()
    await expectRefused(await ask(), '5', 'breaker open')
    upstreams[0]!.script(answers('I am well'))
    expect(contentOf(await ask({}, as(BOB)))).toBe('I am well')
    expect(contentOf(await ask())).toBe('I am well')
  })

  it('accepts calls as long as it answers some of them', async () => {
    const { ask, upstreams } = await start()
    for (let round = 0; round < 3; round++) {
      upstreams[0]!.script(answers('I am well'))
      expect(contentOf(await ask())).toBe('I am well')
      upstreams[0]!.script(fails(503))
      for (let call = 0; call < 9; call++) expect(errorOf(await ask()).code).toBe('provider_overloaded')
    }
    await ask()
    await expectRefused(await ask(), '5', 'breaker open')
  })
})

describe('a probe of a route', () => {
  it('that stalls lets another start after the interval, and calls refused meanwhile are told why', async () => {
    const { ask, upstreams } = await start()
    await breakDown(service)
    await clock.elapse(5_000)
    const { client, hangUp } = await stall(service)
    await clock.elapse(1_000)
    await expectRefused(await ask(), '4', 'probe under way')
    upstreams[0]!.script(answers('I am back'))
    await clock.elapse(4_000)
    expect(contentOf(await ask())).toBe('I am back')
    expect(contentOf(await ask())).toBe('I am back')
    hangUp()
    await client.over
    expect(contentOf(await ask())).toBe('I am back')
  })

  it('whose client leaves, on a route with onDisconnect abort, lets the next call probe', async () => {
    const { ask, end, upstreams } = await start({ routes: [{ onDisconnect: 'abort' }] })
    await breakDown(service)
    await clock.elapse(5_000)
    const { client, hangUp } = await stall(service, { 'x-request-id': 'leaving' })
    client.leave()
    expect((await end({ id: 'leaving' })).outcome).toBe('client-left')
    hangUp()
    upstreams[0]!.script(answers('I am back'))
    expect(contentOf(await ask())).toBe('I am back')
  })

  it('whose client leaves, on a route with onDisconnect drain, lets another start after the interval', async () => {
    const { ask, upstreams } = await start({ routes: [{ onDisconnect: 'drain' }] })
    await breakDown(service)
    await clock.elapse(5_000)
    const { client, hangUp } = await stall(service)
    client.leave()
    await client.over
    upstreams[0]!.script(answers('I am back'))
    await expectRefused(await ask(), '5', 'probe under way')
    await clock.elapse(5_000)
    expect(contentOf(await ask())).toBe('I am back')
    hangUp()
  })

  it('that its account cannot pay for leaves the probe to the next call', async () => {
    const { ask, upstreams } = await start()
    await breakDown(service)
    await clock.elapse(5_000)
    upstreams[0]!.script(answers('I am back'))
    expect(errorOf(await ask({}, as(CAROL))).code).toBe('insufficient_credits')
    expect(contentOf(await ask())).toBe('I am back')
  })

  it('that the provider refuses because of its request leaves the probe to the next call', async () => {
    const { ask, upstreams } = await start()
    await breakDown(service)
    await clock.elapse(5_000)
    upstreams[0]!.scriptOnce(fails(400))
    expect((await ask()).status).toBe(400)
    upstreams[0]!.script(answers('I am back'))
    expect(contentOf(await ask())).toBe('I am back')
  })

  it('closes the route with its first token, however long its reply takes', async () => {
    const { ask, upstreams, url } = await start()
    await breakDown(service)
    await clock.elapse(5_000)
    const { promise: mayEnd, resolve: letEnd } = createDeferred()
    upstreams[0]!.scriptOnce(async (reply) => {
      reply.head(HEAD.head, HEAD.headers)
      await reply.write(sse([textChunk('Once upon')]))
      await mayEnd
      await reply.write(`${sse([finishChunk()])}data: [DONE]\n\n`)
      reply.end()
    })
    upstreams[0]!.script(answers('I am back'))
    const probe = new ChatClient({
      url: `${url}/chat/completions`,
      headers: as(ALICE),
      body: { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true },
    })
    await probe.receives('Once upon')
    expect(contentOf(await ask({}, as(BOB)))).toBe('I am back')
    expect(service.router.routes()).toMatchObject([{ state: 'closed' }])
    letEnd()
    await probe.over
    expect(probe.text).toContain('[DONE]')
  })
})
