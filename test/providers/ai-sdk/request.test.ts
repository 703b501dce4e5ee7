import { describe, expect, it } from 'vitest'
import { fakeModel, optionsFor, runModel, type Version } from './models.js'

const VERSIONS: readonly Version[] = ['v2', 'v3', 'v4']
const PNG = 'data:image/png;base64,AAEC'

const promptOf = async (messages: readonly object[], version: Version = 'v3', supportedUrls = {}) => {
  const { options, error } = await optionsFor({ messages }, { version, supportedUrls })
  return error ?? options.prompt
}

/** A reply with the call whose result follows. */
const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
}

describe('the AI SDK prompt', () => {
  it('has the right form for each role', async () => {
    const call = (id: string, name: string) => ({
      id,
      type: 'function',
      function: { name, arguments: '{"x":1}' },
    })
    const prompt = await promptOf([
      { role: 'developer', content: [{ type: 'text', text: 'One' }] },
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: 'Hm',
        reasoning_content: 'Well',
        tool_calls: [call('a', 'look'), call('b', 'see')],
      },
      { role: 'tool', tool_call_id: 'b', content: 'blue' },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'red' }] },
      { role: 'user', content: 'And?' },
    ])
    const result = (toolCallId: string, toolName: string, value: string) => ({
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: 'text', value },
    })
    const text = (words: string) => ({ type: 'text', text: words })
    expect(prompt).toEqual([
      { role: 'system', content: 'One' },
      { role: 'user', content: [text('Hi')] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Well' },
          text('Hm'),
          { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: { x: 1 } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'see', input: { x: 1 } },
        ],
      },
      { role: 'tool', content: [result('b', 'see', 'blue'), result('a', 'look', 'red')] },
      { role: 'user', content: [text('And?')] },
    ])
  })

  it.each(VERSIONS)('contains inline data in the form of %s', async (version) => {
    const content = [
      { type: 'image_url', image_url: { url: PNG } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AAEC', filename: 'a.pdf' } },
    ]
    const data = version === 'v4' ? { type: 'data', data: 'AAEC' } : 'AAEC'
    expect(await promptOf([{ role: 'user', content }], version)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data },
          { type: 'file', mediaType: 'application/pdf', data, filename: 'a.pdf' },
        ],
      },
    ])
  })

  it.each(VERSIONS)('contains a URL that the model accepts in the form of %s', async (version) => {
    const url = 'https://files.example/a.png'
    const prompt = await promptOf(
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
      version,
      {
        'image/*': [/^https:\/\/files\.example\//g],
      },
    )
    const data = version === 'v4' ? { type: 'url', url: new URL(url) } : new URL(url)
    expect(prompt).toEqual([{ role: 'user', content: [{ type: 'file', mediaType: 'image/*', data }] }])
  })

  it.each([
    ['no URLs at all', {}],
    ['URLs of another type', { 'application/pdf': [/^https:/] }],
    ['other URLs', { 'image/*': [/^https:\/\/elsewhere\.example\//] }],
    ['plain http', { '*': [/^http:/] }],
  ])('rejects a URL if the model accepts %s', async (_name, supportedUrls) => {
    const url = _name === 'plain http' ? 'http://files.example/a.png' : 'https://files.example/a.png'
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
    expect(await promptOf(messages, 'v3', supportedUrls)).toMatchObject({
      reason: 'unsupported-request',
      param: 'messages.0.content.0.image_url.url',
    })
  })

  it.each([
    ['*', 'https://a.example/a.png', true],
    ['*/*', 'https://a.example/a.png', true],
    ['image/png', 'https://a.example/a.png', true],
    ['audio/*', 'https://a.example/a.png', false],
  ])('matches the media type %s', async (pattern, url, isTaken) => {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
    const prompt = await promptOf(messages, 'v3', { [pattern]: [/^https:/] })
    expect(Array.isArray(prompt)).toBe(isTaken)
  })

  it.each([
    ['v2', { type: 'media', data: 'AAEC', mediaType: 'image/png' }],
    ['v3', { type: 'image-data', data: 'AAEC', mediaType: 'image/png' }],
    ['v4', { type: 'file', data: { type: 'data', data: 'AAEC' }, mediaType: 'image/png' }],
  ] as const)('contains an image in a tool result in the form of %s', async (version, part) => {
    const content = [
      { type: 'text', text: 'Here' },
      { type: 'image_url', image_url: { url: PNG } },
    ]
    expect(await promptOf([called, { role: 'tool', tool_call_id: 'a', content }], version)).toMatchObject([
      {},
      {
        role: 'tool',
        content: [{ output: { type: 'content', value: [{ type: 'text', text: 'Here' }, part] } }],
      },
    ])
  })

  it('contains a URL in a tool result if the version has a form for it', async () => {
    const messages = [
      called,
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [{ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }],
      },
    ]
    const urls = { '*': [/^https:/] }
    expect(await promptOf(messages, 'v2', urls)).toMatchObject({ reason: 'unsupported-request' })
    expect(await promptOf(messages, 'v3', urls)).toMatchObject([
      {},
      { content: [{ output: { value: [{ type: 'image-url', url: 'https://a.example/a.png' }] } }] },
    ])
    expect(await promptOf(messages, 'v4', urls)).toMatchObject([
      {},
      { content: [{ output: { value: [{ type: 'file', data: { type: 'url' } }] } }] },
    ])
  })

  it('has words before a reply at the beginning, and one reply for several, for Gemini, which takes calls only behind others', async () => {
    const messages = [
      { role: 'assistant', content: 'One' },
      { role: 'system', content: 'Be kind' },
      called,
      { role: 'tool', tool_call_id: 'a', content: 'red' },
      { role: 'user', content: 'Hi' },
    ]
    const rolesOf = async (provider: string) => {
      const { options } = await optionsFor({ messages }, { provider })
      return options.prompt?.map(({ role }: { role: string }) => role)
    }
    const roles = ['system', 'user', 'assistant', 'tool', 'user']
    expect(await rolesOf('google.generative-ai')).toEqual(roles)
    expect(await rolesOf('openai.chat')).toEqual(['assistant', 'system', 'assistant', 'tool', 'user'])
  })

  it('marks the end of a cached prefix', async () => {
    const content = [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }]
    const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    expect(
      await promptOf([
        { role: 'system', content },
        { role: 'user', content },
      ]),
    ).toEqual([
      { role: 'system', content: 'x', providerOptions },
      { role: 'user', content: [{ type: 'text', text: 'x', providerOptions }] },
    ])
  })
})

