import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { IncomingCall, ReplyWriter } from '../../src/contracts/reply.js'
import { asWire, toWire } from '../../src/protocol/wire-bytes.js'
import { hosts } from '../helpers/hosts.js'
import type { MountedHost } from '../helpers/listen-http.js'
import { echo, refuse, type TestHandler, testHandler } from './fixture.js'

const JSON_HEADERS = { 'content-type': 'application/json' }

/** A small version of a real endpoint: streams if the body asks for it. */
async function complete(call: IncomingCall, writer: ReplyWriter): Promise<void> {
  if (call.header('authorization') === undefined) return echo(call, writer)
  try {
    const { value } = await call.readBody('alice')
    if (value.stream !== true)
      return writer.send(200, {}, toWire(JSON.stringify({ text: 'gr\u00fc\u00df dich \u{1f600}' })))
    writer.openStream({ 'x-extra': 'yes' })
    for (const text of ['one', 'gr\u00fc\u00df', '\u{1f600}']) {
      await writer.write(asWire(Buffer.from(`data: ${text}\n\n`).toString('latin1')))
    }
    writer.write(asWire('data: [DONE]\n\n'))
    writer.end(asWire(''))
  } catch (error) {
    refuse(writer, error)
  }
}

describe.each(hosts)('over $name', (host) => {
  let mounted: MountedHost
  let tested: TestHandler

  beforeAll(async () => {
    tested = testHandler(
      { chatCompletions: complete },
      host.basePath === undefined ? {} : { basePath: host.basePath },
    )
    mounted = await host.mount(tested.handler)
  })

  afterAll(async () => {
    await mounted.close()
    expect(tested.faults).toEqual([])
    expect(tested.consumed).toEqual([])
    expect(tested.clock.pending).toBe(0)
  })

  test('a JSON body is read and answered', async () => {
    const response = await mounted.request('/chat/completions', {
      method: 'POST',
      headers: { ...JSON_HEADERS, 'x-request-id': 'mine-1' },
      body: '{"model":"a\u00e9\u{1f600}","n":[1,2]}',
    })
    expect(await response.json()).toEqual({
      body: { model: 'a\u00e9\u{1f600}', n: [1, 2] },
      requestId: 'mine-1',
    })
    expect(response.status).toBe(200)
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'mine-1',
    })
    expect(response.headers).not.toHaveProperty('etag')
    expect(response.headers).not.toHaveProperty('transfer-encoding', 'identity')
  })

  test('a body of several megabytes is read completely', async () => {
    const text = 'x\u00e9'.repeat(1_500_000)
    const response = await mounted.request('/chat/completions', {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({ text }),
    })
    const answer = (await response.json()) as { body: { text: string } }
    expect(answer.body.text === text).toBe(true)
  })

  test('a JSON answer keeps every character', async () => {
    const response = await mounted.request('/chat/completions', {
      method: 'POST',
      headers: { ...JSON_HEADERS, authorization: 'Bearer a' },
      body: '{}',
    })
    expect(await response.json()).toEqual({ text: 'gr\u00fc\u00df dich \u{1f600}' })
  })

  test('a stream arrives as it was written, with the headers of a stream', async () => {
    const response = await mounted.request('/chat/completions', {
      method: 'POST',
      headers: { ...JSON_HEADERS, authorization: 'Bearer a', 'accept-encoding': 'gzip' },
      body: '{"stream":true}',
    })
    expect(response.status).toBe(200)
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-extra': 'yes',
      'x-request-id': expect.stringMatching(/^made-\d+$/),
    })
    expect(response.headers).not.toHaveProperty('content-length')
    expect(response.headers).not.toHaveProperty('content-encoding')
    expect(await response.text()).toBe(
      'data: one\n\ndata: gr\u00fc\u00df\n\ndata: \u{1f600}\n\ndata: [DONE]\n\n',
    )
  })

  test.each([
    ['/models', 200],
    ['/models/', 200],
    ['/models?x=/models/a', 200],
    ['/envelope-keys', 200],
    ['/openapi.json', 200],
    ['/models/acme/fast', 200],
  ])('GET %s works, and HEAD returns only its headers', async (path, status) => {
    const get = await mounted.request(path)
    expect(get.status).toBe(status)
    const length = Buffer.byteLength(await get.text())
    expect(length).toBeGreaterThan(0)
    const head = await mounted.request(path, { method: 'HEAD' })
    expect(head.status).toBe(status)
    expect(await head.text()).toBe('')
    if (host.name !== 'behind compression')
      expect(head.headers['content-length']).toBe(get.headers['content-length'])
    expect(head.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  test.each([
    ['/models/acme/fast', 'acme/fast'],
    ['/models/acme%2Ffast', 'acme%2Ffast'],
    ['/models/acme%252Ffast?x=1', 'acme%252Ffast'],
    ['/models/A/b/', 'A/b/'],
    ['/models//a', '/a'],
    // Such a host refuses a path that it cannot decode.
    ...(host.decodesPaths === true ? [] : [['/models/%E0%A4%A', '%E0%A4%A']]),
    ['/models/a:b@c', 'a:b@c'],
  ])('GET %s passes the key on as written', async (path, key) => {
    expect(await (await mounted.request(path)).json()).toEqual({ key })
  })

  test.each(['/envelope-keys', '/openapi.json'])('%s may be cached by anybody', async (path) => {
    const response = await mounted.request(path)
    expect(response.headers['cache-control']).toBe('public, max-age=300')
    await response.text()
  })

  test.each(['', '/', '/nothing', '/models2', '/chat/completions/x', '/Models'])(
    'GET %j is 404 JSON',
    async (path) => {
      const response = await mounted.request(path)
      expect(response.status).toBe(404)
      expect(response.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^made-\d+$/),
      })
      expect(response.headers).not.toHaveProperty('etag')
      expect(await response.json()).toMatchObject({
        error: {
          code: 'not_found',
          type: 'invalid_request_error',
          message: expect.stringContaining('/models'),
        },
      })
    },
  )

  test.each([
    ['GET', '/chat/completions', 'POST, OPTIONS'],
    ['HEAD', '/chat/completions', 'POST, OPTIONS'],
    ['POST', '/models', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/models/a/b', 'GET, HEAD, OPTIONS'],
    ['PUT', '/openapi.json', 'GET, HEAD, OPTIONS'],
    ['PATCH', '/envelope-keys', 'GET, HEAD, OPTIONS'],
  ])('%s %s is 405 and lists the allowed methods', async (method, path, allow) => {
    const response = await mounted.request(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers).toMatchObject({ allow, 'content-type': 'application/json; charset=utf-8' })
    const text = await response.text()
    if (method !== 'HEAD') expect(JSON.parse(text)).toMatchObject({ error: { code: 'method_not_allowed' } })
  })

  test.each([
    ['/chat/completions', 'POST, OPTIONS'],
    ['/models/', 'GET, HEAD, OPTIONS'],
    ['/models/a', 'GET, HEAD, OPTIONS'],
  ])('OPTIONS %s is 204 without a body', async (path, allow) => {
    const response = await mounted.request(path, { method: 'OPTIONS' })
    expect(response.status).toBe(204)
    expect(response.headers).toMatchObject({
      allow,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    })
    expect(response.headers).not.toHaveProperty('content-type')
    expect(await response.text()).toBe('')
  })

  test('OPTIONS of a path that does not exist is 404', async () => {
    const response = await mounted.request('/nothing', { method: 'OPTIONS' })
    expect(response.status).toBe(404)
    await response.text()
  })

  // express.json refuses other charsets by itself, and turns an empty body into an empty object.
  const parsesJson = host.name === 'behind express.json'

  test.each([
    ['text/plain', 415],
    ['application/json; charset=utf-16', parsesJson ? 400 : 415],
  ])('content type %s is %i', async (type, status) => {
    const response = await mounted.request('/chat/completions', {
      method: 'POST',
      headers: { 'content-type': type },
      body: '{"a":1}',
    })
    expect(response.status).toBe(status)
    await response.text()
  })

  test('an absent content type is read as JSON', async () => {
    const response = await mounted.request('/chat/completions', { method: 'POST', body: '{"a":1}' })
    expect(await response.json()).toMatchObject({ body: { a: 1 } })
  })

  if (!parsesJson) {
    test('a missing body is 400', async () => {
      const response = await mounted.request('/chat/completions', { method: 'POST', headers: JSON_HEADERS })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: expect.stringMatching(/^invalid_/) } })
    })

    test.each([['{"a":'], ['nonsense'], ['[1]']])('the body %j is 400 JSON', async (body) => {
      const response = await mounted.request('/chat/completions', {
        method: 'POST',
        headers: JSON_HEADERS,
        body,
      })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
    })
  }

  if (!host.readsBody) {
    test('a content encoding is 415', async () => {
      const response = await mounted.request('/chat/completions', {
        method: 'POST',
        headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' },
        body: 'whatever',
      })
      expect(response.status).toBe(415)
      await response.text()
    })

    test('a body that is not UTF-8 is 400', async () => {
      const response = await mounted.request('/chat/completions', {
        method: 'POST',
        headers: JSON_HEADERS,
        body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_json' } })
    })
  }
})
