import { PassThrough } from 'node:stream'
import pino from 'pino'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { logEvents, memoryCredentials, memoryLedger, parseCredits, type RouterEvent } from '../src/index.js'
import { FaultPlan, faultyLedger } from './helpers/faulty-ledger.js'
import { createSteppedClock } from './helpers/stepped-clock.js'
import { ALICE, APP, fails, MODEL, type ServiceOptions, startService, usageOf } from './routing/service.js'

const LEVELS: Record<number, string> = { 30: 'info', 40: 'warn', 50: 'error' }

interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** A pino logger that writes into a list. */
function logging() {
  const stream = new PassThrough()
  const texts: string[] = []
  stream.on('data', (bytes) => texts.push(...String(bytes).trim().split('\n')))
  const logger = pino({ base: null, timestamp: false }, stream)
  const lines = (): Line[] =>
    texts.map((text) => {
      const { level, ...line } = JSON.parse(text)
      return { ...line, level: LEVELS[level] ?? level }
    })
  return { onEvent: logEvents(logger), lines, text: () => texts.join('\n') }
}

async function start(options: ServiceOptions = {}) {
  const log = logging()
  const service = await startService({ ...options, router: { ...options.router, onEvent: log.onEvent } })
  onTestFinished(() => service.close())
  return { service, log }
}

