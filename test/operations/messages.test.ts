import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, memoryCredentials, memoryProviders, openaiCompatible } from '../../src/index.js'
import { nanos } from '../helpers/decimals.js'
import { createDeferred } from '../helpers/deferred.js'
import { checkEvents, readEvents } from '../helpers/message-events.js'
import { answerJson, type Script } from '../helpers/scripted-upstream.js'
import {
  blockDelta,
  blockStart,
  frames,
  messageDelta,
  messageStart,
  messageStop,
} from '../providers/anthropic/replies.js'
import { claudeRich } from '../recordings/messages.js'
import {
  ACCESS_TOKEN,
  API_KEY,
  COUNTS,
  MODEL,
  PRICES,
  type ServiceOptions,
  UPSTREAM_KEY,
  UPSTREAM_MODEL,
  WireService,
} from '../wire/service.js'

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const FACTS = { requestId: 'r', account: 'alice', credentialId: 'k', model: MODEL }
const EVENTS = { 'content-type': 'text/event-stream' }
const ASK = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }

const native = (baseUrl: string): ProviderAdapter => anthropic({ baseUrl, apiKey: UPSTREAM_KEY })

let service: WireService
afterEach(() => service.close())

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start(options)
}

function post(body: object, headers: Readonly<Record<string, string>> = {}, path = '/messages') {
  return service.host.request(path, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, ...ASK, ...body }),
  })
}

async function whole(body: object = {}, headers?: Readonly<Record<string, string>>) {
  const response = await post(body, headers)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text)
}

async function streamed(body: object = {}) {
  const response = await post({ ...body, stream: true })
  expect(response.status).toBe(200)
  return checkEvents(readEvents(await response.text()))
}

async function refused(body: object, headers?: Readonly<Record<string, string>>, path?: string) {
  const response = await post(body, headers, path)
  const { error, type } = (await response.json()) as { error: object; type: string }
  expect(type).toBe('error')
  return { status: response.status, ...error }
}

