import http from 'node:http'
import type { Socket } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import express from 'express'
import express4 from 'express4'
import { afterEach, describe, expect, test } from 'vitest'
import { CompatError } from '../../src/base/errors.js'
import type { IncomingCall, ReplyWriter } from '../../src/contracts/reply.js'
import { asWire, toWire } from '../../src/protocol/wire-bytes.js'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { deferred, echo, RawClient, refuse, type TestHandler, testHandler } from './fixture.js'

const MIB = 1024 * 1024
const JSON_HEADERS = { 'content-type': 'application/json' }
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

function head(headers: string, path = '/chat/completions'): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}\r\n\r\n`
}

/** Resolves as soon as an endpoint has begun to read. */
function reading(tested: () => TestHandler) {
  const begun = deferred()
  return {
    begun: begun.promise,
    endpoint: async (call: IncomingCall, writer: ReplyWriter) => {
      const done = echo(call, writer)
      expect(tested().clock.pending).toBe(1)
      begun.resolve()
      await done
    },
  }
}

test('a body that arrives with its head is read at once, without a timer', async () => {
  const tested = testHandler({
    chatCompletions: async (call, writer) => {
      const body = call.readBody('alice')
      writer.send(
        200,
        {},
        asWire(JSON.stringify({ isThere: !(body instanceof Promise), body: (await body).value })),
      )
    },
  })
  const client = await connectTo(await serve(tested.handler))
  for (const number of [1, 2]) {
    const body = `{"a":${number}}`
    client.write(`${head(`content-length: ${body.length}`)}${body}`)
    await client.untilReceived(`{"isThere":true,"body":${body}}`)
  }
  expect(tested.clock.pending).toBe(0)
})

describe('a request body that the host also listens to', () => {
  const CALLS = 20

  /** Statuses and byte counts of calls that are all in progress at once. */
  async function callsCounted(count: (req: http.IncomingMessage, handle: () => void) => void) {
    let underWay = 0
    const all = deferred()
    const tested = testHandler({
      chatCompletions: async (call, writer) => {
        const body = await Promise.resolve(call.readBody('alice')).catch(String)
        if (++underWay === CALLS) all.resolve()
        await all.promise
        writer.send(200, {}, toWire(JSON.stringify(typeof body === 'string' ? body : body.value)))
      },
    })
    const host = await serve((req, res) => count(req, () => tested.handler(req, res)))
    const ask = async (number: number) => {
      const body = JSON.stringify({ number })
      const url = `http://127.0.0.1:${host.port}/chat/completions`
      const reply = await fetch(url, { method: 'POST', headers: JSON_HEADERS, body })
      expect(await reply.text()).toBe(body)
      return body.length
    }
    const lengths = await Promise.all(Array.from({ length: CALLS }, (_, number) => ask(number)))
    return lengths.reduce((sum, length) => sum + length, 0)
  }

  test.each(['before', 'after'])('%s it passes the request on is read completely by both', async (when) => {
    let counted = 0
    const sent = await callsCounted((req, handle) => {
      if (when === 'after') handle()
      req.on('data', (chunk: Buffer) => {
        counted += chunk.length
      })
      if (when === 'before') handle()
    })
    expect(counted).toBe(sent)
  })
})

