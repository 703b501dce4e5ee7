import { setImmediate as nextTurn } from 'node:timers/promises'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, LoadAPIKeyError, UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { ProviderError } from '../../../src/base/errors.js'
import { createSecret } from '../../../src/base/secret.js'
import type { ProviderEvent } from '../../../src/contracts/index.js'
import { aiSdk } from '../../../src/providers/ai-sdk/index.js'
import { createCall, runCall } from '../openai-compatible/run-call.js'
import { deltasOf, fakeModel, optionsFor, runModel, streamOf, usageOf } from './models.js'

const finish = { type: 'finish', usage: {}, finishReason: { unified: 'stop', raw: 'stop' } }
const text = (delta: string) => ({ type: 'text-delta', id: 't', delta })
const LONG = 'x'.repeat(1_000)
const signed = (part: object) => ({ ...part, providerMetadata: { google: { thoughtSignature: LONG } } })
const CIRCLE = { type: 'source', around: {} }
CIRCLE.around = CIRCLE

describe('the settings of the AI SDK adapter', () => {
  it('are checked at once', () => {
    expect(() => aiSdk({ model: 'gpt' } as never)).toThrow(TypeError)
    expect(() => aiSdk(undefined as never)).toThrow('aiSdk takes an object of options')
    expect(() => aiSdk({ model: () => fakeModel(), parameter: {} } as never)).toThrow(
      'parameter is not an option of aiSdk; did you mean parameters?',
    )
    expect(() => aiSdk({ model: () => fakeModel(), fetch } as never)).toThrow(
      'fetch is not an option of aiSdk; its options are model, embeddingModel, parameters, takesKeys',
    )
    expect(() => aiSdk({ model: () => fakeModel(), parameters: { seed: 'x' } as never })).toThrow(
      'parameters.seed',
    )
  })

  it('may create the model later', async () => {
    const adapter = aiSdk({ model: async () => fakeModel({ parts: [finish] }) })
    expect(await runCall(adapter)).toMatchObject({ terminated: true })
  })
})

describe('an AI SDK model', () => {
  it('is created for each call from its name and the only key that the call has', async () => {
    const made: unknown[] = []
    const adapter = aiSdk({
      model: (...call) => {
        made.push(call)
        return fakeModel({ parts: [finish] })
      },
    })
    await runCall(adapter, { auth: { kind: 'host' } })
    await runCall(adapter, { auth: { kind: 'host', secret: createSecret('sk-route') } })
    await runCall(adapter, { auth: { kind: 'byok', secret: createSecret('sk-caller') } })
    expect(made).toEqual([
      ['upstream-model', undefined],
      ['upstream-model', 'sk-route'],
      ['upstream-model', 'sk-caller'],
    ])
  })

  it('receives the trace context if the call has one', async () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
    const model = fakeModel({ parts: [finish] })
    await runModel(model, { trace })
    expect(model.calls).toMatchObject([{ headers: trace }])
  })

  it("learns nothing about the caller's key", async () => {
    const { options } = await optionsFor({ user: 'u' })
    expect(Object.keys(options)).toEqual(['prompt'])
  })

  it.each(['v1', 'v5', undefined])(
    'is rejected if its specification version is %s',
    async (specificationVersion) => {
      const model = { ...fakeModel(), specificationVersion } as never
      expect((await runModel(model)).error).toMatchObject({ reason: 'invalid-response' })
    },
  )

  it("is the host's fault if it cannot be created, and the error is passed on unchanged", async () => {
    const fault = new TypeError('no such package')
    const makers = [
      async () => {
        throw fault
      },
      () => {
        throw fault
      },
    ]
    for (const model of makers) await expect(runCall(aiSdk({ model }))).rejects.toBe(fault)
  })

  it.each([undefined, 'openai/gpt-4o-mini', () => fakeModel(), { specificationVersion: 'v3', doEmbed() {} }])(
    "is the host's fault if it is not a language model: %o",
    async (made) => {
      const model = () => made as never
      await expect(runCall(aiSdk({ model }))).rejects.toThrow('model() returned no language model')
    },
  )

  it("fails the call with the provider's error if that is why it cannot be created", async () => {
    const model = () => {
      throw new ProviderError('status', 'No key', { status: 401 })
    }
    expect((await runCall(aiSdk({ model }))).error).toMatchObject({ reason: 'status', status: 401 })
  })
})