const sse = (text: string): Script => [{ head: 200, headers: EVENTS }, { write: text }, 'end']
const chunks = (...all: object[]): Script =>
  sse(`${all.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
const delta = (fields: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
})
const lastBody = () => service.asked.at(-1)!.body as Record<string, unknown>

async function charges() {
  const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
  return entries.flatMap(({ charge, kind }) => (kind === 'charge' && charge ? [charge] : []))
}

const message = (content: readonly object[], more: object = {}) => ({
  id: 'msg_upstream',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 },
  ...more,
})

describe('a native provider of the Messages API', () => {
  const CONVERSATION = {
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'words' },
            title: 'T',
            citations: { enabled: true },
          },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky' } }],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [{ type: 'text', text: 'no' }],
          },
        ],
      },
    ],
    tools: [{ name: 'look', description: 'Looks', input_schema: { type: 'object' }, strict: true }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    stop_sequences: ['END'],
    temperature: 0.5,
    top_k: 5,
    thinking: { type: 'adaptive', display: 'updates' },
    output_config: { effort: 'high' },
    metadata: { user_id: 'user-1' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  }

  it('gets the request as it came, with the allowed betas and those of the host', async () => {
    await start({
      adapter: (baseUrl) =>
        anthropic({ baseUrl, apiKey: UPSTREAM_KEY, headers: { 'Anthropic-Beta': 'of-the-host' } }),
    })
    service.upstream.script(answerJson(message([{ type: 'text', text: 'Hi' }])))
    await whole(
      { ...CONVERSATION, session_id: 's', service_tier: 'auto' },
      { 'anthropic-beta': 'claude-code-20250219, context-1m-2025-08-07', 'anthropic-version': '2023-06-01' },
    )
    expect(lastBody()).toEqual({ model: UPSTREAM_MODEL, max_tokens: 100, ...CONVERSATION })
    expect(service.asked[0]!.headers).toMatchObject({
      'anthropic-beta': 'of-the-host,claude-code-20250219',
      'anthropic-version': '2023-06-01',
      'x-api-key': UPSTREAM_KEY,
    })
    const end = await service.event('request-end')
    expect(end).toMatchObject({ operation: 'messages', facts: { user: 'user-1', sessionId: 's' } })
  })

  /** Routes to scripted providers, each with an adapter and the name of its model. */
  async function startWith(
    ...routes: readonly [(baseUrl: string) => ProviderAdapter, string][]
  ): Promise<void> {
    const adapters: ProviderAdapter[] = []
    await start({
      providers: routes.length,
      adapter: (baseUrl) => {
        const adapter = routes[adapters.length]![0](baseUrl)
        adapters.push(adapter)
        return adapter
      },
      router: () => ({
        providers: memoryProviders(
          routes.map(([, model], index) => ({
            id: `provider-${index}`,
            models: { [MODEL]: model },
            adapter: adapters[index]!,
          })),
        ),
      }),
    })
  }

  it.each([false, true])(
    'is answered with its own blocks, and with the exact charge (stream: %s)',
    async (stream) => {
      await startWith([native, 'claude-x'])
      const blocks = [
        { type: 'thinking', thinking: 'Hm', signature: 'sig' },
        { type: 'redacted_thinking', data: 'hidden' },
        { type: 'text', text: 'Grüße', citations: [{ type: 'char_location', cited_text: 'x' }] },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky', no: [1.5] } },
      ]
      service.upstream.script(answerJson(message(blocks, { stop_reason: 'tool_use' })))
      const reply = stream ? await streamed() : await whole()
      expect(reply.content).toEqual(blocks)
      expect(reply.stopReason ?? reply.stop_reason).toBe('tool_use')
      expect(reply.usage).toEqual({
        input_tokens: 7,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 0 },
        cost: 0.000174,
        is_byok: false,
        charge: { basis: 'reported', base_cost: 0.000174, markup_cost: 0 },
      })
      expect(await charges()).toMatchObject([
        { cost: nanos('0.000174'), usage: { prompt: 11, cached: 4, completion: 7 } },
      ])
    },
  )

  it('streams a reply that reaches a JSON client digit for digit', async () => {
    await startWith([native, 'claude-x'])
    const events = claudeRich.events.map((event) =>
      JSON.parse(JSON.stringify(event).replace(String.raw`\"sky\"}`, '9007199254740993}')),
    )
    service.upstream.script(sse(frames(events)))
    const text = await (await post({})).text()
    expect(text).toContain('"input":{"at":9007199254740993}')
    expect(JSON.parse(text).content.map(({ type }: { type: string }) => type)).toEqual([
      'thinking',
      'redacted_thinking',
      'text',
      'server_tool_use',
      'web_search_tool_result',
      'tool_use',
      'tool_use',
    ])
  })

  it('that omits ends, or sends a block within a block, has its order of events kept', async () => {
    await startWith([native, 'claude-x'])
    service.upstream.script(
      sse(
        frames([
          messageStart(),
          blockStart(0, { type: 'text', text: 'a' }),
          blockDelta(0, { type: 'text_delta', text: 'b' }),
          blockStart(1, { type: 'tool_use', id: 't', name: 'look', input: { at: 'sky' } }),
          messageDelta('tool_use', { output_tokens: 5 }),
          messageStop,
        ]),
      ),
    )
    const { content } = await streamed()
    expect(content).toEqual([
      { type: 'text', text: 'ab' },
      { type: 'tool_use', id: 't', name: 'look', input: { at: 'sky' } },
    ])
  })

  it('that sends an unreadable piece ends the stream with an error and its charge', async () => {
    await startWith([native, 'claude-x'])
    service.upstream.script(
      sse(
        frames([
          messageStart(),
          blockStart(0, { type: 'text', text: '' }),
          blockDelta(0, { type: 'text_delta', text: 'Hello' }),
          blockDelta(0, { type: 'text_delta', text: { said: 'lost' } }),
          messageDelta('end_turn', { output_tokens: 5 }),
          messageStop,
        ]),
      ),
    )
    const { content, error } = await streamed()
    expect(content).toEqual([{ type: 'text', text: 'Hello' }])
    expect(error).toMatchObject({
      type: 'api_error',
      code: 'provider_invalid_response',
      metadata: { usage: { input_tokens: 10, output_tokens: 5 } },
    })
    expect(await charges()).toHaveLength(1)
  })

  it('whose stream breaks off ends it with an error, and nothing looks like its end', async () => {
    await startWith([native, 'claude-x'])
    service.upstream.script([
      { head: 200, headers: EVENTS },
      { write: frames([messageStart(), blockStart(0, { type: 'text', text: 'Hello' })]) },
      'reset',
    ])
    const { error } = await streamed()
    expect(error).toMatchObject({ type: 'api_error', code: 'provider_error' })
  })

  it.each([false, true])('is never free without a usage report (stream: %s)', async (stream) => {
    await startWith([native, 'claude-x'])
    const text = { type: 'text', text: 'Hello there, whoever you are.' }
    service.upstream.script(answerJson(message([text], { usage: undefined })))
    const { usage } = stream ? await streamed() : await whole()
    expect(usage.charge.basis).toBe('estimated')
    expect(usage.cost).toBeGreaterThan(0.0001)
    expect(await charges()).toMatchObject([{ cost: nanos(String(usage.cost)) }])
  })

  it('is sent the conversation again without thinking that it refuses', async () => {
    await startWith([native, 'claude-x'])
    const refusal = 'messages.1.content.0: Invalid `signature` in `thinking` block'
    service.upstream.scriptOnce(
      answerJson({ type: 'error', error: { type: 'invalid_request_error', message: refusal } }, 400),
    )
    service.upstream.script(answerJson(message([{ type: 'text', text: 'Hi' }])))
    await whole({
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 'of another account' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    })
    expect(service.asked).toHaveLength(2)
    expect(lastBody().messages).toMatchObject([{}, { content: [{ type: 'text', text: 'b' }] }, {}])
  })

  it('gets no block of the system prompt without text, which it refuses', async () => {
    await startWith([native, 'claude-x'])
    service.upstream.script(answerJson(message([{ type: 'text', text: 'Hi' }])))
    const messages = [{ role: 'user', content: 'a' }]
    const said = { type: 'text', text: 'Be kind' }
    await whole({ messages, system: [{ type: 'text', text: ' ' }, said] })
    expect(lastBody().system).toEqual([said])
    await whole({ messages, system: [{ type: 'text', text: '' }] })
    expect(lastBody()).not.toHaveProperty('system')
  })

  it('gets no thinking that OpenAI signed, as a server in between may have sent it, but its own', async () => {
    await startWith([native, 'claude-x'])
    service.upstream.script(answerJson(message([{ type: 'text', text: 'Hi' }])))
    const thought = (signature: string) => ({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'x', signature },
        { type: 'text', text: 'b' },
      ],
    })
    const [first, other] = [thought('gAAAAABo3w'), thought('EqQB')]
    const user = { role: 'user', content: 'a' }
    await whole({ messages: [user, first, user, other, user] })
    expect(service.asked).toHaveLength(1)
    expect(lastBody().messages).toMatchObject([{}, { content: first.content.slice(1) }, {}, other, {}])
  })

  it('gets no thinking of another provider, and no other provider gets its own', async () => {
    await startWith([native, 'claude-x'], [native, 'glm-5'], [openai, 'deepseek'])
    const [claude, glm, deepseek] = service.upstreams
    const think = (signature: string) =>
      answerJson(
        message([
          { type: 'thinking', thinking: `thought of ${signature}`, signature },
          { type: 'text', text: 'b' },
        ]),
      )
    claude!.script(think('sig-claude'))
    glm!.script(think('sig-glm'))
    deepseek!.script(
      answerJson({
        choices: [
          {
            message: { role: 'assistant', reasoning_content: 'thought of deepseek', content: 'b' },
            finish_reason: 'stop',
          },
        ],
        usage: COUNTS,
      }),
    )
    const history: object[] = []
    for (const only of ['provider-0', 'provider-1', 'provider-2']) {
      const reply = await whole({ routing: { only: [only] } })
      history.push({ role: 'user', content: 'a' }, { role: 'assistant', content: reply.content })
    }
    history.push({ role: 'user', content: 'c' })
    for (const [index, own] of ['claude', 'glm', 'deepseek'].entries()) {
      await whole({ messages: history, routing: { only: [`provider-${index}`] } })
      const { text } = service.upstreams[index]!.requests.at(-1)!
      const thoughts = [...text.matchAll(/thought of (?:sig-)?(\w+)/g)].map(([, whose]) => whose)
      expect(new Set(thoughts), own).toEqual(new Set([own]))
      expect(text).not.toContain('cr1.')
    }
    expect(claude!.requests.at(-1)!.text).toContain('"signature":"sig-claude"')
    expect(glm!.requests.at(-1)!.text).toContain('"signature":"sig-glm"')
  })
})

