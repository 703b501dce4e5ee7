import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProviderAdapter, ProviderEvent } from '../../src/adapters.js'
import { byteRatioCounter } from '../../src/engine/charging/token-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { anthropic, openaiCompatible } from '../../src/index.js'
import { ChatWriter } from '../../src/operations/chat/reply/chat-writer.js'
import { asWire, fromWire } from '../../src/protocol/wire-bytes.js'
import { createReader } from '../../src/providers/anthropic/reader.js'
import { ProviderReasoning, ReplyReading } from '../../src/providers/openai-compatible/reply.js'
import { ReplyReader } from '../../src/providers/reply-reader.js'
import { ModelReply } from '../../src/replies/model-reply.js'
import { fed } from '../helpers/fed-reply.js'
import { isLong } from '../helpers/long.js'
import { chatBodies, chatStreams } from '../recordings/chat-completions.js'
import { messageBodies, messageStreams } from '../recordings/messages.js'
import { bytesOf, type Reply } from '../recordings/recording.js'
import { readBody, readStream } from './client-schemas.js'
import { ask, MODEL, WireService } from './service.js'

const EVENT_BYTES = 1_048_576
/** Every place in the long form. Lines have all lengths, so the cuts of the short form fall on all kinds of places. */
const EVERY = isLong ? 1 : 7

const streams = [...chatStreams, ...messageStreams]
const bodies = [...chatBodies, ...messageBodies]
type Language = (typeof streams)[number]['language']

const ADAPTERS: Readonly<Record<Language, (baseUrl: string) => ProviderAdapter>> = {
  openai: (baseUrl) => openaiCompatible({ baseUrl }),
  gemini: (baseUrl) => openaiCompatible({ baseUrl, unlistedTokens: 'output' }),
  anthropic: (baseUrl) => anthropic({ baseUrl }),
}

/** What the client reads, which gets an id for each call. */
const choiceOf = ({ refusal, toolCalls, ...reply }: Reply) => ({
  ...reply,
  ...(refusal !== '' && { refusal }),
  toolCalls: toolCalls.map((call) => ({ ...call, id: call.id ?? expect.stringMatching(/^call_/) })),
})

function readerOf(language: Language): ReplyReader {
  if (language === 'anthropic') return createReader(EVENT_BYTES)
  const unlisted = language === 'gemini' ? 'output' : undefined
  return new ReplyReader(EVENT_BYTES, new ReplyReading(true, unlisted, new ProviderReasoning()))
}

/** The client's reply to these pieces, each read on its own, and the usage that it would be charged for. */
function play(language: Language, pieces: readonly Buffer[], stream = true) {
  let ids = 0
  const implausible: unknown[] = []
  const meter = new UsageMeter(
    { contextLength: 10_000, maxOutputTokens: 10_000, n: 1 },
    (...found) => implausible.push(found),
    (...found) => implausible.push(found),
  )
  const made = new ModelReply(
    {
      id: 'chatcmpl-1',
      created: 7,
      counter: byteRatioCounter,
      newId: () => String(++ids),
      route: { id: 'acme-1', provider: 'acme', adapter: {}, upstreamModel: 'model' },
      splice: true,
      repeatedBytes: Infinity,
    },
    { stream, n: 1, splices: true },
    new ChatWriter({ id: 'chatcmpl-1', created: 7, model: MODEL }, 'reasoning_content', stream),
  )
  const relay = fed(made, meter)
  const reader = readerOf(language)
  let sent = ''
  let terminated = false
  for (const piece of pieces) {
    const events: ProviderEvent[] = []
    terminated = reader.read(piece, events)
    sent += relay.take(events)
  }
  const events: ProviderEvent[] = []
  terminated = reader.end(events) || terminated
  sent += relay.take(events)
  const { finished } = relay
  relay.endChoices('stop')
  const estimates = { prompt: 0, completion: relay.completionAtLeast(Infinity) }
  const { basis, usage } = meter.asReported(estimates)
  const charge = { cost: 0n, base: 0n, markup: 0n, basis, byok: false, usage }
  const whole = stream ? sent + relay.closing(charge) : relay.body(charge)
  return { sent, whole, usage, basis, terminated, finished, implausible, tokens: estimates.completion }
}

