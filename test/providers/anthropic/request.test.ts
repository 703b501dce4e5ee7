import { describe, expect, it } from 'vitest'
import { isProviderError } from '../../../src/base/errors.js'
import { readChat } from '../../../src/conversation/read-chat.js'
import { NO_RESULT } from '../../../src/conversation/results.js'
import { settled } from '../../../src/conversation/turns.js'
import type { ChatRequest } from '../../../src/protocol/chat-request.js'
import { lossesOf, toNativeRequest } from '../../../src/providers/anthropic/request.js'

const asked = (fields: Partial<ChatRequest>) =>
  settled(readChat({ model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'Hi' }], ...fields }))
const convert = (fields: Partial<ChatRequest>, stream = false) => toNativeRequest(asked(fields), stream)

const convertMessages = (...messages: ChatRequest['messages']) => convert({ messages })
const convertParts = (...content: unknown[]) =>
  convertMessages({ role: 'user', content }).messages[0]?.content

function refusal(run: () => unknown): { reason: string; param: string | undefined } {
  try {
    run()
  } catch (error) {
    if (!isProviderError(error)) throw error
    return { reason: error.reason, param: error.param }
  }
  throw new Error('nothing was refused')
}

const refused = (param: string) => ({ reason: 'unsupported-request', param })

describe("a conversion of messages to Anthropic's format", () => {
  it('sends a plain request with only what the API needs', () => {
    expect(convert({})).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 4_096,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    })
  })

  it('has no white space at the end of a reply that the model continues, which the API refuses', () => {
    const replies = ['One \n', 'Two '].map((content) => ({ role: 'assistant', content }))
    const user = { role: 'user', content: 'Hi' }
    const native = convertMessages(user, replies[0]!, user, replies[1]!)
    expect(native.messages.map(({ content }) => content[0]!.text)).toEqual(['Hi', 'One \n', 'Hi', 'Two'])
  })

  it('gathers all system and developer messages in the system prompt', () => {
    const native = convertMessages(
      { role: 'system', content: 'One' },
      { role: 'developer', content: [{ type: 'text', text: 'Two' }] },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Three' },
      { role: 'user', content: 'There' },
    )
    expect(native.system).toEqual([
      { type: 'text', text: 'One' },
      { type: 'text', text: 'Two' },
      { type: 'text', text: 'Three' },
    ])
    expect(native.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'There' },
        ],
      },
    ])
  })

  it('turns tool calls into blocks and merges their results, before other content, into one turn', () => {
    const call = (id: string, text: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: text },
    })
    const native = convertMessages(
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: null, tool_calls: [call('a', '{"x":1}'), call('b', '')] },
      { role: 'tool', tool_call_id: 'a', content: 'red' },
      { role: 'user', content: 'Quick' },
      { role: 'tool', tool_call_id: 'b', content: '', name: 'look' },
    )
    expect(native.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'red' }] },
          { type: 'tool_result', tool_use_id: 'b' },
          { type: 'text', text: 'Quick' },
        ],
      },
    ])
  })

  it.each([
    ['claude-sonnet-4-5', 'functions_look_0'],
    ['kimi-k2', 'functions.look:0'],
  ])("rewrites other providers' call ids as %s accepts them", (model, id) => {
    const given = 'functions.look:0'
    const call = { id: given, type: 'function', function: { name: 'look', arguments: '{}' } }
    const messages = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: given, content: 'red' },
    ]
    expect(convert({ model, messages }).messages).toMatchObject([
      { content: [{ type: 'tool_use', id }] },
      { content: [{ type: 'tool_result', tool_use_id: id }] },
    ])
  })

  it('omits text of white space and empty messages, which the API rejects', () => {
    const native = convertMessages(
      { role: 'system', content: ' ' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '' },
      { role: 'user', content: [{ type: 'text', text: ' There ' }] },
      {
        role: 'assistant',
        content: '\n\n',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '\n' },
    )
    expect(native).not.toHaveProperty('system')
    expect(native.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: ' There ' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
    ])
  })

  it('sends back signed and encrypted reasoning only', () => {
    const native = convertMessages(
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: 'Hello',
        reasoning: 'Let me think',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Let me ', index: 0 },
          { type: 'reasoning.text', text: 'think', index: 0 },
          { type: 'reasoning.text', text: '', signature: 'sig', index: 0 },
          { type: 'reasoning.encrypted', data: 'hidden', index: 1 },
          { type: 'reasoning.text', text: 'unsigned', index: 2 },
          { type: 'reasoning.encrypted', data: 'another’s', format: 'openai-responses-v1', index: 3 },
          { type: 'reasoning.text', text: 'a', signature: 'another’s', format: 'google-gemini-v1', index: 4 },
          { type: 'reasoning.encrypted', data: 'own', format: 'anthropic-claude-v1', index: 5 },
        ],
      },
    )
    expect(native.messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'Let me think', signature: 'sig' },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'redacted_thinking', data: 'own' },
      { type: 'text', text: 'Hello' },
    ])
  })

  it.each([
    ['role', { role: 'critic', content: 'x' }, 'messages.0.role'],
    ['call without a name', toolCall({ name: '' }), 'messages.0.tool_calls.0.function.name'],
    [
      'custom tool call',
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom' }] },
      'messages.0.tool_calls.0',
    ],
    ['old function call', { role: 'assistant', function_call: {} }, 'messages.0.function_call.name'],
    ['recorded audio', { role: 'assistant', audio: { id: 'a' } }, 'messages.0.audio'],
    [
      'image in a system prompt',
      { role: 'system', content: [image('data:image/png;base64,AA==')] },
      'messages.0.content.0.image_url.url',
    ],
  ])('rejects a %s by its path', (_name, message, param) => {
    expect(refusal(() => convertMessages(message))).toEqual(refused(param))
  })
})

