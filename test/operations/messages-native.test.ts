import { afterEach, describe, expect, it } from 'vitest'
import { anthropic } from '../../src/index.js'
import { checkEvents, readEvents } from '../helpers/message-events.js'
import { answerJson, type Script } from '../helpers/scripted-upstream.js'
import {
  blockDelta,
  blockStart,
  blockStop,
  frames,
  messageDelta,
  messageStart,
  messageStop,
} from '../providers/anthropic/replies.js'
import { API_KEY, framesOf, MODEL, UPSTREAM_KEY, WireService } from '../wire/service.js'

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const ASK = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }

let service: WireService
afterEach(() => service.close())

/** A request by one API, for a provider of the Messages API with this reply. */
async function ask(path: string, script: Script, stream: boolean) {
  service = await WireService.start({
    adapter: (baseUrl) => anthropic({ baseUrl, apiKey: UPSTREAM_KEY }),
    expectsFaults: true,
  })
  service.upstream.script(script)
  const response = await service.host.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...ASK, stream }),
  })
  return { text: await response.text(), status: response.status }
}

async function charged() {
  await service.event('request-end')
  const { entries } = await service.ledger.entries({ account: 'alice' }, CONTEXT)
  return entries.flatMap(({ charge, kind }) => (kind === 'charge' && charge ? [charge] : []))
}

const kinds = () =>
  service.events.flatMap((event) => (event.type === 'reply-mended' ? [...event.kinds] : [])).toSorted()

const WORDS = 'This reply has quite a few words, so that its estimate is more than its request.'
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'look' }

const body = (content: readonly unknown[], reason: string | null = 'end_turn', more: object = {}): Script =>
  answerJson({ id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: reason, ...more })

const events = (...all: readonly { type: string }[]): Script => [
  { head: 200, headers: { 'content-type': 'text/event-stream' } },
  { write: frames(all) },
  'end',
]
const blocks = (reason: string | null, ...all: readonly { type: string }[]): Script =>
  events(messageStart({}), ...all, messageDelta(reason), messageStop)

/** The message that a client gets, from a stream or a body, and its charge. */
async function message(script: Script, stream: boolean) {
  const { status, text } = await ask('/messages', script, stream)
  expect(status, text).toBe(200)
  const all = await charged()
  expect(all).toHaveLength(1)
  const [charge] = all
  const { basis, cost, usage } = charge!
  const paid = { basis, cost, completion: usage!.completion }
  if (!stream) {
    const { content, stop_reason: stopReason } = JSON.parse(text)
    return { content, stopReason, error: undefined, ...paid }
  }
  const { content, error, stopReason } = checkEvents(readEvents(text))
  return { content, stopReason, error, ...paid }
}

interface Choice {
  readonly delta?: { readonly content?: string | null }
  readonly message?: { readonly content?: string | null }
  readonly finish_reason: string | null
}

/** The same reply of the provider by the API of chat. */
async function chat(script: Script, stream: boolean) {
  await service.close()
  const { text } = await ask('/chat/completions', script, stream)
  const frames = stream ? framesOf(text) : [JSON.parse(text)]
  const choices = frames.flatMap((frame) => (frame.choices ?? []) as Choice[])
  const [charge] = await charged()
  return {
    content: choices.map(({ delta, message: whole }) => (delta ?? whole)?.content ?? '').join(''),
    reason: choices.at(-1)?.finish_reason,
    hasError: frames.some(({ error }) => error !== undefined),
    basis: charge?.basis,
    cost: charge?.cost ?? 0n,
  }
}

describe('a native Anthropic event that is nested too deeply', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
  const { message: begun, type } = messageStart({ input_tokens: 10, output_tokens: 1 })
  const started = { type, message: { ...begun, container: deep } }
  const ended = { ...messageDelta('max_tokens', { output_tokens: 7 }), context_management: deep }
  const script = events(
    started,
    blockStart(0, { type: 'text', text: '' }),
    blockDelta(0, { type: 'text_delta', text: 'Hello' }),
    blockStop(0),
    ended,
    messageStop,
  )

  it('keeps its usage and its end for a client of the Messages API', async () => {
    expect(await message(script, true)).toMatchObject({
      content: [{ type: 'text', text: 'Hello' }],
      stopReason: 'max_tokens',
      error: undefined,
      basis: 'reported',
      completion: 7,
    })
    expect((await charged())[0]?.usage).toMatchObject({ prompt: 10, completion: 7 })
  })

  it('keeps its usage and its end for a chat client', async () => {
    expect(await chat(script, true)).toMatchObject({
      content: 'Hello',
      reason: 'length',
      hasError: false,
      basis: 'reported',
    })
    expect((await charged())[0]?.usage).toMatchObject({ prompt: 10, completion: 7 })
  })
})