describe('aborting an AI SDK call', () => {
  it('ends a call whose model ignores it, and a stream that arrives too late', async () => {
    const controller = new AbortController()
    let cancelled = () => {}
    const wasCancelled = new Promise<void>((resolve) => {
      cancelled = resolve
    })
    let answer = (_: { stream: ReadableStream<unknown> }) => {}
    const model = fakeModel({
      stream: () =>
        new Promise((resolve) => {
          answer = resolve
          controller.abort()
        }),
    })
    const { error } = await runModel(model, { signal: controller.signal })
    expect(error).toMatchObject({ reason: 'cut-short' })
    answer({ stream: new ReadableStream({ cancel: cancelled }) })
    await wasCancelled
  })

  it('ends a stream that is being read', async () => {
    const controller = new AbortController()
    let cancelled = false
    const stream = new ReadableStream({
      start: (source) => source.enqueue(text('Hel')),
      cancel() {
        cancelled = true
        throw new Error('cannot')
      },
    })
    const adapter = aiSdk({ model: () => fakeModel({ stream: async () => ({ stream }) }) })
    const { error } = await runCall(adapter, { signal: controller.signal }, () => controller.abort())
    expect(error).toMatchObject({ reason: 'cut-short' })
    expect(cancelled).toBe(true)
  })
})

describe('an AI SDK stream that throws when it is cancelled', () => {
  const throwing = (read: () => Promise<{ done: boolean; value?: unknown }>) =>
    ({
      getReader: () => ({
        read,
        cancel() {
          throw new Error('cannot')
        },
      }),
    }) as unknown as ReadableStream<unknown>

  it('ends no process: its call ends as it would otherwise', async () => {
    const failing = throwing(() => Promise.reject(new Error('It broke')))
    expect((await runModel(fakeModel({ stream: async () => ({ stream: failing }) }))).error).toBeDefined()
    const controller = new AbortController()
    const stalled = throwing(() => {
      controller.abort()
      return new Promise(() => {})
    })
    const adapter = aiSdk({ model: () => fakeModel({ stream: async () => ({ stream: stalled }) }) })
    expect((await runCall(adapter, { signal: controller.signal })).error).toMatchObject({
      reason: 'cut-short',
    })
  })
})

describe('reading from an AI SDK model', () => {
  it('waits for the promise that take returns', async () => {
    let pulled = 0
    const stream = new ReadableStream(
      {
        pull(source) {
          pulled += 1
          source.enqueue(pulled > 9 ? finish : text('x'))
        },
      },
      { highWaterMark: 0 },
    )
    const adapter = aiSdk({ model: () => fakeModel({ stream: async () => ({ stream }) }) })
    const pulledAtTake: number[] = []
    await runCall(adapter, {}, async () => {
      const before = pulled
      await nextTurn()
      pulledAtTake.push(pulled - before)
    })
    expect(pulledAtTake).toEqual(Array(10).fill(0))
  })

  it('lets the process do other work if the model never waits', async () => {
    let turned = false
    let pulled = 0
    const stream = new ReadableStream({
      pull(source) {
        pulled += 1
        source.enqueue(turned || pulled > 10_000 ? finish : text(''))
      },
    })
    setImmediate(() => {
      turned = true
    })
    await runModel(fakeModel({ stream: async () => ({ stream }) }))
    expect(pulled).toBeLessThan(1000)
  })

  it('ends if take fails, with the error that take threw', async () => {
    let cancelled = false
    const stream = new ReadableStream({
      pull: (source) => source.enqueue(text('x')),
      cancel() {
        cancelled = true
      },
    })
    const adapter = aiSdk({ model: () => fakeModel({ stream: async () => ({ stream }) }) })
    const failing = runCall(adapter, {}, () => {
      throw new RangeError('enough')
    })
    await expect(failing).rejects.toThrow(RangeError)
    expect(cancelled).toBe(true)
  })

  it.each([
    [{ eventBytes: 3 }, [text('four')]],
    [{ replyBytes: 5 }, [text('abc'), text('def')]],
    [{ replyBytes: 5 }, Array(6).fill(text(''))],
    [{ eventBytes: 3 }, [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } }]],
    [{ eventBytes: 900 }, [signed({ type: 'reasoning-end', id: 'r' })]],
    [{ eventBytes: 900 }, [signed({ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '{}' })]],
    [{ eventBytes: 900 }, [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: { of: LONG } }]],
    [{ eventBytes: 900 }, [{ type: 'tool-input-start', id: LONG, toolName: 'f' }]],
    [{ eventBytes: 900 }, [{ type: 'source', sourceType: 'url', id: 's', url: LONG }]],
    [{ eventBytes: 900 }, [CIRCLE]],
    [{ replyBytes: 900 }, Array.from({ length: 40 }, (_, id) => ({ type: 'reasoning-start', id: `${id}` }))],
  ])('ends if the reply exceeds %j', async (sizes, parts) => {
    const { error } = await runModel(fakeModel({ parts: [...parts, finish] }), { sizes })
    expect(error).toMatchObject({ reason: 'invalid-response' })
  })

  it.each([
    ['text', 5, { type: 'text', text: 'too long' }],
    ['a signature', 900, signed({ type: 'reasoning', text: 'Hm' })],
  ])('rejects a whole reply whose %s is too long', async (_what, replyBytes, part) => {
    const model = fakeModel({ result: { content: [part] } })
    const { error } = await runModel(model, { stream: false, sizes: { replyBytes } })
    expect(error).toMatchObject({ reason: 'invalid-response' })
  })

  it('does not count the request in an error against the length of a reply', async () => {
    const error = apiError({ statusCode: 529, requestBodyValues: { prompt: LONG } })
    const parts = [{ type: 'error', error }]
    const outcome = await runModel(fakeModel({ parts }), { sizes: { eventBytes: 500 } })
    expect(outcome.error).toMatchObject({ reason: 'error-frame', status: 529 })
  })
})

