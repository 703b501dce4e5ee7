import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseRetryAfter, readComplaint, statusError } from '../../src/providers/upstream-errors.js'

describe('readComplaint', () => {
  const shapes: [name: string, body: unknown, expected: object][] = [
    [
      "OpenAI's own",
      { error: { message: 'Too long', type: 't', param: 'messages', code: 'context_length_exceeded' } },
      { providerMessage: 'Too long', param: 'messages', providerCode: 'context_length_exceeded' },
    ],
    ['an error that is text', { error: 'Broken' }, { providerMessage: 'Broken' }],
    [
      'a bare message',
      { message: 'Broken', code: 'bad' },
      { providerMessage: 'Broken', providerCode: 'bad' },
    ],
    [
      'an object that is an error',
      { object: 'error', message: 'Broken', type: 'BadRequestError', param: 'n', code: 400 },
      { providerMessage: 'Broken', param: 'n', providerCode: 'BadRequestError', status: 400 },
    ],
    ['a detail', { detail: 'Not so' }, { providerMessage: 'Not so' }],
    [
      'a list of details',
      { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'field required', type: 'missing' }] },
      { providerMessage: 'field required', param: 'messages.0.role', providerCode: 'missing' },
    ],
    [
      'details inside a message',
      { object: 'error', message: { detail: [{ loc: ['body', 'n'], msg: 'too large' }] } },
      { providerMessage: 'too large', param: 'n' },
    ],
    [
      'a list of errors',
      [{ error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } }],
      { providerMessage: 'Slow down', status: 429 },
    ],
    ...['text', 'JSON'].map((form): [string, unknown, object] => {
      const said = { error: { message: 'Too long', param: 'input', code: 'context_length_exceeded' } }
      const raw = form === 'text' ? JSON.stringify(said) : said
      return [
        `a provider’s error that OpenRouter passes on as ${form}`,
        { error: { message: 'Provider returned error', code: 502, metadata: { raw, provider_name: 'X' } } },
        { providerMessage: 'Too long', param: 'input', providerCode: 'context_length_exceeded', status: 502 },
      ]
    }),
    [
      'an error of Mistral that OpenRouter passes on',
      {
        error: {
          message: 'Provider returned error',
          code: 422,
          metadata: {
            raw: '{"object":"error","message":{"detail":[{"loc":["body","n"],"msg":"Extra inputs"}]}}',
          },
        },
      },
      { providerMessage: 'Extra inputs', param: 'n', status: 422 },
    ],
    ...['ERROR', '', '"x"', '{}', '{"error":{"code":"x"}}', null, 5, [], {}].map(
      (raw): [string, unknown, object] => [
        `OpenRouter's own message beside ${JSON.stringify(raw)}`,
        { error: { message: 'Provider returned error', code: 400, metadata: { raw } } },
        { providerMessage: 'Provider returned error', status: 400 },
      ],
    ),
    [
      "OpenRouter's moderation",
      { error: { message: 'Flagged', code: 403, metadata: { reasons: ['x'], flagged_input: 'y' } } },
      { providerMessage: 'Flagged', providerCode: 'moderation', status: 403 },
    ],
    [
      "OpenRouter's type of an error",
      { error: { message: 'Flagged', code: 403, metadata: { error_type: 'content_policy_violation' } } },
      { providerMessage: 'Flagged', providerCode: 'content_policy_violation', status: 403 },
    ],
    [
      'metadata of another kind',
      { error: { message: 'No', code: 403, metadata: { provider_name: 'X' } } },
      { providerMessage: 'No', status: 403 },
    ],
    [
      'a filter that is named beside the error',
      { error: { message: 'No', code: '1301' }, contentFilter: [{ level: 1, role: 'user' }] },
      { providerMessage: 'No', providerCode: 'content_filter' },
    ],
    [
      "MiniMax's own",
      { choices: null, base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } },
      { providerMessage: 'input new_sensitive' },
    ],
    [
      'a status that is text',
      { error: { message: 'Slow down', type: 'throttling_error', code: '429' } },
      { providerMessage: 'Slow down', providerCode: 'throttling_error', status: 429 },
    ],
    ['errors in a list', { errors: [{ message: 'No', code: 10_000 }] }, { providerMessage: 'No' }],
    ['text', 'Broken', { providerMessage: 'Broken' }],
    ['a code alone', { error: { code: 'rate_limited' } }, { providerCode: 'rate_limited' }],
    ['nothing', {}, {}],
    ['null', null, {}],
    ['an empty list', [], {}],
    ['members of other types', { error: { message: 7, param: {}, code: true } }, {}],
  ]
  for (const [name, body, expected] of shapes) {
    it(`reads ${name}`, () => {
      expect(JSON.parse(JSON.stringify(readComplaint(body)))).toEqual(expected)
    })
  }

  it('does not follow an error that is nested endlessly', () => {
    let body: unknown = { message: 'deep' }
    for (let level = 0; level < 50; level++) body = { error: body }
    expect(readComplaint(body).providerMessage).toBeUndefined()
  })
})

describe('statusError', () => {
  it('keeps status, text and the time to wait', () => {
    const error = statusError(429, Buffer.from(' slow down '), '7')
    expect(error).toMatchObject({
      reason: 'status',
      status: 429,
      providerMessage: 'slow down',
      retryAfterSeconds: 7,
    })
  })

  it.each([
    ['Anthropic', { error: { message: 'Your credit balance is too low to access the API.' } }, 402],
    [
      'Anthropic at a limit',
      { error: { message: 'You have reached your specified API usage limits.' } },
      402,
    ],
    ['Anthropic about a closed account', { error: { message: 'This organization has been disabled.' } }, 403],
    ['Google', [{ error: { code: 400, message: 'API key not valid. Please pass a valid API key.' } }], 401],
    ['Google about an old key', { error: { message: 'API key expired. Please renew the API key.' } }, 401],
    ['xAI', { code: 'invalid', error: 'Incorrect API key provided: x***y.' }, 401],
    ['others about a request', { error: { message: 'The text "API key not valid" is too long.' } }, 400],
  ])('reports the intended status if %s answers 400', (_name, body, status) => {
    const bytes = Buffer.from(JSON.stringify(body))
    expect(statusError(400, bytes, undefined)).toMatchObject({ reason: 'status', status })
    expect(statusError(422, bytes, undefined).status).toBe(422)
  })

  it('does not use an HTML page as a message', () => {
    expect(
      statusError(502, Buffer.from('<html>Bad gateway</html>'), undefined).providerMessage,
    ).toBeUndefined()
  })
})

describe('parseRetryAfter', () => {
  afterEach(() => vi.useRealTimers())

  it('reads seconds', () => {
    expect(parseRetryAfter('30')).toBe(30)
    expect(parseRetryAfter(' 1.5 ')).toBe(1.5)
    expect(parseRetryAfter('0')).toBe(0)
  })

  it('reads a date as the seconds until it, never below zero', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
    expect(parseRetryAfter('Thu, 01 Jan 2026 00:00:20 GMT')).toBe(20)
    expect(parseRetryAfter('Wed, 31 Dec 2025 00:00:00 GMT')).toBe(0)
  })

  it('ignores anything else', () => {
    for (const value of [undefined, '', 'soon', '-5', '1e9', '99999999999', '5s']) {
      expect(parseRetryAfter(value), String(value)).toBeUndefined()
    }
  })
})