describe('a slow request body', () => {
  test('is refused with 408 and a closed connection after bodyIdleMs of silence', async () => {
    const arrived = deferred()
    const { begun, endpoint } = reading(() => tested)
    const tested = testHandler({ chatCompletions: endpoint })
    const host = await serve((req, res) => {
      tested.handler(req, res)
      req.on('data', () => arrived.resolve())
    })
    const client = await connectTo(host)
    client.write(`${head('content-length: 10')}{"a"`)
    await begun
    await arrived.promise
    tested.clock.advance(14_999)
    await turn()
    expect(client.received).toBe('')
    tested.clock.advance(1)
    await client.untilClosed()
    expect(client.received).toMatch(/^HTTP\/1\.1 408 /)
    expect(client.received.toLowerCase()).toContain('connection: close')
    expect(client.received).toContain('x-should-retry: false')
    expect(client.received).toContain('"request_timeout"')
    expect(client.received).toContain('15000 ms')
    expect(tested.clock.pending).toBe(0)
  })

  test('is refused after bodyMs even if it never pauses', async () => {
    const arrivals: (() => void)[] = []
    const { begun, endpoint } = reading(() => tested)
    const tested = testHandler({ chatCompletions: endpoint })
    const host = await serve((req, res) => {
      tested.handler(req, res)
      req.on('data', () => arrivals.shift()?.())
    })
    const client = await connectTo(host)
    client.write(head('content-length: 1000'))
    await begun
    for (let step = 0; step < 11; step++) {
      const arrived = deferred()
      arrivals.push(arrived.resolve)
      client.write(' ')
      await arrived.promise
      tested.clock.advance(10_000)
    }
    expect(client.received).toBe('')
    const arrived = deferred()
    arrivals.push(arrived.resolve)
    client.write(' ')
    await arrived.promise
    tested.clock.advance(9_999)
    await turn()
    expect(client.received).toBe('')
    tested.clock.advance(1)
    await client.untilClosed()
    expect(client.received).toMatch(/^HTTP\/1\.1 408 /)
    expect(client.received).toContain('120000 ms')
  })

  test('leaves no timer if it arrives in time', async () => {
    const { begun, endpoint } = reading(() => tested)
    const tested = testHandler({ chatCompletions: endpoint })
    const client = await connectTo(await serve(tested.handler))
    client.write(head('content-length: 7'))
    await begun
    tested.clock.advance(14_000)
    client.write('{"a":1}')
    await client.untilReceived('"body":{"a":1}')
    expect(tested.clock.pending).toBe(0)
  })

  test('is read to its end if sent in chunks without a length', async () => {
    const tested = testHandler()
    const client = await connectTo(await serve(tested.handler))
    client.write(`${head('transfer-encoding: chunked')}3\r\n{"a\r\n`)
    client.write('4\r\n":1}\r\n0\r\n\r\n')
    await client.untilReceived('"body":{"a":1}')
    expect(client.received.toLowerCase()).not.toContain('connection: close')
  })
})

describe('a client that leaves while its body is read', () => {
  test('makes the read fail at once if it left before the read started', async () => {
    const left = deferred()
    const outcome = deferred<unknown>()
    const tested = testHandler({
      chatCompletions: async (call, writer) => {
        writer.onLeave(() => left.resolve())
        await left.promise
        try {
          await call.readBody('alice')
        } catch (error) {
          outcome.resolve(error)
        }
      },
    })
    const client = await connectTo(await serve(tested.handler))
    client.write(`${head('content-length: 120')}{`)
    client.socket.destroy()
    expect(await outcome.promise).toMatchObject({ name: 'CompatError', code: 'invalid_request' })
    expect(tested.clock.pending).toBe(0)
  })

  test('ends the read with an error, and is reported to the endpoint once', async () => {
    const outcome = deferred<unknown>()
    const began = deferred()
    let told = 0
    const tested = testHandler({
      chatCompletions: async (call, writer) => {
        writer.onLeave(() => told++)
        const body = call.readBody('alice') as Promise<unknown>
        began.resolve()
        await body.catch(outcome.resolve)
        refuse(writer, new CompatError('invalid_request', 'unheard'))
      },
    })
    const client = await connectTo(await serve(tested.handler))
    client.write(`${head('content-length: 10')}{`)
    await began.promise
    client.socket.destroy()
    expect(await outcome.promise).toMatchObject({ name: 'CompatError' })
    await turn()
    expect(told).toBe(1)
    expect(tested.clock.pending).toBe(0)
    expect(tested.faults).toEqual([])
  })
})