function toolCall(definition: object) {
  return {
    role: 'assistant',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', ...definition } }],
  }
}

function image(url: unknown) {
  return { type: 'image_url', image_url: { url, detail: 'auto' } }
}

describe('a conversation of several providers, sent to Anthropic,', () => {
  const turn = (...content: readonly object[]) => ({ role: 'assistant', content })
  const results = (...ids: readonly string[]) => ({
    role: 'user',
    content: ids.map((tool_use_id) => ({ type: 'tool_result', tool_use_id })),
  })
  const use = (id: string, input: object = {}, name = 'f') => ({ type: 'tool_use', id, name, input })
  const said = (...calls: readonly object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
  const called = (id: string, text = '{}', name = 'f') => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  })
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: '' })
  const go = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] }

  it.each([
    ['{"x"', { arguments: '{"x"' }],
    ['[1]', { arguments: '[1]' }],
    ['{}{"in":1}', { in: 1 }],
    ['', {}],
  ])('has the arguments %s as an object', (text, input) => {
    expect(convertMessages(said(called('a', text))).messages).toEqual([turn(use('a', input))])
  })

  it('has each id once, and each result after the call that it answers', () => {
    const messages = [
      said(called('a.1'), called('a:1')),
      result('a:1'),
      result('a.1'),
      said(called('a.1')),
      result('a.1'),
    ]
    expect(convertMessages(...messages).messages).toEqual([
      turn(use('a_1'), use('a_1_2')),
      results('a_1_2', 'a_1'),
      turn(use('a_1_3')),
      results('a_1_3'),
    ])
  })

  it('has a result of a call that was interrupted, which says so', () => {
    const messages = [said(called('a'), called('b')), result('b'), go]
    const content = [{ type: 'text', text: NO_RESULT }]
    const none = { type: 'tool_result', tool_use_id: 'a', content, is_error: true }
    expect(convertMessages(...messages).messages).toEqual([
      turn(use('a'), use('b')),
      { role: 'user', content: [none, ...results('b').content, ...go.content] },
    ])
  })

  it('has calls in the old form and custom calls as tool calls', () => {
    const native = convertMessages(
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":1}' } },
      { role: 'function', name: 'f', content: '' },
      said({ id: 'c', type: 'custom', custom: { name: 'f', input: 'x = 1' } }),
      result('c'),
    )
    expect(native.messages).toEqual([
      turn(use('function_call_0', { a: 1 })),
      results('function_call_0'),
      turn(use('c', { input: 'x = 1' })),
      results('c'),
    ])
  })

  it.each([
    ['thinking_blocks', { content: 'x', thinking_blocks: thoughts() }],
    ['parts of content', { content: [...thoughts(), { type: 'text', text: 'x' }] }],
  ])('has signed thinking from %s', (_name, given) => {
    const { messages } = convertMessages({ role: 'assistant', ...given })
    expect(messages[0]).toEqual(
      turn(
        { type: 'thinking', thinking: 'a', signature: 's' },
        { type: 'redacted_thinking', data: 'd' },
        { type: 'text', text: 'x' },
      ),
    )
  })

  it('has unsigned thinking for models that want it back, which Claude refuses', () => {
    const messages = [{ role: 'assistant', content: 'x', reasoning_content: 'Hm.' }]
    const text = { type: 'text', text: 'x' }
    expect(convert({ messages }).messages).toEqual([turn(text)])
    expect(convert({ model: 'kimi-k2', messages }).messages).toEqual([
      turn({ type: 'thinking', thinking: 'Hm.', signature: '' }, text),
    ])
  })

  it('has no budget for thinking while it answers calls of another provider', () => {
    const budget = { thinking: { type: 'enabled', budget_tokens: 1_024 } }
    const foreign = [go, said(called('a')), result('a')]
    const thought = { reasoning_details: [{ type: 'reasoning.text', text: 'a', signature: 's' }] }
    const own = [go, { ...said(called('a')), ...thought }, result('a'), said(called('b')), result('b')]
    expect(convert({ messages: foreign, ...budget })).not.toHaveProperty('thinking')
    expect(convert({ messages: foreign, reasoning: { max_tokens: 1_024 } })).not.toHaveProperty('thinking')
    for (const messages of [own, [...foreign, { role: 'assistant', content: 'x' }, go]]) {
      expect(convert({ messages, ...budget })).toMatchObject(budget)
    }
    const adaptive = { thinking: { type: 'adaptive' } }
    expect(convert({ messages: foreign, ...adaptive })).toMatchObject(adaptive)
  })
})

