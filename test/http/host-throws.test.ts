import http from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ChatClient } from '../helpers/chat-client.js'
import { type Host, hosts } from '../helpers/hosts.js'
import { listenHttp } from '../helpers/listen-http.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../helpers/scripted-upstream.js'
import { chat } from '../wire/requests.js'
import { API_KEY, ask, bareHttp, providerReply, usageChunk, WireService } from '../wire/service.js'
import { RawClient, testHandler } from './fixture.js'

type Method = 'writeHead' | 'flushHeaders' | 'write' | 'end'

/** One credit minus the price of `COUNTS`. */
const CHARGED = 1_000_000_000n - 174_000n
const WHOLE = answerJson(providerReply())
const STREAM = answerEvents([textChunk('Hello'), finishChunk(), usageChunk()])
const bareHttp2 = hosts.find(({ name }) => name === 'bare http2')!

/** A host whose responses throw in one method, as they do if a listener of `on-headers` fails. */
function throwingAt(method: Method, host = bareHttp, isBroken = (): boolean => true): Host {
  return {
    ...host,
    mount: (middleware) =>
      host.mount((req, res) => {
        if (isBroken()) {
          res[method] = () => {
            throw new Error(`${method} of the host`)
          }
        }
        middleware(req, res)
      }),
  }
}

test.each<[Method, 'json' | 'stream']>([
  ['writeHead', 'json'],
  ['end', 'json'],
  ['writeHead', 'stream'],
  ['flushHeaders', 'stream'],
  ['write', 'stream'],
  ['end', 'stream'],
])(
  'if the host throws at %s of a %s reply, the client is dropped, and charged like one that left',
  async (method, kind) => {
    const service = await WireService.start({ host: throwingAt(method), expectsFaults: true })
    service.upstream.script(kind === 'json' ? WHOLE : STREAM)
    const client = new ChatClient(chat(service, API_KEY, { stream: kind === 'stream' }))
    await client.over
    expect(client.complete).toBe(false)
    expect(await service.event('request-end')).toMatchObject({ outcome: 'client-left' })
    expect(service.events.filter(({ type }) => type === 'fault')).toMatchObject([
      { where: 'http reply', error: { message: `${method} of the host` } },
    ])
    expect(await service.posted('alice')).toBe(CHARGED)
    await service.close()
  },
)

test('a refusal whose reply makes the host throw still ends its request', async () => {
  const service = await WireService.start({ host: throwingAt('writeHead'), expectsFaults: true })
  const client = new ChatClient(chat(service, 'sk-unknown'))
  await client.over
  expect(client.status).toBeUndefined()
  expect(await service.event('request-end')).toMatchObject({ outcome: 'client-left' })
  await service.close()
})

test('a charge is not followed by an error if the host throws for a reply, and a repeat with the same key gets the reply', async () => {
  let requests = 0
  const host = throwingAt('writeHead', bareHttp, () => ++requests === 1)
  const service = await WireService.start({ host, expectsFaults: true })
  service.upstream.script(WHOLE)
  const headers = { authorization: `Bearer ${API_KEY}`, 'idempotency-key': 'once' }
  const client = new ChatClient({ ...chat(service, API_KEY), headers })
  await client.over
  expect(client.status).toBeUndefined()
  await service.event('request-end')
  const repeat = await service.post(ask(), { 'idempotency-key': 'once' })
  expect([repeat.status, repeat.headers['idempotent-replayed']]).toEqual([200, 'true'])
  await repeat.text()
  expect(await service.posted('alice')).toBe(CHARGED)
  expect(service.asked).toHaveLength(1)
  await service.close()
})

test.each([false, true])('on http2, a host that throws resets the stream (stream: %s)', async (stream) => {
  const service = await WireService.start({ host: throwingAt('writeHead', bareHttp2), expectsFaults: true })
  service.upstream.script(stream ? STREAM : WHOLE)
  await expect(service.post(ask({ stream }))).rejects.toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' })
  expect(await service.event('request-end')).toMatchObject({ outcome: 'client-left' })
  expect(await service.posted('alice')).toBe(CHARGED)
  await service.close()
})

test('a response whose every property throws ends the connection but not the process', async () => {
  const { handler, faults } = testHandler({
    listModels: async () => {
      await turn()
      throw new Error('of the endpoint')
    },
  })
  const server = http.createServer((req, res) => {
    handler(req, res)
    Object.defineProperty(res, 'headersSent', {
      get() {
        throw new Error('of the host')
      },
    })
  })
  const host = await listenHttp(server, '')
  const client = await RawClient.connect(host.port)
  client.write('GET /models HTTP/1.1\r\nhost: x\r\n\r\n')
  await client.untilClosed()
  expect(client.received).toBe('')
  expect(faults).toMatchObject([
    { where: 'http endpoint', error: { message: 'of the endpoint' } },
    { where: 'http reply', error: { message: 'of the host' } },
  ])
  await host.close()
})
