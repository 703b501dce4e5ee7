import { afterEach, describe, expect, it } from 'vitest'
import { createDeferred } from '../helpers/deferred.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  sse,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import {
  APP,
  answers,
  COUNTS,
  contentOf,
  errorOf,
  fails,
  MODEL,
  type Service,
  type ServiceOptions,
  startService,
  UPSTREAM_MODEL,
  usageOf,
} from './service.js'

let service: Service
afterEach(() => service.close())

async function start(options: ServiceOptions): Promise<Service> {
  service = await startService(options)
  return service
}

const HEAD = { head: 200, headers: { 'content-type': 'text/event-stream' } } as const
const role = { ...textChunk(''), choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] }
const frame = { error: { message: 'The model fell over.', code: 500 } }

/** Every failure of a provider before its first token that makes the router try another route. */
const moving: Record<string, { script: Script; code: string; status: number; shouldRetry?: string }> = {
  ...Object.fromEntries(
    (
      [
        [401, 'provider_auth_failed', 502],
        [402, 'provider_error', 502],
        [403, 'provider_auth_failed', 502],
        [404, 'provider_error', 502],
        [408, 'provider_timeout', 504],
        [409, 'provider_error', 502],
        [429, 'rate_limited', 429],
        [451, 'provider_error', 502],
        [500, 'provider_error', 502],
        [502, 'provider_error', 502],
        [503, 'provider_overloaded', 503],
        [504, 'provider_error', 502],
        [529, 'provider_overloaded', 503],
      ] as const
    ).map(([upstream, code, status]) => [
      `status ${upstream}`,
      { script: fails(upstream), code, status, ...(upstream === 402 && { shouldRetry: 'false' }) },
    ]),
  ),
  'a redirect': {
    script: answerJson({}, 307, { location: 'http://127.0.0.1:1/' }),
    code: 'provider_invalid_response',
    status: 502,
    shouldRetry: 'false',
  },
  'a body that is not JSON': {
    script: answerJson('<html>'),
    code: 'provider_invalid_response',
    status: 502,
    shouldRetry: 'false',
  },
  'an empty body': {
    script: answerJson({ choices: [] }),
    code: 'provider_invalid_response',
    status: 502,
    shouldRetry: 'false',
  },
  'an empty stream': {
    script: answerEvents([]),
    code: 'provider_invalid_response',
    status: 502,
    shouldRetry: 'false',
  },
  'a stream with only a role': {
    script: [HEAD, { write: sse([role]) }, 'end'],
    code: 'provider_error',
    status: 502,
    shouldRetry: 'false',
  },
  'an error frame after the role': {
    script: [HEAD, { write: sse([role, frame]) }, 'end'],
    code: 'provider_error',
    status: 502,
    shouldRetry: 'false',
  },
  'a finish reason of error': {
    script: [HEAD, { write: sse([role, finishChunk('error')]) }, 'end'],
    code: 'provider_error',
    status: 502,
    shouldRetry: 'false',
  },
  'a connection that breaks before the head': {
    script: ['reset'],
    code: 'provider_error',
    status: 502,
    shouldRetry: 'false',
  },
  'a connection that breaks after the role': {
    script: [HEAD, { write: sse([role]) }, 'hang-up'],
    code: 'provider_error',
    status: 502,
    shouldRetry: 'false',
  },
}

