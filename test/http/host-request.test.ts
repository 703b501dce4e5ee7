import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { listenHttp } from '../helpers/listen-http.js'
import { deferred, testHandler } from './fixture.js'

const POST = { method: 'POST', headers: { 'content-type': 'application/json' } }
const MIXED = 'é😀'.repeat(30_000)

/** Returns the body as read behind a host that has changed the request first. */
async function sendBehind(host: (req: IncomingMessage, next: () => void) => void, sent: unknown) {
  const { handler, consumed, faults } = testHandler()
  const server = http.createServer((req, res) => host(req, () => handler(req, res)))
  const mounted = await listenHttp(server, '')
  const response = await mounted.request('/chat/completions', { ...POST, body: JSON.stringify(sent) })
  const { body } = (await response.json()) as { body: unknown }
  await mounted.close()
  expect(faults).toEqual([])
  expect(consumed).toEqual([])
  return { status: response.status, body }
}

test.each([10, 200_000])('a request that the host has paused is still read (%i bytes)', async (length) => {
  const sent = { a: 'x'.repeat(length) }
  const pause = (req: IncomingMessage, next: () => void): void => {
    req.pause()
    setImmediate(next)
  }
  expect(await sendBehind(pause, sent)).toEqual({ status: 200, body: sent })
})

test.each([10, 200_000])(
  'a body is read completely if `read` returns only a piece of it, as in Node 26 (%i bytes)',
  async (length) => {
    const sent = { a: 'x'.repeat(length) }
    const readInPieces = (req: IncomingMessage, next: () => void): void => {
      const read = req.read.bind(req)
      req.read = (bytes?: number) => read(bytes ?? Math.ceil(req.readableLength / 2))
      setImmediate(next)
    }
    expect(await sendBehind(readInPieces, sent)).toEqual({ status: 200, body: sent })
  },
)

test.each<[BufferEncoding, string]>([
  ['utf8', 'x'],
  ['utf8', 'é😀'],
  ['utf8', MIXED],
  ['latin1', MIXED],
  ['base64', MIXED],
  ['hex', 'é😀'],
])('a request on which the host has set the encoding %s is read as sent (%#)', async (encoding, text) => {
  const sent = { a: text }
  const encode = (req: IncomingMessage, next: () => void): void => {
    req.setEncoding(encoding)
    setImmediate(next)
  }
  expect(await sendBehind(encode, sent)).toEqual({ status: 200, body: sent })
})

test('on http2, a client that hangs up before its body is read is not mistaken for a body consumed elsewhere', async () => {
  const entered = deferred()
  const left = deferred()
  const outcome = deferred<unknown>()
  const { handler, consumed } = testHandler({
    chatCompletions: async (call, writer) => {
      writer.onLeave(left.resolve)
      entered.resolve()
      await left.promise
      try {
        await call.readBody('alice')
      } catch (error) {
        outcome.resolve(error)
      }
    },
  })
  const server = http2.createServer((req, res) =>
    handler(req as unknown as IncomingMessage, res as unknown as ServerResponse),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stream = client.request({ ':method': 'POST', ':path': '/chat/completions' })
  stream.on('error', () => undefined)
  stream.write('{"a":')
  await entered.promise
  stream.close(http2.constants.NGHTTP2_CANCEL)
  expect(await outcome.promise).toMatchObject({ name: 'CompatError', code: 'invalid_request' })
  expect(consumed).toEqual([])
  client.close()
  server.close()
  await once(server, 'close')
})
