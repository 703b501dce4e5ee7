import { describe, expect, it } from 'vitest'
import { ProviderError, type ProviderErrorFields, type ProviderErrorReason } from '../../src/base/errors.js'
import { providerFailure } from '../../src/engine/failures/provider-failure.js'

const HOST_KEY = 'the host said: open sesame'
const context = { secrets: [HOST_KEY], upstreamModel: 'gpt-4o-mini-2024-07-18', modelKey: 'acme/fast' }

function read(reason: ProviderErrorReason, fields: ProviderErrorFields = {}, byok = false) {
  const { error, movesOn, routeAtFault } = providerFailure(
    new ProviderError(reason, 'for events only', { providerMessage: `sorry, ${HOST_KEY}`, ...fields }),
    byok,
    context,
  )
  const { code, headers, message, source, status } = error
  return { code, headers, message, movesOn, routeAtFault, source, status }
}

const constant = /^The provider of this model [a-z' ]+\.( Try again shortly\.)?$/

describe("a failure under the host's key", () => {
  const rows: [number, string, number, boolean][] = [
    [401, 'provider_auth_failed', 502, false],
    [402, 'provider_error', 502, false],
    [403, 'provider_auth_failed', 502, false],
    [404, 'provider_error', 502, false],
    [405, 'provider_error', 502, false],
    [408, 'provider_timeout', 504, true],
    [409, 'provider_error', 502, false],
    [418, 'provider_error', 502, false],
    [429, 'rate_limited', 429, true],
    [451, 'provider_error', 502, false],
    [500, 'provider_error', 502, true],
    [501, 'provider_error', 502, true],
    [502, 'provider_error', 502, true],
    [503, 'provider_overloaded', 503, true],
    [504, 'provider_error', 502, true],
    [529, 'provider_overloaded', 503, true],
    [599, 'provider_error', 502, true],
  ]

  it.each(rows)(
    'with status %s falls back, and is %s in constant text if no route is left',
    (upstream, code, status, atFault) => {
      for (const reason of ['status', 'error-frame'] as const) {
        const seen = read(reason, { status: upstream })
        expect(seen).toMatchObject({ code, status, movesOn: true, routeAtFault: atFault, source: 'provider' })
        expect(seen.message).toMatch(constant)
      }
    },
  )

  it('with status 402 is not retried by clients, since waiting does not help', () => {
    const { headers } = read('status', { status: 402, retryAfterSeconds: 5 })
    expect(headers).toEqual({ 'x-should-retry': 'false' })
  })

  it.each([400, 413, 422])(
    "with status %s is the request's fault: no other route, no blame, its words redacted",
    (status) => {
      for (const reason of ['status', 'error-frame'] as const) {
        expect(
          read(reason, { status, providerMessage: 'gpt-4o-mini-2024-07-18 knows no colour' }),
        ).toMatchObject({
          code: 'provider_rejected_request',
          status: 400,
          movesOn: false,
          routeAtFault: false,
          message: 'acme/fast knows no colour',
        })
        const echoing = { status, providerMessage: `knows no ${HOST_KEY}`, param: HOST_KEY }
        expect(read(reason, echoing).message).toBe('The provider of this model refused the request.')
      }
    },
  )

  it.each([
    ['unreachable', 'provider_error', 502, undefined],
    ['timeout', 'provider_timeout', 504, 'false'],
    ['invalid-response', 'provider_invalid_response', 502, 'false'],
    ['cut-short', 'provider_error', 502, 'false'],
    ['error-frame', 'provider_error', 502, 'false'],
  ] as const)('of kind %s falls back, and is %s if no route is left', (reason, code, status, retry) => {
    const seen = read(reason)
    expect(seen).toMatchObject({ code, status, movesOn: true, routeAtFault: true, source: 'provider' })
    expect(seen.headers['x-should-retry']).toBe(retry)
    expect(seen.message).toMatch(constant)
  })

  it.each([429, 503, 529])('with status %s passes on its retry-after', (status) => {
    expect(read('status', { status, retryAfterSeconds: 7 }).headers).toEqual({ 'retry-after': '7' })
    expect(read('status', { status }).headers).toEqual({})
  })

  it('is recognised as a prompt that is too long, by code or by words', () => {
    for (const fields of [
      { status: 400, providerCode: 'context_length_exceeded', providerMessage: 'no' },
      { status: 413, providerMessage: 'The prompt is too long.' },
      { status: 400, providerMessage: "This model's maximum context length is 8192 tokens." },
      { status: 400, providerMessage: 'input length and `max_tokens` exceed context limit: 9 + 2 > 10' },
      { status: 400, providerMessage: 'The request exceeds the available context size, try increasing it.' },
      { status: 400, providerMessage: 'The input token count (9) exceeds the maximum number of tokens.' },
      { status: 400, providerMessage: "This model's maximum prompt length is 131072." },
    ]) {
      expect(read('status', fields).code).toBe('context_length_exceeded')
    }
  })

  it("without a message gets the router's message", () => {
    expect(read('status', { status: 400, providerMessage: '' }).message).toBe(
      'The provider of this model refused the request.',
    )
  })

  it('of a request that no such adapter can express falls back, and is an invalid request if no route is left', () => {
    const seen = read('unsupported-request', { param: 'tools', providerMessage: 'tools cannot be sent' })
    expect(seen).toMatchObject({
      code: 'unsupported_parameter',
      status: 400,
      movesOn: true,
      routeAtFault: false,
      source: 'gateway',
    })
  })
})

describe("a failure under a caller's own key", () => {
  it('never falls back', () => {
    const reasons = [
      'unreachable',
      'timeout',
      'invalid-response',
      'cut-short',
      'unsupported-request',
    ] as const
    for (const reason of reasons) expect(read(reason, {}, true).movesOn, reason).toBe(false)
    for (let status = 400; status < 600; status++) {
      expect(read('status', { status }, true).movesOn, String(status)).toBe(false)
      expect(read('error-frame', { status }, true).movesOn, String(status)).toBe(false)
    }
  })

  it.each([401, 403])("with status %s is the key's fault: 400, and clients must not retry it", (status) => {
    expect(read('status', { status }, true)).toMatchObject({
      code: 'provider_key_rejected',
      status: 400,
      source: 'provider',
      message: 'The provider refused the key in provider_key.',
    })
  })

  it('that refuses the content of the prompt is no fault of the key', () => {
    const refusal = { status: 403, providerMessage: 'Content violates usage guidelines.' }
    expect(read('status', refusal, true)).toMatchObject({
      code: 'provider_rejected_request',
      status: 400,
      movesOn: false,
    })
  })

  it("with status 429 is the caller's rate limit at the provider", () => {
    expect(read('status', { status: 429, retryAfterSeconds: 3 }, true)).toMatchObject({
      code: 'rate_limited',
      status: 429,
      source: 'provider',
      headers: { 'retry-after': '3' },
    })
  })
})