function thoughts() {
  return [
    { type: 'thinking', thinking: 'a', signature: 's' },
    { type: 'redacted_thinking', data: 'd' },
  ]
}

describe("a conversion of images and files to Anthropic's format", () => {
  it('sends inline images as base64 and https images as URLs', () => {
    expect(convertParts(image('data:image/png;base64,AAEC'), image('HTTPS://example.com/a.png'))).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAEC' } },
      { type: 'image', source: { type: 'url', url: 'HTTPS://example.com/a.png' } },
    ])
  })

  it('uses the only name for JPEG that the API accepts', () => {
    expect(convertParts(image('data:image/jpg;base64,AAEC'))).toMatchObject([
      { source: { media_type: 'image/jpeg', data: 'AAEC' } },
    ])
  })

  it('sends PDF and text files as documents', () => {
    const file = (file_data: string) => ({ type: 'file', file: { file_data, filename: 'a' } })
    expect(
      convertParts(
        file('data:application/pdf;base64,AAEC'),
        file('https://example.com/a.pdf'),
        file('data:text/plain;charset=utf-8,Gr%C3%BC%C3%9Fe'),
      ),
    ).toEqual([
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAEC' },
        title: 'a',
      },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, title: 'a' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' }, title: 'a' },
    ])
  })

  it.each([
    'http://127.0.0.1/a.png',
    'file:///etc/passwd',
    'ftp://example.com/a.png',
    'https://',
    '//example.com/a.png',
    'data:base64,AA',
    'data:image/png;base64',
    'data:image/png,%E0%A4%A',
    42,
    null,
  ])('rejects an image at %s', (url) => {
    expect(refusal(() => convertParts(image(url)))).toEqual(refused('messages.0.content.0.image_url.url'))
  })

  it.each([
    [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }, 'messages.0.content.0.type'],
    [{ type: 'file', file: { file_id: 'file-1' } }, 'messages.0.content.0.file.file_id'],
    [
      { type: 'file', file: { file_data: 'data:video/mp4;base64,AA' } },
      'messages.0.content.0.file.file_data',
    ],
    [{ type: 'text' }, 'messages.0.content.0.text'],
    ['text', 'messages.0.content.0'],
  ])('rejects the part %j', (part, param) => {
    expect(refusal(() => convertParts(part))).toEqual(refused(param))
  })

  it('passes on cache marks', () => {
    expect(convertParts({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })).toEqual([
      { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } },
    ])
  })

  it('applies a mark on a message, as OpenRouter clients set it, to its last part', () => {
    const cache_control = { type: 'ephemeral' }
    const marked = { type: 'text', text: 'b', cache_control }
    const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
    const native = convertMessages(
      { role: 'system', content: 'b', cache_control },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
        cache_control,
      },
      { role: 'assistant', content: 'b', tool_calls: [call], cache_control },
      { role: 'tool', tool_call_id: 'a', content: 'b', cache_control },
      { role: 'user', content: '', cache_control },
    )
    expect(native.system).toEqual([marked])
    expect(native.messages).toMatchObject([
      { content: [{ type: 'text', text: 'a' }, marked] },
      { content: [marked, { type: 'tool_use' }] },
      { content: [{ type: 'tool_result', content: [marked] }] },
    ])
    expect(native.messages[0]?.content[0]).not.toHaveProperty('cache_control')
  })
})

