import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../../src/contracts/index.js'
import type { ProviderDelta } from '../../../src/conversation/delta.js'
import type { JsonObject } from '../../../src/protocol/json-values.js'
import { MessageReader } from '../../../src/providers/anthropic/message-reader.js'
import { createReader } from '../../../src/providers/anthropic/reader.js'
import { claudeRich } from '../../recordings/messages.js'
import { bytesOf } from '../../recordings/recording.js'
import {
  blockDelta,
  blockStart,
  blockStop,
  frames,
  messageDelta,
  messageStart,
  messageStop,
  ping,
} from './replies.js'

const EVENT_BYTES = 65_536
/** Every event is parsed. */
const PARSED = { splice: false }

function readAll(events: readonly JsonObject[]): ProviderEvent[] {
  const reader = new MessageReader()
  const read: ProviderEvent[] = []
  for (const event of events) reader.read(event, read)
  return read
}

function readFrames(events: Parameters<typeof frames>[0]): ProviderEvent[] {
  const read: ProviderEvent[] = []
  createReader(EVENT_BYTES).read(Buffer.from(frames(events)), read)
  return read
}

const deltasOf = (events: readonly ProviderEvent[]): ProviderDelta[] =>
  events.flatMap((event) => (event.type === 'deltas' ? event.deltas : []))

const textOf = (events: readonly ProviderEvent[], kind: string) =>
  deltasOf(events)
    .map((delta) => (delta.type === 'text' && delta.kind === kind ? delta.text : ''))
    .join('')

const callsOf = (events: readonly ProviderEvent[]) =>
  deltasOf(events).flatMap((delta) => (delta.type === 'call' ? [delta] : []))

const usageOf = (events: readonly ProviderEvent[]) =>
  events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))

describe('a streamed Anthropic message', () => {
  const events = readAll(claudeRich.events)

  it('starts with the counts, and reports text and reasoning piece by piece', () => {
    expect(events[0]).toEqual({
      type: 'deltas',
      deltas: [
        {
          type: 'start',
          choice: 0,
          counts: {
            input_tokens: 10,
            output_tokens: 1,
            cache_creation_input_tokens: 2,
            cache_read_input_tokens: 5,
          },
        },
      ],
      labels: { id: 'msg_1' },
    })
    expect(textOf(events, 'text')).toBe('Grüße 👋')
    expect(textOf(events, 'thought')).toBe('Let me see…')
  })

  it('reports the details that a client must send back with its reasoning', () => {
    const deltas = deltasOf(events)
    const of = { format: 'anthropic-claude-v1', index: 0 }
    expect(
      deltas.flatMap((delta) => (delta.type === 'text' && delta.kind === 'thought' ? [delta.of] : [])),
    ).toEqual([of, of])
    expect(deltas.flatMap((delta) => (delta.type === 'thoughts' ? delta.pieces : []))).toEqual([
      { kind: 'text', text: '', signature: 'sig', ...of },
      { kind: 'encrypted', data: 'hidden', ...of, index: 1 },
    ])
  })

  it('has only the client’s own calls as calls', () => {
    expect(callsOf(events)).toMatchObject([
      { call: 5, id: 'toolu_1', name: 'look', input: '', block: { type: 'tool_use', id: 'toolu_1' } },
      { call: 5, input: '{"at":' },
      { call: 5, input: '"sky"}' },
      { call: 5, input: '', isLast: true },
      { call: 6, id: 'toolu_2', name: 'refresh', input: '' },
      { call: 6, input: '', isLast: true },
    ])
  })

  it('hands on other blocks and members as they are', () => {
    const deltas = deltasOf(events)
    const begun = deltas.flatMap((delta) =>
      delta.type === 'begin' && delta.kind === 'native' ? [delta] : [],
    )
    expect(begun.map(({ block }) => block.type)).toEqual(['server_tool_use', 'web_search_tool_result'])
    expect(deltas.flatMap((delta) => (delta.type === 'native' ? [delta.native] : []))).toEqual([
      { type: 'input_json_delta', partial_json: '{"query":"x"}' },
    ])
  })

  it.each([
    ['message_delta', [messageDelta('tool_use', { output_tokens: 5 }), messageStop]],
    ['message_stop', [messageStop]],
  ])('reports the arguments of a call whose block has not ended before %s', (_name, end) => {
    const input = { city: 'Köln' }
    const read = readAll([
      messageStart(),
      blockStart(0, { type: 'tool_use', id: 't', name: 'look', input }),
      ...end,
    ])
    expect(callsOf(read)).toMatchObject([
      { id: 't' },
      { input: JSON.stringify(input) },
      { input: '', isLast: true },
    ])
  })

  it('reports citations with a URL as annotations', () => {
    const annotations = deltasOf(events).flatMap((delta) => (delta.type === 'annotation' ? [delta] : []))
    expect(annotations.map(({ annotation }) => annotation)).toEqual([
      {
        type: 'url_citation',
        url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 0, content: 'said' },
      },
      undefined,
    ])
    expect(annotations[1]!.native).toEqual({
      type: 'citations_delta',
      citation: { type: 'char_location', document_index: 0 },
    })
  })

  it("finishes with the provider's own reason, once", () => {
    expect(deltasOf(events).filter(({ type }) => type === 'end')).toEqual([
      { type: 'end', choice: 0, reason: 'tool_use', stopSequence: undefined },
    ])
  })

  it('includes cached input, early and, with the counts of the start, after the finish', () => {
    const input = { prompt: 17, cached: 5, cacheWrite: 2 }
    expect(usageOf(events)).toEqual([
      { ...input, completion: 1, reasoning: undefined },
      { ...input, completion: 40, reasoning: 12 },
    ])
    expect(events.findIndex((event) => event.type === 'usage')).toBe(1)
  })

  it('is the same wherever it is cut', () => {
    const bytes = bytesOf(claudeRich)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = createReader(EVENT_BYTES, PARSED)
      const read: ProviderEvent[] = []
      reader.read(bytes.subarray(0, cut), read)
      reader.read(bytes.subarray(cut), read)
      expect(reader.end(read)).toBe(true)
      if (JSON.stringify(read) !== JSON.stringify(events)) expect(read, `cut at ${cut}`).toEqual(events)
    }
  })

  it.each(['event: ping\ndata: \n\n', 'data:\n\n', 'data:  \n\n'])(
    'is the same with an event without data, %j',
    (empty) => {
      const reader = createReader(EVENT_BYTES, PARSED)
      const read: ProviderEvent[] = []
      reader.read(Buffer.from(empty + claudeRich.events.map((event) => frames([event])).join(empty)), read)
      expect(reader.end(read)).toBe(true)
      expect(read).toEqual(events)
    },
  )

  it('is the same byte by byte', () => {
    const reader = createReader(EVENT_BYTES, PARSED)
    const read: ProviderEvent[] = []
    for (const byte of bytesOf(claudeRich)) reader.read(Buffer.of(byte), read)
    expect(reader.end(read)).toBe(true)
    expect(read).toEqual(events)
  })
})

