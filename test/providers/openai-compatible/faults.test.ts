import { createServer, type Server } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../../src/contracts/providers.js'
import {
  type OpenAiCompatibleSettings,
  openaiCompatible,
} from '../../../src/providers/openai-compatible/index.js'
import { ask } from '../../../src/testing/adapter/ask.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  type ScriptedUpstream,
  sse,
  startScriptedUpstream,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { type CallOptions, createCall, type Outcome, runCall, textOf } from './run-call.js'

const KEY = 'sk-very-secret-key'
let upstream: ScriptedUpstream
const adapters: ProviderAdapter[] = []

function connect(settings: Partial<OpenAiCompatibleSettings> = {}): ProviderAdapter {
  const adapter = openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: KEY, ...settings })
  adapters.push(adapter)
  return adapter
}

async function runScript(script: Script, options: CallOptions = {}): Promise<Outcome> {
  upstream.script(script)
  return runCall(connect(), options)
}

beforeEach(async () => {
  upstream = await startScriptedUpstream()
})
afterEach(async () => {
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close?.()))
  await upstream.close()
})

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return address.port
}

const head = { head: 200, headers: { 'content-type': 'text/event-stream' } }

describe('an HTTP error status from a provider', () => {
  it('is a failure with the details in its body', async () => {
    const body = {
      error: { message: 'No such thing', type: 'x', param: 'messages', code: 'context_length_exceeded' },
    }
    const { error, reads } = await runScript(answerJson(body, 400))
    expect(error).toMatchObject({
      reason: 'status',
      status: 400,
      providerMessage: 'No such thing',
      param: 'messages',
      providerCode: 'context_length_exceeded',
    })
    expect(reads).toEqual([])
  })

  it('includes the seconds to wait', async () => {
    const { error } = await runScript(answerJson({ detail: 'Slow down' }, 429, { 'retry-after': '17' }))
    expect(error).toMatchObject({ status: 429, retryAfterSeconds: 17, providerMessage: 'Slow down' })
  })

  it('has its body read up to 64 KiB before the adapter disconnects', async () => {
    const { error } = await runScript(async (reply) => {
      reply.head(500)
      while (reply.open) await reply.write('x'.repeat(16_384))
    })
    expect(error).toMatchObject({ reason: 'status', status: 500 })
    expect(error?.providerMessage).toHaveLength(64 * 1024)
    await upstream.requests[0]?.closed
  })

  it('is reported with the bytes received even if its body never ends', async () => {
    const { error } = await runScript([
      { head: 429, headers: { 'retry-after': '17' } },
      { write: '{"detail":"Slow down"}' },
      'stall',
    ])
    expect(error).toMatchObject({
      reason: 'status',
      status: 429,
      retryAfterSeconds: 17,
      providerMessage: 'Slow down',
    })
    await upstream.requests[0]?.closed
  })

  it('is reported even if its body breaks off or is encoded', async () => {
    expect((await runScript([{ head: 503 }, { write: 'half' }, 'reset'])).error).toMatchObject({
      status: 503,
    })
    const encoded = await runScript([
      { head: 404, headers: { 'content-encoding': 'gzip' } },
      { write: '\u001fx' },
      'stall',
    ])
    expect(encoded.error).toMatchObject({ reason: 'status', status: 404, providerMessage: undefined })
  })
})

const DEEP = `{"x":${'['.repeat(200)}${']'.repeat(200)}}`

