import { describe, expect, it } from 'vitest'
import { CompatError, errorCodes } from '../../src/base/errors.js'
import { asCompatError, errorFrame, errorReply } from '../../src/protocol/error-body.js'

describe('an error answer', () => {
  it('has its members in a fixed order, and only those that it needs', () => {
    const full = new CompatError('invalid_request', 'No.', {
      param: 'n',
      source: 'provider',
      details: [{ param: 'n', message: 'No.' }],
      metadata: { usage: { cost: 0 } },
      cause: new Error('secret'),
    })
    expect(errorReply(full)).toEqual({
      status: 400,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: '{"error":{"message":"No.","type":"invalid_request_error","param":"n","code":"invalid_request","source":"provider","details":[{"param":"n","message":"No."}],"metadata":{"usage":{"cost":0}}}}',
    })
    expect(errorReply(new CompatError('not_found', 'No.')).body).toBe(
      '{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"not_found","source":"gateway"}}',
    )
  })

  it.each(['nonsense', 'toString', undefined])('cannot have the code %s', (code) => {
    expect(() => new CompatError(code as 'not_found', 'No.')).toThrow(
      new TypeError(`CompatError: unknown code ${JSON.stringify(code)}; errorCodes lists the known ones.`),
    )
  })

  it.each(errorCodes)('$code has status $status and type $type', ({ code, status, type }) => {
    const reply = errorReply(new CompatError(code, 'No.'))
    expect(reply.status).toBe(status)
    expect(JSON.parse(reply.body).error).toMatchObject({ code, type })
    const retryAfter = reply.headers['retry-after']
    if (status === 429 || status === 503) expect(retryAfter).toMatch(/^([1-9]|[1-5][0-9])$/)
    expect('www-authenticate' in reply.headers).toBe(status === 401 || code === 'insufficient_scope')
  })

  it('challenges with the Bearer scheme', () => {
    const challenge = (code: (typeof errorCodes)[number]['code']) =>
      errorReply(new CompatError(code, 'No.')).headers['www-authenticate']
    expect(challenge('missing_credential')).toBe('Bearer realm="compat"')
    expect(challenge('invalid_api_key')).toContain('error="invalid_token"')
    expect(challenge('insufficient_scope')).toContain('error="insufficient_scope", scope="models.run"')
  })

  it.each([
    ['120', '59'],
    ['0', '1'],
    ['-5', '1'],
    ['2.2', '3'],
    ['59', '59'],
    ['Infinity', '59'],
    ['Wed, 21 Oct 2026 07:28:00 GMT', '1'],
  ])('with retry-after %s says %s', (given, sent) => {
    const error = new CompatError('rate_limited', 'No.', { headers: { 'retry-after': given } })
    expect(errorReply(error).headers['retry-after']).toBe(sent)
  })

  it('says whether to retry a call', () => {
    const headers = (code: (typeof errorCodes)[number]['code']) =>
      errorReply(new CompatError(code, 'No.')).headers
    expect(headers('credits_on_hold')).toMatchObject({ 'x-should-retry': 'true', 'retry-after': '5' })
    for (const code of [
      'missing_credential',
      'invalid_api_key',
      'expired_credential',
      'revoked_credential',
      'insufficient_credits',
      'request_timeout',
      'idempotency_completed',
      'provider_timeout',
    ] as const) {
      expect(headers(code)).toMatchObject({ 'x-should-retry': 'false' })
    }
    expect(headers('idempotency_in_flight')).toHaveProperty('retry-after')
    expect(headers('provider_error')).not.toHaveProperty('x-should-retry')
    const billed = new CompatError('provider_error', 'No.', { headers: { 'x-should-retry': 'false' } })
    expect(errorReply(billed).headers).toMatchObject({ 'x-should-retry': 'false' })
  })

  it('keeps other headers of the error', () => {
    const error = new CompatError('method_not_allowed', 'No.', { headers: { allow: 'GET, HEAD' } })
    expect(errorReply(error).headers).toMatchObject({ allow: 'GET, HEAD' })
  })

  it('is an internal error without details for anything else that was thrown', () => {
    const cause = new Error('connect ECONNREFUSED 10.0.0.1')
    const error = asCompatError(cause)
    expect(error).toMatchObject({ code: 'internal_error', status: 500, cause })
    expect(errorReply(error).body).not.toContain('10.0.0.1')
    for (const thrown of [undefined, null, 'text', 5])
      expect(asCompatError(thrown).code).toBe('internal_error')
    const known = new CompatError('not_found', 'No.')
    expect(asCompatError(known)).toBe(known)
  })
})

describe('the frame that ends a failed stream', () => {
  it('has the charge inside the error, no choices, and only ASCII', () => {
    const error = new CompatError('provider_error', 'Né 😀\n', { metadata: { note: 'é' } })
    const frame = errorFrame(error, { cost: 0.0012 })
    expect(frame).toMatch(/^data: [\x20-\x7e]+\n\n$/)
    expect(JSON.parse(frame.slice(6))).toStrictEqual({
      error: {
        message: 'Né 😀\n',
        type: 'server_error',
        param: null,
        code: 'provider_error',
        source: 'gateway',
        metadata: { note: 'é', usage: { cost: 0.0012 } },
      },
    })
  })
})