const apiError = (fields: object) =>
  new APICallError({
    message: 'Failed',
    url: 'https://a.example',
    requestBodyValues: { prompt: 'secret' },
    ...fields,
  })

const withCode = (code: string) => Object.assign(new Error(code), { code })

describe('embedding with an AI SDK model', () => {
  /** A model that embeds one text a call, and what was asked of it. */
  function embedder(supportsParallelCalls: boolean, answer: (text: string) => object | Promise<object>) {
    const seen = { atOnce: 0, most: 0, asked: [] as string[], aborted: 0 }
    const model = {
      specificationVersion: 'v3',
      provider: 'fake',
      modelId: 'fake',
      maxEmbeddingsPerCall: 1,
      supportsParallelCalls,
      async doEmbed({ values, abortSignal }: { values: string[]; abortSignal: AbortSignal }) {
        seen.asked.push(values[0]!)
        seen.most = Math.max(seen.most, ++seen.atOnce)
        const onAbort = () => seen.aborted++
        abortSignal.addEventListener('abort', onAbort)
        await nextTurn()
        try {
          return await answer(values[0]!)
        } finally {
          seen.atOnce--
          abortSignal.removeEventListener('abort', onAbort)
        }
      },
    }
    const adapter = aiSdk({ embeddingModel: () => model as never })
    const embed = (count: number, replyBytes = 1_000_000) => {
      const input = Array.from({ length: count }, (_, index) => `text ${index}`)
      const call = createCall({ request: { model: 'm', input } as never, sizes: { replyBytes } })
      const events: ProviderEvent[] = []
      const take = (some: readonly ProviderEvent[]) => void events.push(...some)
      return adapter.embeddings!(call as never, take).then(() => events)
    }
    return { embed, seen }
  }
  const vector = (text: string) => ({ embeddings: [[Number(text.slice(5)), 0.5]], usage: { tokens: 2 } })

  it.each([
    [true, 8],
    [false, 1],
  ])('asks for a few batches at once if parallel calls are %s, and keeps their order', async (is, most) => {
    const { embed, seen } = embedder(is, vector)
    const [{ completion } = {} as never, usage] = (await embed(100)) as [{ completion: never }, object]
    const { data } = completion as { data: { embedding: number[] }[] }
    expect(data.map(({ embedding }) => embedding[0])).toEqual(Array.from({ length: 100 }, (_, at) => at))
    expect(usage).toEqual({ type: 'usage', usage: { prompt: 200 } })
    expect(seen.most).toBe(most)
  })

  it.each([true, false])('stops at the first batch that fails if parallel calls are %s', async (is) => {
    const refusal = apiError({ statusCode: 400, data: { error: { message: 'Too long' } } })
    const { embed, seen } = embedder(is, (text) => {
      return text === 'text 20' ? Promise.reject(refusal) : vector(text)
    })
    await expect(embed(100)).rejects.toMatchObject({ status: 400, providerMessage: 'Too long' })
    expect(seen.asked.length).toBeLessThan(30)
    expect(seen.aborted).toBe(is ? 7 : 0)
    await nextTurn()
    expect(seen.atOnce).toBe(0)
  })

  it.each([
    ['numbers', Array(1_000).fill(0.5)],
    ['text', 'x'.repeat(8_000)],
    ['lists', Array(350).fill([])],
  ])('stops once the reply is too long: %s', async (_what, embedding) => {
    const { embed, seen } = embedder(false, () => ({ embeddings: [embedding] }))
    await expect(embed(100, 40_000)).rejects.toMatchObject({ reason: 'invalid-response' })
    expect(seen.asked.length).toBeLessThan(7)
  })
})

