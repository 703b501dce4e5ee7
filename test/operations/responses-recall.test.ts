import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, memoryCredentials, openaiCompatible } from '../../src/index.js'
import { agent, CALL, SIGNATURE, THOUGHT } from '../helpers/agent-upstream.js'
import type { Host } from '../helpers/hosts.js'
import { readResponseStream } from '../helpers/response-events.js'
import { answerEvents, answerJson, finishChunk, sse, textChunk } from '../helpers/scripted-upstream.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  bareHttp,
  MODEL,
  providerReply,
  type ServiceOptions,
  UPSTREAM_KEY,
  usageChunk,
  WireService,
} from '../wire/service.js'

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const HOUR_MS = 3_600_000
const SAID = 'Hello, wörld \u{1f600}!'
const TOOL = { type: 'function', name: CALL.name, parameters: { type: 'object', properties: {} } }

type Json = Record<string, unknown>

let service: WireService
afterEach(() => service.close())

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start(options)
  service.upstream.script(answerJson(providerReply()))
}

const overResponses = (baseUrl: string): ProviderAdapter =>
  openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY, api: 'responses' })

function post(body: object, headers: Readonly<Record<string, string>> = {}) {
  return service.host.request('/responses', {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, ...body }),
  })
}

async function replyTo(body: object, headers?: Readonly<Record<string, string>>) {
  const response = await post(body, headers)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text) as { id: string; output: Json[] }
}

async function errorFor(body: object, headers?: Readonly<Record<string, string>>) {
  const response = await post(body, headers)
  const { error } = (await response.json()) as { error: Json }
  return { status: response.status, ...error } as Json
}

const user = (content: string) => ({ role: 'user', content })
const reference = (id: unknown) => ({ type: 'item_reference', id })
const further = (id: unknown) => ({ input: [user('Hi'), reference(id), user('Again?')] })
const sent = () => service.asked.at(-1)!.body as Json & { messages: Json[]; input: Json[] }
const app = (id: string) => ({
  id,
  markup: { basisPoints: 0, flat: '0' },
  allowedModels: [MODEL],
})
const as = (token: string) => ({ authorization: `Bearer ${token}` })

async function charges(): Promise<readonly bigint[]> {
  const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
  return entries.flatMap(({ charge, kind }) => (kind === 'charge' && charge ? [charge.cost] : []))
}

/** Asks for a reply and returns the id of its message. */
async function messageId(headers?: Readonly<Record<string, string>>): Promise<unknown> {
  const { output } = await replyTo({ input: 'Hi' }, headers)
  return output.find(({ type }) => type === 'message')!.id
}

async function expectGone(id: unknown, headers?: Readonly<Record<string, string>>): Promise<void> {
  const asked = service.asked.length
  expect(await errorFor(further(id), headers)).toMatchObject({
    status: 400,
    code: 'invalid_request',
    param: 'input.1',
    message: expect.stringContaining('replies are not stored here for long'),
  })
  expect(service.asked).toHaveLength(asked)
}