describe('a log of events', () => {
  it('has one line for a call, with the request id and the cost that the client received', async () => {
    const { service, log } = await start()
    const answer = await service.ask({ stream: true }, { authorization: `Bearer ${APP}` })
    const { facts, holdId } = await service.end(answer)
    const { cost, charge } = usageOf(answer)
    const [line, ...others] = log.lines()
    expect(others).toEqual([])
    expect(line).toEqual({
      level: 'info',
      msg: 'chat completed',
      event: 'request-end',
      requestId: answer.headers['x-request-id'],
      operation: 'chat',
      outcome: 'completed',
      status: 200,
      durationMs: expect.any(Number),
      account: 'alice',
      credentialId: facts!.credentialId,
      appId: 'app-1',
      model: MODEL,
      provider: 'p0',
      routeId: `p0:${MODEL}`,
      completionId: facts!.completionId,
      stream: true,
      chosenBy: 'only-route',
      attempts: [{ routeId: `p0:${MODEL}`, outcome: 'finished' }],
      providerMs: expect.any(Number),
      firstTokenMs: expect.any(Number),
      finishReason: 'stop',
      upstreamId: expect.any(String),
      holdId,
      cost: expect.stringMatching(/^0\.\d{1,9}$/),
      baseCost: expect.stringMatching(/^0\.\d{1,9}$/),
      markupCost: expect.stringMatching(/^0\.\d{1,9}$/),
      basis: 'reported',
      byok: false,
      usage: { prompt: 10, cached: 0, cacheWrite: 0, completion: 5, reasoning: 0 },
    })
    expect([Number(line!.cost), Number(line!.markupCost)]).toEqual([cost, charge.markup_cost])
    expect(parseCredits(String(line!.cost))).toBe(1_000_000_000n - (await service.posted('alice'))!)
  })

  it('has levels that depend on who caused a failure', async () => {
    const { service, log } = await start()
    await service.end(await service.ask({ model: 'no/such' }))
    service.upstreams[0]!.scriptOnce(fails(500))
    await service.end(await service.ask())
    service.upstreams[0]!.scriptOnce([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n' },
      'hang-up',
    ])
    await service.end(await service.ask({ stream: true }))
    await fetch(`${service.url}/models`, { headers: { authorization: `Bearer ${ALICE}` } })
    expect(log.lines().map(({ level, msg, status }) => [level, msg, status])).toEqual([
      ['warn', 'chat model_not_found', 404],
      ['error', 'chat provider_error', 502],
      ['error', expect.stringMatching(/^chat provider_/), 200],
      ['info', 'list-models completed', 200],
    ])
  })

  it('names the account of a suspended credential', async () => {
    const credentials = memoryCredentials({
      'sk-1': { kind: 'api-key', account: 'alice', credentialId: 'key-1' },
    })
    credentials.suspend('alice')
    const { service, log } = await start({ router: { credentials } })
    await service.end(await service.ask({}, { authorization: 'Bearer sk-1' }))
    expect(log.lines()).toMatchObject([
      { level: 'warn', outcome: 'account_suspended', account: 'alice', credentialId: 'key-1' },
    ])
  })

  it('has the complete settlement of a charge that could not be posted, as an error', async () => {
    const clock = createSteppedClock()
    const faults = new FaultPlan().always('settle', 'throws')
    const ledger = faultyLedger(memoryLedger({ alice: '1' }, { clock }), clock, faults.decide)
    const { service, log } = await start({ router: { clock, ledger } })
    const answer = service.ask({ user: 'end-user-7' })
    await faults.asked('settle')
    await clock.elapse(62_000)
    const { cost } = usageOf(await answer)
    await service.end(await answer)
    const line = log.lines().find(({ event }) => event === 'charge-failed')
    expect(line).toMatchObject({
      level: 'error',
      msg: 'a charge could not be posted',
      requestId: 'call-1',
      request: {
        holdId: expect.any(String),
        charge: { cost: String(cost), markup: '0', usage: { prompt: 10 } },
        postings: expect.arrayContaining([
          { account: 'alice', amount: `-${cost}` },
          { account: 'platform', amount: String(cost) },
        ]),
        facts: { account: 'alice', model: MODEL },
      },
      error: { name: 'Error', message: expect.any(String) },
    })
  })

  it("has no prompt, no reply, no credential and no end user's label", async () => {
    const { service, log } = await start({ routes: [{ apiKey: 'sk-of-the-host' }] })
    const prompt = 'a prompt that must not be logged'
    const body = {
      messages: [{ role: 'user', content: prompt }],
      user: 'end-user-7',
      action: 'an action',
      connected: ['a connection'],
    }
    await service.end(await service.ask(body))
    await service.end(await service.ask({ ...body, stream: true }))
    service.upstreams[0]!.script(fails(400, { message: `what is ${prompt}?` }))
    await service.end(await service.ask(body))
    expect(log.lines()).toHaveLength(3)
    for (const secret of [
      prompt,
      'I am p0',
      ALICE,
      'sk-of-the-host',
      'end-user-7',
      'an action',
      'a connection',
    ]) {
      expect(log.text()).not.toContain(secret)
    }
  })

  it('has a line for every other event at its level, with amounts as decimals', () => {
    const error = { name: 'Error', message: 'no' }
    const facts = { requestId: 'r', account: 'a', credentialId: 'c', model: 'm', user: 'end-user-7' }
    const events: RouterEvent[] = [
      { type: 'request-start', requestId: 'r', operation: 'chat', at: 1 },
      { type: 'hold-expired', hold: { holdId: 'h', account: 'a', amount: 1_500_000_000n, facts } },
      { type: 'claim-lost', requestId: 'r', holdId: 'h' },
      { type: 'usage-implausible', requestId: 'r', routeId: 'p:m', field: 'prompt', value: '-1' },
      {
        type: 'reply-mended',
        requestId: 'r',
        model: 'm',
        routeId: 'p:m',
        provider: 'p',
        kinds: ['frame-skipped'],
        times: 2,
        dropped: [],
      },
      { type: 'request-trimmed', requestId: 'r', model: 'm', members: ['messages.x'] },
      { type: 'call-abandoned', requestId: 'r', facts },
      { type: 'calls-dropped', count: 3 },
      { type: 'store-fault', store: 'ledger', requestId: 'r', error },
      { type: 'body-consumed', requestId: 'r', hint: 'mount it before' },
      { type: 'route-disabled', routeId: 'p:m', why: 'unknown kind' },
      {
        type: 'route-misconfigured',
        requestId: 'r',
        routeId: 'p:m',
        provider: 'p',
        model: 'm',
        flaw: 'key',
        why: 'The provider refuses the key.',
      },
      {
        type: 'route-restored',
        routeId: 'p:m',
        provider: 'p',
        model: 'm',
        why: 'a call succeeded',
        afterMs: 30_000,
      },
      { type: 'fault', where: 'engine', error },
    ]
    const { onEvent, lines, text } = logging()
    for (const event of events) onEvent(event)
    expect(lines().map(({ level, event }) => [level, event])).toEqual([
      ['warn', 'hold-expired'],
      ['warn', 'claim-lost'],
      ['warn', 'usage-implausible'],
      ['info', 'reply-mended'],
      ['info', 'request-trimmed'],
      ['info', 'call-abandoned'],
      ['warn', 'calls-dropped'],
      ['error', 'store-fault'],
      ['error', 'body-consumed'],
      ['warn', 'route-disabled'],
      ['warn', 'route-misconfigured'],
      ['info', 'route-restored'],
      ['error', 'fault'],
    ])
    expect(lines()[0]!.hold).toMatchObject({ holdId: 'h', amount: '1.5', facts: { account: 'a' } })
    expect(lines().every(({ msg }) => msg.length > 0)).toBe(true)
    expect(text()).not.toContain('end-user-7')
  })

  it('has a line for a client that left, and the overdraft of a call', () => {
    const { onEvent, lines } = logging()
    const end = { type: 'request-end', requestId: 'r', operation: 'chat', at: 2, durationMs: 1 } as const
    onEvent({ ...end, outcome: 'client-left', status: 499 })
    onEvent({ ...end, outcome: 'completed', status: 200, overdraft: 12_000n })
    expect(lines()).toMatchObject([
      { level: 'info', outcome: 'client-left' },
      { level: 'info', overdraft: '0.000012' },
    ])
  })

  it('has the use of a limit in credits, or as a number of requests or tokens', () => {
    const { lines, onEvent } = logging()
    const limits = (['credits', 'requests', 'tokens'] as const).map((unit) => ({
      bucket: unit,
      unit,
      from: 0,
      used: 1_500n,
    }))
    const request = { holdId: 'h', limits } as never
    onEvent({ type: 'charge-failed', requestId: 'r', request, error: { name: 'Error', message: 'down' } })
    expect(lines()).toMatchObject([
      { request: { limits: [{ used: '0.0000015' }, { used: 1_500 }, { used: 1_500 }] } },
    ])
  })

  it('does not affect calls if its logger throws', async () => {
    const broken = () => {
      throw new Error('the disk is full')
    }
    const service = await startService({
      router: { onEvent: logEvents({ info: broken, warn: broken, error: broken }) },
    })
    onTestFinished(() => service.close())
    expect((await service.ask()).status).toBe(200)
  })

  it('warns once, and does not crash the process, if its logger is asynchronous and rejects', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const rejecting = async () => {
      throw new Error('the log server is down')
    }
    const log = logEvents({ info: rejecting, warn: rejecting, error: () => Promise.reject('nothing') })
    for (const [outcome, status] of [
      ['completed', 200],
      ['rate_limited', 429],
      ['provider_error', 502],
    ] as const) {
      log({ type: 'request-end', requestId: 'r', operation: 'chat', at: 2, durationMs: 1, outcome, status })
    }
    await new Promise((done) => setImmediate(done))
    expect(warned.mock.calls).toEqual([
      ['The logger of logEvents failed: the log server is down', { code: 'COMPAT_ROUTER_LOGGER' }],
    ])
  })
})
