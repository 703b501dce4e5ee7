import { afterEach, describe, expect, it } from 'vitest'
import { readResponseStream } from '../helpers/response-events.js'
import { answerEvents, answerJson, finishChunk } from '../helpers/scripted-upstream.js'
import {
  API_KEY,
  BASE_COST,
  MODEL,
  providerReply,
  type ServiceOptions,
  UPSTREAM_MODEL,
  usageChunk,
  WireService,
} from '../wire/service.js'
import { PROVIDERS } from './providers.js'

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, each member of which is asserted
type Json = Record<string, any>

const [CHAT, RESPONSES, ANTHROPIC, AI_SDK] = PROVIDERS.map(([, , adapter]) => adapter)
const parameters = { type: 'object', properties: { id: { type: 'string' } } }
const plain = { type: 'function', name: 'run', parameters }
const agents = {
  type: 'namespace',
  name: 'agents_v1',
  description: 'Sub-agents.',
  tools: [
    { type: 'function', name: 'close', description: 'Closes one.', strict: false, parameters },
    { type: 'custom', name: 'brief', description: 'Takes a text.' },
  ],
}
const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters }
const webSearch = { type: 'web_search', external_web_access: true }

let service: WireService
afterEach(() => service.close())

async function start(options: ServiceOptions = {}): Promise<void> {
  service = await WireService.start(options)
  service.upstream.script(answerJson(providerReply()))
}

async function post(body: object): Promise<{ status: number; text: string }> {
  const response = await service.host.request('/responses', {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, input: 'Hi', ...body }),
  })
  return { status: response.status, text: await response.text() }
}

async function replyTo(body: Json): Promise<Json> {
  const { status, text } = await post(body)
  expect(status, text).toBe(200)
  const reply = body.stream === true ? readResponseStream(text).response : JSON.parse(text)
  expect(reply.usage.cost).toBe(Number(BASE_COST))
  return reply
}

async function errorFor(body: object): Promise<Json> {
  const { status, text } = await post(body)
  expect(service.asked).toEqual([])
  return { status, ...JSON.parse(text).error }
}

/** The body of the last request to a provider. */
const sent = () => service.asked.at(-1)!.body as Json

/** A provider that calls a function. */
function calling(name: string, args: string, stream: boolean): void {
  const call = { id: 'call_1', type: 'function', function: { name, arguments: args } }
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL }
  const choice = { index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  service.upstream.script(
    stream
      ? answerEvents([{ ...chunk, choices: [choice] }, finishChunk('tool_calls'), usageChunk()])
      : answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })),
  )
}

describe.each([false, true])('tools in a namespace (stream: %s)', (stream) => {
  it('are called by their own name and their namespace', async () => {
    await start()
    calling('agents_v1__close', '{"id":"a"}', stream)
    const tools = [plain, agents]
    const reply = await replyTo({ tools, stream })
    expect(reply.output).toEqual([
      {
        id: expect.stringMatching(/^fc_/),
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        namespace: 'agents_v1',
        name: 'close',
        arguments: '{"id":"a"}',
      },
    ])
    expect(reply.tools).toEqual(tools)
    expect(sent().tools.map((tool: Json) => tool.function.name)).toEqual([
      'run',
      'agents_v1__close',
      'agents_v1__brief',
    ])
    expect(sent().tools[1].function).toMatchObject({ description: 'Closes one.', strict: false, parameters })
  })

  it('may take text as input', async () => {
    await start()
    calling('agents_v1__brief', '{"input":"Be short."}', stream)
    const reply = await replyTo({ tools: [agents], stream })
    expect(reply.output).toMatchObject([
      { type: 'custom_tool_call', namespace: 'agents_v1', name: 'brief', input: 'Be short.' },
    ])
  })

  it('leave other calls without a namespace', async () => {
    await start()
    calling('run', '{}', stream)
    const reply = await replyTo({ tools: [plain, agents], stream })
    expect(reply.output).toMatchObject([{ type: 'function_call', name: 'run' }])
    expect(reply.output[0]).not.toHaveProperty('namespace')
  })
})