describe('a reference to an item of a recent response', () => {
  it('becomes the item itself for a chat provider', async () => {
    await start()
    const { output } = await replyTo({ input: 'Hi' })
    await replyTo({ input: [user('Hi'), ...output, user('Again?')] })
    const whole = service.asked.at(-1)!.text
    await replyTo(further(output[0]!.id))
    expect(service.asked.at(-1)!.text).toBe(whole)
    expect(sent().messages[1]).toEqual({ role: 'assistant', content: SAID })
    await replyTo({ input: [user('Hi'), { id: output[0]!.id }, user('Again?')] })
    expect(service.asked.at(-1)!.text).toBe(whole)
  })

  it('becomes the item itself, with its phase, for a provider of the Responses API', async () => {
    await start({ adapter: overResponses })
    service.upstream.script(agent('responses'))
    const { output } = await replyTo({ input: 'Hi' })
    await replyTo({ input: [user('Hi'), ...output, user('Again?')] })
    const whole = sent().input
    expect(whole[1]).toMatchObject({ type: 'message', phase: 'final_answer' })
    await replyTo(further(output[0]!.id))
    expect(sent().input).toEqual(whole)
  })

  it('is charged like the item: by the input as sent if the provider counts nothing', async () => {
    await start()
    const { usage: _, ...uncounted } = providerReply() as Json
    service.upstream.script(answerJson(uncounted))
    const { output } = await replyTo({ input: 'Hi' })
    await replyTo({ input: [user('Hi'), ...output, user('Again?')] })
    await replyTo(further(output[0]!.id))
    await replyTo({ input: [user('Hi'), user('Again?')] })
    const [short, referring, whole] = await charges()
    expect(referring).toBe(whole)
    expect(referring).toBeGreaterThan(short!)
  })

  it('may name an item of a stream', async () => {
    await start()
    service.upstream.script(
      answerEvents([textChunk('Hello'), textChunk(' there'), finishChunk(), usageChunk()]),
    )
    const response = await post({ input: 'Hi', stream: true })
    const { items } = readResponseStream(await response.text())
    service.upstream.script(answerJson(providerReply()))
    await replyTo(further(items[0]!.id))
    expect(sent().messages[1]).toEqual({ role: 'assistant', content: 'Hello there' })
  })

  it('counts once, however often the item is named', async () => {
    await start()
    const id = await messageId()
    await replyTo({ input: [user('Hi'), reference(id), reference(id), user('Again?')] })
    expect(sent().messages).toHaveLength(3)
  })

  it('may name the call of a custom tool', async () => {
    await start()
    const message = {
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'box__patch', arguments: '{"input":"x"}' } },
      ],
    }
    service.upstream.script(
      answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })),
    )
    const tools = [{ type: 'namespace', name: 'box', tools: [{ type: 'custom', name: 'patch' }] }]
    const { output } = await replyTo({ input: 'Hi', tools })
    expect(output[0]).toMatchObject({ type: 'custom_tool_call', namespace: 'box', name: 'patch', input: 'x' })
    service.upstream.script(answerJson(providerReply()))
    const result = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' }
    await replyTo({ input: [user('Hi'), reference(output[0]!.id), result], tools })
    expect(sent().messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: message.tool_calls },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    ])
  })

  it('is omitted if it names an image, which no model reads again', async () => {
    await start()
    const message = {
      content: 'Look.',
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }],
    }
    service.upstream.script(
      answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'stop' }] })),
    )
    const { output } = await replyTo({ input: 'Hi' })
    expect(output.map(({ type }) => type)).toEqual(['message', 'image_generation_call'])
    await replyTo({ input: [user('Hi'), ...output.map(({ id }) => reference(id)), user('Again?')] })
    expect(sent().messages).toHaveLength(3)
    expect((await service.event('request-trimmed')).members).toEqual(['input.item_reference'])
  })

  it('needs an id', async () => {
    await start()
    expect(await errorFor({ input: [{ type: 'item_reference' }] })).toMatchObject({
      status: 400,
      param: 'input.0.id',
    })
    expect(await errorFor({ input: [reference(5)] })).toMatchObject({ status: 400, param: 'input.0.id' })
  })

  it('returns reasoning only to its own provider', async () => {
    await start({
      providers: 2,
      adapter: (baseUrl) => anthropic({ baseUrl, apiKey: UPSTREAM_KEY }),
      router: ({ providers }) => ({
        providers: {
          routes: async (model, context) =>
            (await providers.routes(model, context)).map((route) => ({
              ...route,
              upstreamModel: 'claude-opus-4-6',
            })),
        },
      }),
    })
    for (const upstream of service.upstreams) upstream.script(agent('messages'))
    const ask = (input: readonly object[], only: string) =>
      replyTo({ input, tools: [TOOL], routing: { only: [only] } })
    const { output } = await ask([user('Hi')], 'p0')
    expect(output[0]).not.toHaveProperty('encrypted_content')
    const input = [
      user('Hi'),
      ...output.map(({ id }) => reference(id)),
      { type: 'function_call_output', call_id: CALL.id, output: 'sunny' },
    ]
    await ask(input, 'p0')
    expect(sent().messages[1]?.content).toMatchObject([
      { type: 'thinking', thinking: THOUGHT, signature: SIGNATURE },
      { type: 'text' },
      { type: 'tool_use' },
    ])
    await ask(input, 'p1')
    expect(sent().messages).toHaveLength(3)
    expect(service.asked.at(-1)!.text).not.toContain(THOUGHT)
    expect(service.asked.at(-1)!.text).not.toContain(SIGNATURE)
  })

  it('restores sealed reasoning with as many details as a request can send back', async () => {
    await start()
    const details = Array.from({ length: 1_000 }, (_, index) => ({
      type: 'reasoning.encrypted',
      data: `x${index}`,
      index,
    }))
    const reply = providerReply() as { choices: { message: Json }[] }
    reply.choices[0]!.message.reasoning_details = details
    service.upstream.script(answerJson(reply))
    const { output } = await replyTo({ input: 'Hi', include: ['reasoning.encrypted_content'] })
    expect(output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) })
    await replyTo({ input: [user('Hi'), ...output, user('Again?')] })
    const whole = service.asked.at(-1)!.text
    expect(sent().messages[1]!.reasoning_details).toHaveLength(1_000)
    await replyTo({ input: [user('Hi'), ...output.map(({ id }) => reference(id)), user('Again?')] })
    expect(service.asked.at(-1)!.text).toBe(whole)
  })
})

