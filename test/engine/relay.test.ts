import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import type { ReasoningName } from '../../src/contracts/reasoning-name.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { ChatWriter } from '../../src/operations/chat/reply/chat-writer.js'
import { NO_USAGE } from '../../src/protocol/usage.js'
import { asWire, fromWire, toWire } from '../../src/protocol/wire-bytes.js'
import { ModelReply } from '../../src/replies/model-reply.js'
import { Splicer } from '../../src/replies/splice.js'
import { cpuMsOf } from '../helpers/cpu-time.js'
import { fed } from '../helpers/fed-reply.js'

const CHARGE = { cost: 12n, base: 10n, markup: 2n, basis: 'reported', byok: false, usage: NO_USAGE } as const

function relay({
  stream = true,
  n = 1,
  splice = true,
  reasoningName = 'reasoning_content' as ReasoningName,
} = {}) {
  let ids = 0
  const meter = new UsageMeter(
    { n: 1 },
    () => {},
    () => {},
  )
  const made = new ModelReply(
    {
      id: 'chatcmpl-1',
      created: 7,
      counter: byteRatioCounter,
      newId: () => String(++ids),
      route: { id: 'acme-1', provider: 'acme', adapter: {}, upstreamModel: 'model' },
      splice,
      repeatedBytes: Infinity,
    },
    { stream, n, splices: true },
    new ChatWriter({ id: 'chatcmpl-1', created: 7, model: 'acme/fast' }, reasoningName, stream),
  )
  return { meter, relay: fed(made, meter) }
}

const data = (value: unknown): ProviderEvent => ({ type: 'data', bytes: toWire(JSON.stringify(value)) })
const chunk = (delta: unknown, finish: string | null = null, rest: object = {}): ProviderEvent =>
  data({ id: 'up', choices: [{ index: 0, delta, finish_reason: finish, ...rest }] })

/** Plays events into a relay and returns the text that a client reads. */
function play(events: readonly ProviderEvent[], options: Parameters<typeof relay>[0] = {}) {
  const { relay: played } = relay(options)
  let bytes = played.take(events)
  if (played.failure === undefined) {
    played.endChoices('stop')
    bytes += played.closing(CHARGE)
  }
  return { bytes, chunks: chunksOf(bytes), relay: played }
}

/** The same for a client that gets JSON. */
function body(events: readonly ProviderEvent[], n = 1) {
  const { relay: played } = relay({ stream: false, n })
  expect(played.take(events)).toBe('')
  expect(played.failure).toBeUndefined()
  played.endChoices('stop')
  return JSON.parse(played.body(CHARGE))
}

interface Chunk {
  id: string
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null }[]
  usage?: object
}

function chunksOf(bytes: string): Chunk[] {
  return fromWire(asWire(bytes))
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice('data: '.length)))
}

