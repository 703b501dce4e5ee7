import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSecret } from '../../../src/base/secret.js'
import type { ProviderAdapter, ProviderEvent } from '../../../src/contracts/providers.js'
import {
  type OpenAiCompatibleSettings,
  openaiCompatible,
} from '../../../src/providers/openai-compatible/index.js'
import { ProviderReasoning, ReplyReading } from '../../../src/providers/openai-compatible/reply.js'
import { ReplyReader } from '../../../src/providers/reply-reader.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type ScriptedUpstream,
  sse,
  startScriptedUpstream,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { completionOf, runCall, textOf } from './run-call.js'

let upstream: ScriptedUpstream
const adapters: ProviderAdapter[] = []

function connect(settings: Partial<OpenAiCompatibleSettings> = {}): ProviderAdapter {
  const adapter = openaiCompatible({ baseUrl: upstream.baseUrl, ...settings })
  adapters.push(adapter)
  return adapter
}

beforeEach(async () => {
  upstream = await startScriptedUpstream()
})
afterEach(async () => {
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close?.()))
  await upstream.close()
})

const counts = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const report = { prompt: 11, completion: 7 }

describe('a request of the OpenAI-compatible adapter', () => {
  it('has the expected headers and no others', async () => {
    upstream.script(answerEvents([finishChunk()]))
    await runCall(connect({ apiKey: 'sk-host', headers: { 'X-Title': 'Mine' } }))
    const [request] = upstream.requests
    expect(request?.method).toBe('POST')
    expect(request?.path).toBe('/v1/chat/completions')
    const { host, 'content-length': length, ...headers } = request?.headers ?? {}
    expect(host).toBe(new URL(upstream.baseUrl).host)
    expect(Number(length)).toBe(Buffer.byteLength(request?.text ?? ''))
    expect(headers).toEqual({
      connection: 'keep-alive',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'compat-router',
      authorization: 'Bearer sk-host',
      'x-title': 'Mine',
    })
  })

  it('asks for JSON if no stream is requested', async () => {
    upstream.script(answerJson({ choices: [] }))
    await runCall(connect(), { stream: false })
    expect(upstream.requests[0]?.headers.accept).toBe('application/json')
    expect(upstream.requests[0]?.headers.authorization).toBeUndefined()
    expect(upstream.requests[0]?.body).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'Hi' }],
    })
  })

  it("uses the route's secret before the adapter's own key, and under byok only the caller's", async () => {
    upstream.script(answerEvents([finishChunk()]))
    const adapter = connect({ apiKey: 'sk-host' })
    await runCall(adapter, { auth: { kind: 'host', secret: createSecret('sk-route') } })
    await runCall(adapter, { auth: { kind: 'byok', secret: createSecret('sk-caller') } })
    await runCall(adapter, { auth: { kind: 'host' } })
    expect(upstream.requests.map((request) => request.headers.authorization)).toEqual([
      'Bearer sk-route',
      'Bearer sk-caller',
      'Bearer sk-host',
    ])
  })

  it('keeps the path of a base URL that ends with a slash', async () => {
    upstream.script(answerEvents([finishChunk()]))
    await runCall(connect({ baseUrl: `${upstream.baseUrl}/deep//` }))
    expect(upstream.requests[0]?.path).toBe('/v1/deep/chat/completions')
  })

  it('reuses connections', async () => {
    upstream.script(answerEvents([textChunk('x'), finishChunk()]))
    const adapter = connect()
    for (let call = 0; call < 10; call++) expect((await runCall(adapter)).terminated).toBe(true)
    expect(upstream.requests).toHaveLength(10)
    // A call is over at [DONE], a moment before its connection is free.
    expect(upstream.connections).toBeLessThanOrEqual(2)
  })
})