describe('a response whose client left', () => {
  /** Starts a host that says when a reply was closed. */
  async function startWatched(options: ServiceOptions): Promise<{ readonly left: Promise<void> }> {
    let closed = (): void => undefined
    const left = new Promise<void>((resolve) => {
      closed = resolve
    })
    const mount: Host['mount'] = (middleware) =>
      bareHttp.mount((req, res, next) => {
        res.once('close', closed)
        middleware(req, res, next)
      })
    await start({ host: { ...bareHttp, mount }, ...options })
    return { left }
  }

  /** Streams a reply, leaves after its first words, and returns the id of its message once the call has ended. */
  async function leave(
    left: Promise<void>,
    first: readonly object[],
    last: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<string> {
    service.upstream.scriptOnce(async (reply, request) => {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(sse(first))
      await left
      await Promise.race([
        reply.write(sse([textChunk(' and more'), finishChunk(), usageChunk()])),
        request.closed,
      ])
      reply.end()
    })
    const response = await post({ input: 'Hi', stream: true }, headers)
    let text = ''
    for await (const bytes of response.body) {
      text += bytes
      if (text.includes(last)) break
    }
    response.body.destroy()
    await service.event('request-end')
    return /"id":"(msg_[^"]+)"/.exec(text)![1]!
  }

  it.each(['abort', 'drain'] as const)('is kept as far as it was read (%s)', async (onDisconnect) => {
    const { left } = await startWatched({ onDisconnect })
    await replyTo(further(await leave(left, [textChunk('as read')], '"delta":"as read"')))
    expect(sent().messages[1]).toEqual({ role: 'assistant', content: 'as read' })
  })

  it('is kept whole if it continues for a repeat', async () => {
    const { left } = await startWatched({ onDisconnect: 'abort' })
    const headers = { 'idempotency-key': 'k' }
    await replyTo(further(await leave(left, [textChunk('as read')], '"delta":"as read"', headers)))
    expect(sent().messages[1]).toEqual({ role: 'assistant', content: 'as read and more' })
  })

  it('is not kept as a message if it had no word', async () => {
    const { left } = await startWatched({ onDisconnect: 'abort', adapter: overResponses })
    const item = { id: 'msg_u', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
    const events = [
      { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'rs_u', type: 'reasoning', summary: [] },
      },
      { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Hm.' },
      { type: 'response.output_item.added', output_index: 1, item: { ...item, phase: 'final_answer' } },
    ]
    const id = await leave(left, events, '"id":"msg_')
    service.upstream.script(agent('responses'))
    await replyTo(further(id))
    expect(sent().input).toEqual([user('Hi'), user('Again?')])
  })
})

it('the text of a failed response stream is kept', async () => {
  await start()
  service.upstream.scriptOnce([
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    { write: sse([textChunk('as far')]) },
    'reset',
  ])
  const response = await post({ input: 'Hi', stream: true })
  const { items, response: failed } = readResponseStream(await response.text())
  expect(failed.status).toBe('failed')
  await replyTo(further(items[0]!.id))
  expect(sent().messages[1]).toEqual({ role: 'assistant', content: 'as far' })
})

