import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, openaiCompatible } from '../../src/index.js'
import { agent, CALL, ENCRYPTED, SIGNATURE, THOUGHT } from '../helpers/agent-upstream.js'
import { nanos } from '../helpers/decimals.js'
import { readResponseStream } from '../helpers/response-events.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../helpers/scripted-upstream.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  BASE_COST,
  MODEL,
  providerReply,
  type ServiceOptions,
  tokens,
  UPSTREAM_KEY,
  UPSTREAM_MODEL,
  usageChunk,
  WireService,
} from '../wire/service.js'

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const TOOL = { type: 'function', name: CALL.name, parameters: { type: 'object', properties: {} } }

let service: WireService
afterEach(() => service.close())

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start(options)
  service.upstream.script(answerJson(providerReply()))
}

const overResponses = (baseUrl: string): ProviderAdapter =>
  openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY, api: 'responses' })

type Json = Record<string, unknown>

function post(body: object | string, headers: Readonly<Record<string, string>> = {}) {
  return service.host.request('/responses', {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify({ model: MODEL, ...body }),
  })
}

async function replyTo(body: object, headers?: Readonly<Record<string, string>>) {
  const response = await post(body, headers)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text) as Json & { output: Json[]; usage: Json }
}

async function errorFor(body: object | string, headers?: Readonly<Record<string, string>>) {
  const response = await post(body, headers)
  const { error } = (await response.json()) as { error: Json }
  return { status: response.status, ...error } as Json
}

async function streamFor(body: object, headers?: Readonly<Record<string, string>>) {
  const response = await post({ stream: true, ...body }, headers)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return readResponseStream(text)
}

/** The body of the last request to a provider. */
const sent = () => service.asked.at(-1)!.body as Json & { messages: Json[]; input: Json[] }

const charges = async () =>
  (await service.ledger.entries({ account: 'alice' }, CONTEXT)).entries.flatMap(({ charge, kind }) =>
    kind === 'charge' && charge ? [charge.cost] : [],
  )

const delta = (fields: object) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: UPSTREAM_MODEL,
  choices: [{ index: 0, delta: fields, finish_reason: null }],
})

