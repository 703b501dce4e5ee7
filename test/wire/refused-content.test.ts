import { afterEach, describe, expect, it } from 'vitest'
import { answerEvents, answerJson, sse, textChunk } from '../helpers/scripted-upstream.js'
import { ask, framesOf, MODEL, WireService } from './service.js'

let service: WireService
afterEach(() => service.close())

const PRICES = { input: '10', cachedInput: '1', cacheWrite: '12.5', output: '20', request: '0.001' }

const start = async () => {
  service = await WireService.start({ providers: 2, models: [{ id: MODEL, prices: PRICES }] })
  return service
}

type Refusal = readonly [status: number, body: unknown, providerCode?: string]

/** Refusals of a prompt's content, as providers word them. */
const refusals: Readonly<Record<string, Refusal>> = {
  'of xAI, under the code of a refused key': [
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error:
        'Content violates usage guidelines. Team: t, API key ID: k, Model: m, Failed check: SAFETY_CHECK_TYPE_BIO',
    },
  ],
  'of the moderation of OpenRouter': [
    403,
    {
      error: {
        code: 403,
        message: 'acme/fast requires moderation. Your input was flagged.',
        metadata: { reasons: ['violence'], flagged_input: 'Say', provider_name: 'Acme', model_slug: 'a/b' },
      },
    },
    'moderation',
  ],
  'of the moderation of OpenRouter, whose message does not say so': [
    403,
    { error: { code: 403, message: 'Forbidden', metadata: { reasons: ['violence'], flagged_input: 'Say' } } },
    'moderation',
  ],
  'of a filter of OpenRouter': [
    403,
    { error: { code: 403, message: 'Refused.', metadata: { error_type: 'content_policy_violation' } } },
    'content_policy_violation',
  ],
  'of a guardrail of OpenRouter': [
    403,
    { error: { code: 403, message: 'Request blocked: prompt injection patterns detected' } },
  ],
  "of Azure's policy": [
    400,
    {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        type: null,
        param: 'prompt',
        code: 'content_filter',
        status: 400,
        innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: {} },
      },
    },
    'content_filter',
  ],
  "of Azure's API Management": [403, { statusCode: 403, message: 'Request failed content safety check.' }],
  'of OpenAI': [
    400,
    {
      error: {
        message: 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_prompt',
      },
    },
    'invalid_prompt',
  ],
  'of Anthropic': [
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' },
    },
    'invalid_request_error',
  ],
  'of Alibaba': [
    400,
    {
      error: {
        code: 'data_inspection_failed',
        param: null,
        message: 'Input data may contain inappropriate content.',
        type: 'data_inspection_failed',
      },
    },
    'data_inspection_failed',
  ],
  'of DeepSeek, with a status of its own': [
    402,
    {
      error: { message: 'Content Exists Risk', type: 'invalid_request_error', code: 'invalid_request_error' },
    },
    'invalid_request_error',
  ],
  'of Zhipu, with a number as its code': [
    400,
    {
      contentFilter: [{ level: 1, role: 'user' }],
      error: { code: '1301', message: '系统检测到输入或生成内容可能包含不安全或敏感内容。' },
    },
    'content_filter',
  ],
  'of MiniMax': [422, { base_resp: { status_code: 1026, status_msg: 'input new_sensitive (1026)' } }],
  'of a gateway that looks for words': [
    403,
    { error: { code: 'sensitive_word_detected', type: 'security_violation', message: 'Forbidden' } },
    'sensitive_word_detected',
  ],
  'with the status for a refused key': [
    401,
    { error: { message: 'Refused by our policy.', code: 'content_policy_violation' } },
    'content_policy_violation',
  ],
  'of a gateway with a status of its own': [
    424,
    { error: [{ code: 2016, message: 'Prompt blocked due to security configurations' }] },
  ],
}

