import http from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import compression from 'compression'
import express from 'express'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { writeChunk } from '../../src/http/write-chunk.js'
import { asWire } from '../../src/protocol/wire-bytes.js'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { deferred, RawClient, testHandler } from './fixture.js'

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
const open: MountedHost[] = []
const clients: RawClient[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  for (const host of open.splice(0)) await host.close()
})

async function connectTo(listener: http.RequestListener): Promise<RawClient> {
  const host = await listenHttp(http.createServer(listener), '')
  open.push(host)
  const client = await RawClient.connect(host.port)
  clients.push(client)
  return client
}

/** A reply whose head has been sent, on a connection without pending writes. */
async function begun(request = GET, host: (res: http.ServerResponse) => void = (res) => res.flushHeaders()) {
  const reply = deferred<http.ServerResponse>()
  const client = await connectTo((_req, res) => reply.resolve(res))
  client.write(request)
  const res = await reply.promise
  host(res)
  await turn()
  return { res, client }
}

describe('a chunk written without res.write', () => {
  it('is sent framed, in one piece', async () => {
    const { res, client } = await begun()
    expect(writeChunk(res, asWire('gr\u00fc\u00df'))).toBe(true)
    res.end('!')
    await client.untilReceived('0\r\n\r\n')
    expect(client.received.split('\r\n\r\n')[1]).toBe('4\r\ngr\u00fc\u00df\r\n1\r\n!\r\n0')
  })

  const others: Record<string, (res: http.ServerResponse) => void> = {
    'before the head': () => undefined,
    'if the body has a length': (res) => res.writeHead(200, { 'content-length': 3 }).flushHeaders(),
    'if a middleware replaces write': (res) => {
      res.flushHeaders()
      const write = res.write.bind(res) as (...values: unknown[]) => boolean
      res.write = (...values: unknown[]) => write(...values)
    },
    'if the host corks the response': (res) => {
      res.flushHeaders()
      res.cork()
    },
    'after the end': (res) => {
      res.end()
    },
  }
  it.each(Object.entries(others))('is not sent %s', async (_name, host) => {
    const { res } = await begun(GET, host)
    expect(writeChunk(res, asWire('abc'))).toBe(false)
  })

  it('is not sent to an HTTP/1.0 client', async () => {
    const { res } = await begun('GET / HTTP/1.0\r\n\r\n')
    expect(writeChunk(res, asWire('abc'))).toBe(false)
  })

  it('is not sent if it might have to wait', async () => {
    const { res } = await begun()
    expect(writeChunk(res, asWire('x'.repeat(res.writableHighWaterMark)))).toBe(false)
  })

  it('is not sent while the client reads nothing', async () => {
    const { res, client } = await begun()
    client.socket.pause()
    const piece = 'x'.repeat(10_000)
    let taken = 0
    while (writeChunk(res, asWire(piece))) taken++
    expect(taken).toBeGreaterThan(0)
    expect(res.writableLength).toBeGreaterThan(0)
    client.socket.resume()
    await client.until(() => client.received.length > taken * piece.length)
  })

  it('is not sent by a reply before its turn on its connection', async () => {
    const replies: http.ServerResponse[] = []
    const both = deferred()
    const client = await connectTo((_req, res) => {
      res.flushHeaders()
      if (replies.push(res) === 2) both.resolve()
    })
    client.write(GET + GET)
    await both.promise
    await turn()
    expect(writeChunk(replies[1]!, asWire('second'))).toBe(false)
    expect(writeChunk(replies[0]!, asWire('first'))).toBe(true)
  })

  it('is not sent after the connection has closed', async () => {
    const { res, client } = await begun()
    const closed = deferred()
    res.on('close', () => closed.resolve())
    client.socket.destroy()
    await closed.promise
    expect(writeChunk(res, asWire('abc'))).toBe(false)
  })
})

describe('a streamed reply', () => {
  type Step = string | 'turn'
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 60 }) },
    { weight: 1, arbitrary: fc.nat(40_000).map((length) => '\u00e9'.repeat(length + 1)) },
    { weight: 3, arbitrary: fc.constant('turn') },
  )

  /** From Node 26 on, `res.write` joins the writes of one tick into one chunk. */
  const gathers = Number(process.versions.node.split('.')[0]) >= 26

  /**
   * The client's view of the steps: the chunks of the body, with their framing if it is the same for both
   * ways.
   */
  async function bytesOf(steps: readonly Step[], last: string, fastPaths: boolean): Promise<string> {
    const { handler } = testHandler(
      {
        chatCompletions: async (_call, writer) => {
          writer.openStream({})
          for (const each of steps) await (each === 'turn' ? turn() : writer.write(asWire(each)))
          writer.end(asWire(last))
        },
      },
      { fastPaths: { chunks: fastPaths, messages: true } },
    )
    const client = await connectTo(handler)
    client.write(
      'POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    )
    await client.untilClosed()
    const chunks = client.received.slice(client.received.indexOf('\r\n\r\n') + 4)
    return gathers ? withoutFraming(chunks) : chunks
  }

  /** The bytes in all chunks of a complete body. */
  function withoutFraming(chunked: string): string {
    let bytes = ''
    for (let at = 0; ; ) {
      const start = chunked.indexOf('\r\n', at) + 2
      const length = chunked.slice(at, start - 2)
      expect(length).toMatch(/^[0-9a-f]+$/)
      const end = start + Number.parseInt(length, 16)
      expect(chunked.slice(end, end + 2)).toBe('\r\n')
      if (end === start) return bytes
      bytes += chunked.slice(start, end)
      at = end + 2
    }
  }

  it('is byte for byte the same with the fast path and without it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.constantFrom('', 'the end'),
        async (steps, last) => {
          expect(await bytesOf(steps, last, true)).toBe(await bytesOf(steps, last, false))
        },
      ),
      { seed: 20_260_102, numRuns: 150 },
    )
  })

  it('still passes through a middleware that compresses', async () => {
    const { handler } = testHandler({
      chatCompletions: async (_call, writer) => {
        writer.openStream({ 'cache-control': 'no-cache' })
        for (let piece = 0; piece < 20; piece++) {
          await writer.write(asWire(`data: ${piece}\n\n`))
          await turn()
        }
        writer.end(asWire('data: [DONE]\n\n'))
      },
    })
    const app = express().use(compression({ filter: () => true, threshold: 0 }), handler)
    const host = await listenHttp(http.createServer(app), '')
    open.push(host)
    const response = await fetch(`http://127.0.0.1:${host.port}/chat/completions`, { method: 'POST' })
    expect(response.headers.get('content-encoding')).toMatch(/gzip|br|deflate/)
    const text = await response.text()
    expect(text).toContain('data: 19\n\n')
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })
})