describe('a response object', () => {
  it('has every field that OpenAI has, and the exact cost, which is in the ledger', async () => {
    await start()
    const metadata = { topic: 'demo' }
    const text = { verbosity: 'low' }
    const reply = await replyTo({
      input: 'Say hello.',
      instructions: 'Be short.',
      max_output_tokens: 90,
      temperature: 0.5,
      metadata,
      text,
      reasoning: { effort: 'low', summary: 'auto' },
    })
    expect(reply).toEqual({
      id: expect.stringMatching(/^resp_/),
      object: 'response',
      created_at: expect.any(Number),
      completed_at: null,
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: 'Be short.',
      max_output_tokens: 90,
      max_tool_calls: null,
      model: MODEL,
      output: [
        {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello, wörld \u{1f600}!', annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: null,
      service_tier: 'default',
      store: false,
      temperature: 0.5,
      text: { verbosity: 'low', format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      truncation: 'disabled',
      usage: {
        input_tokens: 11,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 18,
        cost: Number(BASE_COST),
        is_byok: false,
        charge: { basis: 'reported', base_cost: Number(BASE_COST), markup_cost: 0 },
      },
      user: null,
      metadata,
    })
    expect(await charges()).toEqual([nanos(BASE_COST)])
    expect(sent()).toEqual({
      model: UPSTREAM_MODEL,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Say hello.' },
      ],
      max_tokens: 90,
      temperature: 0.5,
      verbosity: 'low',
      reasoning_effort: 'low',
    })
    const end = await service.event('request-end')
    expect([end.operation, end.outcome, end.facts?.completionId]).toEqual([
      'responses',
      'completed',
      reply.id,
    ])
  })

  it('is incomplete if the output limit or a filter ended it', async () => {
    await start()
    const ended = (reason: string) =>
      answerJson(
        providerReply({
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hel' }, finish_reason: reason }],
        }),
      )
    service.upstream.scriptOnce(ended('length'), ended('content_filter'))
    expect(await replyTo({ input: 'Hi' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    })
    expect(await replyTo({ input: 'Hi' })).toMatchObject({
      incomplete_details: { reason: 'content_filter' },
    })
    service.upstream.scriptOnce(answerEvents([textChunk('Hel'), finishChunk('length'), usageChunk()]))
    const { events, response } = await streamFor({ input: 'Hi' })
    expect(events.at(-1)?.type).toBe('response.incomplete')
    expect(response).toMatchObject({ incomplete_details: { reason: 'max_output_tokens' } })
  })

  it('is charged by an estimate if the provider reports no usage', async () => {
    await start()
    service.upstream.script(answerEvents([textChunk('Hello, all of you.'), finishChunk()]))
    const { response } = await streamFor({ input: 'Hi' })
    expect(response.usage.charge.basis).toBe('estimated')
    expect(response.usage.cost).toBeGreaterThan(0)
    expect(await charges()).toEqual([nanos(String(response.usage.cost))])
  })

  it("has the model's refusals, citations, log probabilities and images", async () => {
    await start()
    const logprob = { token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] }
    const citation = { url: 'https://example.com/', title: 'Example', start_index: 0, end_index: 2 }
    const text = delta({ content: 'Hi' })
    service.upstream.script(
      answerEvents([
        { ...text, choices: [{ ...text.choices[0], logprobs: { content: [logprob] } }] },
        delta({ annotations: [{ type: 'url_citation', url_citation: citation }] }),
        delta({ refusal: 'I will not.' }),
        delta({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=' } }] }),
        finishChunk(),
        usageChunk(),
      ]),
    )
    const { events, items } = await streamFor({ input: 'Hi', top_logprobs: 1 })
    expect(items).toMatchObject([
      {
        type: 'message',
        content: [
          { text: 'Hi', annotations: [{ type: 'url_citation', ...citation }], logprobs: [logprob] },
          { type: 'refusal', refusal: 'I will not.' },
        ],
      },
      { type: 'image_generation_call', status: 'completed', result: 'iVBORw0=' },
    ])
    expect(events.find(({ type }) => type === 'response.output_text.delta')?.logprobs).toEqual([logprob])
    expect(sent()).toMatchObject({ logprobs: true, top_logprobs: 1 })
  })

  it('has each call as an item, even if pieces of several calls arrive interleaved', async () => {
    await start()
    const piece = (index: number, args: string, more: object = {}) =>
      delta({ tool_calls: [{ index, ...more, function: { arguments: args, ...more } }] })
    const begin = (index: number, id: string) =>
      delta({ tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: '' } }] })
    service.upstream.script(
      answerEvents([
        begin(0, 'a'),
        begin(1, 'b'),
        piece(0, '{"n":'),
        piece(1, '{"n":2'),
        piece(0, '1}'),
        piece(1, '}'),
        finishChunk('tool_calls'),
        usageChunk(),
      ]),
    )
    const { items } = await streamFor({ input: 'Hi', tools: [{ ...TOOL, name: 'f' }] })
    expect(items).toMatchObject([
      { type: 'function_call', call_id: 'a', arguments: '{"n":1}' },
      { type: 'function_call', call_id: 'b', arguments: '{"n":2}' },
    ])
  })
})

describe.each([false, true])('with stream %s, a response', (stream) => {
  const reply = async (deltas: readonly object[], finish = 'stop', more: object = {}) => {
    await start()
    service.upstream.script(answerEvents([...deltas, finishChunk(finish), usageChunk()]))
    const ask = { input: 'Hi', tools: [{ ...TOOL, name: 'f' }], ...more }
    const items = stream ? (await streamFor(ask)).items : (await replyTo(ask)).output
    expect(await charges()).toEqual([nanos(BASE_COST)])
    return items
  }
  const call = (index: number, id: string, args: string) =>
    delta({ tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: args } }] })

  it('has no call for a signature that follows the end of a call', async () => {
    const signature = { google: { thought_signature: 'sig-late' } }
    const sign = delta({ tool_calls: [{ index: 0, extra_content: signature }] })
    const items = await reply([call(0, 'a', '{"n":1}'), call(1, 'b', '{"n":2}'), sign], 'tool_calls')
    expect(items).toMatchObject([
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"n":1}' },
      { type: 'function_call', call_id: 'b', name: 'f', arguments: '{"n":2}' },
    ])
    expect(items).toHaveLength(2)
  })

  it('keeps the pieces of reasoning together, up to each signature', async () => {
    const pieces = [
      { type: 'reasoning.text', text: 'One ', index: 0 },
      { type: 'reasoning.text', text: 'two', index: 0 },
      { type: 'reasoning.text', signature: 'sig-1', index: 0 },
      { type: 'reasoning.text', text: 'Three', signature: 'sig-2', index: 0 },
      { type: 'reasoning.summary', summary: 'In ', index: 1 },
      { type: 'reasoning.summary', summary: 'short', index: 1 },
    ]
    const deltas = pieces.map((piece) => delta({ reasoning: piece.text ?? '', reasoning_details: [piece] }))
    const include = ['reasoning.encrypted_content']
    const items = await reply([...deltas, delta({ content: 'Hi' })], 'stop', { include })
    service.upstream.script(answerJson(providerReply()))
    await replyTo({ input: [{ role: 'user', content: 'a' }, ...items, { role: 'user', content: 'b' }] })
    expect(sent().messages[1]).toMatchObject({
      reasoning_details: [
        { type: 'reasoning.text', text: 'One two', signature: 'sig-1', index: 0 },
        { type: 'reasoning.text', text: 'Three', signature: 'sig-2', index: 0 },
        { type: 'reasoning.summary', summary: 'In short', index: 1 },
      ],
    })
  })

  it('has the exact text of its output', async () => {
    const text = 'Grüße, "output":[] \\ \u2028 \u{1f600}'
    expect(await reply([delta({ content: text })])).toMatchObject([{ content: [{ text }] }])
  })

  it('has calls without arguments before text', async () => {
    const items = await reply(
      [call(0, 'a', '{}'), call(1, 'b', ''), delta({ content: 'Done' })],
      'tool_calls',
    )
    expect(items).toHaveLength(3)
    expect(items.filter(({ type }) => type === 'function_call')).toMatchObject([
      { call_id: 'a', arguments: '{}' },
      { call_id: 'b', arguments: '{}' },
    ])
  })

  it.each([
    ['https://example.com/a.png', { url: 'https://example.com/a.png' }],
    ['https://example.com/a.png', 'https://example.com/a.png'],
    ['data:image/svg+xml,%3Csvg/%3E', { url: 'data:image/svg+xml,%3Csvg/%3E' }],
  ])('has an image at %s as a link', async (address, given) => {
    const images = [{ type: 'image_url', image_url: given }]
    expect(await reply([delta({ content: 'See ' }), delta({ images })])).toMatchObject([
      { type: 'message', content: [{ type: 'output_text', text: `See ![image](${address})` }] },
    ])
  })

  it('has an inline image as an item, even if its address is text', async () => {
    const images = [{ type: 'image_url', image_url: 'data:image/png;base64,iVBORw0=' }]
    expect(await reply([delta({ images })])).toMatchObject([
      { type: 'image_generation_call', status: 'completed', result: 'iVBORw0=' },
    ])
  })
})

