import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/adapters.js'
import type { ReplyBytes } from '../../src/contracts/reply.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { createResponses } from '../../src/operations/responses/index.js'
import { DEFAULTS } from '../../src/options.js'
import { asWire, fromWire, NO_BYTES } from '../../src/protocol/wire-bytes.js'
import { createReader } from '../../src/providers/anthropic/reader.js'
import { ProviderReasoning, ReplyReading } from '../../src/providers/openai-compatible/reply.js'
import { createResponsesReader } from '../../src/providers/openai-compatible/responses-reply.js'
import { ReplyReader } from '../../src/providers/reply-reader.js'
import { fed } from '../helpers/fed-reply.js'
import { headersOf } from '../helpers/headers-of.js'
import { isLong } from '../helpers/long.js'
import { readResponseStream } from '../helpers/response-events.js'
import { chatStreams } from '../recordings/chat-completions.js'
import { messageStreams } from '../recordings/messages.js'
import { bytesOf } from '../recordings/recording.js'
import { responseStreams } from '../recordings/responses.js'
import { MODEL } from '../wire/service.js'

const EVENT_BYTES = 1_048_576

/** Every place in the long form. Lines have all lengths, so the cuts of the short form fall on all kinds of places. */
const EVERY = isLong ? 1 : 7

const streams = [...responseStreams, ...chatStreams, ...messageStreams]
type Language = (typeof streams)[number]['language']

function readerOf(language: Language): ReplyReader {
  if (language === 'responses') return createResponsesReader('', EVENT_BYTES, undefined)
  if (language === 'anthropic') return createReader(EVENT_BYTES)
  const unlisted = language === 'gemini' ? 'output' : undefined
  return new ReplyReader(EVENT_BYTES, new ReplyReading(false, unlisted, new ProviderReasoning()))
}

/** The client's reply to these pieces of a provider's stream, each read on its own. */
function play(language: Language, pieces: readonly Buffer[], stream = true) {
  let ids = 0
  const meter = new UsageMeter({ n: 1 }, expect.fail, expect.fail)
  const body = {
    model: MODEL,
    input: 'Say hello.',
    stream,
    include: ['reasoning.encrypted_content'],
    tools: [{ type: 'custom', name: 'patch' }],
  }
  const responses = createResponses()
  const plan = responses.plan(
    responses.read({ value: body }, headersOf({})),
    { id: MODEL, created: 1, ownedBy: 'acme' },
    {
      counter: byteRatioCounter,
      upperCounter: byteRatioCounter,
      neverOverdraw: false,
      sizes: DEFAULTS.sizes,
      charging: DEFAULTS.charging,
      reasoningName: undefined,
    },
    { principal: { kind: 'api-key', credentialId: 'c', account: 'alice' }, userAgent: undefined },
  )
  const route = { id: 'acme-1', provider: 'acme', adapter: { chat: expect.fail }, upstreamModel: 'model' }
  const routed = plan.on(route, false)
  if (routed === undefined || 'refused' in routed) expect.fail('no method')
  const made = routed.reply({
    id: 'resp_1',
    created: 7,
    counter: byteRatioCounter,
    newId: () => String(++ids),
    route,
    splice: true,
    repeatedBytes: Infinity,
  })
  const reply = fed(made, meter)
  const reader = readerOf(language)
  let sent = ''
  let terminated = false
  for (const piece of pieces) {
    const events: ProviderEvent[] = []
    terminated = reader.read(piece, events)
    sent += reply.take(events)
  }
  const events: ProviderEvent[] = []
  terminated = reader.end(events) || terminated
  sent += reply.take(events)
  reply.endChoices('stop')
  const { basis, usage } = meter.asReported({ prompt: 0, completion: 0 })
  const charge = { cost: 0n, base: 0n, markup: 0n, basis, byok: false, usage }
  const opening = stream && sent !== '' ? textOf(reply.opening?.() ?? NO_BYTES) : ''
  const whole = stream ? opening + sent + textOf(reply.closing(charge)) : textOf(reply.body(charge))
  return { whole: fromWire(asWire(whole)), usage, terminated }
}

function textOf(bytes: ReplyBytes): string {
  return typeof bytes === 'string' ? bytes : [...bytes].join('')
}

describe.each(streams)('a recorded stream of $name, as a response,', (recording) => {
  const { counts, language, reply } = recording
  const bytes = bytesOf(recording)
  const expected = play(language, [bytes])
  const body = play(language, [bytes], false)

  it('has every event in its place, and the same items as a JSON reply', () => {
    const { items, response } = readResponseStream(expected.whole)
    expect(expected.terminated).toBe(true)
    const withoutIds = (list: readonly object[]) => list.map((item) => ({ ...item, id: '' }))
    expect(withoutIds(JSON.parse(body.whole).output)).toEqual(withoutIds(items))
    expect(response.usage.input_tokens).toBe(expected.usage.prompt)
    expect(response.usage.output_tokens).toBe(expected.usage.completion)
  })

  it('is read as intended', () => {
    const { items } = readResponseStream(expected.whole)
    const textOf = (type: string, list: string, member: string) =>
      items.flatMap((item) =>
        item.type === type ? item[list].map((part: Record<string, string>) => part[member] ?? '') : [],
      )
    expect(textOf('message', 'content', 'text').join('')).toBe(reply.text)
    expect(textOf('message', 'content', 'refusal').join('')).toBe(reply.refusal)
    expect(textOf('reasoning', 'summary', 'text').join('')).toBe(reply.reasoning)
    const calls = items.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
    expect(
      calls.map(({ arguments: json, call_id: id, input, name }) => ({ id, name, arguments: json ?? input })),
    ).toEqual(reply.toolCalls.map((call) => ({ ...call, id: call.id ?? expect.stringMatching(/^call_/) })))
    expect(expected.usage).toMatchObject(counts)
  })

  it('is the same wherever it is cut in two', () => {
    for (let cut = 0; cut <= bytes.length; cut += EVERY) {
      const { whole } = play(language, [bytes.subarray(0, cut), bytes.subarray(cut)])
      if (whole !== expected.whole) expect(`cut at ${cut}: ${whole}`).toBe(expected.whole)
    }
  })

  it('is the same as JSON, read in small pieces', () => {
    const pieces = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, at) =>
      bytes.subarray(at * 3, (at + 1) * 3),
    )
    expect(play(language, pieces, false)).toEqual(body)
  })
})

it('the output items of a Responses API provider keep their order, phases and both kinds of calls', () => {
  const { items } = readResponseStream(play('responses', [bytesOf(responseStreams[0]!)]).whole)
  expect(items).toMatchObject([
    {
      type: 'reasoning',
      summary: [{ text: '**Ort**\n\n**Wetter**' }],
      encrypted_content: expect.any(String),
    },
    {
      type: 'message',
      phase: 'commentary',
      content: [
        {
          text: 'Ich sehe nach …',
          annotations: [{ type: 'url_citation', url: 'https://example.com/', title: 'Ort', end_index: 3 }],
        },
      ],
    },
    { type: 'function_call', call_id: 'call_a', name: 'look_up', arguments: '{"city":"Köln"}' },
    { type: 'custom_tool_call', call_id: 'call_b', name: 'patch', input: '*** Begin\n+ "Grüße" \u{1f389}' },
  ])
})
