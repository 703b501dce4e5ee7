import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import compression from 'compression'
import express from 'express'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { SocketWatch } from '../../src/http/socket-watch.js'
import { asWire } from '../../src/protocol/wire-bytes.js'
import { hosts } from '../helpers/hosts.js'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { type Deferred, deferred, RawClient, testHandler } from './fixture.js'

const MIB = 1024 * 1024
const POST = 'POST /chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'
const open: MountedHost[] = []
const clients: RawClient[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  for (const host of open.splice(0)) await host.close()
})

async function serve(listener: http.RequestListener): Promise<MountedHost> {
  const host = await listenHttp(http.createServer(listener), '')
  open.push(host)
  return host
}

async function connectTo(host: MountedHost): Promise<RawClient> {
  const client = await RawClient.connect(host.port)
  clients.push(client)
  return client
}

interface Leaver {
  writer: ReplyWriter
  left: Promise<void>
  told: () => number
}

/** An endpoint that passes its writers to the test, which answers in its place. */
function handedOver() {
  const waiting: Deferred<Leaver>[] = []
  const ready: Leaver[] = []
  const tested = testHandler({
    chatCompletions: async (call, writer) => {
      const gone = deferred()
      let told = 0
      writer.onLeave(() => {
        told++
        gone.resolve()
      })
      await call.readBody('alice')
      const leaver = { writer, left: gone.promise, told: () => told }
      const first = waiting.shift()
      if (first === undefined) ready.push(leaver)
      else first.resolve(leaver)
    },
  })
  const next = (): Promise<Leaver> => {
    const first = ready.shift()
    if (first !== undefined) return Promise.resolve(first)
    const one = deferred<Leaver>()
    waiting.push(one)
    return one.promise
  }
  return { ...tested, next }
}

describe('a client that leaves during a reply', () => {
  test('before the head is noticed at once, and later writes do nothing', async () => {
    const { handler, next, faults } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer, left, told } = await next()
    expect(writer.left).toBe(false)
    client.socket.destroy()
    await left
    expect(writer.left).toBe(true)
    writer.send(200, {}, asWire('{}'))
    writer.openStream({})
    expect(writer.write(asWire('x'))).toBeUndefined()
    writer.end(asWire(''))
    writer.drop()
    expect(told()).toBe(1)
    expect(faults).toEqual([])
  })

  test('in the middle of a stream is noticed without a write', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer, left } = await next()
    writer.openStream({})
    writer.write(asWire('data: 1\n\n'))
    await client.untilReceived('data: 1')
    client.socket.destroy()
    await left
    expect(writer.left).toBe(true)
  })

  test('is reported only to the last listener, and at once to a listener added later', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer, told } = await next()
    const second = deferred()
    writer.onLeave(second.resolve)
    client.socket.destroy()
    await second.promise
    expect(told()).toBe(0)
    let late = 0
    writer.onLeave(() => late++)
    expect(late).toBe(1)
  })

  test('after the end does not count as having left', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer, told } = await next()
    writer.send(200, {}, asWire('{"done":true}'))
    await client.untilReceived('"done":true')
    const closed = once(client.socket, 'close')
    client.socket.destroy()
    await closed
    await turn()
    expect(writer.left).toBe(false)
    expect(told()).toBe(0)
  })

  test('is noticed even while it waits for its turn on a pipelined connection', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST.repeat(20))
    const leavers: Leaver[] = []
    for (let count = 0; count < 20; count++) leavers.push(await next())
    const warnings: Error[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    for (const { writer } of leavers) writer.openStream({})
    const waiting = leavers.map(({ writer }) => writer.write(asWire('x'.repeat(4 * MIB))))
    expect(waiting.every((promise) => promise !== undefined)).toBe(true)
    client.socket.destroy()
    await Promise.all(leavers.map(({ left }) => left))
    await Promise.all(waiting)
    await turn()
    expect(leavers.map(({ told }) => told())).toEqual(Array(20).fill(1))
    process.off('warning', warned)
    expect(warnings).toEqual([])
  })

  test('may have a listener that throws, which is only reported as a fault', async () => {
    const { handler, next, faults } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer } = await next()
    const told = deferred()
    writer.onLeave(() => {
      told.resolve()
      throw new Error('listener')
    })
    client.socket.destroy()
    await told.promise
    expect(faults).toMatchObject([{ where: 'http leave', error: { message: 'listener' } }])
  })

  test('gets no answer if it leaves before the handler is reached', async () => {
    let calls = 0
    const { handler } = testHandler({
      chatCompletions: async () => {
        calls++
      },
    })
    const handled = deferred()
    const arrived = deferred()
    const client = await connectTo(
      await serve((req, res) => {
        res.on('close', () => {
          handler(req, res)
          handled.resolve()
        })
        arrived.resolve()
      }),
    )
    client.write(POST)
    await arrived.promise
    client.socket.destroy()
    await handled.promise
    expect(calls).toBe(0)
  })
})

