import { EventEmitter, once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { Host } from '../helpers/hosts.js'
import { listenHttp, MOUNT } from '../helpers/listen-http.js'
import { answerJson, type Step, sse, textChunk } from '../helpers/scripted-upstream.js'
import { deferred, RawClient } from '../http/fixture.js'
import {
  API_KEY,
  ask,
  bareHttp,
  providerReply,
  type ServiceOptions,
  usageChunk,
  WireService,
} from './service.js'

const open: WireService[] = []
const agents: http.Agent[] = []

afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy()
  for (const service of open.splice(0)) await service.close()
})

async function start(options: ServiceOptions = {}): Promise<WireService> {
  const service = await WireService.start(options)
  open.push(service)
  return service
}

/** The steps of a provider that answers when the test says so. */
function heldBack() {
  const told = deferred()
  const script: readonly Step[] = [
    { wait: told.promise },
    ...(answerJson(providerReply()) as readonly Step[]),
  ]
  return { script, answer: told.resolve }
}

/** A service on a server whose end can be awaited, and a client with a single kept-alive connection. */
async function startKeptAlive() {
  const server = http.createServer()
  const ended = once(server, 'close')
  const host: Host = {
    ...bareHttp,
    async mount(middleware) {
      server.on('request', (req, res) => middleware(req, res))
      const mounted = await listenHttp(server)
      return { ...mounted, close: async () => void (server.listening && (await mounted.close())) }
    },
  }
  const service = await start({ host })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  const post = async (body: object): Promise<IncomingMessage> => {
    const request = http.request(`${service.host.baseUrl}/chat/completions`, {
      agent,
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}` },
    })
    request.end(JSON.stringify(body))
    const [response] = await once(request, 'response')
    return response
  }
  return { service, server, post, ended }
}

describe('graceMs', () => {
  test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER])(
    'of %s lets calls finish that take longer than a millisecond',
    async (graceMs) => {
      const service = await start({ router: () => ({ clock: systemClock }) })
      const { script, answer } = heldBack()
      service.upstream.script(script)
      const asked = service.upstream.nextRequest()
      const answered = service.post(ask())
      await asked
      const closing = service.router.close({ graceMs })
      // Timers of equal length fire in the order they were set, so one of the router's would already have
      // fired.
      await new Promise((resolve) => setTimeout(resolve, 1))
      answer()
      expect((await answered).status).toBe(200)
      expect(await closing).toEqual({ drained: 1, aborted: 0 })
    },
  )

  test.each([Number.NaN, -1, '30s', null])('of %s is refused, and nothing is closed', async (graceMs) => {
    const service = await start()
    service.upstream.script(answerJson(providerReply()))
    await expect(service.router.close({ graceMs: graceMs as number })).rejects.toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        field: 'graceMs',
        message: expect.stringMatching(
          /^close: graceMs must be a number of milliseconds, 0 or more, such as 30_000; Infinity waits until all calls have ended; got /,
        ),
      }),
    )
    expect((await service.post(ask())).status).toBe(200)
  })

  test.each([[5], ['30s'], [null], [{ grace: 5 }], [() => undefined]])(
    'passed as %o is refused, and nothing is closed',
    async (options) => {
      const service = await start()
      service.upstream.script(answerJson(providerReply()))
      await expect(service.router.close(options as object)).rejects.toThrow(
        /^close takes an object of options; got |^grace is not an option of close; did|^grace is not an option of close; its options are graceMs$/,
      )
      expect((await service.post(ask())).status).toBe(200)
    },
  )
})

test('closing the router works as a signal listener', async () => {
  const service = await start()
  const signals = new EventEmitter()
  const closed = new Promise((resolve, reject) => {
    signals.once('SIGTERM', (...given) => service.router.close(...(given as [])).then(resolve, reject))
  })
  signals.emit('SIGTERM', 'SIGTERM', 15)
  expect(await closed).toEqual({ drained: 0, aborted: 0 })
  expect((await service.post(ask())).status).toBe(503)
})

describe('on closing, a kept-alive connection', () => {
  test('ends with the reply to the call in progress, and then the server ends', async () => {
    const { service, server, post, ended } = await startKeptAlive()
    service.upstream.scriptOnce(answerJson(providerReply()))
    const first = await post(ask())
    expect(first.headers.connection).toBe('keep-alive')
    await text(first)
    const { script, answer } = heldBack()
    service.upstream.script(script)
    const asked = service.upstream.nextRequest()
    const answered = post(ask())
    await asked
    server.close()
    const closing = service.router.close()
    answer()
    const last = await answered
    expect([last.statusCode, last.headers.connection]).toEqual([200, 'close'])
    await text(last)
    expect(await closing).toEqual({ drained: 1, aborted: 0 })
    await ended
  })

  test('ends with the refusal of the next call if a stream had already begun', async () => {
    const { service, server, post, ended } = await startKeptAlive()
    const told = deferred()
    service.upstream.script([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('Hel')]) },
      { wait: told.promise },
      { write: sse([textChunk('lo'), usageChunk(), '[DONE]']) },
      'end',
    ])
    const streamed = await post(ask({ stream: true }))
    server.close()
    const closing = service.router.close()
    told.resolve()
    expect(await text(streamed)).toContain('[DONE]')
    await closing
    const refused = await post(ask())
    expect([refused.statusCode, refused.headers.connection]).toEqual([503, 'close'])
    expect(await text(refused)).toContain('shutting_down')
    await ended
  })

  test.each([
    ['the first', [0, 1]],
    ['the second', [1, 0]],
  ])('ends with the last of two pipelined replies if %s is ready first', async (_which, order) => {
    const { service, server, ended } = await startKeptAlive()
    const held = [heldBack(), heldBack()]
    service.upstream.scriptOnce(...held.map(({ script }) => script))
    const client = await RawClient.connect(service.host.port)
    const body = JSON.stringify(ask())
    const head = `POST ${MOUNT}/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${API_KEY}\r\n`
    for (const _ of held) {
      const asked = service.upstream.nextRequest()
      client.write(`${head}content-length: ${body.length}\r\n\r\n${body}`)
      await asked
    }
    server.close()
    const closing = service.router.close()
    held[order[0]!]!.answer()
    await service.event('request-end')
    held[order[1]!]!.answer()
    await client.untilClosed()
    expect(client.received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    expect(client.received.match(/connection: close/gi)).toHaveLength(1)
    expect(await closing).toEqual({ drained: 2, aborted: 0 })
    await ended
  })
})
