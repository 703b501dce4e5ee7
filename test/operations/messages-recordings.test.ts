import { describe, expect, test } from 'vitest'
import type { ProviderEvent } from '../../src/adapters.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { anthropic } from '../../src/index.js'
import { MessagesPlan } from '../../src/operations/messages/plan.js'
import { readRequest } from '../../src/operations/messages/request/read-request.js'
import { asWire, fromWire } from '../../src/protocol/wire-bytes.js'
import { createReader } from '../../src/providers/anthropic/reader.js'
import { ProviderReasoning, ReplyReading } from '../../src/providers/openai-compatible/reply.js'
import { ReplyReader } from '../../src/providers/reply-reader.js'
import { fed } from '../helpers/fed-reply.js'
import { headersOf } from '../helpers/headers-of.js'
import { isLong } from '../helpers/long.js'
import { checkEvents, readEvents } from '../helpers/message-events.js'
import { chatStreams } from '../recordings/chat-completions.js'
import { messageStreams } from '../recordings/messages.js'
import { bytesOf } from '../recordings/recording.js'

const EVENT_BYTES = 1_048_576
/** Every place in the long form. Lines have all lengths, so the cuts of the short form fall on all kinds of places. */
const EVERY = isLong ? 1 : 7
const MODEL = { id: 'acme/fast', created: 0, ownedBy: 'acme' }
const OPTIONS = {
  counter: byteRatioCounter,
  upperCounter: byteRatioCounter,
  neverOverdraw: false,
  charging: { holdOutputTokens: 100 },
  sizes: { replyBytes: 1_000_000 },
} as unknown as ConstructorParameters<typeof MessagesPlan>[2]

const ADAPTERS = [anthropic({ apiKey: 'k' }), { chat: async () => ({ terminated: true }) }] as const

const streams = [...chatStreams, ...messageStreams]
type Language = (typeof streams)[number]['language']

function readerOf(language: Language, splice: boolean): ReplyReader {
  if (language === 'anthropic') return createReader(EVENT_BYTES, { lines: true, splice })
  const unlisted = language === 'gemini' ? 'output' : undefined
  return new ReplyReader(EVENT_BYTES, new ReplyReading(splice, unlisted, new ProviderReasoning()))
}

/** The message of a client that gets these pieces of a provider's stream, each read on its own. */
function play(language: Language, pieces: readonly Buffer[], splice: boolean) {
  const meter = new UsageMeter(
    { contextLength: 10_000, maxOutputTokens: 10_000, n: 1 },
    () => {},
    () => {},
  )
  const body = { model: MODEL.id, max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'a' }] }
  let ids = 0
  const route = {
    id: 'r',
    provider: 'acme',
    upstreamModel: 'claude',
    adapter: ADAPTERS[language === 'anthropic' ? 0 : 1],
  }
  const routed = new MessagesPlan(readRequest(body, headersOf({})), MODEL, OPTIONS).on(route, false)
  if (routed === undefined) expect.fail('no adapter')
  const made = routed.reply({
    id: 'msg_1',
    created: 7,
    counter: byteRatioCounter,
    newId: () => String(++ids),
    route,
    splice,
    repeatedBytes: Infinity,
  })
  const reply = fed(made, meter)
  const reader = readerOf(language, splice)
  let sent = ''
  for (const piece of pieces) {
    const events: ProviderEvent[] = []
    reader.read(piece, events)
    sent += reply.take(events)
  }
  const last: ProviderEvent[] = []
  reader.end(last)
  sent += reply.take(last)
  reply.endChoices('stop')
  const { basis, usage } = meter.asReported({ prompt: 0, completion: reply.completionAtLeast(Infinity) })
  sent += reply.closing({ cost: 0n, base: 0n, markup: 0n, basis, byok: false, usage })
  return { sent, usage, tokens: reply.completionAtLeast(Infinity) }
}

describe.each(streams)('a recorded Messages API stream of $name', (recording) => {
  const { language, reply } = recording
  const bytes = bytesOf(recording)
  const expected = play(language, [bytes], true)

  test('is read as intended', () => {
    const { content, error, stopReason } = checkEvents(readEvents(fromWire(asWire(expected.sent))))
    const textOf = (type: string, member: string) =>
      content.flatMap((block) => (block.type === type ? [block[member]] : [])).join('')
    expect(error).toBeUndefined()
    const ended = reply.refusal === '' ? 'end_turn' : 'refusal'
    expect(stopReason).toBe(reply.finishReason === 'stop' ? ended : 'tool_use')
    expect(textOf('text', 'text')).toBe(reply.text + reply.refusal)
    expect(textOf('thinking', 'thinking')).toBe(reply.reasoning)
    expect(content.filter(({ type }) => type === 'tool_use')).toMatchObject(
      reply.toolCalls.map(({ arguments: json, id, name }) => ({
        id: id ?? expect.any(String),
        name,
        input: JSON.parse(json),
      })),
    )
    expect(expected.usage).toMatchObject(recording.counts)
  })

  test('means the same without fast paths', () => {
    expect(play(language, [bytes], false)).toEqual(expected)
  })

  test('means the same wherever it is cut', () => {
    for (let cut = 1; cut < bytes.length; cut += EVERY) {
      expect(play(language, [bytes.subarray(0, cut), bytes.subarray(cut)], true), `cut at ${cut}`).toEqual(
        expected,
      )
    }
  })
})