describe('pipelined requests', () => {
  test('are answered in order, including streams', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST + POST)
    const first = await next()
    const second = await next()
    second.writer.openStream({})
    const waiting = second.writer.write(asWire(`data: ${'2'.repeat(MIB)}\n\n`))
    expect(waiting).toBeInstanceOf(Promise)
    first.writer.openStream({})
    first.writer.write(asWire('data: 1\n\n'))
    first.writer.end(asWire(''))
    await waiting
    second.writer.write(asWire('data: last\n\n'))
    second.writer.end(asWire(''))
    await client.untilReceived('data: last')
    expect(client.received.indexOf('data: 1')).toBeLessThan(client.received.indexOf('data: 22'))
    expect(first.told() + second.told()).toBe(0)
  })

  test('leave nothing behind on their connection after their end', async () => {
    const added = vi.spyOn(SocketWatch.prototype, 'add')
    const removed = vi.spyOn(SocketWatch.prototype, 'remove')
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST + POST)
    const first = await next()
    const second = await next()
    second.writer.send(200, {}, asWire('{"second":2}'))
    first.writer.send(200, {}, asWire('{"first":1}'))
    await client.untilReceived('"second":2')
    expect(added).toHaveBeenCalledTimes(1)
    expect(removed.mock.calls).toEqual(added.mock.calls)
    vi.restoreAllMocks()
  })

  test('can be dropped while they wait for their turn, which closes the connection at that turn, after the replies before it', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST + POST)
    const first = await next()
    const second = await next()
    first.writer.openStream({})
    first.writer.write(asWire('data: 1\n\n'))
    second.writer.openStream({})
    void second.writer.write(asWire(`data: ${'2'.repeat(MIB)}\n\n`))
    second.writer.drop()
    expect(second.writer.left).toBe(true)
    await client.untilReceived('data: 1')
    first.writer.write(asWire('data: last\n\n'))
    first.writer.end(asWire(''))
    await client.untilClosed()
    expect(client.received).toMatch(/data: last\n\n\r\n0\r\n\r\n$/)
    expect([first.told(), second.told()]).toEqual([0, 1])
  })
})

describe('a client that reads slowly', () => {
  test.each(['bare http with a base path', 'behind compression', 'bare http2'])(
    'on %s makes write wait, so that little is buffered for it',
    async (name) => {
      const host = hosts.find((each) => each.name === name)!
      let written = 0
      const stalled = deferred()
      const finished = deferred()
      const { handler, faults } = testHandler(
        {
          chatCompletions: async (call, writer) => {
            await call.readBody('alice')
            writer.openStream({})
            const block = 'x'.repeat(64 * 1024)
            while (written < 64 * MIB) {
              const wait = writer.write(asWire(block))
              written += block.length
              if (wait === undefined) continue
              const outcome = await Promise.race([wait, afterTurns(200)])
              if (outcome === 'still waiting') stalled.resolve()
              await wait
            }
            writer.end(asWire(''))
            finished.resolve()
          },
        },
        host.basePath === undefined ? {} : { basePath: host.basePath },
      )
      const mounted = await host.mount(handler)
      open.push(mounted)
      const response = await mounted.request('/chat/completions', { method: 'POST', body: '{}' })
      await stalled.promise
      expect(written).toBeLessThan(16 * MIB)
      let received = 0
      for await (const chunk of response.body) received += (chunk as Buffer).length
      await finished.promise
      expect(received).toBe(64 * MIB)
      expect(faults).toEqual([])
    },
  )

  test('that leaves ends the wait', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.socket.pause()
    client.write(POST)
    const { writer, left } = await next()
    writer.openStream({})
    const waits = [writer.write(asWire('x'.repeat(16 * MIB))), writer.write(asWire('y'))]
    expect(waits.every((wait) => wait instanceof Promise)).toBe(true)
    client.socket.destroy()
    await Promise.all(waits)
    await left
  })

  test('that is dropped is disconnected at once', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.socket.pause()
    client.write(POST)
    const { writer, told } = await next()
    writer.openStream({})
    const wait = writer.write(asWire('x'.repeat(16 * MIB)))
    writer.drop()
    expect(writer.left).toBe(true)
    expect(told()).toBe(1)
    await wait
    client.socket.resume()
    await client.untilClosed()
    expect(client.received.endsWith('0\r\n\r\n')).toBe(false)
  })
})

async function afterTurns(count: number): Promise<'still waiting'> {
  for (let left = count; left > 0; left--) await turn()
  return 'still waiting'
}

describe('dropping a client', () => {
  test('after the end leaves the connection to the next request', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer } = await next()
    writer.send(200, {}, asWire('{"done":true}'))
    await client.untilReceived('"done":true')
    await turn()
    writer.drop()
    client.write('GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"key":"next"')
  })

  test('on http2 ends the stream with an error and keeps the session', async () => {
    const { handler, next } = handedOver()
    const server = http2.createServer((req, res) =>
      handler(req as unknown as http.IncomingMessage, res as unknown as http.ServerResponse),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const stream = client.request({ ':method': 'POST', ':path': '/chat/completions' })
    stream.end('{}')
    const { writer, told } = await next()
    writer.openStream({})
    writer.write(asWire('data: 1\n\n'))
    await once(stream, 'data')
    const failed = once(stream, 'error')
    writer.drop()
    expect(told()).toBe(1)
    expect(await failed).toMatchObject([{ code: 'ERR_HTTP2_STREAM_ERROR' }])
    const after = client.request({ ':path': '/models/next' })
    const [headers] = await once(after, 'response')
    expect(headers[':status']).toBe(200)
    after.resume()
    await once(after, 'close')
    client.close()
    server.close()
    await once(server, 'close')
  })
})

