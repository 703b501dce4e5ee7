import { afterEach, describe, expect, it } from 'vitest'
import { answerJson, type Script, sse } from '../helpers/scripted-upstream.js'
import { ask, framesOf, MODEL, WireService } from './service.js'

let service: WireService
afterEach(() => service.close())

const PRICES = { input: '10', cachedInput: '1', cacheWrite: '12.5', output: '20', request: '0.001' }
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
/** 11 x 10 + 7 x 20 millionths, and the price of the request. */
const COST = 0.00125
const OPENING = 1_000_000_000n
const DONE = 'data: [DONE]\n\n'

const chunk = (choices: readonly object[], more: object = {}) => ({
  id: 'up-1',
  object: 'chat.completion.chunk',
  choices,
  ...more,
})
const delta = (fields: object, finish: unknown = null, more: object = {}) =>
  chunk([{ index: 0, delta: fields, finish_reason: finish, ...more }])
const text = (content: string, finish: unknown = null) => delta({ content }, finish)
const ROLE = delta({ role: 'assistant', content: '' })
const STOP = delta({}, 'stop')
const REPORT = chunk([], { usage: USAGE })
const HALF = sse([ROLE, text('Half a '), text('text')])
const ends = (reason: unknown, more: object = {}) =>
  sse([ROLE, text('Half a '), text('text'), delta({}, reason, more), REPORT]) + DONE
const whole = (
  reason: unknown,
  more: object = {},
  message: object = { role: 'assistant', content: 'Half a text' },
) => ({
  id: 'up-1',
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: reason, ...more }],
  usage: USAGE,
})

const answerStream = (body: string, end: 'end' | 'hang-up' = 'end'): Script => [
  { head: 200, headers: { 'content-type': 'text/event-stream' } },
  { write: body },
  end,
]

async function start(providers = 1): Promise<WireService> {
  service = await WireService.start({ providers, models: [{ id: MODEL, prices: PRICES }] })
  return service
}

interface Choice {
  readonly delta?: { readonly content?: string }
  readonly message?: { readonly content?: string }
  readonly finish_reason: string | null
  readonly native_finish_reason?: string
}

interface Sent {
  readonly status: number
  readonly text: string
  readonly frames: readonly Record<string, unknown>[]
  readonly isDone: boolean
  readonly error: { code: string; metadata?: Record<string, unknown> } | undefined
  readonly finish: unknown
  readonly native: unknown
  readonly cost: unknown
}

async function call(stream: boolean): Promise<Sent> {
  const response = await service.post(ask({ stream }))
  const body = await response.text()
  const frames = body.startsWith('{') ? [JSON.parse(body)] : framesOf(body)
  const choices = frames.flatMap((frame) => (frame.choices ?? []) as Choice[])
  const ended = choices.filter((choice) => choice.finish_reason !== null)
  const usage = frames.map(({ usage }) => usage).find(Boolean) as { cost: number } | undefined
  expect(ended.length).toBeLessThan(2)
  return {
    status: response.status,
    text: choices.map((choice) => (choice.delta ?? choice.message)?.content ?? '').join(''),
    frames,
    isDone: body.endsWith(DONE) || (response.status === 200 && body.startsWith('{')),
    error: frames.at(-1)?.error as Sent['error'],
    finish: ended[0]?.finish_reason,
    native: ended[0]?.native_finish_reason,
    cost: usage?.cost,
  }
}

const posted = () => service.posted('alice')

