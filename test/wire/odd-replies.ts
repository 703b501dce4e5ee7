import { expect } from 'vitest'
import { sse } from '../helpers/scripted-upstream.js'
import type { ReadChoice } from './client-schemas.js'

const HEAD = {
  id: 'up-1',
  object: 'chat.completion.chunk',
  created: 1_764_000_000,
  model: 'upstream-fast-0125',
}
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const DONE = 'data: [DONE]\n\n'

const chunk = (choices: readonly object[], more: object = {}) => ({ ...HEAD, choices, ...more })
const delta = (fields: object, finish: string | null = null, more: object = {}) =>
  chunk([{ index: 0, delta: fields, finish_reason: finish }], more)
const text = (content: string, more: object = {}) => delta({ content }, null, more)
const ROLE = delta({ role: 'assistant', content: '' })
const FINISH = delta({}, 'stop')
const REPORT = chunk([], { usage: USAGE })
const call = (...calls: object[]) => delta({ tool_calls: calls })
const stream = (...events: readonly object[]) => sse(events) + DONE

/** The reply that most of them mean. */
const HELLO: Partial<ReadChoice> = { text: 'Hello', toolCalls: [], finishReason: 'stop' }
const WEATHER = { id: 'call_1', name: 'weather', arguments: '{"in":"Köln"}' }
const NOW = { name: 'now', arguments: '{"at":2}' }
const MADE_UP = expect.stringMatching(/^call_./)
const weather = (args: string, more: object = {}) => ({
  type: 'function',
  function: { name: 'weather', arguments: args },
  ...more,
})
const CALLED: Partial<ReadChoice> = { text: '', toolCalls: [WEATHER], finishReason: 'tool_calls' }

/**
 * Streams from unusual providers. Each must reach every client in the one shape that all clients can read.
 */
export const oddStreams: Readonly<
  Record<string, readonly [body: string, read: readonly Partial<ReadChoice>[]]>