describe('a stream to the client, whatever the provider sends,', () => {
  it('starts each choice with its role, ends it with one finish reason, and ends with usage and [DONE]', () => {
    const { bytes, chunks } = play([chunk({ content: 'Hi' }), chunk({}, 'stop'), chunk({}, 'stop')])
    expect(chunks.map(({ choices }) => choices[0])).toEqual([
      { index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'stop' },
      undefined,
    ])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { cost: 1.2e-8, prompt_tokens: 0 } })
    expect(bytes.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set(['chatcmpl-1']))
  })

  it('sends nothing before the first token', () => {
    const { relay: silent } = relay()
    expect(silent.take([chunk({ role: 'assistant', content: '' })])).toBe('')
    expect(silent.begun).toBe(false)
    expect(silent.take([chunk({ content: 'a' })])).toContain('"role":"assistant"')
  })

  it('adds a missing finish reason if the provider sent [DONE]', () => {
    expect(play([chunk({ content: 'Hi' })]).chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
  })

  it.each([
    ['weird', 'stop'],
    ['max_tokens', 'length'],
    ['safety', 'content_filter'],
    ['function_call', 'tool_calls'],
  ])('maps the finish reason %s to %s and keeps it as the native one', (native, mapped) => {
    const { chunks } = play([chunk({ content: 'x' }, native)])
    expect(chunks[0]!.choices[0]).toMatchObject({ delta: { content: 'x' }, finish_reason: null })
    expect(chunks[1]!.choices[0]).toMatchObject({ finish_reason: mapped, native_finish_reason: native })
  })

  it('treats an error message in place of choices as a failure', () => {
    const words = { choices: null, error_type: 'BadRequestError', error_message: 'Too long' }
    expect(play([chunk({ content: 'x' }), data(words)]).relay.failure?.reason).toBe('error-frame')
    expect(
      play([chunk({ content: 'x' }), data({ ...words, error_message: null })]).relay.failure,
    ).toBeUndefined()
  })

  it('treats a finish reason of error as a failure', () => {
    expect(play([chunk({ content: 'x' }), chunk({}, 'error')]).relay.failure?.reason).toBe('error-frame')
  })

  /** Five tokens, if four bytes are one. */
  const HM = 'hm hm hm hm hm hm hm'
  const both = { reasoning: HM, reasoning_content: HM }
  describe.each([
    ['reasoning_content', { reasoning_content: HM }],
    ['reasoning', { reasoning: HM }],
    ['both', both],
  ] as const)('for a client that reads %s, sends reasoning in that field alone', (reasoningName, sent) => {
    it.each([
      [{ reasoning: HM }, sent],
      [{ reasoning_content: HM }, sent],
      [both, sent],
      [{ reasoning: null, reasoning_content: HM }, sent],
      [{ reasoning_content: '', reasoning: HM }, sent],
      [{ reasoning_content: '', reasoning: null }, {}],
    ])('if the provider sends %j', (given, expected) => {
      const reasoningOf = (fields: object) =>
        Object.fromEntries(Object.entries(fields).filter(([name]) => name.startsWith('reasoning')))
      const streamed = play([chunk({ ...given, content: 'x' })], { reasoningName }).chunks[0]!.choices[0]!
      expect(reasoningOf(streamed.delta)).toEqual(expected)
      const whole: ProviderEvent = {
        type: 'completion',
        completion: { choices: [{ index: 0, message: { ...given, content: 'x' }, finish_reason: 'stop' }] },
      }
      for (const events of [[whole], [chunk({ ...given, content: 'x' })]]) {
        const { relay: played } = relay({ stream: false, reasoningName })
        played.take(events)
        played.endChoices('stop')
        const { message } = JSON.parse(fromWire(played.body(CHARGE))).choices[0]
        expect(reasoningOf(message)).toEqual(expected)
        expect(played.completionAtLeast(100)).toBe(expected === sent ? 5 : 0)
      }
    })
  })

  it('splits content that arrives in parts into text and reasoning', () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'yes' },
    ]
    expect(play([chunk({ content: parts })]).chunks[0]!.choices[0]!.delta).toMatchObject({
      content: 'yes',
      reasoning_content: 'hm',
    })
  })

  it('numbers tool calls, names them once, and gives one without arguments an empty object', () => {
    const { chunks } = play([
      chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '' } }] }),
      chunk({ tool_calls: [{ id: 'b', type: 'function', function: { name: 'g', arguments: '{"x"' } }] }),
      chunk({ tool_calls: [{ id: '', type: null, function: { name: null, arguments: ':1}' } }] }),
      chunk({}, 'stop'),
    ])
    expect(chunks.flatMap(({ choices }) => choices).flatMap(({ delta }) => delta.tool_calls ?? [])).toEqual([
      { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{"x":1}' } },
      { index: 0, function: { arguments: '{}' } },
    ])
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls')
  })

  it('numbers the tool calls of each choice from 0, in the order in which they start', () => {
    const call = (index: number, tool: number, name: string) => ({
      index,
      delta: {
        tool_calls: [{ index: tool, id: `${index}-${name}`, function: { name, arguments: '{"a":1}' } }],
      },
    })
    const { chunks } = play(
      [
        data({ choices: [call(1, 3, 'f'), call(0, 1, 'g')] }),
        data({ choices: [call(1, 3, 'h'), call(0, 0, 'i')] }),
      ],
      { n: 2 },
    )
    const sent = chunks.flatMap(({ choices }) =>
      choices.flatMap(({ delta, index }) =>
        ((delta.tool_calls ?? []) as { id: string; index: number }[]).map((tool) => [
          index,
          tool.index,
          tool.id,
        ]),
      ),
    )
    expect(sent).toEqual([
      [1, 0, '1-f'],
      [0, 0, '0-g'],
      [1, 1, '1-h'],
      [0, 1, '0-i'],
    ])
  })

  it('delays a tool call until its name is known', () => {
    const { chunks } = play([
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{"x"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: ':1}' } }] }),
      chunk({}, 'tool_calls'),
    ])
    expect(chunks.flatMap(({ choices }) => choices).flatMap(({ delta }) => delta.tool_calls ?? [])).toEqual([
      { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
    ])
  })

  it('joins a name that arrives in pieces, and sends it once', () => {
    const events = [
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'get_' } }] }),
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'weather', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { name: 'get_weather', arguments: '{"x"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { name: 'get_weather', arguments: ':1}' } }] }),
      chunk({}, 'tool_calls'),
    ]
    const { chunks } = play(events)
    expect(chunks.flatMap(({ choices }) => choices).flatMap(({ delta }) => delta.tool_calls ?? [])).toEqual([
      { index: 0, id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{"x"' } },
      { index: 0, function: { arguments: ':1}' } },
    ])
    expect(body(events).choices[0].message.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{"x":1}' } },
    ])
  })

  it.each([
    ['next to the name', 0],
    ['before the name', 1],
    ['in the middle', 2],
    ['after the arguments', 3],
    ['in every piece', undefined],
  ])("keeps the additional fields of a provider's tool calls, %s", (_where, place) => {
    const own = { extra_content: { google: { thought_signature: 'EjQK' } } }
    const pieces: object[] = [
      { id: 'a', function: { name: 'one', arguments: '' } },
      { function: { arguments: '{"x"' } },
      { function: { arguments: ':1}' } },
    ]
    if (place === 1) pieces.unshift({ id: 'a', ...own })
    else if (place === 3) pieces.push({ ...own, id: null, type: null, function: null })
    const events = pieces.map((piece, at) =>
      chunk({
        tool_calls: [
          { index: 0, ...piece, ...((place === undefined || place === at) && place !== 1 && own) },
        ],
      }),
    )
    events.push(chunk({}, 'tool_calls'))
    const deltas = play(events).chunks.flatMap(
      ({ choices }) => choices[0]?.delta.tool_calls ?? [],
    ) as object[]
    expect(deltas.filter((delta) => 'extra_content' in delta)).toEqual([expect.objectContaining(own)])
    expect(body(events).choices[0].message.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'one', arguments: '{"x":1}' }, ...own },
    ])
  })

  it('separates calls with the same name by whether the arguments so far are complete', () => {
    const piece = (args: string) => chunk({ tool_calls: [{ function: { name: 'f', arguments: args } }] })
    const whole = ['{"a":"}\\"{"}', '{"b":[{}]}', '{}']
    const pieces = ['{"a":"}', '\\"{"', '}', '{"b":[', '{}', ']}', '{}']
    const { message } = body([...pieces.map(piece), chunk({}, 'tool_calls')]).choices[0]
    expect(message.tool_calls.map((call: { function: object }) => call.function)).toEqual(
      whole.map((args) => ({ name: 'f', arguments: args })),
    )
  })

  it('joins arguments in many pieces in time linear in their number', () => {
    const piece = `{},{}${',1'.repeat(400)},{}`
    const args = (text: string) =>
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: text } }] })
    const pieces = Array.from({ length: 10_000 }, (_, index) => args(index % 2 === 0 ? `${piece},` : piece))
    const join = () => {
      const { relay: played } = play([args('{"a":['), ...pieces, args(']}'), chunk({}, 'tool_calls')])
      expect([played.failure, played.tokenEvents]).toEqual([undefined, 10_002])
    }
    expect(cpuMsOf(join, 10_000)).toBeLessThan(10_000)
  })

  it('is made from a complete reply if the client requested a stream', () => {
    const completion = {
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hi',
            tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }],
          },
          finish_reason: 'stop',
        },
      ],
    }
    const { chunks } = play([{ type: 'completion', completion }])
    expect(chunks[0]!.choices[0]).toMatchObject({
      delta: {
        role: 'assistant',
        content: 'Hi',
        tool_calls: [
          { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        ],
      },
    })
    expect(chunks[1]!.choices[0]).toMatchObject({ delta: {}, finish_reason: 'tool_calls' })
  })

  it('has the fingerprint and the tier of a complete reply if the client requested a stream', () => {
    const choices = [0, 1].map((index) => ({ index, message: { content: 'Hi' }, finish_reason: 'stop' }))
    const completion = { system_fingerprint: 'fp', service_tier: 'default', provider: 'x', choices }
    const { chunks } = play([{ type: 'completion', completion }], { n: 2 })
    const labels = { system_fingerprint: 'fp', service_tier: 'default' }
    expect(chunks).toMatchObject([labels, labels, labels, labels, { choices: [] }])
    expect(chunks[0]).not.toHaveProperty('provider')
  })

  it('neither passes on nor applies a __proto__ of a choice', () => {
    const text =
      '{"message":{"content":"Hi"},"finish_reason":"stop","__proto__":{"delta":{"content":"evil"}}}'
    const { relay: played } = relay({ stream: false })
    played.take([{ type: 'completion', completion: { choices: [JSON.parse(text)] } }])
    expect(JSON.parse(played.body(CHARGE)).choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'Hi' },
        finish_reason: 'stop',
        native_finish_reason: 'stop',
      },
    ])
    expect(played.body(CHARGE)).not.toContain('evil')
  })

  it('reports for a complete reply without a finish reason that none was given, and that it has finished', () => {
    for (const stream of [true, false]) {
      const { relay: silent } = relay({ stream })
      silent.take([{ type: 'completion', completion: { choices: [{ message: { content: '' } }] } }])
      expect([silent.finished, silent.gaveReason]).toEqual([true, false])
    }
    const choices = [{ index: 0, message: { content: 'Hi' } }]
    const { chunks } = play([{ type: 'completion', completion: { choices } }])
    expect(chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.finish_reason)).toEqual([
      null,
      'stop',
    ])
  })

  it('has the id that a provider gave its reply, even if the first chunk has none', () => {
    const filtered = data({ id: '', choices: [], prompt_filter_results: [] })
    expect(play([filtered, chunk({ content: 'Hello' }, 'stop')]).relay.upstreamId).toBe('up')
  })

  it('notices the finish reason of any choice', () => {
    const { relay: two } = relay({ n: 2 })
    two.take([
      chunk({ role: 'assistant' }),
      data({ choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }),
    ])
    expect([two.finished, two.gaveReason]).toEqual([false, true])
  })

  it('refuses choices of another type', () => {
    const { relay: refused } = relay()
    refused.take([chunk({ content: 'before' }), data({ choices: { odd: 1 } })])
    expect(refused.failure?.reason).toBe('invalid-response')
  })

  it.each([
    ['a choice that is not an object', { choices: [7] }],
    ['an index that is out of range', { choices: [{ index: 2, delta: { content: 'x' } }] }],
    ['a negative index', { choices: [{ index: -1, delta: { content: 'x' } }] }],
    ['a delta of another type', { choices: [{ index: 0, delta: 'x' }] }],
    ['content that is an object', { choices: [{ index: 0, delta: { content: { a: 1 } } }] }],
    [
      'arguments that are a number',
      { choices: [{ index: 0, delta: { tool_calls: [{ function: { name: 'f', arguments: 5 } }] } }] },
    ],
    [
      'more tool calls than the limit',
      {
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: Array.from({ length: 1_025 }, (_, index) => ({ index, function: { name: 'f' } })),
            },
          },
        ],
      },
    ],
    [
      'an index of a tool call that is not a number',
      {
        choices: [{ index: 0, delta: { tool_calls: [{ index: 'first', function: { arguments: '{}' } }] } }],
      },
    ],
    ['deep nesting', { choices: [{ index: 0, delta: { deep: nested(140) } }] }],
  ])('sends nothing more after %s, but is read on for the finish and the usage', (_what, event) => {
    const { meter, relay: read } = relay({ n: 2 })
    const bytes = read.take([
      chunk({ content: 'before' }),
      data(event),
      chunk({ content: 'after' }),
      chunk({ content: 'after' }),
      chunk({}, 'stop'),
      { type: 'usage', usage: { prompt: 3, completion: 4 } },
    ])
    expect(bytes).toContain('before')
    expect(bytes).not.toContain('after')
    expect(bytes).not.toContain('stop')
    expect([read.failure, read.unreadable?.reason, read.finished]).toEqual([
      undefined,
      'invalid-response',
      true,
    ])
    expect(meter.reported(false)).toBe(true)
    // Unsent text is still counted.
    expect(read.completionAtLeast(Infinity)).toBeGreaterThanOrEqual(4)
  })

  it('does not treat overly deep nesting outside the choices as part of the reply', () => {
    const { relay: read } = relay()
    read.take([data({ choices: [{ index: 0, delta: { content: 'Hi' } }], deep: nested(140) })])
    expect(read.unreadable).toBeUndefined()
  })

  it('counts as begun if its first content is unreadable', () => {
    const { relay: read } = relay()
    expect(read.take([chunk({ role: 'assistant' }), chunk({ tool_calls: 'f()' })])).toContain('"role"')
    expect([read.begun, read.tokenEvents > 0]).toEqual([true, true])
  })

  it('counts an event that an adapter reports as unreadable as a token', () => {
    const { relay: read } = relay()
    read.take([{ type: 'unreadable', why: 'a block of another kind' }, chunk({ content: 'after' })])
    expect([read.begun, read.unreadable?.message]).toEqual([
      true,
      "The provider's reply cannot be read: a block of another kind.",
    ])
  })

  it.each([
    ['images that are not a list', { images: 'x' }],
    ['annotations that are not a list', { annotations: 5 }],
    ['a function_call with arguments that are a number', { function_call: { name: 'f', arguments: 5 } }],
    ['reasoning that is not text', { reasoning: { text: 'x' }, content: 'Hi' }],
    ['a refusal that is not text', { refusal: 5, content: 'Hi' }],
  ])('ignores %s', (_what, delta) => {
    const { relay: read } = play([chunk(delta), chunk({}, 'stop')])
    expect([read.failure, read.unreadable]).toEqual([undefined, undefined])
  })

  it.each([{ type: 'text', text: 'x' }, { bytes: '{}' }, null])(
    'refuses %j, which no adapter may return, as unreadable',
    (event) => {
      const { relay: refused } = relay()
      expect(refused.take([chunk({ content: 'before' }), event as never])).not.toContain('undefined')
      expect(refused.failure?.reason).toBe('invalid-response')
    },
  )

  it.each(['tool_calls', null])('cannot read a tool call without a name that ends with %s', (reason) => {
    const { relay: read } = relay()
    const end = reason === null ? [] : [chunk({}, reason)]
    read.take([chunk({ content: 'Calling. ' }), chunk({ tool_calls: [{ id: 'a', function: {} }] }), ...end])
    expect(read.finished).toBe(reason !== null)
    read.endChoices('stop')
    expect(read.unreadable?.message).toContain('a tool call has no name')
  })

  it('sends the choices of an event that precede an unreadable one', () => {
    const ends = { index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }
    const { relay: read } = relay({ n: 2 })
    expect(read.take([data({ choices: [ends, 'no choice'] })])).toContain('"Hi"')
    expect([read.unreadable?.reason, read.finished]).toEqual(['invalid-response', true])
  })

  it('still has the text before an unreadable event', () => {
    const { relay: refused } = relay()
    expect(
      refused.take([chunk({ content: 'before' }), { type: 'data', bytes: asWire('{"choices":') }]),
    ).toContain('before')
  })
})