describe('a conversation in the Responses API', () => {
  it('reaches a chat provider as messages, with the calls of one reply in one message', async () => {
    await start()
    await replyTo({
      instructions: 'Be short.',
      input: [
        {
          role: 'developer',
          content: [
            { type: 'input_text', text: 'One.' },
            { type: 'input_text', text: 'Two.' },
          ],
        },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look.' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0=', detail: 'low' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Of another service.' }] },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          content: [{ type: 'output_text', text: 'I look.' }],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'custom_tool_call', id: 'ctc_1', call_id: 'b', name: 'patch', input: 'x "y"' },
        { type: 'function_call_output', call_id: 'a', output: 'done' },
        { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'ok' }] },
        { role: 'user', content: 'Go on.' },
      ],
    })
    const call = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })
    expect(sent().messages).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'system', content: 'One.\n\nTwo.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0=', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('a', 'f', '{}'), call('b', 'patch', '{"input":"x \\"y\\""}')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      { role: 'tool', tool_call_id: 'b', content: 'ok' },
      { role: 'user', content: 'Go on.' },
    ])
  })

  it('continues without references that a tool loop can do without, and refuses others', async () => {
    await start()
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
    const output = { type: 'function_call_output', call_id: 'a', output: 'done' }
    const user = { role: 'user', content: 'Hi' }
    const reference = (id: string) => ({ type: 'item_reference', id })
    await replyTo({ input: [user, reference('rs_1'), reference('msg_1'), call, output] })
    expect(sent().messages).toHaveLength(3)
    expect((await service.event('request-trimmed')).members).toEqual(['input.item_reference'])
    expect(await errorFor({ input: [user, reference('msg_1'), user] })).toMatchObject({
      status: 400,
      param: 'input.1',
      message: expect.stringContaining('replies are not stored here'),
    })
  })

  it('keeps the digits of schemas', async () => {
    await start()
    const schema = '{"type":"object","properties":{"n":{"type":"number","maximum":12345678901234567890.50}}}'
    const tool = `{"type":"function","name":"f","parameters":${schema}}`
    const format = `{"type":"json_schema","name":"s","schema":${schema}}`
    const body = `{"model":"${MODEL}","input":"Hi","tools":[${tool}],"text":{"format":${format}}}`
    expect((await post(body)).status).toBe(200)
    expect(service.asked[0]!.text.split('12345678901234567890.50')).toHaveLength(3)
  })

  it('returns signed reasoning only to its own provider', async () => {
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
    const input: Json[] = [{ role: 'user', content: 'How is the weather?' }]
    const include = ['reasoning.encrypted_content']
    const ask = (only: string) => replyTo({ input, include, tools: [TOOL], routing: { only: [only] } })
    const first = await ask('p0')
    expect(first.output[0]).toMatchObject({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: THOUGHT }],
      encrypted_content: expect.any(String),
    })
    input.push(...first.output, { type: 'function_call_output', call_id: CALL.id, output: 'sunny' })
    await ask('p0')
    expect(sent().messages[1]?.content).toMatchObject([
      { type: 'thinking', thinking: THOUGHT, signature: SIGNATURE },
      { type: 'text' },
      { type: 'tool_use' },
    ])
    await ask('p1')
    expect(service.asked.at(-1)!.text).not.toContain(THOUGHT)
    expect(service.asked.at(-1)!.text).not.toContain(SIGNATURE)
  })
})

