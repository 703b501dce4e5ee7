import type { Meter } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { createAllowListAttributesProcessor, MeterProvider } from '@opentelemetry/sdk-metrics'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RequestEnd } from '../../src/contracts/events.js'
import { memoryLedger } from '../../src/index.js'
import { createTelemetry } from '../../src/opentelemetry/index.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import { finishChunk, sse, textChunk } from '../helpers/scripted-upstream.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { ALICE, APP, COUNTS, fails, MODEL, usageOf } from '../routing/service.js'
import { exportToMemory, startObserved } from './observed-service.js'

const CALL = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'p0', 'gen_ai.request.model': MODEL }
const asApp = { authorization: `Bearer ${APP}` }

describe('the metrics of calls', () => {
  it('count requests and measure their duration in the buckets of the conventions', async () => {
    const { service, exported } = await startObserved()
    for (const body of [{}, {}, { stream: true }]) await service.end(await service.ask(body))
    const metrics = await exported.metrics()
    expect(metrics['gen_ai.server.request.duration']).toMatchObject([
      { attributes: CALL, value: { count: 3 } },
    ])
    const duration = await exported.histogram('gen_ai.server.request.duration')
    expect(duration!.buckets.boundaries).toEqual([
      ...[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    ])
    expect(
      await exported.value('compat_router.requests', {
        'compat_router.operation': 'chat',
        'compat_router.outcome': 'completed',
      }),
    ).toBe(3)
    expect(await exported.value('compat_router.requests.active')).toBe(0)
  })

  it('measure a stream, its first token and each further token in seconds', async () => {
    const clock = createSteppedClock()
    const { service, exported } = await startObserved({ router: { clock } })
    service.upstreams[0]!.script(async (reply) => {
      await clock.elapse(400)
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse([textChunk('Hello')]))
      while (!heard()) await new Promise(setImmediate)
      await clock.elapse(800)
      await reply.write(sse([finishChunk(), { choices: [], usage: COUNTS }]))
      await reply.write('data: [DONE]\n\n')
      reply.end()
    })
    let heard = () => false
    const answer = fetch(`${service.url}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ALICE}`,
        'content-type': 'application/json',
        'x-request-id': 'streamed',
      },
      body: JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    const reader = (await answer).body!.getReader()
    let text = ''
    const read = (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += Buffer.from(part.value)
        heard = () => text.includes('Hello')
      }
    })()
    await read
    await service.end({ id: 'streamed' })
    expect(await exported.histogram('gen_ai.server.request.duration')).toMatchObject({ sum: 1.2 })
    expect(await exported.histogram('gen_ai.server.time_to_first_token')).toMatchObject({
      count: 1,
      sum: 0.4,
    })
    expect(await exported.histogram('gen_ai.server.time_per_output_token')).toMatchObject({
      count: 1,
      sum: 0.2,
    })
    const metrics = await exported.metrics()
    for (const name of ['gen_ai.server.time_to_first_token', 'gen_ai.server.time_per_output_token']) {
      expect(metrics[name]![0]!.attributes).toEqual(CALL)
    }
  })

  it('count a call even if the clock was set back during it', async () => {
    const exported = exportToMemory()
    exported.telemetry.onEvent({
      ...endOf({}),
      durationMs: -3_600_000,
      stream: true,
      firstTokenMs: -3_600_000,
      providerMs: -3_600_001,
      charge: { ...endOf({}).charge!, usage: { ...endOf({}).charge!.usage, completion: 9 } },
    })
    for (const name of ['request.duration', 'time_to_first_token', 'time_per_output_token']) {
      expect(await exported.histogram(`gen_ai.server.${name}`)).toMatchObject({ count: 1, sum: 0 })
    }
  })

  it('have no time to first token for replies sent whole', async () => {
    const { service, exported } = await startObserved()
    await service.end(await service.ask())
    expect(await exported.metrics()).not.toHaveProperty('gen_ai.server.time_to_first_token')
  })

  it('have no time to first token for incomplete streams', async () => {
    const exported = exportToMemory()
    for (const outcome of ['client-left', 'provider_error']) {
      exported.telemetry.onEvent({ ...endOf({ outcome }), stream: true, firstTokenMs: 100, providerMs: 900 })
    }
    const metrics = await exported.metrics()
    expect(metrics['gen_ai.server.request.duration']).toHaveLength(2)
    expect(metrics).not.toHaveProperty('gen_ai.server.time_to_first_token')
  })

  it('count tokens by the two types of the conventions and by the kind that is priced', async () => {
    const { service, exported } = await startObserved()
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    }
    service.upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Hi'), finishChunk(), { choices: [], usage }]) },
      { write: 'data: [DONE]\n\n' },
      'end',
    ])
    await service.end(await service.ask({ stream: true }))
    const ofType = (type: string) => ({ 'gen_ai.token.type': type })
    const token = 'gen_ai.client.token.usage'
    expect(await exported.histogram(token, ofType('input'))).toMatchObject({ count: 1, sum: 10 })
    expect(await exported.histogram(token, ofType('output'))).toMatchObject({ count: 1, sum: 5 })
    expect((await exported.metrics())[token]![0]!.attributes).toEqual({ ...CALL, ...ofType('input') })
    const kinds = (await exported.metrics())['compat_router.tokens']!.map(({ attributes, value }) => [
      attributes['compat_router.token.kind'],
      value,
    ])
    expect(Object.fromEntries(kinds)).toEqual({ input: 6, cached: 4, output: 3, reasoning: 2 })
  })

  it('have the same charge and markup as the ledger', async () => {
    const { service, exported } = await startObserved()
    const answers = [await service.ask({}, asApp), await service.ask({ stream: true }, asApp)]
    for (const answer of answers) await service.end(answer)
    const costs = answers.map((answer) => usageOf(answer))
    const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0)
    const attributes = { 'compat_router.charge.basis': 'reported', 'compat_router.byok': false }
    const charged = await exported.value('compat_router.credits.charged', attributes)
    expect(charged).toBeCloseTo(sum(costs.map(({ cost }) => cost)), 12)
    expect(charged).toBe(Number((await service.posted('alice'))! - 1_000_000_000n) / -1e9)
    expect(await exported.value('compat_router.credits.markup', attributes)).toBe(
      Number((await service.posted('app'))!) / 1e9,
    )
  })

  it('count a failed call by its error, and the routes that it tried', async () => {
    const { service, exported } = await startObserved({ routes: [{}, {}] })
    for (const upstream of service.upstreams) upstream.script(fails(500))
    await service.end(await service.ask())
    await service.end(await service.ask({ model: 'no/such' }))
    const durations = (await exported.metrics())['gen_ai.server.request.duration']!
    expect(durations.map(({ attributes }) => attributes)).toEqual([
      { ...CALL, 'gen_ai.provider.name': 'p1', 'error.type': 'provider_error' },
      { 'gen_ai.operation.name': 'chat', 'error.type': 'model_not_found' },
    ])
    const attempts = (await exported.metrics())['compat_router.route.attempts']!
    expect(attempts).toMatchObject(
      service.upstreams.map((_, index) => ({
        attributes: {
          'compat_router.route.id': `p${index}:${MODEL}`,
          'compat_router.outcome': 'provider_error',
        },
        value: 1,
      })),
    )
  })

  it('count a client that left and a request in progress', async () => {
    const { service, exported } = await startObserved({ routes: [{ onDisconnect: 'abort' }] })
    service.upstreams[0]!.script(['stall'])
    const controller = new AbortController()
    const arrived = service.upstreams[0]!.nextRequest()
    const left = fetch(`${service.url}/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      headers: {
        authorization: `Bearer ${ALICE}`,
        'content-type': 'application/json',
        'x-request-id': 'leaving',
      },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    await arrived
    expect(await exported.value('compat_router.requests.active')).toBe(1)
    expect(await exported.value('compat_router.holds.open')).toBe(1)
    controller.abort()
    await expect(left).rejects.toThrow()
    await service.end({ id: 'leaving' })
    expect(await exported.value('compat_router.requests.active')).toBe(0)
    expect(await exported.value('compat_router.requests', { 'compat_router.outcome': 'client-left' })).toBe(1)
    const incident = { 'compat_router.incident': 'call-abandoned' }
    expect(await exported.value('compat_router.incidents', incident)).toBe(1)
    const durations = (await exported.metrics())['gen_ai.server.request.duration']!
    expect(durations[0]!.attributes['error.type']).toBe('client-left')
  })

  it('have the seconds that charges have waited for the kept totals', async () => {
    const exported = exportToMemory()
    const behind = async () => exported.value('compat_router.totals.behind')
    expect(await behind()).toBe(0)
    exported.telemetry.onEvent({ type: 'totals-behind', behindMs: 61_500 })
    expect(await behind()).toBe(61.5)
    exported.telemetry.onEvent({ type: 'totals-behind', behindMs: 0 })
    expect(await behind()).toBe(0)
  })

  it('count calls of every operation that asks a model', async () => {
    const exported = exportToMemory()
    for (const operation of ['chat', 'embeddings']) exported.telemetry.onEvent({ ...endOf({}), operation })
    for (const operation of ['chat', 'embeddings']) {
      const ofOperation = { 'gen_ai.operation.name': operation }
      expect(await exported.histogram('gen_ai.server.request.duration', ofOperation)).toMatchObject({
        count: 1,
      })
    }
    expect(await exported.value('compat_router.credits.charged')).toBe(2e-9)
  })

  it('count requests for models separately, without a duration', async () => {
    const { service, exported } = await startObserved()
    await fetch(`${service.url}/models`, { headers: { authorization: `Bearer ${ALICE}` } })
    await fetch(`${service.url}/models`)
    const requests = (await exported.metrics())['compat_router.requests']!
    expect(requests.map(({ attributes }) => Object.values(attributes))).toEqual([
      ['list-models', 'completed'],
      ['list-models', 'missing_credential'],
    ])
    expect(await exported.metrics()).not.toHaveProperty('gen_ai.server.request.duration')
  })
})

describe('the metrics of credits', () => {
  it('count overdrafts', async () => {
    const { service, exported } = await startObserved({ balance: '0.09' })
    expect(await exported.value('compat_router.overdrafts')).toBe(0)
    const usage = { ...COUNTS, completion_tokens: 10_000, total_tokens: 10_010 }
    service.upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'application/json' } },
      { write: JSON.stringify({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage }) },
      'end',
    ])
    const end = await service.end(await service.ask())
    expect(end.overdraft).toBeGreaterThan(0n)
    expect(await exported.value('compat_router.overdrafts')).toBe(1)
  })

  it('have the shortfall under neverOverdraw', async () => {
    const { service, exported } = await startObserved({ router: { neverOverdraw: true } })
    const usage = { ...COUNTS, completion_tokens: 10_000, total_tokens: 10_010 }
    service.upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'application/json' } },
      { write: JSON.stringify({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage }) },
      'end',
    ])
    const { charge } = await service.end(await service.ask())
    expect(await exported.value('compat_router.credits.shortfall')).toBe(Number(charge!.shortfall!) / 1e9)
  })

  it('have the charges that could not be posted', async () => {
    const clock = createSteppedClock()
    const faults = new FaultPlan().always('settle', 'throws')
    const ledger = faultyLedger(memoryLedger({ alice: '1' }, { clock }), clock, faults.decide)
    const { service, exported } = await startObserved({ router: { clock, ledger } })
    const failed = { 'compat_router.incident': 'charge-failed' }
    expect(await exported.value('compat_router.incidents', failed)).toBe(0)
    expect(await exported.value('compat_router.credits.unsettled')).toBe(0)
    const answer = service.ask()
    await faults.asked('settle')
    await clock.elapse(2_000)
    const { charge } = await service.end(await answer)
    expect(await exported.value('compat_router.holds.open')).toBe(1)
    await clock.elapse(60_000)
    expect(await exported.value('compat_router.incidents', failed)).toBe(1)
    expect(await exported.value('compat_router.credits.unsettled')).toBe(Number(charge!.cost) / 1e9)
    expect(await exported.value('compat_router.holds.open')).toBe(0)
  })

  it('add up exactly and are rounded once, at each export', async () => {
    const exported = exportToMemory()
    for (let call = 0; call < 1_000; call++) exported.telemetry.onEvent(endOf({ cost: 100_000_000n }))
    expect(await exported.value('compat_router.credits.charged')).toBe(100)
    exported.telemetry.onEvent(endOf({ cost: 123_456_789_012_345_678n }))
    expect(await exported.value('compat_router.credits.charged')).toBe(Number('123456889.012345678'))
  })
})

describe('the metrics of routes', () => {
  it('have the state, the failure rate and the speed of each, while its router is observed', async () => {
    const exported = exportToMemory()
    const route = { provider: 'p', failureRate: 0.25, firstTokenMs: 250, tokensPerSecond: 40 }
    const fresh = { routeId: 'new', provider: 'p', state: 'closed' as const, failureRate: 0 }
    const end = exported.telemetry.observe({
      openHolds: 2,
      routes: () => [{ ...route, routeId: 'r', state: 'half-open' }, fresh],
    })
    let holds = 3
    const other = exported.telemetry.observe({
      get openHolds() {
        return holds
      },
      routes: () => [],
    })
    const ofRoute = { 'compat_router.route.id': 'r', 'gen_ai.provider.name': 'p' }
    expect(await exported.value('compat_router.holds.open')).toBe(5)
    const states = (await exported.metrics())['compat_router.route.state']!
    expect(states.slice(0, 4)).toMatchObject(
      (['closed', 'half-open', 'open', 'misconfigured'] as const).map((state) => ({
        attributes: { ...ofRoute, 'compat_router.route.state': state },
        value: state === 'half-open' ? 1 : 0,
      })),
    )
    expect(await exported.value('compat_router.route.failure_rate', ofRoute)).toBe(0.25)
    expect(await exported.value('compat_router.route.time_to_first_token', ofRoute)).toBe(0.25)
    expect(await exported.value('compat_router.route.throughput', ofRoute)).toBe(40)
    expect((await exported.metrics())['compat_router.route.throughput']).toHaveLength(1)
    end()
    end()
    expect(await exported.value('compat_router.holds.open')).toBe(3)
    other()
    holds = 8
    expect(await exported.value('compat_router.holds.open')).toBe(0)
  })

  it('report no state for routes that no observed router has any more', async () => {
    const exported = exportToMemory()
    const route = { routeId: 'r', provider: 'p', state: 'open' as const, failureRate: 1 }
    const end = exported.telemetry.observe({ openHolds: 1, routes: () => [route] })
    const ofState = (state: string) =>
      exported.value('compat_router.route.state', { 'compat_router.route.state': state })
    expect([await ofState('open'), await exported.value('compat_router.route.failure_rate')]).toEqual([1, 1])
    end()
    for (const state of ['closed', 'half-open', 'open', 'misconfigured']) expect(await ofState(state)).toBe(0)
    expect(await exported.value('compat_router.route.failure_rate')).toBe(0)
    exported.telemetry.observe({ openHolds: 0, routes: () => [route] })
    expect(await ofState('open')).toBe(1)
  })

  it('count a router once if it is observed twice, until both observations end', async () => {
    const exported = exportToMemory()
    const route = { routeId: 'r', provider: 'p', state: 'open' as const, failureRate: 1 }
    const router = { openHolds: 2, routes: () => [route] }
    const ends = [exported.telemetry.observe(router), exported.telemetry.observe(router)]
    const holds = () => exported.value('compat_router.holds.open')
    expect(await holds()).toBe(2)
    ends[0]!()
    ends[0]!()
    expect(await holds()).toBe(2)
    ends[1]!()
    expect(await holds()).toBe(0)
  })

  it('refuse to observe anything but a router', () => {
    const { telemetry } = exportToMemory()
    for (const wrong of [undefined, null, {}, () => undefined, { routes: [] }, { routes: () => [] }]) {
      expect(() => telemetry.observe(wrong as never)).toThrow(/^observe: router /)
    }
  })

  it('report the worst health of a route that several routers have', async () => {
    const exported = exportToMemory()
    const route = { routeId: 'r', provider: 'p', firstTokenMs: 100 }
    const healthy = { ...route, state: 'closed' as const, failureRate: 0 }
    const failing = { ...healthy, failureRate: 0.4 }
    const open = { ...route, state: 'open' as const, failureRate: 0.1, firstTokenMs: 900 }
    const observe = (health: typeof healthy | typeof open) =>
      exported.telemetry.observe({ openHolds: 0, routes: () => [health] })
    const reported = async () => [
      await exported.value('compat_router.route.state', { 'compat_router.route.state': 'open' }),
      await exported.value('compat_router.route.failure_rate'),
      await exported.value('compat_router.route.time_to_first_token'),
    ]
    const ends = [observe(failing), observe(healthy)]
    expect(await reported()).toEqual([0, 0.4, 0.1])
    ends.push(observe(open), observe(healthy))
    expect(await reported()).toEqual([1, 0.1, 0.9])
    expect(await exported.metrics()).toMatchObject({ 'compat_router.route.failure_rate': { length: 1 } })
    for (const end of ends) end()
  })

  it('report 450 routes separately, and the worst health of all others as one', async () => {
    const exported = exportToMemory()
    const routes = Array.from({ length: 700 }, (_, index) => ({
      routeId: `r${index}`,
      provider: `p${index}`,
      state: index === 5 || index === 650 ? ('open' as const) : ('closed' as const),
      failureRate: 0,
    }))
    exported.telemetry.observe({ openHolds: 0, routes: () => routes })
    for (let times = 0; times < 3; times++) {
      const states = (await exported.metrics())['compat_router.route.state']!
      const open = states
        .filter(({ value }) => value !== 0)
        .map(({ attributes }) => Object.values(attributes))
      expect(open).toHaveLength(451)
      expect(open.filter(([, , state]) => state === 'open')).toEqual([
        ['r5', 'p5', 'open'],
        ['_other', '_other', 'open'],
      ])
    }
  })

  it('report a route that failed as open', async () => {
    const { service, exported } = await startObserved()
    service.upstreams[0]!.script(fails(500))
    for (let call = 0; call < 3; call++) await service.end(await service.ask())
    const open = { 'compat_router.route.state': 'open' }
    expect(await exported.value('compat_router.route.state', open)).toBe(1)
    expect(await exported.value('compat_router.route.failure_rate')).toBeGreaterThan(0)
  })
})

describe('the attributes of metrics', () => {
  it('have at most 1,000 models, providers and outcomes, 450 routes, and _other', async () => {
    const exported = exportToMemory()
    for (let index = 0; index < 1_005; index++) {
      exported.telemetry.onEvent(
        endOf({ model: `m${index}`, provider: `q${index}`, outcome: `o${index}`, routeId: `r${index}` }),
      )
    }
    const metrics = await exported.metrics()
    const values = (name: string, label: string) =>
      new Set(metrics[name]!.map(({ attributes }) => attributes[label]))
    for (const [name, label, maximum] of [
      ['compat_router.credits.charged', 'gen_ai.request.model', 1_000],
      ['compat_router.credits.charged', 'gen_ai.provider.name', 1_000],
      ['compat_router.requests', 'compat_router.outcome', 1_000],
      ['compat_router.route.attempts', 'compat_router.route.id', 450],
    ] as const) {
      const found = values(name, label)
      expect(found.size, label).toBe(maximum + 1)
      expect(found, label).toContain('_other')
    }
    const other = { 'gen_ai.request.model': '_other' }
    expect(await exported.value('compat_router.credits.charged', other)).toBe(5e-9)
  })

  it('add up correctly at every export, however many combinations there are', async () => {
    const exported = exportToMemory()
    const calls = 2_400
    for (let call = 0; call < calls; call++) {
      const route = { model: `m${call % 80}`, provider: `q${Math.floor(call / 80)}` }
      exported.telemetry.onEvent(endOf({ ...route, cost: BigInt(call + 1) * 1_000_000_000n }))
    }
    const due = (calls * (calls + 1)) / 2
    for (let times = 0; times < 3; times++) {
      const metrics = await exported.metrics()
      const sum = (name: string) => metrics[name]!.reduce((all, { value }) => all + (value as number), 0)
      expect(sum('compat_router.credits.charged')).toBe(due)
      expect(sum('compat_router.tokens')).toBe(2 * calls)
      for (const name of ['compat_router.credits.charged', 'compat_router.tokens']) {
        expect(metrics[name]!.length).toBeLessThanOrEqual(2_000)
        expect(metrics[name]!.at(-1)!.attributes).toEqual({ 'otel.metric.overflow': true })
      }
    }
  })

  it('may be dropped from counters by a view of the SDK', async () => {
    const attributesProcessors = [createAllowListAttributesProcessor([])]
    const exported = exportToMemory({
      views: [{ instrumentName: 'compat_router.tokens', attributesProcessors }],
    })
    for (const model of ['one', 'other']) exported.telemetry.onEvent(endOf({ model }))
    for (let times = 0; times < 2; times++) expect(await exported.value('compat_router.tokens')).toBe(4)
  })

  it('never name an account, an app, a credential or a request', async () => {
    const { service, exported } = await startObserved()
    await service.end(await service.ask({ user: 'end-user-7', session_id: 'session-9' }, asApp))
    const text = JSON.stringify(await exported.metrics())
    for (const secret of ['alice', 'app-1', 'call-1', 'end-user-7', 'session-9', APP]) {
      expect(text).not.toContain(secret)
    }
  })
})

describe('OpenTelemetry', () => {
  it('reaches Prometheus through its exporter', async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true })
    const provider = new MeterProvider({ readers: [exporter] })
    onTestFinished(() => provider.shutdown())
    const telemetry = createTelemetry({ meter: provider.getMeter('test'), tracer: false })
    telemetry.onEvent(endOf({}))
    const text = await new Promise<string>((resolve) => {
      const response = { statusCode: 0, setHeader() {}, end: resolve }
      exporter.getMetricsRequestHandler({} as never, response as never)
    })
    for (const name of ['gen_ai_server_request_duration', 'gen_ai_client_token_usage']) {
      expect(text.match(new RegExp(`^# TYPE ${name} histogram$`, 'gm'))).toHaveLength(1)
    }
    expect(text).toMatch(/^gen_ai_server_request_duration_count\{.*gen_ai_request_model="m".*\} 1$/m)
    expect(text).toMatch(/^compat_router_requests_total\{.*\} 1$/m)
    expect(text).toMatch(/^compat_router_credits_charged_total\{.*\} 1e-9$/m)
  })

  it('may observe a router even without metrics', async () => {
    const telemetry = createTelemetry({ meter: false, tracer: false })
    telemetry.onEvent(endOf({}))
    telemetry.observe({ openHolds: 0, routes: () => [] })()
  })

  it('does nothing if no global provider is registered', () => {
    const telemetry = createTelemetry()
    telemetry.onEvent({ type: 'request-start', requestId: 'r', operation: 'chat', at: 1 })
    telemetry.onEvent(endOf({}))
    telemetry.observe({ openHolds: 0, routes: () => [] })()
  })

  it('does not affect replies or charges if its meter or tracer throws', async () => {
    let isBroken = false
    const broken = () => {
      if (isBroken) throw new Error('the SDK is broken')
    }
    const exported = exportToMemory()
    const instrument = { record: broken, add: broken }
    const meter = {
      createCounter: () => instrument,
      createUpDownCounter: () => instrument,
      createHistogram: () => instrument,
      createObservableCounter: () => instrument,
      createObservableUpDownCounter: () => instrument,
      createObservableGauge: () => instrument,
      addBatchObservableCallback: () => {},
    } as unknown as Meter
    const tracer = { startSpan: broken } as never
    for (const options of [{ meter }, { tracer, meter: false as const }]) {
      isBroken = false
      const telemetry = createTelemetry(options)
      isBroken = true
      const { service } = await startObserved({}, { ...exported, telemetry })
      const answer = await service.ask({ stream: true })
      expect([answer.status, answer.text.includes('[DONE]')]).toEqual([200, true])
      await service.end(answer)
      expect(await service.posted('alice')).toBeLessThan(1_000_000_000n)
    }
  })
})

interface EndSettings {
  readonly model?: string
  readonly provider?: string
  readonly outcome?: string
  readonly routeId?: string
  readonly cost?: bigint
}

/** The end of a call that cost a nanocredit, unless given another cost. */
function endOf({
  cost = 1n,
  model = 'm',
  outcome = 'completed',
  provider = 'p',
  routeId = 'r',
}: EndSettings): RequestEnd {
  return {
    type: 'request-end',
    requestId: 'r',
    operation: 'chat',
    at: 2,
    durationMs: 1,
    outcome,
    status: 200,
    facts: { requestId: 'r', account: 'a', credentialId: 'c', model, provider, routeId },
    routing: { considered: [], excluded: [], chosenBy: 'only-route', attempts: [{ routeId, outcome }] },
    charge: {
      cost,
      base: cost,
      markup: 0n,
      basis: 'reported',
      byok: false,
      usage: { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 },
    },
  }
}