describe('an error thrown by an AI SDK model', () => {
  it.each([
    [
      'a status with a message',
      apiError({
        statusCode: 429,
        responseHeaders: { 'Retry-After': '7' },
        responseBody: '{"error":{"message":"Slow"}}',
      }),
      { reason: 'status', status: 429, retryAfterSeconds: 7, providerMessage: 'Slow' },
    ],
    [
      'a status of 400 that means another status',
      apiError({ statusCode: 400, data: { error: { message: 'Your credit balance is too low.' } } }),
      { reason: 'status', status: 402 },
    ],
    [
      'a status with data',
      apiError({ statusCode: 400, data: { error: { message: 'Bad', param: 'top_p', code: 'bad' } } }),
      { reason: 'status', status: 400, providerMessage: 'Bad', param: 'top_p', providerCode: 'bad' },
    ],
    [
      'a status with text',
      apiError({ statusCode: 500, responseBody: '<html>' }),
      { reason: 'status', providerMessage: 'Failed' },
    ],
    [
      'a successful reply that the model could not read',
      apiError({ statusCode: 200 }),
      { reason: 'invalid-response' },
    ],
    ['a refused connection', apiError({ cause: withCode('ECONNREFUSED') }), { reason: 'unreachable' }],
    [
      'a slow connection',
      new TypeError('failed', { cause: withCode('UND_ERR_CONNECT_TIMEOUT') }),
      { reason: 'timeout' },
    ],
    [
      'a broken connection',
      new TypeError('terminated', { cause: withCode('UND_ERR_SOCKET') }),
      { reason: 'cut-short' },
    ],
    [
      'an unsupported feature',
      new UnsupportedFunctionalityError({ functionality: 'image tool results' }),
      { reason: 'unsupported-request', message: expect.stringContaining('image tool results') },
    ],
    ['a missing key', new LoadAPIKeyError({ message: 'no key' }), { reason: 'status', status: 401 }],
    [
      'a missing model',
      Object.assign(new Error(), { name: 'AI_NoSuchModelError' }),
      { reason: 'status', status: 404 },
    ],
    ['any other error', new RangeError('oops'), { reason: 'invalid-response' }],
    ['no error object', 'oops', { reason: 'invalid-response' }],
    ['our own error', new ProviderError('timeout', 'Late'), { reason: 'timeout' }],
  ])('becomes the matching failure: %s', async (_name, thrown, expected) => {
    const fail = async () => {
      throw thrown
    }
    const whole = await runModel(fakeModel({ generate: fail }), { stream: false })
    const streamed = await runModel(fakeModel({ stream: fail }))
    const late = await runModel(fakeModel({ stream: async () => ({ stream: failing(thrown) }) }))
    for (const { error } of [whole, streamed, late]) {
      expect(error).toMatchObject(expected)
      expect(JSON.stringify(error?.cause ?? null)).not.toContain('secret')
    }
  })

  it.each([
    ['words', 'Sorry', { reason: 'error-frame', providerMessage: 'Sorry' }],
    [
      'an object',
      { type: 'overloaded_error', message: 'Busy' },
      { reason: 'error-frame', status: 529, providerMessage: 'Busy' },
    ],
    [
      'a failed response',
      {
        type: 'response.failed',
        response: { error: { code: 'server_is_overloaded', message: 'Busy' } },
      },
      { reason: 'error-frame', status: 503, providerMessage: 'Busy' },
    ],
    ['an error', new Error('Sorry'), { reason: 'error-frame', providerMessage: 'Sorry' }],
    ['a status', apiError({ statusCode: 503 }), { reason: 'error-frame', status: 503 }],
    ['a connection', withCode('ECONNRESET'), { reason: 'cut-short' }],
    [
      'its own error',
      Object.assign(new Error('{"the":"reply"'), { name: 'AI_JSONParseError' }),
      { reason: 'invalid-response', providerMessage: undefined },
    ],
  ])('may come inside the stream: %s', async (_name, thrown, expected) => {
    const outcome = await runModel(
      fakeModel({ parts: [text('Hel'), { type: 'error', error: thrown }, finish] }),
    )
    expect(outcome.error).toMatchObject(expected)
    expect(deltasOf(outcome.events)).toHaveLength(1)
  })
})

