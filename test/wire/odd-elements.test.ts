import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/index.js'
import {
  blockDelta,
  blockStart,
  blockStop,
  frames,
  messageDelta,
  messageStart,
  messageStop,
} from '../providers/anthropic/replies.js'
import {
  calls,
  END,
  frame,
  type OddReply,
  startService,
  testOddReplies,
  text,
  USAGE,
  whole,
} from './mends.js'
import { ask, WireService } from './service.js'

const HELLO = { text: 'Hello', finishReason: 'stop' }
const ROME = { id: 'a', name: 'weather', arguments: '{"in":"Rome"}' }
const PARIS = { id: 'b', name: 'time', arguments: '{"in":"Paris"}' }
const call = ({ id, ...definition }: typeof ROME, more: object = {}) => ({
  id,
  type: 'function',
  function: definition,
  ...more,
})
const between = (odd: string): string => `${text('Hel')}${odd}${text('lo')}${END}`
const joined = (stream: string): string => `${stream.replaceAll('\n\n', '\n')}\n`
const skipped = (stream: string): OddReply => ({ stream, read: HELLO, kinds: ['frame-skipped'] })

/** A call whose extra content strict clients refuse, and its other members as all clients get them. */
const withExtra = (extra: unknown, kept: object): OddReply => ({
  stream: calls({ index: 0, ...call(ROME), extra_content: extra }) + END,
  body: whole({ content: null, tool_calls: [call(ROME, { extra_content: extra })] }),
  read: { toolCalls: [ROME], finishReason: 'tool_calls' },
  message: { tool_calls: [{ ...call(ROME), ...kept }] },
  kinds: ['member-dropped'],
  dropped: ['tool_calls.extra_content'],
})

/** One choice for the text and for each call, though one was asked for. */
const threeChoices = (...indexes: readonly (number | undefined)[]): OddReply => ({
  body: {
    choices: [{ content: 'Let me see.' }, { tool_calls: [call(ROME)] }, { tool_calls: [call(PARIS)] }].map(
      (message, position) => ({
        index: indexes[position],
        message: { role: 'assistant', ...message },
        finish_reason: position === 0 ? 'stop' : 'tool_calls',
      }),
    ),
    usage: USAGE,
  },
  read: { text: 'Let me see.', toolCalls: [ROME, PARIS], finishReason: 'tool_calls' },
  kinds: ['choices-joined'],
})