describe.each([
  ['streamed', true],
  ['as JSON', false],
])('a refusal of the content of a prompt, %s,', (_, stream) => {
  it.each(Object.entries(refusals))('%s, is reported to the client', async (_name, [status, body, code]) => {
    const { ledger, router, upstreams } = await start()
    for (const upstream of upstreams) upstream.script(answerJson(body, status))
    const answer = await service.post(ask({ stream }))
    const { error } = JSON.parse(await answer.text())
    expect([answer.status, error.code, error.source]).toEqual([400, 'provider_rejected_request', 'provider'])
    expect(error.message).not.toMatch(/^The provider of this model/)
    expect(error.metadata?.provider_code).toBe(code)
    // No other provider gets the prompt, and no route is blamed.
    expect(service.asked).toHaveLength(1)
    expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
    const end = await service.event('request-end')
    expect(end.charge).toBeUndefined()
    expect(end.outcome).toBe('provider_rejected_request')
    expect(end.routing?.attempts).toHaveLength(1)
    // The words may quote the prompt.
    expect(end.routing?.attempts[0]?.why).toMatch(
      /^The provider answered \d+ \(http:\/\/127[\w.:/]+\)\.(?: Its code: \w+\.)?$/,
    )
    expect(await ledger.balance('alice', { requestId: 'r', signal: new AbortController().signal })).toEqual({
      posted: 1_000_000_000n,
      held: 0n,
      available: 1_000_000_000n,
    })
  })

  it.each([
    ['as an error in a 200', { error: { code: 'content_filter', message: 'Refused.' } }],
    ['as an error in a 200, in words', { error: { message: 'Your input was flagged by moderation.' } }],
    [
      'as an error with its status',
      { error: { code: 403, message: 'Forbidden', metadata: { reasons: ['violence'] } } },
    ],
  ])('%s, is reported to the client', async (_name, body) => {
    const { router, upstreams } = await start()
    for (const upstream of upstreams) upstream.script(stream ? answerEvents([body]) : answerJson(body))
    const answer = await service.post(ask({ stream }))
    const { error } = JSON.parse(await answer.text())
    expect([answer.status, error.code]).toEqual([400, 'provider_rejected_request'])
    expect(service.asked).toHaveLength(1)
    expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
  })
})

it('a content refusal in the middle of a stream ends it with its code, and costs nothing', async () => {
  const { router, upstreams } = await start()
  const refusal = { error: { code: 'content_filter', message: 'The response was filtered.' } }
  const body = sse([textChunk('Half of'), refusal])
  for (const upstream of upstreams)
    upstream.script([{ head: 200, headers: { 'content-type': 'text/event-stream' } }, { write: body }, 'end'])
  const text = await (await service.post(ask({ stream: true }))).text()
  expect(framesOf(text).at(-1)).toMatchObject({
    error: {
      code: 'provider_rejected_request',
      message: 'The response was filtered.',
      metadata: { provider_code: 'content_filter', usage: { cost: 0 } },
    },
  })
  expect(text).not.toContain('[DONE]')
  expect(router.routes()).toMatchObject([{ state: 'closed', failureRate: 0 }])
})

/** Refusals of the host's key or account: another provider can serve the prompt. */
const keys: Readonly<Record<string, Refusal>> = {
  'a key that does not exist': [
    401,
    { error: { message: 'Incorrect API key provided.', code: 'invalid_api_key' } },
  ],
  'a key that may not use the model': [
    403,
    { error: { message: 'Your key does not have access to this model.', code: 'model_not_found' } },
  ],
  'an account closed for breaking the usage policies': [
    403,
    { error: { message: 'Your account has been deactivated for violating our usage policies.' } },
  ],
  'an organization that is disabled': [
    400,
    { error: { message: 'This organization has been disabled for violating the usage policy.' } },
  ],
  'a role without a policy': [
    403,
    { message: 'User is not authorized to perform this action: no identity-based policy allows it.' },
  ],
  'a country': [
    403,
    {
      error: {
        code: 'unsupported_country_region_territory',
        message: 'Country, region, or territory not supported',
      },
    },
  ],
  'a page of a firewall': [
    403,
    '<html><body>Sorry, you have been blocked by our content policy</body></html>',
  ],
}

it.each(Object.entries(keys))(
  'a refusal about %s is not taken as a content refusal',
  async (_name, [status, body]) => {
    const { upstreams } = await start()
    for (const upstream of upstreams) upstream.script(answerJson(body, status))
    const answer = await service.post(ask())
    const { error } = JSON.parse(await answer.text())
    expect([answer.status, error.code, error.message]).toEqual([
      502,
      'provider_auth_failed',
      'The provider of this model refused this service.',
    ])
    expect(error.metadata).toBeUndefined()
    expect(service.asked).toHaveLength(2)
  },
)
