import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderAdapter } from '../../src/contracts/providers.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import { type ConnectProxy, startConnectProxy } from '../helpers/connect-proxy.js'
import { createDeferred } from '../helpers/deferred.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  type ScriptedUpstream,
  sse,
  startScriptedUpstream,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { runCall, textOf } from '../providers/openai-compatible/run-call.js'

let upstream: ScriptedUpstream
let proxy: ConnectProxy
let dispatcher: ProxyAgent

beforeEach(async () => {
  upstream = await startScriptedUpstream()
  proxy = await startConnectProxy()
  dispatcher = new ProxyAgent(proxy.url)
})
afterEach(async () => {
  await dispatcher.destroy()
  await proxy.close()
  await upstream.close()
})

const connect = (): ProviderAdapter =>
  openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: 'sk-host', dispatcher })
const targetOf = ({ baseUrl }: ScriptedUpstream): string => new URL(baseUrl).host
/** A turn of the event loop, in which sockets are read. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function turns(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await turn()
}

describe("a host's dispatcher", () => {
  it('takes the calls of openaiCompatible through a proxy, with the same request', async () => {
    upstream.script(answerEvents([textChunk('Hello'), finishChunk()]))
    const adapter = connect()
    for (let call = 0; call < 3; call++) {
      const { events, terminated } = await runCall(adapter)
      expect([textOf(events), terminated]).toEqual(['Hello', true])
    }
    expect(proxy.targets[0]).toBe(targetOf(upstream))
    expect(proxy.targets).toHaveLength(upstream.connections)
    const direct = openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: 'sk-host' })
    await runCall(direct)
    await direct.close?.()
    expect(proxy.targets).toHaveLength(upstream.connections - 1)
    const [first, , , last] = upstream.requests
    expect({ ...first, closed: undefined }).toEqual({ ...last, closed: undefined })
  })

  it('takes the calls of anthropic through a proxy', async () => {
    const usage = { input_tokens: 3, output_tokens: 1 }
    upstream.script(
      answerJson({
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_reason: 'end_turn' },
        content: [{ type: 'text', text: 'Hello' }],
        usage,
      }),
    )
    const adapter = anthropic({ baseUrl: upstream.baseUrl, apiKey: 'sk-ant', dispatcher })
    const request = { model: 'claude', max_tokens: 5, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const { error, terminated } = await runCall(adapter, { stream: false, request })
    expect([error, terminated]).toEqual([undefined, true])
    expect(proxy.targets).toEqual([targetOf(upstream)])
    expect(upstream.requests[0]).toMatchObject({ path: '/v1/messages', headers: { 'x-api-key': 'sk-ant' } })
  })

  it('stays open when its adapter is closed, which then refuses calls', async () => {
    upstream.script(answerJson({ choices: [] }))
    const [one, other] = [connect(), connect()]
    expect((await runCall(one, { stream: false })).error).toBeUndefined()
    await one.close?.()
    expect((await runCall(one, { stream: false })).error).toMatchObject({ reason: 'unreachable' })
    expect((await runCall(other, { stream: false })).error).toBeUndefined()
  })

  it.each<[string, () => unknown]>([
    ['whose proxy refuses', () => proxy.answer(403)],
    ['whose proxy is away', () => proxy.close()],
    ['that is closed', () => dispatcher.close()],
    ['that is destroyed', () => dispatcher.destroy()],
  ])('%s makes the provider unreachable', async (_what, prepare) => {
    await prepare()
    expect((await runCall(connect())).error).toMatchObject({ reason: 'unreachable' })
    expect(upstream.requests).toEqual([])
  })

  it('that throws makes the provider unreachable', async () => {
    const broken = {
      dispatch(): never {
        throw new Error('Out of order')
      },
    }
    const { error } = await runCall(openaiCompatible({ baseUrl: upstream.baseUrl, dispatcher: broken }))
    expect(error).toMatchObject({ reason: 'unreachable', cause: { message: 'Out of order' } })
  })

  it('passes on the status, headers and body of an error', async () => {
    upstream.script(answerJson({ error: { message: 'Slow down' } }, 429, { 'retry-after': '17' }))
    const { error } = await runCall(connect())
    expect(error).toMatchObject({ status: 429, retryAfterSeconds: 17, providerMessage: 'Slow down' })
  })

  it('hangs up when a call is aborted, before the head and after it', async () => {
    for (const script of [['stall'], [{ head: 200 }, { write: sse([textChunk('a')]) }, 'stall']] as const) {
      upstream.script(script)
      const controller = new AbortController()
      const asked = upstream.nextRequest()
      const call = runCall(connect(), { signal: controller.signal }, (events) => {
        if (events.length > 0) controller.abort()
      })
      const request = await asked
      if (script.length === 1) controller.abort()
      expect((await call).error).toMatchObject({ reason: 'cut-short' })
      await request.closed
    }
  })

  it('holds up a provider whose reply says that its connection is kept', async () => {
    const piece = sse([textChunk('x'.repeat(1_000))]).repeat(50)
    const total = 32 * 1024 * 1024
    let sent = 0
    const script: Script = async (reply) => {
      reply.head(200, { connection: 'keep-alive' })
      while (sent < total) {
        await reply.write(piece)
        sent += piece.length
      }
      await reply.write('data: [DONE]\n\n')
      reply.end()
    }
    upstream.script(script)
    const blocked = createDeferred()
    const first = createDeferred()
    let taking = 0
    let received = 0
    const call = runCall(connect(), { sizes: { replyBytes: 2 * total } }, (events) => {
      expect(taking).toBe(0)
      for (const event of events) received += event.type === 'data' ? event.bytes.length : 0
      if (events.length === 0) return undefined
      first.resolve()
      taking++
      return blocked.promise.then(() => {
        taking--
      })
    })
    await first.promise
    let before = -1
    while (before !== sent) {
      before = sent
      await turns(2_000)
    }
    expect(sent).toBeLessThan(total)
    blocked.resolve()
    expect(await call).toMatchObject({ terminated: true })
    expect(received).toBeGreaterThan(total * 0.95)
  })

  it.each([
    ['hang-up', { connection: 'close' }],
    ['reset', { connection: 'close' }],
    ['hang-up', { connection: 'keep-alive' }],
    ['reset', { connection: 'keep-alive' }],
    ['reset', {}],
  ] as const)(
    'survives a %s of a reply with the headers %j while a take is waited for',
    async (ending, headers) => {
      const second = createDeferred()
      const blocked = createDeferred()
      upstream.script([
        { head: 200, headers },
        { write: sse([textChunk('a')]) },
        { wait: second.promise },
        { write: sse([textChunk('b')]) },
        ending,
      ])
      const call = runCall(connect(), {}, (events) => {
        if (events.length === 0) return undefined
        second.resolve()
        return blocked.promise
      })
      await second.promise
      await upstream.requests[0]?.closed
      await turns(50)
      blocked.resolve()
      const { error, terminated, events } = await call
      expect(error?.reason ?? terminated).toSatisfy((is) => is === 'cut-short' || is === false)
      expect(textOf(events)).toMatch(/^ab?$/)
    },
  )

  it('may be any object that dispatches, and its own timeouts do not affect calls', async () => {
    const agent = new Agent({ headersTimeout: 1, bodyTimeout: 1 })
    const seen: Dispatcher.DispatchOptions[] = []
    const recording: Pick<Dispatcher, 'dispatch'> = {
      dispatch(options, handler) {
        seen.push(options)
        return agent.dispatch(options, handler)
      },
    }
    upstream.script(answerJson({ choices: [] }))
    const adapter = openaiCompatible({ baseUrl: upstream.baseUrl, dispatcher: recording })
    expect((await runCall(adapter, { stream: false })).error).toBeUndefined()
    expect(seen).toMatchObject([{ method: 'POST', headersTimeout: 0, bodyTimeout: 0 }])
    await agent.close()
  })

  it.each([null, 'http://proxy.example:3128', {}, { dispatch: true }, new URL('http://proxy.example')])(
    'cannot be %j',
    (given) => {
      const settings = { baseUrl: upstream.baseUrl, dispatcher: given as never }
      for (const make of [() => openaiCompatible(settings), () => anthropic(settings)]) {
        expect(make).toThrow(TypeError)
        expect(make).toThrow(/^\w+: dispatcher must be a Dispatcher of undici, such as new ProxyAgent\(/)
      }
    },
  )

  it('may be undefined, since it may depend on the environment', async () => {
    upstream.script(answerJson({ choices: [] }))
    const adapter = openaiCompatible({ baseUrl: upstream.baseUrl, dispatcher: undefined })
    expect((await runCall(adapter, { stream: false })).error).toBeUndefined()
    await adapter.close?.()
  })
})