describe.each([
  ['streamed', true],
  ['as JSON', false],
])('a provider that fails before its first token, %s', (_, stream) => {
  it.each(Object.entries(moving))('by %s', async (_name, { script, code, status, shouldRetry }) => {
    const { ask, end, posted, upstreams } = await start({ routes: [{}, {}] })
    upstreams[0]!.script(script)

    const served = await ask({ stream })
    expect(served.status).toBe(200)
    expect(contentOf(served)).toBe('I am p1')
    expect(served.text.split('"role":"assistant"')).toHaveLength(2)
    expect((await end(served)).routing).toMatchObject({
      considered: [`p0:${MODEL}`, `p1:${MODEL}`],
      excluded: [],
      chosenBy: 'price',
      attempts: [
        { routeId: `p0:${MODEL}`, outcome: code },
        { routeId: `p1:${MODEL}`, outcome: 'finished' },
      ],
    })
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([1, 1])

    const alone = await ask({ stream, routing: { only: ['p0'] } })
    expect(alone.status).toBe(status)
    expect(errorOf(alone)).toMatchObject({ code, source: 'provider' })
    expect(errorOf(alone).message).not.toContain('fell over')
    expect(alone.headers['x-should-retry']).toBe(code === 'provider_timeout' ? 'false' : shouldRetry)
    expect(alone.headers['retry-after']).toBe(status === 429 ? '1' : status === 503 ? '5' : undefined)
    expect((await end(alone)).charge).toBeUndefined()
    expect(await posted('alice')).toBe(1_000_000_000n - 200_000n)
  })

  it('by refusing connections', async () => {
    const { ask } = await start({ routes: [{ dead: true }, {}] })
    expect(contentOf(await ask({ stream }))).toBe('I am p1')
    const alone = await ask({ stream, routing: { only: ['p0'] } })
    expect([alone.status, errorOf(alone).code]).toEqual([502, 'provider_error'])
    expect(alone.headers['x-should-retry']).toBeUndefined()
  })

  it.each([400, 413, 422])(
    'by status %s is reported in its own words, redacted, and no other route is tried',
    async (status) => {
      const { ask, router, upstreams } = await start({ routes: [{}, {}] })
      const message = `${UPSTREAM_MODEL} at 10.0.0.7 does not know "colour" (key sk-live-0123456789)`
      upstreams[0]!.script(fails(status, { message }))
      const answer = await ask({ stream })
      expect(answer.status).toBe(400)
      expect(errorOf(answer)).toMatchObject({
        code: 'provider_rejected_request',
        source: 'provider',
        message: `${MODEL} at [redacted] does not know "colour" (key [redacted])`,
      })
      expect(upstreams[1]!.requests).toHaveLength(0)
      expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
    },
  )
})

describe('the last error after failed routes', () => {
  it.each([
    [429, '17', '17'],
    [429, '0', '1'],
    [429, '3600', '59'],
    [429, '1.2', '2'],
    [429, 'soon', '1'],
    [503, '17', '17'],
    [503, '3600', '59'],
    [503, 'soon', '5'],
    [529, '30', '30'],
  ])('of status %s with retry-after %s returns retry-after %s', async (status, given, shown) => {
    const { ask, upstreams } = await start({ routes: [{}, {}] })
    for (const upstream of upstreams) upstream.script(fails(status, { 'retry-after': given }))
    const answer = await ask()
    expect(answer.status).toBe(status === 529 ? 503 : status)
    expect(answer.headers['retry-after']).toBe(shown)
  })

  it('is the error of the last route', async () => {
    const { ask, end, upstreams } = await start({ routes: [{}, {}, {}] })
    for (const [index, status] of [500, 429, 401].entries()) upstreams[index]!.script(fails(status))
    const answer = await ask()
    expect([answer.status, errorOf(answer).code]).toEqual([502, 'provider_auth_failed'])
    expect((await end(answer)).routing?.attempts.map(({ outcome }) => outcome)).toEqual([
      'provider_error',
      'rate_limited',
      'provider_auth_failed',
    ])
  })
})

describe('the limit of a call with fallbacks', () => {
  it('is three attempts by default', async () => {
    const { ask, upstreams } = await start({ routes: [{}, {}, {}, {}] })
    for (const upstream of upstreams.slice(0, 3)) upstream.script(fails(500))
    expect((await ask()).status).toBe(502)
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([1, 1, 1, 0])
  })

  it('is the number of attempts that the host sets', async () => {
    const { ask, upstreams } = await start({ routes: [{}, {}], router: { routing: { attempts: 1 } } })
    upstreams[0]!.script(fails(500))
    expect((await ask()).status).toBe(502)
    expect(upstreams[1]!.requests).toHaveLength(0)
  })

  it.each([
    ['of silence', { idleMs: 60_000 }],
    ['without a token', { tokenMs: 60_000 }],
    ['of the whole call', { totalMs: 60_000 }],
  ])(
    'is reached in time by %s, which tries no other route, since it would bill the call too, and blames no route',
    async (_, timeouts) => {
      const clock = createSteppedClock()
      const { ask, router, upstreams } = await start({
        routes: [{}, {}, {}],
        router: { clock, timeouts: { openStreamAfterMs: 600_000, ...timeouts } },
      })
      for (const upstream of upstreams) upstream.script(['stall'])
      for (let call = 0; call < 4; call++) {
        const dialled = Promise.race(upstreams.map((upstream) => upstream.nextRequest()))
        const answer = ask({ stream: true })
        await dialled
        await clock.elapse(60_000)
        const { headers, status, ...rest } = await answer
        expect([status, errorOf({ headers, status, ...rest }).code]).toEqual([504, 'provider_timeout'])
        expect(headers['x-should-retry']).toBe('false')
      }
      expect(upstreams.map(({ requests }) => requests.length).reduce((sum, asked) => sum + asked)).toBe(4)
      expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
    },
  )

  it('in total time is the only timeout of a JSON reply', async () => {
    const clock = createSteppedClock()
    const timeouts = { idleMs: 60_000, tokenMs: 60_000, totalMs: 900_000 }
    const { ask, router, upstreams } = await start({ routes: [{}, {}], router: { clock, timeouts } })
    for (const upstream of upstreams) upstream.script(['stall'])
    const dialled = Promise.race(upstreams.map((upstream) => upstream.nextRequest()))
    let isOver = false
    const answer = ask().finally(() => {
      isOver = true
    })
    await dialled
    await clock.elapse(899_999)
    expect(isOver).toBe(false)
    await clock.elapse(1)
    const { headers, status } = await answer
    expect([status, headers['x-should-retry']]).toEqual([504, 'false'])
    expect(upstreams.map(({ requests }) => requests.length).reduce((sum, asked) => sum + asked)).toBe(1)
    expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
  })
})