const UNREADABLE = { type: 'api_error', code: 'provider_invalid_response' }
const modes = [false, true]

describe.each(modes)('the text of a native Anthropic reply (stream: %s)', (stream) => {
  it.each([
    ['text', { type: 'text', text: { said: WORDS } }],
    ['thinking', { type: 'thinking', thinking: [WORDS] }],
    ['thinking with a signature', { type: 'thinking', thinking: { said: WORDS }, signature: 'sig' }],
  ])('is charged if it cannot be read: %s', async (_, block) => {
    const readable = { type: 'text', text: 'Hello' }
    const script = body([readable, block, { type: 'text', text: 'there' }])
    const reply = await message(script, stream)
    expect(reply.content).toEqual([readable, { type: 'text', text: 'there' }])
    expect(reply.basis).toBe('estimated')
    expect(reply.completion).toBeGreaterThan(10)
    if (stream) expect(reply.error).toMatchObject(UNREADABLE)
    expect(await chat(script, stream)).toMatchObject({
      content: 'Hellothere',
      hasError: stream,
      basis: 'estimated',
    })
  })

  it('is charged if it cannot be read even if nothing else came', async () => {
    const reply = await message(body([{ type: 'text', text: { said: WORDS } }]), stream)
    expect(reply).toMatchObject({ content: [], basis: 'estimated' })
    expect(reply.completion).toBeGreaterThan(10)
  })

  it('is charged if the start of a block cannot be read', async () => {
    const script = blocks(
      'end_turn',
      blockStart(0, { type: 'text', text: { said: WORDS } }),
      blockDelta(0, { type: 'text_delta', text: 'Hello' }),
      blockStop(0),
    )
    const reply = await message(script, stream)
    if (stream) expect(reply.error).toMatchObject(UNREADABLE)
    expect(JSON.stringify(reply.content)).not.toContain('said')
    expect(reply.completion).toBeGreaterThan(10)
    const same = await chat(script, stream)
    expect(same).toMatchObject({ hasError: stream, content: stream ? '' : 'Hello', basis: 'estimated' })
    if (!stream) expect(reply.content).toEqual([{ type: 'text', text: 'Hello' }])
    expect(reply.cost).toBeGreaterThanOrEqual(same.cost)
  })

  it.each([
    [
      'one body',
      body([
        { type: 'text', text: 123 },
        { type: 'thinking', thinking: true },
      ]),
    ],
    [
      'a stream',
      blocks(
        'end_turn',
        blockStart(0, { type: 'text', text: 1 }),
        blockDelta(0, { type: 'text_delta', text: 23 }),
        blockStop(0),
        blockStart(1, { type: 'thinking', thinking: '' }),
        blockDelta(1, { type: 'thinking_delta', thinking: true }),
        blockStop(1),
      ),
    ],
  ])('may be a number or a boolean in %s', async (_, script) => {
    const reply = await message(script, stream)
    expect(reply).toMatchObject({
      content: [
        { type: 'text', text: '123' },
        { type: 'thinking', thinking: 'true' },
      ],
      basis: 'estimated',
      error: undefined,
    })
    expect(kinds()).toEqual(['text-coerced'])
    expect(await chat(script, stream)).toMatchObject({ content: '123', hasError: false, cost: reply.cost })
  })

  it.each([null, false, [], {}, ''])('may be absent: %j', async (text) => {
    const block = { type: 'text', text }
    const reply = await message(body([block, { type: 'text', text: 'Hello' }]), stream)
    expect(reply.content).toEqual([expect.anything(), { type: 'text', text: 'Hello' }])
    expect(reply.error).toBeUndefined()
  })
})

