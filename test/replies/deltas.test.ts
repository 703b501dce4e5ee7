import { describe, expect, it } from 'vitest'
import type { ReplyEvent } from '../../src/contracts/operation.js'
import type { ProviderDelta } from '../../src/conversation/delta.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { ChatWriter } from '../../src/operations/chat/reply/chat-writer.js'
import { MessageWriter } from '../../src/operations/messages/reply/message-writer.js'
import { RepeatedRequest } from '../../src/operations/responses/reply/response-object.js'
import { ResponseWriter } from '../../src/operations/responses/reply/response-writer.js'
import { NO_USAGE } from '../../src/protocol/usage.js'
import { asWire, fromWire } from '../../src/protocol/wire-bytes.js'
import type { DeltaWriter } from '../../src/replies/delta-writer.js'
import { ModelReply } from '../../src/replies/model-reply.js'

const CHARGE = { cost: 12n, base: 10n, markup: 2n, basis: 'reported', byok: false, usage: NO_USAGE } as const

function parts() {
  let ids = 0
  return {
    id: 'reply-1',
    created: 7,
    counter: byteRatioCounter,
    newId: () => String(++ids),
    route: { id: 'acme-1', provider: 'acme', adapter: {}, upstreamModel: 'model' },
    splice: true,
    repeatedBytes: Number.POSITIVE_INFINITY,
  }
}

type Made = ReturnType<typeof parts>
const WRITERS: Readonly<Record<string, (made: Made, isStream: boolean) => DeltaWriter>> = {
  chat: (made, isStream) =>
    new ChatWriter({ id: made.id, created: made.created, model: 'acme/fast' }, 'reasoning', isStream),
  messages: (made, isStream) =>
    new MessageWriter(
      { id: made.id, model: 'acme/fast' },
      { provider: 'acme', model: made.route.upstreamModel },
      isStream,
    ),
  responses: (made, isStream) =>
    new ResponseWriter(
      {
        parts: made,
        recent: undefined,
        calledTools: new Map(),
        include: new Set(),
        repeated: new RepeatedRequest({
          model: 'acme/fast',
          settings: {
            instructions: undefined,
            maxOutputTokens: undefined,
            metadata: undefined,
            parameters: {},
            reasoning: {},
            text: {},
            toolChoice: undefined,
            tools: [],
          },
          user: undefined,
        }),
      },
      isStream,
    ),
}

/** Plays the events of a provider, and returns the reply in one of its two forms. */
function play(api: string, events: readonly ReplyEvent[], stream: boolean): string {
  const made = parts()
  const asked = { stream, n: 1, stopSequences: new Set(['END']), splices: api === 'chat' }
  const reply = new ModelReply(made, asked, WRITERS[api]!(made, stream))
  let bytes = [...(reply.opening() ?? [])].join('') + reply.take(events)
  reply.endChoices('stop', true)
  const end = stream ? reply.closing(CHARGE) : reply.body(CHARGE)
  bytes += typeof end === 'string' ? end : [...end].join('')
  return fromWire(asWire(bytes))
}

const chunk = (delta: object, more: object = {}): ReplyEvent => ({
  type: 'chunk',
  chunk: { id: 'up', choices: [{ index: 0, delta, finish_reason: null, ...more }] },
})
const call = (index: number, name: string, args: string) => ({
  index,
  id: `call_${name}`,
  type: 'function',
  function: { name, arguments: args },
})

const deltas = (...list: readonly ProviderDelta[]): ReplyEvent => ({
  type: 'deltas',
  deltas: list,
  labels: { id: 'up' },
})
const text = (kind: 'text' | 'thought', said: string): ProviderDelta => ({
  type: 'text',
  choice: 0,
  kind,
  text: said,
})
const piece = (number: number, input: string, name?: string): ProviderDelta => ({
  type: 'call',
  choice: 0,
  call: number,
  form: 'function',
  ...(name !== undefined && { id: `call_${name}`, name }),
  input,
})