describe.each(streams)('a recorded stream of $name', (recording) => {
  const { counts, language } = recording
  const bytes = bytesOf(recording)
  const expected = play(language, [bytes])
  const expectedBody = play(language, [bytes], false)

  test('is read as intended by the strictest client', () => {
    expect(expected).toMatchObject({
      terminated: true,
      finished: true,
      basis: 'reported',
      implausible: [],
      usage: counts,
    })
    const choice = choiceOf(recording.reply)
    expect(readStream(fromWire(asWire(expected.whole))).choices).toEqual([choice])
    expect(readBody(fromWire(asWire(expectedBody.whole))).choices).toEqual([choice])
  })

  test('is the same wherever it is cut in two', () => {
    for (let cut = 0; cut <= bytes.length; cut += EVERY) {
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)]
      const { sent, ...rest } = play(language, pieces)
      if (rest.whole !== expected.whole) expect(`cut at ${cut}: ${rest.whole}`).toBe(expected.whole)
      expect({ sent, ...rest }).toEqual(expected)
    }
  })

  test.each([1, 2, 3, 7, 64])('is the same in pieces of %i bytes, in either mode', (size) => {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    expect(play(language, pieces)).toEqual(expected)
    expect(play(language, pieces, false)).toEqual(expectedBody)
  })

  test('is never taken as complete if it ends early, and its output is a prefix', () => {
    const finishAt = bytes.indexOf(
      Buffer.from(language === 'anthropic' ? '"message_delta"' : '"finish_reason":"'),
    )
    // An empty body is a different failure.
    const first = bytes.indexOf('data:') + 1
    for (let end = first; end < finishAt; end += EVERY) {
      const { finished, sent, terminated } = play(language, [bytes.subarray(0, end)])
      expect([finished, terminated]).toEqual([false, false])
      expect(expected.sent.startsWith(sent)).toBe(true)
    }
  })
})

describe.each(bodies)('a recorded reply of $name', ({ body, counts, language, reply }) => {
  const bytes = Buffer.from(JSON.stringify(body))

  test('is read as intended by the strictest client, wherever it is cut in two', () => {
    for (let cut = 0; cut <= bytes.length; cut += EVERY) {
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)]
      const streamed = play(language, pieces)
      expect(streamed).toMatchObject({ finished: true, basis: 'reported', implausible: [], usage: counts })
      expect(readStream(fromWire(asWire(streamed.whole))).choices).toEqual([choiceOf(reply)])
      expect(readBody(fromWire(asWire(play(language, pieces, false).whole))).choices).toEqual([
        choiceOf(reply),
      ])
    }
  })
})

describe.each(streams)('a recorded stream of $name, over sockets,', (recording) => {
  const bytes = bytesOf(recording)
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start({ adapter: ADAPTERS[recording.language] })
  })
  afterAll(() => service.close())

  // Prime steps, so that the cuts fall on all kinds of positions.
  const cuts = Array.from({ length: 12 }, (_, at) => 1 + ((at * 7_919) % (bytes.length - 1)))

  test.each([true, false])('is the same wherever it is cut (stream: %s)', async (stream) => {
    for (const cut of cuts) {
      service.upstream.scriptOnce(async (reply) => {
        reply.head(200, { 'content-type': 'text/event-stream' })
        await reply.write(bytes.subarray(0, cut))
        await new Promise((resolve) => setImmediate(resolve))
        await reply.write(bytes.subarray(cut))
        reply.end()
      })
      const response = await service.post(ask({ stream }))
      expect(response.status).toBe(200)
      const text = await response.text()
      const { choices, usage } = stream ? readStream(text) : readBody(text)
      expect(choices).toEqual([choiceOf(recording.reply)])
      const { cached, completion, prompt, reasoning } = recording.counts
      expect(usage).toMatchObject({
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning },
        charge: { basis: 'reported' },
      })
    }
  })
})