describe('a kept response item', () => {
  it.each([
    ['another account', API_KEY, ACCESS_TOKEN],
    ['the user of an app', ACCESS_TOKEN, API_KEY],
    ['another app of the same user', ACCESS_TOKEN, 'at-other-app'],
    ['a key of the same account', ACCESS_TOKEN, 'sk-of-bob'],
  ])('is not found by %s', async (_, owner, other) => {
    await start({
      router: () => ({
        credentials: memoryCredentials({
          [API_KEY]: { kind: 'api-key', account: 'alice' },
          'sk-of-bob': { kind: 'api-key', account: 'bob' },
          [ACCESS_TOKEN]: { kind: 'access-token', account: 'bob', scopes: ['models.run'], app: app('app-1') },
          'at-other-app': { kind: 'access-token', account: 'bob', scopes: ['models.run'], app: app('app-2') },
        }),
      }),
    })
    const id = await messageId(as(owner))
    await expectGone(id, as(other))
    await replyTo(further(id), as(owner))
  })

  it('is gone an hour after its last use', async () => {
    await start()
    const [id, unused] = [await messageId(), await messageId()]
    await service.clock.elapse(HOUR_MS - 1)
    await replyTo(further(id))
    await service.clock.elapse(HOUR_MS - 1)
    await replyTo(further(id))
    await expectGone(unused)
    await service.clock.elapse(HOUR_MS + 1)
    await expectGone(id)
  })

  it('leaves no timer once its router is closed', async () => {
    await start()
    await messageId()
    const { clock } = service
    expect(clock.pending).toBeGreaterThan(0)
    await service.router.close()
    expect(clock.pending).toBe(0)
  })

  it('is not known to another router', async () => {
    await start()
    const id = await messageId()
    await service.close()
    await start()
    await expectGone(id)
  })

  it('is not kept if the host keeps nothing, and only as long as the host says', async () => {
    await start({ router: () => ({ responses: { recall: false } }) })
    await expectGone(await messageId())
    await service.close()
    await start({ router: () => ({ responses: { recall: { ttlMs: 1_000 } } }) })
    const id = await messageId()
    await replyTo(further(id))
    await service.clock.elapse(1_001)
    await expectGone(id)
  })

  it('is not kept for a call with `store: false`, which can still refer to others', async () => {
    await start()
    const { output } = await replyTo({ input: 'Hi', store: false })
    await expectGone(output[0]!.id)
    const id = await messageId()
    await replyTo({ ...further(id), store: false })
    expect(sent().messages).toHaveLength(3)
  })

  it('is dropped if its account exceeds its share, least recently used first', async () => {
    await start({ router: () => ({ responses: { recall: { maxBytes: 65_536 } } }) })
    const others = await messageId(as(ACCESS_TOKEN))
    const text = 'x'.repeat(5_000)
    const choices = [{ index: 0, message: { content: text }, finish_reason: 'stop' }]
    service.upstream.script(answerJson(providerReply({ choices })))
    const [first, second] = [await messageId(), await messageId()]
    service.upstream.scriptOnce(answerJson(providerReply()))
    await replyTo(further(first))
    const third = await messageId()
    await expectGone(second)
    await replyTo({ input: [reference(first), user('Hi'), reference(third), user('Again?')] })
    await replyTo(further(others), as(ACCESS_TOKEN))
  })

  it('cannot make a request larger than a body may be', async () => {
    await start({ sizes: { bodyBytes: 10_000 } })
    const choices = [{ index: 0, message: { content: 'x'.repeat(6_000) }, finish_reason: 'stop' }]
    service.upstream.script(answerJson(providerReply({ choices })))
    const [first, second] = [await messageId(), await messageId()]
    await replyTo(further(first))
    const asked = service.asked.length
    expect(await errorFor({ input: [reference(first), user('Hi'), reference(second)] })).toMatchObject({
      status: 413,
      code: 'request_too_large',
      message: 'The earlier items that the input names are larger than the limit of 10000 bytes.',
    })
    expect(service.asked).toHaveLength(asked)
  })
})

describe('a repeated response request with an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'again' }

  it('gets the same reply after its items are gone, and pays once', async () => {
    await start()
    const id = await messageId()
    const first = await replyTo(further(id), headers)
    await service.clock.elapse(HOUR_MS + 1)
    expect(await replyTo(further(id), headers)).toEqual(first)
    await expectGone(id)
    expect(await charges()).toHaveLength(2)
  })

  it('is a different request if it names another item', async () => {
    await start()
    const ids = [await messageId(), await messageId()]
    await replyTo(further(ids[0]), headers)
    expect(await errorFor(further(ids[1]), headers)).toMatchObject({ status: 422 })
  })

  it('can use the key again if the first request failed because an item was gone', async () => {
    await start()
    expect(await errorFor(further('msg_unknown'), headers)).toMatchObject({ status: 400, param: 'input.1' })
    await replyTo({ input: [user('Hi'), { role: 'assistant', content: SAID }, user('Again?')] }, headers)
    expect(await charges()).toHaveLength(1)
  })
})