describe('a request body over sizes.bodyBytes', () => {
  const sizes = { bodyBytes: 100_000 }

  test('is refused by its declared length before it is read, and the connection closes', async () => {
    const tested = testHandler({}, { sizes })
    const client = await connectTo(await serve(tested.handler))
    client.write(head('content-length: 2147483648'))
    await client.untilClosed()
    expect(client.received).toMatch(/^HTTP\/1\.1 413 /)
    expect(client.received.toLowerCase()).toContain('connection: close')
    expect(client.received).toContain('100000 bytes')
  })

  test('leads to a cut connection if a client uploads 2 GB anyway', async () => {
    let received = 0
    const tested = testHandler({}, { sizes })
    const server = http.createServer(tested.handler)
    server.on('connection', (socket) => {
      socket.on('close', () => {
        received += socket.bytesRead
      })
    })
    const host = await listenHttp(server, '')
    open.push(host)
    const client = await connectTo(host)
    client.write(head('content-length: 2147483648'))
    const block = Buffer.alloc(256 * 1024, ' ')
    const pump = () => {
      while (!client.closed && client.socket.writable && client.socket.write(block));
    }
    client.socket.on('drain', pump)
    pump()
    await client.untilClosed()
    await host.close()
    open.pop()
    expect(received).toBeGreaterThan(0)
    expect(received).toBeLessThan(16 * MIB)
  })

  test('without a length is refused as soon as it exceeds the limit', async () => {
    const tested = testHandler({}, { sizes })
    const client = await connectTo(await serve(tested.handler))
    client.write(head('transfer-encoding: chunked'))
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
    for (let count = 0; count < 7; count++) client.write(chunk)
    await client.untilClosed()
    expect(client.received).toMatch(/^HTTP\/1\.1 413 /)
    expect(client.received.toLowerCase()).toContain('connection: close')
    expect(tested.clock.pending).toBe(0)
  })

  test('is not one of exactly that size, which is read', async () => {
    const tested = testHandler({}, { sizes })
    const host = await serve(tested.handler)
    const body = `{"a":"${'x'.repeat(100_000 - 8)}"}`
    expect(Buffer.byteLength(body)).toBe(100_000)
    const response = await host.request('/chat/completions', { method: 'POST', headers: JSON_HEADERS, body })
    expect(response.status).toBe(200)
    await response.text()
  })

  test('is refused too if the host has read it as a string or as bytes', async () => {
    for (const parser of [express.text, express.raw]) {
      const tested = testHandler({}, { sizes })
      const host = await serve(express().use(parser({ limit: MIB, type: () => true }), tested.handler))
      const body = `{"a":"${'x'.repeat(100_000)}"}`
      const response = await host.request('/chat/completions', {
        method: 'POST',
        headers: JSON_HEADERS,
        body,
      })
      expect(response.status).toBe(413)
      await response.text()
    }
  })
})

describe('request bodies over sizes.bodyBytesInFlight', () => {
  test('are refused with 503 before they are read, and accepted again once there is room', async () => {
    const { begun, endpoint } = reading(() => tested)
    let first = true
    const tested: TestHandler = testHandler(
      {
        chatCompletions: (call, writer) => {
          const now = first ? endpoint : echo
          first = false
          return now(call, writer)
        },
      },
      { sizes: { bodyBytesInFlight: 1_000 } },
    )
    const arrived = deferred()
    let bytes = 0
    const host = await serve((req, res) => {
      tested.handler(req, res)
      req.on('data', (data: Buffer) => {
        bytes += data.length
        if (bytes === 899) arrived.resolve()
      })
    })
    const slow = await connectTo(host)
    slow.write(`${head('content-length: 900')}{`)
    await begun
    slow.write(' '.repeat(898))
    await arrived.promise
    const body = `{"a":"${'x'.repeat(100)}"}`
    const refused = await host.request('/chat/completions', { method: 'POST', headers: JSON_HEADERS, body })
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('1')
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } })
    const chunked = await connectTo(host)
    chunked.write(`${head('transfer-encoding: chunked')}70\r\n${' '.repeat(0x70)}\r\n`)
    await chunked.untilClosed()
    // Its account now has more than its share.
    expect(chunked.received).toMatch(/^HTTP\/1\.1 429 /)
    slow.socket.end('}')
    await slow.untilReceived('"body":{}')
    const taken = await host.request('/chat/completions', { method: 'POST', headers: JSON_HEADERS, body })
    expect(taken.status).toBe(200)
    await taken.text()
  })

  test('block only their own account if they are announced but do not arrive', async () => {
    const { begun, endpoint } = reading(() => tested)
    let first = true
    const tested: TestHandler = testHandler(
      {
        chatCompletions: (call, writer) => {
          const now = first ? endpoint : echo
          first = false
          return now(call, writer)
        },
      },
      { sizes: { bodyBytesInFlight: 1_000 } },
    )
    const host = await serve(tested.handler)
    const silent = await connectTo(host)
    silent.write(`${head('content-length: 1000')}{`)
    await begun
    const body = `{"a":"${'x'.repeat(100)}"}`
    const taken = await host.request('/chat/completions', { method: 'POST', headers: JSON_HEADERS, body })
    expect(taken.status).toBe(200)
    await taken.text()
  })

  test('no longer count after a body without a length was read', async () => {
    const tested = testHandler({}, { sizes: { bodyBytesInFlight: 1_000 } })
    const host = await serve(tested.handler)
    const body = `{"a":"${'x'.repeat(0x270 - 8)}"}`
    for (let round = 1; round <= 3; round++) {
      const client = await connectTo(host)
      client.write(`${head('transfer-encoding: chunked')}270\r\n${body}\r\n0\r\n\r\n`)
      await client.untilReceived(`"requestId":"made-${round}"`)
    }
  })

  test('no longer count after a body failed', async () => {
    const tested = testHandler({}, { sizes: { bodyBytesInFlight: 1_000 } })
    const host = await serve(tested.handler)
    const body = `{"a":"${'x'.repeat(600)}`
    for (let round = 0; round < 3; round++) {
      const response = await host.request('/chat/completions', {
        method: 'POST',
        headers: JSON_HEADERS,
        body,
      })
      expect(response.status).toBe(400)
      await response.text()
    }
  })
})