describe('the signature of a call in a response', () => {
  const include = ['reasoning.encrypted_content']
  const extra = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } })
  const call = (index: number, more: object = {}) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name: 'f', arguments: '{}' },
    ...more,
  })
  const question = { role: 'user', content: 'Hi' }
  const ask = { input: [question], include, tools: [{ ...TOOL, name: 'f' }] }
  const results = [0, 1].map((n) => ({ type: 'function_call_output', call_id: `call_${n}`, output: 'r' }))

  const sentCalls = () => sent().messages.flatMap(({ tool_calls: calls }) => (calls ?? []) as Json[])

  it.each([
    ['with a call', false, [call(0, extra('sig')), call(1)], ['reasoning', 'function_call', 'function_call']],
    ['with a call', true, [call(0, extra('sig')), call(1)], ['reasoning', 'function_call', 'function_call']],
    [
      'after a call',
      true,
      [call(0), call(1), { index: 0, ...extra('sig') }],
      ['function_call', 'function_call', 'reasoning'],
    ],
  ])('is returned to its provider if it came %s (stream: %s)', async (_, stream, calls, types) => {
    await start({ providers: 2 })
    const body = providerReply({
      choices: [{ index: 0, message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }],
    })
    service.upstream.script(
      stream
        ? answerEvents([
            ...calls.map((piece) => delta({ tool_calls: [piece] })),
            finishChunk('tool_calls'),
            usageChunk(),
          ])
        : answerJson(body),
    )
    const routing = { only: ['p0'] }
    const output = stream
      ? (await streamFor({ ...ask, routing })).items
      : (await replyTo({ ...ask, routing })).output
    expect(output.map(({ type }) => type)).toEqual(types)
    for (const upstream of service.upstreams) upstream.script(answerJson(providerReply()))
    const input = [question, ...output, ...results]
    await replyTo({ ...ask, input, routing })
    expect(sentCalls()).toMatchObject([{ id: 'call_0', ...extra('sig') }, { id: 'call_1' }])
    expect(sentCalls()[1]).not.toHaveProperty('extra_content')
    expect(sent().messages.filter(({ role }) => role === 'assistant')).toHaveLength(1)
    expect(service.asked.at(-1)!.text).not.toContain('reasoning_details')
    await replyTo({ ...ask, input, routing: { only: ['p1'] } })
    expect(sentCalls()).toHaveLength(2)
    expect(service.upstreams[1]!.requests[0]!.text).not.toContain('sig')
  })

  it.each([
    ['before', false],
    ['after', true],
  ])('is returned as a detail of the message if it came as one, %s the call', async (_, isLate) => {
    await start()
    const data = {
      type: 'reasoning.encrypted',
      id: 'call_0',
      data: 'sig',
      format: 'google-gemini-v1',
      index: 1,
    }
    const thought = { type: 'reasoning.text', text: 'Hm', format: 'google-gemini-v1', index: 0 }
    const think = delta({ reasoning: 'Hm', reasoning_details: [thought] })
    const signed = delta({ reasoning_details: [data] })
    const called = delta({ tool_calls: [call(0)] })
    const deltas = isLate ? [think, called, signed] : [think, signed, called]
    service.upstream.script(answerEvents([...deltas, finishChunk('tool_calls'), usageChunk()]))
    const { items } = await streamFor(ask)
    service.upstream.script(answerJson(providerReply()))
    await replyTo({ ...ask, input: [question, ...items, results[0]!] })
    const replies = sent().messages.filter(({ role }) => role === 'assistant')
    expect(replies).toMatchObject([
      { reasoning_details: [thought, data], tool_calls: [{ id: 'call_0', type: 'function' }] },
    ])
    expect(sentCalls()[0]).not.toHaveProperty('extra_content')
  })

  it('is omitted without encrypted reasoning', async () => {
    await start()
    service.upstream.script(
      answerEvents([
        delta({ tool_calls: [call(0, extra('sig'))] }),
        delta({ tool_calls: [{ index: 0, ...extra('sig') }] }),
        finishChunk('tool_calls'),
        usageChunk(),
      ]),
    )
    const { items } = await streamFor({ input: 'Hi', tools: ask.tools })
    expect(items.map(({ type }) => type)).toEqual(['function_call'])
  })

  it('belongs to the call of its own reply, even if an id is used again', async () => {
    await start()
    const turn = async (input: readonly Json[], signature: string) => {
      const message = { content: null, tool_calls: [call(0, extra(signature))] }
      service.upstream.script(
        answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })),
      )
      const { output } = await replyTo({ ...ask, input })
      return [...input, ...output, results[0]!]
    }
    await turn(await turn(await turn([question], 'first'), 'second'), 'third')
    expect(sentCalls()).toMatchObject([extra('first'), extra('second')])
  })
})

