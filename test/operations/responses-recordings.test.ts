import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/adapters.js'
import type { ReplyBytes } from '../../src/contracts/reply.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { createResponses } from '../../src/operations/responses/index.js'
import { DEFAULTS } from '../../src/options.js'
import { fromLatin1 } from '../../src/protocol/latin1.js'
import { createReader } from '../../src/providers/anthropic/reader.js'
import { ProviderReasoning, ReplyReading } from '../../src/providers/openai-compatible/reply.js'
import { createResponsesReader } from '../../src/providers/openai-compatible/responses-reply.js'
import { ReplyReader } from '../../src/providers/reply-reader.js'
import { fed } from '../helpers/fed-reply.js'
import { readResponseStream } from '../helpers/response-events.js'
import { recordings } from '../wire/recordings.js'
import { MODEL } from '../wire/service.js'

const EVENT_BYTES = 1_048_576

interface Played {
  readonly provider: string
  readonly reader: () => ReplyReader
  readonly stream: string
}

/** A stream of OpenAI's reasoning models, invented in their style: thoughts, words on the way, calls of both kinds. */
function native(): string {
  const response = (status: string, more: object = {}) => ({
    id: 'resp_68a1',
    object: 'response',
    created_at: 1_764_000_000,
    status,
    model: 'gpt-5.1',
    output: [],
    usage: null,
    ...more,
  })
  const thought = { id: 'rs_68a2', type: 'reasoning', summary: [] as object[] }
  const words = { id: 'msg_68a3', type: 'message', role: 'assistant', phase: 'commentary', content: [] }
  const call = { id: 'fc_68a4', type: 'function_call', call_id: 'call_a', name: 'look_up', arguments: '' }
  const patch = { id: 'ctc_68a5', type: 'custom_tool_call', call_id: 'call_b', name: 'patch', input: '' }
  const pieces = ['{"city":', '"Köln"', '}']
  const patches = ['*** Begin\n', '+ "Grüße" \u{1f389}']
  const at = (index: number, id: string) => ({ item_id: id, output_index: index })
  const events = [
    { type: 'response.created', response: response('in_progress') },
    { type: 'response.in_progress', response: response('in_progress') },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...thought, encrypted_content: 'gAAAA0' },
    },
    ...['**Ort**', '**Wetter**'].flatMap((text, index) => [
      {
        type: 'response.reasoning_summary_part.added',
        ...at(0, thought.id),
        summary_index: index,
        part: { type: 'summary_text', text: '' },
      },
      {
        type: 'response.reasoning_summary_text.delta',
        ...at(0, thought.id),
        summary_index: index,
        delta: text,
      },
      { type: 'response.reasoning_summary_text.done', ...at(0, thought.id), summary_index: index, text },
    ]),
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { ...thought, encrypted_content: 'gAAAAABo' },
    },
    { type: 'response.output_item.added', output_index: 1, item: words },
    {
      type: 'response.content_part.added',
      ...at(1, words.id),
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    ...['Ich ', 'sehe nach …'].map((delta) => ({
      type: 'response.output_text.delta',
      ...at(1, words.id),
      content_index: 0,
      delta,
      logprobs: [],
      obfuscation: 'qW8',
    })),
    {
      type: 'response.output_text.annotation.added',
      ...at(1, words.id),
      content_index: 0,
      annotation_index: 0,
      annotation: {
        type: 'url_citation',
        url: 'https://example.com/',
        title: 'Ort',
        start_index: 0,
        end_index: 3,
      },
    },
    { type: 'response.output_item.done', output_index: 1, item: words },
    { type: 'keepalive' },
    { type: 'response.output_item.added', output_index: 2, item: call },
    ...pieces.map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...at(2, call.id),
      delta,
    })),
    { type: 'response.output_item.done', output_index: 2, item: { ...call, arguments: pieces.join('') } },
    { type: 'response.output_item.added', output_index: 3, item: patch },
    ...patches.map((delta) => ({ type: 'response.custom_tool_call_input.delta', ...at(3, patch.id), delta })),
    { type: 'response.output_item.done', output_index: 3, item: { ...patch, input: patches.join('') } },
    {
      type: 'response.completed',
      response: response('completed', {
        usage: {
          input_tokens: 40,
          input_tokens_details: { cached_tokens: 8 },
          output_tokens: 30,
          output_tokens_details: { reasoning_tokens: 12 },
          total_tokens: 70,
        },
      }),
    },
  ]
  return events
    .map(
      (event, index) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`,
    )
    .join('')
}

const NATIVE: Played = {
  provider: 'OpenAI, in the Responses API',
  reader: () => createResponsesReader('', EVENT_BYTES, undefined),
  stream: native(),
}

const all: readonly Played[] = [
  NATIVE,
  ...recordings.map(({ kind, provider, stream }) => ({
    provider,
    stream,
    reader: () => {
      if (kind === 'anthropic') return createReader(EVENT_BYTES)
      const unlisted = kind === 'gemini' ? 'output' : undefined
      return new ReplyReader(EVENT_BYTES, new ReplyReading(false, unlisted, new ProviderReasoning()))
    },
  })),
]

/** The client's reply to these pieces of a provider's stream, each read on its own. */
function play({ reader: open }: Played, pieces: readonly Buffer[], stream = true) {
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
    responses.read({ value: body }, {}),
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
  const reader = open()
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
  const opening = stream && sent !== '' ? textOf(reply.opening?.() ?? '') : ''
  const whole = stream ? opening + sent + textOf(reply.closing(charge)) : textOf(reply.body(charge))
  return { whole: fromLatin1(whole), usage, terminated }
}

function textOf(bytes: ReplyBytes): string {
  return typeof bytes === 'string' ? bytes : [...bytes].join('')
}

describe.each(all)('a recorded stream of $provider, as a response,', (played) => {
  const bytes = Buffer.from(played.stream)
  const expected = play(played, [bytes])
  const body = play(played, [bytes], false)

  it('has every event in its place, and the same items as a JSON reply', () => {
    const { items, response } = readResponseStream(expected.whole)
    expect(expected.terminated).toBe(true)
    const withoutIds = (list: readonly object[]) => list.map((item) => ({ ...item, id: '' }))
    expect(withoutIds(JSON.parse(body.whole).output)).toEqual(withoutIds(items))
    expect(response.usage.input_tokens).toBe(expected.usage.prompt)
    expect(response.usage.output_tokens).toBe(expected.usage.completion)
  })

  it('is the same wherever it is cut in two', () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { whole } = play(played, [bytes.subarray(0, cut), bytes.subarray(cut)])
      if (whole !== expected.whole) expect(`cut at ${cut}: ${whole}`).toBe(expected.whole)
    }
  }, 120_000)

  it('is the same as JSON, read in small pieces', () => {
    const pieces = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, at) =>
      bytes.subarray(at * 3, (at + 1) * 3),
    )
    expect(play(played, pieces, false)).toEqual(body)
  })
})

it('the output items of a Responses API provider keep their order, phases and both kinds of calls', () => {
  const { items } = readResponseStream(play(NATIVE, [Buffer.from(NATIVE.stream)]).whole)
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