describe.each(modes)('the arguments of a call in a native Anthropic reply (stream: %s)', (stream) => {
  it.each([
    ['an object in text', '{"path":9007199254740993}', '{"path":9007199254740993}'],
    ['other text', WORDS, JSON.stringify({ arguments: WORDS })],
  ])('may be text: %s', async (_, input, expected) => {
    for (const script of [
      body([{ ...CALL, input }], 'tool_use'),
      blocks('tool_use', blockStart(0, { ...CALL, input }), blockStop(0)),
    ]) {
      const reply = await message(script, stream)
      expect(reply).toMatchObject({ content: [{ ...CALL, input: JSON.parse(expected) }], error: undefined })
      expect(reply.stopReason).toBe('tool_use')
      expect(reply.completion).toBeGreaterThan(input.length / 8)
      expect(kinds()).toEqual(['arguments-decoded'])
      await service.close()
    }
  })

  it.each([[[WORDS]], [17]])('are kept in an object if they are none: %j', async (input) => {
    const text = { type: 'text', text: 'Hello' }
    const call = { ...CALL, input: { arguments: JSON.stringify(input) } }
    for (const script of [
      body([text, { ...CALL, input }], 'tool_use'),
      blocks('tool_use', blockStart(0, text), blockStop(0), blockStart(1, { ...CALL, input }), blockStop(1)),
    ]) {
      const reply = await message(script, stream)
      expect(reply).toMatchObject({
        content: [text, call],
        basis: 'estimated',
        error: undefined,
        stopReason: 'tool_use',
      })
      if (Array.isArray(input)) expect(reply.completion).toBeGreaterThan(10)
      await service.close()
    }
  })

  it.each([undefined, null, {}, []])('may be absent: %j', async (input) => {
    const reply = await message(body([{ ...CALL, input }], 'tool_use'), stream)
    expect(reply).toMatchObject({
      content: [{ ...CALL, input: {} }],
      stopReason: 'tool_use',
      error: undefined,
    })
  })
})

describe.each(modes)('the end of a native Anthropic reply (stream: %s)', (stream) => {
  const hello = [
    blockStart(0, { type: 'text', text: '' }),
    blockDelta(0, { type: 'text_delta', text: 'Hello' }),
  ]

  it('is missing if output followed a reason and the provider broke off', async () => {
    const more = [blockDelta(0, { type: 'text_delta', text: ' there' }), messageDelta('end_turn')]
    const script = events(messageStart({}), ...hello, messageDelta('end_turn'), ...more)
    const { text } = await ask('/messages', script, stream)
    if (stream) expect(checkEvents(readEvents(text)).error).toMatchObject({ type: 'api_error' })
    else expect(JSON.parse(text)).toMatchObject({ type: 'error' })
    expect(await charged()).toEqual([])
    expect(await chat(script, stream)).toMatchObject({ hasError: true, cost: 0n })
  })

  it.each(['in_progress', 'null', 'none'])('is not %s', async (reason) => {
    const script = events(messageStart({}), ...hello, messageDelta(reason))
    const { text } = await ask('/messages', script, stream)
    if (stream) expect(checkEvents(readEvents(text)).error).toMatchObject({ type: 'api_error' })
    else expect(JSON.parse(text)).toMatchObject({ type: 'error' })
    expect(await charged()).toEqual([])
    expect(await chat(script, stream)).toMatchObject({ hasError: true, cost: 0n })
  })

  it('is present in a JSON body without a reason', async () => {
    const usage = { input_tokens: 7, output_tokens: 3 }
    const reply = await message(body([{ type: 'text', text: 'Hello' }], null, { usage }), stream)
    expect(reply).toMatchObject({ stopReason: 'end_turn', basis: 'reported', completion: 3 })
  })

  it.each([
    ['end_turn', 'tool_use'],
    ['STOP', 'tool_use'],
    ['tool_use', 'tool_use'],
    ['max_tokens', 'max_tokens'],
  ])('with a call and %s is %s', async (given, expected) => {
    const reply = await message(body([{ ...CALL, input: { at: 'sky' } }], given), stream)
    expect(reply.stopReason).toBe(expected)
  })

  it.each([
    ['pause_turn', 'pause_turn'],
    ['compaction', 'compaction'],
    ['stop_sequence', 'stop_sequence'],
    ['model_context_window_exceeded', 'model_context_window_exceeded'],
    ['refusal', 'refusal'],
    ['SAFETY', 'refusal'],
    ['something_new', 'end_turn'],
  ])('with text and %s is %s', async (given, expected) => {
    const reply = await message(body([{ type: 'text', text: 'Hello' }], given), stream)
    expect(reply.stopReason).toBe(expected)
  })
})