describe('a host that answers by itself', () => {
  test('before the router does, like a timeout, counts as a client that left', async () => {
    const { handler, next, faults } = handedOver()
    const kept = deferred<http.ServerResponse>()
    const client = await connectTo(
      await serve((req, res) => {
        kept.resolve(res)
        handler(req, res)
      }),
    )
    client.write(POST)
    const { writer, left } = await next()
    const res = await kept.promise
    res.writeHead(503)
    expect(writer.left).toBe(true)
    writer.send(200, {}, asWire('{"late":true}'))
    res.end('timeout')
    await left
    await client.untilReceived('timeout')
    expect(client.received).not.toContain('late')
    writer.openStream({})
    writer.write(asWire('late'))
    writer.end(asWire(''))
    client.write('GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"key":"next"')
    expect(faults).toEqual([])
  })

  test('in the middle of a stream counts as a client that left', async () => {
    const { handler, next, faults } = handedOver()
    const kept = deferred<http.ServerResponse>()
    const client = await connectTo(
      await serve((req, res) => {
        kept.resolve(res)
        handler(req, res)
      }),
    )
    client.write(POST)
    const { writer, told } = await next()
    writer.openStream({})
    writer.write(asWire('data: 1\n\n'))
    const res = await kept.promise
    res.end()
    expect(writer.write(asWire('data: 2\n\n'))).toBeUndefined()
    expect(writer.left).toBe(true)
    writer.end(asWire(''))
    expect(told()).toBe(1)
    await client.untilReceived('0\r\n\r\n')
    expect(client.received).not.toContain('data: 2')
    expect(faults).toEqual([])
  })

  test('before the router is reached is not disturbed', async () => {
    let calls = 0
    const { handler, faults } = testHandler({
      chatCompletions: async () => {
        calls++
      },
    })
    const host = await serve((req, res) => {
      res.end('mine')
      handler(req, res)
    })
    const response = await host.request('/chat/completions', { method: 'POST', body: '{}' })
    expect(await response.text()).toBe('mine')
    expect(calls).toBe(0)
    expect(faults).toEqual([])
  })
})

describe('a client that leaves while its answer is still being compressed', () => {
  test('does not crash the process', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(express().use(compression({ threshold: 0 }), handler)))
    client.write(POST.replace('host: x', 'host: x\r\naccept-encoding: gzip'))
    const { writer } = await next()
    const closed = once(client.socket, 'close')
    writer.send(200, {}, asWire(JSON.stringify({ a: randomBytes(8 * MIB).toString('base64') })))
    client.socket.destroy()
    await closed
    // Without a listener, an error would fail the run.
    await afterTurns(200)
    expect(writer.left).toBe(false)
  })
})

describe('the bytes of an answer', () => {
  test('of JSON, head and body, are sent in one write', async () => {
    const { handler, next } = handedOver()
    const writes: unknown[] = []
    const server = http.createServer(handler)
    server.on('connection', (socket) => {
      const write = socket.write.bind(socket)
      socket.write = ((...args: Parameters<typeof write>) => {
        // Node sends an empty write at the end, which has no bytes.
        if (args[0] !== '') writes.push(args[0])
        return write(...args)
      }) as typeof socket.write
    })
    const host = await listenHttp(server, '')
    open.push(host)
    const client = await connectTo(host)
    client.write(POST)
    const { writer } = await next()
    writer.send(200, {}, asWire('{"a":"b"}'))
    await client.untilReceived('{"a":"b"}')
    expect(client.received).toContain('content-length: 9\r\n')
    expect(writes).toHaveLength(1)
  })

  test("of a stream's head are sent before the first write", async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST)
    const { writer } = await next()
    writer.openStream({})
    await client.untilReceived('\r\n\r\n')
    expect(client.received).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(client.received.toLowerCase()).toContain('transfer-encoding: chunked')
    writer.write(asWire(''))
    writer.write(asWire('data: \u00c3\u00bc\n\n'))
    writer.end(asWire(''))
    await client.untilReceived('0\r\n\r\n')
    expect(client.received).toContain('data: \u00c3\u00bc\n\n')
  })

  test('of a stream to an HTTP/1.0 client end with its connection', async () => {
    const { handler, next } = handedOver()
    const client = await connectTo(await serve(handler))
    client.write(POST.replace('HTTP/1.1', 'HTTP/1.0'))
    const { writer } = await next()
    writer.openStream({})
    writer.write(asWire('data: 1\n\n'))
    writer.end(asWire(''))
    await client.untilClosed()
    expect(client.received.endsWith('\r\n\r\ndata: 1\n\n')).toBe(true)
  })
})
