import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSecret } from '../../../src/base/secret.js'
import type { ProviderAdapter } from '../../../src/contracts/index.js'
import { type AnthropicSettings, anthropic } from '../../../src/providers/anthropic/index.js'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../../helpers/scripted-upstream.js'
import { runCall } from '../openai-compatible/run-call.js'
import { frames, messageDelta, messageStart, messageStop } from './replies.js'

let upstream: ScriptedUpstream
const adapters: ProviderAdapter[] = []

function connect(settings: AnthropicSettings = {}): ProviderAdapter {
  const adapter = anthropic({ baseUrl: upstream.baseUrl, ...settings })
  adapters.push(adapter)
  return adapter
}

beforeEach(async () => {
  upstream = await startScriptedUpstream()
  upstream.script([
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    { write: frames([messageStart(), messageDelta('end_turn', { output_tokens: 2 }), messageStop]) },
    'end',
  ])
})
afterEach(async () => {
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close?.()))
  await upstream.close()
})

describe('a request of the Anthropic adapter', () => {
  it("is sent to /messages with the key, the version and the host's headers", async () => {
    const adapter = connect({ apiKey: 'sk-host', headers: { 'anthropic-beta': 'some-beta' } })
    expect(await runCall(adapter)).toMatchObject({ terminated: true })
    const [request] = upstream.requests
    expect(request?.path).toBe('/v1/messages')
    expect(request?.headers).toMatchObject({
      'x-api-key': 'sk-host',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'some-beta',
      accept: 'text/event-stream',
    })
    expect(request?.headers.authorization).toBeUndefined()
    expect(request?.body).toEqual({
      model: 'upstream-model',
      max_tokens: 4_096,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      stream: true,
    })
  })

  it("carries the trace context of its call, in place of one among the host's headers", async () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' }
    await runCall(connect({ headers: { traceparent: 'of-the-host' } }), { trace })
    expect(upstream.requests[0]?.headers).toMatchObject(trace)
  })

  it('asks for JSON, with another version, and without a key if there is none', async () => {
    upstream.script(answerJson({ type: 'message', content: [], stop_reason: 'end_turn' }))
    const adapter = connect({ version: '2030-01-01' })
    expect(await runCall(adapter, { stream: false })).toMatchObject({ terminated: true })
    const [request] = upstream.requests
    expect(request?.headers).toMatchObject({ accept: 'application/json', 'anthropic-version': '2030-01-01' })
    expect(request?.headers['x-api-key']).toBeUndefined()
    expect(request?.body).toMatchObject({ max_tokens: 4_096 })
    expect(request?.body).not.toHaveProperty('stream')
  })

  it("uses the route's secret before the adapter's own, and under byok only the caller's", async () => {
    const adapter = connect({ apiKey: 'sk-host' })
    await runCall(adapter, { auth: { kind: 'host', secret: createSecret('sk-route') } })
    await runCall(adapter, { auth: { kind: 'byok', secret: createSecret('sk-caller') } })
    expect(upstream.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['sk-route', 'sk-caller'])
  })

  it("is not sent if it cannot be expressed in the API's terms", async () => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], n: 2 }
    const { error } = await runCall(connect(), { request })
    expect(error).toMatchObject({ reason: 'unsupported-request', param: 'n' })
    expect(upstream.connections).toBe(0)
  })
})

describe('a reply to the Anthropic adapter', () => {
  it('is read in the form in which it came, regardless of the request', async () => {
    upstream.script(
      answerJson({ type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }),
    )
    const { events, terminated } = await runCall(connect(), { stream: true })
    expect(events[0]).toMatchObject({ type: 'deltas' })
    expect(terminated).toBe(true)
  })

  it("may be an error status with the API's own code", async () => {
    const error = { type: 'rate_limit_error', message: 'Too many' }
    upstream.script(answerJson({ type: 'error', error, request_id: 'req_1' }, 429, { 'retry-after': '12' }))
    expect((await runCall(connect())).error).toMatchObject({
      reason: 'status',
      status: 429,
      retryAfterSeconds: 12,
      providerMessage: 'Too many',
      providerCode: 'rate_limit_error',
    })
  })
})

describe('settings of the Anthropic adapter', () => {
  it.each([
    [{ apiKey: '' }, 'apiKey'],
    [{ apiKey: 'sk host' }, 'apiKey'],
    [{ version: 'ü' }, 'version'],
    [{ headers: { 'X-Api-Key': 'sk' } }, 'X-Api-Key'],
    [{ headers: { 'anthropic-version': 'x' } }, 'anthropic-version'],
    [{ baseUrl: 'ftp://a.example' }, 'baseUrl'],
    [{ baseUrl: 'https://a.example/v1/messages' }, 'baseUrl must end before /messages'],
    [{ baseURL: 'https://proxy.example' }, 'baseURL is not an option of anthropic; did you mean baseUrl?'],
    [{ fetch: 'x' }, 'fetch is not an option of anthropic; its options are apiKey, baseUrl'],
    [{ proxy: 'http://a.example' }, 'proxy is not an option of anthropic; its options are'],
    ['sk-ant', 'anthropic takes an object of options; got a string'],
    [{ headers: null }, 'headers must be an object'],
  ])('are rejected at once, by name, if invalid: %j', (settings, name) => {
    expect(() => anthropic(settings as never)).toThrow(TypeError)
    expect(() => anthropic(settings as never)).toThrow(name)
  })

  it('are all optional', async () => {
    await anthropic().close?.()
  })
})