describe('tools in a namespace', () => {
  const history = [
    { role: 'user', content: 'Hi' },
    { type: 'function_call', call_id: 'a', namespace: 'agents_v1', name: 'close', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: 'closed' },
    { type: 'custom_tool_call', call_id: 'b', namespace: 'agents_v1', name: 'brief', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'b', output: 'done' },
  ]
  const choice = { type: 'function', namespace: 'agents_v1', name: 'close' }

  it('have the same name in the conversation, in a tool choice, and for a chat provider', async () => {
    await start()
    const reply = await replyTo({ input: history, tools: [agents], tool_choice: choice })
    const called = sent().messages.flatMap((message: Json) => message.tool_calls ?? [])
    expect(called.map((call: Json) => call.function.name)).toEqual(['agents_v1__close', 'agents_v1__brief'])
    expect(sent().tool_choice).toEqual({ type: 'function', function: { name: 'agents_v1__close' } })
    expect(reply.tool_choice).toEqual(choice)
  })

  it('are functions without a namespace for a Responses API provider too', async () => {
    await start({ adapter: RESPONSES! })
    service.upstream.script(
      answerJson({
        id: 'r',
        object: 'response',
        status: 'completed',
        output: [
          { type: 'function_call', id: 'fc', call_id: 'c', name: 'agents_v1__close', arguments: '{}' },
        ],
        usage: {
          input_tokens: 11,
          output_tokens: 7,
          total_tokens: 18,
          input_tokens_details: { cached_tokens: 4 },
        },
      }),
    )
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [choice] }
    const reply = await replyTo({ input: history, tools: [plain, agents], tool_choice: allowed })
    expect(reply.output).toMatchObject([
      { type: 'function_call', namespace: 'agents_v1', name: 'close', arguments: '{}' },
    ])
    expect(sent().tools.map(({ name, type }: Json) => [type, name])).toEqual([
      ['function', 'run'],
      ['function', 'agents_v1__close'],
      ['custom', 'agents_v1__brief'],
    ])
    expect(sent().tool_choice.tools).toEqual([{ type: 'function', name: 'agents_v1__close' }])
    expect(JSON.stringify(sent().input)).not.toContain('"namespace"')
    expect(sent().input.map(({ name }: Json) => name)).toContain('agents_v1__brief')
  })

  it('have names of at most 64 characters for providers, which still distinguish them', async () => {
    await start()
    const long = 'mcp__a_server_with_quite_a_long_name__'
    const tools = [
      {
        type: 'namespace',
        name: long,
        tools: [1, 2].map((n) => ({ ...plain, name: `${'x'.repeat(40)}${n}` })),
      },
    ]
    await replyTo({ tools })
    const names: string[] = sent().tools.map((tool: Json) => tool.function.name)
    expect(new Set(names).size).toBe(2)
    for (const name of names) expect(name).toMatch(/^mcp__a_server_with_quite_a_long_name__x+_[0-9a-f]{8}$/)
    expect(Math.max(...names.map(({ length }) => length))).toBe(64)
    calling(names[1]!, '{}', false)
    expect((await replyTo({ tools })).output).toMatchObject([{ namespace: long, name: `${'x'.repeat(40)}2` }])
  })

  it.each([
    [{ type: 'namespace', tools: [plain] }, 'tools.0.name'],
    [{ type: 'namespace', name: 'a' }, 'tools.0.tools'],
    [{ type: 'namespace', name: 'a', tools: [{ type: 'web_search' }] }, 'tools.0.tools.0.type'],
    [{ type: 'namespace', name: 'a', tools: [agents] }, 'tools.0.tools.0.type'],
    [{ type: 'namespace', name: 'a', tools: [{ type: 'function' }] }, 'tools.0.tools.0.name'],
  ])('are refused with 400 if they are %o', async (tool, param) => {
    await start()
    expect(await errorFor({ tools: [tool] })).toMatchObject({ status: 400, code: 'invalid_request', param })
  })

  it('count towards the maximum number of tools of a request', async () => {
    await start()
    const many = (name: string) => ({
      type: 'namespace',
      name,
      tools: Array.from({ length: 600 }, (_, n) => ({ type: 'function', name: `f${n}` })),
    })
    expect(await errorFor({ tools: [many('a'), many('b')] })).toMatchObject({ status: 400, param: 'tools' })
  })

  it('count as input in the hold', async () => {
    await start()
    const held = async (tools: object[]) => {
      const requestId = `held-${tools.length}-${JSON.stringify(tools).length}`
      let amount = 0n
      service.upstream.script(async (reply) => {
        amount = await service.held('alice')
        reply.head(200, { 'content-type': 'application/json' })
        await reply.write(JSON.stringify(providerReply()))
        reply.end()
      })
      await replyTo({ tools, max_output_tokens: 50, session_id: requestId })
      return amount
    }
    const verbose = { ...agents, tools: [{ ...agents.tools[0]!, description: 'Closes one. '.repeat(200) }] }
    expect(await held([verbose])).toBeGreaterThan(await held([agents]))
  })
})