testOddReplies('a good reply with', {
  'log probabilities that are text': {
    stream: `data: {"choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":"text"}]}\n\n${text('lo')}${END}`,
    body: {
      choices: [
        { index: 0, message: { content: 'Hello' }, finish_reason: 'stop', logprobs: { content: 'x' } },
      ],
      usage: USAGE,
    },
    read: HELLO,
    kinds: ['member-dropped'],
    dropped: ['logprobs'],
  },
  'log probabilities that are empty': {
    stream: `data: {"choices":[{"index":0,"delta":{"content":"Hel"},"logprobs":{}}]}\n\n${text('lo')}${END}`,
    body: {
      choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop', logprobs: {} }],
      usage: USAGE,
    },
    read: HELLO,
    kinds: ['member-dropped'],
    dropped: ['logprobs'],
  },
  'extra content of a call that is text': withExtra('text', {}),
  'extra content of a call that is a list': withExtra(['text'], {}),
  'Google’s extra content of a call that is text': withExtra({ google: 'text' }, { extra_content: {} }),
  'a signature in extra content that is no text': withExtra(
    { google: { thought_signature: 5 }, other: 1 },
    { extra_content: { other: 1 } },
  ),
  'a frame of null': skipped(between('data: null\n\n')),
  'a frame of null first': skipped(`data: null\n\n${between('')}`),
  'a frame of text': skipped(between('data: "x"\n\n')),
  'a frame of a number': skipped(between('data: 12\n\n')),
  'a frame of an empty list': skipped(between('data: []\n\n')),
  'a frame of a bare word': skipped(between('data: ping\n\n')),
  'a frame of a bare word first': skipped(`data: ping\n\n${between('')}`),
  'an event of type ping': skipped(between('event: ping\ndata: 2026-11-25 22:00:00\n\n')),
  'an event of type ping with an object': {
    stream: between('event: ping\ndata: {"type":"ping"}\n\n'),
    read: HELLO,
    kinds: ['member-dropped'],
    dropped: ['type'],
  },
  'a list of frames': {
    stream: between('').replace(/data: (\{.*?\})\n\n/s, 'data: [$1]\n\n'),
    read: HELLO,
  },
  'content that is a digit': {
    stream: `${text('4')}${text(2)}${text('!')}${END}`,
    body: whole({ content: 42 }),
    read: { finishReason: 'stop' },
    kinds: ['text-coerced'],
  },
  'content that is 0': {
    stream: `${text(1)}${text(0)}${END}`,
    read: { text: '10' },
    kinds: ['text-coerced'],
  },
  'content that is true': {
    stream: `${text(true)}${END}`,
    body: whole({ content: true }),
    read: { text: 'true' },
    kinds: ['text-coerced'],
  },
  'a refusal that is a number': {
    stream: `${frame({ choices: [{ index: 0, delta: { refusal: 5 } }] })}${END}`,
    body: whole({ refusal: 5 }),
    read: {},
    message: { refusal: '5' },
    kinds: ['text-coerced'],
  },
  'a call without arguments': {
    stream: calls({ index: 0, ...call({ ...ROME, arguments: '' }) }) + END,
    body: whole({ content: null, tool_calls: [call({ ...ROME, arguments: '' })] }),
    read: { toolCalls: [{ ...ROME, arguments: '{}' }], finishReason: 'tool_calls' },
  },
  'three choices without indexes': threeChoices(),
  'three choices that are all 0': threeChoices(0, 0, 0),
  'three numbered choices': threeChoices(0, 1, 2),
  'choices that count the chunks': {
    stream: `${['Hel', 'lo'].map((content, index) => frame({ choices: [{ index, delta: { content } }] })).join('')}${END}`,
    read: HELLO,
    kinds: ['choice-renumbered'],
  },
  'a choice numbered from 1': {
    stream: `${['Hel', 'lo'].map((content) => frame({ choices: [{ index: 1, delta: { content } }] })).join('')}${END}`,
    body: { choices: [{ index: 1, message: { content: 'Hello' }, finish_reason: 'stop' }], usage: USAGE },
    read: HELLO,
    kinds: ['choice-renumbered'],
  },
  'a choice of null': {
    stream: `${frame({ choices: [null, { index: 0, delta: { content: 'Hello' } }] })}${END}`,
    read: HELLO,
    kinds: ['choice-skipped'],
  },
  'choices that say nothing': {
    stream: `${['', [], false].map((odd) => frame({ choices: [odd] })).join('')}${between('')}`,
    body: { choices: ['', ...(whole({ content: 'Hello' }) as { choices: object[] }).choices], usage: USAGE },
    read: HELLO,
    kinds: ['choice-skipped'],
  },
  'a list of choices that says nothing': {
    stream: `${['', {}, false].map((odd) => frame({ choices: odd, usage: null })).join('')}${between('')}`,
    read: HELLO,
    kinds: ['choice-skipped'],
  },
  'a delta that says nothing': {
    stream: `${['', [], false].map((odd) => frame({ choices: [{ index: 0, delta: odd }] })).join('')}${between('')}`,
    read: HELLO,
    kinds: ['choice-skipped'],
  },
  'content that says nothing': {
    stream: between(text({}) + text([[]])),
    read: HELLO,
    kinds: ['part-skipped', 'content-mapped'],
  },
  'a refusal in parts': {
    stream: `${frame({ choices: [{ index: 0, delta: { refusal: ['No', { text: '.' }] } }] })}${END}`,
    body: whole({ refusal: [{ type: 'text', text: 'No.' }] }),
    read: {},
    message: { refusal: 'No.' },
    kinds: ['content-mapped'],
  },
  'a refusal that says nothing': {
    stream: `${text('Hello', {})}${frame({ choices: [{ index: 0, delta: { refusal: {} } }] })}${END}`,
    body: whole({ content: 'Hello', refusal: [] }),
    read: HELLO,
    kinds: ['member-dropped'],
    dropped: ['refusal'],
  },
  'a page of HTML behind its end': {
    stream: `${between('')}<html>502</html>\n\n`,
    read: HELLO,
  },
  'entries of tool_calls that say nothing': {
    stream: `${calls(null, {}, { index: 0 }, '')}${calls({ index: 0, id: '', function: { name: '', arguments: '' } })}${text('Hello')}${END}`,
    body: whole({
      content: 'Hello',
      tool_calls: [null, {}, { id: '', function: { name: '', arguments: '' } }],
    }),
    read: HELLO,
    kinds: ['tool-call-skipped'],
  },
  'tool_calls of an empty text': {
    stream: `${frame({ choices: [{ index: 0, delta: { content: 'Hello', tool_calls: '' } }] })}${END}`,
    body: whole({ content: 'Hello', tool_calls: '' }),
    read: HELLO,
    kinds: ['tool-call-skipped'],
  },
  'a tool call instead of a list': {
    stream: `${frame({ choices: [{ index: 0, delta: { tool_calls: call(ROME) } }] })}${END}`,
    body: whole({ content: null, tool_calls: call(ROME) }),
    read: { toolCalls: [ROME], finishReason: 'tool_calls' },
    kinds: ['tool-call-mapped'],
  },
  'tool calls without their function': {
    stream: `${calls({ index: 0, id: 'a', name: 'weather', arguments: '{"in":"Rome"}' })}${END}`,
    body: whole({ content: null, tool_calls: [{ id: 'a', name: 'weather', arguments: { in: 'Rome' } }] }),
    read: { toolCalls: [ROME], finishReason: 'tool_calls' },
    kinds: ['tool-call-mapped'],
  },
  'an index of a tool call that is a word': {
    stream: `${calls({ index: 'first', ...call(ROME) })}${END}`,
    read: { toolCalls: [ROME], finishReason: 'tool_calls' },
    kinds: ['tool-call-renumbered'],
  },
  'annotations that strict clients reject': {
    stream: `${frame({ choices: [{ index: 0, delta: { content: 'Hello', annotations: [null, { type: 'url_citation', url: 'https://a.example' }] } }] })}${END}`,
    body: whole({
      content: 'Hello',
      annotations: [
        null,
        { type: 'url_citation', url_citation: { url: 'https://a.example', start_index: '0' } },
      ],
    }),
    read: HELLO,
    message: {
      annotations: [
        {
          type: 'url_citation',
          url_citation: {
            url: 'https://a.example',
            title: 'https://a.example',
            start_index: 0,
            end_index: 0,
          },
        },
      ],
    },
    kinds: ['annotation-completed', 'member-dropped'],
    dropped: ['annotations'],
  },
  'annotations of types that clients do not know': {
    body: whole({
      content: 'Hello',
      annotations: [
        { type: 'place', place: { name: 'Oslo' } },
        { type: 'file', file: { name: 'a.pdf' } },
        { type: 'file', file: { hash: 'h', name: 'a.pdf' } },
      ],
    }),
    read: HELLO,
    message: { annotations: [{ type: 'file', file: { hash: 'h', name: 'a.pdf' } }] },
    kinds: ['member-dropped'],
    dropped: ['annotations'],
  },
  'reasoning in the objects of Bedrock': {
    body: whole({
      content: 'Hello',
      reasoning_content: { reasoningContent: { reasoningText: { text: 'Hm', signature: 's' } } },
    }),
    read: HELLO,
    message: { reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's' }] },
    kinds: ['reasoning-mapped'],
  },
  'events joined by a single newline': {
    stream: between('').replaceAll('\n\n', '\n'),
    read: HELLO,
  },
  'events joined by a single newline, with other fields between them': {
    stream: between('').replaceAll('}\n\n', '}\nid: 7\n'),
    read: HELLO,
  },
  'events joined by a single newline, and more after the terminator': {
    stream: joined(`${between('')}${text(' and more')}`),
    read: HELLO,
  },
  'a terminator joined to a comment': {
    stream: between('').replace('[DONE]\n\n', '[DONE]\n: bye\n\n'),
    read: HELLO,
  },
  'a terminator joined to a type': {
    stream: between('').replace('[DONE]\n\n', '[DONE]\nevent: end\ndata: bye\n\n'),
    read: HELLO,
  },
  'a terminator joined to a bare word': {
    stream: between('').replace('data: [DONE]', 'data: ping\ndata: [DONE]'),
    read: HELLO,
    kinds: ['frame-skipped'],
  },
  'a terminator joined to a usage after it, which is not read': {
    stream: joined(
      `${text('Hello')}${frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}` +
        `data: [DONE]\n\n${frame({ choices: [], usage: USAGE })}`,
    ),
    read: HELLO,
    cost: 0.00104,
  },
  'events joined by a single newline and CR': {
    stream: `${between('').replaceAll('\n\n', '\r\n')}\r\n`,
    read: HELLO,
  },
})