describe('custom tools in a response request', () => {
  const patch = {
    type: 'custom',
    name: 'patch',
    description: 'Changes files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  }

  it('are functions with one text argument for a chat provider, and come back as custom calls', async () => {
    await start()
    const args = JSON.stringify({ input: 'x "y"\n' })
    const whole = { index: 0, id: 'a', type: 'function', function: { name: 'patch', arguments: args } }
    service.upstream.script(
      answerEvents([delta({ tool_calls: [whole] }), finishChunk('tool_calls'), usageChunk()]),
    )
    const { items } = await streamFor({
      input: 'Hi',
      tools: [patch],
      tool_choice: { type: 'custom', name: 'patch' },
    })
    expect(items).toMatchObject([
      { type: 'custom_tool_call', status: 'completed', call_id: 'a', name: 'patch', input: 'x "y"\n' },
    ])
    expect(sent()).toMatchObject({
      tools: [
        {
          type: 'function',
          function: {
            name: 'patch',
            description: expect.stringContaining('start: "x"'),
            parameters: { required: ['input'] },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'patch' } },
    })
  })

  it('reach a Responses API provider unchanged', async () => {
    await start({ adapter: overResponses })
    service.upstream.script(agent('responses'))
    await replyTo({ input: 'Hi', tools: [patch] })
    expect(sent().tools).toEqual([patch])
  })
})

describe('a provider of the Responses API', () => {
  const include = ['reasoning.encrypted_content']

  it('gets the items in order, its own reasoning, and nothing to store', async () => {
    await start({ adapter: overResponses })
    service.upstream.script(agent('responses'))
    const input: Json[] = [{ role: 'user', content: 'How is the weather?' }]
    const more = {
      include,
      tools: [TOOL],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 50,
    }
    const first = await replyTo({ input, ...more })
    expect(service.asked[0]).toMatchObject({ path: '/v1/responses' })
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call'])
    expect(first.output[1]).toMatchObject({ phase: 'commentary' })
    input.push(...first.output, { type: 'function_call_output', call_id: CALL.id, output: 'sunny' })
    const { items } = await streamFor({ input, ...more })
    expect(items).toMatchObject([{ type: 'message', phase: 'final_answer' }])
    expect(sent()).toEqual({
      model: UPSTREAM_MODEL,
      input: [
        { role: 'user', content: 'How is the weather?' },
        {
          type: 'reasoning',
          id: 'rs_upstream',
          summary: [{ type: 'summary_text', text: THOUGHT }],
          encrypted_content: ENCRYPTED,
        },
        {
          type: 'message',
          role: 'assistant',
          content: [expect.objectContaining({ type: 'output_text' })],
          phase: 'commentary',
        },
        { type: 'function_call', call_id: CALL.id, name: CALL.name, arguments: CALL.arguments },
        { type: 'function_call_output', call_id: CALL.id, output: 'sunny' },
      ],
      tools: [TOOL],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 50,
      include,
      store: false,
      stream: true,
    })
  })

  it('does not get a phase that is no word, which the model might read', async () => {
    await start({ adapter: overResponses })
    service.upstream.script(agent('responses'))
    const message = { type: 'message', role: 'assistant', content: 'So far', phase: 'x'.repeat(65) }
    await streamFor({ input: [message, { role: 'user', content: 'Go on' }] })
    expect(JSON.stringify(sent())).not.toContain('xxx')
    expect(JSON.stringify(sent())).toContain('So far')
  })

  it('is asked again without reasoning that it can no longer decrypt', async () => {
    await start({ adapter: overResponses })
    service.upstream.script(agent('responses'))
    const input: Json[] = [{ role: 'user', content: 'How is the weather?' }]
    const first = await replyTo({ input, include, tools: [TOOL] })
    input.push(...first.output, { type: 'function_call_output', call_id: CALL.id, output: 'sunny' })
    service.upstream.scriptOnce(
      answerJson(
        {
          error: {
            message: 'The encrypted content gAAA could not be verified.',
            code: 'invalid_encrypted_content',
          },
        },
        400,
      ),
    )
    await replyTo({ input, include, tools: [TOOL] })
    expect(service.asked).toHaveLength(3)
    expect(sent().input.some(({ type }) => type === 'reasoning')).toBe(false)
  })

  it('also serves chat completions, converted', async () => {
    await start({ adapter: overResponses })
    service.upstream.script(agent('responses'))
    const response = await service.post({
      model: MODEL,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'gAAA', format: 'openai-responses-v1' }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'done' },
      ],
      max_tokens: 40,
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
    })
    const body = (await response.json()) as Json
    expect(body).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 11, completion_tokens: 7 },
    })
    expect(sent()).toEqual({
      model: UPSTREAM_MODEL,
      input: [
        { type: 'message', role: 'system', content: 'Be short.' },
        { type: 'message', role: 'user', content: 'Look.' },
        { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'done' },
      ],
      max_output_tokens: 40,
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }],
      tool_choice: { type: 'function', name: 'f' },
      text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' } } },
      store: false,
    })
    const refused = await service.post({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }], seed: 1 })
    expect([refused.status, ((await refused.json()) as { error: Json }).error.param]).toEqual([400, 'seed'])
  })

  it.each([
    [
      'fails with an event',
      [
        {
          type: 'response.failed',
          response: { status: 'failed', error: { code: 'server_error', message: 'no' } },
        },
      ],
    ],
    ['fails with an error', [{ type: 'error', code: 'server_error', message: 'no' }]],
    ['breaks off', []],
  ])('that %s in its stream causes no charge', async (_, ending) => {
    await start({ adapter: overResponses })
    const events = [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: { id: 'msg_1', type: 'message' } },
      {
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: 'Hel',
      },
      ...ending,
    ]
    service.upstream.script(answerEvents(events, { done: false }))
    const { response } = await streamFor({ input: 'Hi' })
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'provider_error' },
      output: [{ type: 'message', status: 'incomplete', content: [{ text: 'Hel' }] }],
      usage: { cost: 0 },
    })
    expect(await charges()).toEqual([])
  })

  describe('has its reply, in which it repeats the request,', () => {
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 }
    const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
    const repeated = {
      instructions: 'x'.repeat(300_000),
      text: { format: { type: 'json_schema', schema: deep } },
    }
    const events = (status: string) => [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', ...repeated } },
      { type: 'response.in_progress', response: { id: 'resp_1', status: 'in_progress', ...repeated } },
      { type: 'response.output_item.added', output_index: 0, item: { id: 'msg_1', type: 'message' } },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'Hel' },
      {
        type: `response.${status}`,
        response: {
          ...repeated,
          status,
          output: [{ id: 'msg_1', type: 'message', content: [{ type: 'output_text', text: 'Hel' }] }],
          error: null,
          incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
          usage,
        },
      },
    ]

    it.each(['completed', 'incomplete'])(
      'read and charged however deep and long that is: %s',
      async (status) => {
        const sizes = { eventBytes: 64 * 1024, replyBytes: 128 * 1024 }
        await start({ adapter: overResponses, sizes })
        service.upstream.script(answerEvents(events(status), { done: false }))
        const { response } = await streamFor({ input: 'Hi', instructions: repeated.instructions })
        expect(response).toMatchObject({
          status,
          output: [{ content: [{ text: 'Hel' }] }],
          usage: { input_tokens: 11, output_tokens: 7, charge: { basis: 'reported' } },
        })
        expect(await charges()).toEqual([nanos(String(response.usage.cost))])
      },
    )
  })

  describe.each(['failed', 'cancelled'])('that ends its reply as %s, with a usage,', (status) => {
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 }
    const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }
    const end = {
      type: `response.${status}`,
      response: { status, error: { code: 'server_error', message: 'no' }, usage },
    }
    const begun = [
      created,
      { type: 'response.output_item.added', output_index: 0, item: { id: 'msg_1', type: 'message' } },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta: 'Hel' },
    ]

    it('is charged as reported after output', async () => {
      await start({ adapter: overResponses })
      service.upstream.script(answerEvents([...begun, end], { done: false }))
      const { response } = await streamFor({ input: 'Hi' })
      expect(response).toMatchObject({
        status: 'failed',
        usage: { input_tokens: 11, output_tokens: 7, charge: { basis: 'reported' } },
      })
      expect(response.usage.cost).toBeGreaterThan(0)
      expect(await charges()).toEqual([nanos(String(response.usage.cost))])
    })

    it('is free before output', async () => {
      await start({ adapter: overResponses })
      service.upstream.script(answerEvents([created, end], { done: false }))
      expect(await errorFor({ input: 'Hi', stream: true })).toMatchObject({
        status: 502,
        code: 'provider_error',
      })
      expect(await charges()).toEqual([])
    })
  })

  it('is charged by an estimate if the usage is missing', async () => {
    await start({ adapter: overResponses })
    const item = {
      id: 'msg_1',
      type: 'message',
      content: [{ type: 'output_text', text: 'Hello, all of you.' }],
    }
    service.upstream.script(answerJson({ id: 'r', object: 'response', status: 'completed', output: [item] }))
    const reply = await replyTo({ input: 'Hi' })
    expect(reply.usage).toMatchObject({ charge: { basis: 'estimated' } })
    expect(await charges()).toEqual([nanos(String(reply.usage.cost))])
  })
})