describe('the end of an Anthropic stream', () => {
  it('is signalled only by message_stop', () => {
    const reader = createReader(EVENT_BYTES, PARSED)
    const read: ProviderEvent[] = []
    reader.read(Buffer.from(frames([messageStart(), messageDelta('end_turn')])), read)
    expect(reader.end(read)).toBe(false)
  })

  it('stops all reading at message_stop', () => {
    const reader = createReader(EVENT_BYTES, PARSED)
    const read: ProviderEvent[] = []
    expect(reader.read(Buffer.from(frames([messageStop, messageStart()])), read)).toBe(true)
    expect(read).toEqual([])
  })

  it.each([
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'refusal',
    'pause_turn',
    'model_context_window_exceeded',
  ])('passes on %s unchanged', (reason) => {
    expect(deltasOf(readAll([messageDelta(reason)]))).toMatchObject([{ type: 'end', reason }])
  })

  it('takes the larger input if the last event has one', () => {
    const events = readAll([messageStart(), messageDelta('end_turn', { input_tokens: 61, output_tokens: 2 })])
    expect(usageOf(events).at(-1)).toMatchObject({ prompt: 61, completion: 2 })
  })

  it('does not repeat the output of the start if the last event has none', () => {
    const events = readAll([
      messageStart({ input_tokens: 10, output_tokens: 1 }),
      messageDelta('end_turn', { input_tokens: 10 }),
    ])
    expect(usageOf(events)).toMatchObject([
      { prompt: 10, completion: 1 },
      { prompt: 10, completion: undefined },
    ])
  })

  it('keeps invalid counts', () => {
    const events = readAll([
      messageStart({ input_tokens: -1, cache_read_input_tokens: 5 }),
      messageDelta('end_turn'),
    ])
    expect(usageOf(events)).toEqual([
      { prompt: -1, cached: 5, cacheWrite: undefined, completion: undefined, reasoning: undefined },
    ])
  })
})