describe("a conversion of tools to Anthropic's format", () => {
  const tool = { type: 'function', function: { name: 'look', description: 'Looks', strict: true } }

  it('sends a function’s schema, or an empty one if it has none', () => {
    const parameters = { type: 'object', properties: { x: { type: 'number' } } }
    const native = convert({ tools: [tool, { type: 'function', function: { name: 'see', parameters } }] })
    expect(native.tools).toEqual([
      { name: 'look', description: 'Looks', strict: true, input_schema: { type: 'object', properties: {} } },
      { name: 'see', input_schema: parameters },
    ])
    expect(native.tool_choice).toBeUndefined()
  })

  it.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [
      { type: 'function', function: { name: 'look' } },
      { type: 'tool', name: 'look' },
    ],
  ])('converts tool_choice %j', (tool_choice, expected) => {
    expect(convert({ tools: [tool], tool_choice }).tool_choice).toEqual(expected)
  })

  it('converts parallel_tool_calls to its opposite', () => {
    expect(convert({ tools: [tool], parallel_tool_calls: false }).tool_choice).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    })
    expect(convert({ tools: [tool], parallel_tool_calls: true }).tool_choice).toBeUndefined()
  })

  it('omits a choice if there is nothing to choose from, and rejects one that needs a tool', () => {
    expect(convert({ tools: [], tool_choice: 'auto' })).toEqual(convert({}))
    expect(refusal(() => convert({ tool_choice: 'required' }))).toEqual(refused('tool_choice'))
  })

  it('passes on the provider’s own tools unchanged and rejects custom ones', () => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 }
    const marked = { ...search, cache_control: { type: 'ephemeral' } }
    expect(convert({ tools: [search, marked] }).tools).toEqual([search, marked])
    expect(refusal(() => convert({ tools: [{ type: 'custom', custom: { name: 'f' } }] }))).toEqual(
      refused('tools.0.type'),
    )
    expect(refusal(() => convert({ tool_choice: { type: 'allowed_tools' } }))).toEqual(refused('tool_choice'))
  })
})

