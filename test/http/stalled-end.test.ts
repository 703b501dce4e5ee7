import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { asWire } from '../../src/protocol/wire-bytes.js'
import { deferred, testHandler } from './fixture.js'

const STALL_MS = 200
/** More than the sockets of both sides buffer. */
const LARGE = 'x'.repeat(48 * 1024 * 1024)
/** More than the window of an http2 stream, less than Node queues on one session. */
const SMALLER = 'x'.repeat(4 * 1024 * 1024)

const POST = 'POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'

function answering(body: string) {
  return testing(body).handler
}

function testing(body: string, sent = () => {}) {
  return testHandler(
    {
      chatCompletions: async (call, writer) => {
        await call.readBody('alice')
        writer.send(200, {}, asWire(body))
        sent()
      },
    },
    { timeouts: { clientStallMs: STALL_MS } },
  )
}

/** A bare connection to a listening server. */
async function connectTo(server: http.Server): Promise<net.Socket> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  return client
}

test('a client that reads nothing of a complete reply is dropped', async () => {
  const server = http.createServer(answering(LARGE))
  const connected = once(server, 'connection') as Promise<[net.Socket]>
  const client = await connectTo(server)
  client.pause()
  client.write(POST)
  const [socket] = await connected
  await once(socket, 'close')
  expect(socket.bytesWritten).toBeGreaterThan(0)
  client.destroy()
  server.close()
})

test('a client that reads slowly but steadily gets the whole reply, and its connection stays open', async () => {
  const server = http.createServer(answering(LARGE))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const { port } = server.address() as AddressInfo
  const ask = async (method: string, path: string, body: string): Promise<number> => {
    const request = http.request({ agent, port, host: '127.0.0.1', method, path })
    request.end(body)
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    let bytes = 0
    for await (const piece of response) bytes += piece.length
    return bytes
  }
  expect(await ask('POST', '/chat/completions', '{}')).toBe(LARGE.length)
  expect(await ask('GET', '/models', '')).toBeGreaterThan(0)
  agent.destroy()
  server.close()
})

describe("a connection's own timeout", () => {
  /**
   * The timeout after the reply to the first request, while nobody answers the requests that came with it.
   */
  async function timeoutAfter(server: http.Server, requests: number): Promise<number> {
    const handler = answering(LARGE)
    const over = new Promise<number>((resolve) => {
      server.once('request', (req, res) => {
        handler(req, res)
        // Every listener has run before the next tick.
        res.on('finish', () => process.nextTick(() => resolve(req.socket.timeout ?? 0)))
      })
    })
    const client = await connectTo(server)
    client.resume()
    client.write(POST.repeat(requests))
    const timeout = await over
    client.destroy()
    server.close()
    return timeout
  }

  test.each([0, 60_000])('is %i again after a delayed reply has been sent', async (timeout) => {
    const server = http.createServer({ keepAliveTimeout: 0 })
    server.timeout = timeout
    expect(await timeoutAfter(server, 1)).toBe(timeout)
  })

  test('is restored even if the next request arrived before the reply was sent', async () => {
    expect(await timeoutAfter(http.createServer(), 2)).toBe(0)
  })

  test('is replaced by that of an idle connection', async () => {
    expect(await timeoutAfter(http.createServer({ keepAliveTimeout: 70_000 }), 1)).toBeGreaterThanOrEqual(
      70_000,
    )
  })
})

test('a client that reads nothing of a reply that waited for its turn is dropped', async () => {
  const sent = deferred()
  const { handler } = testing(LARGE, sent.resolve)
  const server = http.createServer()
  const asked = once(server, 'request') as Promise<[http.IncomingMessage, http.ServerResponse]>
  void asked.then(() => server.on('request', handler))
  const client = await connectTo(server)
  client.pause()
  client.write(POST)
  const [, first] = await asked
  client.write(POST)
  await sent.promise
  const closed = once(first.socket!, 'close')
  first.end('its turn')
  await closed
  client.destroy()
  server.close()
})

test('a socket without timeouts, as in test clients, does no harm', async () => {
  const { handler, faults } = testing(LARGE)
  const socket = new Writable({ write: (_chunk, _encoding, done) => void setImmediate(done) })
  const req = Object.assign(new http.IncomingMessage(socket as net.Socket), {
    method: 'POST',
    url: '/chat/completions',
    httpVersionMajor: 1,
    complete: true,
  })
  req.push('{}')
  req.push(null)
  const res = new http.ServerResponse(req)
  res.assignSocket(socket as net.Socket)
  handler(req, res)
  await once(res, 'finish')
  expect([res.statusCode, faults]).toEqual([200, []])
})

test('on http2, a client that reads nothing has its stream ended, and its session stays open', async () => {
  const handler = answering(SMALLER)
  const server = http2.createServer((req, res) =>
    handler(req as unknown as http.IncomingMessage, res as unknown as http.ServerResponse),
  )
  const opened = once(server, 'stream') as Promise<[http2.ServerHttp2Stream]>
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stream = client.request({ ':method': 'POST', ':path': '/chat/completions' })
  stream.on('error', () => {})
  stream.end('{}')
  const [served] = await opened
  await expect(once(served, 'close')).rejects.toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' })
  const after = client.request({ ':path': '/models/next' })
  const [headers] = await once(after, 'response')
  expect(headers[':status']).toBe(200)
  after.resume()
  await once(after, 'close')
  client.close()
  server.close()
  await once(server, 'close')
})