const openai = (baseUrl: string): ProviderAdapter => openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY })

describe('a chat provider behind POST /messages', () => {
  it('gets the request as a chat', async () => {
    await start()
    service.upstream.script(
      answerJson({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage: COUNTS }),
    )
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
    await whole({
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'words' },
              title: 'T',
            },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' },
              title: 'a.pdf',
            },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Looking.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky' } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'blue' }, image] },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'none' },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
      tools: [{ type: 'custom', name: 'look', description: 'Looks', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      stop_sequences: ['END'],
      thinking: { type: 'enabled', budget_tokens: 8_000 },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
      metadata: { user_id: 'user-1' },
    })
    const data = 'data:image/png;base64,aGk='
    expect(lastBody()).toEqual({
      model: UPSTREAM_MODEL,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'text', text: 'T\nwords' },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
          ],
        },
        {
          role: 'assistant',
          content: 'Looking.',
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } },
            { id: 'toolu_2', type: 'function', function: { name: 'look', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'blue' },
        { role: 'tool', tool_call_id: 'toolu_2', content: 'none' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Attached to the result of toolu_1:' },
            { type: 'image_url', image_url: { url: data } },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
      max_tokens: 100,
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } },
        },
      ],
      tool_choice: 'required',
      parallel_tool_calls: false,
      stop: ['END'],
      reasoning_effort: 'medium',
      response_format: { type: 'json_schema', json_schema: { name: 'output', schema: { type: 'object' } } },
      user: 'user-1',
    })
  })

  it('answers in blocks, one after the other, though its calls arrive in interleaved pieces', async () => {
    await start()
    const call = (index: number, fields: object, id?: string) =>
      delta({ tool_calls: [{ index, ...(id !== undefined && { id, type: 'function' }), function: fields }] })
    service.upstream.script(
      chunks(
        delta({ reasoning_content: 'Let me ' }),
        delta({ reasoning_content: 'see' }),
        delta({ content: 'Two ' }),
        delta({ content: 'calls' }),
        call(0, { name: 'a', arguments: '{"x":' }, 'call_a'),
        call(1, { name: 'b', arguments: '{"y":' }, 'call_b'),
        call(0, { arguments: '1}' }),
        call(1, { arguments: '2}' }),
        delta({}, 'tool_calls'),
        { choices: [], usage: COUNTS },
      ),
    )
    const { content, stopReason, usage } = await streamed()
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see' },
      { type: 'text', text: 'Two calls' },
      { type: 'tool_use', id: 'call_a', name: 'a', input: { x: 1 } },
      { type: 'tool_use', id: 'call_b', name: 'b', input: { y: 2 } },
    ])
    expect(stopReason).toBe('tool_use')
    expect(usage).toMatchObject({
      input_tokens: 7,
      cache_read_input_tokens: 4,
      output_tokens: 7,
      cost: 0.000174,
    })
  })

  describe.each([false, true])('with stream %s', (stream) => {
    const call = (index: number, id: string, args: string) =>
      delta({ tool_calls: [{ index, id, type: 'function', function: { name: 'f', arguments: args } }] })
    const signature = { google: { thought_signature: 'sig-late' } }
    const sign = (index: number) => delta({ tool_calls: [{ index, extra_content: signature }] })
    const reply = async (...all: object[]) => {
      await start()
      service.upstream.script(chunks(...all, { choices: [], usage: COUNTS }))
      const read = stream ? await streamed() : await whole()
      expect(read.usage).toMatchObject({ output_tokens: 7, cost: 0.000174 })
      expect((await charges()).map(({ cost }) => cost)).toEqual([nanos('0.000174')])
      return read.content
    }

    it('has an id that clients of Anthropic accept for a call with any other, and returns its signature', async () => {
      const content = await reply(call(0, 'functions.f:0', '{"x":1}'), sign(0), delta({}, 'tool_calls'))
      const used = content.find(({ type }: { type: string }) => type === 'tool_use')
      expect(used).toMatchObject({ id: 'functions_f_0', input: { x: 1 } })
      const result = { type: 'tool_result', tool_use_id: used.id, content: 'y' }
      await whole({
        messages: [...ASK.messages, { role: 'assistant', content }, { role: 'user', content: [result] }],
      })
      expect(lastBody().messages).toMatchObject([
        {},
        { tool_calls: [{ id: 'functions_f_0', extra_content: signature }] },
        { role: 'tool', tool_call_id: 'functions_f_0' },
      ])
    })

    it.each([
      ['ended', [call(0, 'call_a', '{"x":1}'), call(1, 'call_b', '{"y":2}'), sign(0)]],
      ['is open', [call(0, 'call_a', '{"x":1}'), sign(0), call(1, 'call_b', '{"y":2}')]],
      [
        'ended before an open one',
        [
          call(0, 'call_a', '{"x":1}'),
          call(1, 'call_b', '{"y":'),
          sign(0),
          delta({ tool_calls: [{ index: 1, function: { arguments: '2}' } }] }),
        ],
      ],
    ])('keeps the late signature of a call that %s', async (_, pieces) => {
      const content = await reply(...pieces, delta({}, 'tool_calls'))
      expect(content.filter(({ type }: { type: string }) => type === 'tool_use')).toMatchObject([
        { id: 'call_a', input: { x: 1 } },
        { id: 'call_b', input: { y: 2 } },
      ])
      await whole({
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content },
          {
            role: 'user',
            content: ['call_a', 'call_b'].map((id) => ({
              type: 'tool_result',
              tool_use_id: id,
              content: 'r',
            })),
          },
        ],
      })
      expect((lastBody().messages as object[])[1]).toMatchObject({
        tool_calls: [{ id: 'call_a', extra_content: signature }, { id: 'call_b' }],
      })
    })

    it('keeps text and reasoning that arrive between the pieces of a call', async () => {
      const more = (args: string) => delta({ tool_calls: [{ index: 0, function: { arguments: args } }] })
      const content = await reply(
        call(0, 'call_a', '{"x":'),
        delta({ content: 'Between ' }),
        delta({ reasoning_content: 'Hm' }),
        more('1'),
        delta({ content: 'us' }),
        more('}'),
        delta({ content: '.' }),
        delta({}, 'tool_calls'),
      )
      const said = content.filter(({ type }: { type: string }) => type === 'text')
      expect(said.map(({ text }: { text: string }) => text).join('')).toBe('Between us.')
      expect(content).toContainEqual(expect.objectContaining({ type: 'thinking', thinking: 'Hm' }))
      expect(content).toContainEqual(expect.objectContaining({ id: 'call_a', input: { x: 1 } }))
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
      const content = await reply(...deltas, delta({ content: 'Hi' }), delta({}, 'stop'))
      await whole({
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content },
          { role: 'user', content: 'b' },
        ],
      })
      expect((lastBody().messages as object[])[1]).toMatchObject({
        reasoning_details: [
          { type: 'reasoning.text', text: 'One two', signature: 'sig-1', index: 0 },
          { type: 'reasoning.text', text: 'Three', signature: 'sig-2', index: 0 },
          { type: 'reasoning.summary', summary: 'In short', index: 1 },
        ],
      })
    })

    it.each(['', '{}'])('puts calls without arguments (%j) before text', async (args) => {
      const pieces = [call(0, 'call_a', args), call(1, 'call_b', args), delta({ content: 'Done' })]
      const content = await reply(...pieces, delta({}, 'tool_calls'))
      expect(content).toHaveLength(3)
      expect(content).toEqual(
        expect.arrayContaining([
          { type: 'tool_use', id: 'call_a', name: 'f', input: {} },
          { type: 'tool_use', id: 'call_b', name: 'f', input: {} },
          { type: 'text', text: 'Done' },
        ]),
      )
    })

    it('keeps interleaved calls even if the arguments of the first one never end', async () => {
      const more = (index: number, args: string) =>
        delta({ tool_calls: [{ index, function: { arguments: args } }] })
      const pieces = [call(0, 'call_a', '{"x":'), call(1, 'call_b', '{"y":['), call(2, 'call_c', '{"z":')]
      const items = Array.from({ length: 50 }, (_, at) => [more(1, `${at},`), more(2, '1')]).flat()
      await start()
      service.upstream.script(
        chunks(...pieces, ...items, more(1, '50]}'), more(2, '}'), delta({}, 'length'), {
          choices: [],
          usage: COUNTS,
        }),
      )
      const ask = { ...ASK, model: MODEL, stream }
      const text = await (await post(ask)).text()
      expect(text).toContain('call_c')
      const args = (index: number) =>
        stream
          ? readEvents(text)
              .filter((event) => event.type === 'content_block_delta' && event.index === index)
              .map((event) => (event.delta as Record<string, string>).partial_json)
              .join('')
          : JSON.stringify(JSON.parse(text).content[index].input)
      const list = Array.from({ length: 51 }, (_, at) => at)
      expect(args(0)).toBe(stream ? '{"x":' : JSON.stringify({ arguments: '{"x":' }))
      expect(JSON.parse(args(1))).toEqual({ y: list })
      expect(args(2)).toContain('1'.repeat(10))
      expect((await charges()).map(({ cost }) => cost)).toEqual([nanos('0.000174')])
    })
  })

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['stop_sequence', 'stop_sequence'],
  ])('translates %s to %s', async (finish, stop) => {
    await start()
    service.upstream.script(
      answerJson({ choices: [{ message: { content: 'Hi' }, finish_reason: finish }], usage: COUNTS }),
    )
    expect(await whole()).toMatchObject({ stop_reason: stop, content: [{ type: 'text', text: 'Hi' }] })
  })

  it.each([
    ['vLLM', { stop_reason: 'END' }, ['stop_sequence', 'END']],
    ['SGLang', { matched_stop: 'END' }, ['stop_sequence', 'END']],
    ['vLLM, for the end of the text', { stop_reason: 151_645 }, ['end_turn', null]],
    ['others, for a word of their own', { stop_reason: 'end' }, ['end_turn', null]],
  ])('names the stop sequence that matched, as %s says it', async (_name, members, [reason, sequence]) => {
    await start()
    const choice = { message: { content: 'Hi' }, finish_reason: 'stop', ...members }
    service.upstream.script(answerJson({ choices: [choice], usage: COUNTS }))
    const wanted = { stop_reason: reason, stop_sequence: sequence }
    expect(await whole({ stop_sequences: ['END'] })).toMatchObject(wanted)
    const { stopReason, stopSequence } = await streamed({ stop_sequences: ['END'] })
    expect({ stop_reason: stopReason, stop_sequence: stopSequence }).toEqual(wanted)
  })

  it('gets disabled thinking as the effort none, and no line that changes with each request', async () => {
    await start()
    const reply = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage: COUNTS }
    service.upstream.script(answerJson(reply))
    const line = 'x-anthropic-billing-header: cc_version=2.1; cch=36ee5;'
    const rule = { type: 'text', text: 'Be brief.' }
    const sent: unknown[] = []
    for (const system of [`${line}\nBe brief.`, [{ type: 'text', text: line }, rule], [rule], line]) {
      await whole({ system, thinking: { type: 'disabled' } })
      const { messages, reasoning_effort: effort } = lastBody() as Record<string, readonly unknown[]>
      sent.push([effort, messages!.slice(0, -1)])
    }
    const brief = ['none', [{ role: 'system', content: 'Be brief.' }]]
    expect(sent).toEqual([brief, brief, brief, ['none', []]])
  })

  it('gets back what it signed, including the signature of a call', async () => {
    await start()
    const extra = { google: { thought_signature: 'sig-call' } }
    const details = [{ type: 'reasoning.encrypted', data: 'hidden', format: 'x', index: 0 }]
    const calls = [
      { id: 'call_a', type: 'function', function: { name: 'a', arguments: '{}' }, extra_content: extra },
    ]
    service.upstream.script(
      answerJson({
        choices: [
          {
            message: { reasoning: 'Hm', reasoning_details: details, content: null, tool_calls: calls },
            finish_reason: 'tool_calls',
          },
        ],
        usage: COUNTS,
      }),
    )
    const { content } = await whole()
    await whole({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_a', content: 'r' }] },
      ],
    })
    expect((lastBody().messages as object[])[1]).toMatchObject({
      role: 'assistant',
      reasoning: 'Hm',
      // The call itself has its signature.
      reasoning_details: [details[0]],
      tool_calls: calls,
    })
  })

  it('keeps a silent stream alive with pings', async () => {
    await start({ timeouts: { openStreamAfterMs: 1_000 } })
    let go = (): void => {}
    service.upstream.script([
      { head: 200, headers: EVENTS },
      {
        wait: new Promise<void>((resolve) => {
          go = resolve
        }),
      },
      { write: `data: ${JSON.stringify(delta({ content: 'Hi' }, 'stop'))}\n\ndata: [DONE]\n\n` },
      'end',
    ])
    const asked = service.upstream.nextRequest()
    const response = post({ stream: true })
    await asked
    while (service.router.inFlight === 0) await new Promise((resolve) => setImmediate(resolve))
    await service.clock.elapse(1_000)
    const opened = await response
    go()
    const text = await opened.text()
    expect(text.startsWith('event: ping\ndata: {"type":"ping"}\n\n')).toBe(true)
    expect(checkEvents(readEvents(text)).content).toEqual([{ type: 'text', text: 'Hi' }])
  })
})