> = {
  'as OpenAI sends it': [stream(ROLE, text('Hel'), text('lo'), FINISH, REPORT), [HELLO]],
  'without a role': [stream(text('Hel'), text('lo'), FINISH, REPORT), [HELLO]],
  'with a role of null': [stream(delta({ role: null, content: 'Hello' }), FINISH, REPORT), [HELLO]],
  'with a role of its own': [stream(delta({ role: 'model', content: 'Hello' }), FINISH, REPORT), [HELLO]],
  'with the role in every chunk': [
    stream(
      delta({ role: 'assistant', content: 'Hel' }),
      delta({ role: 'assistant', content: 'lo' }),
      FINISH,
      REPORT,
    ),
    [HELLO],
  ],
  'with the role in a later chunk': [
    stream(text('Hello'), delta({ role: 'assistant' }), FINISH, REPORT),
    [HELLO],
  ],
  'without ids': [stream({ ...text('Hello'), id: undefined }, { ...FINISH, id: undefined }, REPORT), [HELLO]],
  'with ids that are null, numbers and different each time': [
    stream({ ...text('Hel'), id: null }, { ...text('lo'), id: 5 }, { ...FINISH, id: 'other' }, REPORT),
    [HELLO],
  ],
  'with choices alone': [
    stream(
      { choices: [{ delta: { content: 'Hello' } }] },
      { choices: [{ delta: {}, finish_reason: 'stop' }] },
      { usage: USAGE },
    ),
    [HELLO],
  ],
  'with usage: null in every chunk': [
    stream(text('Hel', { usage: null }), text('lo', { usage: null }), { ...FINISH, usage: null }, REPORT),
    [HELLO],
  ],
  'with the usage on the finish chunk': [stream(text('Hello'), { ...FINISH, usage: USAGE }), [HELLO]],
  'with the usage twice': [
    stream(text('Hello'), { ...FINISH, usage: USAGE, x_groq: { usage: USAGE } }, REPORT),
    [HELLO],
  ],
  'with a usage that grows in every chunk': [
    stream(text('Hel', { usage: { ...USAGE, completion_tokens: 1 } }), text('lo', { usage: USAGE }), {
      ...FINISH,
      usage: USAGE,
    }),
    [HELLO],
  ],
  'with the usage after [DONE]': [
    stream(text('Hello'), { ...FINISH, usage: USAGE }) + sse([REPORT]),
    [HELLO],
  ],
  'with nulls and a cost in the usage': [
    stream(
      text('Hello'),
      FINISH,
      chunk([], {
        usage: {
          ...USAGE,
          prompt_tokens_details: null,
          completion_tokens_details: { reasoning_tokens: null, audio_tokens: null },
          cost: '0.1',
          cost_details: { upstream_inference_cost: null },
          is_byok: null,
        },
      }),
    ),
    [HELLO],
  ],
  'with a fingerprint and a tier of null': [
    stream(text('Hello', { system_fingerprint: null, service_tier: null }), FINISH, REPORT),
    [HELLO],
  ],
  'with a fingerprint, a tier and everything else at the top': [
    stream(
      text('Hello', {
        system_fingerprint: 'fp',
        service_tier: 'default',
        provider: { name: 'x' },
        x: 1,
        citations: [],
      }),
      FINISH,
      REPORT,
    ),
    [HELLO],
  ],
  'without the key finish_reason': [
    stream({ ...HEAD, choices: [{ index: 0, delta: { content: 'Hello' } }] }, FINISH, REPORT),
    [HELLO],
  ],
  'with two finish reasons': [stream(text('Hello'), FINISH, delta({}, 'stop'), REPORT), [HELLO]],
  'with a finish reason on the last text': [
    stream(text('Hel'), delta({ content: 'lo' }, 'stop'), REPORT),
    [HELLO],
  ],
  'with an empty finish reason until the end': [
    stream(delta({ content: 'Hello' }, ''), delta({}, 'stop'), REPORT),
    [HELLO],
  ],
  'with the word null for a finish reason until the end': [
    stream(delta({ content: 'Hel' }, 'null'), delta({ content: 'lo' }, 'NULL'), delta({}, 'length'), REPORT),
    [{ ...HELLO, finishReason: 'length' }],
  ],
  'with the word null twice for a finish reason until the end': [
    stream(delta({ content: 'Hello' }, 'nullnull'), delta({}, 'length'), REPORT),
    [{ ...HELLO, finishReason: 'length' }],
  ],
  'without a finish reason': [stream(text('Hello'), REPORT), [HELLO]],
  'with an unknown finish reason': [stream(text('Hello'), delta({}, 'eos_token'), REPORT), [HELLO]],
  'with a finish reason in capitals': [stream(text('Hello'), delta({}, 'STOP'), REPORT), [HELLO]],
  'with another name for length': [
    stream(text('Hello'), delta({}, 'max_tokens'), REPORT),
    [{ ...HELLO, finishReason: 'length' }],
  ],
  'with another name for the content filter': [
    stream(text('Hello'), delta({}, 'safety'), REPORT),
    [{ ...HELLO, finishReason: 'content_filter' }],
  ],
  'with a content filter named sensitive': [
    stream(text('Hello'), delta({}, 'sensitive'), REPORT),
    [{ ...HELLO, finishReason: 'content_filter' }],
  ],
  'with a named content filter': [
    stream(text('Hello'), delta({}, 'content_filter: RECITATION'), REPORT),
    [{ ...HELLO, finishReason: 'content_filter' }],
  ],
  'with a content filter of its own, in capitals': [
    stream(text('Hello'), delta({}, 'PROHIBITED_CONTENT'), REPORT),
    [{ ...HELLO, finishReason: 'content_filter' }],
  ],
  'with text after the finish': [stream(text('Hello'), FINISH, delta({ content: '' }), REPORT), [HELLO]],
  'without an index': [
    stream({ ...HEAD, choices: [{ delta: { content: 'Hello' }, finish_reason: null }] }, FINISH, REPORT),
    [HELLO],
  ],
  'without a delta': [stream(text('Hello'), chunk([{ index: 0, finish_reason: 'stop' }]), REPORT), [HELLO]],
  'with a delta of null': [
    stream(text('Hello'), chunk([{ index: 0, delta: null, finish_reason: 'stop' }]), REPORT),
    [HELLO],
  ],
  'with deltas of null before the text and in it': [
    stream(
      chunk([{ index: 0, delta: null, finish_reason: null }]),
      text('Hel'),
      chunk([{ index: 0, delta: null, finish_reason: null }]),
      text('lo'),
      FINISH,
      REPORT,
    ),
    [HELLO],
  ],
  'with a message instead of the delta': [
    stream(
      chunk([{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }]),
      REPORT,
    ),
    [HELLO],
  ],
  'with chunks whose choices are missing, null or empty': [
    stream(
      { ...HEAD, prompt_filter_results: [] },
      chunk([]),
      { ...HEAD, choices: null },
      text('Hello'),
      FINISH,
      REPORT,
    ),
    [HELLO],
  ],
  'with content that is null, then missing': [
    stream(delta({ content: null }), delta({}), text('Hello'), delta({ content: null }), FINISH, REPORT),
    [HELLO],
  ],
  'with content in parts': [
    stream(
      delta({
        content: [
          { type: 'text', text: 'Hel' },
          { type: 'text', text: 'lo' },
        ],
      }),
      FINISH,
      REPORT,
    ),
    [HELLO],
  ],
  'with reasoning': [
    stream(delta({ reasoning: 'Hm' }), text('Hello'), FINISH, REPORT),
    [{ ...HELLO, reasoning: 'Hm' }],
  ],
  'with reasoning_content': [
    stream(delta({ reasoning_content: 'Hm', content: null }), text('Hello'), FINISH, REPORT),
    [{ ...HELLO, reasoning: 'Hm' }],
  ],
  'with reasoning under both names': [
    stream(delta({ reasoning: 'Hm', reasoning_content: 'Hm' }), text('Hello'), FINISH, REPORT),
    [{ ...HELLO, reasoning: 'Hm' }],
  ],
  'with reasoning of null': [
    stream(delta({ reasoning: null, reasoning_content: null, content: 'Hello' }), FINISH, REPORT),
    [{ ...HELLO, reasoning: '' }],
  ],
  'with a tool call in one piece': [
    stream(
      call({
        index: 0,
        id: 'call_1',
        type: 'function',
        function: { name: 'weather', arguments: WEATHER.arguments },
      }),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [CALLED],
  ],
  'with a tool call in pieces that repeat its name': [
    stream(
      call({ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }),
      call({ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"in":' } }),
      call({ index: 0, id: null, type: null, function: { name: null, arguments: '"Köln' } }),
      call({ index: 0, id: '', type: 'function', function: { name: '', arguments: '"}' } }),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [CALLED],
  ],
  'with a tool call without index and type, finished by stop': [
    stream(call({ id: 'call_1', function: { name: 'weather', arguments: '{"in":"Köln"}' } }), FINISH, REPORT),
    [CALLED],
  ],
  'with a tool call without an id': [
    stream(call({ index: 0, function: { name: 'weather', arguments: '{}' } }), FINISH, REPORT),
    [
      {
        text: '',
        toolCalls: [{ id: expect.stringMatching(/^call_./), name: 'weather', arguments: '{}' }],
        finishReason: 'tool_calls',
      },
    ],
  ],
  'with a tool call whose arguments are an object': [
    stream(
      call({ index: 0, id: 'call_1', function: { name: 'weather', arguments: { in: 'Köln' } } }),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [CALLED],
  ],
  'with a tool call without arguments': [
    stream(
      call({ index: 0, id: 'call_1', type: 'function', function: { name: 'weather' } }),
      delta({}, 'function_call'),
      REPORT,
    ),
    [{ ...CALLED, toolCalls: [{ ...WEATHER, arguments: '{}' }] }],
  ],
  'with two tool calls in one chunk, first with text and then without either': [
    stream(
      delta({ content: 'Let me see.', tool_calls: null }),
      delta({ content: '', tool_calls: [] }),
      call(
        {
          index: 0,
          id: 'call_1',
          type: 'function',
          function: { name: 'weather', arguments: WEATHER.arguments },
        },
        { index: 1, id: 'call_2', type: 'function', function: { name: 'now', arguments: '{}' } },
      ),
      delta({}, 'tool_use'),
      REPORT,
    ),
    [
      {
        text: 'Let me see.',
        toolCalls: [WEATHER, { id: 'call_2', name: 'now', arguments: '{}' }],
        finishReason: 'tool_calls',
      },
    ],
  ],
  'with two tool calls without indexes and ids, in pieces': [
    stream(
      call(weather('{"in":')),
      call({ function: { arguments: '"Köln"}' } }),
      call({ function: NOW }),
      FINISH,
      REPORT,
    ),
    [
      {
        ...CALLED,
        toolCalls: [
          { ...WEATHER, id: MADE_UP },
          { ...NOW, id: MADE_UP },
        ],
      },
    ],
  ],
  'with two calls of one tool without indexes, their ids empty': [
    stream(
      call(weather('{"in":"Köln"}', { id: '' }), weather('{"in":"Rom"}', { id: '' })),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [
      {
        ...CALLED,
        toolCalls: [
          { ...WEATHER, id: MADE_UP },
          { ...WEATHER, id: MADE_UP, arguments: '{"in":"Rom"}' },
        ],
      },
    ],
  ],
  'with two tool calls at index 0 that differ only in their names': [
    stream(
      call(weather('{"in":"Köln"}', { index: 0, id: '' })),
      call({ index: 0, id: '', function: NOW }),
      FINISH,
      REPORT,
    ),
    [
      {
        ...CALLED,
        toolCalls: [
          { ...WEATHER, id: MADE_UP },
          { ...NOW, id: MADE_UP },
        ],
      },
    ],
  ],
  'with two calls of one tool at index 0, each with an id, in pieces': [
    stream(
      ...[WEATHER, { ...WEATHER, id: 'call_2', arguments: '{"in":"Rom"}' }].flatMap((each) => [
        call(weather('', { index: 0, id: each.id })),
        call({ index: 0, id: '', function: { name: null, arguments: each.arguments.slice(0, 5) } }),
        call({ index: 0, id: each.id, function: { arguments: each.arguments.slice(5) } }),
      ]),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [{ ...CALLED, toolCalls: [WEATHER, { ...WEATHER, id: 'call_2', arguments: '{"in":"Rom"}' }] }],
  ],
  'with tool calls whose indexes start at 1 and skip some': [
    stream(
      call(weather(WEATHER.arguments, { index: 1, id: 'call_1' })),
      call({ index: 5, id: 'call_2', function: { ...NOW, arguments: '' } }),
      call({ index: 5, function: { arguments: NOW.arguments } }),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [{ ...CALLED, toolCalls: [WEATHER, { ...NOW, id: 'call_2' }] }],
  ],
  'with a tool call whose index is text': [
    stream(
      call(weather('{"in":', { index: '0', id: 'call_1' })),
      call({ index: '0', function: { arguments: '"Köln"}' } }),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [CALLED],
  ],
  'with a tool call without index and id, its name in every piece': [
    stream(...['', '{"in":', '"Köln"}', ''].map((piece) => call(weather(piece))), FINISH, REPORT),
    [{ ...CALLED, toolCalls: [{ ...WEATHER, id: MADE_UP }] }],
  ],
  'with a tool call that has its name and a new id in every piece': [
    stream(
      ...['{"in":', '"Köln', '"}'].map((piece, at) =>
        call(weather(piece, { index: 0, id: `call_${at + 1}` })),
      ),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [CALLED],
  ],
  'with a tool call in pieces and then as a whole': [
    stream(
      ...['', '{"in":', '"Köln"}'].map((piece) => call(weather(piece, { index: 0, id: 'call_1' }))),
      call(weather('{"in":"Köln"}', { index: 0, id: 'call_1' })),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [CALLED],
  ],
  'with a tool call whose pieces each have its name and begin and end with braces': [
    stream(
      ...['{"in":"{}', '{}"}'].map((piece) => call(weather(piece, { index: 0 }))),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [{ ...CALLED, toolCalls: [{ ...WEATHER, id: MADE_UP, arguments: '{"in":"{}{}"}' }] }],
  ],
  'with two calls of one tool that share an index and an id': [
    stream(
      ...['{"in":"Köln"}', '{"in":"Rom"}'].map((args) => call(weather(args, { index: 0, id: 'call_1' }))),
      delta({}, 'tool_calls'),
      REPORT,
    ),
    [{ ...CALLED, toolCalls: [WEATHER, { ...WEATHER, id: MADE_UP, arguments: '{"in":"Rom"}' }] }],
  ],
  'with event and id lines, comments and CRLF': [
    `: hello\r\n\r\n${sse([text('Hello'), FINISH, REPORT])
      .replace(/data/g, 'event: message\r\nid: 1\r\nretry: 5\r\ndata')
      .replace(/\n\n/g, '\r\n\r\n')}data: [DONE]\r\n\r\n`,
    [HELLO],
  ],
  'without a space after the colon, and a byte order mark': [
    `\ufeff${stream(text('Hello'), FINISH, REPORT).replace(/data: /g, 'data:')}`,
    [HELLO],
  ],
  'with data over several lines': [
    stream(text('Hello'), FINISH, REPORT).replace(/,"choices"/g, ',\ndata: "choices"'),
    [HELLO],
  ],
  'with empty data lines': [`data:\n\n${stream(text('Hello'), FINISH, REPORT)}`, [HELLO]],
  'with comments sent as data': [
    stream(text('Hel'), text('lo'), FINISH, REPORT).replace(/^|(?<=\n\n)/g, 'data: : keepalive\n\n'),
    [HELLO],
  ],
  'that ends without [DONE], all choices finished': [sse([text('Hello'), FINISH, REPORT]), [HELLO]],
  'whose last event has no blank line': [sse([text('Hello'), FINISH, REPORT]).trimEnd(), [HELLO]],
  'with an empty error in every chunk': [
    stream(
      text('Hel', { error: '' }),
      text('lo', { error: {} }),
      { ...FINISH, error: false },
      { ...REPORT, error: '' },
    ),
    [HELLO],
  ],
  'of two choices, alternating': [
    stream(
      chunk([{ index: 1, delta: { content: 'B' } }]),
      chunk([
        { index: 0, delta: { content: 'A' } },
        { index: 1, delta: { content: 'b' } },
      ]),
      chunk([{ index: 1, delta: {}, finish_reason: 'length' }]),
      chunk([{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }]),
      REPORT,
    ),
    [
      { text: 'Aa', finishReason: 'stop' },
      { text: 'Bb', finishReason: 'length' },
    ],
  ],
  'of a single finish': [stream(FINISH, REPORT), [{ text: '', toolCalls: [], finishReason: 'stop' }]],
}

/** A JSON reply. */
export const message = (fields: object, finish: unknown = 'stop', more: object = {}) => ({
  ...HEAD,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...fields }, finish_reason: finish }],
  usage: USAGE,
  ...more,
})

/** JSON replies, just as unusual. */
export const oddBodies: Readonly<
  Record<string, readonly [body: unknown, read: readonly Partial<ReadChoice>[]]>
> = {
  'as OpenAI sends it': [message({ content: 'Hello' }), [HELLO]],
  'behind white space': [`\n\n   ${JSON.stringify(message({ content: 'Hello' }))}`, [HELLO]],
  'with everything null': [
    message(
      {
        role: null,
        content: 'Hello',
        tool_calls: null,
        refusal: null,
        reasoning: null,
        reasoning_content: null,
        audio: null,
      },
      'stop',
      {
        ...{ id: null, system_fingerprint: null, service_tier: null, created: null, model: null },
      },
    ),
    [HELLO],
  ],
  'with the text alone': [{ choices: [{ message: { content: 'Hello' } }] }, [HELLO]],
  'with a provider that is an object': [
    message({ content: 'Hello' }, 'stop', { provider: { name: 'x' }, error: null }),
    [HELLO],
  ],
  'with an empty error': [message({ content: 'Hello' }, 'stop', { error: '' }), [HELLO]],
  'with a usage of null': [message({ content: 'Hello' }, 'stop', { usage: null }), [HELLO]],
  'with a cost in the usage': [
    message({ content: 'Hello' }, 'stop', { usage: { ...USAGE, cost: 9, cost_details: {}, is_byok: true } }),
    [HELLO],
  ],
  'with content in parts': [
    message({
      content: [
        { type: 'text', text: 'Hel' },
        { type: 'text', text: 'lo' },
      ],
    }),
    [HELLO],
  ],
  'with content of null and a refusal': [
    message({ content: null, refusal: 'No.' }),
    [{ text: '', finishReason: 'stop' }],
  ],
  'with reasoning_content': [
    message({ content: 'Hello', reasoning_content: 'Hm' }),
    [{ ...HELLO, reasoning: 'Hm' }],
  ],
  'with an unknown finish reason': [message({ content: 'Hello' }, 'eos'), [HELLO]],
  'of a choice that was filtered and has no message': [
    { choices: [{ index: 0, finish_reason: 'content_filter: PROHIBITED_CONTENT' }], usage: USAGE },
    [{ text: '', toolCalls: [], finishReason: 'content_filter' }],
  ],
  'with a finish reason of null': [message({ content: 'Hello' }, null), [HELLO]],
  'with an empty list of tool calls': [message({ content: 'Hello', tool_calls: [] }), [HELLO]],
  'with a tool call, finished by stop': [
    message({
      content: null,
      tool_calls: [{ id: 'call_1', function: { name: 'weather', arguments: { in: 'Köln' } } }],
    }),
    [CALLED],
  ],
  'with two tool calls that share an id': [
    message(
      {
        content: null,
        tool_calls: [weather(WEATHER.arguments, { id: 'call_1' }), { id: 'call_1', function: NOW }],
      },
      'tool_calls',
    ),
    [{ ...CALLED, toolCalls: [WEATHER, { ...NOW, id: MADE_UP }] }],
  ],
  'with a tool call without arguments': [
    message(
      { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }] },
      'tool_calls',
    ),
    [{ ...CALLED, toolCalls: [{ ...WEATHER, arguments: '{}' }] }],
  ],
  'with a usage and no choices': [
    message({}, 'stop', { choices: [] }),
    [{ text: '', toolCalls: [], finishReason: 'stop' }],
  ],
  'of two choices, in reverse order': [
    {
      ...message({}),
      choices: [
        { index: 1, message: { content: 'B' }, finish_reason: 'length' },
        { index: 0, message: { content: 'A' }, finish_reason: 'stop' },
      ],
    },
    [{ text: 'A' }, { text: 'B', finishReason: 'length' }],
  ],
}
