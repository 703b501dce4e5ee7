import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { anthropic } from '../../src/index.js'
import { MessageWriter } from '../../src/operations/messages/reply/message-writer.js'
import { NO_USAGE } from '../../src/protocol/usage.js'
import { asWire, fromWire, toWire } from '../../src/protocol/wire-bytes.js'
import { plainDelta } from '../../src/providers/anthropic/plain-delta.js'
import { createReader } from '../../src/providers/anthropic/reader.js'
import { ModelReply } from '../../src/replies/model-reply.js'
import { fed } from '../helpers/fed-reply.js'
import { readEvents } from '../helpers/message-events.js'
import { API_KEY, MODEL, UPSTREAM_KEY, WireService } from '../wire/service.js'

const CHARGE = { cost: 12n, base: 10n, markup: 2n, basis: 'reported', byok: false, usage: NO_USAGE } as const
const RUNS = { numRuns: 2_000, seed: 20_261_126 }

/** Plays events as JSON into a reply, and returns all that a client and a charge can see of it. */
function play(frames: readonly string[], splice: boolean, stream: boolean, cuts: readonly number[]) {
  let tokens = 0
  const meter = new UsageMeter(
    { n: 1 },
    () => {
      tokens++
    },
    () => {},
  )
  const route = { id: 'acme-1', provider: 'acme', adapter: {}, upstreamModel: 'claude' }
  const parts = {
    id: 'msg_1',
    created: 7,
    counter: byteRatioCounter,
    newId: () => 'x',
    route,
    splice,
    repeatedBytes: Infinity,
  }
  const writer = new MessageWriter(
    { id: 'msg_1', model: 'acme/fast' },
    { provider: 'acme', model: 'claude' },
    stream,
  )
  const reply = fed(new ModelReply(parts, { stream, n: 1 }, writer), meter)
  const reader = createReader(1_000_000, { lines: true, splice })
  const rest = [...frames]
  let sent = ''
  let failed: unknown
  const read = (some: readonly string[]): void => {
    if (failed !== undefined) return
    const events: ProviderEvent[] = []
    try {
      for (const frame of some) reader.read(Buffer.from(frame), events)
    } catch (error) {
      failed = String(error)
    }
    sent += reply.take(events)
  }
  for (const cut of cuts) read(rest.splice(0, cut))
  read(rest)
  let thrown: unknown
  try {
    reply.endChoices('stop')
  } catch (error) {
    thrown = String(error)
  }
  const last = stream ? reply.closing(CHARGE) : reply.body(CHARGE)
  const end = typeof last === 'string' ? last : [...last].join('')
  return {
    // The fast path keeps the spaces with which a provider pads an event.
    said: stream ? readEvents(fromWire(asWire(sent + end))) : JSON.parse(fromWire(asWire(end))),
    tokens,
    tokenEvents: reply.tokenEvents,
    atLeast: reply.completionAtLeast(Infinity),
    finished: reply.finished,
    failed,
    failure: reply.failure && String(reply.failure),
    lost: reply.unreadable && String(reply.unreadable),
    mends: reply.mends,
    thrown,
  }
}