describe('a request to POST /messages', () => {
  it.each([
    [
      'a tool of the provider',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      'tools.web_search_20250305',
    ],
    ['servers', { mcp_servers: [{ type: 'url', url: 'https://a.example' }] }, 'mcp_servers'],
    ['a container', { container: 'c' }, 'container'],
    ['a tier', { service_tier: 'standard_only' }, 'service_tier'],
    ['a speed', { speed: 'fast' }, 'speed'],
    ['a place', { inference_geo: 'us' }, 'inference_geo'],
    ['a field of chat', { n: 2 }, 'n'],
    ['a thread', { thread: { type: 'create' } }, 'thread'],
    ['another field of chat', { reasoning_effort: 'high' }, 'reasoning_effort'],
    ['other models', { fallbacks: [] }, 'fallbacks'],
    [
      'a file of the account',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'messages.0.content.0.source.file_id',
    ],
    [
      'a block of a tool of the provider',
      { messages: [{ role: 'user', content: [{ type: 'container_upload' }] }] },
      'messages.0.content.0.type',
    ],
  ])('with %s is refused before any hold', async (_, body, param) => {
    await start({ adapter: native })
    expect(await refused(body)).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'unsupported_parameter',
      param,
    })
    expect(service.asked).toEqual([])
    expect(service.events.some(({ type }) => type === 'hold-expired')).toBe(false)
  })

  it.each([
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.role'],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages.0.content'],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'http://10.0.0.1/a' } }] },
        ],
      },
      'messages.0.content.0.source.url',
    ],
    [{ thinking: { type: 'enabled', budget_tokens: 'x' } }, 'thinking.budget_tokens'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management.edits.0.type'],
  ])('is refused if invalid: %j', async (body, param) => {
    await start({ adapter: native })
    expect(await refused(body)).toMatchObject({ status: 400, code: 'invalid_request', param })
  })

  it.each([
    ['an unknown model', { model: 'acme/none' }, {}, 404, 'not_found_error'],
    ['no credential', {}, { 'x-api-key': '' }, 401, 'authentication_error'],
    ['a wrong type', {}, { 'content-type': 'text/plain' }, 415, 'invalid_request_error'],
  ])('with %s gets an error of this API', async (_, body, headers, status, type) => {
    await start()
    expect(await refused(body, headers)).toMatchObject({ status, type })
  })

  it('with another method gets an error of this API', async () => {
    await start()
    const response = await service.host.request('/messages')
    expect(await response.json()).toMatchObject({ type: 'error', error: { code: 'method_not_allowed' } })
  })

  it('may carry its key in a header that other paths do not read', async () => {
    await start()
    const response = await post({}, {}, '/chat/completions')
    expect(await response.json()).toMatchObject({ error: { code: 'missing_credential' } })
  })
})