/** Streams that fail after half a text, and the code of the error. */
const broken: Readonly<Record<string, readonly [body: string, code: string]>> = {
  'an error without data:': [`${HALF}{"error":{"message":"overloaded"}}\n\n${DONE}`, 'provider_error'],
  'an error over several lines': [
    `${HALF}{\n  "error": {\n    "code": 429,\n    "message": "Quota exceeded."\n  }\n}\n\n${DONE}`,
    'rate_limited',
  ],
  'an error in a field': [`${HALF}error: {"message":"slot unavailable"}\n\n${DONE}`, 'provider_error'],
  'an error in a field with another name': [`${HALF}Error: upstream reset\n\n${DONE}`, 'provider_error'],
  'a page of HTML': [
    `${HALF}<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n${DONE}`,
    'provider_invalid_response',
  ],
  'words of a proxy': [
    `${HALF}upstream connect error or disconnect/reset before headers. reset reason: overflow\n\n${DONE}`,
    'provider_invalid_response',
  ],
  'JSON that breaks off': [`${HALF}{\n  "error": {\n\n${DONE}`, 'provider_invalid_response'],
  'an error without data: after the finish': [
    `${HALF}${sse([STOP])}{"error":{"message":"overloaded"}}\n\n${DONE}`,
    'provider_error',
  ],
  'a detail in place of choices': [HALF + sse([{ detail: 'Overloaded' }]) + DONE, 'provider_error'],
  'a code and a message in place of choices': [
    HALF + sse([{ code: 'ServiceUnavailable', message: 'Try later', request_id: 'r' }]) + DONE,
    'provider_error',
  ],
  'a status in place of choices': [
    HALF + sse([{ object: 'error', message: 'Engine died', code: '503' }]) + DONE,
    'provider_overloaded',
  ],
  'an error of MiniMax': [
    HALF + sse([{ choices: [], base_resp: { status_code: 1000, status_msg: 'unknown error' } }]) + DONE,
    'provider_error',
  ],
  'an error at the top, with empty choices': [
    HALF + sse([{ choices: [], error: { code: 502, message: 'Worker limit reached' } }]) + DONE,
    'provider_error',
  ],
  'a finish reason in every chunk, cut off': [
    sse([delta({ role: 'assistant' }, 'stop'), text('Half a ', 'stop'), text('text', 'stop')]),
    'provider_error',
  ],
  'a finish reason and then more, cut off': [
    sse([ROLE, text('Half a '), delta({}, 'stop'), text('text')]),
    'provider_error',
  ],
  'a finish reason and a usage in every chunk, cut off': [
    sse([
      { ...text('Half a ', 'stop'), usage: USAGE },
      { ...text('text', 'stop'), usage: USAGE },
    ]),
    'provider_error',
  ],
  'a word for no finish yet, cut off': [
    sse([text('Half a ', 'in_progress'), text('text', 'FINISH_REASON_UNSPECIFIED')]),
    'provider_error',
  ],
}

describe("a provider's stream that breaks with", () => {
  it.each(Object.entries(broken))('%s ends with an error, and costs nothing', async (_name, [body, code]) => {
    await start()
    service.upstream.script(answerStream(body))
    const sent = await call(true)
    expect([sent.status, sent.text, sent.error?.code]).toEqual([200, 'Half a text', code])
    expect([sent.isDone, sent.finish]).toEqual([false, undefined])
    expect(sent.error?.metadata).toMatchObject({ usage: { cost: 0 } })
    expect((await service.event('request-end')).outcome).toBe(code)
    expect(await posted()).toBe(OPENING)
  })

  it.each(Object.entries(broken))(
    '%s is an HTTP error for a client that wants JSON',
    async (_name, [body, code]) => {
      await start()
      service.upstream.script(answerStream(body))
      const sent = await call(false)
      expect(sent.status).toBeGreaterThanOrEqual(429)
      expect([sent.error?.code, sent.text]).toEqual([code, ''])
      expect(await posted()).toBe(OPENING)
    },
  )
})

it("a host is told a provider's words for an error between the events", async () => {
  await start()
  service.upstream.script(answerStream(`${HALF}{"error":{"message":"All workers are busy."}}\n\n${DONE}`))
  await call(true)
  const { routing } = await service.event('request-end')
  expect(routing?.attempts[0]?.why).toBe(
    `The reply contained an error (${service.upstream.baseUrl}/chat/completions). It said: All workers are busy.`,
  )
})

it('an error before the first token is left to another provider', async () => {
  await start(2)
  const [first, second] = service.upstreams
  first!.script(
    answerStream(`${sse([delta({ role: 'assistant' }, 'stop')])}{"error":{"message":"busy"}}\n\n${DONE}`),
  )
  second!.script(answerStream(ends('stop')))
  const sent = await call(true)
  expect([sent.text, sent.finish, sent.isDone, sent.cost]).toEqual(['Half a text', 'stop', true, COST])
})