describe('a response request that agents send', () => {
  /** As their programs were seen to send it. */
  const SEEN: readonly [string, object][] = [
    [
      'Codex',
      {
        instructions: 'You are a coding agent.',
        input: [
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules.' }] },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        ],
        tools: [{ ...TOOL, strict: false }],
        tool_choice: 'auto',
        parallel_tool_calls: false,
        reasoning: { effort: 'medium', summary: 'auto' },
        store: false,
        stream: true,
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: '0199-session',
        client_metadata: { 'x-codex-installation-id': 'abc' },
      },
    ],
    [
      'Codex, for a model that it knows,',
      {
        input: [
          {
            type: 'message',
            id: 'msg_1',
            role: 'developer',
            content: [{ type: 'input_text', text: 'Rules.' }],
          },
          { type: 'message', id: 'msg_2', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        ],
        tools: [
          { ...TOOL, strict: false },
          {
            type: 'custom',
            name: 'apply_patch',
            format: { type: 'grammar', syntax: 'lark', definition: 'x' },
          },
          { type: 'namespace', name: 'multi_agent_v1', description: 'Agents.', tools: [TOOL] },
          { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: {} },
          { type: 'web_search', external_web_access: true, search_content_types: ['text', 'image'] },
        ],
        tool_choice: 'auto',
        parallel_tool_calls: true,
        reasoning: { effort: 'medium' },
        text: { verbosity: 'low' },
        store: false,
        stream: true,
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: '0199-session',
        client_metadata: { session_id: 'abc', 'x-codex-turn-metadata': '{}' },
      },
    ],
    [
      'opencode',
      {
        input: [
          { role: 'developer', content: 'You are opencode.' },
          { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        ],
        max_output_tokens: 32_000,
        store: false,
        prompt_cache_key: 'ses_1',
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'medium', summary: 'auto' },
        text: { verbosity: 'low' },
        tools: [TOOL],
        tool_choice: 'auto',
        stream: true,
      },
    ],
    [
      'promptfoo',
      {
        input: 'Hi',
        max_output_tokens: 1_024,
        temperature: 0,
        text: { format: { type: 'text' } },
        tools: [],
      },
    ],
    ['the Agents SDK', { input: [{ role: 'user', content: 'Hi' }], include: [], tools: [], stream: true }],
    [
      'Stagehand',
      {
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
        text: { format: { type: 'json_schema', strict: true, name: 'response', schema: { type: 'object' } } },
        temperature: 0.1,
        stream: false,
      },
    ],
    [
      'pi',
      { input: [{ role: 'user', content: 'Hi' }], reasoning: { effort: 'none' }, stream: true, store: false },
    ],
  ]

  it.each(SEEN)('works as %s sends it', async (_, body) => {
    await start()
    service.upstream.script(
      (body as Json).stream === true
        ? answerEvents([textChunk('Hi'), finishChunk(), usageChunk()])
        : answerJson(providerReply()),
    )
    const response = await post(body)
    expect(response.status, await response.text()).toBe(200)
  })

  it.each([
    [{ 'x-session-id': 'a', 'x-session-affinity': 'b', session_id: 'c' }, 'a'],
    [{ 'x-session-affinity': 'b', session_id: 'c' }, 'b'],
    [{ session_id: 'c', 'session-id': 'd' }, 'c'],
    [{ 'session-id': 'd', 'x-claude-code-session-id': 'e' }, 'd'],
    [{ 'x-claude-code-session-id': 'e' }, 'e'],
  ])('has its session recorded from a header: %o', async (headers, session) => {
    await start()
    await replyTo({ input: 'Hi' }, headers)
    expect((await service.event('request-end')).facts?.sessionId).toBe(session)
  })
})

describe('a response request', () => {
  it.each([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ background: true }, 'background'],
    [{ store: true }, 'store'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ tools: [{ type: 'web_search' }] }, 'tools.web_search'],
    [{ tools: [{ type: 'mcp', server_url: 'https://example.com' }] }, 'tools.mcp'],
    [{ max_tokens: 5 }, 'max_tokens'],
    [{ max_completion_tokens: 5 }, 'max_completion_tokens'],
    [{ n: 2 }, 'n'],
    [{ messages: [] }, 'messages'],
    [{ models: ['a'] }, 'models'],
    [{ Max_Output_Tokens: 5 }, 'max_output_tokens'],
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ something: 1 }, 'something'],
  ])('with %o is refused by name before any hold', async (fields, param) => {
    await start()
    expect(await errorFor({ input: 'Hi', ...fields })).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param,
    })
    expect(service.asked).toEqual([])
  })

  it.each([
    [{}, 'input'],
    [{ input: [] }, 'input'],
    [{ input: 5 }, 'input'],
    [{ input: [5] }, 'input.0'],
    [{ input: [{ role: 'user' }] }, 'input.0.content'],
    [{ input: [{ role: 'robot', content: 'Hi' }] }, 'input.0.role'],
    [{ input: [{ type: 'computer_call', id: 'cu_1' }] }, 'input.0.type'],
    [{ input: [{ type: 'web_search_call', id: 'ws_1' }] }, 'input'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }] },
      'input.0.content.0.image_url',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
      'input.0.content.0.file_id',
    ],
    [{ input: [{ type: 'function_call', call_id: 'a', name: 'f' }] }, 'input.0.arguments'],
    [{ input: [{ type: 'function_call_output', call_id: 'a' }] }, 'input.0.output'],
    [{ input: 'Hi', max_output_tokens: 0 }, 'max_output_tokens'],
    [{ input: 'Hi', instructions: 5 }, 'instructions'],
    [{ input: 'Hi', include: 'all' }, 'include'],
    [{ input: 'Hi', reasoning: { effort: 5 } }, 'reasoning.effort'],
    [{ input: 'Hi', text: { format: { type: 'xml' } } }, 'text.format.type'],
    [{ input: 'Hi', tool_choice: 'maybe' }, 'tool_choice'],
    [{ input: 'Hi', tools: [{ type: 'function' }] }, 'tools.0.name'],
  ])('%o is 400, with the field as this API names it', async (fields, param) => {
    await start()
    expect(await errorFor(fields)).toMatchObject({ status: 400, code: 'invalid_request', param })
  })

  it("is refused by the model's parameters, as this API names them", async () => {
    await start({
      models: [
        {
          id: MODEL,
          prices: { input: '1', output: '1' },
          supportedParameters: ['max_tokens'],
          operations: ['chat'],
        },
      ],
    })
    expect((await post({ input: 'Hi', max_output_tokens: 5 })).status).toBe(200)
    expect(await errorFor({ input: 'Hi', reasoning: { effort: 'low' } })).toMatchObject({
      status: 400,
      param: 'reasoning.effort',
    })
  })

  it.each([
    ['not JSON', '{', {}, 400, 'invalid_json'],
    ['without a credential', '{}', { authorization: '' }, 401, 'missing_credential'],
    ['with an unknown key', '{}', { authorization: 'Bearer sk-no' }, 401, 'invalid_api_key'],
    ['without the scope', '{}', { authorization: `Bearer ${tokens.unscoped}` }, 403, 'insufficient_scope'],
    ['of another type', '{}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
  ])("%s is refused in OpenAI's error format", async (_, body, headers, status, code) => {
    await start()
    expect(await errorFor(body, headers)).toMatchObject({ status, code, message: expect.any(String) })
  })

  it('without credit is refused with 402 before the provider is called', async () => {
    await start()
    const headers = { authorization: `Bearer ${tokens.poor}` }
    expect(await errorFor({ input: 'Hi', stream: true }, headers)).toMatchObject({
      status: 402,
      code: 'insufficient_credits',
    })
    expect(service.asked).toEqual([])
  })

  it("of an app is charged with the app's markup", async () => {
    await start()
    const reply = await replyTo({ input: 'Hi' }, { authorization: `Bearer ${ACCESS_TOKEN}` })
    expect(reply.usage).toMatchObject({ cost: 0.000731995, charge: { markup_cost: 0.000557995 } })
  })
})