describe('a prompt cache mark in a message', () => {
  const MARK = { type: 'ephemeral', ttl: '1h' }
  const marked = {
    system: [{ type: 'text', text: 'Long', cache_control: MARK }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: MARK }] }],
  }

  it.each([
    [
      'lasts five minutes if a cache write has a price',
      { ...PRICES, cacheWrite: '3' },
      { type: 'ephemeral', ttl: '5m' },
    ],
    ['is left out if it has none', PRICES, undefined],
  ])('%s', async (_, prices, expected) => {
    await start({ adapter: native, models: [{ id: MODEL, prices }] })
    service.upstream.script(
      answerJson(
        message([{ type: 'text', text: 'Hi' }], {
          usage: { input_tokens: 1, cache_creation_input_tokens: 5, output_tokens: 1 },
        }),
      ),
    )
    const { usage } = await whole(marked)
    const body = lastBody() as { system: object[]; messages: { content: object[] }[] }
    expect(body.system[0]).toEqual({
      type: 'text',
      text: 'Long',
      ...(expected && { cache_control: expected }),
    })
    expect(body.messages[0]!.content[0]).toEqual({
      type: 'text',
      text: 'a',
      ...(expected && { cache_control: expected }),
    })
    expect(usage).toMatchObject({ input_tokens: 1, cache_creation_input_tokens: 5 })
  })
})