describe('the settings of an AI SDK call', () => {
  it("have the specification's names", async () => {
    const { options } = await optionsFor({
      max_completion_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 3,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      seed: 7,
      stop: 'END',
      response_format: { type: 'json_object' },
      user: 'u',
      parallel_tool_calls: true,
      stream_options: {},
    })
    const { prompt, ...settings } = options
    expect(settings).toEqual({
      maxOutputTokens: 9,
      temperature: 0.5,
      topP: 0.9,
      topK: 3,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      seed: 7,
      stopSequences: ['END'],
      responseFormat: { type: 'json' },
    })
  })

  it('include a schema', async () => {
    const json_schema = { name: 'answer', description: 'An answer', strict: true, schema: { type: 'object' } }
    const { options } = await optionsFor({ response_format: { type: 'json_schema', json_schema } })
    expect(options.responseFormat).toEqual({
      type: 'json',
      name: 'answer',
      description: 'An answer',
      schema: { type: 'object' },
    })
  })

  it.each(VERSIONS)('include tools in the form of %s', async (version) => {
    const tool = { type: 'function', function: { name: 'look', description: 'Looks', strict: true } }
    const { options } = await optionsFor({ tools: [tool], tool_choice: 'required' }, { version })
    expect(options.tools).toEqual([
      {
        type: 'function',
        name: 'look',
        description: 'Looks',
        inputSchema: { type: 'object', properties: {} },
        ...(version === 'v2' ? {} : { strict: true }),
      },
    ])
    expect(options.toolChoice).toEqual({ type: 'required' })
    const named = { type: 'function', function: { name: 'look' } }
    const choosing = await optionsFor({ tools: [tool], tool_choice: named }, { version })
    expect(choosing.options.toolChoice).toEqual({ type: 'tool', toolName: 'look' })
  })

  it.each([
    ['n', 2],
    ['logprobs', true],
    ['temperature', 'hot'],
    ['max_tokens', -1],
    ['max_completion_tokens', 'many'],
    ['anything', 0],
    ['tool_choice', 'required'],
  ])('reject %s: %j by name, before the model is called', async (field, value) => {
    const { error, called } = await optionsFor({ [field]: value })
    expect(error).toMatchObject({ reason: 'unsupported-request', param: field })
    expect(called).toBe(false)
  })

  it('reject parallel_tool_calls: false with tools, and leave it out without them', async () => {
    const fields = { parallel_tool_calls: false }
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const { error } = await optionsFor({ ...fields, tools })
    expect(error).toMatchObject({ reason: 'unsupported-request', param: 'parallel_tool_calls' })
    expect((await optionsFor(fields)).error).toBeUndefined()
  })

  it('demand a strict schema only if the client does, and let the Responses API store nothing', async () => {
    const schema = (strict?: boolean) => ({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object' }, strict },
      },
    })
    const loose = { strictJsonSchema: false }
    const to = async (provider: string, fields: object) =>
      (await optionsFor(fields, { provider })).options.providerOptions
    expect(await to('acme.chat', schema())).toEqual({ openai: loose, openaiCompatible: loose })
    expect(await to('acme.chat', schema(true))).toBeUndefined()
    expect(await to('openai.responses', schema(true))).toMatchObject({ openai: { store: false } })
    expect(await to('azure.responses', schema())).toMatchObject({ azure: { store: false, ...loose } })
  })

  it('have an output limit that the Responses API takes', async () => {
    const to = async (provider: string) =>
      (await optionsFor({ max_tokens: 1 }, { provider })).options.maxOutputTokens
    expect(await to('openai.responses')).toBe(16)
    expect(await to('openai.chat')).toBe(1)
    expect(await to('anthropic.messages')).toBe(1)
  })

  it('reject tools that are not functions', async () => {
    const { error } = await optionsFor({ tools: [{ type: 'web_search' }] })
    expect(error).toMatchObject({ reason: 'unsupported-request', param: 'tools.0.type' })
  })

  it('include an effort since version 4', async () => {
    const { options } = await optionsFor({ reasoning_effort: 'high' }, { version: 'v4' })
    expect(options.reasoning).toBe('high')
    for (const version of ['v2', 'v3'] as const) {
      const { error } = await optionsFor({ reasoning_effort: 'high' }, { version })
      expect(error).toMatchObject({ reason: 'unsupported-request', param: 'reasoning_effort' })
    }
    const { error } = await optionsFor({ reasoning: { max_tokens: 5 } }, { version: 'v4' })
    expect(error).toMatchObject({ param: 'reasoning.max_tokens' })
  })

  it('include the options that the host translates', async () => {
    const parameters = {
      reasoning_effort: (value: unknown) => ({ fake: { effort: value } }),
      verbosity: (value: unknown) => ({ fake: { verbosity: value }, other: { a: 1 } }),
      absent: () => ({ fake: { absent: true } }),
    }
    const request = { reasoning_effort: 'high', verbosity: 'low', absent: null }
    const { options } = await optionsFor(request, { version: 'v2' }, { parameters })
    expect(options.providerOptions).toEqual({
      fake: { effort: 'high', verbosity: 'low' },
      other: { a: 1 },
    })
  })
})

