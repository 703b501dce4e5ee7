import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { testHandler } from './fixture.js'

const STALL_MS = 200
/** More than the sockets of both sides hold. */
const LARGE = 'x'.repeat(48 * 1024 * 1024)
/** More than the window of an http2 stream, less than Node lets wait on one session. */
const SMALLER = 'x'.repeat(4 * 1024 * 1024)

function answering(body: string) {
  return testHandler(
    {
      chatCompletions: async (call, writer) => {
        await call.readBody()
        writer.send(200, {}, body)
      },
    },
    { limits: { clientStallMs: STALL_MS } },
  ).handler
}

test('a client that takes nothing of a whole reply is dropped', async () => {
  const server = http.createServer(answering(LARGE))
  const connected = once(server, 'connection') as Promise<[net.Socket]>
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.pause()
  const body = '{}'
  client.write(`POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const [socket] = await connected
  await once(socket, 'close')
  expect(socket.bytesWritten).toBeGreaterThan(0)
  client.destroy()
  server.close()
})

test('a client that takes it late but steadily gets all of it, and its connection lives on', async () => {
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

test('on http2 its stream is ended, and its session lives on', async () => {
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