describe.each([false, true])('with stream %s, the token estimate of a document', (stream) => {
  it("includes its title, even if its source is a provider's file", async () => {
    const models = [{ id: MODEL, prices: PRICES, supportedParameters: ['max_tokens', 'file_id'] }]
    await start({ adapter: native, models })
    const text = { type: 'text', text: 'Hi' }
    const costOf = async (title: string) => {
      service.upstream.script(
        stream
          ? sse(frames([messageStart({}), blockStart(0, text), messageDelta('end_turn'), messageStop]))
          : answerJson(message([text], { usage: undefined })),
      )
      const document = { type: 'document', source: { type: 'file', file_id: 'file-1' }, title }
      const ask = { messages: [{ role: 'user', content: [document] }] }
      const { usage } = stream ? await streamed(ask) : await whole(ask)
      expect(usage.charge.basis).toBe('estimated')
      expect((lastBody().messages as object[])[0]).toEqual(ask.messages[0])
      const charged = (await charges()).map(({ cost }) => cost)
      expect(charged).toContain(nanos(String(usage.cost)))
      return usage.cost
    }
    const short = await costOf('T')
    // More than one token for every eight letters, at 2 millionths each.
    expect(await costOf('Title of a report '.repeat(100))).toBeGreaterThan(short + (1_800 / 8) * 0.000002)
  })
})