const native = (odd: string): string =>
  frames([messageStart({ input_tokens: 11, output_tokens: 1 }), blockStart(0, { type: 'text', text: '' })]) +
  frames([blockDelta(0, { type: 'text_delta', text: 'Hel' })]) +
  odd +
  frames([blockDelta(0, { type: 'text_delta', text: 'lo' }), blockStop(0)]) +
  frames([messageDelta('end_turn', { output_tokens: 7 }), messageStop])

testOddReplies(
  'a good reply of the Messages API with',
  {
    'a frame of null': skipped(native('data: null\n\n')),
    'a frame of a bare word': skipped(native('data: ping\n\n')),
    'an event of type ping': skipped(native('event: ping\ndata: 1\n\n')),
    'events joined by a single newline': {
      stream: native('')
        .replace(/event: .*\n/g, '')
        .replaceAll('\n\n', '\n'),
      read: HELLO,
    },
    'events joined by a single newline, with their types': {
      stream: native('').replaceAll('\n\n', '\n'),
      read: HELLO,
    },
    'text that is a number': {
      stream: native(frames([blockDelta(0, { type: 'text_delta', text: 5 })])),
      body: {
        type: 'message',
        content: [{ type: 'text', text: 5 }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 11, output_tokens: 7 },
      },
      read: { finishReason: 'stop' },
      kinds: ['text-coerced'],
    },
    'a block of null': {
      body: {
        type: 'message',
        content: [null, { type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 11, output_tokens: 7 },
      },
      read: HELLO,
      kinds: ['part-skipped'],
    },
  },
  (baseUrl) => anthropic({ baseUrl, apiKey: 'sk-x' }),
)

describe('provider events joined by a single newline', () => {
  test('are forwarded as they come, wherever the bytes are cut', async () => {
    const service = await startService()
    const stream = Buffer.from(joined(`${between('')}${text(' and more')}`))
    try {
      for (let at = 1; at < stream.length; at += 7) {
        service.upstream.scriptOnce([
          { head: 200, headers: { 'content-type': 'text/event-stream' } },
          { write: stream.subarray(0, at) },
          { wait: new Promise((resolve) => setImmediate(resolve)) },
          { write: stream.subarray(at) },
          'end',
        ])
        const sent = await (await service.post(ask({ stream: true }))).text()
        expect(sent).toContain('"content":"Hel"')
        expect(sent).toContain('"content":"lo"')
        expect(sent).not.toContain('and more')
        expect(sent).toContain('data: [DONE]')
      }
    } finally {
      await service.close()
    }
  })
})

describe('the event reply-mended', () => {
  test('is reported once for each route and kind, with the number of mends and what was dropped', async () => {
    const service = await WireService.start({ providers: 2 })
    const odd = `${text(1, { timings: { n: 1 } })}${text(2, { timings: { n: 1 } })}${END}`
    const script = [{ head: 200, headers: {} }, { write: odd }, 'end'] as const
    try {
      for (const upstream of service.upstreams) upstream.script(script)
      const post = (provider: string) =>
        service.post(ask({ stream: true, routing: { order: [provider] } })).then((reply) => reply.text())
      for (const provider of ['p0', 'p0', 'p1']) await post(provider)
      const [first] = service.upstreams
      first!.script([{ head: 200, headers: {} }, { write: text('x', { eval: 1 }) + END }, 'end'])
      await post('p0')
      const events = service.events.filter(({ type }) => type === 'reply-mended')
      const common = { type: 'reply-mended', requestId: expect.any(String), model: 'acme/fast' }
      expect(events).toEqual([
        {
          ...common,
          routeId: 'p0:acme/fast',
          provider: 'p0',
          kinds: ['member-dropped', 'text-coerced'],
          times: 3,
          dropped: ['timings'],
        },
        expect.objectContaining({ routeId: 'p1:acme/fast', kinds: ['member-dropped', 'text-coerced'] }),
        {
          ...common,
          routeId: 'p0:acme/fast',
          provider: 'p0',
          kinds: ['member-dropped'],
          times: 1,
          dropped: ['eval'],
        },
      ])
    } finally {
      await service.close()
    }
  })
})