/** Thoughts, texts and calls in turn. */
const MIXED: readonly ReplyEvent[] = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning: 'First. ' }),
  chunk({ content: 'Let me ' }),
  chunk({ content: 'look.' }),
  chunk({ tool_calls: [call(0, 'search', '{"q":')] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
  chunk({ reasoning: 'Then. ' }),
  chunk({ content: 'Found.' }),
  chunk({ tool_calls: [call(1, 'read', '{}')] }),
  chunk({}, { finish_reason: 'tool_calls' }),
]

/** The same from a provider of another API. */
const MIXED_DELTAS: readonly ReplyEvent[] = [
  deltas({ type: 'rest', choice: 0, said: { content: '' }, beside: undefined }),
  deltas(text('thought', 'First. ')),
  deltas(text('text', 'Let me ')),
  deltas(text('text', 'look.')),
  deltas(piece(0, '{"q":', 'search')),
  deltas(piece(0, '1}')),
  deltas(text('thought', 'Then. ')),
  deltas(text('text', 'Found.')),
  deltas(piece(1, '{}', 'read')),
  deltas({ type: 'end', choice: 0, reason: 'tool_calls' }),
]

const dataIn = (stream: string) =>
  stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))

describe('a thought whose provider sent text of another before its start', () => {
  it('is apart from it in a chat, in a stream and in a body', () => {
    const block = { type: 'thinking', thinking: '', signature: '' }
    const events = [
      deltas(text('thought', 'Let me')),
      deltas({ type: 'begin', choice: 0, kind: 'thought', block }, text('thought', 'see')),
      deltas({ type: 'done', choice: 0 }, text('text', 'Hi')),
    ]
    for (const stream of [true, false]) {
      const said = play('chat', events, stream).matchAll(/"reasoning":("[^"]*")/g)
      expect([...said].map(([, json]) => JSON.parse(json!)).join('')).toBe('Let me\n\nsee')
    }
  })
})

describe('a reply of thoughts, texts and calls in turn', () => {
  it.each(Object.keys(WRITERS))('has the same bytes from deltas as from chunks at /%s', (api) => {
    for (const stream of [true, false]) {
      expect(play(api, MIXED_DELTAS, stream)).toBe(play(api, MIXED, stream))
    }
  })

  it('has the same items in a body of /responses as at the end of its stream', () => {
    const { response } = dataIn(play('responses', MIXED, true)).at(-1)
    expect(JSON.parse(play('responses', MIXED, false)).output).toEqual(response.output)
    expect(response.output.map(({ type }: { type: string }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'reasoning',
      'message',
      'function_call',
    ])
  })

  it('has its blocks in the same order in a body of /messages as in its stream', () => {
    const started = dataIn(play('messages', MIXED, true)).filter(({ type }) => type === 'content_block_start')
    const types = started.map(({ content_block: { type } }) => type)
    const { content } = JSON.parse(play('messages', MIXED, false))
    expect(types).toEqual(['thinking', 'text', 'tool_use', 'thinking', 'text', 'tool_use'])
    expect(content.map(({ type }: { type: string }) => type)).toEqual(types)
    expect(content).toMatchObject([
      { thinking: 'First. ' },
      { text: 'Let me look.' },
      { name: 'search', input: { q: 1 } },
      { thinking: 'Then. ' },
      { text: 'Found.' },
      { name: 'read', input: {} },
    ])
  })

  it('has one message in a body of /chat/completions', () => {
    const { choices } = JSON.parse(play('chat', MIXED, false))
    expect(choices).toMatchObject([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Let me look.Found.',
          reasoning: 'First. Then. ',
          tool_calls: [
            { id: 'call_search', function: { name: 'search', arguments: '{"q":1}' } },
            { id: 'call_read', function: { name: 'read', arguments: '{}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ])
  })
})

describe('deltas of a provider', () => {
  const facts = (events: readonly ReplyEvent[]) => {
    const made = parts()
    const reply = new ModelReply(made, { stream: true, n: 1 }, WRITERS.chat!(made, true))
    reply.take(events)
    return reply
  }

  it('get ids for their calls if these have none or the same one', () => {
    const call = (number: number, id?: string): ProviderDelta => ({
      type: 'call',
      choice: 0,
      call: number,
      form: 'function',
      id,
      name: `tool_${number}`,
      input: '{}',
    })
    const end: ProviderDelta = { type: 'end', choice: 0, reason: 'stop' }
    const events = [deltas(call(0)), deltas(call(1, 'same')), deltas(call(2, 'same')), deltas(end)]
    const [choice] = JSON.parse(play('chat', events, false)).choices
    const ids = choice.message.tool_calls.map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(3)
    expect(choice.finish_reason).toBe('tool_calls')
  })

  it('make the reply fail if they end it with a word for a failure', () => {
    const reply = facts([
      deltas(text('text', 'Hi')),
      deltas({ type: 'end', choice: 0, reason: 'error', native: 'OVERLOADED' }),
    ])
    expect(reply.failure?.message).toContain("'OVERLOADED'")
    expect(reply).toMatchObject({ finished: false, nativeFinishReason: 'OVERLOADED', tokenEvents: 1 })
  })

  it('report dropped output with an end that says so', () => {
    const end = { type: 'end', choice: 0, reason: 'error', native: 'MALFORMED_FUNCTION_CALL' } as const
    const reply = facts([deltas(end)])
    expect(reply).toMatchObject({ finished: true, failure: undefined })
    reply.endChoices('stop', false)
    expect(reply.unreadable?.message).toContain('dropped output')
  })

  it('are refused if they are of several choices, or of one that was not requested', () => {
    for (const event of [
      deltas({ ...text('text', 'Hi'), choice: 1 }),
      deltas(text('text', 'Hi'), { ...text('text', 'Ho'), choice: 1 }),
    ]) {
      expect(facts([event]).failure).toMatchObject({ reason: 'invalid-response' })
    }
  })

  it("bring Google's signature of a call to a client of chats", () => {
    const events = [
      deltas({ ...piece(0, '{}', 'read'), signature: 'SIG' } as ProviderDelta),
      deltas({ type: 'end', choice: 0, reason: 'tool-calls' }),
    ]
    expect(JSON.parse(play('chat', events, false)).choices[0].message.tool_calls).toMatchObject([
      { extra_content: { google: { thought_signature: 'SIG' } } },
    ])
  })
})

it('a stop sequence that a provider names in an event of its own reaches a client of /messages', () => {
  const events = [
    chunk({ content: 'Hi' }),
    chunk({}, { stop_reason: 'END' }),
    chunk({}, { finish_reason: 'stop' }),
  ]
  expect(JSON.parse(play('messages', events, false))).toMatchObject({
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
  })
})

it('members of a chat that have no delta of their own are written back by a chat alone', () => {
  const events = [
    chunk({ content: 'Hi', provider_specific_fields: { a: 1 } }, { content_filter_results: { hate: 0 } }),
    chunk({}, { finish_reason: 'stop' }),
  ]
  expect(dataIn(play('chat', events, true))[0].choices).toEqual([
    {
      index: 0,
      delta: { role: 'assistant', content: 'Hi', provider_specific_fields: { a: 1 } },
      content_filter_results: { hate: 0 },
      finish_reason: null,
    },
  ])
  for (const api of ['responses', 'messages']) {
    expect(play(api, events, false)).not.toMatch(/provider_specific_fields|content_filter_results/)
  }
})

it('the input of a custom tool survives an empty piece of arguments after it', () => {
  const custom = { index: 0, id: 'call_1', type: 'custom', custom: { name: 'run', input: 'ls' } }
  const events = [
    chunk({ tool_calls: [custom] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '' } }] }),
    chunk({}, { finish_reason: 'tool_calls' }),
  ]
  expect(JSON.parse(play('responses', events, false)).output).toMatchObject([
    { type: 'custom_tool_call', name: 'run', input: 'ls' },
  ])
})