describe('a tool search that the client runs', () => {
  it.each([false, true])('is called and answered (stream: %s)', async (stream) => {
    await start()
    calling('tool_search', '{"query":"close"}', stream)
    const tools = [plain, search]
    const first = await replyTo({ tools, stream })
    const [call] = first.output
    expect(call).toEqual({
      id: expect.stringMatching(/^tsc_/),
      type: 'tool_search_call',
      status: 'completed',
      call_id: 'call_1',
      execution: 'client',
      arguments: { query: 'close' },
    })
    expect(sent().tools[1]).toEqual({
      type: 'function',
      function: { name: 'tool_search', description: 'Finds tools.', parameters },
    })

    calling('agents_v1__close', '{}', stream)
    const found = { type: 'tool_search_output', call_id: 'call_1', execution: 'client', status: 'completed' }
    const input = [{ role: 'user', content: 'Hi' }, call, { ...found, tools: [agents] }]
    const second = await replyTo({ input, tools, stream })
    expect(second.output).toMatchObject([{ type: 'function_call', namespace: 'agents_v1', name: 'close' }])
    expect(second.tools).toEqual(tools)
    expect(sent().tools.map((tool: Json) => tool.function.name)).toEqual([
      'run',
      'tool_search',
      'agents_v1__close',
      'agents_v1__brief',
    ])
    expect(sent().messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'tool_search', arguments: '{"query":"close"}' },
          },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: 'These tools can be called now: agents_v1__close, agents_v1__brief',
      },
    ])
  })

  it('may find nothing', async () => {
    await start()
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'tool_search_call', call_id: 'a', arguments: '{"query":"x"}' },
      { type: 'tool_search_output', call_id: 'a', tools: [] },
    ]
    await replyTo({ input, tools: [search] })
    expect(sent().messages.at(-1)).toMatchObject({ role: 'tool', content: 'No tool was found.' })
  })

  it('has no arguments if the model wrote none that can be read', async () => {
    await start()
    calling('tool_search', '"close', false)
    expect((await replyTo({ tools: [search] })).output).toMatchObject([
      { type: 'tool_search_call', arguments: {} },
    ])
  })

  it('cannot find a tool that a provider runs', async () => {
    await start()
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'tool_search_call', call_id: 'a', arguments: {} },
      { type: 'tool_search_output', call_id: 'a', tools: [webSearch] },
    ]
    expect(await errorFor({ input, tools: [search] })).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'tools.web_search',
    })
  })
})

describe('the calls of tools that OpenAI defines', () => {
  it('become function calls with their results', async () => {
    await start()
    const action = { type: 'exec', command: ['ls'] }
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'local_shell_call', id: 'ls_1', call_id: 'call_1', status: 'completed', action },
      { type: 'local_shell_call_output', id: 'ls_1', output: 'a.txt' },
      { type: 'shell_call', call_id: 'call_2', action: { commands: ['ls'] } },
      { type: 'shell_call_output', call_id: 'call_2', output: [{ stdout: 'b.txt' }] },
      { type: 'apply_patch_call', call_id: 'call_3', operation: { type: 'delete_file', path: 'b.txt' } },
      { type: 'apply_patch_call_output', call_id: 'call_3', status: 'completed' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { role: 'user', content: 'Go on' },
    ]
    await replyTo({ input })
    const call = (id: string, name: string, args: object) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    })
    expect(sent().messages).toEqual([
      { role: 'user', content: 'Hi' },
      call('call_1', 'local_shell', action),
      { role: 'tool', tool_call_id: 'call_1', content: 'a.txt' },
      call('call_2', 'shell', { commands: ['ls'] }),
      { role: 'tool', tool_call_id: 'call_2', content: '[{"stdout":"b.txt"}]' },
      call('call_3', 'apply_patch', { type: 'delete_file', path: 'b.txt' }),
      { role: 'tool', tool_call_id: 'call_3', content: '' },
      { role: 'user', content: 'Go on' },
    ])
  })
})