describe('stored replies of the Responses API', () => {
  it.each(['GET', 'DELETE'])('do not exist for %s', async (method) => {
    await start()
    for (const path of ['/responses/resp_1', '/responses/resp_1/input_items']) {
      const response = await service.host.request(path, { method })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({
        error: { code: 'not_found', type: 'invalid_request_error', param: null },
      })
    }
  })

  it('are not available over a web socket either, which is refused clearly', async () => {
    await start()
    const response = await service.host.request('/responses', {
      headers: { connection: 'Upgrade', upgrade: 'websocket' },
    })
    expect(response.status).toBe(405)
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('does not accept web sockets') },
    })
  })
})

describe('a repeated response request with an Idempotency-Key', () => {
  const key = { 'idempotency-key': 'key-1' }

  it.each([true, false])('gets the same reply, charged once (stream: %s)', async (stream) => {
    await start()
    service.upstream.script(
      stream ? answerEvents([textChunk('Hi'), finishChunk(), usageChunk()]) : answerJson(providerReply()),
    )
    const body = { input: 'Hi', stream }
    const first = await post(body, key)
    const text = await first.text()
    const again = await post(body, key)
    expect(await again.text()).toBe(text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await charges()).toHaveLength(1)
    expect(await errorFor({ ...body, include: ['reasoning.encrypted_content'] }, key)).toMatchObject({
      status: 422,
      code: 'idempotency_mismatch',
    })
  })

  it('has the same outcome in its event if the stream failed and was charged', async () => {
    await start()
    const nameless = delta({
      tool_calls: [{ index: 0, id: 'a', type: 'function', function: { arguments: '{}' } }],
    })
    service.upstream.script(
      answerEvents([textChunk('Hi'), nameless, finishChunk('tool_calls'), usageChunk()]),
    )
    const first = await post({ input: 'Hi', stream: true }, key)
    const text = await first.text()
    expect(readResponseStream(text).response).toMatchObject({
      status: 'failed',
      error: { code: 'provider_invalid_response' },
      usage: { cost: Number(BASE_COST) },
    })
    const again = await post({ input: 'Hi', stream: true }, { ...key, 'x-request-id': 'again' })
    expect(await again.text()).toBe(text)
    expect((await service.event('request-end', 'again')).outcome).toBe('provider_invalid_response')
    expect(await charges()).toEqual([nanos(BASE_COST)])
  })
})