function failing(error: unknown): ReadableStream<unknown> {
  return new ReadableStream({ start: (source) => source.error(error) })
}

describe('a real AI SDK model', () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const wire = Buffer.from(
    [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'Hm…' }),
      chunk({ content: 'Grüße 👋' }),
      chunk({
        tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
      chunk({}, 'tool_calls'),
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 } })}\n\n`,
      'data: [DONE]\n\n',
    ].join(''),
  )

  it.each([
    ['top_k', { top_k: 5 }],
    ['response_format', { response_format: { type: 'json_schema', json_schema: { schema: {} } } }],
  ])('that ignores %s has this reported with its reply', async (param, asked) => {
    const fetch = async (_url: unknown, { body }: RequestInit = {}) =>
      String(body).includes('"stream":true')
        ? new Response(wire, { headers: { 'content-type': 'text/event-stream' } })
        : Response.json({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] })
    const provider = createOpenAICompatible({ name: 'x', baseURL: 'https://a.example', fetch })
    for (const stream of [true, false]) {
      const request = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
      expect((await runModel(provider('m'), { request, stream })).error).toBeUndefined()
      const { events, error } = await runModel(provider('m'), { request: { ...request, ...asked }, stream })
      expect(error).toBeUndefined()
      expect(events).toContainEqual({ type: 'mended', kind: 'parameter-ignored', dropped: param })
    }
  })

  const complete = (message: object, usage: object = { prompt_tokens: 5, completion_tokens: 4 }) => {
    const reply = { choices: [{ message: { role: 'assistant', ...message }, finish_reason: 'stop' }], usage }
    const fetch = async () => Response.json(reply)
    const provider = createOpenAICompatible({ name: 'x', baseURL: 'https://a.example', fetch })
    return runModel(provider('m'), { stream: false })
  }
  const odd = (call: object) => ({ content: 'Hi', tool_calls: [{ id: 'a', type: 'function', ...call }] })

  it.each([
    ['a call without a name', odd({ function: { name: '', arguments: '{}' } })],
    ['a call whose name is null', odd({ function: { name: null, arguments: '{}' } })],
    ['arguments that are a number', odd({ function: { name: 'f', arguments: 5 } })],
    ['calls that are no list', { content: 'Hi', tool_calls: {} }],
    ['a call that is text', { content: 'Hi', tool_calls: ['x'] }],
  ])('whose whole reply has %s reports it, with the usage', async (_what, message) => {
    const { error, events } = await complete(message)
    expect(error).toBeUndefined()
    expect(events.map(({ type }) => type)).toContain('unreadable')
    expect(usageOf(events)).toMatchObject([{ prompt: 5, completion: 4 }])
    expect(deltasOf(events).flat().at(-1)).toMatchObject({ type: 'end' })
  })

  it('whose unreadable reply counts no output is an invalid response', async () => {
    const nothing = await complete({ tool_calls: {} }, { prompt_tokens: 5, completion_tokens: 0 })
    expect(nothing.error).toMatchObject({ reason: 'invalid-response' })
    const fetch = async () => Response.json({ status: 'ok' })
    const provider = createOpenAICompatible({ name: 'x', baseURL: 'https://a.example', fetch })
    const other = await runModel(provider('m'), { stream: false })
    expect(other.error).toMatchObject({ reason: 'invalid-response' })
  })

  async function read(pieces: readonly Uint8Array[]): Promise<ProviderEvent[]> {
    const fetch = async () =>
      new Response(streamOf(pieces) as ReadableStream<Uint8Array>, {
        headers: { 'content-type': 'text/event-stream' },
      })
    const provider = createOpenAICompatible({
      name: 'x',
      baseURL: 'https://a.example',
      fetch,
      includeUsage: true,
    })
    const { events, terminated, error } = await runModel(provider('m'))
    expect(error).toBeUndefined()
    expect(terminated).toBe(true)
    return events
  }

  it('produces the same events wherever its stream is cut', async () => {
    const whole = await read([wire])
    expect(deltasOf(whole).flat().at(-1)).toMatchObject({ reason: 'tool_calls' })
    expect(JSON.stringify(whole)).toContain('Grüße 👋')
    const expected = JSON.stringify(whole)
    for (let cut = 1; cut < wire.length; cut++) {
      const events = await read([wire.subarray(0, cut), wire.subarray(cut)])
      if (JSON.stringify(events) !== expected) expect(events, `cut at ${cut}`).toEqual(whole)
    }
  })
})
