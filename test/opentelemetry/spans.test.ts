import { type Context, context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AlwaysOffSampler, BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, it } from 'vitest'
import type { RequestStart } from '../../src/contracts/events.js'
import { memoryCredentials } from '../../src/index.js'
import { ALICE, APP, fails, MODEL, usageOf } from '../routing/service.js'
import { exportToMemory, startObserved } from './observed-service.js'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TRACE = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: 'vendor=opaque' }
const PROMPT = 'a prompt that must not be exported'
const REPLY = 'I am p0'
const read = { router: { traceContext: 'read' } } as const

describe('the span of a call', () => {
  it('has the attributes of the conventions and the exact charge', async () => {
    const { service, exported } = await startObserved()
    const headers = { authorization: `Bearer ${APP}`, 'x-session-id': 'session-9' }
    const answer = await service.ask({ stream: true }, headers)
    const { facts, holdId, at, durationMs, providerMs, firstTokenMs } = await service.end(answer)
    const [span, ...others] = exported.spans()
    expect(others).toEqual([])
    expect(span).toMatchObject({
      name: `chat ${MODEL}`,
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
    })
    expect(span!.parentSpanContext).toBeUndefined()
    const { cost, charge } = usageOf(answer)
    const {
      'compat_router.charge.cost': costText,
      'compat_router.charge.markup': markup,
      ...attributes
    } = span!.attributes
    expect([Number(costText), Number(markup)]).toEqual([cost, charge.markup_cost])
    expect(attributes).toEqual({
      'http.response.status_code': 200,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'p0',
      'gen_ai.request.model': MODEL,
      'gen_ai.request.stream': true,
      'gen_ai.conversation.id': 'session-9',
      'gen_ai.response.id': facts!.completionId,
      'gen_ai.response.model': MODEL,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 0,
      'gen_ai.usage.cache_creation.input_tokens': 0,
      'gen_ai.usage.reasoning.output_tokens': 0,
      'compat_router.request.id': answer.id,
      'compat_router.account': 'alice',
      'compat_router.app.id': 'app-1',
      'compat_router.route.id': `p0:${MODEL}`,
      'compat_router.route.chosen_by': 'only-route',
      'compat_router.route.attempts': 1,
      'compat_router.provider.duration': providerMs! / 1_000,
      'compat_router.provider.time_to_first_token': firstTokenMs! / 1_000,
      'compat_router.upstream.id': expect.any(String),
      'compat_router.hold.id': holdId,
      'compat_router.charge.basis': 'reported',
      'compat_router.byok': false,
    })
    const ms = ([seconds, nanos]: [number, number]) => seconds * 1_000 + nanos / 1e6
    expect([ms(span!.startTime), ms(span!.endTime)]).toEqual([at - durationMs, at])
  })

  it('is an error if the provider failed, but not if the caller made a mistake', async () => {
    const { service, exported } = await startObserved()
    service.upstreams[0]!.script(fails(500))
    await service.end(await service.ask())
    await service.end(await service.ask({ model: 'no/such' }))
    const [failed, refused] = exported.spans()
    expect(failed).toMatchObject({
      name: `chat ${MODEL}`,
      status: { code: SpanStatusCode.ERROR, message: 'provider_error' },
      attributes: {
        'error.type': 'provider_error',
        'gen_ai.provider.name': 'p0',
        'http.response.status_code': 502,
      },
    })
    expect(failed!.attributes).not.toHaveProperty('gen_ai.response.model')
    expect(refused).toMatchObject({
      name: 'chat',
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'error.type': 'model_not_found', 'http.response.status_code': 404 },
    })
  })

  it('names the account of a suspended credential', async () => {
    const app = { id: 'app-1', markup: { basisPoints: 0 }, allowedModels: [] }
    const credentials = memoryCredentials({
      'at-1': { kind: 'access-token', account: 'alice', scopes: [], app },
    })
    credentials.suspend('alice')
    const { service, exported } = await startObserved({ router: { credentials } })
    await service.end(await service.ask({}, { authorization: 'Bearer at-1' }))
    expect(exported.spans()[0]!.attributes).toMatchObject({
      'error.type': 'account_suspended',
      'compat_router.account': 'alice',
      'compat_router.app.id': 'app-1',
    })
  })

  it('is an error if a stream broke after its head', async () => {
    const { service, exported } = await startObserved()
    service.upstreams[0]!.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n' },
      'hang-up',
    ])
    await service.end(await service.ask({ stream: true }))
    expect(exported.spans()[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'http.response.status_code': 200, 'gen_ai.response.model': MODEL },
    })
  })

  it('contains no prompt, no reply and no credential', async () => {
    const { service, exported } = await startObserved({ routes: [{ apiKey: 'sk-of-the-host' }], ...read })
    const messages = [{ role: 'user', content: PROMPT }]
    const more = { messages, user: 'end-user-7', action: 'an action', connected: ['a connection'] }
    await service.end(await service.ask(more, TRACE))
    await service.end(await service.ask({ ...more, stream: true }))
    service.upstreams[0]!.script(fails(400, { message: `what is ${PROMPT}?` }))
    await service.end(await service.ask(more))
    const text = await exported.text()
    expect(text).toContain(MODEL)
    for (const secret of [
      PROMPT,
      REPLY,
      ALICE,
      'sk-of-the-host',
      'end-user-7',
      'an action',
      'a connection',
    ]) {
      expect(text).not.toContain(secret)
    }
  })

  it("has its operation's name", () => {
    const exported = exportToMemory()
    const facts = { requestId: 'r', account: 'a', credentialId: 'c', model: MODEL }
    const start: RequestStart = { type: 'request-start', requestId: 'r', operation: 'embeddings', at: 1_000 }
    const end = { durationMs: 0, outcome: 'completed', status: 200, facts }
    exported.telemetry.onEvent(start)
    exported.telemetry.onEvent({ ...start, ...end, type: 'request-end' })
    expect(exported.spans()).toMatchObject([
      { name: `embeddings ${MODEL}`, attributes: { 'gen_ai.operation.name': 'embeddings' } },
    ])
  })

  it('does not exist for requests for models', async () => {
    const { service, exported } = await startObserved()
    await fetch(`${service.url}/models`, { headers: { authorization: `Bearer ${ALICE}` } })
    await service.end(await service.ask())
    expect(exported.spans().map(({ name }) => name)).toEqual([`chat ${MODEL}`])
  })

  it('is a separate one for each of several simultaneous calls with the same id', async () => {
    const { service, exported } = await startObserved()
    const id = { 'x-request-id': 'the-same' }
    await Promise.all([service.ask({}, id), service.ask({}, id), service.ask({ model: 'no/such' }, id)])
    const ends = () => service.events.filter(({ type }) => type === 'request-end').length
    while (ends() < 3) await new Promise(setImmediate)
    expect(exported.spans()).toHaveLength(3)
    expect(new Set(exported.spans().map((span) => span.spanContext().spanId)).size).toBe(3)
  })

  it('does not exist if the sampler drops it', async () => {
    const { service, exported } = await startObserved({}, exportToMemory({ sampler: new AlwaysOffSampler() }))
    expect((await service.ask()).status).toBe(200)
    expect(exported.spans()).toEqual([])
  })
})