describe('after the first token of a stream', () => {
  it.each([
    ['an error frame', [{ write: sse([frame]) }, 'end']],
    ['a broken connection', ['hang-up']],
    ['an early end', ['end']],
  ] as const)('%s ends the stream with an error, and no other route is tried', async (_, steps) => {
    const { ask, posted, upstreams } = await start({ routes: [{}, {}] })
    upstreams[0]!.script([HEAD, { write: sse([role, textChunk('Once upon')]) }, ...steps])
    const answer = await ask({ stream: true })
    expect(answer.status).toBe(200)
    expect(contentOf(answer)).toBe('Once upon')
    expect(answer.text).not.toContain('[DONE]')
    expect(answer.text).toMatch(/\ndata: \{"error":\{.*"code":"provider_error".*"cost":0,.*\}\}\n\n$/)
    expect(upstreams[1]!.requests).toHaveLength(0)
    expect(await posted('alice')).toBe(1_000_000_000n)
  })

  it('a JSON reply to a streamed request fails as an HTTP error, and no other route is tried', async () => {
    const { ask, upstreams } = await start({ routes: [{}, {}] })
    upstreams[0]!.script([HEAD, { write: sse([role, textChunk('Once upon')]) }, 'hang-up'])
    const answer = await ask()
    expect([answer.status, errorOf(answer).code]).toEqual([502, 'provider_error'])
    expect(upstreams[1]!.requests).toHaveLength(0)
  })

  it('is not reached by comments alone, so the call still falls back', async () => {
    const clock = createSteppedClock()
    const { ask, end, upstreams } = await start({
      routes: [{}, {}],
      router: { clock, timeouts: { openStreamAfterMs: 15_000 } },
    })
    const opened = createDeferred()
    upstreams[0]!.script([{ wait: opened.promise }, 'hang-up'])
    const dialled = upstreams[0]!.nextRequest()
    const answer = ask({ stream: true })
    await dialled
    await clock.elapse(15_000)
    opened.resolve()
    const served = await answer
    expect(served.text).toMatch(/^: keep-alive\n\n/)
    expect(contentOf(served)).toBe('I am p1')
    expect(served.text).toMatch(/data: \[DONE\]\n\n$/)
    expect((await end(served)).routing?.attempts.map(({ outcome }) => outcome)).toEqual([
      'provider_error',
      'finished',
    ])
  })
})