/** The cases of the Open Responses compliance suite that need no store, written anew. */
describe('as the Open Responses specification requires, the router', () => {
  const image = 'data:image/png;base64,iVBORw0KGgo='
  const message = (role: string, content: unknown) => ({ type: 'message', role, content })
  const CASES: readonly [string, object, number][] = [
    ['a basic text', { input: [message('user', 'Say hello in exactly 3 words.')] }, 1],
    [
      'a system prompt',
      { input: [message('system', 'You are a pirate.'), message('user', 'Say hello.')] },
      1,
    ],
    [
      'an image',
      {
        input: [
          message('user', [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: image },
          ]),
        ],
      },
      1,
    ],
    [
      'a conversation of several turns',
      {
        input: [
          message('user', 'My name is Alice.'),
          message('assistant', 'Hello Alice!'),
          message('user', 'What is my name?'),
        ],
      },
      1,
    ],
  ]

  it.each(CASES)('answers %s', async (_, body) => {
    await start()
    const reply = await replyTo(body)
    expect(reply.status).toBe('completed')
    expect(reply.output.length).toBeGreaterThan(0)
  })

  it('streams text with every event in its place', async () => {
    await start()
    service.upstream.script(answerEvents([textChunk('one '), textChunk('two'), finishChunk(), usageChunk()]))
    const { events, items } = await streamFor({ input: [message('user', 'Count.')] })
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(items).toMatchObject([{ type: 'message', content: [{ text: 'one two' }] }])
  })

  it('calls a tool', async () => {
    await start()
    service.upstream.script(agent('chat'))
    const reply = await replyTo({ input: [message('user', 'The weather?')], tools: [TOOL] })
    expect(reply.output.at(-1)).toMatchObject({
      type: 'function_call',
      status: 'completed',
      call_id: CALL.id,
      name: CALL.name,
      arguments: CALL.arguments,
    })
  })
})