describe('an invalid response item or tool', () => {
  /** JSON that `String` throws for. */
  const odd = { toString: 1 }
  const call = { type: 'function_call', call_id: 'a', namespace: 'b', name: odd, arguments: '{}' }
  const manyFaults = Array.from({ length: 30 }, () => ({ role: 'nobody', content: 'Hi' }))

  it.each([
    ['too many items', { input: Array.from({ length: 10_001 }, () => null) }, 'input'],
    ['an item after many faults', { input: [...manyFaults, null] }, 'input.0.role'],
    ['the name of a call', { input: [call] }, 'input.0.name'],
    ['the id of a reference', { input: [{ id: odd }] }, 'input.0.id'],
    ['the name of a function', { tools: [{ type: 'function', name: odd }] }, 'tools.0.name'],
    ['the name of a custom tool', { tools: [{ type: 'custom', name: odd }] }, 'tools.0.name'],
    ['the name of a namespace', { tools: [{ ...agents, name: odd }] }, 'tools.0.name'],
    [
      'the name of a found tool',
      {
        input: [
          { type: 'tool_search_call', call_id: 'a', arguments: {} },
          { type: 'tool_search_output', call_id: 'a', tools: [{ ...plain, name: odd }] },
        ],
      },
      'input.1.tools.0.name',
    ],
  ])('is refused with 400: %s', async (_, body, param) => {
    await start()
    expect(await errorFor(body)).toMatchObject({ status: 400, code: 'invalid_request', param })
  })
})

describe('a web search that is offered but not chosen', () => {
  const TYPES = [
    'web_search',
    'web_search_2025_08_26',
    'web_search_preview',
    'web_search_preview_2025_03_11',
    'tool_search',
  ]
  const adapters = [
    ['chat', CHAT!],
    ['responses', RESPONSES!],
  ] as const

  it.each(TYPES.flatMap((type) => adapters.map(([api, adapter]) => [type, api, adapter] as const)))(
    'is omitted as %s for a provider of %s, and the reply and an event say so',
    async (type, api, adapter) => {
      await start({ adapter })
      if (api === 'responses') {
        const part = { type: 'output_text', text: 'Hi', annotations: [] }
        const output = [{ type: 'message', id: 'm', role: 'assistant', content: [part] }]
        const counts = { input_tokens: 11, output_tokens: 7, total_tokens: 18 }
        const usage = { ...counts, input_tokens_details: { cached_tokens: 4 } }
        service.upstream.script(
          answerJson({ id: 'r', object: 'response', status: 'completed', output, usage }),
        )
      }
      const reply = await replyTo({ tools: [{ type }, plain], tool_choice: 'required' })
      expect(reply.tools).toEqual([plain])
      expect(sent().tools).toHaveLength(1)
      expect(service.asked[0]!.text).not.toContain(type)
      expect(await service.event('request-trimmed')).toMatchObject({ members: [`tools.${type}`] })
    },
  )

  it.each([
    ['if it is the only tool', { tools: [webSearch] }, 'tools.web_search'],
    [
      'if there are only others of its kind',
      { tools: [webSearch, { type: 'tool_search' }] },
      'tools.web_search',
    ],
    [
      'if another tool is run by the provider',
      { tools: [plain, { type: 'file_search' }] },
      'tools.file_search',
    ],
    ['as code_interpreter', { tools: [plain, { type: 'code_interpreter' }] }, 'tools.code_interpreter'],
    ['as mcp', { tools: [plain, { type: 'mcp' }] }, 'tools.mcp'],
    ['in another spelling', { tools: [plain, { type: 'Web_Search' }] }, 'tools.Web_Search'],
    ['without a type', { tools: [plain, { web_search: {} }] }, 'tools.1.type'],
  ])('is refused %s', async (_, body, param) => {
    await start()
    expect(await errorFor(body)).toMatchObject({ status: 400, code: 'unsupported_parameter', param })
  })

  it.each([
    [{ type: 'web_search' }, 'tool_choice.type'],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] }, 'tool_choice.tools.0.type'],
  ])('is refused if %o chooses it', async (choice, param) => {
    await start()
    expect(await errorFor({ tools: [plain, webSearch], tool_choice: choice })).toMatchObject({
      status: 400,
      code: 'invalid_request',
      param,
    })
  })
})

describe('a hint in a response request that an adapter cannot express', () => {
  it.each([
    ['anthropic()', ANTHROPIC!],
    ['aiSdk()', AI_SDK!],
  ])('is omitted for %s', async (label, adapter) => {
    await start({ adapter })
    if (label === 'anthropic()') {
      service.upstream.script(
        answerJson({
          id: 'msg',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [{ type: 'text', text: 'Hi' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 },
        }),
      )
    }
    const reply = await replyTo({ text: { verbosity: 'low' }, reasoning: { effort: 'medium' } })
    expect(reply.status).toBe('completed')
    expect(service.asked).toHaveLength(1)
    expect(service.asked[0]!.text).not.toContain('verbosity')
  })
})