describe('the charge of a call that fell back', () => {
  it("is that of the route that answered, at its prices, with the app's markup", async () => {
    const { ask, end, ledger, posted, upstreams } = await start({
      routes: [{}, { prices: { input: '100', output: '200', request: '0.001' } }],
    })
    upstreams[0]!.script(fails(500))
    const answer = await ask({}, { authorization: `Bearer ${APP}` })
    // 10 x 0.0001 + 5 x 0.0002 + 0.001 = 0.003, plus 20 %.
    expect(usageOf(answer)).toMatchObject({
      cost: 0.0036,
      is_byok: false,
      charge: { basis: 'reported', base_cost: 0.003, markup_cost: 0.0006 },
    })
    expect((await end(answer)).facts).toMatchObject({ provider: 'p1', routeId: `p1:${MODEL}` })
    expect(await posted('alice')).toBe(1_000_000_000n - 3_600_000n)
    expect(await posted('platform')).toBe(3_000_000n)
    expect(await posted('app')).toBe(600_000n)
    const context = { requestId: 'test', signal: new AbortController().signal }
    const { entries } = await ledger.entries({ account: 'app' }, context)
    expect(entries.map(({ facts }) => facts?.routeId)).toEqual([`p1:${MODEL}`])
  })

  it('never includes the usage that a route reported before it failed', async () => {
    const { ask, posted, upstreams } = await start({ routes: [{}, {}] })
    const usage = { ...COUNTS, completion_tokens: 900_000 }
    upstreams[0]!.script([
      HEAD,
      { write: sse([role, { ...textChunk(''), choices: [], usage }, frame]) },
      'end',
    ])
    expect(usageOf(await ask({ stream: true })).cost).toBe(0.0002)
    expect(await posted('alice')).toBe(1_000_000_000n - 200_000n)
  })
})

describe('a more expensive fallback', () => {
  const dear = { prices: { input: '10000', output: '20000' } }

  it('replaces the hold with a larger one and leaves none behind', async () => {
    const holds: { amount: bigint; replaces: boolean }[] = []
    const { ask, end, ledger, upstreams } = await start({
      routes: [{}, dear],
      balance: '10',
    })
    const take = ledger.hold
    Object.assign(ledger, {
      hold: (...[request, context]: Parameters<typeof take>) => {
        holds.push({ amount: request.amount, replaces: request.replaces !== undefined })
        return take.call(ledger, request, context)
      },
    })
    upstreams[0]!.script(fails(500))
    const answer = await ask({ max_tokens: 100 })
    expect(usageOf(answer).cost).toBe(0.2)
    expect(holds.map(({ replaces }) => replaces)).toEqual([false, true])
    expect(holds[1]!.amount / holds[0]!.amount).toBe(1_000n)
    expect((await end(answer)).holdAmount).toBe(holds[1]!.amount)
    const context = { requestId: 'test', signal: new AbortController().signal }
    expect(await ledger.balance('alice', context)).toEqual({
      posted: 9_800_000_000n,
      held: 0n,
      available: 9_800_000_000n,
    })
  })

  it('is skipped for a cheaper one if the balance does not cover it, and the event says so', async () => {
    const { ask, end, upstreams } = await start({
      routes: [{}, dear, { prices: { input: '11', output: '21' } }],
    })
    upstreams[0]!.script(fails(500))
    const answer = await ask({ max_tokens: 100, routing: { order: ['p0', 'p1', 'p2'] } })
    expect(contentOf(answer)).toBe('I am p2')
    expect(upstreams[1]!.requests).toHaveLength(0)
    expect((await end(answer)).routing?.attempts).toEqual([
      { routeId: `p0:${MODEL}`, outcome: 'provider_error', why: expect.stringContaining('answered 500') },
      { routeId: `p1:${MODEL}`, outcome: 'insufficient_credits' },
      { routeId: `p2:${MODEL}`, outcome: 'finished' },
    ])
  })

  it('leaves the error of the route before it if the balance does not cover it', async () => {
    const { ask, upstreams } = await start({ routes: [{}, dear] })
    upstreams[0]!.script(fails(503))
    expect((await ask({ max_tokens: 100 })).status).toBe(503)
  })

  it('causes a 402 if the balance covers no route', async () => {
    const { ask, upstreams } = await start({ routes: [dear, dear] })
    const answer = await ask({ max_tokens: 100 })
    expect([answer.status, errorOf(answer).code]).toEqual([402, 'insufficient_credits'])
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([0, 0])
  })
})

it("each route receives its own name of the model and its own key, and never the router's fields", async () => {
  const { ask, upstreams } = await start({ routes: [{ apiKey: 'key-of-p0' }, { apiKey: 'key-of-p1' }] })
  upstreams[0]!.script(fails(500))
  upstreams[1]!.script(answers('yes'))
  await ask({ session_id: 's', routing: { order: ['p0'] }, action: 1, connected: 2, app_id: 'x', top_k: 3 })
  for (const [index, { requests }] of upstreams.entries()) {
    expect(requests[0]!.headers.authorization).toBe(`Bearer key-of-p${index}`)
    expect(requests[0]!.body).toEqual({
      model: UPSTREAM_MODEL,
      messages: [{ role: 'user', content: 'Hello' }],
      top_k: 3,
    })
  }
})