const index = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom<unknown>(0, 1) },
  fc.constantFrom<unknown>(2, '0', -1, 1e6, null),
)
const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('Hello', ' there', "it's", '#[]~') },
  fc.string({ unit: 'grapheme-ascii' }),
  fc.string(),
  fc.constantFrom(
    '',
    ' ',
    '"',
    '\\',
    '\n',
    '\u007f',
    'é',
    '\u{1f600}',
    '\ud800',
    '\ufffd',
    '"}',
    '{"type":"error"}',
  ),
  fc.constantFrom('{}', '{"a":', '"b"}', '{"c":"\\""}', '[1', ']', 'null'),
)
const textDelta = fc.record({
  type: fc.constant('content_block_delta'),
  index,
  delta: fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('text_delta'), text }) },
    fc.record({ text, type: fc.constant('text_delta') }),
    fc.record({ type: fc.constant('text_delta'), text, more: fc.constant(1) }),
    { weight: 3, arbitrary: fc.record({ type: fc.constant('thinking_delta'), thinking: text }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('input_json_delta'), partial_json: text }) },
    fc.constantFrom<unknown>({ type: 'text_delta' }, { type: 'text_delta', text: 5 }, null, 'text'),
  ),
})
const event = fc.oneof(
  { weight: 12, arbitrary: textDelta },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('content_block_start'),
      index,
      content_block: fc.constantFrom<unknown>(
        { type: 'text', text: '' },
        { type: 'text', text: 'Hi' },
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        null,
      ),
    }),
  },
  fc.record({ type: fc.constant('content_block_stop'), index }),
  fc.constant({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }),
)
/** The spellings of one event. Some are not JSON. */
const spelling = fc.constantFrom<(json: string) => string>(
  (json) => json,
  (json) => json,
  (json) => `${json.slice(0, -1)}   }`,
  (json) => `${json.slice(0, -1)}\n}`,
  (json) => `${json.slice(0, -1)}\t}`,
  (json) => `${json} `,
  (json) => json.replace(/"index":(\d)/, '"index":0$1'),
  (json) => json.replace(/"index":(\d)/, '"index":$1.0'),
  (json) => json.replace(/:/, ': '),
  (json) => json.replace(/"(text|thinking|partial_json)":"/, '"$1":"\\u0041'),
  (json) => json.replace(/"(text|thinking|partial_json)":"/, '"$1":"\\/'),
  (json) => json.replace(/"(text|thinking|partial_json)":"/, '"$1":"a","$1":"'),
  // A quote, so that the text ends before its event.
  (json) => json.replace(/"(text|thinking|partial_json)":"/, '"$1":"a"},"more":{"b":"'),
  (json) => json.slice(0, -1),
)

describe('the fast path for pieces of text in a Messages API stream', () => {
  it('changes only white space, whatever the input and however it is cut into reads', () => {
    const fast = { text: 0, thinking: 0, tool_use: 0 }
    fc.assert(
      fc.property(
        fc.array(fc.tuple(event, spelling), { maxLength: 20 }),
        fc.array(fc.nat(4), { maxLength: 8 }),
        fc.boolean(),
        (given, cuts, stream) => {
          const frame = (json: string) => `${json.replace(/^/gm, 'data: ')}\n\n`
          const started = [
            { type: 'message_start', message: { id: 'm', usage: {} } },
            { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          ].map((value) => frame(JSON.stringify(value)))
          const events = given.map(([value, spell]) => {
            if (value.type !== 'content_block_delta') return frame(JSON.stringify(value))
            const json = spell(JSON.stringify(value))
            const plain = plainDelta(toWire(json))
            if (plain !== undefined) fast[plain.kind]++
            return frame(json)
          })
          const all = [...started, ...events]
          expect(play(all, true, stream, cuts)).toEqual(play(all, false, stream, []))
        },
      ),
      RUNS,
    )
    for (const times of Object.values(fast)) expect(times).toBeGreaterThan(100)
  })

  it('leaves bytes that are not UTF-8 to the parser, which replaces them', () => {
    const event = (text: string) =>
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`
    expect(plainDelta(asWire(event('\xc3\xa9')))).toMatchObject({ text: 'é' })
    expect(plainDelta(asWire(event('\xff')))).toBeUndefined()
  })

  describe('through a router', () => {
    let service: WireService
    afterEach(() => service.close())

    it('sends an event of two lines as one line', async () => {
      service = await WireService.start({
        adapter: (baseUrl) => anthropic({ baseUrl, apiKey: UPSTREAM_KEY }),
      })
      const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
      service.upstream.script([
        { head: 200, headers: { 'content-type': 'text/event-stream' } },
        {
          write:
            event({
              type: 'message_start',
              message: { id: 'm', usage: { input_tokens: 11, output_tokens: 1 } },
            }) +
            event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
            'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}\ndata: }\n\n' +
            event({ type: 'content_block_stop', index: 0 }) +
            event({
              type: 'message_delta',
              delta: { stop_reason: 'end_turn' },
              usage: { output_tokens: 7 },
            }) +
            event({ type: 'message_stop' }),
        },
        'end',
      ])
      const response = await service.host.request('/messages', {
        method: 'POST',
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: MODEL,
          max_tokens: 50,
          stream: true,
          messages: [{ role: 'user', content: 'Hi' }],
        }),
      })
      const events = readEvents(await response.text())
      expect(events).toContainEqual({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Hello' },
      })
      expect(events.at(-1)).toEqual({ type: 'message_stop' })
    })
  })
})
