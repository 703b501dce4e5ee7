import { describe, expect, it } from 'vitest'
import { deltasOf, fakeModel, runModel, usageOf, type Version } from './models.js'

const nested = {
  inputTokens: { total: 21, noCache: 10, cacheRead: 8, cacheWrite: 3 },
  outputTokens: { total: 13, text: 9, reasoning: 4 },
}
const flat = { inputTokens: 21, outputTokens: 13, totalTokens: 34, reasoningTokens: 4, cachedInputTokens: 8 }

const finishOf = (version: Version, unified: string, raw?: string) =>
  version === 'v2' ? unified : { unified, raw }

const stream = (parts: readonly unknown[], version: Version = 'v3', provider?: string) =>
  runModel(fakeModel({ version, parts, ...(provider ? { provider } : {}) }))

const deltasFrom = async (parts: readonly unknown[]) => deltasOf((await stream(parts)).events)

describe('an AI SDK stream', () => {
  it.each(['v2', 'v3', 'v4'] as const)('of %s becomes deltas, an end and usage', async (version) => {
    const usage = version === 'v2' ? flat : nested
    const { events, terminated } = await stream(
      [
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata', id: 'resp_1' },
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'Hello' },
        { type: 'text-delta', id: 't', delta: '' },
        { type: 'raw', rawValue: {} },
        { type: 'finish', usage, finishReason: finishOf(version, 'stop', 'end_turn') },
      ],
      version,
    )
    const step = (delta: object) => ({
      type: 'deltas',
      deltas: [{ choice: 0, ...delta }],
      labels: { id: 'resp_1' },
    })
    const native = version === 'v2' ? undefined : 'end_turn'
    const cacheWrite = version === 'v2' ? undefined : 3
    const total = version === 'v2' ? { total: flat.totalTokens } : {}
    expect(events).toEqual([
      step({ type: 'text', kind: 'thought', text: 'Hm' }),
      step({ type: 'text', kind: 'text', text: 'Hello' }),
      step({ type: 'end', reason: 'stop', native }),
      { type: 'usage', usage: { prompt: 21, cached: 8, cacheWrite, completion: 13, reasoning: 4, ...total } },
    ])
    expect(terminated).toBe(true)
  })

  it('reports calls that come in pieces, whole, or without arguments', async () => {
    const deltas = await deltasFrom([
      { type: 'tool-input-start', id: 'a', toolName: 'look' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x":' },
      { type: 'tool-input-delta', id: 'a', delta: '1}' },
      { type: 'tool-input-end', id: 'a' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'see', input: '{"y":2}' },
      { type: 'tool-input-start', id: 'c', toolName: 'wait' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'wait', input: '' },
      { type: 'tool-input-start', id: 'd', toolName: 'stop' },
      { type: 'finish', usage: nested, finishReason: { unified: 'tool-calls', raw: 'tool_use' } },
    ])
    const start = (call: number, id: string, name: string, input: string) => [
      { type: 'call', call, form: 'function', id, name, input },
    ]
    const more = (call: number, input: string) => [{ type: 'call', call, form: 'function', input }]
    expect(deltas).toEqual([
      start(0, 'a', 'look', ''),
      more(0, '{"x":'),
      more(0, '1}'),
      start(1, 'b', 'see', '{"y":2}'),
      start(2, 'c', 'wait', ''),
      more(2, '{}'),
      start(3, 'd', 'stop', ''),
      more(3, '{}'),
      [{ type: 'end', reason: 'tool_calls', native: 'tool_use' }],
    ])
  })

  it('has two calls with one id if their inputs differ, and one if it is repeated', async () => {
    const call = (input: string) => ({ type: 'tool-call', toolCallId: 'a', toolName: 'look', input })
    const deltas = await deltasFrom([call('{"x":1}'), call('{"x":1}'), call('{"x":2}')])
    expect(deltas).toMatchObject([[{ call: 0, input: '{"x":1}' }], [{ call: 1, input: '{"x":2}' }]])
  })

  it('skips calls that the provider executed itself, and unknown parts', async () => {
    expect(
      await deltasFrom([
        { type: 'tool-input-start', id: 'a', toolName: 'web_search', providerExecuted: true },
        { type: 'tool-input-delta', id: 'a', delta: '{}' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'web_search', input: '{}', providerExecuted: true },
        { type: 'tool-call', toolCallId: 'b', toolName: 'web_search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'a', toolName: 'web_search', result: {} },
        { type: 'never-heard-of' },
      ]),
    ).toEqual([])
  })

  it('reports sources as annotations and images as images', async () => {
    const image = (data: unknown, mediaType = 'image/png') => ({ type: 'file', mediaType, data })
    const deltas = await deltasFrom([
      { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example', title: 'A' },
      { type: 'source', sourceType: 'document', id: 's', title: 'B' },
      image('AAEC'),
      image(new Uint8Array([0, 1, 2])),
      image({ type: 'data', data: new Uint8Array([0, 1, 2]) }),
      image({ type: 'url', url: new URL('https://a.example/a.png') }),
      image('AAEC', 'application/pdf'),
    ])
    const imageAt = (address: string) => [
      { type: 'image', address, image: { type: 'image_url', image_url: { url: address } } },
    ]
    const inline = imageAt('data:image/png;base64,AAEC')
    const citation = { url: 'https://a.example', title: 'A', start_index: 0, end_index: 0 }
    expect(deltas).toEqual([
      [{ type: 'annotation', annotation: { type: 'url_citation', url_citation: citation } }],
      inline,
      inline,
      inline,
      imageAt('https://a.example/a.png'),
    ])
  })

  it.each([
    ['v2', 'tool-calls', undefined, 'tool_calls'],
    ['v2', 'content-filter', undefined, 'content_filter'],
    ['v2', 'other', undefined, 'other'],
    ['v3', 'length', 'MAX', 'length'],
    ['v3', 'other', 'strange', 'other'],
    ['v3', 'other', 'strange', 'other', 'openrouter'],
    ['v4', 'error', undefined, 'error'],
  ] as const)(
    'of %s that finishes with %s (%s) reports %s',
    async (version, unified, raw, expected, provider?: string) => {
      const outcome = await stream(
        [{ type: 'finish', usage: {}, finishReason: finishOf(version, unified, raw) }],
        version,
        provider,
      )
      expect(deltasOf(outcome.events)).toMatchObject([[{ type: 'end', reason: expected }]])
      expect(outcome.terminated).toBe(true)
    },
  )

  it.each([
    ['v2', 'unknown', undefined],
    ['v2', 'other', 'openrouter'],
    ['v3', { unified: 'other', raw: undefined }, undefined],
    ['v4', { unified: 'interrupted', raw: undefined }, undefined],
  ] as const)(
    'of %s is incomplete if the package made up the finish reason',
    async (version, finishReason, provider) => {
      const text = { type: 'text-delta', id: 't', delta: 'Hel' }
      const { events, terminated } = await stream(
        [text, { type: 'finish', usage: nested, finishReason }],
        version,
        provider,
      )
      expect(terminated).toBe(false)
      expect(deltasOf(events)).toEqual([[{ type: 'text', kind: 'text', text: 'Hel' }]])
    },
  )

  it('of v2 that ends with a reason unknown to its package is complete if its output was counted', async () => {
    const text = { type: 'text-delta', id: 't', delta: 'Hello' }
    const ending = (usage: object, provider?: string) =>
      stream([text, { type: 'finish', usage, finishReason: 'unknown' }], 'v2', provider)
    const { events, terminated } = await ending(flat)
    expect(terminated).toBe(true)
    expect(deltasOf(events).at(-1)).toEqual([{ type: 'end', reason: 'stop' }])
    expect(usageOf(events)).toMatchObject([{ prompt: 21, completion: 13 }])
    const other = { type: 'finish', usage: flat, finishReason: 'other' }
    expect((await stream([text, other], 'v2', 'openrouter')).terminated).toBe(true)
    for (const outputTokens of [undefined, Number.NaN, 0]) {
      expect((await ending({ inputTokens: 21, outputTokens })).terminated).toBe(false)
    }
    for (const provider of ['google.generative-ai', 'google.vertex.chat']) {
      expect((await ending(flat, provider)).terminated).toBe(false)
    }
  })

  it('without a finish is incomplete', async () => {
    expect((await stream([{ type: 'text-delta', id: 't', delta: 'x' }])).terminated).toBe(false)
  })

  it('with a part that is not an object is an invalid response', async () => {
    expect((await stream([5])).error).toMatchObject({ reason: 'invalid-response' })
  })

  it.each([
    ['text that is an object', { type: 'text-delta', id: 't', delta: { of: 'text' } }],
    ['a call without an id', { type: 'tool-call', toolName: 'look', input: '' }],
    ['a call without a name', { type: 'tool-call', toolCallId: 'a', input: '' }],
    [
      'a piece that its package could not read',
      { type: 'error', error: { name: 'AI_TypeValidationError', value: { choices: [5] } } },
    ],
    [
      'a tool call that its package could not read',
      { type: 'error', error: { name: 'AI_InvalidResponseDataError', data: { index: 0 } } },
    ],
  ])('with %s reports it, and is read to its end', async (_name, part) => {
    const ends = { type: 'finish', usage: { inputTokens: 3, outputTokens: 4 }, finishReason: 'error' }
    const { error, events, terminated } = await stream([part, ends], 'v2')
    expect([error, events[0]?.type]).toEqual([undefined, 'unreadable'])
    expect(usageOf(events)).toMatchObject([{ prompt: 3, completion: 4 }])
    expect(terminated).toBe(true)
  })

  it('with an error of its package that is not about a piece is an invalid response', async () => {
    const error = { name: 'AI_InvalidResponseDataError', data: undefined }
    expect((await stream([{ type: 'error', error }])).error).toMatchObject({ reason: 'invalid-response' })
  })

  it("reports Google's reason for a dropped tool call, which version 2 has no field for", async () => {
    const ends = { type: 'finish', usage: { inputTokens: 3, outputTokens: 4 }, finishReason: 'error' }
    const { events } = await stream([ends], 'v2', 'google.generative-ai')
    expect(deltasOf(events).at(-1)).toMatchObject([{ native: 'MALFORMED_FUNCTION_CALL' }])
  })
})

describe('AI SDK usage', () => {
  const finish = (usage: unknown, providerMetadata?: object) => ({
    type: 'finish',
    usage,
    finishReason: 'stop',
    providerMetadata,
  })
  const v2 = async (usage: unknown, provider = 'openai.chat', metadata?: object) =>
    usageOf((await stream([finish(usage, metadata)], 'v2', provider)).events)[0]

  it('of version 2 has cached input added if the provider excludes it', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 8 }
    const written = { anthropic: { cacheCreationInputTokens: 3 } }
    expect(await v2(usage, 'anthropic.messages', written)).toMatchObject({
      prompt: 21,
      cached: 8,
      cacheWrite: 3,
    })
    expect(
      await v2(usage, 'amazon-bedrock', { bedrock: { usage: { cacheWriteInputTokens: 2 } } }),
    ).toMatchObject({
      prompt: 20,
      cacheWrite: 2,
    })
    expect(await v2(usage, 'vertex.anthropic.messages')).toMatchObject({ prompt: 18 })
    expect(await v2(usage, 'bedrock.anthropic.messages')).toMatchObject({ prompt: 18 })
    expect(await v2(usage)).toMatchObject({ prompt: 10, cached: 8 })
    for (const totalTokens of [15, 16, undefined]) {
      const more = { ...usage, cachedInputTokens: 11, totalTokens }
      expect(await v2(more)).toMatchObject({ prompt: 10, cached: 11 })
    }
    const apart = { ...usage, cachedInputTokens: 11, totalTokens: 26 }
    expect(await v2(apart)).toMatchObject({ prompt: 21, cached: 11 })
    expect(await v2({ ...apart, totalTokens: 29, reasoningTokens: 3 })).toMatchObject({ prompt: 21 })
  })

  it("of version 2 depends on the package's report, not on the name that the host chose", async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 8 }
    for (const name of ['bedrock', 'anthropic', 'my-anthropic-gateway']) {
      expect(await v2(usage, `${name}.chat`, { [name]: {} })).toMatchObject({ prompt: 10, cached: 8 })
    }
    const reported = (input_tokens: number) => ({
      anthropic: { usage: { input_tokens }, cacheCreationInputTokens: 3 },
    })
    expect(await v2(usage, 'in-house', reported(10))).toMatchObject({ prompt: 21, cacheWrite: 3 })
    expect(await v2({ ...usage, inputTokens: 21 }, 'gateway', reported(10))).toMatchObject({ prompt: 21 })
  })

  it('of version 2 has reasoning added if the provider excludes it', async () => {
    expect(await v2({ inputTokens: 10, outputTokens: 5, totalTokens: 22, reasoningTokens: 7 })).toMatchObject(
      {
        completion: 12,
        reasoning: 7,
      },
    )
    expect(await v2({ inputTokens: 10, outputTokens: 9, totalTokens: 23, reasoningTokens: 4 })).toMatchObject(
      {
        completion: 13,
      },
    )
    expect(await v2({ inputTokens: 10, outputTokens: 9, totalTokens: 19, reasoningTokens: 4 })).toMatchObject(
      {
        completion: 9,
      },
    )
  })

  it("has audio and image tokens if the provider's own report has them", async () => {
    const counts = { inputTokens: { total: 30 }, outputTokens: { total: 20 } }
    const later = async (raw: unknown) => usageOf((await stream([finish({ ...counts, raw })])).events)[0]
    const media = { prompt: 30, completion: 20, audioInput: 4, imageInput: 6, audioOutput: 5, imageOutput: 7 }
    expect(
      await later({
        prompt_tokens_details: { audio_tokens: 4, image_tokens: 6 },
        completion_tokens_details: { audio_tokens: 5, image_tokens: 7 },
      }),
    ).toMatchObject(media)
    const gemini = {
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 20 },
        { modality: 'AUDIO', tokenCount: 1 },
        { modality: 'AUDIO', tokenCount: 3 },
        { modality: 'IMAGE', tokenCount: 6 },
      ],
      candidatesTokensDetails: [
        { modality: 'AUDIO', tokenCount: 5 },
        { modality: 'IMAGE', tokenCount: 7 },
      ],
    }
    expect(await later(gemini)).toMatchObject(media)
    expect(
      await v2({ inputTokens: 30, outputTokens: 20 }, 'google.generative-ai', {
        google: { usageMetadata: gemini },
      }),
    ).toMatchObject(media)
    for (const odd of [null, [], 'audio', { prompt_tokens_details: null }, { promptTokensDetails: [null] }]) {
      expect(await later(odd)).toMatchObject({ prompt: 30, completion: 20 })
    }
    const wrong = { promptTokensDetails: [{ modality: 'AUDIO', tokenCount: -1 }] }
    expect(await later(wrong)).toMatchObject({ audioInput: -1 })
  })

  it('is not reported if the package has zeros for counts that the provider did not report', async () => {
    const later = async (usage: object) => usageOf((await stream([finish(usage)])).events)
    const zeros = { inputTokens: { total: 0 }, outputTokens: { total: 0 } }
    expect(await later(zeros)).toEqual([])
    expect(await later({ ...zeros, raw: { prompt_tokens: 0 } })).toMatchObject([{ prompt: 0, completion: 0 }])
    expect(await later({ ...zeros, outputTokens: { total: 1 } })).toMatchObject([
      { prompt: 0, completion: 1 },
    ])
    const flatZeros = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    expect(await v2(flatZeros, 'openrouter')).toBeUndefined()
    expect(await v2(flatZeros)).toMatchObject({ prompt: 0, completion: 0 })
  })

  it('of version 2 includes the total, from which a missing count follows, if the total has the same meaning', async () => {
    expect(await v2({ outputTokens: 5, totalTokens: 15 })).toMatchObject({ completion: 5, total: 15 })
    const apart = { inputTokens: 10, totalTokens: 15, cachedInputTokens: 8 }
    expect(await v2(apart, 'anthropic.messages')).not.toHaveProperty('total')
  })

  it('of version 2 has a prompt or an output of 0 computed from the total', async () => {
    const usage = { inputTokens: 0, outputTokens: 6, totalTokens: 20, cachedInputTokens: 4 }
    expect(await v2(usage)).toMatchObject({ prompt: 14, completion: 6, cached: 4 })
    for (const [reasoningTokens, totalTokens, prompt, completion] of [
      [14, 20, 0, 20],
      [14, 30, 10, 20],
      [4, 10, 0, 10],
      [4, 20, 14, 6],
    ] as const) {
      const counts = { inputTokens: 0, outputTokens: 6, reasoningTokens, totalTokens }
      expect(await v2(counts), `${reasoningTokens} ${totalTokens}`).toMatchObject({ prompt, completion })
    }
    expect(await v2({ inputTokens: 14, outputTokens: 0, totalTokens: 20 })).toMatchObject({
      prompt: 14,
      completion: 6,
    })
    expect(await v2({ ...usage, totalTokens: 6 })).toMatchObject({ prompt: 0, completion: 6 })
    expect(await v2(usage, 'anthropic.messages')).toMatchObject({ prompt: 4, completion: 6 })
  })

  it('includes unknown counts of cached tokens', async () => {
    const flatUsage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 1, cacheHits: 3 }
    expect(await v2(flatUsage)).toMatchObject({ unread: { cacheHits: 3 } })
    const inputTokens = { total: 10, noCache: 9, cacheRead: 1, cacheWrite: 0, longCacheWrite: 4 }
    const later = usageOf((await stream([finish({ inputTokens, outputTokens: { total: 1 } })])).events)
    expect(later).toMatchObject([{ unread: { longCacheWrite: 4 } }])
  })

  it('of later versions is added up if the totals are missing, and keeps invalid counts', async () => {
    const later = async (usage: unknown) => usageOf((await stream([finish(usage)])).events)[0]
    expect(
      await later({
        inputTokens: { noCache: 10, cacheRead: 8, cacheWrite: 3 },
        outputTokens: { text: 5, reasoning: 2 },
      }),
    ).toMatchObject({ prompt: 21, completion: 7 })
    expect(await later({ inputTokens: { total: -1 }, outputTokens: { total: Number.NaN } })).toMatchObject({
      prompt: -1,
      completion: Number.NaN,
    })
    expect(await later({})).toMatchObject({ prompt: undefined, completion: undefined })
    expect(await later(undefined)).toBeUndefined()
  })
})