describe("a provider's stream for a client that gets JSON", () => {
  const call = (index: number, fields: object) => chunk({ tool_calls: [{ index, ...fields }] })

  it('loses a tool call with an unreadable piece, and keeps the others', () => {
    const reply = body([
      chunk({ content: 'Calling. ' }),
      call(0, { id: 'a', function: { name: 'f', arguments: '{"a":' } }),
      call(1, { id: 'b', function: { name: 'g', arguments: '{}' } }),
      call(0, { function: { arguments: [5] } }),
      call(0, { function: { arguments: '}' } }),
      call(2, { function: { arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    ])
    const { message, finish_reason } = reply.choices[0]
    expect(message.content).toBe('Calling. ')
    expect(message.tool_calls.map(({ id }: { id: string }) => id)).toEqual(['b'])
    expect(finish_reason).toBe('tool_calls')
  })

  it('ends with stop if no tool call is left', () => {
    const reply = body([chunk({ tool_calls: [{ function: { name: 'f', arguments: [] } }] }, 'tool_calls')])
    expect(reply.choices[0]).toMatchObject({ message: { content: null }, finish_reason: 'stop' })
    expect(reply.choices[0].message).not.toHaveProperty('tool_calls')
  })

  it('adds nothing from dropped calls to the last of 1,024 tool calls', () => {
    const calls = Array.from({ length: 1_024 }, (_, index) => call(index, { function: { name: 'f' } }))
    const more = [
      chunk({ tool_calls: [{ index: 1_024, function: { name: 'g' } }] }),
      chunk({ tool_calls: [{ function: { arguments: '{"of":"g"}' } }] }),
    ]
    const reply = body([...calls, ...more, chunk({}, 'tool_calls')])
    const made = reply.choices[0].message.tool_calls
    expect(made).toHaveLength(1_024)
    expect(made.at(-1).function).toEqual({ name: 'f', arguments: '{}' })
  })
})

describe('a JSON reply', () => {
  it('keeps its readable parts, whatever else it contains', () => {
    const choice = {
      index: 0,
      message: {
        content: [{ text: 'Hi' }, 'there'],
        tool_calls: [
          { id: 'a', function: { name: 'f', arguments: nested(140) } },
          { id: 'b', function: { name: 'g', arguments: { x: 1 } } },
          { id: 'c', function: { arguments: '{}' } },
        ],
      },
      finish_reason: 'tool_calls',
    }
    const reply = body([
      { type: 'completion', completion: { choices: [choice, 7, { ...choice, index: 5 }] } },
    ])
    expect(reply.choices).toHaveLength(1)
    const { message, finish_reason } = reply.choices[0]
    expect(message.content).toBe('Hithere')
    expect(message.tool_calls).toMatchObject([{ id: 'b', function: { arguments: '{"x":1}' } }])
    expect(finish_reason).toBe('tool_calls')
  })

  it('is repaired: role, finish reason, tool call ids, arguments as text', () => {
    const reply = body([
      {
        type: 'completion',
        completion: {
          object: 'text_completion',
          choices: [{ message: { content: [{ type: 'text', text: 'Hi' }], tool_calls: null } }],
          service_tier: 'default',
          provider: { name: 'x' },
        },
      },
    ])
    expect(reply).toMatchObject({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'acme/fast',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      system_fingerprint: null,
      service_tier: 'default',
    })
    expect(reply).not.toHaveProperty('provider')
    expect(reply.choices[0].message).not.toHaveProperty('tool_calls')
  })

  it('is assembled from a stream if the provider sent one', () => {
    const reply = body([
      chunk({ role: 'assistant', content: 'He', reasoning: 'a' }, null, {
        logprobs: { content: [{ token: 'He' }] },
      }),
      chunk({ role: 'assistant', content: 'llo', reasoning: 'b' }, null, {
        logprobs: { content: [{ token: 'llo' }] },
      }),
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
      chunk({}, 'tool_calls'),
    ])
    expect(reply.choices).toEqual([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Hello',
          reasoning_content: 'ab',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
        },
        finish_reason: 'tool_calls',
        native_finish_reason: 'tool_calls',
        logprobs: { content: [{ token: 'He' }, { token: 'llo' }] },
      },
    ])
  })

  it('contains only once what a stream repeats with each piece', () => {
    const reply = body([
      chunk({ function_call: { name: 'f', arguments: '' }, audio: { id: 'audio_1', transcript: 'he' } }),
      chunk({ function_call: { name: 'f', arguments: '{"x"' }, audio: { id: 'audio_1', data: 'AA' } }),
      chunk({ function_call: { arguments: ':1}' }, audio: { id: 'audio_1', transcript: 'he', data: 'AA' } }),
      chunk({}, 'function_call'),
    ])
    expect(reply.choices[0].message).toMatchObject({
      function_call: { name: 'f', arguments: '{"x":1}' },
      audio: { id: 'audio_1', transcript: 'hehe', data: 'AAAA' },
    })
  })

  it('keeps a value that a later piece of a stream sets to null', () => {
    const reply = body([
      chunk({ function_call: { name: 'f', arguments: '' } }, null, {
        logprobs: { content: [{ token: 'He' }], refusal: null },
      }),
      chunk({ function_call: { name: null, arguments: '{}' } }, null, { logprobs: { content: null } }),
      chunk({}, 'function_call'),
    ])
    expect(reply.choices[0]).toMatchObject({
      message: { function_call: { name: 'f', arguments: '{}' } },
      logprobs: { content: [{ token: 'He' }], refusal: null },
    })
  })

  it('keeps several choices apart and in order', () => {
    const reply = body(
      [
        data({
          choices: [
            { index: 1, delta: { content: 'b' } },
            { index: 0, delta: { content: 'a' } },
          ],
        }),
        data({
          choices: [
            { index: 1, delta: {}, finish_reason: 'stop' },
            { index: 0, delta: {}, finish_reason: 'length' },
          ],
        }),
      ],
      2,
    )
    expect(reply.choices.map((choice: { message: { content: string } }) => choice.message.content)).toEqual([
      'a',
      'b',
    ])
  })
})

describe('the token limit of a choice', () => {
  it.each([false, true])('is applied once, even if text follows a complete reply (stream: %s)', (stream) => {
    const { relay: tested } = relay({ stream })
    const whole = { choices: [{ index: 0, message: { content: 'x'.repeat(32) }, finish_reason: 'stop' }] }
    tested.take([{ type: 'completion', completion: whole }, chunk({ content: 'late' })])
    expect(tested.completionAtLeast(Infinity)).toBe(9)
    expect(tested.completionAtLeast(8)).toBe(8)
  })
})

describe('the fast path of a stream', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
    fc.constantFrom(
      '',
      '"',
      '\\',
      'a"b',
      '\n',
      '\u2028',
      'é',
      '日本',
      '😀',
      '"content":"x"',
      '\ud83d',
      '{"usage":{}}',
      '"delta":{"content":"',
    ),
  )
  /** The same event as different serialisers write it. */
  const serialise = fc.constantFrom(
    (value: unknown) => JSON.stringify(value),
    (value: unknown) =>
      JSON.stringify(value).replace(
        /[\u0080-\uffff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
    (value: unknown) => JSON.stringify(value).replaceAll('/', '\\/'),
    (value: unknown) => JSON.stringify(value, null, 1).replaceAll('\n', ''),
  )
  const event = fc
    .record({
      content: text,
      shape: fc.integer({ min: 0, max: 9 }),
      index: fc.constantFrom(0, 0, 0, 1),
      padding: fc.constantFrom(undefined, undefined, 'aB3', ''),
      fingerprint: fc.constantFrom(undefined, undefined, undefined, 'fp'),
    })
    .map(({ content, fingerprint, index, padding, shape }) => {
      const delta =
        shape === 0
          ? { reasoning: content }
          : shape === 1
            ? { content, refusal: null }
            : shape === 2
              ? { content, tool_calls: null }
              : shape === 3
                ? { role: 'assistant', content }
                : { content }
      return {
        id: 'up',
        object: 'chat.completion.chunk',
        model: 'm',
        ...(fingerprint !== undefined && { system_fingerprint: fingerprint }),
        choices: [{ index, delta, logprobs: null, finish_reason: shape === 9 ? 'stop' : null }],
        usage: null,
        ...(padding !== undefined && { obfuscation: padding }),
      }
    })

  it('gives the same bytes and facts as parsing, whatever the input and however it is cut into reads', () => {
    const splice = vi.spyOn(Splicer.prototype, 'splice')
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 25 }),
        serialise,
        fc.array(fc.nat(4), { maxLength: 10 }),
        (values, write, cuts) => {
          const events = values.map((value): ProviderEvent => ({ type: 'data', bytes: toWire(write(value)) }))
          const fast = relay({ n: 2 })
          const plain = relay({ n: 2, splice: false })
          const whole = plain.relay.take(events)
          let pieces = ''
          const rest = [...events]
          for (const cut of cuts) pieces += fast.relay.take(rest.splice(0, cut))
          pieces += fast.relay.take(rest)
          expect(pieces).toBe(whole)
          expect(fast.relay.tokenEvents).toBe(plain.relay.tokenEvents)
          expect(fast.relay.completionAtLeast(Infinity)).toBe(plain.relay.completionAtLeast(Infinity))
          expect(fast.relay.finished).toBe(plain.relay.finished)
        },
      ),
      { seed: 20_261_122, numRuns: 3_000 },
    )
    const spliced = splice.mock.results.filter(({ value }) => value !== undefined)
    splice.mockRestore()
    expect(spliced.length).toBeGreaterThan(300)
  })

  it('gives the same bytes, facts and repairs as parsing, however odd the events between the text are', () => {
    const call = (fields: object) => ({ choices: [{ index: 0, delta: { tool_calls: [fields] } }] })
    const odd = fc.constantFrom<object>(
      { choices: [{ index: 0, delta: { content: 5 } }] },
      { choices: [{ index: 1, delta: { content: 'one' } }] },
      { choices: [], citations: ['a'] },
      { choices: [{ index: 0, delta: { content: 'cited' } }], citations: ['b'] },
      { choices: [{ index: 0, delta: { content: 'timed' } }], timings: { n: 1 } },
      { choices: [{ index: 0, delta: { content: ['in', 'parts'] } }] },
      { choices: [{ index: 0, delta: { reasoning: { text: 'hm' } } }] },
      { choices: [{ index: 0, delta: { reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      call({ index: 0, id: 'a', function: { name: 'get_', arguments: '' } }),
      call({ index: 0, id: 'a', function: { name: 'weather', arguments: '' } }),
      call({ index: 0, function: { arguments: '{"a":' } }),
      call({ index: 0, function: { arguments: '1}' } }),
      call({ index: 1, id: 'b', function: { name: 'now', arguments: '{}' } }),
    )
    const plainText = text.map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
    const stream = fc.array(fc.oneof({ weight: 3, arbitrary: plainText }, { weight: 1, arbitrary: odd }), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(stream, fc.constantFrom(1, 2), (values, n) => {
        const [fast, plain] = [true, false].map((splice) => {
          const { relay: played } = relay({ n, splice })
          let bytes = played.take(values.map(data))
          if (played.failure === undefined) {
            played.endChoices('stop')
            bytes += played.closing(CHARGE)
          }
          return {
            bytes,
            mends: played.mends,
            tokens: [played.tokenEvents, played.completionAtLeast(Infinity)],
            finished: played.finished,
          }
        })
        expect(fast).toEqual(plain)
      }),
      { seed: 20_261_126, numRuns: 3_000 },
    )
  })

  it('does not trust a line whose text is ambiguous', () => {
    const head = '{"choices":[{"index":0,"delta":{"content":"'
    const tail = '"},"finish_reason":null}]}'
    const hostile = [
      'a","role":"user',
      'a\\',
      'a"},"finish_reason":"stop"}],"x":[{"y":{"z":"',
      '\u0001',
      '\u00ff',
    ]
    for (const literal of hostile) {
      const events = ['ok', 'ok', literal, 'ok'].map(
        (inner): ProviderEvent => ({ type: 'data', bytes: asWire(head + inner + tail) }),
      )
      const fast = relay()
      const plain = relay({ splice: false })
      expect(fast.relay.take(events)).toBe(plain.relay.take(events))
      expect(fast.relay.failure?.message).toBe(plain.relay.failure?.message)
      expect(fast.relay.finished).toBe(plain.relay.finished)
    }
  })
})

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return value
}