describe('a failure inside an Anthropic stream', () => {
  it.each([
    ['overloaded_error', 529],
    ['rate_limit_error', 429],
    ['api_error', 500],
    ['invalid_request_error', 400],
    ['authentication_error', 401],
    ['never_heard_of', undefined],
  ])('is an error frame: %s has status %s', (type, status) => {
    const failing = () => readAll([messageStart(), { type: 'error', error: { type, message: 'Sorry' } }])
    expect(failing).toThrow(
      expect.objectContaining({
        reason: 'error-frame',
        status,
        providerMessage: 'Sorry',
        providerCode: type,
      }),
    )
  })

  it.each([
    ['without an error type of its own', '{"error":{"type":"overloaded_error","message":"Sorry"}}', 529],
    ['as text', 'Sorry', undefined],
  ])('may be an event named error: %s', (_name, data, status) => {
    const reader = createReader(EVENT_BYTES, PARSED)
    const failing = () => reader.read(Buffer.from(`event: error\ndata: ${data}\n\n`), [])
    expect(failing).toThrow(
      expect.objectContaining({ reason: 'error-frame', status, providerMessage: 'Sorry' }),
    )
  })

  it.each([
    ['a start without a message', { type: 'message_start' }],
    ['a finish without a delta', { type: 'message_delta' }],
  ])('is an invalid response: %s', (_name, event) => {
    expect(() => readAll([event])).toThrow(expect.objectContaining({ reason: 'invalid-response' }))
  })

  it('is not an event that is merely unknown or empty', () => {
    const harmless = [
      ping,
      { type: 'new' },
      blockDelta(9, { type: 'new_delta' }),
      blockStop(9),
      messageDelta(null),
    ]
    expect(readAll(harmless)).toEqual([{ type: 'mended', kind: 'member-dropped', dropped: 'content.delta' }])
  })
})

describe('unreadable content of an Anthropic stream', () => {
  it.each([
    ['a block without content', { type: 'content_block_start', index: 0 }],
    ['text that is an object', blockDelta(0, { type: 'text_delta', text: { of: 'text' } })],
    ['arguments without a call', blockDelta(0, { type: 'input_json_delta', partial_json: '{"x":1}' })],
    [
      'arguments nested too deeply',
      blockStart(0, { type: 'tool_use', id: 'a', name: 'f', input: deep(200) }),
    ],
  ])('is reported, and the rest is read: %s', (_name, event) => {
    const found = readFrames([
      messageStart(),
      event,
      messageDelta('end_turn', { output_tokens: 4 }),
      messageStop,
    ])
    expect(found.filter(({ type }) => type === 'unreadable')).toHaveLength(1)
    expect(found.at(-1)).toMatchObject({ type: 'usage', usage: { completion: 4 } })
  })

  it.each([
    ['below zero', -1],
    ['of no block', 7],
    ['missing', undefined],
  ])('does not lose the arguments of the open block if its index is %s', (_name, index) => {
    const found = readFrames([
      messageStart(),
      blockStart(index as number, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '{"x":' }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '1}' }),
      blockStop(0),
      messageDelta('tool_use', { output_tokens: 4 }),
      messageStop,
    ])
    expect(
      callsOf(found)
        .map(({ input }) => input)
        .join(''),
    ).toBe('{"x":1}')
    expect(found.filter(({ type }) => type === 'unreadable')).toEqual([])
  })

  it('does not add the arguments of a call without a name to another call', () => {
    const found = readFrames([
      messageStart(),
      blockStart(0, { type: 'tool_use', id: 'a' }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '{"x":"of a"}' }),
      blockStop(0),
      blockStart(1, { type: 'tool_use', id: 'b', name: 'g' }),
      blockDelta(1, { type: 'input_json_delta', partial_json: '{}' }),
      blockStop(1),
    ])
    expect(callsOf(found).map(({ call, input, name }) => ({ call, input, name }))).toEqual([
      { call: 0, input: '', name: undefined },
      { call: 0, input: '{"x":"of a"}', name: undefined },
      { call: 0, input: '', name: undefined },
      { call: 1, input: '', name: 'g' },
      { call: 1, input: '{}', name: undefined },
      { call: 1, input: '', name: undefined },
    ])
  })

  it('may be a block of a whole message, which is omitted', () => {
    const found: ProviderEvent[] = []
    new MessageReader().readWhole(
      {
        type: 'message',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'tool_use', id: 'b', name: 'f', input: deep(200) },
          { type: 'tool_use', id: 'c', name: 'g', input: {} },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 3, output_tokens: 4 },
      },
      found,
    )
    expect(found.map(({ type }) => type)).toEqual(['deltas', 'unreadable', 'usage'])
    expect(callsOf(found)).toMatchObject([{ id: 'c', isLast: true }])
  })
})

function deep(levels: number): unknown {
  return JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
}