describe('an invalid reply from a provider', () => {
  const replies: Record<string, Script> = {
    'a redirect': [{ head: 307, headers: { location: 'http://127.0.0.1:1/' } }, 'end'],
    'an encoded body': [{ head: 200, headers: { 'content-encoding': 'gzip' } }, { write: 'x' }, 'end'],
    'a page of HTML': [{ head: 200, headers: { 'content-type': 'text/html' } }, { write: '<html>' }, 'end'],
    'an empty body': [{ head: 200 }, 'end'],
    'JSON cut off': answerJson('{"choices":['),
    'JSON without choices': answerJson({ id: 'x' }),
    'choices that are not a list': answerJson({ choices: {} }),
    'choices of an event that are not a list': answerEvents([{ choices: 'x', usage: {} }]),
    'an event that is not JSON': answerEvents(['hello']),
    'a chunk without a length': [
      { raw: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n' },
      'stall',
    ],
    'a head without end': [{ raw: `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}` }, 'stall'],
    'something that is not HTTP': [{ raw: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' }, 'stall'],
  }
  for (const [name, script] of Object.entries(replies)) {
    it(`is rejected: ${name}`, async () => {
      const { error } = await runScript(script)
      expect(error).toMatchObject({ reason: 'invalid-response' })
    })
  }

  it.each([
    [
      'an event',
      answerEvents([`{"choices":[${DEEP}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, '[DONE]']),
    ],
    ['a body', answerJson(`{"choices":[${DEEP}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`)],
  ])(
    'is not %s that is nested too deeply: its usage is read, and the router judges the rest',
    async (_what, script) => {
      const { error, events } = await runScript(script)
      expect(error).toBeUndefined()
      expect(events.find(({ type }) => type === 'usage')).toMatchObject({
        usage: { prompt: 3, completion: 4 },
      })
    },
  )

  it('is rejected, and disconnected, if it exceeds the limit for an event', async () => {
    const { error, events } = await runScript(
      [head, { write: sse([textChunk('a'), textChunk('x'.repeat(1_000))]) }, 'stall'],
      { sizes: { eventBytes: 500 } },
    )
    expect(error).toMatchObject({ reason: 'invalid-response' })
    expect(textOf(events)).toBe('a')
    await upstream.requests[0]?.closed
  })

  it('is rejected, and disconnected, if it exceeds the limit for a reply', async () => {
    const endless: Script = async (reply) => {
      reply.head(200)
      while (reply.open) await reply.write(sse([textChunk('again ')]))
    }
    const { error } = await runScript(endless, { sizes: { replyBytes: 5_000 } })
    expect(error).toMatchObject({ reason: 'invalid-response' })
    await upstream.requests[0]?.closed
    const body = await runScript(answerJson({ choices: [], filler: 'x'.repeat(6_000) }), {
      sizes: { replyBytes: 5_000 },
    })
    expect(body.error).toMatchObject({ reason: 'invalid-response' })
  })
})

it('an identity content encoding of a reply is accepted in upper or lower case', async () => {
  const encodings = { 'content-encoding': 'Identity' }
  const { error, events } = await runScript(answerJson({ choices: [] }, 200, encodings), { stream: false })
  expect(error).toBeUndefined()
  expect(events).toMatchObject([{ type: 'completion' }])
})

describe("a failure inside a provider's reply", () => {
  it('may be a frame, reported after everything before it', async () => {
    const frame = { error: { message: 'Overloaded', type: 'server_error', code: 529 } }
    const { error, events } = await runScript([head, { write: sse([textChunk('half'), frame]) }, 'stall'])
    expect(error).toMatchObject({ reason: 'error-frame', status: 529, providerMessage: 'Overloaded' })
    expect(textOf(events)).toBe('half')
    await upstream.requests[0]?.closed
  })

  it.each([
    ['rate_limit_exceeded', 429],
    ['server_is_overloaded', 503],
    ['context_length_exceeded', 400],
    ['invalid_image_format', 400],
    ['server_error', undefined],
  ])('has the status of its code %s', async (code, status) => {
    const { error } = await runScript([head, { write: sse([{ error: { code, message: 'Broken' } }]) }, 'end'])
    expect(error).toMatchObject({ reason: 'error-frame', status, providerCode: code })
  })

  it('may be an empty error, if there is nothing beside it', async () => {
    for (const error of ['', {}, false]) {
      const failed = await runScript([head, { write: sse([textChunk('half'), { error }]) }, 'stall'])
      expect(failed.error).toMatchObject({ reason: 'error-frame' })
    }
  })

  it('may be an event of type error, with any data', async () => {
    for (const data of ['{"message":"Broken"}', 'Broken', '{"error":"Broken"}']) {
      const { error } = await runScript([head, { write: `event: error\ndata: ${data}\n\n` }, 'stall'])
      expect(error).toMatchObject({ reason: 'error-frame', providerMessage: 'Broken', status: undefined })
    }
  })

  it('may be a frame that also has choices and usage', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 }
    const frame = { ...finishChunk('error'), usage, error: { code: 502, message: 'Broken' } }
    const { error, events } = await runScript(answerEvents([frame]))
    expect(error).toMatchObject({ reason: 'error-frame', status: 502 })
    expect(events).toMatchObject([{ type: 'usage', usage: { prompt: 3, completion: 4 } }])
  })

  it('may be a line of its own kind, before the provider says that it is done', async () => {
    const complaint = { code: 400, message: 'the request exceeds the available context size', type: 'x' }
    for (const ending of ['\n\ndata: [DONE]\n\n', '\r\n\r\n', '']) {
      const write = `${sse([textChunk('half')])}error: ${JSON.stringify(complaint)}${ending}`
      const { error, events, terminated } = await runScript([head, { write }, 'end'])
      expect(error).toMatchObject({
        reason: 'error-frame',
        status: 400,
        providerMessage: complaint.message,
      })
      expect([textOf(events), terminated]).toEqual(['half', undefined])
    }
  })

  it('may be in x_groq, beside choices without a finish', async () => {
    const events = [textChunk('half'), { ...textChunk(''), x_groq: { id: 'req_01', error: 'over_capacity' } }]
    const { error, terminated } = await runScript(answerEvents(events))
    expect(error).toMatchObject({ reason: 'error-frame', providerMessage: 'over_capacity' })
    expect(terminated).toBeUndefined()
  })

  it.each([
    ['long', { error_message: 'x'.repeat(2_048) }],
    ['beside usage', { error_message: 'Too long', usage: { prompt_tokens: 3, completion_tokens: 0 } }],
  ])('may be a message in place of choices, %s', async (_name, words) => {
    const events = [textChunk('Hel'), { choices: null, error_type: 'BadRequestError', ...words }]
    const { error, terminated } = await runScript([head, { write: `${sse(events)}data: [DONE]\n\n` }, 'end'])
    expect(error).toMatchObject({ reason: 'error-frame' })
    expect(terminated).toBeUndefined()
  })

  it('may be a JSON body', async () => {
    const { error } = await runScript(answerJson({ error: { message: 'Broken', code: 'x' } }), {
      stream: false,
    })
    expect(error).toMatchObject({ reason: 'error-frame', providerMessage: 'Broken', providerCode: 'x' })
  })
})

describe('a failing connection to a provider', () => {
  it('is cut short if it breaks after the head, in the middle of an event, or before the head', async () => {
    const scripts: Script[] = [
      [head, 'reset'],
      [head, 'hang-up'],
      [head, { write: sse([textChunk('a')]) }, { write: 'data: {"cho' }, 'reset'],
      [head, { write: sse([textChunk('a')]) }, { write: 'data: {"cho' }, 'hang-up'],
      [{ head: 200, headers: { 'content-length': '1000' } }, { write: '{"choices"' }, 'hang-up'],
      [{ raw: 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{' }, 'hang-up'],
      [
        { raw: 'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{' },
        'hang-up',
      ],
      ['reset'],
      ['hang-up'],
    ]
    for (const script of scripts) {
      const { error } = await runScript(script)
      expect(error, JSON.stringify(script)).toMatchObject({ reason: 'cut-short' })
    }
  })

  it('has handed over everything that arrived before it broke', async () => {
    let taken = () => {}
    const first = new Promise<void>((resolve) => {
      taken = resolve
    })
    upstream.script([head, { write: sse([textChunk('a')]) }, { wait: first }, 'reset'])
    const { error, events } = await runCall(connect(), {}, (read) => {
      if (read.length > 0) taken()
    })
    expect(error).toMatchObject({ reason: 'cut-short' })
    expect(textOf(events)).toBe('a')
  })

  it('is unreachable if it is refused, or if the name is not found', async () => {
    await upstream.close()
    expect((await runCall(connect())).error).toMatchObject({ reason: 'unreachable' })
    const nowhere = await runCall(connect({ baseUrl: 'http://host.invalid/v1' }))
    expect(nowhere.error).toMatchObject({ reason: 'unreachable' })
  })

  it('is unreachable if the other side does not use TLS', async () => {
    const plain = createServer((socket) => {
      socket.on('error', () => {})
      socket.resume()
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const { error } = await runCall(connect({ baseUrl: `https://127.0.0.1:${portOf(plain)}/v1` }))
    expect(error).toMatchObject({ reason: 'unreachable' })
    await new Promise((resolve) => plain.close(resolve))
  })

  it('is a timeout if connecting takes too long', async () => {
    // A socket that accepts connections and never begins TLS.
    const silent = createServer((socket) => socket.on('error', () => {}))
    const sockets = new Set<{ destroy(): void }>()
    silent.on('connection', (socket) => sockets.add(socket))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const adapter = connect({ baseUrl: `https://127.0.0.1:${portOf(silent)}/v1` })
    const { error } = await runCall(adapter, { timeouts: { connectMs: 50 } })
    expect(error).toMatchObject({ reason: 'timeout' })
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => silent.close(resolve))
  })

  it('never shows the key', async () => {
    const outcomes = [
      await runScript(answerJson({ error: 'x' }, 401)),
      await runScript(['reset']),
      await runScript([head, 'reset']),
      await runScript([{ raw: 'garbage' }, 'hang-up']),
    ]
    await upstream.close()
    outcomes.push(await runCall(connect()))
    for (const { error } of outcomes) {
      expect(error).toBeDefined()
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(KEY)
    }
  })
})

describe('aborting a provider call', () => {
  it('rejects at once with its reason, and closes the connection', async () => {
    const controller = new AbortController()
    upstream.script([head, { write: sse([textChunk('a')]) }, 'stall'])
    const { error } = await runCall(connect(), { signal: controller.signal }, (events) => {
      if (events.length > 0) controller.abort(new Error('too slow'))
    })
    expect(error).toMatchObject({ reason: 'cut-short', cause: { message: 'too slow' } })
    await upstream.requests[0]?.closed
    expect([upstream.connections, upstream.openConnections]).toEqual([1, 0])
  })

  it('works before a head has arrived', async () => {
    const controller = new AbortController()
    const asked = upstream.nextRequest()
    const call = runCall(connect(), { signal: controller.signal })
    const request = await asked
    controller.abort()
    expect((await call).error).toMatchObject({ reason: 'cut-short' })
    await request.closed
  })

  it('works before there is a connection, and nothing is sent', async () => {
    const controller = new AbortController()
    const call = runCall(connect(), { signal: controller.signal })
    controller.abort()
    expect((await call).error).toMatchObject({ reason: 'cut-short' })
    const before = await runCall(connect(), { signal: AbortSignal.abort() })
    expect(before.error).toMatchObject({ reason: 'cut-short' })
    await adapters[0]?.close?.()
    expect(upstream.requests).toEqual([])
  })

  it('works while a take is pending', async () => {
    const controller = new AbortController()
    upstream.script([head, { write: sse([textChunk('a')]) }, 'stall'])
    const { error } = await runCall(connect(), { signal: controller.signal }, (events) => {
      if (events.length === 0) return
      queueMicrotask(() => controller.abort())
      return new Promise(() => {})
    })
    expect(error).toMatchObject({ reason: 'cut-short' })
    await upstream.requests[0]?.closed
  })

  it('leaves no listener behind when a call is over', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const counted = new Proxy(signal, {
      get(target, name) {
        if (name === 'addEventListener') listeners++
        if (name === 'removeEventListener') listeners--
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    upstream.script(answerEvents([finishChunk()]))
    await runCall(connect(), { signal: counted })
    upstream.script([head, 'reset'])
    await runCall(connect(), { signal: counted })
    expect(listeners).toBe(0)
  })
})

describe("a failing take of a provider's reply", () => {
  it('ends the call with the error that it threw, and disconnects', async () => {
    const fault = new Error('a fault of the caller')
    const takes = [
      () => {
        throw fault
      },
      () => Promise.reject(fault),
    ]
    for (const take of takes) {
      upstream.script([head, { write: sse([textChunk('a')]) }, 'stall'])
      await expect(ask(connect(), createCall(), take)).rejects.toBe(fault)
      await upstream.requests.at(-1)?.closed
    }
  })
})

describe('closing an adapter', () => {
  it('ends idle connections, and rejects later calls', async () => {
    upstream.script(answerJson({ choices: [] }))
    const adapter = connect()
    await runCall(adapter)
    await adapter.close?.()
    await upstream.requests[0]?.closed
    expect((await runCall(adapter)).error).toMatchObject({ reason: 'unreachable' })
    await adapter.close?.()
  })
})