describe('a prompt cache mark within a block', () => {
  const MARK = { type: 'ephemeral', ttl: '1h' }
  const text = { type: 'text', text: 'Long', cache_control: MARK }
  const input = { cache_control: MARK }
  const content = [
    { type: 'document', source: { type: 'content', content: [text] } },
    { type: 'fetched', content: { type: 'page', parts: [text, { ...text, input }] } },
  ]
  const usage = { input_tokens: 7, cache_creation_input_tokens: 5, output_tokens: 7 }
  const unmarked = { type: 'text', text: 'Long' }
  const short = { ...unmarked, cache_control: { type: 'ephemeral', ttl: '5m' } }

  describe.each([false, true])('with stream %s', (stream) => {
    it.each([
      // 7 x 2 + 5 x 3 + 7 x 8 millionths, and the price of the request.
      ['lasts five minutes if a cache write has a price', '3', short, '0.000185'],
      ['is left out if it has none', undefined, unmarked, '0.00018'],
    ])('%s', async (_, cacheWrite, expected, cost) => {
      const prices = { ...PRICES, ...(cacheWrite !== undefined && { cacheWrite }) }
      const models = [{ id: MODEL, prices, supportedParameters: ['max_tokens', 'messages.fetched'] }]
      await start({ adapter: native, models })
      service.upstream.script(
        stream
          ? sse(
              frames([
                messageStart(usage),
                blockStart(0, unmarked),
                messageDelta('end_turn', usage),
                messageStop,
              ]),
            )
          : answerJson(message([unmarked], { usage })),
      )
      const ask = { messages: [{ role: 'user', content }] }
      const reply = stream ? await streamed(ask) : await whole(ask)
      expect(lastBody().messages).toEqual([
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'content', content: [expected] } },
            { type: 'fetched', content: { type: 'page', parts: [expected, { ...expected, input }] } },
          ],
        },
      ])
      expect(reply.usage.cost).toBe(Number(cost))
      expect((await charges()).map((charge) => charge.cost)).toEqual([nanos(cost)])
    })

    it("makes the request's marks known if it is the only one", async () => {
      const models = [{ id: MODEL, prices: PRICES, supportedParameters: ['max_tokens', 'messages.fetched'] }]
      await start({ adapter: native, models })
      service.upstream.script(
        stream
          ? sse(
              frames([
                messageStart(usage),
                blockStart(0, unmarked),
                messageDelta('end_turn', usage),
                messageStop,
              ]),
            )
          : answerJson(message([unmarked], { usage })),
      )
      const ask = { messages: [{ role: 'user', content: [content[1]] }] }
      await (stream ? streamed(ask) : whole(ask))
      expect(JSON.stringify(lastBody()).split('ephemeral')).toHaveLength(2)
      expect((await charges()).map((charge) => charge.cost)).toEqual([nanos('0.00018')])
    })
  })

  it('is refused if it is invalid', async () => {
    const models = [{ id: MODEL, prices: PRICES, supportedParameters: ['max_tokens', 'messages.fetched'] }]
    await start({ adapter: native, models })
    const wrong = { type: 'fetched', content: [{ cache_control: { type: 'ephemeral', ttl: '1d' } }] }
    expect(await refused({ messages: [{ role: 'user', content: [wrong] }] })).toMatchObject({
      status: 400,
      message: expect.stringContaining(
        'messages.0.content.0.content.0.cache_control.ttl must be one of 5m, 1h',
      ),
    })
  })
})

describe('an Idempotency-Key at POST /messages', () => {
  it('repeats a stream', async () => {
    await start({ adapter: native })
    service.upstream.script(sse(frames(claudeRich.events)))
    const headers = { 'idempotency-key': 'k-1' }
    const first = await (await post({ stream: true }, headers)).text()
    const again = await post({ stream: true }, headers)
    expect(await again.text()).toBe(first)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(service.asked).toHaveLength(1)
    expect(await refused({ max_tokens: 50 }, headers)).toMatchObject({ status: 422 })
    expect(await charges()).toHaveLength(1)
  })
})

