import {
  blockDelta,
  blockStart,
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  ping,
} from '../providers/anthropic/replies.js'
import { counts, type JsonObject, type RecordedBody, type RecordedStream, reply } from './recording.js'

function claudeText(): JsonObject[] {
  return [
    messageStart({
      input_tokens: 12,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1,
    }),
    blockStart(0, { type: 'text', text: '' }),
    ping,
    ...['Hello', '! I', "'m well – ", '谢谢'].map((text) => blockDelta(0, { type: 'text_delta', text })),
    blockStop(0),
    messageDelta('end_turn', { input_tokens: 12, cache_read_input_tokens: 0, output_tokens: 30 }),
    messageStop,
  ]
}

function claudeTools(): JsonObject[] {
  return [
    messageStart({
      input_tokens: 20,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 30,
      output_tokens: 1,
    }),
    blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
    blockDelta(0, { type: 'thinking_delta', thinking: 'Væl' }),
    blockDelta(0, { type: 'thinking_delta', thinking: ', þá' }),
    blockDelta(0, { type: 'signature_delta', signature: 'EuY' }),
    blockStop(0),
    blockStart(1, { type: 'text', text: '' }),
    blockDelta(1, { type: 'text_delta', text: 'Góðan' }),
    blockDelta(1, { type: 'text_delta', text: ' daginn' }),
    blockStop(1),
    blockStart(2, { type: 'tool_use', id: 'toolu_01', name: 'list', input: {} }),
    blockDelta(2, { type: 'input_json_delta', partial_json: '' }),
    blockDelta(2, { type: 'input_json_delta', partial_json: '{"path":' }),
    blockDelta(2, { type: 'input_json_delta', partial_json: '"/tmp"}' }),
    blockStop(2),
    blockStart(3, { type: 'tool_use', id: 'toolu_02', name: 'now', input: {} }),
    blockStop(3),
    messageDelta('tool_use', { output_tokens: 48 }),
    messageStop,
  ]
}

/** All kinds of content: thinking, text beyond ASCII, citations, calls with and without arguments. */
const richStream: JsonObject[] = [
  messageStart({
    input_tokens: 10,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 2,
    output_tokens: 1,
  }),
  ping,
  blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
  blockDelta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
  blockDelta(0, { type: 'thinking_delta', thinking: 'see…' }),
  blockDelta(0, { type: 'signature_delta', signature: 'sig' }),
  blockStop(0),
  blockStart(1, { type: 'redacted_thinking', data: 'hidden' }),
  blockStop(1),
  blockStart(2, { type: 'text', text: '' }),
  blockDelta(2, { type: 'text_delta', text: 'Grüße 👋' }),
  blockDelta(2, {
    type: 'citations_delta',
    citation: {
      type: 'web_search_result_location',
      url: 'https://a.example',
      title: 'A',
      cited_text: 'said',
    },
  }),
  blockDelta(2, { type: 'citations_delta', citation: { type: 'char_location', document_index: 0 } }),
  blockStop(2),
  blockStart(3, { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} }),
  blockDelta(3, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
  blockStop(3),
  blockStart(4, { type: 'web_search_tool_result', tool_use_id: 'srv', content: [] }),
  blockStop(4),
  blockStart(5, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }),
  blockDelta(5, { type: 'input_json_delta', partial_json: '' }),
  blockDelta(5, { type: 'input_json_delta', partial_json: '{"at":' }),
  blockDelta(5, { type: 'input_json_delta', partial_json: '"sky"}' }),
  blockStop(5),
  blockStart(6, { type: 'tool_use', id: 'toolu_2', name: 'refresh', input: {} }),
  blockDelta(6, { type: 'input_json_delta', partial_json: '' }),
  blockStop(6),
  { type: 'something_new' },
  messageDelta('tool_use', { output_tokens: 40, output_tokens_details: { thinking_tokens: 12 } }),
  messageStop,
]

export const claudeRich: RecordedStream<'anthropic'> = {
  name: 'Claude with all kinds of blocks',
  language: 'anthropic',
  events: richStream,
  reply: reply({
    text: 'Grüße 👋',
    reasoning: 'Let me see…',
    toolCalls: [
      { id: 'toolu_1', name: 'look', arguments: '{"at":"sky"}' },
      { id: 'toolu_2', name: 'refresh', arguments: '{}' },
    ],
    finishReason: 'tool_calls',
  }),
  counts: counts(17, 40, { cached: 5, cacheWrite: 2, reasoning: 12 }),
}

/** Streams of the Messages API. */
export const messageStreams: readonly RecordedStream<'anthropic'>[] = [
  {
    name: 'Claude',
    language: 'anthropic',
    events: claudeText(),
    reply: reply({ text: "Hello! I'm well – 谢谢" }),
    counts: counts(12, 30),
  },
  {
    name: 'Claude with two calls',
    language: 'anthropic',
    events: claudeTools(),
    reply: reply({
      text: 'Góðan daginn',
      reasoning: 'Væl, þá',
      toolCalls: [
        { id: 'toolu_01', name: 'list', arguments: '{"path":"/tmp"}' },
        { id: 'toolu_02', name: 'now', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    }),
    counts: counts(52, 48, { cached: 30, cacheWrite: 2 }),
  },
  claudeRich,
]

/** Messages in one body. */
export const messageBodies: readonly RecordedBody<'anthropic'>[] = [
  {
    name: 'Claude in one body',
    language: 'anthropic',
    body: {
      id: 'msg_02',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [
        { type: 'thinking', thinking: 'Væl', signature: 'EuY' },
        { type: 'text', text: 'Góðan daginn' },
        { type: 'tool_use', id: 'toolu_01', name: 'list', input: { path: '/tmp', n: 2 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 20,
        cache_creation_input_tokens: 5,
        cache_read_input_tokens: 40,
        output_tokens: 33,
      },
    },
    reply: reply({
      text: 'Góðan daginn',
      reasoning: 'Væl',
      toolCalls: [{ id: 'toolu_01', name: 'list', arguments: '{"path":"/tmp","n":2}' }],
      finishReason: 'tool_calls',
    }),
    counts: counts(65, 33, { cached: 40, cacheWrite: 5 }),
  },
]