describe('an AI SDK result', () => {
  it('becomes one event with all deltas, and its usage', async () => {
    const result = {
      content: [
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: 'Hel' },
        { type: 'text', text: 'lo' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '' },
        { type: 'tool-call', toolCallId: 'b', toolName: 'search', input: '{}', providerExecuted: true },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://a.example' },
        { type: 'file', mediaType: 'image/png', data: 'AAEC' },
        { type: 'file', mediaType: 'audio/wav', data: 'AAEC' },
      ],
      finishReason: { unified: 'tool-calls', raw: 'tool_use' },
      usage: nested,
      response: { id: 'resp_1' },
    }
    const { events, terminated } = await runModel(fakeModel({ result }), { stream: false })
    expect(events).toEqual([
      {
        type: 'deltas',
        labels: { id: 'resp_1' },
        deltas: [
          { type: 'text', choice: 0, kind: 'thought', text: 'Hm' },
          { type: 'text', choice: 0, kind: 'text', text: 'Hel' },
          { type: 'text', choice: 0, kind: 'text', text: 'lo' },
          { type: 'call', choice: 0, call: 0, form: 'function', id: 'a', name: 'look', input: '{}' },
          {
            type: 'annotation',
            choice: 0,
            annotation: {
              type: 'url_citation',
              url_citation: {
                url: 'https://a.example',
                title: 'https://a.example',
                start_index: 0,
                end_index: 0,
              },
            },
          },
          {
            type: 'image',
            choice: 0,
            address: 'data:image/png;base64,AAEC',
            image: { type: 'image_url', image_url: { url: 'data:image/png;base64,AAEC' } },
          },
          { type: 'end', choice: 0, reason: 'tool_calls', native: 'tool_use' },
        ],
      },
      { type: 'usage', usage: { prompt: 21, cached: 8, cacheWrite: 3, completion: 13, reasoning: 4 } },
    ])
    expect(terminated).toBe(true)
  })

  it('has a blank line between its thoughts', async () => {
    const content = ['', 'One', 'Two'].map((text) => ({ type: 'reasoning', text }))
    const result = { content, finishReason: 'stop' }
    const { events } = await runModel(fakeModel({ version: 'v2', result }), { stream: false })
    const texts = deltasOf(events)
      .flat()
      .map((delta) => ('text' in delta ? delta.text : ''))
    expect(texts.join('')).toBe('One\n\nTwo')
  })

  it('with a call that cannot be read reports it, and keeps the rest', async () => {
    const content = [{ type: 'tool-call' }, { type: 'text', text: 'Hi' }]
    const result = { content, finishReason: 'stop', usage: { inputTokens: 3, outputTokens: 4 } }
    const { error, events } = await runModel(fakeModel({ version: 'v2', result }), { stream: false })
    expect(error).toBeUndefined()
    expect(events.map(({ type }) => type)).toEqual(['unreadable', 'deltas', 'usage'])
    expect(usageOf(events)).toMatchObject([{ prompt: 3, completion: 4 }])
  })

  it('all of whose calls cannot be read ends as one without calls', async () => {
    const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'f', input: '{}' })
    const endOf = async (...content: object[]) => {
      const result = { content, finishReason: 'tool-calls', usage: { inputTokens: 3, outputTokens: 4 } }
      const { events } = await runModel(fakeModel({ version: 'v2', result }), { stream: false })
      return deltasOf(events).flat().at(-1)
    }
    expect(await endOf(call(''))).toEqual({ type: 'end', reason: 'stop' })
    expect(await endOf(call(''), call('a'))).toMatchObject({ type: 'end', reason: 'tool_calls' })
  })

  it.each([[{}], [{ content: 'text' }]])('is invalid if it is %j', async (result) => {
    const { error } = await runModel(fakeModel({ result }), { stream: false })
    expect(error).toMatchObject({ reason: 'invalid-response' })
  })
})