describe("a conversion of parameters to Anthropic's format", () => {
  it('converts limits, stops and sampling', () => {
    expect(
      convert({
        max_completion_tokens: 9,
        max_tokens: 8,
        stop: 'END',
        temperature: 0.5,
        top_k: 3,
        user: 'u',
      }),
    ).toMatchObject({
      max_tokens: 9,
      stop_sequences: ['END'],
      temperature: 0.5,
      top_k: 3,
      metadata: { user_id: 'u' },
    })
    const both = { temperature: 0.5, top_p: 0.9 }
    expect(convert(both)).not.toHaveProperty('top_p')
    expect(lossesOf(asked(both), convert(both))).toEqual(['top_p'])
    expect(convert({ ...both, model: 'kimi-k2' })).toMatchObject(both)
    expect(convert({ max_tokens: 1, stop: ['a', 'b'] })).toMatchObject({
      max_tokens: 1,
      stop_sequences: ['a', 'b'],
    })
  })

  it('asks for a stream only if one is requested', () => {
    expect(convert({ stream: true, stream_options: { include_usage: true } }, true).stream).toBe(true)
    expect(convert({ stream: false })).toEqual(convert({}))
  })

  it('omits values that ask for the default behaviour', () => {
    const neutral = {
      n: 1,
      temperature: 1,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      logprobs: false,
      seed: null,
      store: false,
      service_tier: 'auto',
      modalities: ['text'],
    }
    expect(convert(neutral)).toEqual(convert({}))
  })

  it.each([
    ['n', 2],
    ['seed', 7],
    ['logprobs', true],
    ['frequency_penalty', 0.1],
    ['logit_bias', { 1: 2 }],
    ['service_tier', 'priority'],
    ['modalities', ['text', 'audio']],
    ['functions', [{ name: 'f' }]],
    ['max_tokens', -1],
    ['mcp_servers', [{}]],
    ['speed', 'fast'],
    ['anything', 0],
    ['stop', [1]],
    ['thinking', true],
    ['tools', {}],
  ])('rejects %s: %j by name', (field, value) => {
    expect(refusal(() => convert({ [field]: value }))).toEqual(refused(field))
  })

  it('uses the API’s own structured output', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const output_config = { format: { type: 'json_schema', schema } }
    const json_schema = { name: 'answer', strict: true, schema }
    expect(convert({ response_format: { type: 'json_schema', json_schema } })).toMatchObject({
      output_config,
    })
    expect(convert({ response_format: { type: 'json_object', schema } })).toMatchObject({ output_config })
    expect(convert({ response_format: { type: 'text' } })).toEqual(convert({}))
    for (const type of ['json_object', 'grammar']) {
      expect(refusal(() => convert({ response_format: { type } }))).toEqual(refused('response_format.type'))
    }
    expect(refusal(() => convert({ response_format: { type: 'json_schema' } }))).toEqual(
      refused('response_format.json_schema'),
    )
  })
})

describe('a schema of a reply that Claude would refuse', () => {
  const sent = (schema: object) =>
    convert({ response_format: { type: 'json_schema', json_schema: { schema } } }).output_config

  it('gets additionalProperties: false in each object that names its properties', () => {
    const open = { type: 'object', properties: { a: { type: 'string' } } }
    const closed = { ...open, additionalProperties: false }
    const list = (items: object) => ({ anyOf: [{ type: 'array', items }, { type: 'null' }] })
    const root = { type: 'object', additionalProperties: false }
    expect(sent({ ...root, properties: { one: open, many: list(open) }, $defs: { other: open } })).toEqual({
      format: {
        type: 'json_schema',
        schema: { ...root, properties: { one: closed, many: list(closed) }, $defs: { other: closed } },
      },
    })
  })

  it('is refused by name if it is of an object without properties', () => {
    expect(refusal(() => sent({ type: 'object' }))).toEqual(refused('response_format.json_schema.schema'))
  })
})