describe('the parent of a span', () => {
  it("is the caller's span if the host reads its trace context", async () => {
    const { service, exported } = await startObserved(read)
    await service.end(await service.ask({}, TRACE))
    const [span] = exported.spans()
    expect(span!.spanContext().traceId).toBe(TRACE_ID)
    expect(span!.kind).toBe(SpanKind.SERVER)
    expect(span!.parentSpanContext).toMatchObject({ spanId: SPAN_ID, isRemote: true })
    expect(span!.spanContext().traceState?.serialize()).toBe('vendor=opaque')
  })

  it('does not exist if the host does not read the trace context or it is malformed', async () => {
    const silent = await startObserved()
    await silent.service.end(await silent.service.ask({}, TRACE))
    const malformed = await startObserved(read)
    await malformed.service.end(await malformed.service.ask({}, { traceparent: TRACE.traceparent.slice(1) }))
    for (const { exported } of [silent, malformed]) {
      expect(exported.spans()).toHaveLength(1)
      expect(exported.spans()[0]!.parentSpanContext).toBeUndefined()
      expect(exported.spans()[0]!.spanContext().traceId).not.toBe(TRACE_ID)
    }
  })

  it("passes on the caller's decision not to record", async () => {
    const exported = exportToMemory()
    const { service } = await startObserved(read, exported)
    await service.end(await service.ask({}, { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` }))
    expect(exported.spans()).toEqual([])
  })

  describe('if the host has a span of its own', () => {
    afterEach(() => context.disable())

    const within = (active: Context, event: RequestStart) => {
      context.setGlobalContextManager({
        active: () => active,
        with: (_context, run, self, ...values) => run.call(self as never, ...values),
        bind: (_context, target) => target,
        enable() {
          return this
        },
        disable() {
          return this
        },
      })
      const exported = exportToMemory()
      exported.telemetry.onEvent(event)
      exported.telemetry.onEvent({
        ...event,
        type: 'request-end',
        durationMs: 0,
        outcome: 'completed',
        status: 200,
      })
      return exported.spans()[0]!
    }
    const start: RequestStart = { type: 'request-start', requestId: 'r', operation: 'chat', at: 1_000 }
    const host = new BasicTracerProvider().getTracer('host')

    it("is the host's span, even if the caller began its trace", () => {
      const remote = trace.setSpanContext(ROOT_CONTEXT, {
        traceId: TRACE_ID,
        spanId: SPAN_ID,
        traceFlags: 1,
        isRemote: true,
      })
      const own = host.startSpan('POST', {}, remote)
      for (const event of [start, { ...start, trace: TRACE }]) {
        const span = within(trace.setSpan(ROOT_CONTEXT, own), event)
        expect(span.parentSpanContext!.spanId).toBe(own.spanContext().spanId)
        expect(span.kind).toBe(SpanKind.INTERNAL)
      }
    })

    it("is the caller's span if it belongs to another trace", () => {
      const span = within(trace.setSpan(ROOT_CONTEXT, host.startSpan('start-up')), { ...start, trace: TRACE })
      expect(span.parentSpanContext!.spanId).toBe(SPAN_ID)
    })
  })
})