describe('settings of the OpenAI-compatible adapter', () => {
  it('reject a base URL that cannot be used, and say why', () => {
    for (const [baseUrl, why] of [
      ['api.example.com/v1', 'absolute'],
      ['ftp://example.com', 'http'],
      ['https://user:hunter2@example.com', 'credentials'],
      ['https://example.com/v1?x=1', 'query'],
      ['https://example.com/v1?', 'query'],
      ['https://example.com/v1#x', 'fragment'],
      ['https://example.com/v1/chat/completions', 'must end before /chat/completions'],
      ['https://example.com/chat/completions//', 'must end before /chat/completions'],
      ['https://example.com/v1/responses', 'must end before /responses'],
    ] as const) {
      expect(() => openaiCompatible({ baseUrl })).toThrow(TypeError)
      expect(() => openaiCompatible({ baseUrl })).toThrow(why)
      expect(() => openaiCompatible({ baseUrl })).not.toThrow('hunter2')
    }
  })

  it('reject headers that the adapter sets itself and invalid headers, without showing a value', () => {
    const baseUrl = 'https://example.com'
    for (const headers of [
      { Authorization: 'sk-secret' },
      { 'content-type': 'sk-secret' },
      { 'bad name': 'sk-secret' },
      { 'x-a': 'sk-secret\r\nx: y' },
    ] as Record<string, string>[]) {
      expect(() => openaiCompatible({ baseUrl, headers })).toThrow(TypeError)
      expect(() => openaiCompatible({ baseUrl, headers })).not.toThrow('sk-secret')
    }
  })

  it('reject headers that are not an object, which would have no effect', () => {
    for (const headers of [new Headers({ 'x-team': 'a' }), new Map([['x-team', 'a']]), 'x-team: a', null]) {
      expect(() => openaiCompatible({ baseUrl: 'https://example.com', headers: headers as never })).toThrow(
        /^openaiCompatible: headers must be an object such as .* convert Headers or a Map with Object\.fromEntries$/,
      )
    }
  })

  it('reject a setting that does not exist, which would have no effect', () => {
    const baseUrl = 'https://example.com'
    expect(() => openaiCompatible({ baseUrl, apikey: 'sk-secret' } as never)).toThrow(
      /^apikey is not an option of openaiCompatible; did you mean apiKey\?$/,
    )
    for (const name of ['proxy', 'fetch', 'agent', 'timeout', 'keyName']) {
      expect(() => openaiCompatible({ baseUrl, [name]: undefined })).toThrow(
        expect.objectContaining({
          code: 'unknown_option',
          field: name,
          message: `${name} is not an option of openaiCompatible; its options are baseUrl, headers, dispatcher, apiKey, api, unlistedTokens, outputBound, streamUsage, reasoningHistory, developerRole, embeddingsFormat`,
        }),
      )
    }
    expect(() => openaiCompatible(undefined as never)).toThrow(
      /^openaiCompatible takes an object of options$/,
    )
  })

  it('reject an unknown API', () => {
    for (const api of ['completions', '', null]) {
      expect(() => openaiCompatible({ baseUrl: 'https://example.com', api: api as never })).toThrow(
        /^openaiCompatible: api must be "chat" or "responses"; got (?:"completions"|""|null)$/,
      )
    }
  })

  it('reject a key that is not a valid header value, without showing it', () => {
    for (const apiKey of ['', 'sk secret', 'sk-secret\n', 'sk-sécret']) {
      expect(() => openaiCompatible({ baseUrl: 'https://example.com', apiKey })).toThrow(TypeError)
      expect(() => openaiCompatible({ baseUrl: 'https://example.com', apiKey })).toThrow(
        /^openaiCompatible: apiKey must be a string of visible ASCII characters\. Leave it out [^é]*none$/,
      )
    }
  })

  it('reject an unknown name for the output limit', () => {
    for (const outputBound of ['maxTokens', '', null] as unknown as 'max_tokens'[]) {
      expect(() => openaiCompatible({ baseUrl: 'https://example.com', outputBound })).toThrow(
        /^openaiCompatible: outputBound must be "max_tokens" or "max_completion_tokens"; got/,
      )
    }
  })
})