describe('an AI SDK warning about an ignored option', () => {
  const tool = { type: 'function', function: { name: 'look' } }
  const REQUESTS = [
    ['topK', 'top_k', { top_k: 5 }],
    ['topP', 'top_p', { top_p: 0.5 }],
    ['temperature', 'temperature', { temperature: 2 }],
    ['seed', 'seed', { seed: 7 }],
    ['presencePenalty', 'presence_penalty', { presence_penalty: 1 }],
    ['frequencyPenalty', 'frequency_penalty', { frequency_penalty: 1 }],
    ['stopSequences', 'stop', { stop: 'END' }],
    ['maxOutputTokens', 'max_tokens', { max_tokens: 9, max_completion_tokens: null }],
    ['maxOutputTokens', 'max_completion_tokens', { max_tokens: 9, max_completion_tokens: 8 }],
    ['responseFormat', 'response_format', { response_format: { type: 'json_object' } }],
    ['tools', 'tools', { tools: [tool] }],
    ['toolChoice', 'tool_choice', { tools: [tool], tool_choice: 'required' }],
  ] as const
  const ignoring = (field: string) => [{ type: 'mended', kind: 'parameter-ignored', dropped: field }]
  const told = async (warning: object, asked: object, version: Version = 'v3', settings = {}) => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...asked }
    const warnings = [{ type: 'other', message: 'topK' }, warning]
    const finishReason = version === 'v2' ? 'stop' : { unified: 'stop', raw: 'stop' }
    const parts = [
      { type: 'stream-start', warnings },
      { type: 'text-delta', id: 't', delta: 'Hello' },
      { type: 'finish', usage: {}, finishReason },
    ]
    const result = { content: [{ type: 'text', text: 'Hello' }], finishReason, usage: {}, warnings }
    const model = fakeModel({ version, parts, result })
    const [streamed, whole] = [
      await runModel(model, { request, stream: true }, settings),
      await runModel(model, { request, stream: false }, settings),
    ]
    expect([streamed.error, whole.error]).toEqual([undefined, undefined])
    const ignored = [streamed, whole].map(({ events }) => events.filter(({ type }) => type === 'mended'))
    expect(ignored[1]).toEqual(ignored[0])
    expect(JSON.stringify([streamed.events, whole.events]).match(/"Hello"/g)).toHaveLength(2)
    return ignored[0]
  }

  it.each(REQUESTS)('for %s reports %s, and the reply continues', async (name, param, asked) => {
    const reported = ignoring(param)
    expect(await told({ type: 'unsupported-setting', setting: name }, asked, 'v2')).toEqual(reported)
    expect(await told({ type: 'unsupported', feature: name }, asked, 'v3')).toEqual(reported)
    expect(await told({ type: 'unsupported', feature: name, details: 'x' }, asked, 'v4')).toEqual(reported)
  })

  it('reports tools or reasoning if it is about those', async () => {
    const tools = { tools: [tool] }
    const functionTool = { type: 'function', name: 'look', inputSchema: {} }
    expect(await told({ type: 'unsupported-tool', tool: functionTool }, tools, 'v2')).toEqual(
      ignoring('tools'),
    )
    expect(await told({ type: 'unsupported', feature: 'function tool look' }, tools)).toEqual(
      ignoring('tools'),
    )
    const effort = { reasoning_effort: 'high' }
    expect(await told({ type: 'unsupported', feature: 'reasoning' }, effort, 'v4')).toEqual(
      ignoring('reasoning_effort'),
    )
  })

  it('reports the field that the host translated to that option', async () => {
    const settings = {
      parameters: { reasoning_effort: (value: unknown) => ({ fake: { effort: value } }), top_k: () => ({}) },
    }
    const asked = { reasoning_effort: 'high', top_k: 5 }
    for (const setting of ['effort', 'providerOptions.fake.effort']) {
      expect(await told({ type: 'unsupported-setting', setting }, asked, 'v2', settings)).toEqual(
        ignoring('reasoning_effort'),
      )
    }
    expect(await told({ type: 'unsupported', feature: 'topK' }, asked, 'v3', settings)).toEqual([])
  })

  it.each([
    ['a hint', { type: 'other', message: 'topK is not supported' }],
    ['a deprecation', { type: 'deprecated', setting: 'topK', message: 'Use topP.' }],
    ['a workaround', { type: 'compatibility', feature: 'topK' }],
    ['an option that no field asked for', { type: 'unsupported', feature: 'topP' }],
    ['an option that only the host set', { type: 'unsupported', feature: 'providerOptions.fake.effort' }],
    ['a tool that only the host set', { type: 'unsupported-tool', tool: { type: 'provider-defined' } }],
    ['nothing', { type: 'unsupported' }],
  ])('is not reported if it is about %s', async (_name, warning) => {
    expect(await told(warning, { top_k: 5, tools: [tool] })).toEqual([])
  })

  it('is not reported for a temperature of 1, the default of models without that setting', async () => {
    const warning = { type: 'unsupported', feature: 'temperature' }
    expect(await told(warning, { temperature: 1 })).toEqual([])
    expect(await told(warning, { temperature: 0.9 })).toEqual(ignoring('temperature'))
  })

  it.each([undefined, null, 'none', [null, 5]])(
    'does not fail the call if the warnings are %j',
    async (warnings) => {
      const request = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], top_k: 5 }
      const result = { content: [], finishReason: { unified: 'stop', raw: 'stop' }, warnings }
      expect((await runModel(fakeModel({ result }), { request, stream: false })).error).toBeUndefined()
    },
  )
})
