import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import { afterEach, describe, expect, test } from 'vitest'
import { CompatError } from '../../src/base/errors.js'
import type { HttpHandler } from '../../src/http/handler.js'
import { asWire } from '../../src/protocol/wire-bytes.js'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { deferred, RawClient, refuse, testHandler } from './fixture.js'

const open: MountedHost[] = []
const clients: RawClient[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  for (const host of open.splice(0)) await host.close()
})

async function serve(listener: http.RequestListener, mount = ''): Promise<MountedHost> {
  const host = await listenHttp(http.createServer(listener), mount)
  open.push(host)
  return host
}

async function connectTo(host: MountedHost): Promise<RawClient> {
  const client = await RawClient.connect(host.port)
  clients.push(client)
  return client
}

describe('a request with an absolute-form target', () => {
  test.each([
    ['Express 5', () => express().use('/compat/v1', testHandler().handler)],
    ['Express 4', () => express4().use('/compat/v1', testHandler().handler)],
    ['Connect', () => connect().use('/compat/v1', testHandler().handler)],
    ['bare http', () => testHandler({}, { basePath: '/compat/v1' }).handler],
  ])('on %s is handled without scheme and host', async (_name, build) => {
    const client = await connectTo(await serve(build()))
    client.write('GET http://evil/compat/v1/models/acme%2Fa/b?x HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"key":"acme%2Fa/b"')
    client.write('GET http://evil/compat/v1/models/ HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilReceived('"list":')
  })
})

describe('a handler with a base path', () => {
  test.each(['/', '/compat/v10/models', '/compat/v1x', '/compat', '/COMPAT/v1/models', '*'])(
    'leaves %s to the host',
    async (target) => {
      const { handler } = testHandler({}, { basePath: '/compat/v1/' })
      const client = await connectTo(await serve((req, res) => handler(req, res, () => res.end('the host'))))
      client.write(`OPTIONS ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)
      await client.untilReceived('the host')
    },
  )

  test('returns 404 for other paths if there is no next', async () => {
    const { handler } = testHandler({}, { basePath: '/compat/v1' })
    const host = await serve((req, res) => handler(req, res))
    const response = await host.request('/models')
    expect(response.status).toBe(404)
    expect(response.headers['x-request-id']).toBe('made-1')
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } })
  })

  test('handles all paths under it, even if there is a next', async () => {
    const { handler } = testHandler({}, { basePath: '/compat/v1' })
    const host = await serve((req, res) => handler(req, res, () => res.end('the host')), '/compat/v1')
    for (const path of ['', '/', '?x', '/nothing']) {
      const response = await host.request(path)
      expect(response.status).toBe(404)
      await response.text()
    }
    expect(await (await host.request('/models/a?b')).json()).toEqual({ key: 'a' })
  })

  test.each([
    [
      'a mount of Express 5',
      (handler: HttpHandler) => express().use('/other', handler).use('/compat/v1', handler),
    ],
    [
      'a mount of Express 4',
      (handler: HttpHandler) => express4().use('/other', handler).use('/compat/v1', handler),
    ],
    ['Connect', (handler: HttpHandler) => connect().use('/other', handler).use('/compat/v1', handler)],
    [
      'a mount of Express that strips a part of it',
      (handler: HttpHandler) => express().use('/other', handler).use('/compat', handler),
    ],
    [
      "NestJS's consumer, which strips the whole path,",
      (handler: HttpHandler) => express().use(['/other/{*rest}', '/compat/v1/{*rest}'], handler),
    ],
  ])('finds the path under a base path that %s has stripped', async (_name, build) => {
    const { handler } = testHandler({}, { basePath: '/compat/v1' })
    const host = await serve(build(handler))
    for (const path of ['/other/models', '/models', '/compat/models']) {
      expect((await host.request(path)).status).toBe(404)
    }
    expect(await (await host.request('/compat/v1/models/a?b')).json()).toEqual({ key: 'a' })
  })

  test.each([
    ['bare http', (handler: HttpHandler) => handler, ['/compat/v1', '/a/b', '/compat/v1/v1']],
    [
      'a route of Express',
      (handler: HttpHandler) => express().all('/compat/*rest', handler),
      ['/compat/v1', '/compat/v1/v1'],
    ],
    ['a mount of Express', (handler: HttpHandler) => express().use('/compat/v1', handler), []],
  ])('reports a missing base path if nothing strips the mount: %s', async (_name, build, expected) => {
    const told: string[] = []
    const { handler } = testHandler({}, { onUnstripped: (mount) => told.push(mount) })
    const host = await serve(build(handler))
    for (const path of [
      '/compat/v1/chat/completions',
      '/a/b/models/',
      '/compat/v1/v1/models',
      '/compat/v1/nothing',
      `/${'a'.repeat(100)}/models`,
    ]) {
      await (await host.request(path)).text()
    }
    expect(told).toEqual(expected)
  })

  test('passes an error thrown by next through to the host', () => {
    const { handler, faults } = testHandler({}, { basePath: '/compat/v1' })
    const req = new http.IncomingMessage(undefined as never)
    req.url = '/other'
    const next = () => {
      throw new Error('of the host')
    }
    expect(() => handler(req, new http.ServerResponse(req), next)).toThrow('of the host')
    expect(faults).toEqual([])
  })
})

describe("a handler called with arguments other than Node's request and response", () => {
  const raw = /takes Node's own request and response/

  test('reports them, and throws to a host whose response cannot be ended', () => {
    const { handler, faults } = testHandler()
    const koa = { url: '/models', method: 'GET', headers: {}, socket: {} }
    expect(() => handler(koa as never, (() => {}) as never)).toThrow(raw)
    expect(() => handler({ url: '/models' } as never, undefined as never)).toThrow(raw)
    expect(faults).toMatchObject([{ error: { message: raw } }, { error: { message: raw } }])
  })

  test("reports them and ends the response if it is Node's", async () => {
    const { handler, faults } = testHandler()
    const host = await serve((_req, res) => handler(new Request('http://host/models') as never, res))
    await expect(host.request('/models')).rejects.toThrow()
    expect(faults).toMatchObject([{ error: { message: raw } }])
  })
})

describe('a disabled endpoint', () => {
  test('is 404, whatever the method', async () => {
    const { handler } = testHandler({ openapi: undefined, envelopeKeys: undefined })
    const host = await serve(handler)
    for (const path of ['/openapi.json', '/envelope-keys']) {
      for (const method of ['GET', 'OPTIONS', 'POST']) {
        const response = await host.request(path, { method })
        expect(response.status).toBe(404)
        await response.text()
      }
    }
  })

  test('does not affect a public endpoint, whose errors are not cached', async () => {
    const { handler } = testHandler({
      openapi: async (_call, writer) => refuse(writer, new CompatError('internal_error', 'no')),
    })
    const response = await (await serve(handler)).request('/openapi.json')
    expect(response.headers['cache-control']).toBe('no-store')
    await response.text()
  })
})

describe('the x-request-id header', () => {
  async function idsOf(sent: string | string[] | undefined, prepare?: (res: http.ServerResponse) => void) {
    const { handler } = testHandler()
    const host = await serve((req, res) => {
      prepare?.(res)
      handler(req, res)
    })
    const response = await host.request('/models', {
      headers: sent === undefined ? {} : { 'x-request-id': sent },
    })
    const { list } = (await response.json()) as { list: string }
    return { header: response.headers['x-request-id'], inside: list }
  }

  test.each(['a', 'A.b_c:d/e+f=g@h-9', 'x'.repeat(128)])('%s of the client is kept', async (id) => {
    expect(await idsOf(id)).toEqual({ header: id, inside: id })
  })

  test.each(['', 'a b', 'x'.repeat(129), 'a;b', '<script>', 'caf\u00e9', 'a,b'])(
    '%j of the client is replaced',
    async (id) => {
      expect(await idsOf(id)).toEqual({ header: 'made-1', inside: 'made-1' })
    },
  )

  test('sent twice is replaced', async () => {
    expect(await idsOf(['a', 'b'])).toEqual({ header: 'made-1', inside: 'made-1' })
  })

  test('set by the host takes precedence', async () => {
    const ids = await idsOf('client', (res) => res.setHeader('X-Request-Id', 'host-1'))
    expect(ids).toEqual({ header: 'host-1', inside: 'host-1' })
  })

  test('left empty by the host counts as absent', async () => {
    const ids = await idsOf('client', (res) => res.setHeader('x-request-id', ''))
    expect(ids).toEqual({ header: 'client', inside: 'client' })
  })

  test('set by the host as a number takes precedence', async () => {
    const ids = await idsOf('client', (res) => res.setHeader('x-request-id', 17))
    expect(ids).toEqual({ header: '17', inside: '17' })
  })

  test('copied unchecked by the host is returned unchanged and cleaned everywhere else', async () => {
    const ids = await idsOf(undefined, (res) => res.setHeader('x-request-id', `a b\t<${'x'.repeat(300)}`))
    expect(ids.header).toBe(`a b\t<${'x'.repeat(300)}`)
    expect(ids.inside).toBe(`a_b__${'x'.repeat(123)}`)
  })

  test('set by the host is kept on errors', async () => {
    const { handler } = testHandler()
    const host = await serve((req, res) => {
      res.setHeader('x-request-id', 'host-1')
      handler(req, res)
    })
    const response = await host.request('/nothing')
    expect(response.headers['x-request-id']).toBe('host-1')
    await response.text()
  })
})

describe('response headers set by the host', () => {
  test('are kept, and those of the answer take precedence', async () => {
    const { handler } = testHandler()
    const host = await serve((req, res) => {
      res.setHeader('access-control-allow-origin', '*')
      res.setHeader('cache-control', 'public')
      handler(req, res)
    })
    const response = await host.request('/models')
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
    })
    await response.text()
  })
})

describe('a fault in HTTP handling', () => {
  test.each([
    ['rejects', async () => Promise.reject(new Error('secret'))],
    [
      'throws',
      () => {
        throw new Error('secret')
      },
    ],
  ])('of an endpoint that %s leads to a 500 with constant text', async (_name, listModels) => {
    const { handler, faults } = testHandler({ listModels })
    const listening: http.RequestListener = (req, res) =>
      handler(
        req.on('data', () => {}),
        res,
      )
    for (const listener of [handler, listening]) {
      faults.length = 0
      const response = await (await serve(listener)).request('/models')
      expect(response.status).toBe(500)
      const text = await response.text()
      expect(text).toContain('"internal_error"')
      expect(text).not.toContain('secret')
      expect(faults).toMatchObject([{ where: 'http endpoint', error: { message: 'secret' } }])
      expect(faults[0]!.requestId).toBe(response.headers['x-request-id'])
    }
  })

  test('of an endpoint in the middle of a stream closes the connection', async () => {
    const { handler, faults } = testHandler({
      chatCompletions: async (_call, writer) => {
        writer.openStream({})
        writer.write(asWire('data: 1\n\n'))
        await turn()
        throw new Error('late')
      },
    })
    const client = await connectTo(await serve(handler))
    client.write('POST /chat/completions HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilClosed()
    expect(client.received).toContain('data: 1')
    expect(client.received.endsWith('0\r\n\r\n')).toBe(false)
    expect(faults).toHaveLength(1)
  })

  test('of an endpoint after its answer changes nothing for the client', async () => {
    const { handler, faults } = testHandler({
      listModels: async (_call, writer) => {
        writer.send(200, {}, asWire('{"ok":true}'))
        throw new Error('late')
      },
    })
    const response = await (await serve(handler)).request('/models')
    expect(await response.json()).toEqual({ ok: true })
    expect(faults).toHaveLength(1)
  })

  test('of a header that cannot be sent closes the connection, without a crash', async () => {
    const { handler, faults } = testHandler({
      listModels: async (_call, writer) => writer.send(200, { 'x-bad': 'a\nb' }, asWire('{}')),
    })
    const client = await connectTo(await serve(handler))
    client.write('GET /models HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilClosed()
    expect(client.received).toBe('')
    expect(faults).toMatchObject([{ error: { code: 'ERR_INVALID_CHAR' } }])
  })

  test('in creating an id ends the connection and is reported', async () => {
    const { handler, faults } = testHandler(
      {},
      {
        newId: () => {
          throw new Error('no entropy')
        },
      },
    )
    const client = await connectTo(await serve(handler))
    client.write('GET /models HTTP/1.1\r\nhost: x\r\n\r\n')
    await client.untilClosed()
    expect(client.received).toBe('')
    expect(faults).toMatchObject([{ where: 'http handler', error: { message: 'no entropy' } }])
  })

  test('of the report itself is ignored', async () => {
    const { handler } = testHandler(
      { listModels: async () => Promise.reject(new Error('first')) },
      {
        onFault: () => {
          throw new Error('second')
        },
      },
    )
    const response = await (await serve(handler)).request('/models')
    expect(response.status).toBe(500)
    await response.text()
  })
})

test('the HTTP handler does not return a promise', async () => {
  const { handler } = testHandler()
  let returned: unknown = 'not called'
  const host = await serve((req, res) => {
    returned = handler(req, res)
  })
  await (await host.request('/models')).text()
  expect(returned).toBeUndefined()
})

test('an early answer on http2 stops an upload without ending the session', async () => {
  const { handler, faults } = testHandler({}, { sizes: { bodyBytes: 100_000 } })
  const server = http2.createServer((req, res) =>
    handler(req as unknown as http.IncomingMessage, res as unknown as http.ServerResponse),
  )
  const ended = [deferred(), deferred()]
  const streams = [...ended]
  server.on('stream', (stream) => stream.on('close', () => streams.shift()?.resolve()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  for (const declared of [{ 'content-length': 2 ** 31 }, {}]) {
    const upload = client.request({ ...declared, ':method': 'POST', ':path': '/chat/completions' })
    upload.on('error', () => undefined)
    let sent = 0
    const pump = () => {
      while (!upload.destroyed && upload.writable) {
        sent += 64 * 1024
        if (!upload.write(Buffer.alloc(64 * 1024, ' '))) break
      }
    }
    upload.on('drain', pump)
    pump()
    const [headers] = await once(upload, 'response')
    expect(headers[':status']).toBe(413)
    expect(headers).not.toHaveProperty('connection')
    upload.resume()
    await ended.shift()!.promise
    upload.destroy()
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  }
  const after = client.request({ ':path': '/models/next' })
  const [headers] = await once(after, 'response')
  expect(headers[':status']).toBe(200)
  after.resume()
  await once(after, 'close')
  client.close()
  server.close()
  await once(server, 'close')
  expect(faults).toEqual([])
})
