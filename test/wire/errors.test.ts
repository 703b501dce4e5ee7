import { expect, test } from 'vitest'
import { type ErrorCode, errorCodes } from '../../src/index.js'
import { answerEvents, type Script, textChunk } from '../helpers/scripted-upstream.js'
import { RawClient } from '../http/fixture.js'
import { cases, PROVIDER_KEY, rawAnswer, refusedWith } from './error-cases.js'
import { ACCESS_TOKEN, API_KEY, ask, UPSTREAM_KEY, UPSTREAM_MODEL, WireService } from './service.js'

test.each(errorCodes)(
  'the error $status $code arrives complete, costs nothing, and reveals no secret',
  async (expected) => {
    const {
      headers = {},
      more = {},
      options,
      param = null,
      provider,
      run,
      says,
      source,
    } = cases[expected.code]
    const service = await WireService.start(options)
    try {
      if (provider !== undefined) service.upstream.script(provider)
      const response = await run(service)
      const text = await response.text()
      expect(response.status).toBe(expected.status)
      const { error, ...rest } = JSON.parse(text)
      expect(rest).toEqual({})
      expect(error).toEqual({
        message: expect.stringMatching(says ?? /./),
        type: expected.type,
        param,
        code: expected.code,
        source: source ?? 'gateway',
        ...('details' in error && { details: expect.any(Array) }),
        ...('metadata' in error && { metadata: expect.any(Object) }),
        ...more,
      })
      const waits = expected.status === 429 || expected.status === 503
      expect(response.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[\w.:/+=@-]{1,128}$/),
        ...(waits && { 'retry-after': expect.stringMatching(/^(?:[1-9]|[1-5]\d)$/) }),
        ...headers,
      })
      for (const name of ['www-authenticate', 'x-should-retry', 'allow', 'etag']) {
        if (!Object.hasOwn(headers, name)) expect(response.headers).not.toHaveProperty(name)
      }
      if (!waits && !Object.hasOwn(headers, 'retry-after')) {
        expect(response.headers).not.toHaveProperty('retry-after')
      }
      for (const secret of [UPSTREAM_KEY, PROVIDER_KEY, API_KEY, ACCESS_TOKEN, '10.0.0.7', UPSTREAM_MODEL]) {
        expect(text + JSON.stringify(response.headers)).not.toContain(secret)
      }
      if (provider === undefined) expect(service.asked).toEqual([])
      const answered = service.asked.length > 0 && expected.status >= 409 && expected.status < 423
      const credit = 1_000_000_000n
      if (!answered) expect(await service.posted('alice')).toBe(credit)
      expect(await service.posted('bob')).toBe(credit)
    } finally {
      await service.close()
    }
  },
)

test('a provider error before the first token looks the same to a client that requested a stream', async () => {
  const service = await WireService.start()
  const scripts: readonly (readonly [Script, number, ErrorCode])[] = [
    [refusedWith(429), 429, 'rate_limited'],
    [refusedWith(503), 503, 'provider_overloaded'],
    [refusedWith(408), 504, 'provider_timeout'],
    [refusedWith(402), 502, 'provider_error'],
    [refusedWith(404), 502, 'provider_error'],
    [refusedWith(413), 400, 'provider_rejected_request'],
    [[{ head: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'end'], 502, 'provider_invalid_response'],
    [['reset'], 502, 'provider_error'],
    [
      [{ head: 200, headers: { 'content-type': 'text/event-stream' } }, 'end'],
      502,
      'provider_invalid_response',
    ],
    [answerEvents([{ error: { message: 'Slow down.', code: 429 } }]), 429, 'rate_limited'],
    [answerEvents([{ ...textChunk('x'), choices: 'none' }]), 502, 'provider_invalid_response'],
  ]
  for (const [script, status, code] of scripts) {
    service.upstream.scriptOnce(script)
    const response = await service.post(ask({ stream: true }))
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }])
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  }
  expect(await service.posted('alice')).toBe(1_000_000_000n)
  await service.close()
})

test('a second authorization header is refused, whatever the first contains', async () => {
  const service = await WireService.start()
  const client = await RawClient.connect(service.host.port)
  const line = `authorization: Bearer ${API_KEY}\r\n`
  client.write(`GET /compat/v1/models HTTP/1.1\r\nhost: a\r\n${line}${line}connection: close\r\n\r\n`)
  await client.untilClosed()
  const { status, text } = rawAnswer(client.received)
  expect([status, JSON.parse(await text())]).toMatchObject([401, { error: { code: 'invalid_api_key' } }])
  await service.close()
})

test.each([
  { what: 'of another scheme', authorization: 'Basic c2std2lyZS1hbGljZQ==', code: 'missing_credential' },
  { what: 'without a token', authorization: 'Bearer', code: 'invalid_api_key' },
  {
    what: 'with a token that is too long',
    authorization: `Bearer ${'x'.repeat(8_193)}`,
    code: 'invalid_api_key',
  },
  { what: 'with two tokens', authorization: `Bearer ${API_KEY} ${API_KEY}`, code: 'invalid_api_key' },
  { what: 'in any case and after any spaces', authorization: `bEaReR    ${API_KEY}`, code: undefined },
])('an authorization $what is answered with $code', async ({ authorization, code }) => {
  const service = await WireService.start()
  const response = await service.host.request('/models', { headers: { authorization } })
  expect(response.status).toBe(code === undefined ? 200 : 401)
  const body = (await response.json()) as { error?: { code: string } }
  expect(body.error?.code).toBe(code)
  await service.close()
})