describe('a native Anthropic reply as JSON', () => {
  it('stops normally if no call is left', async () => {
    const script = body([{ type: 'tool_use', id: 'toolu_1', input: { at: WORDS } }], 'tool_use')
    expect(await message(script, false)).toMatchObject({ content: [], stopReason: 'end_turn' })
    expect(await chat(script, false)).toMatchObject({ reason: 'stop' })
  })

  it('stops normally if the provider dropped a call', async () => {
    const script = body([{ type: 'text', text: 'Hello' }], 'malformed_function_call')
    expect(await message(script, false)).toMatchObject({ stopReason: 'end_turn' })
    expect(await chat(script, false)).toMatchObject({ reason: 'stop' })
  })
})

describe.each(modes)('other content of a native Anthropic reply (stream: %s)', (stream) => {
  const citation = { type: 'char_location', cited_text: WORDS }

  it.each([
    ['a citation in a stream', { type: 'citations_delta', citation }],
    ['an unknown delta', { type: 'new_delta', news: { text: [WORDS] } }],
    ['an unknown delta named like a member of objects', { type: 'constructor', text: WORDS }],
  ])('is counted: %s', async (_, given) => {
    const isCitation = given.type === 'citations_delta'
    const block = isCitation ? { type: 'text', text: '' } : { type: 'news' }
    const script = blocks('end_turn', blockStart(0, block), blockDelta(0, given))
    const reply = await message(script, stream)
    expect(reply).toMatchObject({ basis: 'estimated', error: undefined })
    expect(reply.completion).toBeGreaterThan(10)
    if (isCitation) expect(reply.content).toEqual([{ type: 'text', text: '', citations: [citation] }])
    else if (!stream) expect(reply.content).toEqual([{ ...given, ...block }])
    expect(kinds()).toEqual([])
  })

  it('is counted: citations in a JSON body, and a block of an unknown type', async () => {
    const cited = { type: 'text', text: '', citations: [citation] }
    const unknown = { type: 'news', text: WORDS }
    const reply = await message(body([cited, unknown]), stream)
    expect(reply.content).toEqual([cited, unknown])
    expect(reply.completion).toBeGreaterThan(25)
  })
})

describe('the blocks of a native Anthropic stream', () => {
  const open = (index: number, id: string) => blockStart(index, { ...CALL, id, input: {} })
  const input = (index: number, text: string) =>
    blockDelta(index, { type: 'input_json_delta', partial_json: text })
  const call = (id: string, given: object) => ({ ...CALL, id, input: given })
  const text = [blockStart(0, { type: 'text', text: '' }), blockDelta(0, { type: 'text_delta', text: 'Hm' })]

  it.each([
    [
      'with the index of the block before',
      [...text, blockStop(0), open(1, 'a'), input(0, '{"a":1}'), blockStop(1)],
    ],
    [
      'with the index of the next block',
      [...text, blockStop(0), open(1, 'a'), input(2, '{"a":1}'), blockStop(1)],
    ],
  ])('take a piece %s', async (_name, all) => {
    const { content, error } = await message(blocks('tool_use', ...all), true)
    expect({ content, error }).toEqual({
      content: [{ type: 'text', text: 'Hm' }, call('a', { a: 1 })],
      error: undefined,
    })
  })

  it.each([
    [
      'each piece with its own index',
      [input(0, '{"a":'), input(1, '{"b":2}'), input(0, '1}'), blockStop(0), blockStop(1)],
    ],
    ['the second one ending first', [input(1, '{"b":2}'), blockStop(1), input(0, '{"a":1}'), blockStop(0)]],
    ['neither ending', [input(0, '{"a":1}'), input(1, '{"b":2}')]],
  ])('are sent one after the other if two calls overlap, %s', async (_name, all) => {
    for (const stream of modes) {
      const { content, cost, error } = await message(
        blocks('tool_use', open(0, 'a'), open(1, 'b'), ...all),
        stream,
      )
      expect({ content, error }).toEqual({
        content: [call('a', { a: 1 }), call('b', { b: 2 })],
        error: undefined,
      })
      expect(cost).toBeGreaterThan(0n)
      await service.close()
    }
  })

  it('lose no text with the index of a call', async () => {
    const x = blockDelta(1, { type: 'text_delta', text: 'x' })
    const script = blocks('tool_use', open(0, 'a'), open(1, 'b'), x)
    for (const stream of modes) {
      const { content, error } = await message(script, stream)
      expect({ content, error }).toEqual({
        content: [call('a', {}), call('b', {}), { type: 'text', text: 'x' }],
        error: undefined,
      })
      await service.close()
    }
  })
})