describe('an answer sent before the body was read', () => {
  const refuseUnread = async (_call: IncomingCall, writer: ReplyWriter) => {
    await turn()
    refuse(writer, new CompatError('missing_credential', 'no'))
  }

  test('keeps the connection if at most 64 KiB remain', async () => {
    const tested = testHandler({ chatCompletions: refuseUnread })
    const client = await connectTo(await serve(tested.handler))
    client.write(head('content-length: 65536'))
    await client.untilReceived('missing_credential')
    expect(client.received.toLowerCase()).not.toContain('connection: close')
    client.write(' '.repeat(65_536))
    client.write('GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"key":"next"')
  })

  test('keeps the connection if at most that much is left of a larger body', async () => {
    const arrived = deferred()
    const tested = testHandler({
      chatCompletions: async (call, writer) => {
        await arrived.promise
        await refuseUnread(call, writer)
      },
    })
    const host = await serve((req, res) => {
      tested.handler(req, res)
      const look = () => (req.readableLength >= 10 ? arrived.resolve() : setImmediate(look))
      look()
    })
    const client = await connectTo(host)
    client.write(`${head('content-length: 65546')}${' '.repeat(10)}`)
    await client.untilReceived('missing_credential')
    expect(client.received.toLowerCase()).not.toContain('connection: close')
    client.write(' '.repeat(65_536))
    client.write('GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"key":"next"')
  })

  test.each(['content-length: 65537', 'transfer-encoding: chunked'])(
    'closes the connection with %s',
    async (header) => {
      const tested = testHandler({ chatCompletions: refuseUnread })
      const client = await connectTo(await serve(tested.handler))
      client.write(head(header))
      await client.untilClosed()
      expect(client.received).toContain('missing_credential')
      expect(client.received.toLowerCase()).toContain('connection: close')
    },
  )

  test('closes the connection even if the path does not exist', async () => {
    const tested = testHandler()
    const client = await connectTo(await serve(tested.handler))
    client.write(head('content-length: 100000', '/nothing'))
    await client.untilClosed()
    expect(client.received).toMatch(/^HTTP\/1\.1 404 /)
  })

  test('keeps the connection after a complete body that the endpoint did not read', async () => {
    const tested = testHandler({ chatCompletions: refuseUnread })
    const client = await connectTo(await serve(tested.handler))
    client.write(`${head('content-length: 2')}{}GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n`)
    await client.untilReceived('"key":"next"')
    expect(client.received.toLowerCase()).not.toContain('connection: close')
  })

  test('ends the read in progress, and counts the bytes read as received', async () => {
    const outcome = deferred<unknown>()
    const arrived = deferred()
    const tested = testHandler({
      chatCompletions: async (call, writer) => {
        ;(call.readBody('alice') as Promise<unknown>).catch(outcome.resolve)
        await arrived.promise
        refuse(writer, new CompatError('shutting_down', 'no'))
      },
    })
    let connection: Socket | undefined
    const host = await serve((req, res) => {
      let bytes = 0
      connection = req.socket
      tested.handler(req, res)
      req.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes === 60_000) arrived.resolve()
      })
    })
    const client = await connectTo(host)
    client.write(`${head('content-length: 125536')}${' '.repeat(60_000)}`)
    await client.untilReceived('shutting_down')
    expect(client.received.toLowerCase()).not.toContain('connection: close')
    expect(await outcome.promise).toMatchObject({ name: 'CompatError' })
    expect(tested.clock.pending).toBe(0)
    const before = connection!.bytesRead
    client.write(' '.repeat(40_000))
    while (connection!.bytesRead < before + 40_000) await turn()
    client.write(' '.repeat(25_536))
    client.write('GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"key":"next"')
  })

  test('by the host itself ends the read', async () => {
    const outcome = deferred<unknown>()
    const begun = deferred()
    const tested = testHandler({
      chatCompletions: async (call) => {
        ;(call.readBody('alice') as Promise<unknown>).catch(outcome.resolve)
        begun.resolve()
      },
    })
    const host = await serve((req, res) => {
      tested.handler(req, res)
      void begun.promise.then(() => res.end('timeout'))
    })
    const client = await connectTo(host)
    client.write(`${head('content-length: 120')}{`)
    await client.untilReceived('timeout')
    expect(await outcome.promise).toMatchObject({ name: 'CompatError' })
    expect(tested.clock.pending).toBe(0)
  })

  test('by the host itself drains the rest of a large body, for the next request', async () => {
    const begun = deferred()
    const tested = testHandler({
      chatCompletions: async (call) => {
        ;(call.readBody('alice') as Promise<unknown>).catch(() => undefined)
        begun.resolve()
      },
    })
    const host = await serve((req, res) => {
      if (req.method === 'POST') void begun.promise.then(() => res.end('timeout'))
      tested.handler(req, res)
    })
    const client = await connectTo(host)
    client.write(`${head(`content-length: ${MIB}`)}{`)
    await client.untilReceived('timeout')
    client.write(`${' '.repeat(MIB - 1)}GET /models/next HTTP/1.1\r\nhost: x\r\n\r\n`)
    await client.untilReceived('"key":"next"')
  })

  test('pauses the upload while it waits for its turn', async () => {
    const first = deferred<ReplyWriter>()
    const refused = deferred()
    let connection: Socket | undefined
    const tested = testHandler(
      {
        listModels: async (_call, writer) => first.resolve(writer),
        chatCompletions: async (call, writer) => {
          await echo(call, writer)
          refused.resolve()
        },
      },
      { sizes: { bodyBytes: 100_000 } },
    )
    const server = http.createServer(tested.handler)
    server.on('connection', (socket) => {
      connection = socket
    })
    const host = await listenHttp(server, '')
    open.push(host)
    const client = await connectTo(host)
    client.write('GET /models HTTP/1.1\r\nhost: x\r\n\r\n')
    client.write(head('transfer-encoding: chunked'))
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    let sent = 0
    const pump = () => {
      while (sent < 64 * MIB) {
        sent += chunk.length
        if (!client.socket.write(chunk)) break
      }
    }
    client.socket.on('drain', pump)
    pump()
    const writer = await first.promise
    await refused.promise
    for (let before = -1; before !== connection!.bytesRead; ) {
      before = connection!.bytesRead
      for (let count = 0; count < 200; count++) await turn()
    }
    expect(connection!.bytesRead).toBeLessThan(16 * MIB)
    writer.send(200, {}, asWire('{"first":1}'))
    await client.untilClosed()
    expect(client.received).toContain('"first":1')
  })
})