describe('a reply to the OpenAI-compatible adapter', () => {
  it('is handed over line by line, unparsed, and its usage separately', async () => {
    const chunks = [
      textChunk('', { usage: null }),
      textChunk('Grüße ', { usage: null, obfuscation: 'x' }),
      textChunk('😀', { usage: null }),
      finishChunk('stop', { usage: null }),
      { ...finishChunk(), choices: [], usage: counts },
    ]
    upstream.script(answerEvents(chunks))
    const { events, terminated } = await runCall(connect())
    expect(terminated).toBe(true)
    expect(events.map((event) => event.type)).toEqual(['data', 'data', 'data', 'data', 'chunk', 'usage'])
    expect(events[1]).toEqual({
      type: 'data',
      bytes: Buffer.from(JSON.stringify(chunks[1])).toString('latin1'),
    })
    expect(textOf(events)).toBe('Grüße 😀')
    expect(events[4]).toMatchObject({ chunk: { choices: [] } })
    expect(events[4]).not.toHaveProperty('chunk.usage')
    expect(events[5]).toMatchObject({ usage: report })
  })

  it('may have usage on the finish chunk, which is reported once if it occurs twice', async () => {
    upstream.script(
      answerEvents([
        textChunk('a'),
        finishChunk('stop', { x_groq: { id: 'r', usage: { ...counts, prompt_tokens: 1 } }, usage: counts }),
      ]),
    )
    const { events } = await runCall(connect())
    expect(events.map((event) => event.type)).toEqual(['data', 'chunk', 'usage'])
    expect(JSON.stringify(events[1])).not.toContain('usage')
    expect(events[2]).toMatchObject({ usage: report })
  })

  it('may have usage only in x_groq or in the only choice', async () => {
    upstream.scriptOnce(answerEvents([finishChunk('stop', { x_groq: { usage: counts } })]))
    expect((await runCall(connect())).events.at(-1)).toMatchObject({ type: 'usage', usage: report })
    upstream.scriptOnce(
      answerEvents([{ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: counts }] }]),
    )
    const { events } = await runCall(connect())
    expect(events[0]).toEqual({
      type: 'chunk',
      chunk: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    })
    expect(events[1]).toMatchObject({ usage: report })
  })

  it('may have usage whose name is written with escapes', async () => {
    upstream.script(answerEvents([`{"choices":[],"us\\u0061ge":${JSON.stringify(counts)}}`]))
    expect((await runCall(connect())).events.at(-1)).toMatchObject({ type: 'usage', usage: report })
  })

  it('may have invalid counts, which are handed over unchanged', async () => {
    upstream.script(
      answerEvents([finishChunk('stop', { usage: { prompt_tokens: -5, completion_tokens: 'many' } })]),
    )
    expect((await runCall(connect())).events.at(-1)).toMatchObject({
      usage: { prompt: -5, completion: 'many' },
    })
  })

  it('has unlisted tokens counted as output if the settings say so', async () => {
    upstream.script(answerEvents([finishChunk('stop', { usage: { ...counts, total_tokens: 118 } })]))
    const adapter = connect({ unlistedTokens: 'output' })
    expect((await runCall(adapter)).events.at(-1)).toMatchObject({ usage: { prompt: 11, completion: 107 } })
  })

  it('may be a JSON body if a stream was requested', async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'é' }, finish_reason: 'stop' }]
    upstream.script(answerJson({ id: 'x', choices, usage: counts }))
    const { events, terminated } = await runCall(connect(), { stream: true })
    expect(terminated).toBe(true)
    expect(events).toMatchObject([{ type: 'completion' }, { type: 'usage', usage: report }])
    expect(completionOf(events[0])).toEqual({ id: 'x', choices })
    expect(events[0]).not.toHaveProperty('completion.usage')
  })

  it.each([
    ['with characters beyond ASCII', '"é 漢字 😀"', 'é 漢字 😀'],
    ['with a character that is escaped by its number', '"é \\u6f22字"', 'é 漢字'],
    ['with something that looks like such an escape', '"C:\\\\users é"', 'C:\\users é'],
  ])('may be a JSON body %s', async (_, literal, content) => {
    upstream.script(answerJson(`{"choices":[{"message":{"content":${literal}},"finish_reason":"stop"}]}`))
    const [event] = (await runCall(connect())).events
    expect(event?.type).toBe('completion')
    expect(completionOf(event)).toEqual({ choices: [{ message: { content }, finish_reason: 'stop' }] })
  })

  it('may be a JSON body that is not UTF-8', async () => {
    const json = Buffer.from('{"choices":[{"message":{"content":"\xe9!"}}]}', 'latin1')
    upstream.script(answerJson(json))
    const [event] = (await runCall(connect())).events
    expect(completionOf(event)).toEqual({ choices: [{ message: { content: '\ufffd!' } }] })
  })

  it('may be a stream if JSON was requested, regardless of its content type', async () => {
    upstream.script([
      { head: 200, headers: { 'content-type': 'application/json' } },
      { write: sse([textChunk('a'), finishChunk()]) },
      { write: 'data: [DONE]\n\n' },
      'end',
    ])
    const { events, terminated } = await runCall(connect(), { stream: false })
    expect(terminated).toBe(true)
    expect(textOf(events)).toBe('a')
  })

  it('has not begun with white space before a JSON body, which still counts as a sign of life', async () => {
    let read = () => {}
    const begun = new Promise<void>((resolve) => {
      read = resolve
    })
    const later = new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
    upstream.script([
      { head: 200 },
      { write: '\n  \n' },
      { wait: later },
      { write: '{"choices":' },
      { wait: begun },
      { write: '[]}' },
      'end',
    ])
    const { reads, terminated } = await runCall(connect(), { stream: false }, () => read())
    expect(terminated).toBe(true)
    expect(reads).toHaveLength(2)
    expect(reads[0]).toEqual([])
    expect(reads[1]).toMatchObject([{ type: 'completion' }])
  })

  it('shows signs of life by comments, empty data and half an event', async () => {
    const taken: (() => void)[] = []
    const turn = () => new Promise<void>((resolve) => taken.push(resolve))
    const event = sse([textChunk('a')])
    upstream.script(async (reply) => {
      reply.head(200)
      for (const bytes of [': wait\n\n', 'data:\n\n', event.slice(0, 20), event.slice(20)]) {
        const next = turn()
        await reply.write(bytes)
        await next
      }
      await reply.write('data: [DONE]\n\n')
      reply.end()
    })
    const { reads, events } = await runCall(connect(), {}, () => {
      for (const resolve of taken.splice(0)) resolve()
    })
    expect(reads.slice(0, 3)).toEqual([[], [], []])
    expect(events).toHaveLength(1)
  })

  it('is handed over once if one read brought it in many chunks', async () => {
    const pieces = Array.from({ length: 50 }, (_, index) => sse([textChunk(`${index} `)]))
    const framed = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`).join('')
    upstream.script([
      {
        raw: `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${framed}e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n`,
      },
    ])
    const { reads, events } = await runCall(connect())
    expect(events).toHaveLength(50)
    expect(reads.length).toBeLessThan(5)
  })

  it('is not terminated if it is a stream without [DONE]', async () => {
    upstream.script(answerEvents([textChunk('a'), finishChunk()], { done: false }))
    const { events, terminated, error } = await runCall(connect())
    expect(error).toBeUndefined()
    expect(terminated).toBe(false)
    expect(events).toHaveLength(2)
  })

  it('may be a stream that ends with its connection', async () => {
    upstream.script([
      { head: 200, headers: { connection: 'close' } },
      { write: sse([textChunk('a')]) },
      { write: 'data: [DONE]\n\n' },
      'end',
    ])
    const { events, terminated } = await runCall(connect())
    expect([textOf(events), terminated]).toEqual(['a', true])
  })

  it('is done at [DONE] although the body goes on, and nothing after it is read', async () => {
    upstream.script([
      { head: 200 },
      { write: `${sse([textChunk('a')])}data: [DONE]\n\n${sse([textChunk('b')])}` },
      'stall',
    ])
    const { events, terminated } = await runCall(connect())
    expect([textOf(events), terminated]).toEqual(['a', true])
    await upstream.requests[0]?.closed
  })

  it('is the same wherever the stream is cut', () => {
    const stream = Buffer.from(
      `\ufeff${sse([textChunk('é😀'), textChunk('b', { usage: null })])}: hi\n\nevent: x\r\n${sse([
        finishChunk('stop', { usage: counts }),
      ])}data: [DONE]\n\n`,
    )
    const read = (pieces: Buffer[]) => {
      const events: ProviderEvent[] = []
      const reader = new ReplyReader(10_000, new ReplyReading(true, undefined, new ProviderReasoning()))
      for (const piece of pieces) reader.read(piece, events)
      return { events, done: reader.end(events) }
    }
    const whole = read([stream])
    expect(whole.done).toBe(true)
    expect(whole.events.map((event) => event.type)).toEqual(['data', 'data', 'chunk', 'usage'])
    for (let cut = 0; cut <= stream.length; cut++) {
      expect(read([stream.subarray(0, cut), stream.subarray(cut)]), `cut at ${cut}`).toEqual(whole)
    }
    expect(read([...stream].map((byte) => Buffer.from([byte])))).toEqual(whole)
  })

  it('may be a stream that arrives byte by byte', async () => {
    const stream = Buffer.from(
      `${sse([textChunk('é😀'), finishChunk('stop', { usage: counts })])}data: [DONE]\n\n`,
    )
    let taken = () => {}
    upstream.script(async (reply) => {
      reply.head(200)
      for (const byte of stream) {
        const next = new Promise<void>((resolve) => {
          taken = resolve
        })
        await reply.write(Buffer.from([byte]))
        await Promise.race([next, reply.closed])
      }
      reply.end()
    })
    const { events, terminated, reads } = await runCall(connect(), {}, () => taken())
    expect(reads.length).toBeGreaterThan(stream.length / 2)
    expect(terminated).toBe(true)
    expect(events.map((event) => event.type)).toEqual(['data', 'chunk', 'usage'])
  })
})