describe('POST /messages/count_tokens', () => {
  const count = async (body: object = {}): Promise<Record<string, unknown>> => {
    const response = await post({ max_tokens: undefined, ...body }, {}, '/messages/count_tokens')
    return { status: response.status, ...((await response.json()) as object) }
  }

  it("returns the provider's count for free", async () => {
    await start({ adapter: native })
    service.upstream.script(answerJson({ input_tokens: 42 }))
    expect(await count({ system: 'Be brief.', temperature: 1 })).toEqual({ status: 200, input_tokens: 42 })
    expect(service.asked[0]!.path).toBe('/v1/messages/count_tokens')
    expect(lastBody()).toEqual({ model: UPSTREAM_MODEL, system: 'Be brief.', messages: ASK.messages })
    expect(await charges()).toEqual([])
  })

  it("passes the caller's trace context on if the host forwards it", async () => {
    await start({ adapter: native, router: () => ({ traceContext: 'forward' }) })
    service.upstream.script(answerJson({ input_tokens: 42 }))
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    await post({ max_tokens: undefined }, { traceparent }, '/messages/count_tokens')
    expect(service.asked[0]!.headers).toMatchObject({ traceparent })
  })

  it.each([
    ['fails', native, answerJson({ type: 'error', error: { type: 'api_error', message: 'x' } }, 500)],
    ['answers nonsense', native, answerJson({ input_tokens: 'many' })],
    ['has no such API', openai, answerJson({})],
  ])('returns an estimate if the provider %s', async (_, adapter, script) => {
    await start({ adapter })
    service.upstream.script(script)
    const { estimated, input_tokens: tokens } = await count()
    expect(estimated).toBe(true)
    expect(tokens).toBeGreaterThan(0)
  })

  it('returns an estimate for a caller with limits, which it does not use up', async () => {
    const limits = [{ id: 'rate', unit: 'requests', amount: 1n, per: 'total' }] as const
    const credentials = memoryCredentials({ [API_KEY]: { kind: 'api-key', account: 'alice', limits } })
    await start({ adapter: native, router: () => ({ credentials }) })
    for (let round = 0; round < 3; round++)
      expect(await count()).toMatchObject({ status: 200, estimated: true })
    expect(service.asked).toEqual([])
  })

  it('returns an estimate for a caller without credit, whose count reaches no provider', async () => {
    await start({ adapter: native })
    await service.ledger.hold(
      { holdId: 'h', account: 'alice', amount: 1_000_000_000n, ttlMs: 60_000, facts: FACTS },
      CONTEXT,
    )
    for (let round = 0; round < 20; round++)
      expect(await count()).toMatchObject({ status: 200, estimated: true })
    expect(service.asked).toEqual([])
    await service.ledger.release({ holdId: 'h', account: 'alice' }, CONTEXT)
    service.upstream.script(answerJson({ input_tokens: 42 }))
    expect(await count()).toEqual({ status: 200, input_tokens: 42 })
  })

  it('returns an estimate if the ledger does not answer, which is reported to the host', async () => {
    await start({
      adapter: native,
      router: ({ ledger }) => ({ ledger: { ...ledger!, balance: () => Promise.reject(new Error('gone')) } }),
      expectsFaults: true,
    })
    expect(await count()).toMatchObject({ status: 200, estimated: true })
    expect(await service.event('store-fault')).toMatchObject({ store: 'ledger' })
  })

  it('returns an estimate while eight of its account are under way, and not for another account', async () => {
    await start({ adapter: native })
    const { promise: mayAnswer, resolve: answer } = createDeferred()
    service.upstream.script(async (reply) => {
      await mayAnswer
      reply.head(200, { 'content-type': 'application/json' })
      await reply.write(JSON.stringify({ input_tokens: 42 }))
      reply.end()
    })
    const asked: Promise<unknown>[] = []
    for (let number = 0; number < 8; number++) {
      const arrived = service.upstream.nextRequest()
      asked.push(count())
      await arrived
    }
    for (let number = 0; number < 10; number++) expect(await count()).toMatchObject({ estimated: true })
    const arrived = service.upstream.nextRequest()
    const other = post({ max_tokens: undefined }, { 'x-api-key': ACCESS_TOKEN }, '/messages/count_tokens')
    await arrived
    expect(service.asked).toHaveLength(9)
    answer()
    for (const counted of await Promise.all(asked)) expect(counted).toEqual({ status: 200, input_tokens: 42 })
    expect(await (await other).json()).toEqual({ input_tokens: 42 })
    expect(await count()).toEqual({ status: 200, input_tokens: 42 })
  })

  it('returns an estimate if the adapter has a bug, which is reported to the host', async () => {
    const countMessageTokens = async () => {
      throw new TypeError('prompt is not a function')
    }
    await start({ adapter: (baseUrl) => ({ ...native(baseUrl), countMessageTokens }), expectsFaults: true })
    expect(await count()).toMatchObject({ status: 200, estimated: true })
    expect(await service.event('fault')).toMatchObject({
      where: 'count tokens',
      error: { name: 'TypeError' },
    })
  })

  it('passes the same checks as a call', async () => {
    await start({ adapter: native })
    expect(await count({ model: 'acme/none' })).toMatchObject({ status: 404, type: 'error' })
    expect(await count({ mcp_servers: [{}] })).toMatchObject({ status: 400 })
    const response = await post({}, { 'x-api-key': 'sk-unknown' }, '/messages/count_tokens')
    expect(response.status).toBe(401)
  })
})
