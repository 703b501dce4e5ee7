import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../../src/contracts/index.js'
import { readMessage } from '../../../src/providers/anthropic/message.js'
import { createReader } from '../../../src/providers/anthropic/reader.js'
import { createStreamReader } from '../../../src/providers/anthropic/stream.js'
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

function readAll(events: readonly unknown[]): ProviderEvent[] {
  const reader = createStreamReader()
  return events.flatMap((event) => reader.read(event))
}

function choicesOf(events: readonly ProviderEvent[]): unknown[] {
  return events.flatMap((event) => (event.type === 'chunk' ? (event.chunk.choices ?? []) : []))
}

const deltasOf = (events: readonly ProviderEvent[]) =>
  choicesOf(events).map((choice) => (choice as { delta: Record<string, unknown> }).delta)

const joined = (events: readonly ProviderEvent[], field: string) =>
  deltasOf(events)
    .map((delta) => delta[field])
    .filter((text) => typeof text === 'string')
    .join('')

const usageOf = (events: readonly ProviderEvent[]) =>
  events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))

describe('a streamed Anthropic message', () => {
  const events = readAll(claudeRich.events)

  it('starts with the role and reports text and reasoning piece by piece', () => {
    expect(choicesOf(events)[0]).toEqual({
      index: 0,
      delta: { role: 'assistant', content: '' },
      finish_reason: null,
    })
    expect(joined(events, 'content')).toBe('Grüße 👋')
    expect(joined(events, 'reasoning')).toBe('Let me see…')
    expect(joined(events, 'reasoning_content')).toBe('Let me see…')
  })

  it('reports the details that a client must send back with its reasoning', () => {
    const details = deltasOf(events).flatMap(
      (delta) => (delta.reasoning_details as unknown[] | undefined) ?? [],
    )
    expect(details).toMatchObject([
      { type: 'reasoning.text', text: 'Let me ', index: 0 },
      { type: 'reasoning.text', text: 'see…', index: 0 },
      { type: 'reasoning.text', text: '', signature: 'sig', index: 0 },
      { type: 'reasoning.encrypted', data: 'hidden', index: 1 },
    ])
  })

  it('counts only the client’s own calls, and gives a call without arguments an empty object', () => {
    const calls = deltasOf(events).flatMap((delta) => (delta.tool_calls as unknown[] | undefined) ?? [])
    expect(calls).toEqual([
      { index: 0, id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '' } },
      { index: 0, function: { arguments: '{"at":' } },
      { index: 0, function: { arguments: '"sky"}' } },
      { index: 1, id: 'toolu_2', type: 'function', function: { name: 'refresh', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
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
    const calls = deltasOf(read).flatMap((delta) => (delta.tool_calls as unknown[] | undefined) ?? [])
    expect(calls).toMatchObject([{ id: 't' }, { index: 0, function: { arguments: JSON.stringify(input) } }])
  })

  it('reports citations with a URL as annotations', () => {
    expect(deltasOf(events).flatMap((delta) => delta.annotations ?? [])).toEqual([
      {
        type: 'url_citation',
        url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 0, content: 'said' },
      },
    ])
  })

  it("finishes with the provider's own reason, once", () => {
    const reasons = choicesOf(events).map((choice) => (choice as { finish_reason: unknown }).finish_reason)
    expect(reasons.filter((reason) => reason !== null)).toEqual(['tool_use'])
  })

  it('includes cached input, early and, with the counts of the start, after the finish', () => {
    const input = { prompt: 17, cached: 5, cacheWrite: 2 }
    expect(usageOf(events)).toEqual([
      { ...input, completion: 1, reasoning: undefined },
      { ...input, completion: 40, reasoning: 12 },
    ])
    expect(events.at(-1)?.type).toBe('usage')
    expect(events.findIndex((event) => event.type === 'usage')).toBe(1)
  })

  it('is the same wherever it is cut', () => {
    const bytes = bytesOf(claudeRich)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reader = createReader(EVENT_BYTES)
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
      const reader = createReader(EVENT_BYTES)
      const read: ProviderEvent[] = []
      reader.read(Buffer.from(empty + claudeRich.events.map((event) => frames([event])).join(empty)), read)
      expect(reader.end(read)).toBe(true)
      expect(read).toEqual(events)
    },
  )

  it('is the same byte by byte', () => {
    const reader = createReader(EVENT_BYTES)
    const read: ProviderEvent[] = []
    for (const byte of bytesOf(claudeRich)) reader.read(Buffer.of(byte), read)
    expect(reader.end(read)).toBe(true)
    expect(read).toEqual(events)
  })
})

describe('the end of an Anthropic stream', () => {
  it('is signalled only by message_stop', () => {
    const reader = createReader(EVENT_BYTES)
    const read: ProviderEvent[] = []
    reader.read(Buffer.from(frames([messageStart(), messageDelta('end_turn')])), read)
    expect(reader.end(read)).toBe(false)
  })

  it('stops all reading at message_stop', () => {
    const reader = createReader(EVENT_BYTES)
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
    expect(choicesOf(readAll([messageDelta(reason)]))).toEqual([
      { index: 0, delta: {}, finish_reason: reason },
    ])
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
    const reader = createReader(EVENT_BYTES)
    const failing = () => reader.read(Buffer.from(`event: error\ndata: ${data}\n\n`), [])
    expect(failing).toThrow(
      expect.objectContaining({ reason: 'error-frame', status, providerMessage: 'Sorry' }),
    )
  })

  it.each([
    ['not an object', 5],
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
    expect(readAll(harmless)).toEqual([])
  })
})

describe('unreadable content of an Anthropic stream', () => {
  const read = (events: Parameters<typeof frames>[0]) => {
    const found: ProviderEvent[] = []
    createReader(EVENT_BYTES).read(Buffer.from(frames(events)), found)
    return found
  }

  it.each([
    ['a block without content', { type: 'content_block_start', index: 0 }],
    ['text that is an object', blockDelta(0, { type: 'text_delta', text: { of: 'text' } })],
    ['a call without a name', blockStart(0, { type: 'tool_use', id: 'a' })],
    ['arguments without a call', blockDelta(0, { type: 'input_json_delta', partial_json: '{"x":1}' })],
    [
      'arguments nested too deeply',
      blockStart(0, { type: 'tool_use', id: 'a', name: 'f', input: deep(200) }),
    ],
  ])('is reported, and the rest is read: %s', (_name, event) => {
    const found = read([messageStart(), event, messageDelta('end_turn', { output_tokens: 4 }), messageStop])
    expect(found.filter(({ type }) => type === 'unreadable')).toHaveLength(1)
    expect(found.at(-1)).toMatchObject({ type: 'usage', usage: { completion: 4 } })
  })

  it.each([
    ['below zero', -1],
    ['of no block', 7],
    ['missing', undefined],
  ])('does not lose the arguments of the open block if its index is %s', (_name, index) => {
    const found = read([
      messageStart(),
      blockStart(index as number, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '{"x":' }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '1}' }),
      blockStop(0),
      messageDelta('tool_use', { output_tokens: 4 }),
      messageStop,
    ])
    const args = found.flatMap((event) => {
      if (event.type !== 'chunk') return []
      const [choice] = event.chunk.choices as { delta: { tool_calls?: { function: object }[] } }[]
      return choice?.delta.tool_calls ?? []
    })
    expect(
      args.map(({ function: { arguments: piece } }: { function: { arguments?: string } }) => piece).join(''),
    ).toBe('{"x":1}')
    expect(found.filter(({ type }) => type === 'unreadable')).toEqual([])
  })

  it('does not add the arguments of a call without a name to another call', () => {
    const found = read([
      messageStart(),
      blockStart(0, { type: 'tool_use', id: 'a' }),
      blockDelta(0, { type: 'input_json_delta', partial_json: '{"x":"of a"}' }),
      blockStop(0),
      blockStart(1, { type: 'tool_use', id: 'b', name: 'g' }),
      blockDelta(1, { type: 'input_json_delta', partial_json: '{}' }),
      blockStop(1),
    ])
    expect(JSON.stringify(found)).not.toContain('of a')
  })

  it('may be a block of a whole message, which is omitted', () => {
    const found = readMessage({
      type: 'message',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'tool_use', id: 'a' },
        { type: 'tool_use', id: 'b', name: 'f', input: deep(200) },
        { type: 'tool_use', id: 'c', name: 'g', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 4 },
    })
    expect(found.map(({ type }) => type)).toEqual(['completion', 'unreadable', 'usage'])
    expect(JSON.stringify(found[0])).toContain('"id":"c"')
    expect(JSON.stringify(found[0])).not.toContain('"id":"b"')
  })
})

function deep(levels: number): unknown {
  return JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
}