describe('reasoning in a request to Anthropic', () => {
  it('turns an effort into a share of the output on models that think within a budget', () => {
    const thinkingOf = (fields: object) => convert(fields).thinking
    const budget = (budget_tokens: number) => ({ type: 'enabled', budget_tokens })
    expect(thinkingOf({ reasoning_effort: 'high', max_tokens: 10_000 })).toEqual(budget(8_000))
    expect(thinkingOf({ reasoning_effort: 'minimal', max_tokens: 2_000 })).toEqual(budget(1_024))
    expect(thinkingOf({ reasoning: { effort: 'low' }, max_tokens: 10_000 })).toEqual(budget(2_000))
    expect(thinkingOf({ reasoning: { enabled: true } })).toEqual(budget(2_048))
    expect(thinkingOf({ reasoning: { max_tokens: 3_000 } })).toEqual(budget(3_000))
    expect(thinkingOf({ thinking: { type: 'disabled' } })).toEqual({ type: 'disabled' })
    expect(refusal(() => convert({ reasoning_effort: 'low', max_tokens: 1_024 }))).toEqual(
      refused('reasoning_effort'),
    )
  })

  it.each(['claude-opus-4-6', 'claude-opus-4.7', 'claude-sonnet-5', 'eu.anthropic.claude-fable-5-1-v1:0'])(
    'leaves the budget to %s',
    (model) => {
      expect(convert({ model, reasoning_effort: 'xhigh' })).toMatchObject({
        thinking: { type: 'adaptive' },
        output_config: { effort: 'xhigh' },
      })
      expect(convert({ model, reasoning_effort: 'minimal' })).toMatchObject({
        output_config: { effort: 'low' },
      })
    },
  )

  it.each([
    'claude-3-7-sonnet-20250219',
    'claude-opus-4-20250514',
    'claude-sonnet-4@20250514',
    'claude-opus-4-1',
    'claude-haiku-4-5-20251001',
    'some-other-model',
  ])('sends a budget to %s', (model) => {
    expect(convert({ model, reasoning_effort: 'medium' })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 2_048 },
    })
  })

  it.each([
    [{ temperature: 0.5, top_p: 0.5, top_k: 3 }, ['temperature', 'top_p', 'top_k']],
    [{ temperature: 1, top_p: 0.97 }, []],
    [{ top_p: 0.9 }, ['top_p']],
  ])('leaves out settings that the API refuses beside it, and names them: %j', (settings, left) => {
    const request = asked({ reasoning_effort: 'low', max_tokens: 10_000, ...settings })
    const native = toNativeRequest(request, false)
    expect(native).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 2_000 } })
    expect(lossesOf(request, native)).toEqual(left)
    for (const name of ['temperature', 'top_k', ...left]) expect(native).not.toHaveProperty(name)
  })

  it.each(['required', { type: 'function', function: { name: 'look' } }])(
    'yields to a tool that must be called, since the API takes one of the two: %j',
    (choice) => {
      const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
      const request = asked({ reasoning_effort: 'low', temperature: 0.5, tools, tool_choice: choice })
      const native = toNativeRequest(request, false)
      expect(native).toMatchObject({ temperature: 0.5, tool_choice: {} })
      expect(native).not.toHaveProperty('thinking')
      expect(lossesOf(request, native)).toEqual(['reasoning_effort'])
    },
  )

  it('is never a signature that OpenAI made, which a server in between may have sent as that of a thought', () => {
    const details = [
      { type: 'reasoning.text', text: 'One', signature: 'gAAAAABo3w', index: 0 },
      { type: 'reasoning.text', text: 'Two', signature: 'EqQB', index: 1 },
    ]
    const reply = { role: 'assistant', content: 'Hm.', reasoning_details: details }
    expect(convertMessages({ role: 'user', content: 'Hi' }, reply).messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'Two', signature: 'EqQB' },
      { type: 'text', text: 'Hm.' },
    ])
  })

  it('can be turned off, and is rejected if it cannot be read', () => {
    expect(convert({ reasoning_effort: 'none' }).thinking).toEqual({ type: 'disabled' })
    expect(convert({ reasoning: { enabled: false } }).thinking).toEqual({ type: 'disabled' })
    expect(refusal(() => convert({ reasoning_effort: 'wild' }))).toEqual(refused('reasoning_effort'))
    expect(refusal(() => convert({ reasoning: { exclude: true } }))).toEqual(refused('reasoning.exclude'))
    expect(refusal(() => convert({ reasoning: { max_tokens: 1.5 } }))).toEqual(
      refused('reasoning.max_tokens'),
    )
    expect(refusal(() => convert({ reasoning: 'high' }))).toEqual(refused('reasoning'))
  })
})