/** Words for the end of a reply that mean a failure. */
const failing = [
  ...[
    'error',
    'ERROR',
    'finish_reason_error',
    'FinishReason.ERROR',
    'internal error',
    'internal_server_error',
  ],
  ...['failed', 'Failure', 'network_error', 'network-error', 'Network Error', 'networkError'],
  ...['abort', 'aborted', 'cancelled', 'CANCELED', 'user_cancel', 'timeout', 'time-out_error', 'timed_out'],
  ...['insufficient_system_resource', 'insufficientSystemResource', 'interrupted', 'overloaded'],
  ...['deadline_exceeded', 'rate limit', 'exception: out of memory'],
  // As gateways write them that join the reasons of several chunks.
  ...['errorerror', 'network_errornetwork_error', 'ERROR ERROR', 'timeouttimeouttimeout'],
]

describe("a provider's finish reason", () => {
  it.each(failing)('%s is a failure', async (reason) => {
    await start()
    service.upstream.scriptOnce(answerStream(ends(reason)), answerJson(whole(reason)))
    const streamed = await call(true)
    expect([streamed.text, streamed.error?.code, streamed.isDone, streamed.finish]).toEqual([
      'Half a text',
      'provider_error',
      false,
      undefined,
    ])
    expect(streamed.error?.metadata).toMatchObject({ native_finish_reason: reason, usage: { cost: 0 } })
    const { nativeFinishReason, finishReason, routing } = await service.event('request-end')
    expect([nativeFinishReason, finishReason]).toEqual([reason, undefined])
    expect(routing?.attempts[0]?.why).toContain('with the finish reason')
    service.events.length = 0
    const json = await call(false)
    expect([json.status, json.error?.code, json.error?.metadata]).toEqual([
      502,
      'provider_error',
      { native_finish_reason: reason },
    ])
    expect((await service.event('request-end')).nativeFinishReason).toBe(reason)
    expect(await posted()).toBe(OPENING)
  })

  it.each([
    ['stop', 'network_error'],
    ['error', 'some_new_word'],
    ['other', 'timeout'],
  ])('%s is a failure if the provider’s own is %s', async (reason, native) => {
    await start()
    const more = { native_finish_reason: native }
    service.upstream.scriptOnce(answerStream(ends(reason, more)), answerJson(whole(reason, more)))
    for (const stream of [true, false]) {
      const sent = await call(stream)
      expect([sent.error?.code, sent.error?.metadata?.native_finish_reason]).toEqual([
        'provider_error',
        native,
      ])
    }
    expect(await posted()).toBe(OPENING)
  })

  it.each([
    ['stop', 'stop', undefined],
    ['STOP', 'stop', undefined],
    ['FINISH_REASON_STOP', 'stop', undefined],
    ['endTurn', 'stop', undefined],
    ['COMPLETE', 'stop', undefined],
    ['a word of tomorrow', 'stop', undefined],
    ['OTHER', 'stop', undefined],
    ['FINISH_REASON_OTHER', 'stop', undefined],
    ['FinishReason.MAX_TOKENS', 'length', undefined],
    ['maxOutputTokens', 'length', undefined],
    ['ERROR_LIMIT', 'length', undefined],
    ['FINISH_REASON_SAFETY', 'content_filter', undefined],
    ['content_filter: PROHIBITED_CONTENT', 'content_filter', undefined],
    ['ERROR_TOXIC', 'content_filter', undefined],
    ['guardrail_intervened', 'content_filter', undefined],
    ['stopstop', 'stop', undefined],
    ['end_turn_end_turn', 'stop', undefined],
    ['lengthlengthlength', 'length', undefined],
    ['FinishReason.MAX_TOKENSFinishReason.MAX_TOKENS', 'length', undefined],
    ['SAFETYSAFETY', 'content_filter', undefined],
    ['stop', 'stop', 'end_turn'],
    ['stop', 'length', 'MAX_TOKENS'],
    ['stop', 'length', 'lengthlength'],
    ['stop', 'content_filter', 'RECITATION'],
    ['other', 'stop', 'a word of tomorrow'],
    ['other', 'stop', 'end_turn'],
    ['stop', 'stop', 'FinishReason.OTHER'],
    ['other', 'length', 'MAX_TOKENS'],
  ])('%s is %s, and the provider’s own word is kept', async (reason, mapped, native) => {
    await start()
    const more = native === undefined ? {} : { native_finish_reason: native }
    service.upstream.scriptOnce(answerStream(ends(reason, more)), answerJson(whole(reason, more)))
    for (const stream of [true, false]) {
      service.events.length = 0
      const sent = await call(stream)
      expect([sent.text, sent.isDone, sent.finish, sent.native, sent.cost]).toEqual([
        'Half a text',
        true,
        mapped,
        native ?? reason,
        COST,
      ])
      const { finishReason, nativeFinishReason } = await service.event('request-end')
      expect([finishReason, nativeFinishReason]).toEqual([mapped, native ?? reason])
    }
    expect(await posted()).toBe(OPENING - 2n * 1_250_000n)
  })

  it('that is unknown is a failure if nothing was said', async () => {
    await start(2)
    const usage = { prompt_tokens: 11, completion_tokens: 0, total_tokens: 11 }
    const silent = sse([ROLE, delta({}, 'a word of tomorrow'), chunk([], { usage })]) + DONE
    const body = { ...whole('a word of tomorrow', {}, { role: 'assistant', content: '' }), usage }
    const [first, second] = service.upstreams
    for (const [stream, script] of [
      [true, answerStream(silent)],
      [false, answerJson(body)],
    ] as const) {
      first!.script(script)
      second!.script(answerStream(ends('stop')))
      const sent = await call(stream)
      expect([sent.text, sent.finish, sent.cost]).toEqual(['Half a text', 'stop', COST])
      second!.script(script)
      const alone = await call(stream)
      expect([alone.status, alone.error?.code, alone.error?.metadata]).toEqual([
        502,
        'provider_error',
        { native_finish_reason: 'a word of tomorrow' },
      ])
    }
    expect(await posted()).toBe(OPENING - 2n * 1_250_000n)
  })

  it('that is unknown ends a reply whose output only the provider counted', async () => {
    await start()
    service.upstream.script(answerStream(sse([ROLE, delta({}, 'a word of tomorrow'), REPORT]) + DONE))
    for (const stream of [true, false]) {
      const sent = await call(stream)
      expect([sent.finish, sent.native, sent.cost]).toEqual(['stop', 'a word of tomorrow', COST])
    }
  })

  it.each(['MALFORMED_FUNCTION_CALL', 'FinishReason.MALFORMED_FUNCTION_CALL', 'unexpected tool call'])(
    '%s reports output that was dropped: a stream ends with an error, and is charged',
    async (reason) => {
      await start()
      service.upstream.scriptOnce(answerStream(ends(reason)), answerJson(whole(reason)))
      const streamed = await call(true)
      expect([streamed.text, streamed.error?.code, streamed.isDone]).toEqual([
        'Half a text',
        'provider_invalid_response',
        false,
      ])
      expect(streamed.error?.metadata).toMatchObject({ usage: { cost: COST } })
      const json = await call(false)
      expect([json.text, json.finish, json.native, json.cost]).toEqual(['Half a text', 'stop', reason, COST])
      expect(await posted()).toBe(OPENING - 2n * 1_250_000n)
    },
  )

  it.each([
    ['beside a plain one of the provider', { native_finish_reason: 'stop' }, {}],
    [
      'beside calls that can be read',
      {},
      { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    ],
  ])('of dropped output is kept, %s', async (_name, more, message) => {
    await start()
    const said = { role: 'assistant', content: 'Half a text', ...message }
    service.upstream.script(answerJson(whole('MALFORMED_FUNCTION_CALL', more, said)))
    const sent = await call(true)
    expect([sent.text, sent.error?.code, sent.isDone]).toEqual([
      'Half a text',
      'provider_invalid_response',
      false,
    ])
    expect(sent.error?.metadata).toMatchObject({ usage: { cost: COST } })
  })

  it('of a second choice whose message is text does not hide the text', async () => {
    await start()
    const body = whole('stop')
    const second = { index: 1, message: 'and more', finish_reason: 'stop' }
    service.upstream.script(answerJson({ ...body, choices: [...body.choices, second] }))
    const streamed = await call(true)
    expect([streamed.text, streamed.error?.code]).toEqual(['Half a text', 'provider_invalid_response'])
    expect((await call(false)).text).toBe('Half a text')
  })

  it('of calls is a stop if none of them can be read', async () => {
    await start()
    const said = { role: 'assistant', content: 'Half a text', tool_calls: [] }
    service.upstream.script(answerJson(whole('tool_calls', {}, said)))
    for (const stream of [true, false]) {
      const sent = await call(stream)
      expect([sent.finish, sent.native, sent.cost]).toEqual(['stop', 'tool_calls', COST])
    }
  })

  it('in every chunk is sent once, at the end', async () => {
    await start()
    const call1 = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
    service.upstream.script(
      answerStream(
        sse([
          delta({ role: 'assistant', reasoning_content: 'Hm' }, 'stop'),
          text('Half a ', 'stop'),
          text('text', 'stop'),
          delta({ tool_calls: [call1] }, 'stop'),
          REPORT,
        ]) + DONE,
      ),
    )
    for (const stream of [true, false]) {
      const sent = await call(stream)
      expect([sent.text, sent.finish, sent.native, sent.isDone, sent.cost]).toEqual([
        'Half a text',
        'tool_calls',
        'stop',
        true,
        COST,
      ])
      if (stream)
        expect((sent.frames.at(-2)!.choices as object[])[0]).toMatchObject({
          delta: {},
          finish_reason: 'tool_calls',
        })
    }
  })

  it('of length is kept even if the provider ends with stop', async () => {
    await start()
    service.upstream.script(
      answerStream(sse([text('Half a text'), delta({}, 'length'), STOP, REPORT]) + DONE),
    )
    for (const stream of [true, false]) expect((await call(stream)).finish).toBe('length')
  })

  it('is read under another spelling of its field', async () => {
    await start()
    const last = chunk([{ index: 0, delta: {}, finish_reason: null, finishReason: 'MAX_TOKENS' }])
    service.upstream.script(answerStream(sse([text('Half a text'), last, REPORT])))
    for (const stream of [true, false]) {
      const sent = await call(stream)
      expect([sent.finish, sent.native, sent.cost]).toEqual(['length', 'MAX_TOKENS', COST])
    }
  })
})

describe("an error in a provider's choice", () => {
  const error = { code: 502, message: 'Upstream idle timeout' }
  it.each([
    ['beside the reason error', { finish: 'error', more: { error } }],
    ['beside the reason stop', { finish: 'stop', more: { error } }],
    ['without a reason', { finish: null, more: { error } }],
    ['as words', { finish: 'stop', more: { error: 'Upstream idle timeout' } }],
  ])('%s is a failure', async (_name, { finish, more }) => {
    await start()
    service.upstream.scriptOnce(answerStream(ends(finish, more)), answerJson(whole(finish, more)))
    const streamed = await call(true)
    expect([streamed.text, streamed.error?.code, streamed.isDone]).toEqual([
      'Half a text',
      'provider_error',
      false,
    ])
    expect((await service.event('request-end')).routing?.attempts[0]?.why).toContain('Upstream idle timeout')
    const json = await call(false)
    expect([json.status, json.error?.code]).toEqual([502, 'provider_error'])
    expect(await posted()).toBe(OPENING)
  })

  it('is a failure even if it is in the message', async () => {
    await start()
    const body = whole('stop', {}, { role: 'assistant', content: '', error })
    service.upstream.script(answerJson(body))
    for (const stream of [true, false]) expect((await call(stream)).status).toBe(502)
    expect(await posted()).toBe(OPENING)
  })

  it('is no failure if it is empty', async () => {
    await start()
    const empty = { error: {} }
    service.upstream.scriptOnce(answerStream(ends('stop', empty)), answerJson(whole('stop', empty)))
    for (const stream of [true, false]) expect((await call(stream)).cost).toBe(COST)
  })
})