describe('a request body that arrives with its head', () => {
  test('is read without a timer, and the next request on the connection is served', async () => {
    const tested = testHandler({
      chatCompletions: async (call, writer) => {
        await turn()
        const done = echo(call, writer)
        expect(tested.clock.pending).toBe(0)
        await done
      },
    })
    const client = await connectTo(await serve(tested.handler))
    const body = `{"a":"${'x'.repeat(30_000)}"}`
    client.write(`${head(`content-length: ${body.length}`)}${body}`)
    await client.untilReceived('"requestId":"made-1"')
    client.write(`${head('content-length: 2')}{}`)
    await client.untilReceived('"requestId":"made-2"')
    expect(tested.faults).toEqual([])
  })
})

describe('a request body that another middleware has read', () => {
  async function post(host: MountedHost, body = '{"a":1}', headers: http.OutgoingHttpHeaders = {}) {
    const response = await host.request('/chat/completions', {
      method: 'POST',
      headers: { ...JSON_HEADERS, ...headers },
      body,
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  test.each([
    ['with nothing left', async (req: http.IncomingMessage) => void (await readText(req))],
    [
      'with null left',
      async (req: http.IncomingMessage & { body?: unknown }) => {
        await readText(req)
        req.body = null
      },
    ],
    [
      'half way',
      async (req: http.IncomingMessage & { body?: unknown }) => {
        req.body = {}
        await new Promise((resolve) => req.once('data', resolve))
        req.pause()
      },
    ],
  ])('%s leads to a 500 and a body-consumed event at once', async (_name, consume) => {
    const tested = testHandler()
    const host = await serve(async (req, res) => {
      await consume(req)
      tested.handler(req, res)
    })
    const answer = await post(host, `{"a":"${'x'.repeat(200_000)}"}`)
    expect(answer).toMatchObject({
      status: 500,
      body: { error: { code: 'internal_error', message: expect.stringContaining('x-request-id') } },
    })
    expect(tested.consumed).toEqual(['made-1'])
  })

  test('is used as it is if parsed into an object by hand', async () => {
    const tested = testHandler()
    const host = await serve(async (req: http.IncomingMessage & { body?: unknown }, res) => {
      req.body = { ...JSON.parse(await readText(req)), b: 2 }
      tested.handler(req, res)
    })
    expect(await post(host)).toMatchObject({ status: 200, body: { body: { a: 1, b: 2 } } })
  })

  test('is used if parsed in its own end event', async () => {
    const tested = testHandler()
    const host = await serve((req: http.IncomingMessage & { body?: unknown }, res) => {
      let text = ''
      req.on('data', (chunk) => {
        text += chunk
      })
      req.on('end', () => {
        req.body = JSON.parse(text)
        tested.handler(req, res)
      })
    })
    expect(await post(host)).toMatchObject({ status: 200, body: { body: { a: 1 } } })
  })

  test('is used if decompressed, whatever its content-encoding', async () => {
    const { gzipSync } = await import('node:zlib')
    for (const parser of [
      express.json(),
      express.text({ type: () => true }),
      express.raw({ type: () => true }),
    ]) {
      const tested = testHandler()
      const host = await serve(express().use(parser, tested.handler))
      const response = await host.request('/chat/completions', {
        method: 'POST',
        headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' },
        body: gzipSync('{"a":1}'),
      })
      expect(await response.json()).toMatchObject({ body: { a: 1 } })
    }
  })

  test('is refused with 400 if parsed into an object that is nested too deeply', async () => {
    const tested = testHandler()
    const host = await serve(express().use(express.json(), tested.handler))
    expect(await post(host, `{"a":${'['.repeat(200)}${']'.repeat(200)}}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
  })

  test('is refused with 400 if parsed as null, a number or an array', async () => {
    for (const create of [express, express4]) {
      const tested = testHandler()
      const host = await serve(create().use(create.json({ strict: false }), tested.handler))
      for (const body of ['null', '5', '[1]', 'true']) {
        expect(await post(host, body)).toMatchObject({
          status: 400,
          body: { error: { code: 'invalid_request', message: 'The request body must be a JSON object.' } },
        })
      }
      expect(tested.consumed).toEqual([])
    }
  })

  test('is read by the router if the parser ignored it, whatever it left in req.body', async () => {
    for (const create of [express, express4]) {
      const tested = testHandler()
      const host = await serve(
        create().use(
          create.json({ type: 'application/other' }),
          create.urlencoded({ extended: false }),
          tested.handler,
        ),
      )
      expect(await post(host)).toMatchObject({ status: 200, body: { body: { a: 1 } } })
    }
  })
})

test('two authorization headers are detected even though Node keeps only the first', async () => {
  const seen: unknown[] = []
  const tested = testHandler({
    listModels: async (call, writer) => {
      seen.push([call.authorizationLines, call.header('authorization')])
      writer.send(200, {}, asWire('{}'))
    },
  })
  const client = await connectTo(await serve(tested.handler))
  const get = 'GET /models HTTP/1.1\r\nhost: x\r\n'
  client.write(`${get}\r\n${get}Authorization: Bearer a\r\n\r\n`)
  client.write(`${get}AUTHORIZATION: Bearer a\r\nauthorization: Bearer b\r\nx-authorizatio: c\r\n\r\n`)
  await client.until(() => seen.length === 3)
  expect(seen).toEqual([
    [0, undefined],
    [1, 'Bearer a'],
    [2, 'Bearer a'],
  ])
})
